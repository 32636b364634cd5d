"""Finds words fast: in the bytes of very many files, and in the texts of those that count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from vllm_migrate.lazy import regex

_FEW = 100
"""Files for which loading a library takes longer than it saves."""
_FEW_TEXTS = 8
"""The same of texts."""
_SAME = 7
"""Letters that words begin with alike, to be looked for together first: as many as make a chance find rare."""
_NAME = regex(r"[^\W\d]\w*")


class Speaks:
    """Whether bytes hold one of some words. words: never empty ones."""

    def __init__(self, words: Sequence[bytes]) -> None:
        self._words = tuple(words)
        self._asked = 0
        self._searches: list[Callable[[bytes | memoryview], object]] | None = None

    def __call__(self, raw: bytes | memoryview) -> bool:
        if self._searches is None:
            if self._asked < _FEW:
                self._asked += 1
                return _hold(self._words, raw)
            self._searches = _searches(self._words)
        for search in self._searches:
            # Asked again below: what is looked for fast may be the beginning of several words.
            if search(raw):
                return _hold(self._words, raw)
        return False


def _hold(words: Sequence[bytes], raw: bytes | memoryview) -> bool:
    whole = bytes(raw)
    return any(word in whole for word in words)


def _searches(words: Sequence[bytes]) -> list[Callable[[bytes | memoryview], object]]:
    """Return what tells whether bytes may hold one of the words: something true where they do.

    One of them is right about the bytes that hold a word; what they say of others is to be looked at again.
    """
    try:
        from ahocorasick_rs import BytesAhoCorasick
    except ImportError:
        return [partial(_hold, words)]
    starts: dict[bytes, list[bytes]] = {}
    for word in words:
        starts.setdefault(word[:_SAME], []).append(word)
    alone = [start if len(same) > 1 else same[0] for start, same in starts.items()]
    # One word each: that takes 20 letters at a time, where all words at once are looked for letter by letter.
    return [BytesAhoCorasick([word]).find_matches_as_indexes for word in alone]


class Names:
    """Finds where some names stand in a text, whole; a digit in front is no part of one."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._asked = 0
        self._search: Callable[[str], Iterable[tuple[int, int, int]]] | None = None

    def places(self, text: str) -> Iterator[int]:
        """Yield where they begin, in any order."""
        if self._search is None and self._asked < _FEW_TEXTS:
            self._asked += 1
            if self._asked == _FEW_TEXTS:
                self._search = _search(self._names)
        if self._search is not None:
            for _, start, end in self._search(text):
                before = start
                while before and text[before - 1].isdecimal():
                    before -= 1
                if not _goes_on(text[end : end + 1]) and not _goes_on(text[before - 1 : before]):
                    yield start
        elif not self._names.isdisjoint(_NAME.findall(text)):
            yield from (m.start() for m in _NAME.finditer(text) if m[0] in self._names)


def _goes_on(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _search(names: Collection[str]) -> Callable[[str], Iterable[tuple[int, int, int]]] | None:
    """Return what finds the names in a text, in longer names too; None where there is no library."""
    try:
        from ahocorasick_rs import AhoCorasick
    except ImportError:
        return None
    found = AhoCorasick(list(names))
    return lambda text: found.find_matches_as_indexes(text, overlapping=True)
