"""String literals of Python: what they say, letter by letter, and how to write a new one."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import field

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import CannotRender, is_hole
from vllm_migrate.text import Piece

_OPEN = regex(r"([rRbBuUfFtT]{0,2})('''|\"\"\"|'|\")")
_SIMPLE = {
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_CODED = regex(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]+)\})")
_SPECIAL = regex(r"[\\{}]")
_PLAIN = regex(r"\\")


@dataclass(frozen=True)
class Literal:
    """One quoted string of an expression. start, end: with prefix and quotes; inner_*: without."""

    prefix: str
    quote: str
    start: int
    end: int
    inner_start: int
    inner_end: int

    @property
    def raw(self) -> bool:
        return "r" in self.prefix.lower()

    @property
    def formatted(self) -> bool:
        return "f" in self.prefix.lower()

    @property
    def style(self) -> tuple[bool, bool, str]:
        return self.raw, self.formatted, self.quote


@dataclass
class Said:
    """What literals say: text with holes, the holes as written, and where each run of text lies."""

    text: str = ""
    holes: list[str] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)

    def add(self, value: str, start: int, end: int, verbatim: bool = True) -> None:
        at = len(self.text)
        last = self.pieces[-1] if self.pieces else None
        if verbatim and last is not None and last.verbatim and last.parent_end == start and value:
            self.pieces[-1] = Piece(last.start, at + len(value), last.parent_start, end)
        elif value:
            self.pieces.append(Piece(at, at + len(value), start, end, verbatim))
        self.text += value

    def hole(self, spelled: str, start: int, end: int) -> None:
        self.add(chr(0xE000 + len(self.holes)), start, end, False)
        self.holes.append(spelled)


def literals(text: str, start: int, end: int) -> list[Literal]:
    """Return the literals of a string expression (implicit concatenation gives several)."""
    out: list[Literal] = []
    at = start
    while at < end:
        match = _OPEN.match(text, at)
        if match is None:
            if text[at] == "#":
                found = re.compile(r"[\r\n]|\Z").search(text, at)
                at = found.start() if found else end
            else:
                at += 1
            continue
        prefix, quote = match[1], match[2]
        inner_end = _closing(text, match.end(), quote, "f" in prefix.lower())
        out.append(Literal(prefix, quote, at, inner_end + len(quote), match.end(), inner_end))
        at = inner_end + len(quote)
    return out


def _closing(text: str, at: int, quote: str, formatted: bool) -> int:
    while at < len(text):
        if text.startswith(quote, at):
            return at
        if text[at] == "\\":
            # It escapes no brace: what follows is a replacement field, or a doubled brace.
            at += 1 if formatted and text.startswith(("{", "}"), at + 1) else 2
        elif formatted and text.startswith("{{", at):
            at += 2
        elif formatted and text[at] == "{":
            at = _brace(text, at)
        else:
            at += 1
    return len(text)


def _brace(text: str, at: int) -> int:
    """Return the offset after the `}` that closes the replacement field at `at`."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
            if depth == 0:
                return at + 1
        elif char in "'\"":
            match = _OPEN.match(text, at)
            assert match is not None
            at = _closing(text, match.end(), match[2], False) + len(match[2])
            continue
        at += 1
    return at


def say(text: str, literal: Literal, said: Said) -> None:
    """Add what one literal says to `said`."""
    pattern = _SPECIAL if literal.formatted else _PLAIN
    at, end = literal.inner_start, literal.inner_end
    while at < end:
        match = pattern.search(text, at, end)
        stop = match.start() if match else end
        if stop > at:
            said.add(text[at:stop], at, stop)
        if match is None:
            return
        at = stop
        char = text[at]
        if char == "\\" and literal.raw:
            said.add("\\", at, at + 1)
            at += 1
        elif char == "\\":
            at = _escape(text, at, said, literal.formatted)
        elif text.startswith(char * 2, at):
            said.add(char, at, at + 2, False)
            at += 2
        elif char == "{":
            after = min(_brace(text, at), end)
            said.hole(text[at:after], at, after)
            at = after
        else:
            said.add(char, at, at + 1)
            at += 1


def _escape(text: str, at: int, said: Said, formatted: bool) -> int:
    follow = text[at + 1 : at + 2]
    if follow in "\r\n":
        return at + (3 if text.startswith("\r\n", at + 1) else 2)
    if follow in _SIMPLE:
        said.add(_SIMPLE[follow], at, at + 2, False)
        return at + 2
    match = _CODED.match(text, at)
    if match is None:
        length = 1 if formatted and follow in ("{", "}") else 2
        said.add(text[at : at + length], at, at + length)
        return at + length
    if match[1]:
        value = chr(int(match[1], 8))
    elif match[5]:
        try:
            value = unicodedata.lookup(match[5])
        except KeyError:
            value = "\ufffd"
    else:
        value = chr(int(match[2] or match[3] or match[4], 16))
    said.add(value, at, match.end(), False)
    return match.end()


def write_inside(new: str, literal: Literal, holes: Sequence[str]) -> str | None:
    """Write text with holes as it must stand inside a literal's quotes; None where it cannot."""
    out: list[str] = []
    for char in new:
        if is_hole(char):
            spelled = holes[ord(char) - 0xE000] if ord(char) - 0xE000 < len(holes) else None
            if spelled is None or not literal.formatted:
                return None
            field_text = spelled if spelled.startswith("{") else "{" + spelled + "}"
            if literal.quote[0] in field_text or "\\" in field_text:
                return None
            out.append(field_text)
        elif literal.formatted and char in "{}":
            out.append(char * 2)
        elif literal.raw:
            if char == literal.quote[0] or (char in "\r\n" and len(literal.quote) == 1):
                return None
            out.append(char)
        elif char == "\\":
            out.append("\\\\")
        elif char == literal.quote[0]:
            out.append("\\" + char)
        elif char in "\r\n\t" and len(literal.quote) == 1:
            out.append({"\r": "\\r", "\n": "\\n", "\t": "\\t"}[char])
        else:
            out.append(char)
    text = "".join(out)
    return None if literal.raw and text.endswith("\\") else text


def spelled_string(text: str, holes: Sequence[str], quote: str) -> str:
    """Write text as `write_string` does. Raises CannotRender where it cannot be written."""
    written = write_string(text, holes, quote)
    if written is None:
        raise CannotRender("the text cannot be written as a Python string")
    return written


def write_string(text: str, holes: Sequence[str] = (), quote: str = '"') -> str | None:
    """Write text with holes as a Python expression, with the given quotes where they fit.

    A text that is one hole and nothing else becomes the bare expression, unless the hole is a replacement
    field (`{x:>4}`). Returns None where no f-string can hold the expressions.
    """
    used = [holes[ord(c) - 0xE000] for c in text if is_hole(c) and ord(c) - 0xE000 < len(holes)]
    if len(text) == 1 and used and not used[0].startswith("{"):
        return used[0]
    other = "'" if quote == '"' else '"'
    choices = [quote, other]
    if used:
        choices = [q for q in choices if not any(q in h or "\\" in h or "\n" in h for h in used)]
        if not choices:
            return None
    plain = "".join(c for c in text if not is_hole(c))
    chosen = choices[0]
    if chosen in plain and len(choices) > 1 and choices[1] not in plain:
        chosen = choices[1]
    prefix = "f" if used else ""
    inner = write_inside(text, Literal(prefix, chosen, 0, 0, 0, 0), holes)
    if inner is None:
        return None
    written = prefix + chosen + "".join(c if c.isprintable() else repr(c)[1:-1] for c in inner) + chosen
    try:
        ast.parse(written, mode="eval")
    except SyntaxError:
        return None
    return written


def quote_of(raw: str) -> str:
    """Return the quote letter of a written string, or ""."""
    match = _OPEN.match(raw)
    return match[2][0] if match else ""
