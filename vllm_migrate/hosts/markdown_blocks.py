"""Finds the code blocks of Markdown and reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from vllm_migrate.hosts.shown import lines_of
from vllm_migrate.lazy import dataclass, regex

Row = tuple[int, int, int]
"""Where a line begins and ends, and where the next one begins."""

_FENCE = regex(
    r"(?P<lead>[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?)(?P<fence>`{3,}|~{3,}(?!~))[ \t]*(?![ \t])(?P<info>[^`\r\n]*)$"
)
_DIRECTIVE = regex(
    r"(?P<lead>[ \t]*)\.\. (?:code-block|code|sourcecode|prompt|highlight)::[ \t]*(?![ \t])(?P<info>[^\r\n]*)$"
)
_OPTION = regex(r"[ \t]+:[\w-]+:")


@dataclass
class Block:
    """A code block. language: the first word behind its fence, lower case; info: all of it.

    rows: its lines, each from behind what indents or quotes it. prefix: what a new line of it begins with.
    """

    language: str
    info: str
    rows: list[Row] = field(default_factory=list)
    prefix: str = ""


def markdown_blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks; those in HTML comments are passed over, one that is not closed ends with the text."""
    rows = lines_of(text)
    commented = False
    i = 0
    while i < len(rows):
        line = text[rows[i][0] : rows[i][1]]
        i += 1
        if commented or "<!--" in line:
            commented = line.rfind("-->") < max(line.rfind("<!--"), 0)
            continue
        match = _FENCE.match(line)
        if match is None:
            continue
        fence, lead = match["fence"], match["lead"]
        quotes = lead.count(">")
        # One blank behind the last mark is part of it.
        width = len(lead.replace("\t", "    ")) if not quotes else len(lead) - lead.rfind(">") - 2
        close = re.compile(rf"[ \t>]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
        block = Block(_language(match["info"]), match["info"])
        begin = i
        ends = re.compile(rf"(?P<code>[^{re.escape(fence[0])}]*\S[ \t]+){re.escape(fence)}[ \t]*$")
        last: re.Match[str] | None = None
        while i < len(rows) and last is None and close.match(text[rows[i][0] : rows[i][1]]) is None:
            last = ends.match(text, rows[i][0], rows[i][1])
            i += 1
        body = rows[begin:i]
        if last is not None:
            # A fence behind the last line of code closes nothing, but is meant to.
            body[-1] = (body[-1][0], last.end("code"), body[-1][2])
        else:
            i += 1
        block.rows = [_inside(text, row, quotes, width) for row in body]
        shown = next(((a, r) for a, r in zip(block.rows, rows[begin:], strict=False) if a[0] < a[1]), None)
        block.prefix = text[shown[1][0] : shown[0][0]] if shown is not None else ""
        yield block


def _inside(text: str, row: Row, quotes: int, width: int) -> Row:
    """Return a line without its quote marks and at most `width` columns of its indentation."""
    at, end, after = row
    for _ in range(quotes):
        mark = re.compile(r"[ \t]*>[ \t]?").match(text, at, end)
        if mark is None:
            break
        at = mark.end()
    column = 0
    while at < end and column < width and text[at] in " \t":
        column += 4 if text[at] == "\t" else 1
        at += 1
    return at, end, after


def _language(info: str) -> str:
    match = re.match(r"[{\s.]*([A-Za-z][\w+#-]*)", info)
    return match[1].lower() if match is not None else ""


def directive_blocks(text: str) -> Iterator[Block]:
    """Yield the code blocks of reStructuredText that a directive opens."""
    rows = lines_of(text)
    i = 0
    while i < len(rows):
        match = _DIRECTIVE.match(text[rows[i][0] : rows[i][1]])
        i += 1
        if match is None:
            continue
        outer = len(match["lead"])
        while i < len(rows) and _OPTION.match(text, rows[i][0], rows[i][1]):
            i += 1
        begin = i
        while i < len(rows):
            line = text[rows[i][0] : rows[i][1]]
            if line.strip() and len(line) - len(line.lstrip(" \t")) <= outer:
                break
            i += 1
        end = i
        while end > begin and not text[rows[end - 1][0] : rows[end - 1][1]].strip():
            end -= 1
        while begin < end and not text[rows[begin][0] : rows[begin][1]].strip():
            begin += 1
        body = rows[begin:end]
        filled = [text[r[0] : r[1]] for r in body if text[r[0] : r[1]].strip()]
        if not filled:
            continue
        width = min(len(line) - len(line.lstrip(" \t")) for line in filled)
        block = Block(_language(match["info"]), match["info"])
        block.rows = [(min(r[0] + width, r[1]), r[1], r[2]) for r in body]
        block.prefix = filled[0][:width]
        yield block
