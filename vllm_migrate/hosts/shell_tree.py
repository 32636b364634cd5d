"""The parts of a parsed shell script, and which of them may run before which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from vllm_migrate.hosts.shell_lex import Lexeme
from vllm_migrate.lazy import dataclass
from vllm_migrate.text import Span

DECLARERS = frozenset(("export", "declare", "typeset", "local", "readonly"))
_BRANCHES = frozenset(("then", "else", "item", "body", "subshell", "substitution"))
_SHUT = frozenset(("subshell", "substitution"))


@dataclass
class Heredoc:
    """A here-document: its body without the closing line. quoted: nothing in it is expanded."""

    word: Lexeme
    tabs: bool
    body: Span = field(default_factory=lambda: Span(0, 0))
    end: int = 0

    @property
    def quoted(self) -> bool:
        return self.word.quoted


@dataclass
class Redirect:
    op: str
    start: int
    end: int
    target: Lexeme | None = None
    heredoc: Heredoc | None = None


@dataclass(eq=False)
class Assignment:
    """`NAME=value`, `NAME+=value` or `NAME=(…)`. lexeme: the whole word, for one that is no array."""

    name: str
    appends: bool
    start: int
    end: int
    lexeme: Lexeme | None = None
    elements: list[Lexeme] | None = None
    open: int = 0
    close: int = 0
    subscript: bool = False


@dataclass(eq=False)
class Node:
    """A part of a script.

    kind: "block" (statements; `role` says of what: root, then, else, cond, body, item, group, subshell,
    substitution), "statement" (an and-or list; `connectors`), "pipeline", "command", "if", "loop", "case",
    "group", "function", "test". tail: end with the terminator (`;`, `&`) of a statement.
    """

    kind: str
    start: int
    end: int = 0
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    role: str = ""
    connectors: list[str] = field(default_factory=list)
    tail: int = 0
    background: bool = False
    words: list[Lexeme] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    name: str = ""
    keyword: int = 0

    @property
    def redirects_out(self) -> bool:
        """Output goes to a file that is not the null device."""
        for redirect in self.redirects:
            target = redirect.target.text if redirect.target is not None else ""
            if ">" in redirect.op and target != "/dev/null" and not target.isdigit():
                return True
        return False

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()

    def ancestors(self) -> Iterator[Node]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def reaches(source: Node, use: Node) -> bool:
    """Tell whether what a command sets may hold at another."""
    above = set(map(id, use.ancestors()))
    function = next((a for a in source.ancestors() if a.kind == "function"), None)
    using = next((a for a in use.ancestors() if a.kind == "function"), None)
    if function is using and source.start >= use.start:
        return False
    if function is None and using is None and source.start >= use.start:
        return False
    last: Node = source
    for node in source.ancestors():
        if id(node) in above:
            if node.kind in ("if", "case") and last.role not in ("cond", ""):
                child = next((c for c in node.children if id(c) in above), None)
                if child is not None and child is not last and child.role != "cond":
                    return False
            return True
        if node.role in _SHUT:
            return False
        if node.kind == "pipeline":
            return False
        last = node
    return True


def dominates(source: Node, use: Node) -> bool:
    """Tell whether a command has certainly run when another does."""
    above = set(map(id, use.ancestors()))
    last: Node = source
    for node in source.ancestors():
        if id(node) in above:
            return True
        if node.kind == "function" or node.role in _BRANCHES:
            return False
        if node.kind == "statement" and node.children[0] is not last:
            return False
        last = node
    return True
