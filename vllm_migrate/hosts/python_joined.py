"""Lists of pieces of command text that are joined before they run: `" ".join(parts)`, `"\n".join(lines)`."""

from __future__ import annotations

import ast
import re

from vllm_migrate.hosts.python_flow import Build, Event
from vllm_migrate.hosts.python_maps import Maps
from vllm_migrate.hosts.python_region import Given, is_text, says
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.lazy import dataclass

ListNode = ast.List | ast.Tuple


@dataclass(frozen=True)
class Joined:
    """A joined list: its pieces in order and the text between two of them."""

    node: ast.expr
    build: Build | None
    given: tuple[Given, ...]
    joint: str


def read_joins(module: Module, maps: Maps) -> list[Joined]:
    """Return the joined lists in which an item holds more than one word.

    A list whose items end with a backslash holds lines, also where nobody is seen to join them.
    """
    out: list[Joined] = []
    for node in module.nodes:
        if not isinstance(node, (ast.List, ast.Tuple)) or not isinstance(node.ctx, ast.Load):
            continue
        build = _build(module, maps, node)
        given = _items(maps, node, None)
        for event in build.events if build is not None else ():
            given += _added(maps, event)
        texts = [says(module, g.expression).text for g in given if is_text(g.expression)]
        if not any(re.search(r"\S\s+\S", t) for t in texts):
            continue
        joint = _joint(module, node, build)
        if joint is None and any(re.search(r"\S *\\\n?$", t) for t in texts):
            joint = "" if any(t.endswith("\n") for t in texts) else "\n"
        if joint is not None:
            out.append(Joined(node, build, tuple(given), joint))
    return out


def _build(module: Module, maps: Maps, node: ListNode) -> Build | None:
    parent = module.parents.get(node)
    if isinstance(parent, (ast.Assign, ast.AnnAssign)) and parent.value is node:
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        for target in targets:
            for build in maps.flow.builds(target):
                if build.origin is node:
                    return build
    return None


def _items(maps: Maps, node: ListNode, statement: ast.stmt | None) -> list[Given]:
    bracket = maps.bracket(node)
    if bracket is None:
        return []
    return [Given(e.value if isinstance(e, ast.Starred) else e, statement, bracket, i) for i, e in enumerate(node.elts)]


def _added(maps: Maps, event: Event) -> list[Given]:
    s, call = event.statement, event.call
    if event.kind == "append" and call is not None and len(call.args) == 1:
        bracket = maps.bracket(call)
        return [Given(call.args[0], s, bracket)] if bracket is not None else []
    value = call.args[0] if event.kind == "extend" and call is not None and call.args else None
    if event.kind == "aug" and isinstance(s, ast.AugAssign):
        value = s.value
    if isinstance(value, (ast.List, ast.Tuple)):
        return _items(maps, value, s)
    return [Given(value, s)] if value is not None else []


def _joint(module: Module, node: ListNode, build: Build | None) -> str | None:
    """Return the text a list is joined with; None where it is also handed on as a list."""
    joint: str | None = None
    for use in [node] if build is None else build.uses:
        call = module.parents.get(use)
        if not isinstance(call, ast.Call) or use not in call.args:
            continue
        func = call.func
        if (
            isinstance(func, ast.Attribute)
            and func.attr == "join"
            and isinstance(func.value, ast.Constant)
            and isinstance(func.value.value, str)
        ):
            joint = func.value.value
        elif not (isinstance(func, ast.Name) and func.id in ("print", "len")):
            return None
    return joint
