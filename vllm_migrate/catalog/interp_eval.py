"""Expressions: the half of the reader that yields values."""

from __future__ import annotations

import ast
import builtins
import enum
import types
from typing import TYPE_CHECKING, Any

from vllm_migrate.catalog.interp_ops import SIZE, Operators
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

_PLAIN = (str, bytes, int, float, complex, bool, list, tuple, dict, set, frozenset, range)
_HOST_OBJECTS = (FieldInfo, FieldObject, FieldSpec)
_DUNDERS = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__members__", "__args__", "__origin__"})
_MISSING = object()


class Evaluator(Operators):
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
            if isinstance(value, range) and len(value) > SIZE:
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


def _method_too_large(value: Any, name: str, args: tuple[Any, ...]) -> bool:
    if not isinstance(value, (str, bytes)):
        return False
    if name in ("ljust", "rjust", "center", "zfill", "expandtabs"):
        return any(isinstance(a, int) and a > SIZE for a in args)
    return name == "replace" and len(args) > 1 and len(value) * len(str(args[1])) > 100 * SIZE
