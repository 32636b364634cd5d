"""Reads the instructions of a Dockerfile with exact positions.

Continuations, comment and blank lines inside them, the `escape` directive and here-documents follow
BuildKit's reader: https://docs.docker.com/reference/dockerfile/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from itertools import pairwise

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.text import Edit, Piece, Region, Span

_DIRECTIVE = regex(r"[ \t]*#[ \t]*([A-Za-z][A-Za-z0-9]*)[ \t]*=(.+)$")
_HEREDOC = regex(r"(?:(?<=\s)|^)\d*<<(-?)([\"']?)([^\s<\"']+)\2(?=\s|$)")
_QUOTED = regex(r"\\.|(?<!<)(?<!<-)(?:\"(?:\\.|[^\"\\])*\"|'[^']*')", re.DOTALL)
_FIRST = regex(r"[ \t]*(\S+)[ \t]*")
_WITH_HEREDOC = ("RUN", "COPY", "ADD")


@dataclass(frozen=True)
class Heredoc:
    """A here-document: its body's span, and where its closing line ends."""

    name: str
    body: Span
    close: int
    expand: bool
    strip_tabs: bool


@dataclass
class Instruction:
    """One instruction. Offsets are of the text it was read from.

    start: the keyword. args: where its arguments begin (== line_end when there are none). line_end: end of
    the last line of the command itself. end: the same with here-documents. next: start of the next line.
    joined: spans that make the arguments with continuations and comments left out.
    shell: the same with the continuations left in, as a shell would read them.
    """

    keyword: str
    start: int
    args: int
    line_end: int
    end: int
    next: int
    escape: str
    joined: list[Span] = field(default_factory=list)
    shell: list[Span] = field(default_factory=list)
    heredocs: list[Heredoc] = field(default_factory=list)
    onbuild: bool = False
    shared: object = None
    """What a host has read from the instruction and wants to read only once."""

    def logical(self, region: Region) -> Region:
        """Return the arguments as one line of text."""
        return _join(region, self.joined)

    def script(self, region: Region) -> Region:
        """Return the arguments as shell text, here-documents included."""
        spans = list(self.shell)
        if self.heredocs:
            spans.append(Span(self.line_end, self.end))
        if self.escape == "\\":
            return _join(region, spans)
        pieces: list[Piece] = []
        out: list[str] = []
        at = 0
        for span in spans:
            part = region.text[span.start : span.end]
            swap = part.rstrip("\r\n") == self.escape
            shown = part.replace(self.escape, "\\") if swap else part
            pieces.append(Piece(at, at + len(part), span.start, span.end, not swap))
            out.append(shown)
            at += len(part)

        def escape(new: str, at: int) -> str | None:
            return re.sub(r"\\(?=\r?\n)", lambda _: self.escape, new)

        return region.child("".join(out), pieces, escape)


class Joined(Region):
    """Lines of an instruction without the comment lines between them, which outlast what is taken away."""

    def to_parent(self, start: int, end: int) -> Span | None:
        if start and start < end and self.text[start - 1] == "\n":
            # Whole lines begin behind the comment above them.
            up_start, up_end = self._up(start, at_end=False), self._up(end, at_end=True)
            return Span(up_start, up_end) if up_start is not None and up_end is not None else None
        return super().to_parent(start, end)

    def edit(self, start: int, end: int, new: str) -> Edit | None:
        kept = "" if new or self.text[end : end + 1] not in ("", "\r", "\n") else self._between(start, end)
        if not kept or self.parent is None:
            return super().edit(start, end, new)
        up = self.to_parent(start, end)
        return self.parent.edit(up.start, up.end, self.source.newline + kept) if up is not None else None

    def _between(self, start: int, end: int) -> str:
        """Return the comment lines inside a span of the guest, without the last line end."""
        assert self.parent is not None
        text = self.parent.text
        gaps = [text[a.parent_end : b.parent_start] for a, b in pairwise(self.pieces) if start < a.end < end]
        return "".join(gaps).rstrip("\r\n")


def _join(region: Region, spans: list[Span]) -> Region:
    pieces: list[Piece] = []
    at = 0
    for span in spans:
        if len(span):
            pieces.append(Piece(at, at + len(span), span.start, span.end))
            at += len(span)
    if not pieces:
        start = spans[0].start if spans else 0
        pieces.append(Piece(0, 0, start, start))
    return Joined(region.source, "".join(region.text[s.start : s.end] for s in spans), region, pieces)


def _lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, end without line end, and start of the next line."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        after = end + 1 if end >= 0 else len(text)
        end = end if end >= 0 else len(text)
        if end > at and text[end - 1] == "\r":
            end -= 1
        yield at, end, after
        at = after


def read_instructions(text: str) -> list[Instruction]:
    """Return the instructions of a Dockerfile's text, in order; unknown keywords included."""
    lines = list(_lines(text))
    escape, i = _directives(text, lines)
    found: list[Instruction] = []
    while i < len(lines):
        start, end, _ = lines[i]
        stripped = text[start:end].strip()
        if not stripped or stripped.startswith("#"):
            i += 1
            continue
        instruction = _of_one_line(text, lines[i], escape)
        if instruction is not None:
            i += 1
        else:
            i, instruction = _instruction(text, lines, i, escape)
        found.append(instruction)
    return found


def _of_one_line(text: str, line: tuple[int, int, int], escape: str) -> Instruction | None:
    """Return the instruction of a line as most are: nothing goes on behind it. None for any other."""
    start, end, after = line
    head = _FIRST.match(text, start, end)
    if head is None or text.find(escape, start, end) >= 0 or text.find("<<", start, end) >= 0:
        return None
    keyword = head[1].upper()
    if keyword == "ONBUILD":
        return None
    args = Span(head.end(), end)
    return Instruction(keyword, head.start(1), args.start, end, end, after, escape, [args], [args])


def _directives(text: str, lines: list[tuple[int, int, int]]) -> tuple[str, int]:
    escape = "\\"
    for i, (start, end, _) in enumerate(lines):
        match = _DIRECTIVE.match(text[start:end])
        if match is None:
            return escape, i
        if match[1].lower() == "escape" and match[2].strip(" \t") in ("\\", "`"):
            escape = match[2].strip(" \t")
    return escape, len(lines)


@lru_cache(maxsize=4)
def _continued(escape: str) -> re.Pattern[str]:
    mark = re.escape(escape)
    return re.compile(rf"(?:(?<!{mark})|^){mark}[ \t]*$")


def _instruction(
    text: str, lines: list[tuple[int, int, int]], i: int, escape: str
) -> tuple[int, Instruction]:
    continued = _continued(escape)
    start = lines[i][0]
    while text[start] in " \t":
        start += 1
    joined: list[Span] = []
    shell: list[Span] = []
    line_end, after = lines[i][1], lines[i][2]
    first = True
    while i < len(lines):
        begin, end, following = lines[i]
        line = text[begin:end]
        if not first and (not line.strip() or line.lstrip().startswith("#")):
            i += 1
            continue
        if first:
            begin, line = start, text[start:end]
            first = False
        i += 1
        line_end, after = end, following
        match = continued.search(line)
        if match is None:
            joined.append(Span(begin, end))
            shell.append(Span(begin, end))
            break
        cut = begin + match.start()
        joined.append(Span(begin, cut))
        shell += [Span(begin, cut), Span(cut, cut + 1), Span(end, following)]
        if escape == "\\" and cut + 1 == end:
            shell[-3:] = [Span(begin, following)]
        elif cut + 1 == end:
            shell[-2:] = [Span(cut, following)]
    instruction = Instruction("", start, start, line_end, line_end, after, escape, joined, shell)
    _split_keyword(text, instruction)
    if instruction.keyword == "ONBUILD" and instruction.joined:
        instruction.onbuild = True
        _split_keyword(text, instruction)
    if instruction.keyword in _WITH_HEREDOC:
        i = _heredocs(text, lines, i, instruction)
    return i, instruction


def _split_keyword(text: str, instruction: Instruction) -> None:
    """Take the first word of the arguments off as the keyword."""
    head = instruction.joined[0]
    match = _FIRST.match(text, head.start, head.end)
    word = match[1] if match else ""
    instruction.keyword = word.upper()
    cut = match.end() if match else head.start
    for spans in (instruction.joined, instruction.shell):
        if spans[0].start < cut:
            spans[0] = Span(cut, max(cut, spans[0].end))
    empty = 0
    while empty < len(instruction.joined) - 1 and not text[slice_of(instruction.joined[empty])].strip():
        empty += 1
    if empty:
        first = instruction.joined[empty]
        lead = len(text[slice_of(first)]) - len(text[slice_of(first)].lstrip(" \t"))
        start = first.start + lead
        instruction.joined[: empty + 1] = [Span(start, first.end)]
        instruction.shell = [Span(max(s.start, start), s.end) for s in instruction.shell if s.end > start]
    instruction.args = instruction.joined[0].start


def slice_of(span: Span) -> slice:
    return slice(span.start, span.end)


def _heredocs(text: str, lines: list[tuple[int, int, int]], i: int, instruction: Instruction) -> int:
    command = "".join(text[slice_of(s)] for s in instruction.joined)
    if "<<" not in command:
        return i
    masked = _QUOTED.sub(lambda m: "x" * len(m[0]), command)
    for match in _HEREDOC.finditer(masked):
        if i >= len(lines):
            break
        begin = lines[i][0]
        strip_tabs = match[1] == "-"
        while i < len(lines):
            start, end, following = lines[i]
            line = text[start:end]
            i += 1
            if (line.lstrip("\t") if strip_tabs else line) == match[3]:
                body = Span(begin, start)
                instruction.heredocs.append(Heredoc(match[3], body, end, not match[2], strip_tabs))
                instruction.end, instruction.next = end, following
                break
        else:
            body = Span(begin, lines[-1][2])
            instruction.heredocs.append(Heredoc(match[3], body, body.end, not match[2], strip_tabs))
            instruction.end = instruction.next = body.end
    return i
