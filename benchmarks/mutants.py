"""Makes mutants of a module: one small change each, of the kinds that cosmic-ray and mutmut make.

Left alone: annotations, imports, decorators, docstrings, and strings of three words or more (messages: a change of
their wording breaks nothing).
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_METHODS = {
    "lstrip": "rstrip", "rstrip": "lstrip", "find": "rfind", "rfind": "find", "startswith": "endswith",
    "endswith": "startswith", "partition": "rpartition", "rpartition": "partition", "split": "rsplit",
    "rsplit": "split", "index": "rindex", "rindex": "index", "lower": "upper", "upper": "lower",
    "removeprefix": "removesuffix", "removesuffix": "removeprefix", "match": "search", "search": "match",
    "fullmatch": "match", "bisect_left": "bisect_right", "bisect_right": "bisect_left",
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_SILENT = {"repr", "compare", "hash", "init"}
_PROSE = re.compile(r"[A-Za-z`'\".,;:)]+(?:\s+[\w`'\"(]+){2}")

Apply = Callable[[ast.AST], ast.AST]


@dataclass(frozen=True)
class Mutant:
    """One change. node: its number among the nodes of the tree; which: among the changes of that node.

    where: the function or class it lies in; text: what it does, for people.
    """

    module: str
    where: str
    line: int
    operator: str
    text: str
    node: int
    which: int
    top: bool
    first: int

    @property
    def name(self) -> str:
        return f"{self.where}:{self.line}: {self.operator}: {self.text}"


def tree_of(source: str) -> ast.Module:
    return ast.parse(source)


def _skipped(tree: ast.Module) -> set[ast.AST]:
    """Nodes that are no code that runs, or whose change nobody could notice."""
    out: set[ast.AST] = set()

    def skip(node: ast.AST | None) -> None:
        if node is not None:
            out.update(ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for decorator in node.decorator_list:
                skip(decorator)
        if isinstance(node, ast.FunctionDef):
            skip(node.returns)
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            skip(node.annotation)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skip(node)
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Assert)):
            skip(node)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skip(node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Callable":
            skip(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "cast" and node.args:
                skip(node.args[0])
            if node.func.id == "field":
                for keyword in node.keywords:
                    if keyword.arg in _SILENT:
                        skip(keyword)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _PROSE.search(node.value):
            skip(node)
        if isinstance(node, ast.JoinedStr):
            said = "x".join(v.value if isinstance(v, ast.Constant) else "" for v in node.values)
            if _PROSE.search(said):
                for value in node.values:
                    if isinstance(value, ast.Constant):
                        skip(value)
        if isinstance(node, ast.FormattedValue):
            skip(node.format_spec)
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            value = statement.value
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr) and isinstance(value.right, ast.Name):
                skip(value)
    return out


def _constant(node: ast.Constant) -> Iterator[tuple[str, Apply]]:
    value = node.value
    new: object
    if isinstance(value, bool):
        new = not value
    elif isinstance(value, int):
        new = value + 1
    elif isinstance(value, str):
        new = f"XX{value}XX"
    elif isinstance(value, bytes):
        new = b"XX" + value + b"XX"
    else:
        return
    yield "constant", lambda n, new=new: ast.copy_location(ast.Constant(new), n)  # type: ignore[misc]


def _negated(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _changes(node: ast.AST) -> Iterator[tuple[str, Apply]]:
    """The changes of one node: what kind, and how (it may change the node in place)."""
    if isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for new in _COMPARE.get(type(op), ()):

                def compare(n: ast.AST, i: int = i, new: type[ast.cmpop] = new) -> ast.AST:
                    assert isinstance(n, ast.Compare)
                    n.ops[i] = new()
                    return n

                yield "comparison", compare
    elif isinstance(node, ast.BoolOp):

        def boolean(n: ast.AST) -> ast.AST:
            assert isinstance(n, ast.BoolOp)
            n.op = ast.Or() if isinstance(n.op, ast.And) else ast.And()
            return n

        yield "and/or", boolean
    elif isinstance(node, (ast.BinOp, ast.AugAssign)):
        if type(node.op) in _BINARY:

            def binary(n: ast.AST) -> ast.AST:
                assert isinstance(n, (ast.BinOp, ast.AugAssign))
                n.op = _BINARY[type(n.op)]()
                return n

            yield "arithmetic", binary
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, (ast.Not, ast.USub)):
            yield "unary", lambda n: n.operand  # type: ignore[attr-defined]
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        if not isinstance(node.test, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)):

            def negate(n: ast.AST) -> ast.AST:
                assert isinstance(n, (ast.If, ast.While, ast.IfExp))
                n.test = _negated(n.test)
                return n

            yield "negation", negate
    elif isinstance(node, ast.comprehension):
        for i, test in enumerate(node.ifs):
            if not isinstance(test, (ast.Compare, ast.BoolOp, ast.UnaryOp)):

                def negate_one(n: ast.AST, i: int = i) -> ast.AST:
                    assert isinstance(n, ast.comprehension)
                    n.ifs[i] = _negated(n.ifs[i])
                    return n

                yield "negation", negate_one
    elif isinstance(node, ast.For):

        def never(n: ast.AST) -> ast.AST:
            assert isinstance(n, ast.For)
            n.iter = ast.copy_location(ast.List([], ast.Load()), n.iter)
            return n

        yield "empty loop", never
    elif isinstance(node, (ast.Break, ast.Continue)):
        other = ast.Continue if isinstance(node, ast.Break) else ast.Break
        yield "break/continue", lambda n: ast.copy_location(other(), n)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "no call", lambda n: ast.copy_location(ast.Pass(), n)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:

            def method(n: ast.AST) -> ast.AST:
                assert isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
                n.func.attr = _METHODS[n.func.attr]
                return n

            yield "method", method
        elif isinstance(node.func, ast.Name) and node.func.id in _NAMES:

            def name(n: ast.AST) -> ast.AST:
                assert isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
                n.func.id = _NAMES[n.func.id]
                return n

            yield "method", name
    elif isinstance(node, ast.ExceptHandler) and node.type is not None:

        def catch(n: ast.AST) -> ast.AST:
            assert isinstance(n, ast.ExceptHandler) and n.type is not None
            n.type = ast.copy_location(ast.Name("ZeroDivisionError", ast.Load()), n.type)
            return n

        yield "exception", catch


def _places(tree: ast.Module) -> dict[ast.AST, tuple[str, bool, int]]:
    """For each node: the function or class around it, whether it runs on import, its statement's first line."""
    out: dict[ast.AST, tuple[str, bool, int]] = {}

    def visit(node: ast.AST, where: str, top: bool, first: int) -> None:
        if isinstance(node, ast.stmt):
            first = node.lineno
        out[node] = (where, top, first)
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    inner, runs = where, top
                    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and name == "body":
                        inner = f"{where}.{node.name}" if where else node.name
                        runs = top and isinstance(node, ast.ClassDef)
                    visit(child, inner, runs, first)

    visit(tree, "", True, 1)
    return out


def mutants(module: str, source: str) -> list[Mutant]:
    """Return every mutant of a module, in the order of the text."""
    tree = tree_of(source)
    skipped = _skipped(tree)
    places = _places(tree)
    out = []
    for number, node in enumerate(ast.walk(tree)):
        if node in skipped:
            continue
        for which, (operator, apply) in enumerate(_changes(node)):
            where, top, first = places[node]
            before = _short(node)
            line = getattr(node, "lineno", first)
            after = _short(apply(copy.deepcopy(node)))
            out.append(Mutant(module, where, line, operator, f"{before} -> {after}", number, which, top, first))
    return sorted(out, key=lambda m: (m.line, m.node, m.which))


def _short(node: ast.AST) -> str:
    if isinstance(node, (ast.For, ast.If, ast.While)):
        kind = {ast.For: "for", ast.If: "if", ast.While: "while"}[type(node)]
        told = f"for … in {ast.unparse(node.iter)}" if isinstance(node, ast.For) else f"{kind} {ast.unparse(node.test)}"
    elif isinstance(node, ast.ExceptHandler):
        told = f"except {ast.unparse(node.type)}" if node.type is not None else "except"
    elif isinstance(node, ast.comprehension):
        told = " ".join(f"if {ast.unparse(test)}" for test in node.ifs)
    else:
        told = ast.unparse(node)
    told = " ".join(told.split())
    return told if len(told) <= 120 else told[:117] + "…"


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: Callable[[ast.AST], ast.AST]) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new(node) if node is self.old else self.generic_visit(node)


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of the module with the mutant's change made."""
    tree = tree_of(source)
    node = list(ast.walk(tree))[mutant.node]
    change = list(_changes(node))[mutant.which][1]
    result = _Swap(node, change).visit(tree)
    assert isinstance(result, ast.Module)
    return ast.fix_missing_locations(result)
