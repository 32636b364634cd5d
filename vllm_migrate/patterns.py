"""Matches regular expressions that come from data files a repository may bring, in time linear in the text.

Python's engine tries one way after the other: a pattern like `(a+)+b` keeps it busy for years. Here all ways are
followed at once. What is understood: literals, `.`, escapes of one character, sets in brackets, groups, `|`, `*`,
`+`, `?`, `{m,n}` and flags in front, `(?i)` and `(?s)`; `^` and `$` at the ends say nothing, since the whole text must
fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from vllm_migrate.lazy import regex

_STATES = 2000
"""The most places a pattern may have: counted repetitions are written out."""
_LONGEST = 10_000
"""A text longer than this fits no pattern."""
_UNIT = regex(
    r"(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<escape>\\[^0-9])|(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<or>\|)"
    r"|(?P<many>(?:[*+?]|\{(?P<least>\d{1,4})(?:(?P<comma>,)(?P<most>\d{1,4})?)?\})(?P<lazy>\??))|(?P<char>[^\\\[(*+?])",
    re.S,
)
_NOT_CHARS = frozenset("bBAZ")


class PatternError(ValueError):
    """A pattern is none that is understood here; the message says where."""


Node = Callable[["_Made", int], int]
"""Adds a part to an automaton in front of a state; returns the state that the part begins with."""


class _Made:
    """States of an automaton. tests: what a state reads, None where it reads nothing; after: where it leads."""

    def __init__(self) -> None:
        self.tests: list[re.Pattern[str] | None] = []
        self.after: list[list[int]] = []

    def add(self, test: re.Pattern[str] | None, after: list[int]) -> int:
        if len(self.tests) >= _STATES:
            raise PatternError("too long, or too many repetitions")
        self.tests.append(test)
        self.after.append(after)
        return len(self.tests) - 1


class Pattern:
    """A pattern to be matched with whole texts. Raises PatternError for one that is not understood."""

    def __init__(self, text: str) -> None:
        self.flags = 0
        if (flags := re.match(r"\(\?([is]{1,2})\)", text)) is not None:
            self.flags |= re.I * ("i" in flags[1]) | re.S * ("s" in flags[1])
            text = text[flags.end() :]
        text = text.removeprefix("^")
        if text.endswith("$") and not text.endswith("\\$"):
            text = text[:-1]
        self._text = text
        self._at = 0
        try:
            node = self._either()
        except RecursionError:
            raise PatternError("nested too deeply") from None
        if self._at < len(text):
            raise PatternError(f"{text[self._at :][:20]!r} is not understood")
        self._made = _Made()
        self._end = self._made.add(None, [])
        self._first = node(self._made, self._end)

    def fits(self, text: str) -> bool:
        """Tell whether the whole of a text matches."""
        if len(text) > _LONGEST:
            return False
        tests, after = self._made.tests, self._made.after
        now = self._closure([self._first])
        for char in text:
            read = [after[s][0] for s in now if (test := tests[s]) is not None and test.match(char) is not None]
            now = self._closure(read)
            if not now:
                return False
        return self._end in now

    def _closure(self, states: list[int]) -> set[int]:
        seen = set(states)
        todo = list(seen)
        while todo:
            state = todo.pop()
            if self._made.tests[state] is None:
                for other in self._made.after[state]:
                    if other not in seen:
                        seen.add(other)
                        todo.append(other)
        return seen

    # -- reading: each method returns what builds its part in front of what follows

    def _unit(self) -> re.Match[str] | None:
        return _UNIT.match(self._text, self._at)

    def _either(self) -> Node:
        ways = [self._sequence()]
        while (unit := self._unit()) is not None and unit["or"]:
            self._at = unit.end()
            ways.append(self._sequence())
        if len(ways) == 1:
            return ways[0]
        return lambda made, then: made.add(None, [way(made, then) for way in ways])

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while (unit := self._unit()) is not None and not (unit["or"] or unit["close"] or unit["many"]):
            self._at = unit.end()
            if unit["open"]:
                part = self._either()
                close = self._unit()
                if close is None or not close["close"]:
                    raise PatternError("a group is not closed, or begins with what is not understood")
                self._at = close.end()
            else:
                part = self._one(unit)
            parts.append(self._repeated(part))

        def build(made: _Made, then: int) -> int:
            for part in reversed(parts):
                then = part(made, then)
            return then

        return build

    def _one(self, unit: re.Match[str]) -> Node:
        if unit["escape"] and unit["escape"][1] in _NOT_CHARS:
            raise PatternError(f"{unit[0]!r} is not understood")
        if unit["char"] in ("^", "$"):
            raise PatternError(f"{unit[0]!r} stands inside the pattern")
        try:
            # One character at a time: this cannot take long. Python warns of a bracket in a set.
            test = re.compile(unit[0][:1] + re.sub(r"(?<!\\)\[", r"\[", unit[0][1:]), self.flags)
        except re.error as error:
            raise PatternError(f"{unit[0]!r}: {error}") from None
        return lambda made, then: made.add(test, [then])

    def _repeated(self, part: Node) -> Node:
        unit = self._unit()
        if unit is None or not unit["many"]:
            return part
        self._at = unit.end()
        following = self._unit()
        if following is not None and following["many"]:
            raise PatternError(f"{following[0]!r} repeats a repetition")
        sign = unit["many"].removesuffix(unit["lazy"]) if len(unit["many"]) > 1 else unit["many"]
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign, (-1, None))
        if least < 0:
            least = int(unit["least"])
            most = int(unit["most"]) if unit["most"] else None if unit["comma"] else least
        if most is not None and most < least:
            raise PatternError(f"{unit[0]!r}: the most is less than the least")

        def build(made: _Made, then: int) -> int:
            if most is None:
                loop = made.add(None, [])
                made.after[loop] += [part(made, loop), then]
                then = loop
            else:
                last = then
                for _ in range(most - least):
                    then = made.add(None, [part(made, then), last])
            for _ in range(least):
                then = part(made, then)
            return then

        return build


@lru_cache(maxsize=256)
def pattern(text: str) -> Pattern:
    """Return a pattern, read once. Raises PatternError."""
    return Pattern(text)


def fits(text: str, value: str) -> bool:
    """Tell whether the whole of a value matches a pattern. Raises PatternError."""
    return pattern(text).fits(value)
