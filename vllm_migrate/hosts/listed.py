"""Containers for items that stand in a list or at one spot of a line-based format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from vllm_migrate.hosts.listing import Listing
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertText,
    InsertVariable,
    InsertWords,
    Item,
    Pin,
    Remove,
    Rename,
    Replace,
    Variable,
    Word,
    fill,
)
from vllm_migrate.text import Edit, Region

Quote = Callable[[str, Sequence[str], str], "str | None"]
"""Writes (text with holes, the holes' spellings, the raw text it replaces or "") as a raw list item."""


def mapped(region: Region, edits: Sequence[Edit]) -> list[Edit]:
    """Return edits of the region's text as edits of its source. Raises CannotRender.

    Deletions that overlap become one: two neighbours may both take the line end between them.
    """
    out = []
    for edit in _joined(edits):
        up = region.edit(edit.start, edit.end, edit.text)
        if up is None:
            raise CannotRender("the text cannot be written at this place")
        out.append(up)
    return out


def _joined(edits: Sequence[Edit]) -> list[Edit]:
    out: list[Edit] = []
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        last = out[-1] if out else None
        if last is not None and not last.text and not edit.text and edit.start < last.end:
            out[-1] = Edit(last.start, max(last.end, edit.end), "")
        else:
            out.append(edit)
    return out


def plain(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write a text that needs no quoting; None when it would not stay on its line."""
    written = fill(text, holes)
    return None if "\n" in written or "\r" in written else written


@dataclass
class ListContainer:
    """Items of one list; see `Listing` for how lines, commas and continuations are kept.

    quote writes an item's text; inner a part of one (a pin within it), given all of the item. empty returns the
    edits of the region's text that take the whole list away, or None where an empty list must not be left.
    """

    host: str
    region: Region
    listing: Listing
    quote: Quote
    inner: Quote = plain
    empty: Callable[[], list[Edit] | None] | None = None
    elsewhere: Callable[[InsertVariable], Edit] | None = None
    members: list[tuple[Item, int]] = field(default_factory=list)
    leads: dict[int, int] = field(default_factory=dict)
    """Index of a `NAME=value` item → that of the option before it (`-e`), which goes with it."""
    prefixes: dict[int, str] = field(default_factory=dict)
    """Index of a `--env=NAME=value` item → what stands before the name."""

    def add(self, item: Item, index: int) -> None:
        self.members.append((item, index))

    def _index(self, item: Item | None) -> int | None:
        return next((i for member, i in self.members if member is item), None)

    def _raw(self, i: int) -> str:
        span = self.listing.items[i]
        return self.region.text[span.start : span.end]

    def _quoted(self, text: str, holes: Sequence[str], i: int | None) -> str:
        raw = self.quote(text, holes, "" if i is None else self._raw(i))
        if raw is None:
            raise CannotRender("the value cannot be written in this format")
        return raw

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        removed: list[int] = []
        replaced: dict[int, str] = {}
        inserted: dict[int, list[str]] = {}
        spots: list[Edit] = []
        extra: list[Edit] = []
        names: dict[int, str] = {}
        values: dict[int, Replace] = {}
        last = len(self.listing.items) - 1
        for change in changes:
            if isinstance(change, (Remove, Replace, Rename)):
                i = self._index(change.item)
                if i is None:
                    raise CannotRender("the item is not part of this list")
                if isinstance(change, Remove):
                    removed.append(i)
                    if isinstance(change.item, Variable) and i in self.leads:
                        removed.append(self.leads[i])
                elif isinstance(change, Rename):
                    if not isinstance(change.item, Variable):
                        raise CannotRender("only a variable has a name here")
                    names[i] = change.name
                elif isinstance(change.item, Pin):
                    spots += self._spot(change, change.item, self._raw(i))
                elif isinstance(change.item, (Word, Variable)):
                    values[i] = change
            elif isinstance(change, InsertWords):
                after = last if change.after is None else self._index(change.after)
                if change.before is not None:
                    before = self._index(change.before)
                    after = None if before is None else before - 1
                after = -1 if after is None else after
                words = [self._quoted(word, change.holes, None) for word in change.words]
                inserted.setdefault(after, []).extend(words)
            elif isinstance(change, InsertVariable):
                if self.elsewhere is not None:
                    extra.append(self.elsewhere(change))
                    continue
                after = last if change.after is None else self._index(change.after)
                inserted.setdefault(last if after is None else after, []).append(
                    self._quoted(f"{change.name}={change.value}", (), None)
                )
            elif isinstance(change, InsertText) and change.kind == "requirement":
                i = self._index(change.item)
                if i is None:
                    raise CannotRender("the requirement is not part of this list")
                inserted.setdefault(i, []).append(self._quoted(change.text, (), i))
            else:
                raise CannotRender("this cannot be added to this list")
        for i in {*names, *values}:
            replaced.update(self._renewed(i, names.get(i), values.get(i)))
        spots = [e for e in spots if not any(self._covers(i, e) for i in removed)]
        if len(set(removed)) == len(self.listing.items) and not any(inserted.values()):
            gone = self.empty() if self.empty is not None else None
            if gone is None:
                raise CannotRender("nothing would be left of the list")
            return mapped(self.region, [*gone, *extra])
        return mapped(self.region, [*self.listing.edits(removed, replaced, inserted), *spots, *extra])

    def _covers(self, i: int, edit: Edit) -> bool:
        span = self.listing.items[i]
        return span.start <= edit.start and edit.end <= span.end

    def _spot(self, change: Replace, pin: Pin, old: str) -> list[Edit]:
        if change.value == pin.text and not change.holes:
            return []
        raw = self.inner(str(change.value), change.holes or pin.holes, old)
        if raw is None:
            raise CannotRender("the value cannot be written in this format")
        return [Edit(pin.span.start, pin.span.end, raw)]

    def _renewed(self, i: int, name: str | None, change: Replace | None) -> dict[int, str]:
        item = next(item for item, at in self.members if at == i and isinstance(item, (Word, Variable)))
        if isinstance(item, Word):
            assert change is not None
            if change.value == item.text and (change.holes or item.holes) == item.holes:
                return {}
            return {i: self._quoted(str(change.value), change.holes or item.holes, i)}
        value = item.value if change is None else str(change.value)
        holes = item.holes if change is None else (change.holes or item.holes)
        if value is None:
            raise CannotRender("the value is not given here")
        if name is None and value == item.value and holes == item.holes:
            return {}
        return {i: self._quoted(f"{self.prefixes.get(i, '')}{name or item.name}={value}", holes, i)}


@dataclass
class SpotContainer:
    """Pins that stand alone in a text: an image after `FROM`, a default of `ARG`.

    write quotes new text for the spot. insert renders InsertText as an edit of the region's text.
    """

    host: str
    region: Region
    write: Quote = plain
    insert: Callable[[InsertText], list[Edit]] | None = None
    remove: Callable[[Item], list[Edit]] | None = None

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        local: list[Edit] = []
        done: list[Edit] = []
        for change in changes:
            if isinstance(change, Replace) and isinstance(change.item, Pin):
                local += self._replace(change, change.item)
            elif isinstance(change, InsertText) and self.insert is not None:
                done += self.insert(change)
            elif isinstance(change, Remove) and self.remove is not None:
                local += self.remove(change.item)
            else:
                raise CannotRender("this cannot be changed at this place")
        return [*mapped(self.region, local), *done]

    def _replace(self, change: Replace, pin: Pin) -> list[Edit]:
        if change.value == pin.text:
            return []
        old = self.region.text[pin.span.start : pin.span.end]
        raw = self.write(str(change.value), change.holes or pin.holes, old)
        if raw is None:
            raise CannotRender("the value cannot be written in this format")
        return [Edit(pin.span.start, pin.span.end, raw)]


def whole_lines(text: str, start: int, end: int) -> Edit:
    """Return the edit that takes the lines of `[start, end)` away.

    Where that would leave two blank lines in a row, one of them goes too.
    """
    probe = Listing(text, (), 0)
    first, after = probe.line_start(start), probe.next_line(end)
    before_blank = first == 0 or not text[probe.line_start(first - 1) : first].strip()
    if first > 0 and text[first - 1] == "\n" and text[first - 2 : first - 1] == "\r":
        before_blank = not text[probe.line_start(first - 2) : first].strip()
    if before_blank and after < len(text) and not text[after : probe.line_end(after)].strip():
        after = probe.next_line(after)
    if after == len(text) and first > 0 and text[after - 1] not in "\r\n":
        # a text without a final line end keeps being one
        first -= 2 if text[first - 2 : first] == "\r\n" else 1
    return Edit(first, after, "")
