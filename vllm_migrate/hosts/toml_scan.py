"""Positions in a TOML document: every value with its key path and span.

It trusts that the document is valid (a real parser has read it before) and only finds out where things
stand. Format: https://toml.io/en/v1.0.0.
"""

from __future__ import annotations

import re
from dataclasses import field

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.text import Piece, Region, Span

_BLANK = regex(r"[ \t]*")
_SPACE = regex(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_BARE = regex(r"[A-Za-z0-9_-]+")
_SCALAR = regex(r"[^\s,\]}#]+(?: (?=\d{2}:)[^\s,\]}#]+)?")
_ESCAPE = regex(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[ \t]*\r?\n\s*|.)", re.DOTALL)
_LETTERS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}


class ScanError(ValueError):
    """The text is not what TOML allows at `offset`."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"not TOML at offset {offset}")
        self.offset = offset


@dataclass
class Node:
    """A value. kind: "string", "array", "table" (inline) or "scalar". span: quotes and brackets included.

    quote: a string's delimiter. inside: the span within the delimiters.
    """

    kind: str
    span: Span
    inside: Span
    quote: str = ""
    items: list[Node] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    def raw(self, text: str) -> str:
        return text[self.span.start : self.span.end]

    def value(self, text: str) -> str:
        """Return a string's text; of other scalars, their spelling."""
        if self.kind != "string":
            return self.raw(text)
        return "".join(shown for shown, _, _, _ in string_parts(text, self))


@dataclass
class Entry:
    """A key with its value: full path from the root, array-of-tables positions as numbers."""

    path: tuple[str | int, ...]
    key: Span
    node: Node


def string_parts(text: str, node: Node) -> list[tuple[str, int, int, bool]]:
    """Return a string's parts: what it reads, start and end in the text, whether it stands for itself."""
    start, end = node.inside.start, node.inside.end
    if len(node.quote) == 3:
        if text.startswith("\r\n", start):
            start += 2
        elif text.startswith("\n", start):
            start += 1
    if node.quote[0] == "'":
        return [(text[start:end], start, end, True)]
    parts: list[tuple[str, int, int, bool]] = []
    at = start
    for match in _ESCAPE.finditer(text, start, end):
        if match.start() > at:
            parts.append((text[at : match.start()], at, match.start(), True))
        at = match.end()
        code = match[0][1:]
        if code[0] in "uUx" and len(code) > 1:
            shown = chr(int(code[1:], 16))
        elif code.strip() == "":
            shown = ""
        else:
            shown = _LETTERS.get(code, code)
        parts.append((shown, match.start(), at, False))
    if at < end or not parts:
        parts.append((text[at:end], at, end, True))
    return parts


def string_region(region: Region, node: Node) -> Region:
    """Return a string's text as a guest of the document."""
    pieces: list[Piece] = []
    out: list[str] = []
    at = 0
    for shown, start, end, verbatim in string_parts(region.text, node):
        if shown or verbatim:
            pieces.append(Piece(at, at + len(shown), start, end, verbatim))
            out.append(shown)
            at += len(shown)
    quote = node.quote
    return region.child("".join(out), pieces, lambda new, _: inner(new, quote))


def inner(text: str, quote: str) -> str | None:
    """Write text between the delimiters of a string, or None where it cannot be written."""
    if quote[0] == "'":
        bad = "'''" if len(quote) == 3 else "'"
        if bad in text or (len(quote) == 1 and "\n" in text):
            return None
        return text
    escaped = text.replace("\\", "\\\\")
    if len(quote) == 3:
        return escaped.replace('"""', '""\\"')
    for letter, char in _LETTERS.items():
        if letter not in ("\\", "e"):
            escaped = escaped.replace(char, "\\" + letter)
    return escaped


_QUOTED = r'"(?:[^"\\]|\\.)*"'
_INLINE = rf"(?:{_QUOTED}|[^\x22'#\\])+"
_LOCK_LINE = regex(
    rf'(?:#.*)?|\[\[?(?:{_QUOTED}|[\w.-])+\]\]?|(?:[\w.-]+|{_QUOTED}) = {_INLINE}|[ \t]{_INLINE}|\]', re.ASCII
)
_LOCK_KEY = regex(r'(name|version) = "([^"\\]*)"')


def lock_packages(text: str) -> list[Entry] | None:
    """Return name and version of each `[[package]]` of a lock file, as `scan` finds them.

    Lock files are long and written by tools, one key a line. None where a line is of another kind: then
    the text needs the whole parser.
    """
    out: list[Entry] = []
    counts: dict[str, int] = {}
    table: tuple[str | int, ...] = ()
    at = 0
    for line in text.split("\n"):
        shown = line.removesuffix("\r")
        if _LOCK_LINE.fullmatch(shown) is None:
            return None
        if shown.startswith("["):
            table = ()
            if shown in ("[[package]]", "[[packages]]"):
                name = shown.strip("[]")
                counts[name] = counts.get(name, -1) + 1
                table = (name, counts[name])
        elif table and (key := _LOCK_KEY.fullmatch(shown)) is not None:
            start, end = at + key.start(2), at + key.end(2)
            node = Node("string", Span(start - 1, end + 1), Span(start, end), '"')
            out.append(Entry((*table, key[1]), Span(at, at + key.end(1) + 1), node))
        at += len(line) + 1
    return out


def scan(text: str) -> list[Entry]:
    """Return every key of the document with its value, tables flattened. Raises ScanError."""
    return _Scanner(text).document()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[Entry] = []
        self.counts: dict[tuple[str | int, ...], int] = {}

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def _take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise ScanError(self.at)

    def document(self) -> list[Entry]:
        table: tuple[str | int, ...] = ()
        self._skip(_SPACE)
        while self.at < len(self.text):
            if self._take("[["):
                path = self._resolve(self._key())
                self._expect("]]")
                index = self.counts.get(path, -1) + 1
                self.counts[path] = index
                table = (*path, index)
            elif self._take("["):
                table = self._resolve(self._key())
                self._expect("]")
            else:
                self.out.append(self._pair(table))
            self._skip(_SPACE)
        return self.out

    def _resolve(self, key: tuple[str, ...]) -> tuple[str | int, ...]:
        """Return a header's path with the position of each array of tables it goes through."""
        path: tuple[str | int, ...] = ()
        for i, part in enumerate(key):
            path = (*path, part)
            if path in self.counts and i < len(key) - 1:
                path = (*path, self.counts[path])
        return path

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip(_BLANK)
            if self.text.startswith(('"', "'"), self.at):
                node = self._string()
                parts.append(node.value(self.text))
            else:
                match = _BARE.match(self.text, self.at)
                if match is None:
                    raise ScanError(self.at)
                parts.append(match[0])
                self.at = match.end()
            self._skip(_BLANK)
            if not self._take("."):
                return tuple(parts)

    def _pair(self, table: tuple[str | int, ...]) -> Entry:
        start = self.at
        key = self._key()
        end = self.at
        self._expect("=")
        self._skip(_BLANK)
        return Entry((*table, *key), Span(start, end), self._value((*table, *key)))

    def _value(self, path: tuple[str | int, ...]) -> Node:
        start = self.at
        if self.text.startswith(('"', "'"), start):
            return self._string()
        if self._take("["):
            items: list[Node] = []
            while True:
                self._skip(_SPACE)
                if self._take("]"):
                    break
                items.append(self._value((*path, len(items))))
                self._skip(_SPACE)
                if not self._take(","):
                    self._skip(_SPACE)
                    self._expect("]")
                    break
            return Node("array", Span(start, self.at), Span(start + 1, self.at - 1), items=items)
        if self._take("{"):
            entries: list[Entry] = []
            while True:
                self._skip(_SPACE)
                if self._take("}"):
                    break
                entries.append(self._pair(path))
                self._skip(_SPACE)
                if not self._take(","):
                    self._skip(_SPACE)
                    self._expect("}")
                    break
            return Node("table", Span(start, self.at), Span(start + 1, self.at - 1), entries=entries)
        match = _SCALAR.match(self.text, start)
        if match is None:
            raise ScanError(start)
        self.at = match.end()
        return Node("scalar", Span(start, self.at), Span(start, self.at))

    def _string(self) -> Node:
        start, text = self.at, self.text
        char = text[start]
        quote = char * 3 if text.startswith(char * 3, start) else char
        at = start + len(quote)
        while at < len(text):
            if char == '"' and text[at] == "\\":
                at += 2
            elif text.startswith(quote, at):
                # up to two quotes may stand right before the closing delimiter
                while len(quote) == 3 and text.startswith(char, at + 3):
                    at += 1
                self.at = at + len(quote)
                return Node("string", Span(start, self.at), Span(start + len(quote), at), quote)
            elif len(quote) == 1 and text[at] in "\r\n":
                break
            else:
                at += 1
        raise ScanError(start)


def flat(entries: list[Entry]) -> list[Entry]:
    """Return the entries with those of inline tables and of tables in arrays behind them."""
    out: list[Entry] = []

    def visit(path: tuple[str | int, ...], node: Node) -> None:
        for entry in node.entries:
            out.append(entry)
            visit(entry.path, entry.node)
        for i, item in enumerate(node.items):
            visit((*path, i), item)

    for entry in entries:
        out.append(entry)
        visit(entry.path, entry.node)
    return out
