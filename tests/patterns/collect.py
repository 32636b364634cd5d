"""Finds every regular expression the package is written with."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ambiguity import Growth, growth

import vllm_migrate

_PACKAGE = Path(vllm_migrate.__file__).parent
_SEARCHES = frozenset(("search", "findall", "finditer", "split", "sub", "subn"))
_TAKES = _SEARCHES | {"match", "fullmatch", "compile"}


@dataclass(frozen=True)
class Use:
    """One expression. where: file and line. how: the functions it is used with; pattern: None where it is made
    of what is known only when it runs; text: as it is written."""

    where: str
    module: str
    pattern: str | bytes | None
    flags: int
    how: frozenset[str]
    text: str

    def growth(self) -> Growth:
        """Return the worst over the functions it is used with."""
        assert self.pattern is not None
        search = bool(self.how & _SEARCHES) or not self.how
        ways = [(True, False)] * search + [(False, False)] * ("match" in self.how and not search)
        ways += [(False, True)] * ("fullmatch" in self.how)
        found = [growth(self.pattern, self.flags, search=begin, whole=whole) for begin, whole in ways]
        return max(found, key=lambda g: g.power or 99)


def modules() -> dict[str, ModuleType]:
    """Return the modules of the package that are loaded, by name."""
    return {name: module for name, module in sys.modules.items() if name.startswith(vllm_migrate.__name__)}


def uses() -> list[Use]:
    """Return every call of `re` in the package, patterns that stand in no call of it excepted."""
    sources = sorted(_PACKAGE.rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sources}
    everywhere = _methods(*trees.values())
    out: list[Use] = []
    for path, tree in trees.items():
        here = _methods(tree)
        # A name with an underscore in front is its module's own.
        used = {**everywhere, **{n: here.get(n, set()) for n in everywhere if n.startswith("_")}}
        out += _of_module(path, tree, used)
    return out


def _methods(*trees: ast.Module) -> dict[str, set[str]]:
    """Return name → what is called on it, anywhere: `_WORD.match(…)`."""
    out: dict[str, set[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _TAKES - {"compile"}:
                name = _last(node.value)
                if name:
                    out.setdefault(name, set()).add(node.attr)
    return out


def _last(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Call)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return str(node.slice.value)
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _of_module(path: Path, tree: ast.Module, methods: dict[str, set[str]]) -> Iterator[Use]:
    name = ".".join((vllm_migrate.__name__, *path.relative_to(_PACKAGE).with_suffix("").parts))
    if name.endswith(("__main__", ".lazy", ".patterns")):
        return
    name = name.removesuffix(".__init__")
    module = importlib.import_module(name)
    bound = {
        id(inner): function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for last in function.body
        if isinstance(last, ast.Return) and last.value is not None
        for inner in ast.walk(last.value)
    }
    direct = {id(n.value): n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in _TAKES}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if name_of := _last(target):
                bound.update({id(inner): name_of for inner in ast.walk(node.value) if isinstance(inner, ast.Call)})
    for node in ast.walk(tree):
        function = _function(node) if isinstance(node, ast.Call) and node.args else ""
        if not function or not isinstance(node, ast.Call):
            continue
        how = frozenset({function})
        if function == "compile":
            used = direct.get(id(node))
            how = frozenset({used} if used else methods.get(bound.get(id(node), ""), ()))
        where = f"{path.relative_to(_PACKAGE).as_posix()}:{node.lineno}"
        text = ast.unparse(node.args[0])
        for pattern in _values(node.args[0], module, tree):
            yield Use(where, name.removeprefix("vllm_migrate."), pattern, _flags(node, function, module), how, text)


def _values(node: ast.expr, module: ModuleType, tree: ast.Module) -> list[str | bytes | None]:
    try:
        value = eval(compile(ast.Expression(node), "pattern", "eval"), vars(module))
    except Exception:
        return [None]
    return [value if isinstance(value, (str, bytes)) else getattr(value, "pattern", None)]


def _function(node: ast.Call) -> str:
    """Return the function of `re` a call is one of; `lazy.regex` is `compile`."""
    if isinstance(node.func, ast.Name):
        return "compile" if node.func.id == "regex" else ""
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
        return node.func.attr if node.func.attr in _TAKES else ""
    return ""


def _flags(node: ast.Call, function: str, module: ModuleType) -> int:
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(function, 2)
    given = next((k.value for k in node.keywords if k.arg == "flags"), None)
    if given is None and len(node.args) > place:
        given = node.args[place]
    if given is None:
        return 0
    return int(eval(compile(ast.Expression(given), "flags", "eval"), vars(module)))
