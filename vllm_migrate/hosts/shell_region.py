"""Texts inside the words of a script: quoted scripts, assigned strings, here-documents."""

from __future__ import annotations

from collections.abc import Iterator

from vllm_migrate.hosts import shell_quote
from vllm_migrate.hosts.shell_lex import Hole, Lexeme, Scanner
from vllm_migrate.hosts.shell_tree import Heredoc, Node
from vllm_migrate.lazy import dataclass
from vllm_migrate.text import Piece, Region, Span


@dataclass
class QuotedRegion(Region):
    """A guest inside one word: spans that run through different quotes have no exact place."""

    lexeme: Lexeme | None = None
    shift: int = 0

    def to_parent(self, start: int, end: int) -> Span | None:
        assert self.lexeme is not None
        if end > start:
            low, high = start + self.shift, end + self.shift
            inside = [run for run in self.lexeme.runs if run.start < high and run.end > low]
            if len({(run.quote, run.string) for run in inside}) > 1:
                return None
        return super().to_parent(start, end)


def guest_region(region: Region, lexeme: Lexeme, low: int = 0, high: int | None = None) -> Region:
    """Return decoded letters `[low, high)` of a word as a guest text."""
    stop = len(lexeme.text) if high is None else high
    pieces: list[Piece] = []
    for run in lexeme.runs:
        start, end = max(run.start, low), min(run.end, stop)
        if start >= end:
            continue
        if run.verbatim:
            at, till = run.at + start - run.start, run.at + end - run.start
        else:
            at, till = run.at, run.till
        pieces.append(Piece(start - low, end - low, at, till, run.verbatim))
    if not pieces:
        at = lexeme.finish(low)
        pieces.append(Piece(0, 0, at, at))
    spelled = [hole.spelled for hole in lexeme.holes]

    def escape(new: str, at: int) -> str | None:
        run = lexeme.run_at(at + low) or (lexeme.runs[-1] if lexeme.runs else None)
        return shell_quote.escape_in(run.quote if run is not None else "bare", new, spelled)

    text = lexeme.text[low:stop]
    return QuotedRegion(region.source, text, region, pieces, escape, lexeme=lexeme, shift=low)


def heredoc_region(region: Region, heredoc: Heredoc) -> tuple[Region, Lexeme]:
    """Return a here-document's body as a guest text."""
    body = heredoc.body
    lexeme = Scanner(region.text).heredoc(body.start, body.end, not heredoc.quoted, heredoc.tabs)
    return guest_region(region, lexeme), lexeme


def uses_of(region: Region, node: Node) -> Iterator[tuple[Node, Hole]]:
    """Yield every run-time part of a node's own words, substitutions and here-documents included."""
    lexemes: list[Lexeme] = list(node.words)
    for assignment in node.assignments:
        lexemes += [e for e in [assignment.lexeme, *(assignment.elements or ())] if e is not None]
    lexemes += [r.target for r in node.redirects if r.target is not None]
    for redirect in node.redirects:
        if redirect.heredoc is not None:
            lexemes.append(heredoc_region(region, redirect.heredoc)[1])
    for lexeme in lexemes:
        for hole in lexeme.holes:
            yield node, hole
            if isinstance(hole.inner, Node):
                for inner in hole.inner.walk():
                    yield from uses_of(region, inner)
