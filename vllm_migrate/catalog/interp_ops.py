"""Operators and displays: arithmetic, comparison, choice, formatting, lists and comprehensions."""

from __future__ import annotations

import ast
import enum
import operator
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from vllm_migrate.catalog.interp_values import (
    Bound,
    External,
    Function,
    ImportRef,
    Instance,
    Native,
    Partial,
    Raised,
    Scope,
    Unknown,
    Unsupported,
)

#: The largest sequence the reader builds; no real source comes near it.
SIZE = 200_000
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
_CATCH = (ValueError, TypeError, KeyError, IndexError, AttributeError, StopIteration, ArithmeticError)


class Operators:
    """The operators half of the evaluator."""

    if TYPE_CHECKING:

        def eval(self, node: ast.expr, scope: Scope) -> Any: ...
        def try_eval(self, node: ast.expr, scope: Scope) -> Any: ...
        def iterate(self, value: Any) -> list[Any]: ...
        def truth(self, value: Any) -> bool: ...
        def store(self, target: ast.expr, value: Any, scope: Scope) -> None: ...

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


def _too_large(op: ast.operator, left: Any, right: Any) -> bool:
    """Tell whether an operator would build something no real source builds."""
    sized = (str, bytes, list, tuple)
    if isinstance(op, ast.Mult) and (isinstance(left, sized) or isinstance(right, sized)):
        count, items = (left, right) if isinstance(left, int) else (right, left)
        return isinstance(count, int) and count * len(items) > SIZE
    if isinstance(op, ast.Add) and isinstance(left, sized) and isinstance(right, sized):
        return len(left) + len(right) > SIZE
    if isinstance(op, (ast.Pow, ast.LShift)):
        return isinstance(right, (int, float)) and abs(right) > 256
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        return re.search(r"%[^a-zA-Z%]*\d{4}", str(left)) is not None
    return isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > 4096


def _opaque(value: Any) -> bool:
    return isinstance(value, (Unknown, Instance, Function, Native, ImportRef, Partial, Bound))
