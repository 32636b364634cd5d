"""Expressions: the half of the reader that yields values."""

from __future__ import annotations

import ast
import builtins
import enum
import operator
import re
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from vllm_migrate.catalog.interp_values import (
    Bound,
    ClassInfo,
    External,
    FieldInfo,
    FieldObject,
    FieldSpec,
    Function,
    ImportRef,
    Instance,
    Module,
    Native,
    Partial,
    Raised,
    Scope,
    SuperProxy,
    Unknown,
    Unsupported,
)

if TYPE_CHECKING:
    pass

_SIZE = 200_000
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_PLAIN = (str, bytes, int, float, complex, bool, list, tuple, dict, set, frozenset, range)
_HOST_OBJECTS = (FieldInfo, FieldObject, FieldSpec)
_CATCH = (ValueError, TypeError, KeyError, IndexError, AttributeError, StopIteration, ArithmeticError)
_DUNDERS = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__members__", "__args__", "__origin__"})
_MISSING = object()


class Evaluator:
    """Evaluates expressions. The interpreter proper adds modules, statements and calls."""

    def __init__(self) -> None:
        self.infos: dict[type, ClassInfo] = {}
        self._externals: dict[str, Any] = {}
        from vllm_migrate.catalog.interp_natives import natives

        self.natives: dict[str, Any] = natives(self)  # type: ignore[arg-type]

    def external(self, dotted: str) -> Any:
        """Return the stand-in of a name from outside the tree, or what we know of it."""
        if dotted in self.natives:
            return self.natives[dotted]
        return self._externals.setdefault(dotted, External(dotted))

    # helpers other parts use

    def truth(self, value: Any) -> bool:
        """Tell whether a value counts as true. Raises Unsupported where only a run could tell."""
        if isinstance(value, Unknown) and not isinstance(value, External):
            raise Unsupported(f"truth of {value.text}")
        if isinstance(value, External):
            raise Unsupported(f"truth of {value.text}")
        return bool(value)

    def iterate(self, value: Any) -> list[Any]:
        """Return the items of a value. Raises Unsupported for what is unknown."""
        if isinstance(value, type) and issubclass(value, enum.Enum):
            return list(value)
        if isinstance(value, (set, frozenset)):
            return sorted(value, key=repr)  # a set has no order of its own; a build must not depend on one
        if isinstance(value, (*_PLAIN, types.GeneratorType)) or hasattr(value, "__next__"):
            if isinstance(value, range) and len(value) > _SIZE:
                raise Unsupported("a long range")
            return list(value)
        if isinstance(value, (type({}.items()), type({}.keys()), type({}.values()))):
            return list(value)
        raise Unsupported(f"iteration over {value!r}")

    def eval(self, node: ast.expr, scope: Scope) -> Any:
        self.step()
        method = getattr(self, "_ev_" + type(node).__name__, None)
        if method is None:
            raise Unsupported(type(node).__name__)
        return method(node, scope)

    def try_eval(self, node: ast.expr, scope: Scope) -> Any:
        """Return a value, or Unknown with the source's text where it cannot be read."""
        try:
            return self.eval(node, scope)
        except (Unsupported, Raised):
            return Unknown(ast.unparse(node))

    # names

    def bind(self, name: str, value: Any, scope: Scope) -> None:
        target: Scope | None = scope
        if name in scope.outer:
            target = scope.parent
            while target is not None and target.parent is not None and name not in target.names:
                target = target.parent
        (target or scope).names[name] = value

    def store(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value, scope)
        elif isinstance(target, ast.Subscript):
            container = self.eval(target.value, scope)
            index = self.eval(target.slice, scope)
            if isinstance(container, (dict, list)) and container is not self.natives["os.environ"]:
                container[index] = value
        elif isinstance(target, ast.Attribute):
            owner = self.eval(target.value, scope)
            if isinstance(owner, Instance):
                owner.attributes[target.attr] = value
            elif isinstance(owner, Module):
                owner.globals[target.attr] = value
            elif isinstance(owner, type) and owner in self.infos:
                self.infos[owner].namespace[target.attr] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value, scope)
        elif isinstance(target, ast.Starred):
            self.store(target.value, value, scope)

    def _unpack(self, targets: list[ast.expr], value: Any, scope: Scope) -> None:
        if isinstance(value, Unknown):
            for target in targets:
                self.store(target, Unknown(f"{value.text}[…]"), scope)
            return
        items = self.iterate(value)
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        if star is not None:
            after = len(targets) - star - 1
            end = len(items) - after
            items = [*items[:star], items[star:end], *items[end:]]
        if len(items) != len(targets):
            raise Raised("ValueError", "values to unpack")
        for target, item in zip(targets, items, strict=True):
            self.store(target, item, scope)

    def _ev_Name(self, node: ast.Name, scope: Scope) -> Any:
        found: Scope | None = scope
        while found is not None:
            # A class body's names are not seen by the functions inside it.
            if node.id in found.names and (found is scope or found.owner is None or found.first is not None):
                if found.parent is None:
                    return self.module_attribute(found.module, node.id)
                return self.resolve(found.names[node.id])
            found = found.parent
        if (scope.module.name, node.id) in self.overrides:
            return self.overrides[scope.module.name, node.id]
        value = self.natives.get("builtins." + node.id, _MISSING)
        if value is not _MISSING:
            return value
        if isinstance(getattr(builtins, node.id, None), type):
            return External("builtins." + node.id)
        return Unknown(node.id)

    def _ev_Constant(self, node: ast.Constant, scope: Scope) -> Any:
        return node.value

    def _ev_NamedExpr(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        self.store(node.target, value, scope)
        return value

    # containers

    def _items(self, nodes: Iterable[ast.expr], scope: Scope) -> list[Any]:
        out: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                out.extend(self.iterate(self.eval(node.value, scope)))
            else:
                out.append(self.try_eval(node, scope))
        return out

    def _ev_List(self, node: ast.List, scope: Scope) -> Any:
        return self._items(node.elts, scope)

    def _ev_Tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._items(node.elts, scope))

    def _ev_Set(self, node: ast.Set, scope: Scope) -> Any:
        return set(self._items(node.elts, scope))

    def _ev_Dict(self, node: ast.Dict, scope: Scope) -> Any:
        out: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                other = self.eval(value, scope)
                if not isinstance(other, dict):
                    raise Unsupported(f"** of {other!r}")
                out.update(other)
            else:
                out[self.eval(key, scope)] = self.try_eval(value, scope)
        return out

    def _loop(self, node: Any, scope: Scope, emit: Callable[[Scope], None]) -> None:
        inner = Scope({}, scope, scope.module)

        def level(index: int) -> None:
            if index == len(node.generators):
                emit(inner)
                return
            generator = node.generators[index]
            for item in self.iterate(self.eval(generator.iter, inner)):
                self.store(generator.target, item, inner)
                if all(self.truth(self.eval(test, inner)) for test in generator.ifs):
                    level(index + 1)

        level(0)

    def _ev_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Any:
        out: list[Any] = []
        self._loop(node, scope, lambda s: out.append(self.eval(node.elt, s)))
        return out

    def _ev_SetComp(self, node: ast.SetComp, scope: Scope) -> Any:
        return set(self._ev_ListComp(node, scope))

    def _ev_GeneratorExp(self, node: ast.GeneratorExp, scope: Scope) -> Any:
        return iter(self._ev_ListComp(node, scope))

    def _ev_DictComp(self, node: ast.DictComp, scope: Scope) -> Any:
        out: dict[Any, Any] = {}

        def emit(inner: Scope) -> None:
            out[self.eval(node.key, inner)] = self.eval(node.value, inner)

        self._loop(node, scope, emit)
        return out

    # operators

    def binary(self, op: ast.operator, left: Any, right: Any, *, in_place: bool = False) -> Any:
        if _too_large(op, left, right):
            raise Unsupported(f"a large {type(op).__name__.lower()}")
        unknown = isinstance(left, Unknown) or isinstance(right, Unknown)
        if unknown and (not isinstance(op, ast.BitOr) or isinstance(left, dict) or isinstance(right, dict)):
            return Unknown(f"{left!r} … {right!r}")
        if in_place and isinstance(op, ast.Add) and isinstance(left, list):
            left.extend(self.iterate(right))
            return left
        if in_place and isinstance(op, ast.BitOr) and isinstance(left, (dict, set)):
            left.update(right)
            return left
        if type(op) not in _BINARY:
            raise Unsupported(type(op).__name__)
        return self.guard(lambda: _BINARY[type(op)](left, right), [left, right])

    def guard(self, run: Callable[[], Any], operands: Iterable[Any]) -> Any:
        """Run something of Python's own; what it raises is the source's, or Unknown if unknowns caused it."""
        try:
            return run()
        except _CATCH as error:
            if any(_opaque(v) for v in operands):
                return Unknown("…")
            raise Raised(type(error).__name__, str(error)) from None

    def _ev_BinOp(self, node: ast.BinOp, scope: Scope) -> Any:
        return self.binary(node.op, self.eval(node.left, scope), self.eval(node.right, scope))

    def _ev_UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.eval(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return Unknown(f"not {value!r}") if isinstance(value, Unknown) else not value
        if isinstance(value, Unknown):
            return Unknown(ast.unparse(node))
        ops: dict[type[ast.unaryop], Callable[[Any], Any]] = {
            ast.USub: operator.neg,
            ast.UAdd: operator.pos,
            ast.Invert: operator.invert,
        }
        return self.guard(lambda: ops[type(node.op)](value), [value])

    def _ev_BoolOp(self, node: ast.BoolOp, scope: Scope) -> Any:
        stop = isinstance(node.op, ast.Or)
        value: Any = None
        unknown: Any = None
        for part in node.values:
            value = self.try_eval(part, scope)
            if isinstance(value, Unknown):
                unknown = unknown or value
            elif bool(value) is stop:
                return value if unknown is None or isinstance(value, bool) else Unknown(ast.unparse(node))
        return value if unknown is None else Unknown(ast.unparse(node))

    def _ev_Compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.eval(comparator, scope)
            result = self._compare(op, left, right)
            if isinstance(result, Unknown) or not result:
                return result
            left = right
        return True

    def _compare(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            if any(isinstance(v, Unknown) and not isinstance(v, External) for v in (left, right)):
                return Unknown("is")
            same = left is right
            return same if isinstance(op, ast.Is) else not same
        if isinstance(op, (ast.In, ast.NotIn)):
            if isinstance(right, Unknown) or (isinstance(left, Unknown) and not isinstance(left, External)):
                return Unknown("in")
            if isinstance(right, type) and issubclass(right, enum.Enum):
                right = list(right)
            inside = self.guard(lambda: left in right, [left, right])
            return inside if isinstance(op, ast.In) or isinstance(inside, Unknown) else not inside
        if any(isinstance(v, Unknown) and not isinstance(v, External) for v in (left, right)):
            return Unknown("compare")
        return self.guard(lambda: _COMPARE[type(op)](left, right), [left, right])

    def _ev_IfExp(self, node: ast.IfExp, scope: Scope) -> Any:
        test = self.eval(node.test, scope)
        if isinstance(test, Unknown):
            return Unknown(ast.unparse(node))
        return self.eval(node.body if test else node.orelse, scope)

    def _ev_JoinedStr(self, node: ast.JoinedStr, scope: Scope) -> Any:
        out = ""
        for part in node.values:
            value = self.eval(part, scope)
            if isinstance(value, Unknown):
                return Unknown(ast.unparse(node))
            out += value
        return out

    def _ev_FormattedValue(self, node: ast.FormattedValue, scope: Scope) -> Any:
        value = self.try_eval(node.value, scope)
        if isinstance(value, enum.Enum) and not isinstance(value, str):
            value = str(value)
        if not isinstance(value, (str, int, float, bool, type(None))):
            return Unknown(ast.unparse(node))
        if node.format_spec is not None:
            return Unknown(ast.unparse(node))
        return repr(value) if node.conversion == 114 else str(value)

    def _ev_Lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return self.make_function(node, scope, "<lambda>")

    def _ev_Starred(self, node: ast.Starred, scope: Scope) -> Any:
        raise Unsupported("*")

    def _ev_Slice(self, node: ast.Slice, scope: Scope) -> Any:
        parts = [None if p is None else self.eval(p, scope) for p in (node.lower, node.upper, node.step)]
        return Unknown("slice") if any(isinstance(p, Unknown) for p in parts) else slice(*parts)

    def _ev_Subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        index = self.eval(node.slice, scope)
        if value is self.natives["sys.modules"]:
            return self.resolve(ImportRef(index, None)) if isinstance(index, str) else Unknown("sys.modules[…]")
        if isinstance(value, External):
            if value.text.endswith(".SkipValidation"):
                return index  # pydantic's mark around a type
            return self.external(f"{value.text}[{index!r}]")
        if isinstance(value, Unknown):
            return Unknown(ast.unparse(node))
        if isinstance(value, type) and value in self.infos and not issubclass(value, enum.Enum):
            return value  # Generic[T]
        if isinstance(value, Native):
            return self.external(f"{value.name}[{index!r}]")  # a class of the library as a type
        if isinstance(value, (Function, Instance, Module)):
            return Unknown(ast.unparse(node))
        if isinstance(value, _PLAIN) and isinstance(index, Unknown):
            return Unknown(ast.unparse(node))
        return self.guard(lambda: value[index], [value, index])

    # attributes

    def _ev_Attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        return self.getattr(value, node.attr)

    def getattr(self, value: Any, name: str) -> Any:
        """Return an attribute of a value. Raises Raised("AttributeError") where there certainly is none."""
        from vllm_migrate.catalog.interp_classes import class_attribute, instance_attribute

        value = self.resolve(value)
        if isinstance(value, Module):
            return self.module_attribute(value, name)
        if isinstance(value, Instance):
            return instance_attribute(self, value, name)
        if isinstance(value, SuperProxy):
            return class_attribute(self, value.owner, name, after=value.owner, first=value.first)
        if isinstance(value, External):
            return self.external(f"{value.text}.{name}")
        if isinstance(value, Unknown):
            return Unknown(f"{value.text}.{name}")
        hook = getattr(value, "vm_attribute", None)
        if hook is not None:
            return hook(name)
        if isinstance(value, enum.Enum):
            if name in ("name", "value"):
                return getattr(value, name)
            return class_attribute(self, type(value), name, first=value)
        if isinstance(value, type) and (value in self.infos):
            return class_attribute(self, value, name)
        if name in _DUNDERS:
            return self.guard(lambda: getattr(value, name), [value])
        if isinstance(value, _HOST_OBJECTS) and not name.startswith("_"):
            return getattr(value, name, None)
        if isinstance(value, _PLAIN) and not name.startswith("_") and name not in ("format", "format_map"):
            method: Any = getattr(value, name, _MISSING)
            if method is _MISSING:
                raise Raised("AttributeError", name)

            def run(*args: Any, **kwargs: Any) -> Any:
                if _method_too_large(value, name, args):
                    raise Unsupported(f"a large {name}")
                return method(*args, **kwargs)

            return Native(name, run, takes_unknown=not isinstance(value, (str, bytes, int, float)))
        if isinstance(value, (Function, Native, Bound, Partial)):
            return Unknown(f"{getattr(value, 'name', value)}.{name}")
        if value in (str, dict, int, float, list, set, tuple, bytes) and not name.startswith("_"):
            return Unknown(f"{value.__name__}.{name}") if name != "fromkeys" else Native(name, dict.fromkeys)
        return Unknown(f"{value!r}.{name}")

    # calls

    def _ev_Call(self, node: ast.Call, scope: Scope) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self._super(scope)
        function = self.eval(node.func, scope)
        args = self._items(node.args, scope)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                kwargs[keyword.arg] = self.try_eval(keyword.value, scope)
                continue
            more = self.eval(keyword.value, scope)
            if not isinstance(more, dict):
                raise Unsupported(f"** of {more!r}")
            kwargs.update({str(k): v for k, v in more.items()})
        if isinstance(function, Unknown):
            return Unknown(f"{ast.unparse(node.func)}(…)")
        return self.call(function, args, kwargs)

    def _super(self, scope: Scope) -> Any:
        found: Scope | None = scope
        while found is not None:
            if "__class__" in found.names:
                return SuperProxy(found.names["__class__"], found.first)
            found = found.parent
        return Unknown("super()")

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Return what calling a value yields. Raises Unsupported or Raised."""
        function = self.resolve(function)
        if isinstance(function, Function):
            return self.call_function(function, args, kwargs)
        if isinstance(function, Bound):
            return self.call(function.function, [function.first, *args], kwargs)
        if isinstance(function, Partial):
            return self.call(function.function, [*function.args, *args], {**function.keywords, **kwargs})
        if isinstance(function, Native):
            if not function.takes_unknown and any(isinstance(v, Unknown) for v in (*args, *kwargs.values())):
                return Unknown(f"{function.name}(…)")
            try:
                return self.guard(lambda: function.call(*args, **kwargs), [*args, *kwargs.values()])
            except Raised as error:
                if error.name == "TypeError":  # more likely a form this reader does not know
                    raise Unsupported(f"{function.name}: {error}") from None
                raise
        hook = getattr(function, "vm_call", None)
        if hook is not None:
            return hook(args, kwargs)
        if isinstance(function, type):
            return self._construct(function, args, kwargs)
        return Unknown(f"{function!r}(…)")

    def _construct(self, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if cls in self.infos:
            if issubclass(cls, enum.Enum):
                return self.guard(lambda: cls(*args), args)
            return self.instantiate(cls, args, kwargs)
        native = self.natives.get("call." + cls.__name__)
        if native is None:
            return Unknown(f"{cls.__name__}(…)")
        return self.call(native, args, kwargs)

    def make_function(self, node: Any, scope: Scope, name: str) -> Function:
        arguments = node.args
        function = Function(name, node, scope)
        function.defaults = [self.try_eval(d, scope) for d in arguments.defaults]
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default is not None:
                function.kw_defaults[argument.arg] = self.try_eval(default, scope)
        return function

    def bind_arguments(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        spec = function.node.args
        positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        names = dict(zip(positional, args, strict=False))
        if len(args) > len(positional):
            if spec.vararg is None:
                raise Raised("TypeError", f"{function.name}: too many arguments")
            names[spec.vararg.arg] = tuple(args[len(positional) :])
        elif spec.vararg is not None:
            names[spec.vararg.arg] = ()
        extra: dict[str, Any] = {}
        known = {*positional, *(a.arg for a in spec.kwonlyargs)}
        for name, value in kwargs.items():
            (names if name in known else extra)[name] = value
        if spec.kwarg is not None:
            names[spec.kwarg.arg] = extra
        elif extra:
            raise Raised("TypeError", f"{function.name}: unexpected {', '.join(extra)}")
        for name, default in zip(
            positional[len(positional) - len(function.defaults) :], function.defaults, strict=True
        ):
            names.setdefault(name, default)
        for name, default in function.kw_defaults.items():
            names.setdefault(name, default)
        missing = [n for n in known if n not in names]
        if missing:
            raise Raised("TypeError", f"{function.name}: no {', '.join(sorted(missing))}")
        return names

    if TYPE_CHECKING:
        overrides: dict[tuple[str, str], Any]

        def step(self) -> None: ...
        def resolve(self, value: Any) -> Any: ...
        def module_attribute(self, module: Module, name: str) -> Any: ...
        def call_function(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any: ...
        def instantiate(self, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any: ...


def _too_large(op: ast.operator, left: Any, right: Any) -> bool:
    """Tell whether an operator would build something no real source builds."""
    sized = (str, bytes, list, tuple)
    if isinstance(op, ast.Mult) and (isinstance(left, sized) or isinstance(right, sized)):
        count, items = (left, right) if isinstance(left, int) else (right, left)
        return isinstance(count, int) and count * len(items) > _SIZE
    if isinstance(op, ast.Add) and isinstance(left, sized) and isinstance(right, sized):
        return len(left) + len(right) > _SIZE
    if isinstance(op, (ast.Pow, ast.LShift)):
        return isinstance(right, (int, float)) and abs(right) > 256
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        return re.search(r"%[^a-zA-Z%]*\d{4}", str(left)) is not None
    return isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > 4096


def _method_too_large(value: Any, name: str, args: tuple[Any, ...]) -> bool:
    if not isinstance(value, (str, bytes)):
        return False
    if name in ("ljust", "rjust", "center", "zfill", "expandtabs"):
        return any(isinstance(a, int) and a > _SIZE for a in args)
    return name == "replace" and len(args) > 1 and len(value) * len(str(args[1])) > 100 * _SIZE


def _opaque(value: Any) -> bool:
    return isinstance(value, (Unknown, Instance, Function, Native, ImportRef, Partial, Bound))


__all__ = ["Evaluator", "Interpreter"] if TYPE_CHECKING else ["Evaluator"]
