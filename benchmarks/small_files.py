"""CPU time of whole processes on one small file of every format, as a hook is given them, in units of `python -c pass`.

The files speak of vLLM and all is well with them (`tests/cli/clean_files.py`), but for two that say nothing of it.
Each program is run `--times` times in turn with the others and with `python -c pass`, and the median counts. A program
that is not installed is left out; `--with FOLDER` names more folders to look for them in. Modules are compiled
beforehand, as an installation leaves them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from speed import Command

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import clean_files  # noqa: E402

_OURS = (sys.executable, "-m", "vllm_migrate", "check", "--to", clean_files.TO)
_ANY = ("python -c pass", "vllm-migrate")
_RUFF = ("ruff", "check", "--no-cache", "--isolated", "--select", "F401")
_PYTHON = {
    "pyupgrade": ("pyupgrade",),
    "django-upgrade": ("django-upgrade",),
    "torchfix": ("torchfix",),
    "ruff": _RUFF,
}
_YAML = {"yamllint": ("yamllint", "-d", "relaxed")}
PEERS = {
    ".py": _PYTHON,
    ".ipynb": {"ruff": _RUFF},
    ".yaml": _YAML,
    ".yml": _YAML,
    "Dockerfile": {"hadolint": ("hadolint",)},
}
"""The end of a file's name → programs that read such a file, and how they are called."""


def commands(name: str, path: str) -> list[Command]:
    """Return what is compared on a file: nothing at all, this program, and its peers."""
    held = [Command(_ANY[0], (sys.executable, "-c", "pass")), Command(_ANY[1], (*_OURS, path))]
    for end, peers in PEERS.items():
        if name.endswith(end):
            held += [Command(peer, (*words, path)) for peer, words in peers.items() if shutil.which(words[0])]
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--with", dest="folders", nargs="*", default=[], metavar="FOLDER")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PATH"] = os.pathsep.join([*given.folders, str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ["PYTHONPATH"] = str(ROOT)
    print("| file | pass, ms | vllm-migrate | peers |\n| --- | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        clean_files.write(Path(folder))
        for name in (*clean_files.QUIET, *clean_files.FILES):
            top, _, path = name.partition("/")
            held = commands(name, path)
            for i in range(given.times + 1):
                for command in held:
                    command.run(Path(folder, top))
                    if i == 0:  # what it compiled is there from now on
                        command.seconds.clear()
            unit, ours, *peers = (statistics.median(c.seconds) for c in held)
            told = ", ".join(f"{c.name} {s / unit:.1f}" for c, s in zip(held[2:], peers, strict=True))
            print(f"| {name} | {unit * 1000:.0f} | {ours / unit:.1f} | {told} |", flush=True)


if __name__ == "__main__":
    main()
