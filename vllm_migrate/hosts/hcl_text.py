"""Strings and here-documents of HCL as texts of other formats, and how words and values are written in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from vllm_migrate.hosts.hcl_scan import Bit, Node, bits, written
from vllm_migrate.hosts.shown import Mark, Names, lines_of, lines_region
from vllm_migrate.model import fill
from vllm_migrate.text import Piece, Region, Span


class Letters(Names):
    """Shows run-time parts as private-use letters, for formats that have no `${name}` of their own."""

    def shown(self, raw: str, wish: str = "") -> str:
        known = next((shown for shown, spelled in self.spelled.items() if spelled == raw), None)
        letter = known or chr(0xE000 + len(self.spelled) % 0x1800)
        self.spelled[letter] = raw
        return letter

    def written(self, text: str, literal: Callable[[str], str | None]) -> str | None:
        """Return a text with its run-time parts, shown as letters or spelled out, as the file has them."""
        parts = [*self.spelled, *map(re.escape, self.spelled.values())]
        out: list[str] = []
        for i, part in enumerate(re.split(f"({'|'.join(parts)})", text) if parts else [text]):
            shown = self.spelled.get(part, part) if i % 2 else literal(part)
            if shown is None:
                return None
            out.append(shown)
        return "".join(out)


def guest(region: Region, node: Node, names: Names) -> Region:
    """Return the text of a string or here-document as a guest; names: how its run-time parts are shown."""
    text = region.text
    if node.kind == "heredoc":
        return template(region, node.inner_start, node.inner_end, names, node.dash)
    pieces: list[Piece] = []
    out: list[str] = []
    at = 0
    for bit in bits(text, node.inner_start, node.inner_end, True):
        shown = names.shown(text[bit.start : bit.end]) if bit.kind == "hole" else bit.shown
        pieces.append(Piece(at, at + len(shown), bit.start, bit.end, bit.kind == "text"))
        out.append(shown)
        at += len(shown)
    pieces = pieces or [Piece(0, 0, node.inner_start, node.inner_start)]
    return region.child("".join(out), pieces, lambda new, _: names.written(new, lambda t: written(t, True)))


def template(region: Region, start: int, end: int, names: Names, dash: bool = False) -> Region:
    """Return the lines of a template. dash: their common indentation is no part of it."""
    text = region.text
    rows = lines_of(text, start, end)
    width = 0
    if dash:
        filled = [text[a:b] for a, b, _ in rows if text[a:b].strip()]
        width = min((len(line) - len(line.lstrip(" \t")) for line in filled), default=0)
    prefix = next((text[a : a + width] for a, b, _ in rows if text[a:b].strip()), "")
    rows = [(min(a + width, b), b, after) for a, b, after in rows]
    marks = [mark for a, b, _ in rows for mark in _marks(text, a, b, names)]
    return lines_region(region, rows, marks, prefix, names, lambda t: written(t, False))


def _marks(text: str, start: int, end: int, names: Names) -> list[Mark]:
    """Return what is shown otherwise in one line. A template that goes on in the next line is cut there."""
    out: list[Mark] = []
    for bit in bits(text, start, end, False):
        if bit.kind == "hole":
            out.append(Mark(bit.start, bit.end, names.shown(text[bit.start : bit.end])))
        elif bit.kind == "escape":
            out.append(Mark(bit.start, bit.end, bit.shown))
    return out


def word_of(text: str, node: Node) -> tuple[str, tuple[str, ...]]:
    """Return what a string reads, a letter for each run-time part, and how those are spelled."""
    out: list[str] = []
    holes: list[str] = []
    for bit in string_bits(text, node):
        if bit.kind == "hole":
            out.append(chr(0xE000 + len(holes)))
            holes.append(text[bit.start : bit.end])
        else:
            out.append(bit.shown)
    return "".join(out), tuple(holes)


def string_bits(text: str, node: Node) -> list[Bit]:
    return list(bits(text, node.inner_start, node.inner_end, node.kind == "string"))


def inner(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write text between the quotes of a string."""
    return fill(written(text, True), holes)


def quoted(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write a string."""
    return f'"{inner(text, holes, old)}"'


def inside(node: Node) -> Span:
    return Span(node.inner_start, node.inner_end)
