"""Guests whose run-time parts are shown to another host as something that host can read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.text import Piece, Region, Span, line_start

_NAMED = regex(r"\$\{[A-Za-z_]\w*\}")


@dataclass(frozen=True)
class Mark:
    """A run `[start, end)` of a text that is shown as something else; "" hides it."""

    start: int
    end: int
    shown: str


class Names:
    """Gives run-time parts names a shell takes: the same name for the same spelling.

    taken: names that mean something else in the text.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self.spelled: dict[str, str] = {}

    def shown(self, raw: str, wish: str = "") -> str:
        """Return `${name}` for a part spelled `raw`; wish: the name to give it where it is free."""
        known = next((shown for shown, spelled in self.spelled.items() if spelled == raw), None)
        if known is not None:
            return known
        name = wish if re.fullmatch(r"[A-Za-z_]\w*", wish) and wish not in self.taken else ""
        if not name or "${" + name + "}" in self.spelled:
            name = f"_part_{len(self.spelled)}"
        self.spelled["${" + name + "}"] = raw
        return "${" + name + "}"

    def written(self, text: str, literal: Callable[[str], str | None]) -> str | None:
        """Return a text with the names spelled as the file has them; literal writes all other text."""
        out: list[str] = []
        at = 0
        for match in _NAMED.finditer(text):
            if match[0] not in self.spelled:
                continue
            plain = literal(text[at : match.start()])
            if plain is None:
                return None
            out += [plain, self.spelled[match[0]]]
            at = match.end()
        last = literal(text[at:])
        return None if last is None else "".join((*out, last))


def _same(text: str) -> str | None:
    return text


@dataclass
class LinesRegion(Region):
    """Lines of a text without what stands before each of them (indentation, `> `, a prompt).

    prefix: what a new line gets. hidden: spans of the parent that no edit may run over. names, literal:
    how run-time parts and other text are written.
    """

    prefix: str = ""
    hidden: Sequence[Span] = ()
    names: Names = field(default_factory=Names, compare=False)
    literal: Callable[[str], str | None] = field(default=_same, compare=False)

    def to_parent(self, start: int, end: int) -> Span | None:
        span = super().to_parent(start, end)
        if span is None or self.parent is None:
            return span
        text = self.text
        if end > start and text[end - 1] == "\n":
            if start == 0 or text[start - 1] == "\n":
                inside = self._up(start, at_end=False)
                if inside is None:
                    return None
                span = Span(line_start(self.parent.text, inside), span.end)
            elif end < len(text):
                following = self._up(end, at_end=False)
                if following is None:
                    return None
                span = Span(span.start, following)
        if any(h.start < span.end and span.start < h.end for h in self.hidden):
            return None
        return span

    def written(self, new: str, start: int, end: int) -> str | None:
        out = self.names.written(new.replace("\r\n", "\n"), self.literal)
        if out is None:
            return None
        text = self.text
        opens = start == 0 or text[start - 1] == "\n"
        closes = end > start and text[end - 1] == "\n"
        if self.prefix:
            prefix = self.prefix
            out = re.sub(r"\n(?=[^\n])", lambda _: "\n" + prefix, out)
            if opens and (closes or (start > 0 and start == end == len(text))):
                out = prefix + out
            elif out.endswith("\n") and (start == end or closes) and end < len(text):
                out += prefix
        newline = self.source.newline if self.crlf else "\n"
        return out if newline == "\n" else out.replace("\n", newline)

    @property
    def crlf(self) -> bool:
        """Line ends of the parent are those of the file."""
        return self.parent is not None and ("\r" in self.parent.text)


def lines_region(
    region: Region,
    lines: Iterable[tuple[int, int, int]],
    marks: Sequence[Mark] = (),
    prefix: str = "",
    names: Names | None = None,
    literal: Callable[[str], str | None] = _same,
) -> LinesRegion:
    """Return lines of a region as one guest text.

    Args: region: the text they stand in. lines: (start, end, after) of each: where its shown part begins
    and ends, and where the next line begins. marks: what is shown otherwise, in order, within lines.
    """
    text = region.text
    pieces: list[Piece] = []
    out: list[str] = []
    hidden: list[Span] = []
    at = 0

    def add(shown: str, start: int, end: int, verbatim: bool) -> None:
        nonlocal at
        if shown:
            pieces.append(Piece(at, at + len(shown), start, end, verbatim))
            out.append(shown)
            at += len(shown)

    waiting = list(marks)
    last: int | None = None
    for start, end, after in lines:
        if last is not None and line_start(text, start) > last:
            hidden.append(Span(last, line_start(text, start)))
        last = after
        here = start
        while waiting and waiting[0].start <= end:
            mark = waiting.pop(0)
            if mark.start < here:
                continue
            add(text[here : mark.start], here, mark.start, True)
            add(mark.shown, mark.start, mark.end, False)
            if not mark.shown:
                hidden.append(Span(mark.start, mark.end))
            here = mark.end
        add(text[here:end], here, end, True)
        if after > end:
            add("\n", end, after, False)
    made = LinesRegion(region.source, "".join(out), region, pieces or (Piece(0, 0, 0, 0),))
    made.prefix, made.hidden, made.literal = prefix, hidden, literal
    made.names = names or Names()
    return made


_LINE = regex(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


def lines_of(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int, int]]:
    """Return (start, end, start of the next) of every line of `[start, end)`."""
    stop = len(text) if end is None else end
    return [(m.start(), m.end(1), m.end()) for m in _LINE.finditer(text, start, stop) if m[0]]
