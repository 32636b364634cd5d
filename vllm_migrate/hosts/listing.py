"""Edits of a written list: items with commas, continuations, comments, on one line or several.

JSON arrays of a Dockerfile, TOML arrays, `ENV` assignments and `ExecStart=` words are all lists of spans in
one text; they differ in the separator, in what may end a line and in what may stand between two items.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vllm_migrate.lazy import dataclass
from vllm_migrate.text import Edit, Span, line_end, line_start, next_line


@dataclass(frozen=True)
class Listing:
    """A list as it is written.

    text: the whole text the spans refer to. items: spans of the items, quotes included, in order.
    opener: where the list's inside begins (after `[`). comma: "," or "" (items parted by blanks).
    continuation: what a line inside the list ends with (`\\`), or "". comment: what begins a comment that
    may follow an item on its line, or "".
    """

    text: str
    items: Sequence[Span]
    opener: int
    comma: str = ","
    continuation: str = ""
    comment: str = ""
    newline: str = "\n"
    blanks: str = " "

    def line_start(self, offset: int) -> int:
        return line_start(self.text, offset)

    def line_end(self, offset: int) -> int:
        """Return where the line of `offset` ends, before its line end."""
        return line_end(self.text, offset)

    def next_line(self, offset: int) -> int:
        return next_line(self.text, offset)

    def begins_line(self, i: int) -> bool:
        start = self.items[i].start
        return not self.text[self.line_start(start) : start].strip(" \t")

    def _tail(self, i: int) -> re.Match[str] | None:
        """Match what follows item i up to the end of its line, when no other item or closer does."""
        parts = r"[ \t]*"
        if self.comma:
            parts += f"(?P<comma>{re.escape(self.comma)})?[ \\t]*"
        if self.continuation:
            parts += f"(?:{re.escape(self.continuation)}[ \\t]*)?"
        if self.comment:
            parts += f"(?:{re.escape(self.comment)}[^\\r\\n]*)?"
        return re.compile(parts + r"(?=[\r\n]|\Z)").match(self.text, self.items[i].end)

    def _has_comma(self, i: int) -> bool:
        return bool(self.comma) and self._comma_at(i) is not None

    def _comma_at(self, i: int) -> int | None:
        """Return the offset of the comma after item i, looking over blanks, line ends and comments."""
        at, text = self.items[i].end, self.text
        while at < len(text):
            if text.startswith(self.comma, at):
                return at
            if self.comment and text.startswith(self.comment, at):
                at = self.line_end(at)
            elif text[at] in " \t\r\n" or (self.continuation and text.startswith(self.continuation, at)):
                at += 1
            else:
                return None
        return None

    def edits(
        self,
        removed: Sequence[int],
        replaced: Mapping[int, str],
        inserted: Mapping[int, Sequence[str]],
    ) -> list[Edit]:
        """Return the edits that make all changes of the list at once.

        Args: removed: indices of items to take away; not all of them, unless something is inserted.
        replaced: raw new text by index. inserted: raw new items by the index they follow; -1 for the front.
        Items inserted after a removed item take its place.
        """
        removed_set = set(removed)
        replaced = dict(replaced)
        added = {k: list(v) for k, v in inserted.items()}
        out: list[Edit] = []
        for i in sorted(added):
            slot = i if i in removed_set else i + 1
            while added[i] and slot in removed_set:
                # a new item takes the place of an old one, and with it its line
                removed_set.discard(slot)
                replaced[slot] = added[i].pop(0)
                slot += 1
            if slot - 1 > i:
                added[slot - 1] = added.pop(i) + added.get(slot - 1, [])
        for i, raw in replaced.items():
            if i not in removed_set:
                out.append(Edit(self.items[i].start, self.items[i].end, raw))
        for first, last in _runs(sorted(removed_set)):
            out += self._remove(first, last)
        for i, raws in added.items():
            if raws:
                out += self._insert(i, raws)
        return out

    def _remove(self, first: int, last: int) -> list[Edit]:
        items, text = self.items, self.text
        final = last == len(items) - 1
        begin, end = items[first].start, items[last].end
        tail = self._tail(last)
        whole = self.begins_line(first) and tail is not None
        if first == 0 and final:
            return [Edit(begin, end, "")]
        if whole and not final:
            return [Edit(self.line_start(begin), self.next_line(end), "")]
        if not final:
            if self.begins_line(first) or first == 0:
                return [Edit(begin, items[last + 1].start, "")]
            return [Edit(items[first - 1].end, end, "")]
        before = items[first - 1].end
        if self.comma and whole and self._has_comma(last):
            return [Edit(self.line_start(begin), self.next_line(end), "")]
        between = text[before:begin]
        comma = self._comma_at(first - 1)
        if self.comment and self.comment in between and comma is not None:
            gone = [Edit(comma, comma + len(self.comma), "")]
            if whole:
                return [*gone, Edit(self.line_start(begin), self.next_line(end), "")]
            return [*gone, Edit(begin, end, "")]
        if tail is not None and self.comment and self.comment in tail[0]:
            end = tail.end()
        return [Edit(before, end, "")]

    def _insert(self, after: int, raws: Sequence[str]) -> list[Edit]:
        items, text = self.items, self.text
        joint = (self.comma or "") + self.blanks
        if not items:
            return [Edit(self.opener, self.opener, joint.join(raws))]
        if after < 0:
            first = items[0].start
            if self.begins_line(0) and self._tail(0) is not None:
                indent = text[self.line_start(first) : first]
                return [Edit(first, first, "".join(raw + self._line_tail() + indent for raw in raws))]
            return [Edit(first, first, "".join(raw + joint for raw in raws))]
        end = items[after].end
        final = after == len(items) - 1
        tail = self._tail(after)
        lines = {self.line_start(s.start) for s in items}
        last_of_line = final or self.line_start(items[after + 1].start) != self.line_start(items[after].start)
        if len(lines) == 1 and not self.begins_line(0):
            return [Edit(end, end, "".join(joint + raw for raw in raws))]
        if not last_of_line:
            return [Edit(end, end, "".join(joint + raw for raw in raws))]
        texts = [joint.join(raws)] if self._several_a_line() else list(raws)
        indent = self._indent(after)
        if final and not self._has_comma(after):
            added = "".join(self.comma + self._break() + indent + raw for raw in texts)
            if tail is not None and self.comment and self.comment in tail.group(0):
                more = "".join(self._break() + indent + raw + self.comma for raw in texts)
                place = self.line_end(end)
                return [Edit(end, end, self.comma), Edit(place, place, more.removesuffix(self.comma))]
            return [Edit(end, end, added)]
        if tail is None:
            return [Edit(end, end, "".join(joint + raw for raw in texts))]
        place = self.line_end(end)
        return [Edit(place, place, "".join(self.newline + indent + raw + self._ending() for raw in texts))]

    def _ending(self) -> str:
        return self.comma + (" " + self.continuation if self.continuation else "")

    def _line_tail(self) -> str:
        return self._ending() + self.newline

    def _break(self) -> str:
        return (" " + self.continuation if self.continuation else "") + self.newline

    def _several_a_line(self) -> bool:
        return len({self.line_start(s.start) for s in self.items}) < len(self.items)

    def _indent(self, i: int) -> str:
        """Return the indentation of the item's line, or of another line that begins with an item."""
        near = [j for j in (*range(i, -1, -1), *range(i + 1, len(self.items))) if self.begins_line(j)]
        if not near:
            return "    "
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
