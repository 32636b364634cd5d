"""How far a long run is, on a terminal: one line that is drawn over and wiped at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

Step = Callable[[str, int, int], None]
"""Told what is being done, how many are done, and how many there are (0: not known yet)."""

_PATIENCE, _PAUSE = 1.0, 0.1
_BAR = 20


def silent(what: str, done: int, total: int) -> None:
    """Say nothing."""


class Line:
    """Draws progress on a stream that is a terminal.

    Nothing is drawn in the first second, and at most ten times a second after it. clock: seconds, for tests.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._start = self._last = clock()
        self._drawn = False

    def __call__(self, what: str, done: int, total: int) -> None:
        now = self._clock()
        if now - self._start < _PATIENCE or now - self._last < _PAUSE:
            return
        self._last = now
        self._drawn = True
        import shutil

        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r\x1b[K" + _text(what, done, total)[: max(width, 0)])
        self._stream.flush()

    def wipe(self) -> None:
        """Take the line away, so that what is printed next starts on a clean one."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False


def _text(what: str, done: int, total: int) -> str:
    if not total:
        return f"{what} {done:,}"
    full = round(_BAR * min(done / total, 1))
    return f"{what} [{'#' * full}{' ' * (_BAR - full)}] {done:,} of {total:,}"
