"""Names of metrics in PromQL: queries, selectors, lists of names, the text form that a server answers with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import is_hole
from vllm_migrate.text import Span

_TOKEN = regex(
    r"""
    \#[ \t]*(?:HELP|TYPE)[ \t]+(?P<about>[A-Za-z_:][\w:]*)[^\r\n]*
    |(?P<gap>[ \t\r\n]+|\#[^\r\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.){0,4000}"|'(?:[^'\\\n]|\\.){0,4000}'|`[^`]{0,4000}`)
    |(?P<variable>\$\{[^}]{0,500}\}|\$\w+|\[\[\w+(?::\w+)?\]\]|\{\{.{0,500}?\}\}|<<.{0,500}?>>)
    |(?P<range>\[[^\[\]]*\])
    |(?P<name>[A-Za-z_:\ue000-\uf8ff][\w:\ue000-\uf8ff]*)
    |(?P<number>[0-9.][\w.]*)
    |(?P<other>=~|!=|!~|==|>=|<=|.)
    """,
    re.X | re.S,
)
_LABELS = frozenset(("by", "without", "on", "ignoring", "group_left", "group_right"))
_WORDS = _LABELS | {"and", "or", "unless", "offset", "bool", "atan2", "start", "end", "inf", "nan"}
_WHOLE = regex(r"(?<![^(|^])[A-Za-z_:][\w:]*(?![^)|$])")
"""A name that is all of one alternative of a regular expression."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int


def _tokens(text: str) -> list[_Token]:
    return [
        _Token(m.lastgroup, m[m.lastgroup], m.start(m.lastgroup))
        for m in _TOKEN.finditer(text)
        if m.lastgroup and m.lastgroup != "gap"
    ]


def metric_names(text: str) -> list[Span]:
    """Return where the metrics of a query stand.

    Taken are names by themselves, what a matcher of `__name__` gives, in each alternative that is a whole
    name, and what `# HELP` and `# TYPE` are about. Not taken are other comments, labels and their values,
    functions, grouping labels. Run-time parts (Grafana's variables, template actions) are passed over; a
    name with such a part is none.
    """
    return list(_names(_tokens(text)))


def is_query(text: str) -> bool:
    """Tell prose from queries: in a query no name follows another one but for PromQL's own words."""
    tokens = _tokens(text)
    for before, token in pairwise(tokens):
        if before.kind == token.kind == "name" and not {before.text.lower(), token.text.lower()} & _WORDS:
            return False
        if before.kind == "name" and ":" in before.text and token.kind == "variable" and token.text[0] == "$":
            return False
    return not any(t.kind == "other" and t.text in ";?&|!" for t in tokens)


def names_in_pattern(text: str) -> list[Span]:
    """Return where a regular expression gives a whole name as one of its alternatives."""
    return [Span(m.start(), m.end()) for m in _WHOLE.finditer(text)]


def _names(tokens: list[_Token]) -> Iterator[Span]:
    depth = 0
    skipped = 0
    for i, token in enumerate(tokens):
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        if token.kind == "about":
            yield Span(token.start, token.start + len(token.text))
        elif token.text == "{":
            depth += 1
        elif token.text == "}":
            depth = max(0, depth - 1)
        elif token.text == "(" and i and (skipped or tokens[i - 1].text.lower() in _LABELS):
            skipped += 1
        elif token.text == ")" and skipped:
            skipped -= 1
        elif token.kind == "string" and depth:
            yield from _matched(tokens, i)
        elif token.kind == "name" and not depth and not skipped and after != "(" and not any(map(is_hole, token.text)):
            yield Span(token.start, token.start + len(token.text))


def _matched(tokens: list[_Token], i: int) -> Iterator[Span]:
    """A string between braces: the value of a matcher, or a quoted name that stands alone."""
    token = tokens[i]
    start, inner = token.start + 1, token.text[1:-1]
    before = tokens[i - 1].text
    if before in ("{", ","):
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        if after in ("}", ",", "") and re.fullmatch(r"[A-Za-z_:][\w:]*", inner):
            yield Span(start, start + len(inner))
        return
    label = tokens[i - 2].text.strip("\"'") if i >= 2 else ""
    if label != "__name__":
        return
    for found in names_in_pattern(inner):
        yield Span(start + found.start, start + found.end)
