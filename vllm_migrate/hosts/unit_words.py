"""Words of systemd command lines and assignments, with quotes, `%` specifiers and `$NAME`; and of supervisor's.

Format: systemd.service(5), "COMMAND LINES", and systemd.syntax(7), "QUOTING": both kinds of quotes may open inside
a word, and both know the same escapes. supervisor splits a command as a POSIX shell does and fills in `%(NAME)s`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import fill, is_hole
from vllm_migrate.text import Piece, Region, Span

_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_ESCAPE = regex(
    r"\\(?:[abfnrtvs\"'\\]|x(?!00)[0-9a-fA-F]{2}|(?!000)[0-3][0-7]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})"
)
_HOLE = regex(r"\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|%\([A-Za-z_]+\)s|%[A-Za-z]")
_SUPERVISED_HOLE = regex(r"\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|%\([A-Za-z_]\w*\)[sd]")
_EXPANSION = regex(r"\$(?:[A-Za-z_]\w*|\{[^}]{0,500}\})")
_DOUBLED = regex(r"\$\$|%%|" + _ESCAPE.pattern)
_SUPERVISED = {'"': regex(r"%%|\\[\"\\]"), "'": regex(r"%%")}
_PLAIN = regex(r"(?!#)[^\s\"'\\;]+")


@dataclass(frozen=True)
class UnitWord:
    """A word; quoted: one pair of quotes wraps the whole of it."""

    span: Span
    text: str
    holes: tuple[str, ...] = ()
    splits: bool = False
    quoted: bool = False


def _unescaped(escape: str) -> str:
    letter = escape[1]
    if letter in "xuU":
        return chr(int(escape[2:], 16))
    return chr(int(escape[1:], 8)) if letter.isdigit() else _LETTERS.get(letter, letter)


def split_unit_words(text: str, *, dollars: bool = True, supervised: bool = False) -> list[UnitWord]:
    """Return the words of a value; `$$` and `%%` are read as the letter they stand for.

    dollars: `$NAME` is filled in, as it is in a command and not in an assignment. supervised: the value is a
    supervisor program's command, where `$` is a letter like others; what looks like a variable counts as unknown.
    """
    words: list[UnitWord] = []
    doubled = "$%" if dollars and not supervised else "%"
    holed = _SUPERVISED_HOLE if supervised else _HOLE
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        start, quote, opened = at, "", 0
        out: list[str] = []
        holes: list[str] = []
        while at < len(text) and (quote or text[at] not in " \t\r\n"):
            char = text[at]
            escape = _escape(text, at, quote, supervised) if char == "\\" else ""
            match = holed.match(text, at) if dollars or char != "$" else None
            if escape:
                out.append(escape[1:] if supervised else _unescaped(escape))
                at += len(escape)
            elif char in ('"', "'") and quote in ("", char):
                quote, opened = ("", opened) if quote else (char, opened + 1)
                at += 1
            elif char in doubled and text.startswith(char * 2, at):
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
        splits = out == [chr(0xE000)] and not supervised and re.fullmatch(r"\$\w+", holes[0]) is not None
        quoted = opened == 1 and len(raw) > 1 and raw[0] in ('"', "'") and raw[-1] == raw[0]
        words.append(UnitWord(Span(start, at), "".join(out), tuple(holes), splits, quoted))
    return words


def _escape(text: str, at: int, quote: str, supervised: bool) -> str:
    """Return the escape a backslash begins, or "" where it is a letter."""
    if supervised:
        following = text[at + 1 : at + 2]
        return "" if quote == "'" or (quote and following not in ("\\", quote)) or not following else "\\" + following
    found = _ESCAPE.match(text, at)
    return found[0] if found is not None else ""


def quote_word(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write a word of a command, in the quotes of the one it replaces or in the fewest it needs."""
    return _quoted(re.sub(r"[$%](?=\S)", lambda m: m[0] * 2, text), holes, old)


def quote_assignment(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write a word of an assignment, where `$` is a letter like others."""
    return _quoted(re.sub(r"%(?=\S)", "%%", text), holes, old)


def quote_supervised(text: str, holes: Sequence[str], old: str) -> str | None:
    """Write a word of a supervisor program's command."""
    return _quoted(text.replace("%", "%%"), holes, old, literal="'")


def _quoted(doubled: str, holes: Sequence[str], old: str, literal: str = "") -> str | None:
    """literal: the quotes in which a backslash is a letter like others."""
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
    body = doubled if style == literal else doubled.replace("\\", "\\\\")
    if style == '"':
        body = body.replace('"', '\\"')
    return style + fill(body, holes) + style


def script_region(region: Region, span: Span, *, supervised: bool = False) -> Region:
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
    pattern = _SUPERVISED[quote] if supervised else _DOUBLED
    for match in pattern.finditer(region.text, start, end):
        piece(region.text[here : match.start()], here, match.start(), True)
        shown = match[0][1] if supervised or match[0][0] != "\\" else _unescaped(match[0])
        piece(shown, match.start(), match.end(), False)
        here = match.end()
    piece(region.text[here:end], here, end, True)

    raw = region.text[start:end]
    single = {m[0] for m in _EXPANSION.finditer(raw) if not raw[: m.start()].endswith("$")}

    def escape(new: str, where: int) -> str | None:
        if supervised:
            doubled = re.sub(r"%(?!\([A-Za-z_]\w*\)[sd])", "%%", new)
            if quote == "'":
                return None if quote in new else doubled
        else:
            kept = _EXPANSION.sub(lambda m: m[0] if m[0] in single else "$" + m[0], new)
            doubled = re.sub(r"%|(?<!\$)\$(?![\w{$])", lambda m: m[0] * 2, kept)
        slashed = re.sub(r"\\(?!\r?\n)", lambda _: "\\\\", doubled)
        return slashed.replace(quote, "\\" + quote)

    return region.child("".join(out), pieces, escape)
