"""Gives one word of a shell new text while keeping the way it is quoted."""

from __future__ import annotations

from collections.abc import Sequence

from vllm_migrate.hosts import shell_lex, shell_quote
from vllm_migrate.hosts.shell_lex import Lexeme, Run
from vllm_migrate.lazy import regex
from vllm_migrate.model import is_hole

_NAMED = regex(r"-{0,2}[A-Za-z_][\w.-]*\+?=")


def _letters(text: str, holes: Sequence[str]) -> list[str]:
    """Return the letters of a text, a hole as how it is spelled."""
    return [shell_quote.spelled(c, holes) or c for c in text]


def respell(source: str, lexeme: Lexeme, text: str, holes: Sequence[str], *, prefer: str = "single") -> str | None:
    """Return a new spelling of a word.

    Args: source: the text the word was read from. text, holes: what it shall say. Returns None where it
    cannot be spelled at that place.
    """
    old = _letters(lexeme.text, [h.spelled for h in lexeme.holes])
    new = _letters(text, holes)
    if old == new:
        return source[lexeme.start : lexeme.end]
    for candidate in _candidates(source, lexeme, text, holes, old, new, prefer):
        if candidate is not None and _says(candidate, new):
            return candidate
    return None


def _says(spelling: str, letters: list[str]) -> bool:
    words = shell_lex.split(spelling)[0]
    if len(words) != 1:
        return False
    return _letters(words[0].text, [h.spelled for h in words[0].holes]) == letters


def _candidates(
    source: str, lexeme: Lexeme, text: str, holes: Sequence[str], old: list[str], new: list[str], prefer: str
) -> list[str | None]:
    head = 0
    while head < len(old) and head < len(new) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < len(old) - head and tail < len(new) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    out: list[str | None] = [_turned(source, lexeme, text, holes, prefer)]
    middle = text[head : len(text) - tail]
    stop = len(old) - tail
    quote = _context(lexeme, head, stop)
    bare_ok = shell_quote.unescape_free(middle) if middle else True
    if quote is not None and (quote.quote != "bare" or bare_ok) and not (quote.quote == "single" and "'" in middle):
        spelled = shell_quote.escape_in(quote.quote, middle, holes)
        if spelled is not None and not (quote.quote == "single" and any(is_hole(c) for c in middle)):
            start, end = _cut(lexeme, head, stop, quote)
            if middle or not text or not _whole_string(lexeme, head, stop, quote):
                out.append(source[lexeme.start : start] + spelled + source[end : lexeme.end])
    out.append(_named(text, holes, prefer))
    out.append(shell_quote.quote(text, holes, prefer=prefer))
    return out


def _turned(source: str, lexeme: Lexeme, text: str, holes: Sequence[str], prefer: str) -> str | None:
    """Spell a word of one pair of double quotes in single ones where it would need escapes it did not have."""
    one = {run.quote for run in lexeme.runs} == {"double"} and len({run.string for run in lexeme.runs}) == 1
    if not one or prefer != "single" or "'" in text or any(is_hole(c) for c in text):
        return None
    escaped = "\\" in source[lexeme.start : lexeme.end]
    return None if escaped or "\\" not in shell_quote.escape_double(text, holes) else f"'{text}'"


def _named(text: str, holes: Sequence[str], prefer: str) -> str | None:
    """Spell a word like `--name=value` with its value alone in quotes."""
    equals = text.find("=")
    if equals > 0 and _NAMED.match(text) and shell_quote.unescape_free(text[:equals]):
        rest = text[equals + 1 :]
        return text[: equals + 1] + (shell_quote.quote(rest, holes, prefer=prefer) if rest else "")
    return None


def _context(lexeme: Lexeme, head: int, stop: int) -> Run | None:
    """Return a run whose quotes hold all of `[head, stop)`, or that an insertion there belongs to."""
    if head == stop:
        before, after = lexeme.run_at(head - 1), lexeme.run_at(head)
        if before is not None and (before.quote != "bare" or after is None or after.quote == "bare"):
            return before
        return after if after is not None else before
    inside = [run for run in lexeme.runs if run.start < stop and run.end > head]
    first = inside[0] if inside else None
    if first is None or any(run.quote != first.quote or run.string != first.string for run in inside):
        return None
    return first


def _whole_string(lexeme: Lexeme, head: int, stop: int, quote: Run) -> bool:
    """Tell whether nothing would be left between a pair of quotes."""
    inside = [run for run in lexeme.runs if run.quote == quote.quote and run.string == quote.string]
    return quote.quote != "bare" and all(head <= run.start and run.end <= stop for run in inside)


def _cut(lexeme: Lexeme, head: int, stop: int, quote: Run) -> tuple[int, int]:
    if head < stop:
        return lexeme.begin(head), lexeme.finish(stop)
    at = lexeme.finish(head) if quote.start < head <= quote.end else lexeme.begin(head)
    return at, at
