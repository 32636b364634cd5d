"""Comments above a key of a values file that speak of that key alone, and so go with it."""

from __future__ import annotations

import re

from vllm_migrate.text import line_end, line_start


def comment_start(text: str, start: int, end: int, key: str) -> int:
    """Return where the comment begins that belongs to a key alone; `start` where there is none.

    Args: start, end: of the key's whole lines.
    """
    first = start
    pad = text[start : start + len(text[start:end]) - len(text[start:end].lstrip(" "))]
    while first > 0:
        above = _line_above(text, first)
        if not text[above:first].startswith(pad + "#"):
            break
        first = above
    comment, after = text[first:start], text[end : line_end(text, end)]
    if not comment:
        return start
    before = text[_line_above(text, first) : first].rstrip() if first else ""
    # Directly above several keys it may be the headline of them all, unless a key stands right above it.
    followed = after.startswith(pad) and after[len(pad) : len(pad) + 1] not in ("", " ", "#", "\r")
    named = re.search(rf"(?<![\w.-]){re.escape(key)}(?![\w-])", comment) is not None
    helm_docs = re.match(r"\s*#+ --", comment) is not None
    deep = len(before) - len(before.lstrip()) >= len(pad)
    beside = bool(before) and deep and not (before.endswith(":") and len(before) - len(before.lstrip()) == len(pad))
    return first if not followed or named or helm_docs or beside else start


def _line_above(text: str, start: int) -> int:
    return line_start(text, max(start - 1 - (text[start - 2 : start] == "\r\n"), 0))
