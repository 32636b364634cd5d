"""Environment variables in HCL: members of an object, blocks, or objects in a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from vllm_migrate.hosts.hcl_text import inner
from vllm_migrate.hosts.listed import mapped, whole_lines
from vllm_migrate.hosts.listing import Listing
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import CannotRender, Change, InsertVariable, Item, Remove, Rename, Replace, Variable
from vllm_migrate.text import Edit, Region, Span, apply_edits, line_end, line_start


@dataclass
class Slot:
    """One variable: all that says it, its name, and the inside of its value's quotes."""

    whole: Span
    name: Span
    value: Span


@dataclass
class Settings:
    """The variables of one place. listing: they are parted by commas; else each has lines of its own.

    empty returns the edits that take the whole place away, where nothing may be left of it.
    """

    host: str
    region: Region
    listing: Listing | None = None
    empty: Callable[[], list[Edit]] | None = None
    slots: list[Slot] = field(default_factory=list)
    members: list[tuple[Item, int]] = field(default_factory=list)

    def add(self, item: Variable, slot: Slot) -> None:
        self.members.append((item, len(self.slots)))
        self.slots.append(slot)

    def _index(self, item: Item | None) -> int:
        found = next((i for member, i in self.members if member is item), None)
        if found is None:
            raise CannotRender("the variable is not set at this place")
        return found

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        removed: list[int] = []
        inserted: dict[int, list[str]] = {}
        local: list[Edit] = []
        for change in changes:
            if isinstance(change, Remove):
                removed.append(self._index(change.item))
            elif isinstance(change, Rename):
                slot = self.slots[self._index(change.item)]
                local.append(Edit(slot.name.start, slot.name.end, change.name))
            elif isinstance(change, Replace) and isinstance(change.item, Variable):
                slot = self.slots[self._index(change.item)]
                if change.value != change.item.value:
                    new = inner(str(change.value), change.holes or change.item.holes, "")
                    local.append(Edit(slot.value.start, slot.value.end, str(new)))
            elif isinstance(change, InsertVariable):
                after = len(self.slots) - 1 if change.after is None else self._index(change.after)
                inserted.setdefault(after, []).append(self._copy(after, change))
            else:
                raise CannotRender("this cannot be changed at this place")
        if self.empty is not None and len(removed) == len(self.slots) and not inserted:
            return mapped(self.region, self.empty())
        if self.listing is not None:
            return mapped(self.region, [*self.listing.edits(removed, {}, inserted), *local])
        text = self.region.text
        for i in removed:
            whole = self.slots[i].whole
            if text[line_start(text, whole.start) : whole.start].strip() or _more(text, whole.end):
                raise CannotRender("only lines of their own can be taken away")
            local.append(whole_lines(text, whole.start, whole.end))
        for i, raws in inserted.items():
            whole = self.slots[i].whole
            indent = text[line_start(text, whole.start) : whole.start]
            place = line_end(text, whole.end)
            local += [Edit(place, place, f"{self.region.source.newline}{indent}{raw}") for raw in raws]
        return mapped(self.region, local)

    def _copy(self, i: int, change: InsertVariable) -> str:
        """Return a new variable, written as the one at i is."""
        if not 0 <= i < len(self.slots):
            raise CannotRender("no place for a variable")
        slot = self.slots[i]
        edits = [
            Edit(slot.name.start, slot.name.end, change.name),
            Edit(slot.value.start, slot.value.end, str(inner(change.value, (), ""))),
        ]
        start = slot.whole.start
        moved = [Edit(e.start - start, e.end - start, e.text) for e in edits]
        return apply_edits(self.region.text[start : slot.whole.end], moved)


def _more(text: str, at: int) -> bool:
    rest = text[at : line_end(text, at)].strip().removeprefix(",").strip()
    return bool(rest) and not rest.startswith(("#", "//"))
