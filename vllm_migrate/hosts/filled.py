"""Marks what the text around a guest fills in: letters that a host took for text become run-time parts."""

from __future__ import annotations

import json

from vllm_migrate.model import Dynamic, Entry, Item, Reading, Word, is_hole
from vllm_migrate.text import Span


def finish(reading: Reading) -> None:
    """Mark the private-use letters in the words, values and pins of a guest as run-time parts."""
    items: list[Item] = [*reading.variables, *reading.pins]
    for site in reading.sites:
        items += [*site.words, *site.variables, *site.pins]
        for entry in site.entries:
            entry.value = _dynamic(entry.value, entry, entry.value_span)
    for item in items:
        _holes(item)


def _spelled(item: Item, span: Span) -> dict[str, str]:
    """Return what the letters of a span of an item's text stand for, as the file has it."""
    out: dict[str, str] = {}
    region = item.region
    for at in range(span.start, span.end):
        char = region.text[at]
        place = region.span(at, at + 1) if is_hole(char) and char not in out else None
        if place is not None:
            out[char] = region.source.text[place.start : place.end]
    return out


def _holes(item: Item) -> None:
    if getattr(item, "holes", ()):
        return
    name = "text" if hasattr(item, "text") else "value"
    text = getattr(item, name, None)
    if not isinstance(text, str) or not any(is_hole(c) for c in text):
        return
    spelled = _spelled(item, item.span)
    letters = [c for c in text if is_hole(c)]
    order = iter(range(len(letters)))
    fresh = "".join(chr(0xE000 + next(order)) if is_hole(c) else c for c in text)
    setattr(item, name, fresh)
    item.holes = tuple(spelled.get(c, "$") for c in letters)  # type: ignore[attr-defined]
    if isinstance(item, Word) and len(fresh) == 1:
        item.locked = item.locked or "written by the enclosing text"


def _dynamic(value: object, entry: Entry, span: Span | None = None) -> object:
    """Return a value with what is filled in marked. span: where it is written, None for a part of it."""
    if isinstance(value, str) and any(is_hole(c) for c in value):
        place = entry.region.span(span.start, span.end) if span is not None else None
        if place is not None:
            return Dynamic(entry.region.source.text[place.start : place.end])
        spelled = _spelled(entry, entry.span)
        return Dynamic(json.dumps("".join(spelled.get(c, c) for c in value), ensure_ascii=False))
    if isinstance(value, list):
        return [_dynamic(v, entry) for v in value]
    if isinstance(value, dict):
        return {k: _dynamic(v, entry) for k, v in value.items()}
    return value
