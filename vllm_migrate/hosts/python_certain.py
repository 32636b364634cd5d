"""Whether a variable is certainly set when a launch starts: what is set under a condition must not become an option."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Sequence

from vllm_migrate.hosts.python_source import Module
from vllm_migrate.model import Site

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEPTH = 4


def mark_conditional(module: Module, sites: Sequence[tuple[Site, ast.AST]]) -> None:
    """Note for every variable of a launch whether the statement that sets it may be passed over."""
    if not any(site.variables for site, _ in sites):
        return
    statements = sorted(
        ((module.span(node), node) for node in module.nodes if isinstance(node, ast.stmt)),
        key=lambda pair: pair[0].start,
    )
    starts = [span.start for span, _ in statements]
    for site, node in sites:
        for variable in site.variables:
            if variable.region.source is not site.region.source or variable.branch != -1:
                continue
            place = variable.place.start
            # The innermost statement at a place is the last one that begins before it and holds it.
            before = range(bisect.bisect_right(starts, place) - 1, -1, -1)
            setter = next((statements[i][1] for i in before if statements[i][0].end >= place), None)
            if setter is not None and not _certain(module, setter, node, 0):
                variable.branch = place


def _certain(module: Module, setter: ast.AST, use: ast.AST, depth: int) -> bool:
    """Tell whether a statement has run whenever another node is reached after it."""
    arms = _arms(module, use)
    if setter is use or id(setter) in arms:
        return True
    child: ast.AST = setter
    for holder in module.ancestors(setter):
        if (holder is use or id(holder) in arms) and not _splits(holder, child, arms.get(id(holder))):
            return True
        if isinstance(holder, _FUNCTIONS):
            return depth < _DEPTH and _called(module, holder, use, depth)
        if _splits(holder, child, arms.get(id(holder))):
            return False
        child = holder
    return True


def _arms(module: Module, use: ast.AST) -> dict[int, ast.AST]:
    """Return for each node above a use which of its children the use is in."""
    out: dict[int, ast.AST] = {}
    child = use
    for holder in module.ancestors(use):
        out[id(holder)] = child
        child = holder
    return out


def _splits(holder: ast.AST, child: ast.AST, other: ast.AST | None) -> bool:
    """Tell whether a statement may run one of its parts without the part the use is in (None: in none)."""
    if isinstance(holder, (ast.If, ast.For, ast.AsyncFor, ast.While)):
        if isinstance(holder, ast.If) and any(getattr(n, "id", "") == "__name__" for n in ast.walk(holder.test)):
            return False
        parts: list[list[ast.stmt]] = [holder.body, holder.orelse]
    elif isinstance(holder, (ast.Try,)):
        parts = [holder.body, *(h.body for h in holder.handlers), holder.orelse]
        if child in holder.handlers:
            return other is not child
        if child in holder.body or child in holder.finalbody:
            return False
    elif isinstance(holder, ast.Match):
        return other is not child
    else:
        return False
    mine = next((i for i, part in enumerate(parts) if child in part), -1)
    its = next((i for i, part in enumerate(parts) if other in part), -2)
    return mine != -1 and mine != its


def _called(module: Module, function: ast.AST, use: ast.AST, depth: int) -> bool:
    """Tell whether a function has certainly been called, by its name."""
    name = getattr(function, "name", "")
    if not name:
        return False
    if any(a is function for a in module.ancestors(use)):
        return False
    calls = (
        n
        for n in module.nodes
        if isinstance(n, ast.Call) and name in (getattr(n.func, "id", ""), getattr(n.func, "attr", ""))
    )
    line = getattr(use, "lineno", 0)
    return any(
        (module.scope(c) is not module.scope(use) or c.lineno <= line) and _certain(module, c, use, depth + 1)
        for c in calls
    )
