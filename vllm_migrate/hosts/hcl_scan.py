"""Positions in HCL (Terraform, Packer, Nomad): blocks, attributes, lists, objects, strings, here-documents.

It finds where things stand and trusts the tools that own the files with the rest: expressions it has no use for are one
opaque node. Format: the HCL native syntax specification.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from vllm_migrate.lazy import dataclass, regex

_SPACE = regex(r"(?:[ \t\r\n]|#[^\r\n]*|//[^\r\n]*|/\*.*?\*/)*", re.S)
_BLANK = regex(r"(?:[ \t]|/\*[^\r\n]*?\*/)*")
_NAME = regex(r"[A-Za-z_][\w-]*")
_HEREDOC = regex(r"<<(?P<dash>-?)(?P<mark>[A-Za-z_][\w-]*)[ \t]*(?:\r\n|\r|\n)")
_OPAQUE = regex(r"[^\s\"'\[\](){},<#/]+|[<'/]")
_ESCAPE = regex(r"\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\.|\$\$\{|%%\{")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_MAX_DEPTH = 100


class ScanError(ValueError):
    """The text is not what HCL allows at `offset`."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass
class Node:
    """An expression or a body.

    kind: "string", "heredoc", "list", "object", "body" (of a block), "call" or "other". start, end: quotes and
    brackets included. inner_start, inner_end: what stands inside them. name: of a call. labels: of a block. items:
    of a list, the arguments of a call, or the parts of an opaque expression.
    """

    kind: str
    start: int
    end: int
    inner_start: int = 0
    inner_end: int = 0
    name: str = ""
    labels: list[str] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    dash: bool = False

    def get(self, *names: str) -> Node | None:
        """Return the value of the first of the keys that is there."""
        return next((p.value for name in names for p in self.pairs if p.key == name), None)


@dataclass
class Pair:
    """An attribute, a member of an object, or a block. key_start, key_end: where its name stands, without quotes."""

    key: str
    start: int
    key_start: int
    key_end: int
    value: Node

    @property
    def end(self) -> int:
        return self.value.end


def scan(text: str) -> Node:
    """Return the body of a file. Raises ScanError."""
    scanner = _Scanner(text)
    node = Node("body", 0, len(text), 0, len(text))
    node.pairs = scanner.body("", 0)
    return node


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it."""
    yield node
    for child in node.items:
        yield from walk(child)
    for pair in node.pairs:
        yield from walk(pair.value)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def body(self, close: str, depth: int) -> list[Pair]:
        """Read attributes and blocks up to `close`."""
        if depth > _MAX_DEPTH:
            raise ScanError("nested too deeply", self.at)
        pairs: list[Pair] = []
        while True:
            self._skip(_SPACE)
            if self.at >= len(self.text):
                if close:
                    raise ScanError("a brace is not closed", self.at)
                return pairs
            if close and self.text.startswith(close, self.at):
                self.at += 1
                return pairs
            pairs.append(self._pair(depth))

    def _pair(self, depth: int) -> Pair:
        start = self.at
        match = _NAME.match(self.text, start)
        if match is None:
            raise ScanError("no name of an attribute or block", start)
        self.at = match.end()
        labels: list[str] = []
        while True:
            self._skip(_BLANK)
            char = self.text[self.at : self.at + 1]
            if char == "=" and not labels and not self.text.startswith("==", self.at):
                self.at += 1
                self._skip(_BLANK)
                return Pair(match[0], start, start, match.end(), self._expression("\r\n", depth))
            if char == "{":
                opened = self.at
                self.at += 1
                node = Node("body", opened, 0, self.at, labels=labels)
                node.pairs = self.body("}", depth + 1)
                node.end, node.inner_end = self.at, self.at - 1
                return Pair(match[0], start, start, match.end(), node)
            if char == '"':
                label = self._string()
                labels.append(self.text[label.inner_start : label.inner_end])
                continue
            name = _NAME.match(self.text, self.at)
            if name is None:
                raise ScanError("no `=` and no block", self.at)
            labels.append(name[0])
            self.at = name.end()

    def _expression(self, stops: str, depth: int) -> Node:
        """Read up to one of the letters `stops`, a comma or a closing bracket."""
        if depth > _MAX_DEPTH:
            raise ScanError("nested too deeply", self.at)
        start = self.at
        parts: list[Node] = []
        opaque = False
        end = start
        while self.at < len(self.text):
            self._skip(_BLANK)
            char = self.text[self.at : self.at + 1]
            if not char or char in stops or char in ",)]}":
                break
            if char in "\r\n" or char == "#" or self.text.startswith(("//", "/*"), self.at):
                if "\n" in stops and (char == "#" or self.text.startswith("//", self.at)):
                    break
                self._skip(_SPACE)
                continue
            node, plain = self._part(char, depth)
            if node is not None:
                parts.append(node)
            opaque = opaque or plain
            end = self.at
            if node is not None and node.kind == "heredoc":
                # Its last line ends the expression where a line end does.
                self._skip(_BLANK)
        if end == start:
            raise ScanError("no value", start)
        if len(parts) == 1 and not opaque:
            return parts[0]
        return Node("other", start, end, start, end, items=parts)

    def _part(self, char: str, depth: int) -> tuple[Node | None, bool]:
        """Read one part of an expression; tell whether it is opaque."""
        if char == '"':
            return self._string(), False
        heredoc = _HEREDOC.match(self.text, self.at)
        if heredoc is not None:
            return self._heredoc(heredoc), False
        if char in "[({":
            return self._bracket(char, depth), char == "("
        name = _NAME.match(self.text, self.at)
        if name is not None and self.text.startswith("(", name.end()):
            start = self.at
            self.at = name.end()
            node = self._bracket("(", depth)
            node.kind, node.name, node.start = "call", name[0], start
            return node, False
        match = _OPAQUE.match(self.text, self.at)
        self.at = match.end() if match is not None else self.at + 1
        return None, True

    def _bracket(self, char: str, depth: int) -> Node:
        start = self.at
        self.at += 1
        close = _CLOSERS[char]
        node = Node({"[": "list", "{": "object", "(": "other"}[char], start, start, start + 1)
        while True:
            self._skip(_SPACE)
            if self.at >= len(self.text):
                raise ScanError("a bracket is not closed", start)
            here = self.text[self.at]
            if here == close:
                self.at += 1
                break
            if here == ",":
                self.at += 1
                continue
            if here in ")]}":
                raise ScanError("a bracket is closed by another", self.at)
            if char == "{":
                self._member(node, depth)
            else:
                node.items.append(self._expression("", depth + 1))
        node.end, node.inner_end = self.at, self.at - 1
        return node

    def _member(self, node: Node, depth: int) -> None:
        start = self.at
        if self.text[start] == '"':
            key = self._string()
            name, span = self.text[key.inner_start : key.inner_end], (key.inner_start, key.inner_end)
        else:
            match = _NAME.match(self.text, start)
            if match is not None:
                self.at = match.end()
                name, span = match[0], match.span()
            else:
                name, span = "", (start, start)
        self._skip(_BLANK)
        if name and re.match(r"[=:](?!=)", self.text[self.at : self.at + 2]) is not None:
            self.at += 1
            self._skip(_BLANK)
            node.pairs.append(Pair(name, start, span[0], span[1], self._expression("\r\n", depth + 1)))
            return
        # `for` expressions and computed keys
        self.at = start
        node.items.append(self._opaque_member(depth))

    def _opaque_member(self, depth: int) -> Node:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in "}\r\n,":
            self._skip(_BLANK)
            if self.at < len(self.text) and self.text[self.at] not in "}\r\n,":
                if self.text[self.at] in ")]":
                    raise ScanError("a bracket is closed by another", self.at)
                self._part(self.text[self.at], depth + 1)
        if self.at == start:
            self.at += 1
        return Node("other", start, self.at, start, self.at)

    def _string(self) -> Node:
        start = self.at
        end = string_end(self.text, start + 1)
        self.at = end + 1
        return Node("string", start, end + 1, start + 1, end)

    def _heredoc(self, opened: re.Match[str]) -> Node:
        close = re.compile(rf"^[ \t]*{re.escape(opened['mark'])}[ \t]*$", re.M)
        at = opened.end()
        while True:
            end = self.text.find("\n", at)
            line = self.text[at:] if end < 0 else self.text[at:end]
            if close.fullmatch(line.rstrip("\r")):
                break
            if end < 0:
                raise ScanError("a here-document is not closed", opened.start())
            at = end + 1
        node = Node("heredoc", opened.start(), at + len(line.rstrip("\r")), opened.end(), at, dash=bool(opened["dash"]))
        self.at = node.end
        return node


def string_end(text: str, at: int) -> int:
    """Return where the quote stands that closes a string whose inside begins at `at`. Raises ScanError."""
    start = at
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 2
        elif text.startswith(("$${", "%%{"), at):
            at += 3
        elif text.startswith(("${", "%{"), at):
            at = template_end(text, at)
        elif char == '"':
            return at
        elif char in "\r\n":
            break
        else:
            at += 1
    raise ScanError("a string is not closed", start - 1)


def template_end(text: str, at: int) -> int:
    """Return where a `${…}` or `%{…}` that begins at `at` ends. Raises ScanError."""
    start, depth = at, 0
    at += 1
    while at < len(text):
        char = text[at]
        if char == '"':
            at = string_end(text, at + 1)
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    raise ScanError("a template is not closed", start)


@dataclass(frozen=True)
class Bit:
    """A part of a string or here-document: what it reads, where it stands, and how.

    kind: "text" (stands for itself), "escape" or "hole" (shown "").
    """

    shown: str
    start: int
    end: int
    kind: str


def bits(text: str, start: int, end: int, escapes: bool) -> Iterator[Bit]:
    """Yield the parts of a template. escapes: it is a quoted one, with backslashes.

    A `${` that is not closed goes on to the end.
    """
    here = at = start
    while at < end:
        escape = _ESCAPE.match(text, at, end) if text[at] in "\\$%" else None
        if escape is not None and (escapes or text[at] != "\\"):
            if at > here:
                yield Bit(text[here:at], here, at, "text")
            code = escape[0]
            shown = (
                code[1:]
                if code[0] != "\\"
                else chr(int(code[2:], 16))
                if len(code) > 2
                else _LETTERS.get(code[1], code)
            )
            here = escape.end()
            yield Bit(shown, at, here, "escape")
            at = here
        elif text.startswith(("${", "%{"), at):
            if at > here:
                yield Bit(text[here:at], here, at, "text")
            try:
                here = min(template_end(text, at), end)
            except ScanError:
                here = end
            yield Bit("", at, here, "hole")
            at = here
        else:
            at += 1
    if end > here:
        yield Bit(text[here:end], here, end, "text")


def written(text: str, escapes: bool) -> str:
    """Return how a template writes plain text."""
    out = text
    if escapes:
        out = (
            out.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
        )
    return out.replace("${", "$${").replace("%{", "%%{")
