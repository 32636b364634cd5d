"""Kills `fix` at random moments: afterwards each file is either old or new, whole, and a second run finishes the work.

A tree of `--files` launch scripts is fixed again and again, each time killed (SIGKILL) at some moment before its end;
`--late` moves those moments towards the end, where files are written.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_OLD = "#!/bin/sh\n" + "# padding\n" * 2_000 + "exec vllm serve org/model --swap-space 4 --port {n}\n"
_NEW = _OLD.replace(" --swap-space 4", "")
_FIX = (sys.executable, "-m", "vllm_migrate", "fix", "-q", "--exit-zero", "--to", "0.33.0", ".")


def fill(folder: Path, files: int) -> None:
    for n in range(files):
        (folder / f"s{n}.sh").write_text(_OLD.format(n=n))


def states(folder: Path, files: int) -> tuple[int, int, list[str], int]:
    """Return how many files are old, how many new, which are neither, and how many other files lie there."""
    old = new = 0
    torn = []
    for n in range(files):
        text = (folder / f"s{n}.sh").read_text()
        if text == _OLD.format(n=n):
            old += 1
        elif text == _NEW.format(n=n):
            new += 1
        else:
            torn.append(f"s{n}.sh")
    return old, new, torn, len(list(folder.iterdir())) - files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--late", type=float, default=0.1, help="earliest moment, as a part of a whole run")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    torn_ever = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder, given.files)
        begin = time.monotonic()
        subprocess.run(_FIX, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        whole = time.monotonic() - begin
        if states(folder, given.files) != (0, given.files, [], 0):
            raise SystemExit("the run that nobody killed did not finish")
        mixed = left = 0
        for _ in range(given.times):
            fill(folder, given.files)
            child = subprocess.Popen(_FIX, cwd=folder, stdout=subprocess.DEVNULL)
            time.sleep(rng.uniform(given.late, 1.05) * whole)
            child.send_signal(signal.SIGKILL)
            child.wait()
            old, new, torn, others = states(folder, given.files)
            torn_ever += len(torn)
            mixed += bool(old and new)
            left += others
            for path in folder.iterdir():
                if not path.name.endswith(".sh"):
                    path.unlink()
        print(f"{given.times} kills over {whole:.1f} s: {torn_ever} torn files; {mixed} runs stopped between two;")
        print(f"{left} temporary files were left beside them")
    return 1 if torn_ever else 0


if __name__ == "__main__":
    raise SystemExit(main())
