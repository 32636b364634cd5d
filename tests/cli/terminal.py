"""A terminal for a program: what it prints can be waited for, what a person types is typed."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Terminal:
    """Runs vllm-migrate in a pseudo-terminal of its own session."""

    def __init__(self, arguments: Sequence[str], cwd: Path, *, columns: int = 100, **environment: str) -> None:
        self._here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

        def own() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        names = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vllm_migrate", *arguments],
            cwd=cwd,
            env={**names, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **environment},
            stdin=there,
            stdout=there,
            stderr=there,
            preexec_fn=own,
        )
        os.close(there)
        self.text = ""
        self._seen = 0

    def wait(self, wanted: str) -> str:
        """Return what was printed since the last wait, up to and with a text."""
        until = time.monotonic() + PATIENCE
        while wanted not in self.text[self._seen :]:
            if not self._read(until - time.monotonic()):
                raise AssertionError(f"{wanted!r} did not come: {self.text[self._seen:]}")
        end = self.text.index(wanted, self._seen) + len(wanted)
        part, self._seen = self.text[self._seen : end], end
        return part

    def answer(self, text: str) -> str:
        """Wait for a question and type a line; returns what was printed before it."""
        part = self.wait("(?) ")
        self.type(text + "\n")
        return part

    def type(self, text: str) -> None:
        os.write(self._here, text.encode())

    def press(self, key: str, until: str) -> None:
        """Press a key that ends something, again where it came before the program was ready for it."""
        for _ in range(int(PATIENCE)):
            self.type(key)
            if self._comes(until, 1.0):
                return
        raise AssertionError(f"{until!r} did not come: {self.text[self._seen:]}")

    def _comes(self, wanted: str, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while wanted not in self.text[self._seen :]:
            ready, _, _ = select.select([self._here], [], [], max(until - time.monotonic(), 0))
            if not ready or not self._read(1.0):
                return wanted in self.text[self._seen :]
        return True

    def end(self) -> int:
        """Read to the end and return the exit status."""
        until = time.monotonic() + PATIENCE
        while self._read(until - time.monotonic()):
            pass
        return self.process.wait(PATIENCE)

    def hang_up(self) -> int:
        """Close the terminal, as a window or a connection that goes away does; return the exit status."""
        os.close(self._here)
        return self.process.wait(PATIENCE)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._here], [], [], max(seconds, 0))
        if not ready:
            self.process.send_signal(signal.SIGKILL)
            return False
        try:
            got = os.read(self._here, 1 << 16)
        except OSError:
            # The other end is closed: the program has ended.
            return False
        self.text += got.decode("utf-8", "replace")
        return bool(got)
