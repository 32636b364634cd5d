"""Words of systemd command lines and assignments, with quotes, `%` specifiers and `$NAME`.

Format: systemd.service(5), "COMMAND LINES", and systemd.syntax(7), "QUOTING".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import fill, is_hole
from vllm_migrate.text import Piece, Region, Span

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_HOLE = regex(r"\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|%\([A-Za-z_]+\)s|%[A-Za-z]")
_EXPANSION = regex(r"\$(?:[A-Za-z_]\w*|\{[^}]{0,500}\})")
_PLAIN = regex(r"(?!#)[^\s\"'\\;]+")


@dataclass(frozen=True)
class UnitWord:
    """A word; quoted: one pair of quotes wraps the whole of it."""

    span: Span
    text: str
    holes: tuple[str, ...] = ()
    splits: bool = False
    quoted: bool = False


def split_unit_words(text: str, *, dollars: bool = True) -> list[UnitWord]:
    """Return the words of a value; `$$` and `%%` are read as the letter they stand for.

    dollars: `$NAME` is filled in, as it is in a command and not in an assignment.
    """
    words: list[UnitWord] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        start, quote = at, ""
        out: list[str] = []
        holes: list[str] = []
        while at < len(text) and (quote or text[at] not in " \t\r\n"):
            char = text[at]
            match = _HOLE.match(text, at) if dollars or char != "$" else None
            if char == "\\" and at + 1 < len(text) and quote != "'":
                out.append(_ESCAPES.get(text[at + 1], text[at + 1]))
                at += 2
            elif char in "\"'" and (quote == char or (not quote and (at == start or text[at - 1] == "="))):
                quote = "" if quote else char
                at += 1
            elif char in ("$%" if dollars else "%") and text.startswith(char * 2, at):
                out.append(char)
                at += 2
            elif match is not None:
                out.append(chr(0xE000 + len(holes)))
                holes.append(match[0])
                at = match.end()
            else:
                out.append(char)
                at += 1
        raw = text[start:at]
        splits = len(holes) == 1 and raw == holes[0] and re.fullmatch(r"\$[A-Za-z_]\w*", raw) is not None
        quoted = len(raw) >= 2 and raw[0] in "\"'" and raw[-1] == raw[0]
        words.append(UnitWord(Span(start, at), "".join(out), tuple(holes), splits, quoted))
    return words


def quote_word(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write a word of a command, in the quotes of the one it replaces or in the fewest it needs."""
    return _quoted(re.sub(r"[$%](?=\S)", lambda m: m[0] * 2, text), holes, old)


def quote_assignment(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write a word of an assignment, where `$` is a letter like others."""
    return _quoted(re.sub(r"%(?=\S)", "%%", text), holes, old)


def _quoted(doubled: str, holes: Sequence[str], old: str) -> str | None:
    if "\n" in doubled or "\r" in doubled:
        return None
    plain = "".join(c for c in doubled if not is_hole(c))
    style = old[0] if old[:1] in ('"', "'") and old[-1:] == old[0] and len(old) > 1 else ""
    if not style and (_PLAIN.fullmatch(plain) or (not plain and holes)):
        return fill(doubled, holes)
    if not style:
        style = "'" if '"' in plain and "'" not in plain else '"'
    if style == "'" and "'" in plain:
        style = '"'
    body = doubled.replace("\\", "\\\\")
    if style == '"':
        body = body.replace('"', '\\"')
    return style + fill(body, holes) + style


def script_region(region: Region, span: Span) -> Region:
    """Return what stands in the quotes of a word (its span with the quotes) as a guest script."""
    quote = region.text[span.start]
    pieces: list[Piece] = []
    out: list[str] = []
    at, start, end = 0, span.start + 1, span.end - 1

    def piece(shown: str, begin: int, stop: int, verbatim: bool) -> None:
        nonlocal at
        if shown:
            pieces.append(Piece(at, at + len(shown), begin, stop, verbatim))
            out.append(shown)
            at += len(shown)

    here = start
    for match in re.compile(r"\$\$|%%|\\[^\r\n]").finditer(region.text, start, end):
        piece(region.text[here : match.start()], here, match.start(), True)
        letter = match[0][1]
        piece(
            _ESCAPES.get(letter, letter) if match[0][0] == "\\" else letter, match.start(), match.end(), False
        )
        here = match.end()
    piece(region.text[here:end], here, end, True)

    raw = region.text[start:end]
    single = {m[0] for m in _EXPANSION.finditer(raw) if not raw[: m.start()].endswith("$")}

    def escape(new: str, where: int) -> str | None:
        kept = _EXPANSION.sub(lambda m: m[0] if m[0] in single else "$" + m[0], new)
        doubled = re.sub(r"%|(?<!\$)\$(?![\w{$])", lambda m: m[0] * 2, kept)
        slashed = re.sub(r"\\(?!\r?\n)", lambda _: "\\\\", doubled)
        return slashed.replace(quote, "\\" + quote)

    return region.child("".join(out), pieces, escape)
