"""Tells fast which bytes hold one of the words that every file about vLLM holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_FEW = 100
"""Files for which loading a library takes longer than it saves."""


class Speaks:
    """Whether bytes hold one of some words. words: never empty ones."""

    def __init__(self, words: Sequence[bytes]) -> None:
        self._words = tuple(words)
        self._asked = 0
        self._searches: list[Callable[[bytes], object]] | None = None

    def __call__(self, raw: bytes) -> bool:
        if self._searches is None:
            if self._asked < _FEW:
                self._asked += 1
                return any(word in raw for word in self._words)
            self._searches = _searches(self._words)
        # A loop: what `any` adds would be a tenth of it.
        for search in self._searches:  # noqa: SIM110
            if search(raw):
                return True
        return False


def _searches(words: Sequence[bytes]) -> list[Callable[[bytes], object]]:
    """Return for each word what tells whether bytes hold it: something true where they do."""
    try:
        from ahocorasick_rs import BytesAhoCorasick
    except ImportError:
        return [_plainly(word) for word in words]
    # One word each: that takes 20 letters at a time, where all words at once are looked for letter by letter.
    return [BytesAhoCorasick([word]).find_matches_as_indexes for word in words]


def _plainly(word: bytes) -> Callable[[bytes], bool]:
    return lambda raw: word in raw
