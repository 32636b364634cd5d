"""Lines side by side, and the words in which two of them differ."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vllm_migrate.lazy import regex
from vllm_migrate.output._unified import Hunk

_WORD = regex(r"\w+|\s+|.", re.S)
_LIKE = 0.4
"""Least likeness of two lines to be shown as one that changed."""
_LONGEST = 2000

Parts = list[tuple[bool, str]]
"""A line in parts: whether it differs, and its text."""


def marked(old: str, new: str) -> tuple[Parts, Parts]:
    """Return two lines in parts, those that differ marked."""
    import difflib

    if len(old) > _LONGEST or len(new) > _LONGEST:
        return [(False, old)], [(False, new)]
    a, b = _WORD.findall(old), _WORD.findall(new)
    left: Parts = []
    right: Parts = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if i2 > i1:
            left.append((tag != "equal", "".join(a[i1:i2])))
        if j2 > j1:
            right.append((tag != "equal", "".join(b[j1:j2])))
    return left, right


def likeness(old: str, new: str) -> float:
    """Return how much two lines have in common, 0 to 1."""
    import difflib

    if len(old) > _LONGEST or len(new) > _LONGEST:
        return 0.0
    return difflib.SequenceMatcher(None, old.strip(), new.strip(), autojunk=False).ratio()


Row = tuple["tuple[int, Parts] | None", "tuple[int, Parts] | None"]
"""One row of two columns: line number and parts at the left, at the right; None where a side has no line."""


def side_by_side(hunk: Hunk) -> list[Row]:
    """Return a hunk in rows; a line that changed stands beside what it became."""
    header, body = hunk
    old, new = (int(text[1:].partition(",")[0]) for text in header.split()[1:3])
    # An empty side counts from the line before it.
    old, new = old + (header.split()[1].endswith(",0")), new + (header.split()[2].endswith(",0"))
    rows: list[Row] = []
    gone: list[str] = []
    come: list[str] = []

    def flush() -> None:
        nonlocal old, new
        for left, right in _paired(gone, come):
            one, two = marked(left or "", right or "") if left is not None and right is not None else ([], [])
            rows.append(
                (
                    (old, one or [(False, left)]) if left is not None else None,
                    (new, two or [(False, right)]) if right is not None else None,
                )
            )
            old, new = old + (left is not None), new + (right is not None)
        gone.clear()
        come.clear()

    for sign, raw in body:
        text = raw.decode("utf-8", "replace").rstrip("\r\n")
        if sign == " ":
            flush()
            rows.append(((old, [(False, text)]), (new, [(False, text)])))
            old, new = old + 1, new + 1
        elif sign == "-":
            gone.append(text)
        else:
            come.append(text)
    flush()
    return rows


def paired_lines(hunk: Hunk) -> list[tuple[str, Parts]]:
    """Return the lines of a hunk in their order, each with its sign, words that differ marked."""
    out: list[tuple[str, Parts]] = []
    waiting: list[tuple[str, Parts]] = []
    for left, right in side_by_side(hunk):
        if left is not None and right is not None and left[1] == right[1]:
            out += waiting
            waiting = []
            out.append((" ", left[1]))
            continue
        if left is not None:
            # What went stands before what came, as everywhere.
            at = next((i for i, (sign, _) in enumerate(waiting) if sign == "+"), len(waiting))
            waiting.insert(at, ("-", left[1]))
        if right is not None:
            waiting.append(("+", right[1]))
    return out + waiting


def _paired(gone: Sequence[str], come: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """Pair lines that went with the lines that came in their place, in order, the likest ones."""
    many = len(gone) * len(come) > 2500
    pairs = [(i, i) for i in range(min(len(gone), len(come)))] if many else _best(gone, come)
    out: list[tuple[str | None, str | None]] = []
    i = j = 0
    for a, b in [*pairs, (len(gone), len(come))]:
        out += [(line, None) for line in gone[i:a]]
        out += [(None, line) for line in come[j:b]]
        if a < len(gone):
            out.append((gone[a], come[b]))
        i, j = a + 1, b + 1
    return out


def _best(gone: Sequence[str], come: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs, ascending on both sides, that have most in common."""
    best: list[list[tuple[float, list[tuple[int, int]]]]] = [[(0.0, [])] * (len(come) + 1)]
    for i, old in enumerate(gone):
        row: list[tuple[float, list[tuple[int, int]]]] = [(0.0, [])]
        for j, new in enumerate(come):
            found = max(row[j], best[i][j + 1], key=lambda cell: cell[0])
            like = likeness(old, new)
            if like >= _LIKE and best[i][j][0] + like > found[0]:
                found = (best[i][j][0] + like, [*best[i][j][1], (i, j)])
            row.append(found)
        best.append(row)
    return best[-1][-1][1]
