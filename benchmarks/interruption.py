"""Kills `fix` while it writes: afterwards each file is either old or new, whole, and a second run finishes the work.

A tree of `--files` launch scripts is fixed again and again. A run that nobody kills tells how long the
writing takes, from the first file that changes to the last; every other run is killed (SIGKILL) at a moment spread
evenly over that time, counted from the change of its own first file.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_OLD = "#!/bin/sh\n" + "# padding\n" * 2_000 + "exec vllm serve org/model --swap-space 4 --port {n}\n"
_NEW = _OLD.replace(" --swap-space 4", "")
_FIX = (sys.executable, "-m", "vllm_migrate", "fix", "-q", "--exit-zero", "--to", "0.33.0", ".")


def fill(folder: Path, files: int) -> None:
    for n in range(files):
        (folder / f"s{n:05}.sh").write_text(_OLD.format(n=n))


def states(folder: Path, files: int) -> tuple[int, int, list[str], list[Path]]:
    """Return how many files are old, how many new, which are neither, and which other files lie there."""
    old = new = 0
    torn = []
    names = {f"s{n:05}.sh" for n in range(files)}
    for n, name in enumerate(sorted(names)):
        text = (folder / name).read_text()
        if text == _OLD.format(n=n):
            old += 1
        elif text == _NEW.format(n=n):
            new += 1
        else:
            torn.append(name)
    return old, new, torn, [path for path in folder.iterdir() if path.name not in names]


def started(folder: Path) -> Callable[[], bool]:
    """Return what tells whether the first file is another one than now."""
    path = folder / "s00000.sh"
    before = os.stat(path).st_ino
    return lambda: os.stat(path).st_ino != before


def run(folder: Path, wait: float | None) -> float:
    """Fix the tree; with `wait`, kill the run so many seconds after its first change. Returns seconds of writing."""
    changed = started(folder)
    child = subprocess.Popen(_FIX, cwd=folder, stdout=subprocess.DEVNULL)
    while child.poll() is None and not changed():
        time.sleep(0.0005)
    begin = time.monotonic()
    if wait is not None:
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
        return wait
    last = sorted(folder.glob("s*.sh"))[-1]
    before = os.stat(last).st_ino
    while child.poll() is None and os.stat(last).st_ino == before:
        time.sleep(0.0005)
    took = time.monotonic() - begin
    child.wait()
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    torn_ever = mixed = left = unfinished = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder, given.files)
        whole = run(folder, None)
        if states(folder, given.files)[:3] != (0, given.files, []):
            raise SystemExit("the run that nobody killed did not finish")
        for n in range(given.times):
            fill(folder, given.files)
            run(folder, (n + rng.random()) / given.times * whole)
            old, new, torn, others = states(folder, given.files)
            torn_ever += len(torn)
            mixed += bool(old and new)
            left += len(others)
            if n % 10 == 0:
                run(folder, None)
                unfinished += states(folder, given.files)[0] > 0
            for path in others:
                path.unlink(missing_ok=True)
    print(f"{given.times} kills over the {whole:.2f} s in which {given.files} files are written:")
    print(f"{torn_ever} torn files; {mixed} runs stopped with some files old and some new;")
    print(f"{left} temporary files left behind; {unfinished} second runs that did not finish the work")
    return 1 if torn_ever or unfinished else 0


if __name__ == "__main__":
    raise SystemExit(main())
