"""Patterns of names, and of paths in the configuration: like those of `.gitignore`, without its negation."""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache


@lru_cache(maxsize=512)
def _regex(pattern: str) -> re.Pattern[str]:
    folder = pattern.endswith("/")
    body = pattern.strip("/")
    anchored = "/" in body or pattern.startswith("/")
    if body.startswith("./"):
        body = body[2:]
    out = "" if anchored else "(?:.*/)?"
    i = 0
    while i < len(body):
        if body.startswith("**/", i):
            out += "(?:.*/)?"
            i += 3
        elif body.startswith("**", i):
            out += ".*"
            i += 2
        elif body[i] == "*":
            out += "[^/]*"
            i += 1
        elif body[i] == "?":
            out += "[^/]"
            i += 1
        elif body[i] == "[" and "]" in body[i + 2 :]:
            end = body.index("]", i + 2)
            inside = body[i + 1 : end].replace("\\", "\\\\")
            out += "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
            i = end + 1
        else:
            out += re.escape(body[i])
            i += 1
    return re.compile(out + ("/.*" if folder else "(?:/.*)?"), re.DOTALL)


def path_matches(pattern: str, path: str) -> bool:
    """Tell whether a path, or a folder it lies in, matches a pattern.

    Args: pattern: `*` and `?` stay inside one name, `**` crosses folders; without a slash in the middle
    the pattern is looked for at any depth. path: relative to the root, with forward slashes.
    """
    return _regex(pattern).fullmatch(path) is not None


def name_matches(pattern: str, name: str) -> bool:
    """Tell whether a name matches a pattern of `*` (any text), `?` and `[…]`; letter case counts.

    A pattern without `?` and `[` costs no regular expression: there are hundreds of them, each asked once in a run.
    """
    if "?" in pattern or "[" in pattern:
        return fnmatch.fnmatchcase(name, pattern)
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    if not name.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return name.endswith(rest[-1]) and len(name) - len(rest[-1]) >= at
