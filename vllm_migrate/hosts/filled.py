"""Marks what the text around a guest fills in: letters that a host took for text become run-time parts."""

from __future__ import annotations

import re

from vllm_migrate.model import Dynamic, Item, Reading, Word, is_hole


def finish(reading: Reading) -> None:
    """Mark the private-use letters in the words, values and pins of a guest as run-time parts."""
    items: list[Item] = [*reading.variables, *reading.pins]
    for site in reading.sites:
        items += [*site.words, *site.variables, *site.pins]
        for entry in site.entries:
            entry.value = _dynamic(entry.value, entry)
    for item in items:
        _holes(item)


def _spelled(item: Item) -> str:
    place = item.place
    return item.region.source.text[place.start : place.end]


def _holes(item: Item) -> None:
    if getattr(item, "holes", ()):
        return
    name = "text" if hasattr(item, "text") else "value"
    text = getattr(item, name, None)
    if not isinstance(text, str) or not any(is_hole(c) for c in text):
        return
    found = re.findall(r"\$\{[^}]{0,500}\}|\$\([^)]{0,500}\)|\$\w+|`[^`]*`", _spelled(item))
    letters = [c for c in text if is_hole(c)]
    holes = found if len(found) == len(letters) else ["$"] * len(letters)
    order = iter(range(len(letters)))
    fresh = "".join(chr(0xE000 + next(order)) if is_hole(c) else c for c in text)
    setattr(item, name, fresh)
    item.holes = tuple(holes)  # type: ignore[attr-defined]
    if isinstance(item, Word) and len(fresh) == 1:
        item.locked = item.locked or "written by the enclosing text"


def _dynamic(value: object, item: Item) -> object:
    if isinstance(value, str) and any(is_hole(c) for c in value):
        return Dynamic(_spelled(item))
    if isinstance(value, list):
        return [_dynamic(v, item) for v in value]
    if isinstance(value, dict):
        return {k: _dynamic(v, item) for k, v in value.items()}
    return value
