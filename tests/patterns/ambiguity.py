"""How the time a regular expression takes grows with its text, told from the expression alone.

An expression becomes an automaton of positions (one for each place a character is read), with the number of ways
from one to the next. Python's engine tries the ways one after the other, so that its time is the number of ways
through a text that does not match in the end:

- two ways around one position on the same text: exponential;
- a text that a position repeats, that leads from it to another, and that the other repeats: one more power of the
  length for each such step (Weber and Seidl, "On the degree of ambiguity of finite automata", 1991).

A search begins anywhere: that is one more position in front, which reads anything. A loop from which some way always
leads to a match costs nothing: it is never gone through again. Lookarounds and boundaries of one character are
followed exactly, longer ones are taken as passed; counted repetitions stand for a few copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as sre_parser  # type: ignore[attr-defined]
except ImportError:  # before Python 3.11
    import sre_constants as sre  # type: ignore[no-redef]
    import sre_parse as sre_parser  # type: ignore[no-redef]

_SAMPLE = [chr(n) for n in range(128)] + list("é\xa0\u0663\u2028ßİ\U0001f600")
_EDGE = "EDGE"
"""What stands before the first character and after the last."""


@dataclass(frozen=True)
class Growth:
    """power: 1 linear, 2 quadratic …; 0 where it is exponential. pump: a text to repeat. lead: what comes before."""

    power: int
    pump: str = ""
    lead: str = ""

    def __str__(self) -> str:
        return {0: "exponential", 1: "linear", 2: "quadratic"}.get(self.power, f"power {self.power}")


@dataclass(eq=False)
class _Node:
    """A junction. reads: the characters it consumes, None where it consumes none. after: (node, condition).

    loop: the first of `after` leads into what is repeated.
    """

    reads: frozenset[str] | None = None
    after: list[tuple[_Node, _Condition | None]] = field(default_factory=list)
    loop: bool = False


@dataclass(frozen=True)
class _Condition:
    """What must stand before and behind; None allows everything. boundary: whether a word begins or ends.

    surely: the characters that answer all it asks, where it may ask for more than one; None: those it allows.
    """

    before: frozenset[str] | None = None
    behind: frozenset[str] | None = None
    boundary: bool | None = None
    surely: frozenset[str] | None = None


def growth(pattern: str | bytes, flags: int = 0, *, search: bool = True, whole: bool = False) -> Growth:
    """Return how the time of a pattern grows.

    Args: search: it may begin anywhere. whole: it must reach the end of the text (`fullmatch`).
    """
    if isinstance(pattern, bytes):
        pattern = pattern.decode("latin-1")
        flags |= re.ASCII
    tree = sre_parser.parse(pattern, flags)
    return _Automaton(list(tree), pattern, tree.state.flags | flags, search, whole).growth()


def pumps(pattern: str | bytes, flags: int = 0) -> list[tuple[str, str]]:
    """Return for each loop of a pattern a text that leads to it and a text that goes round it once."""
    if isinstance(pattern, bytes):
        pattern = pattern.decode("latin-1")
        flags |= re.ASCII
    tree = sre_parser.parse(pattern, flags)
    made = _Automaton(list(tree), pattern, tree.state.flags | flags, False, False)
    states, edges, lead = made._reachable()
    loops = _components(states, edges)
    looping = {s: n for n, part in enumerate(loops) for s in part}
    out = []
    for part in loops:
        first = part[0]
        steps = [other for other, _ in edges[first] if looping.get(other) == looping[first]]
        out += [(lead[first], other[1] + (made._walk((other,), (first,), looping) or "")) for other in steps[:4]]
    return out


class _Automaton:
    def __init__(self, tree: list[Any], pattern: str, flags: int, search: bool, whole: bool) -> None:
        self.flags = flags
        self.sample = sorted({*_SAMPLE, *(c for c in pattern)})
        self.whole = whole
        self.last = _Node()
        first = self._sequence(tree, self.last, self.flags)
        self.first = _Node(frozenset(self.sample) if search else frozenset())
        self.first.after = [(first, None)] + ([(self.first, None)] if search else [])
        self._number()

    # -- from the tree to junctions, built from the end to the beginning

    def _sequence(self, items: list[Any], then: _Node, flags: int) -> _Node:
        for op, given in reversed(items):
            then = self._item(op, given, then, flags)
        return then

    def _item(self, op: Any, given: Any, then: _Node, flags: int) -> _Node:
        name = str(op)
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "CATEGORY", "RANGE"):
            return _Node(self._read_by(op, given, flags), [(then, None)])
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self._repeat(*given, then, flags)
        if name == "SUBPATTERN":
            _, added, removed, inner = given
            return self._sequence(list(inner), then, (flags | added) & ~removed)
        if name == "ATOMIC_GROUP":
            return self._sequence(list(given), then, flags)
        if name == "BRANCH":
            return _Node(None, [(self._sequence(list(branch), then, flags), None) for branch in given[1]])
        if name == "AT":
            return _Node(None, [(then, self._place(str(given), flags))])
        if name in ("ASSERT", "ASSERT_NOT"):
            after: list[tuple[_Node, _Condition | None]] = [(then, self._look(name == "ASSERT", *given, flags))]
            if given[0] > 0:
                # What is looked at is gone through too, and leads nowhere.
                after.append((self._sequence(list(given[1]), _Node(frozenset()), flags), None))
            return _Node(None, after)
        if name == "GROUPREF":
            # What a group held: bounded by what was read already; taken as one character.
            return _Node(frozenset(self.sample), [(then, None)])
        if name == "GROUPREF_EXISTS":
            _, yes, no = given
            ways = [self._sequence(list(way or ()), then, flags) for way in (yes, no)]
            return _Node(None, [(way, None) for way in ways])
        raise NotImplementedError(name)

    def _repeat(self, least: int, most: Any, inner: Any, then: _Node, flags: int) -> _Node:
        items = list(inner)
        if most is sre.MAXREPEAT:
            again = _Node(loop=True)
            again.after = [(self._sequence(items, again, flags), None), (then, None)]
            out = again
        else:
            out = then
            for _ in range(min(most - least, 3)):
                out = _Node(None, [(self._sequence(items, out, flags), None), (then, None)])
        for _ in range(min(least, 3)):
            out = self._sequence(items, out, flags)
        return out

    def _read_by(self, op: Any, given: Any, flags: int) -> frozenset[str]:
        state = sre_parser.State()
        state.flags = flags
        state.str = ""
        tree = sre_parser.SubPattern(state, [(op, given)])
        compiled = _compiled(tree, flags)
        return frozenset(c for c in self.sample if compiled.match(c))

    def _place(self, name: str, flags: int) -> _Condition:
        many = bool(flags & re.MULTILINE)
        line = frozenset("\n")
        if name == "AT_BEGINNING":
            return _Condition(before=line | {_EDGE} if many else frozenset({_EDGE}))
        if name == "AT_BEGINNING_STRING":
            return _Condition(before=frozenset({_EDGE}))
        if name == "AT_END":
            # Without MULTILINE the line break must be the last character.
            return _Condition(behind=line | {_EDGE}, surely=None if many else frozenset({_EDGE}))
        if name == "AT_END_STRING":
            return _Condition(behind=frozenset({_EDGE}))
        return _Condition(boundary="NON" not in name)

    def _look(self, wanted: bool, direction: int, inner: Any, flags: int) -> _Condition:
        """Return what a lookaround says of the one character next to it."""
        everything = frozenset(self.sample) | {_EDGE}
        may, must = self._beside(list(inner), direction, flags)
        allowed, surely = (may, must) if wanted else (everything - must, everything - may)
        return _Condition(before=allowed, surely=surely) if direction < 0 else _Condition(behind=allowed, surely=surely)

    def _beside(self, items: list[Any], direction: int, flags: int) -> tuple[frozenset[str], frozenset[str]]:
        """Return the characters a lookaround may begin (or end) with, and those after which it is true."""
        everything = frozenset(self.sample) | {_EDGE}
        none: frozenset[str] = frozenset()
        if not items:
            return everything, everything
        op, given = items[0] if direction > 0 else items[-1]
        name = str(op)
        alone = len(items) == 1
        may, must = everything, none
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "CATEGORY"):
            may = must = self._read_by(op, given, flags)
        elif name == "AT" and "BOUNDARY" not in str(given):
            place = self._place(str(given), flags)
            here = place.before if direction < 0 else place.behind
            may = must = here if here is not None else everything
        elif name == "SUBPATTERN":
            _, added, removed, within = given
            may, must = self._beside(list(within), direction, (flags | added) & ~removed)
        elif name == "BRANCH":
            found = [self._beside(list(branch), direction, flags) for branch in given[1]]
            may, must = none.union(*(f[0] for f in found)), none.union(*(f[1] for f in found))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            may, must = self._beside(list(given[2]), direction, flags)
            must = must if given[0] <= 1 else none
            if not given[0]:
                may = must = everything
        return may, must if alone else none

    # -- positions, and the ways between them

    def _number(self) -> None:
        self.positions: list[_Node] = []
        todo, seen = [self.first], {id(self.first)}
        while todo:
            node = todo.pop()
            if node.reads is not None:
                self.positions.append(node)
            for other, _ in node.after:
                if id(other) not in seen:
                    seen.add(id(other))
                    todo.append(other)
        self.positions.sort(key=lambda n: n is not self.first)
        index = {id(n): i for i, n in enumerate(self.positions)}
        self.ways: list[dict[int, list[tuple[_Condition, ...]]]] = []
        self.ends: list[list[tuple[_Condition, ...]]] = []
        for node in self.positions:
            ways: dict[int, list[tuple[_Condition, ...]]] = {}
            ends: list[tuple[_Condition, ...]] = []
            for end, conditions in _paths(node):
                if end is self.last:
                    ends.append((*conditions, *([_Condition(behind=frozenset({_EDGE}))] if self.whole else [])))
                else:
                    kept = ways.setdefault(index[id(end)], [])
                    if len(kept) < 8:
                        kept.append(conditions)
            self.ways.append(ways)
            self.ends.append(ends)
        self._classes()

    def _classes(self) -> None:
        """Keep one of the characters that no position and no condition tells apart."""
        sets = {p.reads for p in self.positions if p.reads is not None}
        for ways in self.ways:
            for many in ways.values():
                for condition in (c for conditions in many for c in conditions):
                    sets |= {s for s in (condition.before, condition.behind, condition.surely) if s is not None}
                    if condition.boundary is not None:
                        sets.add(frozenset(c for c in self.sample if _is_word(c, self.flags)))
        ordered = sorted(sets, key=sorted)
        kinds: dict[tuple[bool, ...], str] = {}
        for char in sorted(self.sample, key=lambda c: (not c.isalnum() or not c.isascii(), not c.isprintable(), c)):
            kinds.setdefault(tuple(char in s for s in ordered), char)
        self.chars = list(kinds.values())
        self._steps: dict[tuple[int, str, str], list[tuple[int, int]]] = {}

    def steps(self, at: int, before: str, char: str) -> list[tuple[int, int]]:
        """Return (next position, number of ways, at most 2) for a character after another one."""
        key = (at, before, char)
        if key not in self._steps:
            out = []
            for to, many in self.ways[at].items():
                reads = self.positions[to].reads
                if reads is not None and char in reads:
                    ways = sum(all(self._holds(c, before, char) for c in conditions) for conditions in many)
                    if ways:
                        out.append((to, min(ways, 2)))
            self._steps[key] = out
        return self._steps[key]

    def _holds(self, condition: _Condition, before: str, behind: str, *, surely: bool = False) -> bool:
        if surely and condition.surely is not None:
            return (before if condition.before is not None else behind) in condition.surely
        if condition.boundary is not None:
            return (_is_word(before, self.flags) != _is_word(behind, self.flags)) == condition.boundary
        return (condition.before is None or before in condition.before) and (
            condition.behind is None or behind in condition.behind
        )

    def _unfailing(self, edges: dict[Any, list[tuple[Any, int]]]) -> set[Any]:
        """Return the states from which some way matches, whatever text follows."""
        good = set(edges)
        changed = True
        while changed:
            changed = False
            for state in [s for s in edges if s in good]:
                for char in (*self.chars, _EDGE):
                    ends = any(
                        all(self._holds(c, state[1], char, surely=True) for c in way) for way in self.ends[state[0]]
                    )
                    goes = char != _EDGE and any((to, char) in good for to, _ in self.steps(*state, char))
                    if not ends and not goes:
                        good.discard(state)
                        changed = True
                        break
        return good

    # -- growth

    def growth(self) -> Growth:
        states, edges, lead = self._reachable()
        good = self._unfailing(edges)
        # From a state that cannot fail the engine never comes back: it counts for no loop.
        failing = {s: [(o, w) for o, w in nexts if o not in good] for s, nexts in edges.items() if s not in good}
        loops = _components([s for s in states if s in failing], failing)
        looping = {s: n for n, part in enumerate(loops) for s in part}
        pump = self._exponential(edges, looping, loops)
        if pump is not None:
            return Growth(0, pump[1], lead[pump[0]])
        return self._power(edges, looping, loops, lead)

    def _reachable(self) -> tuple[list[Any], dict[Any, list[tuple[Any, int]]], dict[Any, str]]:
        start = (0, _EDGE)
        lead = {start: ""}
        edges: dict[Any, list[tuple[Any, int]]] = {}
        todo = [start]
        for state in todo:
            edges[state] = []
            for char in self.chars:
                for to, ways in self.steps(state[0], state[1], char):
                    other = (to, char)
                    edges[state].append((other, ways))
                    if other not in lead:
                        lead[other] = lead[state] + char
                        todo.append(other)
        return todo, edges, lead

    def _exponential(self, edges: Any, looping: dict[Any, int], loops: list[list[Any]]) -> tuple[Any, str] | None:
        for n, part in enumerate(loops):
            for state in part:
                for other, ways in edges[state]:
                    if ways > 1 and looping.get(other) == n:
                        return state, other[1] + (self._walk((other,), (state,), looping) or "")
            # Two different ways from a state back to it, on one text: where one state of a loop has them, all have.
            found = self._walk((part[0], part[0]), (part[0], part[0]), looping, apart=True)
            if found is not None:
                return part[0], found
        return None

    def _walk(
        self, start: tuple[Any, ...], goal: tuple[Any, ...], inside: dict[Any, int], *, apart: bool = False
    ) -> str | None:
        """Return a text that leads several states to several others at once, staying in their loops."""
        first = (start, not apart)
        texts = {first: ""}
        todo = [first]
        if not apart and start == goal:
            return ""
        for now in todo:
            places, met = now
            for char in self.chars:
                options: list[tuple[Any, ...]] = [()]
                for place in places:
                    nexts = [(to, char) for to, _ in self.steps(place[0], place[1], char)]
                    nexts = [n for n in nexts if inside.get(n, -1) == inside[place]]
                    options = [(*o, n) for o in options for n in nexts]
                for option in options:
                    other = (option, met or len(set(option)) > 1)
                    if option == goal and other[1]:
                        return texts[now] + char
                    if other not in texts:
                        texts[other] = texts[now] + char
                        todo.append(other)
        return None

    def _power(self, edges: Any, looping: dict[Any, int], loops: list[list[Any]], lead: dict[Any, str]) -> Growth:
        """Return the longest chain of loops in which each passes what it repeats on to the next."""
        after: dict[int, set[int]] = {}
        reach = _reach(edges, looping, len(loops))
        pumps: dict[tuple[int, int], tuple[Any, str]] = {}
        for a, part in enumerate(loops):
            for b in reach[a]:
                if b == a:
                    continue
                found = self._passes(part, loops[b], looping)
                if found is not None:
                    after.setdefault(a, set()).add(b)
                    pumps[a, b] = found
        depth: dict[int, tuple[int, tuple[int, int] | None]] = {}

        def deepest(a: int) -> tuple[int, tuple[int, int] | None]:
            if a not in depth:
                best: tuple[int, tuple[int, int] | None] = (0, None)
                for b in after.get(a, ()):
                    steps, _ = deepest(b)
                    if steps + 1 > best[0]:
                        best = (steps + 1, (a, b))
                depth[a] = best
            return depth[a]

        power, pair = max((deepest(a) for a in range(len(loops))), default=(0, None), key=lambda d: d[0])
        if pair is None:
            return Growth(1)
        state, pump = pumps[pair]
        return Growth(power + 1, pump, lead[state])

    def _passes(self, first: list[Any], second: list[Any], looping: dict[Any, int]) -> tuple[Any, str] | None:
        """Return a state of the first loop and a text that it repeats, that leads to a state of the second which
        repeats it too.

        Three walks on one text: around in the first loop, from the first to the second, around in the second.
        Where they could begin anew at their end, (p, p, q) and (p, q, q) lead to each other.
        """
        a, b = looping[first[0]], looping[second[0]]
        pairs = [(p, q) for p in first for q in second if p[1] == q[1]]
        edges: dict[Any, list[tuple[Any, int]]] = {}
        todo = [(p, p, q) for p, q in pairs]
        seen = set(todo)
        while todo:
            now = todo.pop()
            out = edges[now] = [(other, 1) for other, _ in self._three(now, a, b, looping)]
            if now[1] == now[2] and now[0][1] == now[2][1]:
                out.append(((now[0], now[0], now[2]), 1))
            todo += [o for o, _ in out if o not in seen]
            seen.update(o for o, _ in out)
        part = {state: n for n, states in enumerate(_components(list(edges), edges)) for state in states}
        for p, q in pairs:
            if part.get((p, p, q), -1) == part.get((p, q, q), -2):
                return p, self._text((p, p, q), (p, q, q), a, b, looping)
        return None

    def _three(self, now: Any, a: int, b: int, looping: dict[Any, int]) -> Iterator[tuple[Any, str]]:
        for char in self.chars:
            ones = [n for n in self._next(now[0], char) if looping.get(n) == a]
            threes = [n for n in self._next(now[2], char) if looping.get(n) == b]
            if ones and threes:
                for two in self._next(now[1], char):
                    yield from (((one, two, three), char) for one in ones for three in threes)

    def _text(self, start: Any, goal: Any, a: int, b: int, looping: dict[Any, int]) -> str:
        texts = {start: ""}
        todo = [start]
        for now in todo:
            for other, char in self._three(now, a, b, looping):
                if other == goal:
                    return texts[now] + char
                if other not in texts:
                    texts[other] = texts[now] + char
                    todo.append(other)
        return ""

    def _next(self, state: Any, char: str) -> list[Any]:
        return [(to, char) for to, _ in self.steps(state[0], state[1], char)]


def _compiled(tree: Any, flags: int) -> re.Pattern[str]:
    try:
        from re import _compiler as compiler  # type: ignore[attr-defined]
    except ImportError:  # before Python 3.11
        import sre_compile as compiler  # type: ignore[no-redef]
    compiled: re.Pattern[str] = compiler.compile(tree, flags)
    return compiled


def _is_word(char: str, flags: int) -> bool:
    return char != _EDGE and re.match(r"\w", char, flags & (re.ASCII | re.UNICODE)) is not None


def _paths(node: _Node) -> Iterator[tuple[_Node, tuple[_Condition, ...]]]:
    """Yield where the ways out of a position lead without reading, with what they ask for.

    What is repeated is not gone through without reading: the engine does not either.
    """
    todo: list[tuple[_Node, tuple[_Condition, ...], frozenset[int]]] = [(node, (), frozenset())]
    counted: dict[tuple[int, tuple[_Condition, ...], frozenset[int]], int] = {}
    while todo:
        here, conditions, within = todo.pop()
        for n, (other, condition) in enumerate(here.after):
            asked = (*conditions, condition) if condition is not None and condition not in conditions else conditions
            inside = within | {id(here)} if here.loop and n == 0 else within
            if id(other) in inside:
                continue
            key = (id(other), asked, inside)
            counted[key] = counted.get(key, 0) + 1
            if counted[key] > 2:
                continue
            if other.reads is not None or not other.after:
                yield other, asked
            else:
                todo.append((other, asked, inside))


def _components(states: list[Any], edges: dict[Any, list[tuple[Any, int]]]) -> list[list[Any]]:
    """Return the sets of states that lead to each other (Tarjan's algorithm), without those that do not loop."""
    index: dict[Any, int] = {}
    low: dict[Any, int] = {}
    stack: list[Any] = []
    held: set[Any] = set()
    out: list[list[Any]] = []
    for root in states:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        held.add(root)
        while work:
            state, rest = work[-1]
            for other, _ in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    held.add(other)
                    work.append((other, iter(edges[other])))
                    break
                if other in held:
                    low[state] = min(low[state], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
                if low[state] == index[state]:
                    part = []
                    while True:
                        member = stack.pop()
                        held.discard(member)
                        part.append(member)
                        if member == state:
                            break
                    if len(part) > 1 or any(o == state for o, _ in edges[state]):
                        out.append(part)
    return out


def _reach(edges: Any, looping: dict[Any, int], count: int) -> list[set[int]]:
    """Return for each loop the loops that can follow it."""
    out: list[set[int]] = [set() for _ in range(count)]
    for a in range(count):
        seen = {s for s, n in looping.items() if n == a}
        todo = list(seen)
        while todo:
            for other, _ in edges[todo.pop()]:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        out[a] = {looping[s] for s in seen if s in looping}
    return out
