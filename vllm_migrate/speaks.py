"""Tells fast which bytes hold one of the words that every file about vLLM holds.

Looking for a dozen words in every file of a large repository takes longer than reading the files. Most letters of
a text cannot be told from those of any other, so they are left out first, in one pass: the words must then stand in
what is left. Only where one does are they looked for in full.
"""

from __future__ import annotations

from collections.abc import Sequence

_KEPT = b"vlmgkyfpub_/"
"""Rare letters of code and prose, and common ones of the words; upper case counts as lower, a dot as `_`."""
_SHORTEST = 3
"""A word of which less is left is looked for in full."""


class Speaks:
    """Whether bytes hold one of some words. words: never empty ones."""

    def __init__(self, words: Sequence[bytes]) -> None:
        self.words = tuple(words)
        table = bytearray(bytes(range(256)).lower())
        table[ord(".")] = ord("_")
        self._table = bytes(table)
        self._left_out = bytes(c for c in range(256) if table[c] not in _KEPT)
        self._whole: list[bytes] = []
        self._marks: dict[bytes, list[bytes]] = {}
        for word in self.words:
            mark = self._thinned(word)
            if len(mark) < _SHORTEST:
                self._whole.append(word)
            else:
                self._marks.setdefault(mark, []).append(word)

    def _thinned(self, raw: bytes) -> bytes:
        return raw.translate(self._table, self._left_out)

    def __call__(self, raw: bytes) -> bool:
        for word in self._whole:
            if word in raw:
                return True
        thin = self._thinned(raw)
        held = [words for mark, words in self._marks.items() if mark in thin]
        return any(word in raw for words in held for word in words)
