"""Moves a pin whose version is a `$NAME` to the place where the value of NAME is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vllm_migrate.hosts.dockerfile_values import Written, choose, expand
from vllm_migrate.hosts.listed import SpotContainer
from vllm_migrate.model import InsertText, Pin, fill
from vllm_migrate.text import Edit, Region


def write_bare(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write text that stands without quotes of its own."""
    return None if re.search(r"[\s\"'\\]", text) else fill(text, holes)


def move_pin(pin: Pin, scope: Mapping[str, Written], region: Region, host: str) -> Pin:
    """Return the pin that lies on the value's own letters, or the pin itself where there is none.

    Args: scope: where the values of names are written, in the region's text.
    A requirement that is added still goes where the first pin stands.
    """
    if not pin.holes or pin.kind == "build-arg":
        return pin
    parts = expand(pin.prefix + fill(pin.text, pin.holes) + pin.suffix, None, scope)
    found = choose(parts, pin.kind)
    if found is None or any(p.hole for p in parts):
        return pin
    part = parts[found]
    assert part.span is not None

    def insert(change: InsertText) -> list[Edit]:
        return pin.container.edits([InsertText(pin, change.kind, change.text)])

    moved = Pin(
        region,
        part.span,
        SpotContainer(host, region, write_bare, insert),
        kind=pin.kind,
        text=part.text,
        name=pin.name or (part.source.name if part.source else ""),
        owner=pin.owner,
        prefix="".join(p.text for p in parts[:found]),
        suffix="".join(p.text for p in parts[found + 1 :]),
        locked=pin.locked,
        guarded=pin.guarded,
    )
    if sum(p.span == part.span for p in parts) > 1:
        moved.locked = moved.locked or "used more than once in one reference"
    return moved
