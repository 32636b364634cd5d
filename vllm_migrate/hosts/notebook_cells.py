"""The code of a notebook as one text, and edits of it written back into the JSON strings of its lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import field

from vllm_migrate.hosts.yaml_tree import Node
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.text import Edit, Piece, Region, line_start, shrink

_ESCAPE = regex(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.S)


@dataclass
class Line:
    """One JSON string of a cell's source: where it lies in the text of all cells and inside its quotes."""

    start: int
    end: int
    inner_start: int
    inner_end: int


@dataclass
class Cell:
    """The source of one code cell. listed: it is a list of strings, one a line."""

    start: int
    end: int
    lines: list[Line] = field(default_factory=list)
    listed: bool = True


class CellsRegion(Region):
    """The sources of all code cells, a line end after each cell that has none of its own."""

    cells: list[Cell]

    def edit(self, start: int, end: int, new: str) -> Edit | None:
        """Return the edit of the source; see `Region.edit`. None where it would reach into another cell."""
        cell = next((c for c in self.cells if c.start <= start <= c.end and c.lines), None)
        if cell is None or self.parent is None:
            return None
        new = new.replace("\r\n", "\n")
        if new and start < end:
            # What stays the same keeps the escapes it is written with.
            less = shrink(self.text, Edit(start, end, new))
            start, end, new = less.start, less.end, less.text
        if end > cell.end:
            if end > cell.end + 1:
                return None
            end, new = cell.end, new.removesuffix("\n")
            if start >= end and not new:
                return None
        found = self._listed(cell, start, end, new) if cell.listed else self._plain(cell, start, end, new)
        return None if found is None else self.parent.edit(found.start, found.end, found.text)

    def _plain(self, cell: Cell, start: int, end: int, new: str) -> Edit | None:
        line = cell.lines[0]
        a, b = self._place(line, start), self._place(line, end)
        return None if a is None or b is None else Edit(a, b, self._escaped(new))

    def _place(self, line: Line, offset: int) -> int | None:
        return line.inner_start if offset <= line.start else self._up(offset, at_end=True)

    def _listed(self, cell: Cell, start: int, end: int, new: str) -> Edit | None:
        lines, text = cell.lines, self.text
        i = next((k for k, line in enumerate(lines) if line.start <= start < line.end), len(lines) - 1)
        j = i if start == end else max(k for k, line in enumerate(lines) if line.start < end)
        first, last = lines[i], lines[j]
        final = j == len(lines) - 1
        to_end = end == last.end and end > start
        if not new and to_end and start == first.start:
            if not final:
                return Edit(first.inner_start - 1, lines[j + 1].inner_start - 1, "")
            if i > 0 and text[lines[i - 1].end - 1 : lines[i - 1].end] == "\n":
                above = self._up(lines[i - 1].end - 1, at_end=False)
                return None if above is None else Edit(above, last.inner_end, "")
            return Edit(first.inner_start, last.inner_end, "")
        # What is alike at the ends is no part of the change: the new text has no line end there.
        joins = to_end and not final and text[end - 1] == "\n"
        a = self._place(first, start)
        b = lines[j + 1].inner_start if joins else self._place(last, end)
        if a is None or b is None:
            return None
        between = '",' + self._gap(cell, i) + '"'
        ends = end == last.end and not joins
        parts = new.split("\n")
        if ends and len(parts) > 1 and not parts[-1]:
            parts[-2:] = [parts[-2] + "\n"]
        written = between.join(
            self._escaped(part) + ("\\n" if k < len(parts) - 1 else "") for k, part in enumerate(parts)
        )
        if start == end == last.end > last.start and text[end - 1] == "\n":
            written = between + written
        return Edit(a, b, written)

    def _escaped(self, text: str) -> str:
        above = self.source.text
        return json.dumps(text, ensure_ascii=above.isascii() and "\\u" in above)[1:-1]

    def _gap(self, cell: Cell, i: int) -> str:
        """Return what stands between the comma after a line and the next line."""
        assert self.parent is not None
        above, lines = self.parent.text, cell.lines
        if len(lines) > 1:
            k = min(i, len(lines) - 2)
            return above[lines[k].inner_end + 1 : lines[k + 1].inner_start - 1].replace(",", "", 1)
        opens = lines[0].inner_start - 1
        lead = above[line_start(above, opens) : opens]
        return " " if lead.strip() else self.source.newline + lead


def cells_region(region: Region, sources: list[Node]) -> CellsRegion:
    """Return the region of the cells whose `source` nodes are given, in order."""
    pieces: list[Piece] = []
    out: list[str] = []
    cells: list[Cell] = []
    at = 0
    for node in sources:
        strings = [u.node for u in node.items] if node.kind == "sequence" else [node]
        cell = Cell(at, at, listed=node.kind == "sequence")
        for string in strings:
            begin = at
            for shown, start, end, verbatim in _parts(region.text, string.start + 1, string.end - 1):
                if not shown:
                    continue
                pieces.append(Piece(at, at + len(shown), start, end, verbatim))
                out.append(shown)
                at += len(shown)
            cell.lines.append(Line(begin, at, string.start + 1, string.end - 1))
        cell.end = at
        cells.append(cell)
        stop = cell.lines[-1].inner_end if cell.lines else node.end
        pieces.append(Piece(at, at + 1, stop, stop, False))
        out.append("\n")
        at += 1
    made = CellsRegion(region.source, "".join(out), region, pieces or (Piece(0, 0, 0, 0),))
    made.cells = cells
    return made


def _parts(text: str, start: int, end: int) -> Iterator[tuple[str, int, int, bool]]:
    here = start
    for match in _ESCAPE.finditer(text, start, end):
        yield text[here : match.start()], here, match.start(), True
        yield json.loads(f'"{match[0]}"'), match.start(), match.end(), False
        here = match.end()
    yield text[here:end], here, end, True
