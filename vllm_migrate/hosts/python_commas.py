"""Edits of what stands between brackets in Python: arguments, lists, tuples, dictionaries."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import field

from vllm_migrate.hosts.python_source import Module
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.text import Edit, Span, line_end, line_start, next_line

_BLANK = regex(r"(?:[ \t\r\n\f]|\\\r?\n|#[^\r\n]*)*")
_CLEAN = regex(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


@dataclass(eq=False)
class Bracket:
    """Items between two brackets.

    open: offset after the opening bracket. close: offset of the closing one. commas: offset of the comma
    after each item, None where there is none. kind: "call", "list", "tuple" or "dict".
    """

    text: str
    newline: str
    kind: str
    open: int
    close: int
    items: list[Span]
    commas: list[int | None]
    nodes: list[ast.AST] = field(default_factory=list)

    def index(self, node: ast.AST) -> int:
        return next(i for i, n in enumerate(self.nodes) if n is node)

    def line_start(self, offset: int) -> int:
        return line_start(self.text, offset)

    def _line_end(self, offset: int) -> int:
        return line_end(self.text, offset)

    def _next_line(self, offset: int) -> int:
        return next_line(self.text, offset)

    def _begins(self, i: int) -> bool:
        start = self.items[i].start
        return not self.text[self.line_start(start) : start].strip()

    def _after(self, i: int) -> int:
        """Return where item i ends with its comma."""
        comma = self.commas[i]
        return self.items[i].end if comma is None else comma + 1

    def _clean(self, i: int) -> bool:
        """Nothing but a comment follows item i and its comma on the line."""
        match = _CLEAN.match(self.text, self._after(i))
        return match is not None and self._line_end(self._after(i)) <= self.close

    def edits(self, removed: set[int], replaced: dict[int, str], inserted: dict[int, list[str]]) -> list[Edit]:
        """Return the edits for all changes at once.

        inserted: raw items by the index of the item they follow, -1 for the front. What follows a removed
        item takes its place. Removing all items leaves empty brackets.
        """
        removed, replaced = set(removed), dict(replaced)
        added = {i: list(raws) for i, raws in inserted.items() if raws}
        for i in sorted(added):
            spots = self._places(i, removed)
            if not spots:
                continue
            raws = added.pop(i)
            spots = spots[-len(raws) :] if spots[-1] == i else spots[: len(raws)]
            for spot in spots:
                removed.discard(spot)
                replaced[spot] = raws.pop(0)
            if raws:
                added[spots[-1]] = raws + added.get(spots[-1], [])
        out = [Edit(self.items[i].start, self.items[i].end, raw) for i, raw in replaced.items()]
        if removed and len(removed) == len(self.items):
            return [Edit(self.open, self.close, "")]
        for first, last in _runs(sorted(removed)):
            out += self._remove(first, last, len(self.items) - len(removed))
        for i, raws in added.items():
            out += self._insert(i, raws)
        return out

    @staticmethod
    def _places(i: int, removed: set[int]) -> list[int]:
        """Return the removed items whose places new items after item i can take."""
        step, at = (-1, i) if i in removed else (1, i + 1)
        places = []
        while at in removed:
            places.append(at)
            at += step
        return sorted(places)

    def _remove(self, first: int, last: int, left: int) -> list[Edit]:
        begin, end = self.items[first].start, self._after(last)
        final = last == len(self.items) - 1
        whole = self._begins(first) and self._clean(last)
        if not final:
            if whole:
                return [Edit(self.line_start(begin), self._next_line(end), "")]
            follow = self.items[last + 1].start
            if first == 0 or self._begins(first) or not self._clean(last):
                return [Edit(begin, follow, "")]
            return [Edit(self._after(first - 1), end, "")]
        comma = self.commas[first - 1]
        assert comma is not None
        keep = self.commas[last] is not None or (self.kind == "tuple" and left == 1)
        if whole:
            gone = [Edit(self.line_start(begin), self._next_line(end), "")]
            return gone if keep else [Edit(comma, comma + 1, ""), *gone]
        between = self.text[comma + 1 : begin]
        if "#" in between:
            gone = [Edit(begin, end, "")]
            return gone if keep else [Edit(comma, comma + 1, ""), *gone]
        return [Edit(comma + 1 if keep else comma, end, "")]

    def _insert(self, after: int, raws: Sequence[str]) -> list[Edit]:
        if not self.items:
            tail = "," if self.kind == "tuple" and len(raws) == 1 else ""
            return [Edit(self.open, self.open, ", ".join(raws) + tail)]
        starts = {self.line_start(s.start) for s in self.items}
        spread = any(self._begins(i) for i in range(len(self.items))) and (len(starts) > 1 or self._begins(0))
        if after < 0:
            first = self.items[0].start
            if spread and self._begins(0):
                indent = self.text[self.line_start(first) : first]
                return [Edit(first, first, "".join(f"{raw},{self.newline}{indent}" for raw in self._lines(0, raws)))]
            return [Edit(first, first, "".join(f"{raw}, " for raw in raws))]
        place, final = self._after(after), after == len(self.items) - 1
        bare = self.commas[after] is None
        if not spread or not self._clean(after):
            if bare:
                return [Edit(place, place, "".join(f", {raw}" for raw in raws))]
            if final and not self._clean(after):
                return [Edit(place, place, "".join(f" {raw}," for raw in raws))]
            return [Edit(place, place, "".join(f" {raw}," for raw in raws))]
        indent = self._indent(after)
        lines = [indent + raw for raw in self._lines(after, raws)]
        end = self._line_end(place)
        if bare:
            text = "".join(f"{self.newline}{line}," for line in lines)[:-1]
            return [Edit(place, place, ","), Edit(end, end, text)] if end > place else [Edit(place, place, "," + text)]
        return [Edit(end, end, "".join(f"{self.newline}{line}," for line in lines))]

    def _lines(self, near: int, raws: Sequence[str]) -> list[str]:
        """Spread new items over lines as the item near them is: one a line, or several on one."""
        line = self.line_start(self.items[near].start)
        together = sum(self.line_start(s.start) == line for s in self.items)
        return [", ".join(raws)] if together > 1 else list(raws)

    def _indent(self, i: int) -> str:
        near = [j for j in (*range(i, -1, -1), *range(i + 1, len(self.items))) if self._begins(j)]
        start = self.items[near[0]].start
        return self.text[self.line_start(start) : start]


def _runs(indices: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for i in indices:
        if runs and runs[-1][1] == i - 1:
            runs[-1] = (runs[-1][0], i)
        else:
            runs.append((i, i))
    return runs


def bracket_of(module: Module, node: ast.List | ast.Tuple | ast.Dict | ast.Call | ast.Set) -> Bracket | None:
    """Return the brackets of a list, tuple, dictionary or call; None for a tuple without brackets."""
    text, span = module.text, module.span(node)
    close = span.end - 1
    nodes: list[ast.AST]
    if isinstance(node, ast.Call):
        match = re.compile(r"[\s)\\]*\(").match(text, module.span(node.func).end)
        if match is None:
            return None
        start = match.end()
        nodes = sorted([*node.args, *node.keywords], key=lambda n: module.span(n).start)
        kind = "call"
    elif isinstance(node, ast.Dict):
        start, nodes, kind = span.start + 1, list(node.values), "dict"
    else:
        if text[span.start] not in "[({" or text[close] not in "])}" or not _encloses(text, module, node, span):
            return None
        start, nodes = span.start + 1, list(node.elts)
        kind = "tuple" if isinstance(node, ast.Tuple) else "list"
    items: list[Span] = []
    commas: list[int | None] = []
    at = start
    for n in nodes:
        begin = _skip(text, at)
        end = module.span(n).end
        comma: int | None = None
        probe = end
        while True:
            probe = _skip(text, probe)
            if probe >= close:
                break
            if text[probe] == ",":
                comma = probe
                break
            end = probe = probe + 1
        items.append(Span(begin, end))
        commas.append(comma)
        at = comma + 1 if comma is not None else close
    return Bracket(text, module.region.source.newline, kind, start, close, items, commas, nodes)


def _encloses(text: str, module: Module, node: ast.List | ast.Tuple | ast.Set, span: Span) -> bool:
    """Tell whether the bracket at the start is the collection's own: `("a"), ("b")` has none."""
    if text[span.start] != "(" or not node.elts:
        return True
    first = module.span(node.elts[0])
    open_, at = 0, span.start
    while at < first.start:
        open_, at = open_ + 1, _skip(text, at + 1)
    at = _skip(text, first.end)
    while text.startswith(")", at):
        open_, at = open_ - 1, _skip(text, at + 1)
    return open_ > 0


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None
    return match.end()
