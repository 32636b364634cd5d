"""How long one file may take: a text made to keep a reader busy must not keep the run from its end.

Readers are to take time in proportion to a text's length, and nearly always do; this is for what they do not foresee.
Time is that of the processor, so that a busy machine changes nothing.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

SECONDS = 20.0
SECONDS_A_MEGABYTE = 20.0


class TooLong(BaseException):
    """The time is over. No handler of other errors takes it for one."""


class Limited:
    """`with Limited(letters):` raises TooLong inside once the time for a text of that length is over.

    Without effect where there is no such clock (Windows, another thread than the main one). One may lie inside
    another: the time of the inner one is its own.
    """

    def __init__(self, letters: int) -> None:
        self.seconds = SECONDS + SECONDS_A_MEGABYTE * letters / 1e6
        self._before: tuple[Any, tuple[float, float]] | None = None

    def __enter__(self) -> None:
        import signal

        if not hasattr(signal, "setitimer"):
            return
        try:
            handler = signal.signal(signal.SIGVTALRM, _ring)
        except ValueError:
            return
        # It rings again, since what is raised in a finalizer is lost.
        self._before = handler, signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds, 1.0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            import signal

            handler, (left, interval) = self._before
            signal.setitimer(signal.ITIMER_VIRTUAL, left, interval)
            signal.signal(signal.SIGVTALRM, handler if handler is not None else signal.SIG_DFL)


def told(error: BaseException, done: str) -> str:
    """Return how a file's problem is put that an error of ours makes; `done` is what could not be ("read").

    Raises the error itself where the environment asks for it.
    """
    if isinstance(error, TooLong):
        return f"takes too long to be {done}"
    if isinstance(error, RecursionError):
        return f"nested too deeply to be {done}"
    import os

    if os.environ.get("VLLM_MIGRATE_TRACEBACK"):
        raise error
    return f"could not be {done} ({type(error).__name__}: {error})"


def _ring(_number: int, _frame: Any) -> None:
    raise TooLong
