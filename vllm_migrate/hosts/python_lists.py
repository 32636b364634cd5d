"""Reads argument lists: literals, sums, starred parts, and lists that grow in a variable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import product

from vllm_migrate.hosts.python_commas import Bracket
from vllm_migrate.hosts.python_edit import Cluster, Plan
from vllm_migrate.hosts.python_elements import Elements
from vllm_migrate.hosts.python_flow import Build, Event
from vllm_migrate.hosts.python_maps import MOST, Maps
from vllm_migrate.hosts.python_region import has_text
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_spliced import Texts, function_of, joined_list, property_of, returned, split_text
from vllm_migrate.launch import find_launch
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Word
from vllm_migrate.text import Edit

_LIMIT = 6

_LISTS = (ast.List, ast.Tuple, ast.Name, ast.BinOp, ast.IfExp, ast.Call, ast.Attribute)
ListNode = ast.List | ast.Tuple


@dataclass(eq=False)
class Root:
    """A whole argument list: a list in place, or all of a variable's value."""

    node: ast.AST
    build: Build | None
    words: list[Word]
    inside: list[ast.expr]
    """Names of other lists that it takes words from."""


@dataclass
class _Line:
    words: list[Word] = field(default_factory=list)
    names: list[ast.expr] = field(default_factory=list)

    def plus(self, other: _Line) -> _Line:
        return _Line(self.words + other.words, self.names + other.names)


class Lists(Elements):
    """Reads the argument lists of one module; keeps the words it has made."""

    def __init__(self, module: Module, maps: Maps) -> None:
        super().__init__(module, maps)
        self.flow = maps.flow
        self.used: set[ast.expr] = set()
        self.skip: set[object] = set()
        """Lists that are read as text."""
        self._busy: set[Build] = set()
        self._steps = 0
        self._builds: dict[Build, set[Word]] = {}
        self.spliced = Texts(module, maps.flow)
        self._running: set[ast.FunctionDef] = set()
        self._returned: dict[ast.FunctionDef, list[Word]] = {}

    def texts(self) -> set[ast.AST]:
        """Return the nodes that were read as words of one word each."""
        return {node for node, words in self._words.items() if words and " " not in words[0].text}

    def roots(self) -> Iterator[Root]:
        """Yield every argument list of the module that stands for itself."""
        seen: set[object] = set(self.skip)
        for node in self.module.nodes:
            if not isinstance(node, (ast.List, ast.Tuple)) or not isinstance(node.ctx, ast.Load):
                continue
            top = self._top(node)
            if not node.elts and not isinstance(self.module.parents.get(top), (ast.Assign, ast.AnnAssign)):
                continue
            if top in seen:
                continue
            seen.add(top)
            builds = self._owners(top)
            for build in builds:
                if build not in seen:
                    seen.add(build)
                    for line in self.whole(build):
                        yield Root(build.origin or top, build, line.words, line.names)
            if not builds and not self._part_of_build(top):
                for line in self.lines(top, self.cluster(top)):
                    yield Root(top, None, line.words, line.names)

        for statement in self.module.nodes:
            # `cmd = base + extra`: no list in sight, but the names stand for lists.
            if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
                continue
            value = statement.value
            if value in seen or not isinstance(value, (ast.Name, ast.BinOp, ast.Call, ast.Subscript)):
                continue
            names = [n for n in ast.walk(value) if isinstance(n, ast.Name) and self.flow.reach(n)]
            calls = [n for n in ast.walk(value) if isinstance(n, ast.Call) and isinstance(value, ast.BinOp)]
            known = any(self._listy(b) for n in names for b, _ in self.flow.reach(n))
            if has_text(value) or not (known or any(function_of(self.module, c) for c in calls)):
                continue
            for build in self._owners(value):
                if build not in seen:
                    seen.add(build)
                    for line in self.whole(build):
                        yield Root(value, build, line.words, line.names)

    def _top(self, node: ast.expr) -> ast.expr:
        """Return the largest list expression a list literal is part of."""
        while True:
            parent = self.module.parents.get(node)
            if (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)) or (
                isinstance(parent, ast.IfExp) and node is not parent.test
            ):
                node = parent
            elif isinstance(parent, ast.Starred):
                holder = self.module.parents.get(parent)
                if not isinstance(holder, (ast.List, ast.Tuple)):
                    return node
                node = holder
            elif isinstance(parent, ast.Call) and self._copies(parent) and parent.args[:1] == [node]:
                node = parent
            else:
                return node

    def _copies(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Name) and call.func.id in ("list", "tuple") and len(call.args) == 1

    def _target(self, top: ast.expr) -> ast.expr | None:
        parent = self.module.parents.get(top)
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and parent.value is top:
            return parent.targets[0]
        if isinstance(parent, (ast.AnnAssign, ast.AugAssign)) and parent.value is top:
            return parent.target
        return None

    def _owners(self, top: ast.expr) -> list[Build]:
        target = self._target(top)
        if target is None or isinstance(self.module.parents.get(top), ast.AugAssign):
            return []
        return [b for b in self.flow.builds(target) if b.origin is top]

    def _part_of_build(self, top: ast.expr) -> bool:
        """Tell whether a list is added to a variable, whose builds show it."""
        parent = self.module.parents.get(top)
        if isinstance(parent, ast.AugAssign):
            return bool(self.flow.builds(parent.target))
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
            return parent.func.attr in ("extend", "append") and bool(self.flow.builds(parent.func.value))
        return False

    def whole(self, build: Build) -> list[_Line]:
        """Return the words of a variable on each path to a use of it."""
        return [line for events in build.paths()[:_LIMIT] for line in self.build(build, events)]

    def build(self, build: Build, events: Sequence[Event]) -> list[_Line]:
        """Return the words of a variable after some of its events, one line for each variant."""
        if build in self._busy or build.origin is None:
            return []
        self._steps = self._steps + 1 if self._busy else 0
        if self._steps > MOST:
            return []
        self._busy.add(build)
        cluster = self.cluster(build)
        out = self.lines(build.origin, cluster)
        for event in events:
            added = self._event(event, cluster, build)
            out = [a.plus(b) for a, b in product(out, added)][:_LIMIT]
        self._busy.discard(build)
        self._builds.setdefault(build, set()).update(w for line in out for w in line.words)
        return out

    def _event(self, event: Event, cluster: Cluster, build: Build) -> list[_Line]:
        s, call = event.statement, event.call

        def gone(plan: Plan) -> list[Edit]:
            plan.statements[s] = None
            return []

        if event.kind == "append" and call is not None and len(call.args) == 1 and not call.keywords:
            bracket = self.maps.bracket(call)
            if bracket is None or isinstance(call.args[0], ast.Starred):
                return [_Line()]
            cluster.empty[id(bracket)] = gone
            words = self._element(call.args[0], bracket, 0, cluster)
            for word in words:
                slot = cluster.slot(word)
                if slot is not None:
                    slot.single, slot.statement = f"{build.name}.", s
            return [_Line(list(words))]
        value: ast.expr | None = None
        if event.kind == "extend" and call is not None and len(call.args) == 1:
            value = call.args[0]
        elif event.kind == "aug" and isinstance(s, ast.AugAssign) and isinstance(s.op, ast.Add):
            value = s.value
        if value is None:
            return [_Line()]
        if isinstance(value, (ast.List, ast.Tuple)):
            inner = self.maps.bracket(value)
            if inner is not None:
                cluster.empty[id(inner)] = gone
        return self.lines(value, cluster)

    def _drops_empty(self, node: ast.BinOp, cluster: Cluster) -> None:
        """`… + […]` goes with the last item, where what is left is still a list of its own."""
        bracket = self.maps.bracket(node.right) if isinstance(node.right, ast.List) else None
        if bracket is None or not isinstance(node.left, (ast.List, ast.BinOp, ast.Call)):
            return
        start, end = self.module.span(node.left).end, self.module.span(node.right)
        if re.fullmatch(r"\s*\+\s*", self.module.text[start : end.start]):
            cluster.empty.setdefault(id(bracket), lambda plan: [Edit(start, end.end, "")])

    def lines(self, node: ast.expr, cluster: Cluster) -> list[_Line]:
        """Return the words of a list expression, one line for each variant of it."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._literal(node, cluster)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.lines(node.left, cluster), self.lines(node.right, cluster)
            self._drops_empty(node, cluster)
            return [a.plus(b) for a, b in product(left, right)][:_LIMIT]
        if isinstance(node, ast.IfExp):
            arms = [*self.lines(node.body, cluster), *self.lines(node.orelse, cluster)]
            if any(find_launch([w.text for w in arm.words]) for arm in arms):
                return arms[:_LIMIT]
            joined = _Line()
            for arm in arms:
                joined = joined.plus(arm)
            return [joined]
        if isinstance(node, ast.Call):
            func = node.func
            if self._copies(node):
                return self.lines(node.args[0], cluster)
            if isinstance(func, ast.Attribute) and func.attr == "copy" and not node.args:
                return self.lines(func.value, cluster)
            text = split_text(self.module, node)
            held = self.spliced.words(text) if text is not None else None
            if held is not None:
                return [_Line(*held)]
            function = function_of(self.module, node)
            given = self._given(function, node) if function is not None else None
            if given is not None:
                return given
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            piece = node.slice
            if piece.lower is None and piece.upper is None and piece.step is None:
                return self.lines(node.value, cluster)
        if isinstance(node, (ast.Name, ast.Attribute)):
            reach = [(b, e) for b, e in self.flow.reach(node) if b.origin is not None]
            found = [line for b, e in reach for line in self.build(b, e) if self._listy(b)]
            if found:
                return [_Line(line.words, [*line.names, node]) for line in found][:_LIMIT]
            held_by = property_of(self.module, node) if isinstance(node, ast.Attribute) else None
            got = self._given(held_by, node) if held_by is not None else None
            if got is not None:
                return got
        return [_Line([self._hole(node, splits=True)])]

    def held(self, node: ast.expr) -> list[Word] | None:
        """Return the words of an expression that fills in a command's text, None where they are not known."""
        found = self.spliced.words(node)
        if found is not None:
            self.used.update(found[1])
            return found[0]
        reach = self.flow.reach(node) if isinstance(node, (ast.Name, ast.Attribute)) else []
        if len(reach) == 1 and reach[0][0].origin is not None and not reach[0][0].events and len(reach[0][0].uses) == 1:
            # A variable for nothing but this text.
            node = reach[0][0].origin
        joined = joined_list(self.module, node)
        lines = self.lines(joined, self.cluster(joined)) if joined is not None else []
        if len(lines) != 1 or not any(w.literal for w in lines[0].words):
            return None
        words = lines[0].words
        quoted = self.module.dotted(node.func) == "shlex.join" if isinstance(node, ast.Call) else False
        if not quoted and any(re.search(r"[\s\"'\\$]", w.text) for w in words):
            return None
        self.used.update(lines[0].names)
        return words

    def _given(self, function: ast.FunctionDef, call: ast.expr) -> list[_Line] | None:
        """Return the words of the lists that a function returns, one line for each variant that names a program."""
        if function in self._running:
            return None
        values = [v for v in returned(function) if not (isinstance(v, ast.Constant) and v.value is None)]
        if not values or not all(isinstance(v, _LISTS) and not has_text(v) for v in values):
            return None
        self._running.add(function)
        arms = [line for v in values for line in self.lines(v, self.cluster(v))]
        self._running.discard(function)
        if any(len(a.words) == 1 and a.words[0].splits and not a.names for a in arms):
            return None
        self._returned[function] = [w for a in arms for w in a.words]
        if not any(find_launch([w.text for w in a.words]) for a in arms):
            joined = _Line()
            for arm in arms:
                joined = joined.plus(arm)
            arms = [joined]
        return [_Line(a.words, [*a.names, call]) for a in arms][:_LIMIT]

    def all_given(self, node: ast.AST) -> bool:
        """Tell whether a list is what a function returns, and every call of it is written out in a launch."""
        function = next((a for a in self.module.ancestors(node) if isinstance(a, ast.FunctionDef)), None)
        return function in self._returned and not self._others(function)

    def _others(self, function: ast.FunctionDef) -> list[ast.expr]:
        """Return the uses of a function that are no part of a launch."""
        calls = {c.func if isinstance(c, ast.Call) else c for c in self.used}
        return [use for use in self.module.loads.get(function.name, ()) if use not in calls]

    def _listy(self, build: Build) -> bool:
        return isinstance(
            build.origin, (ast.List, ast.Tuple, ast.BinOp, ast.IfExp, ast.Call, ast.Subscript, ast.Name)
        ) and not (build.origin is not None and has_text(build.origin))

    def _literal(self, node: ListNode, cluster: Cluster) -> list[_Line]:
        bracket = self.maps.bracket(node)
        if bracket is None:
            return [_Line()]
        if cluster.home is None:
            cluster.home = bracket
        out = [_Line()]
        for i, element in enumerate(node.elts):
            if isinstance(element, ast.Starred):
                added = self._starred(element, bracket, i, cluster)
            else:
                added = [_Line(list(self._element(element, bracket, i, cluster)))]
            out = [a.plus(b) for a, b in product(out, added)][:_LIMIT]
        return out

    def _starred(self, element: ast.Starred, bracket: Bracket, i: int, cluster: Cluster) -> list[_Line]:
        value = element.value

        def gone(plan: Plan) -> list[Edit]:
            plan.of(bracket).removed.add(i)
            return []

        for inner_node in _only_lists(value):
            inner = self.maps.bracket(inner_node)
            if inner is not None:
                cluster.empty.setdefault(id(inner), gone)
        return self.lines(value, cluster)

    def lock_others(self, launched: set[Build]) -> None:
        """Lock words of variables and functions that something else than the launches read here uses too."""
        self.spliced.lock_others(self.used)
        for function, given in self._returned.items():
            for use in self._others(function)[:1]:
                code = " ".join(self.module.raw(self.module.statement(use) or use).split())[:60]
                for word in given:
                    word.locked = word.locked or f"also used by `{code}`"
        for build, words in self._builds.items():
            for use in build.uses:
                parent = self.module.parents.get(use)
                reason = ""
                if isinstance(parent, ast.Compare) and isinstance(parent.left, ast.Constant):
                    names = {parent.left.value}
                elif isinstance(parent, ast.Attribute) and parent.attr in ("index", "remove", "count"):
                    call = self.module.parents.get(parent)
                    constants = call.args if isinstance(call, ast.Call) else []
                    names = {a.value for a in constants if isinstance(a, ast.Constant)}
                elif build in launched or use in self.used:
                    continue
                else:
                    names = set()
                    reason = " ".join(self.module.raw(self.module.statement(use) or use).split())[:60]
                for word in words:
                    if word.locked or word.container is not self._clusters.get(build):
                        continue
                    if reason or word.text in names:
                        code = reason or " ".join(self.module.raw(parent or use).split())[:60]
                        word.locked = f"also used by `{code}`"


def _only_lists(node: ast.expr) -> list[ListNode]:
    if isinstance(node, (ast.List, ast.Tuple)):
        return [node]
    if isinstance(node, ast.IfExp):
        for arm, other in ((node.body, node.orelse), (node.orelse, node.body)):
            empty = isinstance(other, (ast.List, ast.Tuple)) and not other.elts
            if empty and isinstance(arm, (ast.List, ast.Tuple)):
                return [arm]
    return []
