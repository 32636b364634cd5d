"""Follows lists, dicts and strings that a module builds up in a variable.

A *build* is one value given to a variable and what is added to it later (`cmd += […]`,
`kwargs["x"] = …`). Branches are joined, so what follows an `if` counts for the builds of both arms.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import field

from vllm_migrate.hosts.python_source import Module, Scope
from vllm_migrate.lazy import dataclass

_ADDING = ("append", "extend", "insert", "update", "setdefault")


@dataclass(frozen=True, eq=False)
class Event:
    """Something added to a build. kind: "append", "extend", "insert", "update", "setdefault", "aug"
    (`+=`, `|=`) or "item" (`x[key] = value`)."""

    kind: str
    statement: ast.stmt
    call: ast.Call | None = None


@dataclass(eq=False)
class Build:
    """One value of a variable. origin: the expression it begins with, None where the file has none.

    events: everything that is ever added, on whatever path; ends: what was added where the value is used
    or its scope ends, one tuple for each.
    """

    name: str
    origin: ast.expr | None
    statement: ast.AST
    events: list[Event] = field(default_factory=list)
    uses: list[ast.expr] = field(default_factory=list)
    ends: list[tuple[Event, ...]] = field(default_factory=list)

    def paths(self) -> list[tuple[Event, ...]]:
        """Return what was added on each path that is no beginning of another."""
        sets = [set(e) for e in self.ends]
        out: list[tuple[Event, ...]] = []
        for i, end in enumerate(self.ends):
            if end not in out and not any(sets[i] < other for other in sets):
                out.append(end)
        return out or [tuple(self.events)]


Reach = list[tuple[Build, tuple[Event, ...]]]
"""Builds that reach a use, each with the events that had happened by then."""
_Live = dict[Build, tuple[Event, ...]]


class Flow:
    """All builds of all variables of a module, found when asked for."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._walks: dict[tuple[Scope, str], _Walk] = {}
        self._bound: dict[Scope, set[str]] = {}
        self._named: dict[str, list[ast.AST]] | None = None
        self._holders: dict[str, set[ast.AST]] = {}

    def holders(self, name: str) -> set[ast.AST]:
        """Return every node around a use of a variable, and the parameters of that name."""
        if name in self._holders:
            return self._holders[name]
        if self._named is None:
            self._named = {}
            for node in self.module.parents:
                if isinstance(node, ast.Name):
                    self._named.setdefault(node.id, []).append(node)
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                    self._named.setdefault(f"self.{node.attr}", []).append(node)
        out: set[ast.AST] = set()
        parents = self.module.parents
        for node in self._named.get(name, ()):
            above = parents.get(node)
            while above is not None and above not in out:
                out.add(above)
                above = parents.get(above)
        self._holders[name] = out
        return out

    def builds(self, node: ast.expr) -> list[Build]:
        """Return every build of the variable that a name or `self.x` stands for."""
        walk = self._walk(node)
        return walk.builds if walk else []

    def reach(self, node: ast.expr) -> Reach:
        """Return the builds that reach a use of a variable."""
        walk = self._walk(node)
        return walk.reach.get(node, []) if walk else []

    def _walk(self, node: ast.expr) -> _Walk | None:
        key = self._key(node)
        if key is None:
            return None
        if key not in self._walks:
            self._walks[key] = _Walk(self, *key)
        return self._walks[key]

    def _key(self, node: ast.expr) -> tuple[Scope, str] | None:
        if isinstance(node, ast.Name):
            scope: ast.AST = node
            while True:
                scope = self.module.scope(scope)
                is_module = isinstance(scope, ast.Module)
                if isinstance(scope, ast.ClassDef) and scope is not self.module.scope(node):
                    continue
                if node.id in self.names(scope):
                    return scope, node.id
                if is_module:
                    return None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            for a in self.module.ancestors(node):
                if isinstance(a, ast.ClassDef):
                    return a, f"self.{node.attr}"
        return None

    def names(self, scope: Scope) -> set[str]:
        """Return the names bound in a scope."""
        if scope not in self._bound:
            names: set[str] = set()
            outside: set[str] = set()
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names.update(a.arg for a in _parameters(scope))
            for node in _own_nodes(scope):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, (ast.Global, ast.Nonlocal)):
                    outside.update(node.names)
            self._bound[scope] = names - outside
        return self._bound[scope]


def _parameters(scope: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    a = scope.args
    extra = [x for x in (a.vararg, a.kwarg) if x is not None]
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *extra]


def _own_nodes(scope: Scope) -> Iterable[ast.AST]:
    stack: list[ast.AST] = list(scope.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))


class _Walk:
    def __init__(self, flow: Flow, scope: Scope, name: str) -> None:
        self.name = name
        self.holders = flow.holders(name)
        self.builds: list[Build] = []
        self.reach: dict[ast.expr, Reach] = {}
        self._later: list[Scope] = []
        live: _Live = {}
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
            a.arg == name for a in _parameters(scope)
        ):
            live = {self._new(None, scope): ()}
        live = self._run(scope.body, live)
        own = set(scope.body) if name.startswith("self.") else set()
        while self._later:
            inner = self._later.pop(0)
            if not name.startswith("self.") and name in _rebound(flow, inner):
                continue
            after = self._run(inner.body, dict(live) or {b: tuple(b.events) for b in self.builds})
            if inner in own:
                live = _union(live, after)
        for build, events in live.items():
            build.ends.append(events)

    def _new(self, origin: ast.expr | None, statement: ast.AST) -> Build:
        build = Build(self.name, origin, statement)
        self.builds.append(build)
        return build

    def _is(self, node: ast.AST) -> bool:
        if self.name.startswith("self."):
            return (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
                and node.attr == self.name[5:]
            )
        return isinstance(node, ast.Name) and node.id == self.name

    def _run(self, statements: Sequence[ast.stmt], live: _Live) -> _Live:
        for s in statements:
            live = self._statement(s, live)
        return live

    def _statement(self, s: ast.stmt, live: _Live) -> _Live:
        if s not in self.holders:
            return {} if isinstance(s, (ast.Return, ast.Raise, ast.Continue, ast.Break)) else live
        if isinstance(s, ast.If):
            self._loads(s.test, live)
            return _union(self._run(s.body, live), self._run(s.orelse, live))
        if isinstance(s, (ast.For, ast.AsyncFor)):
            self._loads(s.iter, live)
            if any(self._is(n) for n in ast.walk(s.target)):
                live = {self._new(None, s): ()}
            live = _union(live, self._run(s.body, live))
            return self._run(s.orelse, live)
        if isinstance(s, ast.While):
            self._loads(s.test, live)
            live = _union(live, self._run(s.body, live))
            return self._run(s.orelse, live)
        if isinstance(s, (ast.With, ast.AsyncWith)):
            for item in s.items:
                self._loads(item.context_expr, live)
                if item.optional_vars is not None and any(self._is(n) for n in ast.walk(item.optional_vars)):
                    live = {self._new(None, s): ()}
            return self._run(s.body, live)
        if isinstance(s, ast.Try) or type(s).__name__ == "TryStar":
            assert isinstance(s, ast.Try) or hasattr(s, "handlers")
            tried = self._run(s.body, live)  # type: ignore[attr-defined]
            out = self._run(s.orelse, tried)  # type: ignore[attr-defined]
            for handler in s.handlers:
                out = _union(out, self._run(handler.body, _union(live, tried)))
            return self._run(s.finalbody, out)  # type: ignore[attr-defined]
        if isinstance(s, ast.Match):
            self._loads(s.subject, live)
            out = dict(live)
            for case in s.cases:
                out = _union(out, self._run(case.body, live))
            return out
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._later.append(s)
            for expression in (*s.decorator_list, *_defaults(s)):
                self._loads(expression, live)
            return live
        return self._simple(s, live)

    def _simple(self, s: ast.stmt, live: _Live) -> _Live:
        if isinstance(s, (ast.Assign, ast.AnnAssign)):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            if s.value is None:
                return live
            self._loads(s.value, live)
            for target in targets:
                if self._is(target):
                    return {self._new(s.value if len(targets) == 1 else None, s): ()}
                if isinstance(target, ast.Subscript) and self._is(target.value) and len(targets) == 1:
                    self._loads(target.slice, live)
                    live = _after(live, Event("item", s))
                else:
                    stored = [n for n in ast.walk(target) if self._is(n)]
                    if any(isinstance(n.ctx, ast.Store) for n in stored):  # type: ignore[attr-defined]
                        return {self._new(None, s): ()}
                    self._loads(target, live)
            return live
        if isinstance(s, ast.AugAssign) and self._is(s.target):
            self._loads(s.value, live)
            return _after(live, Event("aug", s))
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call):
            call = s.value
            func = call.func
            if isinstance(func, ast.Attribute) and self._is(func.value) and func.attr in _ADDING:
                for argument in (*call.args, *(k.value for k in call.keywords)):
                    self._loads(argument, live)
                return _after(live, Event(func.attr, s, call))
        self._loads(s, live)
        if isinstance(s, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            return {}
        return live

    def _loads(self, root: ast.AST, live: _Live) -> None:
        # As `ast.walk` goes, without the branches that hold no use of the variable.
        waiting: deque[ast.AST] = deque([root])
        while waiting:
            node = waiting.popleft()
            if node in self.holders:
                waiting.extend(ast.iter_child_nodes(node))
            if self._is(node):
                assert isinstance(node, ast.expr)
                self.reach[node] = list(live.items())
                for build, events in live.items():
                    build.uses.append(node)
                    build.ends.append(events)


def _defaults(s: ast.stmt) -> list[ast.expr]:
    if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*s.args.defaults, *(d for d in s.args.kw_defaults if d is not None)]
    return []


def _rebound(flow: Flow, scope: Scope) -> set[str]:
    return set() if isinstance(scope, ast.ClassDef) else flow.names(scope)


def _after(live: _Live, event: Event) -> _Live:
    for build in live:
        build.events.append(event)
    return {build: (*events, event) for build, events in live.items()}


def _union(a: _Live, b: _Live) -> _Live:
    out = dict(a)
    for build, events in b.items():
        seen = {*out.get(build, ()), *events}
        out[build] = tuple(e for e in build.events if e in seen)
    return out
