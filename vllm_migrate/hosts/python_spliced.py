"""Expressions that stand for several words: a text of options, a joined list, what a function of the module returns."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from vllm_migrate.hosts import read_words
from vllm_migrate.hosts.python_flow import Build, Flow
from vllm_migrate.hosts.python_region import Given, StringRegion, has_text, says, string_region
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Word

Function = ast.FunctionDef
_OPTIONS = regex(r"\s*--?[A-Za-z]")


Held = tuple[list[Word], list[ast.expr]]
"""Words, and the uses of variables they were found through."""


@dataclass
class Texts:
    """Reads texts of options as words; the same text gives the same words."""

    module: Module
    flow: Flow
    _words: dict[object, list[Word]] = field(default_factory=dict)
    _builds: dict[Build, list[Word]] = field(default_factory=dict)

    def words(self, node: ast.expr) -> Held | None:
        """Return the words of an expression that is a text of options, None where it is not."""
        if isinstance(node, ast.IfExp):
            arms = [self.words(arm) for arm in (node.body, node.orelse) if not _empty(arm)]
            known = [arm for arm in arms if arm is not None]
            if len(known) < len(arms):
                return None
            return [w for words, _ in known for w in words], [n for _, names in known for n in names]
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(node)
        held = self._text(node, [Given(node)]) if has_text(node) else None
        return None if held is None else (held, [])

    def _named(self, node: ast.expr) -> Held | None:
        words: list[Word] = []
        names = [node]
        reach = self.flow.reach(node)
        for build, _ in reach:
            held = self._build(build)
            if held is None:
                return None
            words += [w for w in held[0] if w not in words]
            names += held[1]
        return (words, names) if reach else None

    def _build(self, build: Build) -> Held | None:
        origin = build.origin
        if origin is None or any(not isinstance(e.statement, ast.AugAssign) for e in build.events):
            return None
        if isinstance(origin, ast.IfExp) and not build.events:
            found = self.words(origin)
            if found is not None:
                self._builds[build] = found[0]
            return found
        if not has_text(origin):
            return None
        added = [Given(e.statement.value, e.statement) for e in build.events if isinstance(e.statement, ast.AugAssign)]
        held = self._text(build, [Given(origin), *added])
        if held is None:
            return None
        self._builds[build] = held
        return held, []

    def _text(self, key: object, given: Sequence[Given]) -> list[Word] | None:
        if key not in self._words:
            text = "".join(says(self.module, g.expression).text for g in given)
            if not text.strip() and all(has_text(g.expression) for g in given):
                return []
            region = string_region(self.module, given) if _OPTIONS.match(text) else None
            if region is None:
                return None
            self._words[key] = read_words(region, "python")
        return self._words[key]

    def lock_others(self, used: set[ast.expr]) -> None:
        """Lock the words of texts that something else than a launch uses too. used: the uses of launches."""
        for build, words in self._builds.items():
            others = [u for u in build.uses if u not in used]
            if others:
                code = " ".join(self.module.raw(self.module.statement(others[0]) or others[0]).split())[:60]
                for word in words:
                    word.locked = word.locked or f"also used by `{code}`"


def _empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or node.value == "")


def joined_list(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the list that `" ".join(list)`, `shlex.join(list)` or `subprocess.list2cmdline(list)` makes a text of."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    func = node.func
    if module.dotted(func) in ("shlex.join", "subprocess.list2cmdline"):
        return node.args[0]
    blank = isinstance(func, ast.Attribute) and func.attr == "join" and isinstance(func.value, ast.Constant)
    if blank and isinstance(func, ast.Attribute) and getattr(func.value, "value", None) == " ":
        inner = node.args[0]
        # `" ".join(map(str, list))`
        mapped = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "map"
        return inner.args[1] if mapped and isinstance(inner, ast.Call) and len(inner.args) == 2 else inner
    return None


def split_text(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the text that `shlex.split(text)` or `text.split()` makes words of."""
    if not isinstance(node, ast.Call):
        return None
    if module.dotted(node.func) == "shlex.split" and node.args:
        return node.args[0]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "split" and not node.args and not node.keywords:
        return node.func.value
    return None


def function_of(module: Module, call: ast.Call) -> Function | None:
    """Return the function of this module that a call runs: by its name, or a method by `self.name` or `cls.name`."""
    func = call.func
    if isinstance(func, ast.Name):
        return _one(n for n in module.tree.body if isinstance(n, ast.FunctionDef) and n.name == func.id)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in ("self", "cls"):
        holder = next((a for a in module.ancestors(call) if isinstance(a, ast.ClassDef)), None)
        if holder is not None:
            return _one(n for n in holder.body if isinstance(n, ast.FunctionDef) and n.name == func.attr)
    return None


def property_of(module: Module, node: ast.Attribute) -> Function | None:
    """Return the property that an attribute is, where one class of the module has it and nothing sets it."""
    if not isinstance(node.ctx, ast.Load) or not isinstance(node.value, ast.Name):
        return None
    found = _one(
        (
            member
            for holder in module.tree.body
            if isinstance(holder, ast.ClassDef)
            for member in holder.body
            if isinstance(member, ast.FunctionDef) and member.name == node.attr
        ),
        _PROPERTIES,
    )
    return found if found is not None and found.decorator_list else None


_PROPERTIES = ("property", "cached_property")


def _one(found: Iterable[Function], decorators: tuple[str, ...] = ("staticmethod", "classmethod")) -> Function | None:
    functions = list(found)
    if len(functions) != 1 or _yields(functions[0]):
        return None
    for decorator in functions[0].decorator_list:
        name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        if name not in decorators:
            return None
    return functions[0]


def _own(function: Function) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


def _yields(function: Function) -> bool:
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own(function))


def returned(function: Function) -> list[ast.expr]:
    """Return what the `return` statements of a function give."""
    return [n.value for n in _own(function) if isinstance(n, ast.Return) and n.value is not None]


def filled_in(region: StringRegion) -> dict[str, ast.expr]:
    """Return the expressions that fill in a text, by what they say.

    Positions inside f-strings are not reliable in every Python: only variables and calls with them are given.
    """
    out: dict[str, ast.expr] = {}
    for expression in dict.fromkeys(p.given.expression for p in region.parts):
        for node in ast.walk(expression):
            if isinstance(node, ast.JoinedStr):
                for value in node.values:
                    if not isinstance(value, ast.FormattedValue) or not _placeless(value.value):
                        continue
                    if value.conversion == -1 and value.format_spec is None:
                        out.setdefault(ast.dump(value.value), value.value)
            elif isinstance(node, ast.expr) and isinstance(region.module.parents.get(node), ast.BinOp):
                out.setdefault(ast.dump(node), node)
    return out


def _placeless(node: ast.expr) -> bool:
    return not any(isinstance(n, (ast.List, ast.Tuple, ast.Dict, ast.JoinedStr)) for n in ast.walk(node))


def said_by(hole: str) -> str:
    """Return what a run-time part of a text says, as `filled_in` has it; "" for what is no expression."""
    inner = hole[1:-1] if hole.startswith("{") and hole.endswith("}") else hole
    try:
        return ast.dump(ast.parse(inner.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        return ""
