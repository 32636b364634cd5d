"""Reads a plain string of shell words for other hosts."""

from __future__ import annotations

from vllm_migrate.hosts import shell_lex
from vllm_migrate.hosts.shell_list import Slot, Token, WordList
from vllm_migrate.model import Word
from vllm_migrate.text import Region, Span


def read_words(region: Region, host: str = "shell") -> list[Word]:
    """Return the words of a string as a shell splits it, operators being letters like any other.

    Args: region: the string. host: the format's name, as the words' container reports it. Run-time parts
    (`$X`, `${X}`, `$(X)`, letters left open by an outer text) are holes. An unclosed quote locks the words.
    """
    lexemes, left = shell_lex.split(region.text)
    tokens = [Token(w.start, w.end, w) for w in lexemes]
    words = WordList(region, "string", tokens, 0, host=host)
    words.prefer = _preferred(region)
    out: list[Word] = []
    for index, lexeme in enumerate(lexemes):
        if lexeme.comment:
            continue
        holes = tuple(_outer(region, h.start, h.end) if h.form == "outer" else h.spelled for h in lexeme.holes)
        lone = lexeme.lone_hole
        previous = lexemes[index - 1].text if index else ""
        value = previous.startswith("-") and "=" not in previous
        splits = lone is not None and (lone.form == "list" or not (lone.quoted or value or lone.form == "outer"))
        word = Word(region, Span(lexeme.start, lexeme.end), words, text=lexeme.text, holes=holes, splits=splits)
        if left:
            word.locked = f"a quote ({left}) is not closed"
        words.hold(word, Slot(index, 0, len(lexeme.text)))
        words.words[index] = word
        out.append(word)
    words.spellings = {_outer(region, h.start, h.end): h.spelled for w in lexemes for h in w.holes if h.form == "outer"}
    return out


def _outer(region: Region, start: int, end: int) -> str:
    span = region.nearest_span(start, end)
    return region.source.text[span.start : span.end]


def _preferred(region: Region) -> str:
    """Prefer the quotes that the string's own quotes leave alone."""
    if region.parent is None or not region.pieces:
        return "single"
    before = region.parent.text[max(region.pieces[0].parent_start - 1, 0) : region.pieces[0].parent_start]
    return "double" if before == "'" else "single"
