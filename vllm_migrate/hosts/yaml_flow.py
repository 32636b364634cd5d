"""Template actions between the items of a flow list (`[…, {{ if }} …, {{ end }} …]`): which they are, and
what goes with items that go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from vllm_migrate.lazy import regex
from vllm_migrate.model import CannotRender
from vllm_migrate.text import Edit, Span, line_end, line_start, next_line

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_mask import Action, Mask

SpanOf = tuple[int, int]
_BEGIN = regex(r"(?:^[ \t]*(?:- +)*|[:,\[{] *)(?=[\[{])", re.M)
_QUOTED = regex(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
_EDGE = "[]{},"
_LONGEST = 20_000
_OPEN = 50
"""Brackets that nothing closes after which no more are looked at."""


def between_items(text: str, kinds: Mapping[SpanOf, tuple[int, bool]], filler: str) -> set[SpanOf]:
    """Return the actions that print nothing and stand between the items of flow collections.

    kinds: for each action 1, -1 or 0 for one that opens a block, closes one, or neither, and whether it prints
    nothing. A block is between items when each of its actions has a comma or a bracket beside it.
    """
    rough = list(text)
    for start, end in kinds:
        rough[start:end] = [c if c in "\r\n" else filler for c in text[start:end]]
    shown = "".join(rough)
    out: set[SpanOf] = set()
    starts = sorted(kinds)
    end = open_ = 0
    for found in _BEGIN.finditer(shown):
        if found.end() < end:
            continue
        stop, quoted = _closing(shown, found.end())
        if not stop:
            open_ += 1
            if open_ > _OPEN:
                break
            continue
        end = stop
        inside = [s for s in starts if found.end() < s[0] and s[1] < stop]
        own = [s for s in inside if not any(a <= s[0] < b for a, b in quoted)]
        out |= _between(shown, own, kinds)
    return out


def _closing(text: str, start: int) -> tuple[int, list[SpanOf]]:
    """Return where a flow collection ends, 0 where it does not, and what of it stands in quotes."""
    depth, at, quoted = 0, start, []
    while at < min(len(text), start + _LONGEST):
        char = text[at]
        if char in "\"'" and _before(text, at) not in ("", *"\"'") and _opens(text, at):
            match = _QUOTED.match(text, at)
            if match is None:
                return 0, []
            quoted.append(match.span())
            at = match.end()
            continue
        if char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
            if depth == 0:
                return at + 1, quoted
        at += 1
    return 0, []


def _before(text: str, at: int) -> str:
    """Return the last letter before a place that is not blank, "" where there is none."""
    while at and text[at - 1] in " \t\r\n":
        at -= 1
    return text[at - 1 : at]


def _opens(text: str, at: int) -> bool:
    """Tell whether a quote opens a scalar here, and is no letter of one that has begun."""
    return text[at - 1] in " \t\r\n[{,:\uf8ff"


def _between(shown: str, own: Sequence[SpanOf], kinds: Mapping[SpanOf, tuple[int, bool]]) -> set[SpanOf]:
    quiet = {s for s in own if kinds[s][1]}

    def edge(span: SpanOf) -> bool:
        before, after = _near(shown, span, quiet)
        return before in _EDGE or after in _EDGE

    out: set[SpanOf] = set()
    stack: list[list[SpanOf]] = []
    for span in own:
        step, silent = kinds[span]
        if not silent:
            continue
        if step == 1:
            stack.append([span])
        elif step == -1:
            if not stack:
                return set()
            block = [*stack.pop(), span]
            if all(edge(s) for s in block):
                out |= set(block)
        elif stack:
            stack[-1].append(span)
        elif edge(span):
            out.add(span)
    return out


def _near(shown: str, span: SpanOf, quiet: set[SpanOf]) -> tuple[str, str]:
    """Return the characters before and behind an action, blanks and other silent actions left out."""
    ends, begins = {e: s for s, e in quiet}, dict(quiet)
    before = span[0]
    while before and (shown[before - 1] in " \t\r\n" or before in ends):
        before = ends.get(before, before - 1)
    after = span[1]
    while after < len(shown) and (shown[after] in " \t\r\n" or after in begins):
        after = begins.get(after, after + 1)
    return shown[before - 1 : before], shown[after : after + 1]


def removals(
    text: str, mask: Mask, items: Sequence[Span], opener: int, closer: int, removed: Sequence[int]
) -> Iterator[Edit]:
    """Yield the edits that take items away where template actions stand between items.

    A block whose items all go goes with them. Raises CannotRender where that leaves half of something.
    """
    runs: list[list[int]] = []
    for index in removed:
        if runs and runs[-1][1] == index - 1 and not _steps(mask, items[index - 1].end, items[index].start):
            runs[-1][1] = index
        else:
            runs.append([index, index])
    for first, last in runs:
        low = items[first - 1].end if first else opener
        high = items[last + 1].start if last + 1 < len(items) else closer
        yield _one(text, mask, items, first, last, low, high)


def _steps(mask: Mask, start: int, end: int) -> list[Action]:
    return [a for a in mask.within(start, end) if a.control and a.word != "/*"]


def _one(text: str, mask: Mask, items: Sequence[Span], first: int, last: int, low: int, high: int) -> Edit:
    begin, end = items[first].start, items[last].end
    above, below = _steps(mask, low, begin), _steps(mask, end, high)
    opening = above[-1] if above else None
    closing = below[0] if below else None
    if opening is not None and closing is not None:
        whole = opening.step == 1 and closing.step == -1
        branch = (opening.step == 1 or opening.step == 0) and closing.step == 0 and closing.word.startswith("el")
        if branch:
            raise CannotRender("it is all of one branch of a template action that has others: decide by hand")
        if whole:
            return _block(text, opening, closing, low, high, last - first + 1, final=last == len(items) - 1)
        if opening.word.startswith("el") and closing.step == -1:
            begin = opening.start
            return Edit(begin, closing.start, "")
    comma = re.compile(r"[ \t]*,[ \t]*").match(text, end)
    if comma is not None and comma.end() <= high:
        return _own_line(text, begin, comma.end()) or Edit(begin, comma.end(), "")
    before = text[low:begin].rstrip(" \t\r\n")
    if before.endswith(","):
        begin = low + len(before) - 1
        return _own_line(text, begin, end) or Edit(begin, end, "")
    raise CannotRender("the item cannot be taken out from between template actions")


def _block(text: str, opening: Action, closing: Action, low: int, high: int, count: int, *, final: bool) -> Edit:
    """Take a block away with its items, so that as many commas go as items."""
    start, end = opening.start, closing.end
    inside = text[opening.end : closing.start]
    outside = re.sub(r"\"(?:[^\"\\]|\\.){0,2000}\"|'[^']*'|\{\{.{0,1000}?\}\}", "", inside)
    if outside.count(",") < count:
        before = text[low:start].rstrip(" \t\r\n")
        behind = re.compile(r"[ \t]*,").match(text, end)
        if not final and behind is not None:
            end = behind.end()
        elif before.endswith(","):
            start = low + len(before) - 1
    whole = _own_line(text, start, end)
    if whole is not None:
        return whole
    if text[end : end + 1] in (" ", "\r", "\n", "]", ","):
        kept = text[low:start].rstrip(" \t")
        if not kept.endswith(("\n", "\r")):
            start = low + len(kept)
    return Edit(start, end, "")


def _own_line(text: str, start: int, end: int) -> Edit | None:
    """Return the edit that takes the lines of a part away, None where they hold something else."""
    first = line_start(text, start)
    if text[first:start].strip(" \t") or text[end : line_end(text, end)].strip(" \t"):
        return None
    return Edit(first, next_line(text, end), "")
