"""Source text, spans, edits, and regions that map a guest's text back to the file that holds it.

Everything here counts code points of the decoded text; `Source.byte_offset` turns them into bytes of
the file on disk. Nothing here knows a file format: a host builds regions from pieces it has parsed.
"""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from vllm_migrate.lazy import dataclass, regex

_BOM = b"\xef\xbb\xbf"


class UndecodableError(ValueError):
    """The file is not UTF-8 text. `offset` is the first byte that could not be decoded."""

    def __init__(self, path: str, offset: int, reason: str) -> None:
        super().__init__(f"{path}: not UTF-8 text (byte {offset}: {reason})")
        self.offset = offset
        self.reason = reason


class OverlapError(ValueError):
    """Two edits touch the same text, or one lies outside it."""


@dataclass(frozen=True, order=True)
class Span:
    """A half-open range of code points."""

    __slots__ = ("end", "start")

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def touches(self, other: Span) -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, order=True)
class Edit:
    """Replace `[start, end)` of a source's text by `text`."""

    __slots__ = ("end", "start", "text")

    start: int
    end: int
    text: str


class Source:
    """One file as it is on disk: its bytes, its text without a byte order mark, and its line starts.

    Args: path: name relative to the root, with forward slashes. raw: the bytes on disk.
    Raises UndecodableError where the bytes are not UTF-8.
    """

    def __init__(self, path: str, raw: bytes) -> None:
        self.path = path
        self.bom = raw.startswith(_BOM)
        body = raw[3:] if self.bom else raw
        try:
            self.text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UndecodableError(path, error.start + (3 if self.bom else 0), error.reason) from None
        self.quiet: dict[str, list[Span]] = {}
        """Format → the parts of the text, in order, that its host found to have no bearing on a launch."""

    @property
    def raw(self) -> bytes:
        """The bytes of the file. Made when asked for: text that is UTF-8 can only have come from these."""
        return (_BOM if self.bom else b"") + self.text.encode("utf-8")

    @classmethod
    def of(cls, text: str, path: str = "<text>") -> Source:
        return cls(path, text.encode("utf-8"))

    @cached_property
    def newline(self) -> str:
        """The line end most of the file uses: `\\r\\n`, `\\r` or `\\n`."""
        crlf = self.text.count("\r\n")
        lf = self.text.count("\n") - crlf
        cr = self.text.count("\r") - crlf
        if crlf > lf and crlf >= cr:
            return "\r\n"
        return "\r" if cr > lf else "\n"

    @cached_property
    def line_starts(self) -> Sequence[int]:
        """Where each line begins, in code points; as small numbers, since a manifest can have a million lines."""
        return line_starts(self.text)

    @property
    def head(self) -> str:
        """The first line without its line end, or as much of it as matters to tell a format by."""
        found = _FIRST_LINE.match(self.text)
        return found[0] if found is not None else ""

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both counted from 1."""
        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return line `number` (from 1) without its line end; empty when there is none."""
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    def byte_offset(self, offset: int) -> int:
        """Return the byte of the file on disk where code point `offset` begins."""
        body = offset if self._ascii else len(self.text[:offset].encode("utf-8"))
        return body + (3 if self.bom else 0)

    def with_edits(self, edits: Iterable[Edit]) -> Source:
        """Return the source after the edits; byte order mark and every other byte stay."""
        ordered = sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end))
        text = apply_edits(self.text, ordered)
        for edit in ordered:
            edit.text.encode("utf-8")
        after = Source(self.path, _BOM if self.bom else b"")
        after.text = text
        after.quiet = {name: _moved(spans, ordered) for name, spans in self.quiet.items()}
        return after


_LINE_BREAK = regex(r"\r\n|\n|\r")
_SPLIT_AT_MOST = 1 << 20
"""Letters of a text whose lines may all be held at once."""
_FIRST_LINE = regex(r"[^\r\n]{0,1000}")
_LINE_END = regex(r"[\r\n]|\Z")


def line_starts(text: str) -> array[int]:
    """Return where each line of a text begins. Only `\\n`, `\\r\\n` and `\\r` end lines."""
    starts = array("I", (0,))
    if "\r" in text or len(text) > _SPLIT_AT_MOST:
        starts.extend(found.end() for found in _LINE_BREAK.finditer(text))
    else:
        # Most files have but one kind of line end; splitting at it takes a quarter of the time.
        starts.extend(accumulate(len(line) + 1 for line in text.split("\n")))
        starts.pop()
    return starts


def line_start(text: str, offset: int) -> int:
    """Return where the line of an offset begins."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_end(text: str, offset: int) -> int:
    """Return where the line of an offset ends, before its line end."""
    found = _LINE_END.search(text, offset)
    return found.start() if found is not None else len(text)


def next_line(text: str, offset: int) -> int:
    """Return where the line after that of an offset begins; the end of the text where there is none."""
    end = line_end(text, offset)
    return end + (2 if text.startswith("\r\n", end) else 1 if end < len(text) else 0)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with all edits made. Raises OverlapError for overlapping or outlying edits.

    Edits that are equal count once; two insertions at one place keep their order.
    """
    ordered = sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end))
    out: list[str] = []
    at = 0
    for edit in ordered:
        if edit.start < at or edit.end < edit.start or edit.end > len(text):
            raise OverlapError(f"edit {edit.start}..{edit.end} overlaps another or lies outside the text")
        out.append(text[at : edit.start])
        out.append(edit.text)
        at = edit.end
    out.append(text[at:])
    return "".join(out)


def _moved(spans: Sequence[Span], edits: Sequence[Edit]) -> list[Span]:
    """Return where spans that no edit touches stand after the edits; both are in order."""
    out: list[Span] = []
    grown = at = 0
    for span in spans:
        while at < len(edits) and edits[at].end <= span.start:
            grown += len(edits[at].text) - (edits[at].end - edits[at].start)
            at += 1
        if at == len(edits) or edits[at].start >= span.end:
            out.append(Span(span.start + grown, span.end + grown))
    return out


def spans_after(edits: Iterable[Edit]) -> list[Span]:
    """Return where the texts of edits, which do not overlap, stand once all are made."""
    out: list[Span] = []
    grown = 0
    for edit in sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end)):
        start = edit.start + grown
        out.append(Span(start, start + len(edit.text)))
        grown += len(edit.text) - (edit.end - edit.start)
    return out


def shrink(text: str, edit: Edit) -> Edit:
    """Return the same edit without the part that stays equal at its two ends."""
    old, new = text[edit.start : edit.end], edit.text
    head = 0
    while head < len(old) and head < len(new) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < len(old) - head and tail < len(new) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(edit.start + head, edit.end - tail, new[head : len(new) - tail])


Escape = Callable[[str, int], "str | None"]


def _verbatim(text: str, at: int) -> str | None:
    return text


class Piece(NamedTuple):
    """A run of guest text and the parent text it stands for.

    With `verbatim` the two are the same letters and every offset inside maps; else the piece is one
    unit (an escape, a folded line break) that an edit must take whole.
    """

    start: int
    end: int
    parent_start: int
    parent_end: int
    verbatim: bool = True


@dataclass
class Region:
    """Text of a guest inside a source, perhaps through several layers of quoting.

    `pieces` lie in ascending order and cover the guest text without gaps; between two pieces the parent
    may hold text that the guest does not see (indentation, a line continuation, a quote).
    `escape(new, at)` writes guest text as parent text, or returns None where it cannot be written there.
    """

    source: Source
    text: str
    parent: Region | None = None
    pieces: Sequence[Piece] = ()
    escape: Escape = _verbatim
    note: str = field(default="", compare=False)

    @classmethod
    def whole(cls, source: Source) -> Region:
        """Return the text of a source itself, which needs no pieces."""
        return cls(source, source.text)

    def child(self, text: str, pieces: Sequence[Piece], escape: Escape = _verbatim, note: str = "") -> Region:
        """Return a guest region; the pieces' parent offsets are offsets of this region's text."""
        return Region(self.source, text, self, pieces, escape, note)

    def slice(self, start: int, end: int) -> Region:
        """Return a guest that is a verbatim part of this region."""
        return self.child(self.text[start:end], (Piece(0, end - start, start, end),))

    @cached_property
    def _starts(self) -> list[int]:
        return [p.start for p in self.pieces]

    def _up(self, offset: int, *, at_end: bool) -> int | None:
        """Map a guest offset to the parent: as the end of what precedes, or the start of what follows."""
        if not self.pieces:
            return None
        if at_end:
            i = bisect.bisect_left(self._starts, offset) - 1
            i = max(i, 0)
        else:
            i = bisect.bisect_right(self._starts, offset) - 1
        piece = self.pieces[i]
        if offset <= piece.start:
            return piece.parent_start if offset == piece.start else None
        if offset >= piece.end:
            return piece.parent_end if offset == piece.end else None
        return piece.parent_start + offset - piece.start if piece.verbatim else None

    def to_parent(self, start: int, end: int) -> Span | None:
        """Return the parent's span of a guest span, or None where it cuts through an escape.

        Whole guest lines take their indentation in the parent with them.
        """
        text = self.text
        left = start == end and start > 0 and text[start - 1] != "\n"
        if end > start and text[end - 1] == "\n" and start > 0 and text[start - 1] == "\n":
            left = True
        up_start = self._up(start, at_end=left)
        up_end = self._up(end, at_end=True) if end > start else up_start
        if up_start is None or up_end is None or up_end < up_start:
            return None
        return Span(up_start, up_end)

    def written(self, new: str, start: int, end: int) -> str | None:
        """Return how the parent's text writes `new` in place of a guest span; see `escape`.

        Regions that need to know where the span ends (whole lines of an indented block) override this.
        """
        return self.escape(new, start)

    def span(self, start: int, end: int) -> Span | None:
        """Return the source's span of a guest span, or None where it has no exact one."""
        region: Region = self
        here = Span(start, end)
        while region.parent is not None:
            up = region.to_parent(here.start, here.end)
            if up is None:
                return None
            here, region = up, region.parent
        return here

    def nearest_span(self, start: int, end: int) -> Span:
        """Return a span of the source for reporting: exact, or the smallest known one around it."""
        region: Region = self
        here = Span(start, end)
        while region.parent is not None:
            up = region.to_parent(here.start, here.end)
            if up is None:
                touched = [p for p in region.pieces if p.start < here.end and p.end > here.start]
                touched = touched or list(region.pieces)
                if not touched:
                    return Span(0, 0)
                up = Span(touched[0].parent_start, touched[-1].parent_end)
            here, region = up, region.parent
        return here

    def edit(self, start: int, end: int, new: str) -> Edit | None:
        """Return the edit of the source that makes `[start, end)` of this guest read `new`.

        None where the span cuts through an escape or the new text cannot be written at that place.
        """
        if self.parent is None:
            return Edit(start, end, new)
        up = self.to_parent(start, end)
        written = self.written(new, start, end) if new else new
        if up is None or written is None:
            return None
        return self.parent.edit(up.start, up.end, written)
