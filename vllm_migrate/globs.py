"""Patterns of names, and of paths: those of the configuration, and what they and those of `.gitignore` become."""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache
from typing import Protocol

from vllm_migrate.lazy import regex

_FEW = 3
_CLASS = regex(r"\[:([a-z]+):\]")
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "space": " \\t\\r\\n\\f\\v", "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~", "cntrl": r"\x00-\x1f\x7f",
    "graph": "!-~", "print": " -~",
}  # fmt: skip


class Matcher(Protocol):
    """What tells whether the whole of a text fits."""

    def fits(self, text: str) -> bool: ...


class _Quick:
    """Python's own engine, for patterns with few places that repeat."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def fits(self, text: str) -> bool:
        return self._pattern.fullmatch(text) is not None


def matcher(pattern: str, repeats: int) -> Matcher:
    """Return what matches a regular expression made of a path pattern. Raises ValueError for one that is none.

    repeats: how many places of it may be of any length. Python's engine tries all ways to part a path among them,
    and their number grows with the power of that: where there are more than a few, all ways are followed at once.
    """
    try:
        if repeats <= _FEW:
            return _Quick(pattern)
        from vllm_migrate.patterns import Pattern

        return Pattern(pattern)
    except (re.error, RecursionError) as error:
        raise ValueError(str(error)) from None


def char_set(pattern: str, at: int) -> tuple[str, int] | None:
    """Return the set in brackets that starts at `at`, as a regular expression, and where it ends; None for no set.

    Raises ValueError for a class that has no such name.
    """
    i = at + 1
    negated = pattern[i : i + 1] in ("!", "^")
    i += negated
    inside: list[str] = []
    first = True
    while i < len(pattern) and (first or pattern[i] != "]"):
        first = False
        named = _CLASS.match(pattern, i)
        if named is not None:
            if named[1] not in _CLASSES:
                raise ValueError(f"{named[0]} is no class of characters")
            inside.append(_CLASSES[named[1]])
            i = named.end()
            continue
        i += pattern[i] == "\\" and i + 1 < len(pattern)
        low = pattern[i]
        i += 1
        if pattern[i : i + 1] == "-" and pattern[i + 1 : i + 2] not in ("", "]"):
            i += 1
            i += pattern[i] == "\\" and i + 1 < len(pattern)
            # Of a range that runs backwards Git takes the first character.
            backwards = ord(pattern[i]) < ord(low)
            inside.append(_escaped(low) if backwards else f"{_escaped(low)}-{_escaped(pattern[i])}")
            i += 1
        else:
            inside.append(_escaped(low))
    if i >= len(pattern):
        return None
    body = "".join(inside)
    return (f"[^/{body}]" if negated else f"(?:[{body}])"), i + 1


def _escaped(char: str) -> str:
    return char if char.isalnum() or ord(char) > 127 else "\\" + char


@lru_cache(maxsize=512)
def _matcher(pattern: str) -> Matcher:
    folder = pattern.endswith("/")
    body = pattern.strip("/")
    anchored = "/" in body or pattern.startswith("/")
    if body.startswith("./"):
        body = body[2:]
    out = "" if anchored else "(?:.*/)?"
    repeats = 0 if anchored else 1
    i = 0
    while i < len(body):
        if body.startswith("**/", i):
            # Two of them in a row say no more than one.
            if not out.endswith("(?:.*/)?"):
                out += "(?:.*/)?"
                repeats += 1
            i += 3
        elif body.startswith("**", i):
            out += ".*"
            repeats += 1
            i += 2
        elif body[i] == "*":
            out += "[^/]*"
            repeats += 1
            i += 1
        elif body[i] == "?":
            out += "[^/]"
            i += 1
        elif body[i] == "[" and (found := _set(body, i)) is not None:
            out += found[0]
            i = found[1]
        else:
            out += re.escape(body[i])
            i += 1
    return matcher("(?s)" + out + ("/.*" if folder else "(?:/.*)?"), repeats)


def _set(body: str, at: int) -> tuple[str, int] | None:
    try:
        return char_set(body, at)
    except ValueError:
        return None


def path_matches(pattern: str, path: str) -> bool:
    """Tell whether a path, or a folder it lies in, matches a pattern.

    Args: pattern: `*` and `?` stay inside one name, `**` crosses folders; without a slash in the middle
    the pattern is looked for at any depth. path: relative to the root, with forward slashes.
    """
    return _matcher(pattern).fits(path)


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
