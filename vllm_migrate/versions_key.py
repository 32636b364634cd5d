"""A small, fast ordering of vLLM's version strings (`packaging` costs too much at start-up)."""

from __future__ import annotations

import re
from functools import lru_cache

from vllm_migrate.lazy import regex

_FORM = regex(
    r"v?(\d{1,4})(?:\.(\d{1,4}))?(?:\.(\d{1,4}))?(?:\.(\d{1,4}))?"
    r"(?:[.-]?(rc|a|b|dev)\.?(\d{0,9}))?(?:[.-]?(post)\.?(\d{1,9}))?(?:\.dev(\d{1,9}))?(?:\+[A-Za-z0-9.]+)?",
    re.ASCII,
)

Key = tuple[int, int, int, int, int, int]


@lru_cache(maxsize=4096)
def key(version: str) -> Key:
    """Return the ordering key of a version: major, minor, patch, fourth, pre (-1 before the release), post.

    A local part (`+cu129`) does not count. Raises ValueError for what is not a version.
    """
    match = _FORM.fullmatch(version.strip())
    if match is None:
        raise ValueError(f"{version!r} is not a version")
    numbers = [int(g or 0) for g in match.group(1, 2, 3, 4)]
    pre = -1 if match.group(5) or match.group(9) else 0
    return (numbers[0], numbers[1], numbers[2], numbers[3], pre, int(match.group(8) or 0))


def is_version(text: str) -> bool:
    """Tell whether a text is a version that `key` can order."""
    return _FORM.fullmatch(text.strip()) is not None


def matches(specifier: str, version: str) -> bool:
    """Tell whether a version satisfies every clause of a comma separated specifier (`>=0.24,<0.33`).

    Knows `<`, `<=`, `>`, `>=`, `==`, `!=`. Raises ValueError for another clause.
    """
    here = key(version)
    for clause in filter(None, (c.strip() for c in specifier.split(","))):
        match = re.fullmatch(r"(<=|>=|==|!=|<|>)\s*(\S+)", clause)
        if match is None:
            raise ValueError(f"{clause!r} is not a version clause")
        other = key(match.group(2))
        holds = {
            "<": here < other,
            "<=": here <= other,
            ">": here > other,
            ">=": here >= other,
            "==": here == other,
            "!=": here != other,
        }[match.group(1)]
        if not holds:
            return False
    return True
