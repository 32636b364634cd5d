"""Looks up a spelling as a release's argparse would: exact, `_` for `-`, prefixes, dots, glued."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from vllm_migrate.catalog.history import Facts
from vllm_migrate.jsonvalue import DEEPEST
from vllm_migrate.lazy import dataclass


@dataclass(frozen=True)
class OptionMatch:
    """What a spelling means to a release.

    option: key of the catalog's `options`, None where the release refuses the spelling. attrs: its facts.
    candidates: keys an abbreviation could mean (more than one: the parser refuses it as ambiguous).
    exact: not an abbreviation. path: keys after a dot. glued: value written into the word (`-O3`, `-qawq`).
    negated: the spelling switches off (`--no-x`). appends: `--x.key+`, which adds to a list.
    """

    option: str | None
    attrs: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    exact: bool = False
    path: tuple[str, ...] = ()
    glued: str | None = None
    negated: bool = False
    appends: bool = False


NO_MATCH = OptionMatch(None)


def spellings(name: str, attrs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return every string the parser takes for an option, the inverse ones of a switch included."""
    return (*attrs.get("spellings", (name,)), *attrs.get("negative", ()))


def normal(spelling: str) -> str:
    """Return a long spelling with `-` for `_` up to the first dot, as vLLM's parser reads it."""
    if not spelling.startswith("--"):
        return spelling
    head, dot, tail = spelling.partition(".")
    return head.replace("_", "-") + dot + tail


class OptionIndex:
    """The options of one release (or of the whole history), ready for look-ups."""

    def __init__(self, options: Facts, *, dotted: bool = True) -> None:
        """options: key -> attrs. dotted: this release's parser takes `--x.key value`."""
        self._options = options
        self._dotted = dotted
        self.by_spelling: dict[str, str] = {}
        self._glued: list[tuple[str, str]] = []
        for name, attrs in options.items():
            if not name.startswith("-"):
                continue
            for spelling in spellings(name, attrs):
                self.by_spelling.setdefault(spelling, name)
            for letter in attrs.get("glued", ()):
                self._glued.append((letter, name))
        self._sorted: list[tuple[str, int]] = []
        """Every spelling and its place in `by_spelling`, made when an abbreviation is asked for."""

    def starting(self, prefix: str) -> list[tuple[str, str]]:
        """Return (spelling, option) of the spellings that begin with a prefix, in the release's order."""
        if not self._sorted:
            self._sorted = sorted((spelling, place) for place, spelling in enumerate(self.by_spelling))
        at = bisect.bisect_left(self._sorted, (prefix, -1))
        found: list[tuple[int, str]] = []
        while at < len(self._sorted) and self._sorted[at][0].startswith(prefix):
            found.append((self._sorted[at][1], self._sorted[at][0]))
            at += 1
        return [(spelling, self.by_spelling[spelling]) for _, spelling in sorted(found)]

    def find(self, spelling: str) -> OptionMatch:
        """Return what a word's name part (before any `=`) means."""
        name, _, _ = spelling.partition("=")
        if len(name) < 2 or not name.startswith("-") or name == "--":
            return NO_MATCH
        for letter, target in self._glued:
            if name.startswith(letter) and not name.startswith("--") and not name.startswith(letter + "."):
                rest = name[len(letter) :]
                return OptionMatch(target, self._options[target], (target,), True, glued=rest or None)
        name = normal(name)
        exact = self.by_spelling.get(name)
        if exact is not None:
            return self._match(exact, name)
        if "." in name:
            return self._find_dotted(name)
        return self._abbreviation(name)

    def _match(self, option: str, spelling: str, *, exact: bool = True) -> OptionMatch:
        attrs = self._options[option]
        return OptionMatch(option, attrs, (option,), exact, negated=spelling in attrs.get("negative", ()))

    def _find_dotted(self, name: str) -> OptionMatch:
        if not self._dotted or name.count(".") > DEEPEST:
            return NO_MATCH
        appends = name.endswith("+")
        head, _, tail = name.removesuffix("+").partition(".")
        base = self.find(head)
        return replace(base, path=tuple(tail.split(".")), appends=appends)

    def _abbreviation(self, name: str) -> OptionMatch:
        found: dict[str, str] = {}
        glued: str | None = None
        letter = name[:2]
        if not name.startswith("--") and letter in self.by_spelling:
            glued = name[2:]
            found[self.by_spelling[letter]] = letter
        for spelling, option in self.starting(name):
            found.setdefault(option, spelling)
        if len(found) != 1:
            return OptionMatch(None, {}, tuple(sorted(found)))
        ((option, spelling),) = found.items()
        match = self._match(option, spelling, exact=False)
        if glued is None:
            return match
        return OptionMatch(option, match.attrs, (option,), True, glued=glued)
