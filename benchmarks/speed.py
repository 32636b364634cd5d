"""CPU seconds and peak memory of whole processes on trees, as ratios against other programs in the same run.

Trees are made from a seed (`trees.py`) below FOLDER, once. A program that is not installed is left out. Each command is
run `--times` times in turn with the others, and the median counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trees import make

_OURS = (sys.executable, "-m", "vllm_migrate")
_TO = ("--to", "0.33.0")


@dataclass
class Command:
    """One program on one tree.

    seconds: user and system time, of its children too. peak: the largest resident set, in MB.
    """


    name: str
    words: Sequence[str]
    once: bool = False
    """It takes minutes: run once, whatever `--times` says."""
    seconds: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)

    def run(self, folder: Path) -> None:
        child = subprocess.Popen(self.words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, used = os.wait4(child.pid, 0)
        self.seconds.append(used.ru_utime + used.ru_stime)
        self.peak.append(used.ru_maxrss / 1024)


def commands(first: str) -> list[Command]:
    """Return what is compared on a tree; the first is what the others are measured in."""
    known = {
        "git grep -lI vllm": ("git", "grep", "-lI", "vllm"),
        "rg -l vllm": ("rg", "-l", "vllm"),
        "ruff check, one rule, no cache": ("ruff", "check", "--no-cache", "--isolated", "--select", "F401", "."),
        "vllm-migrate check": (*_OURS, "check", "-q", *_TO, "--output-format", "concise", "."),
        "vllm-migrate fix --diff": (*_OURS, "fix", "--diff", "-q", *_TO, "."),
    }
    slow = {
        "ast-grep, one pattern, Python": ("ast-grep", "run", "-l", "py", "-p", "LLM($$$)", "."),
        "semgrep, one pattern, Python": ("semgrep", "scan", "--metrics", "off", "-l", "py", "-e", "LLM(...)", "."),
        "pyupgrade, Python": _over("*.py", "pyupgrade"),
        "django-upgrade, Python": _over("*.py", "django-upgrade"),
        "hadolint, Dockerfiles": _over("*Dockerfile", "hadolint"),
        "yamllint, YAML": _over("*.yaml", "yamllint", "-d", "relaxed"),
    }
    programs = ("ast-grep", "semgrep", "pyupgrade", "django-upgrade", "hadolint", "yamllint")
    here = [Command(name, words) for name, words in known.items() if shutil.which(words[0])]
    for program, (name, words) in zip(programs, slow.items(), strict=True):
        if shutil.which(program):
            here.append(Command(name, words, once=True))
    return sorted(here, key=lambda c: c.name != first)


def _over(pattern: str, *words: str) -> tuple[str, ...]:
    """Return the command that hands a program the files of a kind: some walk no folders by themselves."""
    return ("sh", "-c", f"git ls-files -z '{pattern}' | xargs -0 {' '.join(words)}")


def table(title: str, held: Sequence[Command]) -> str:
    """Return a Markdown table of medians, and of seconds in units of the first command."""
    unit = statistics.median(held[0].seconds)
    rows = [f"\n{title}\n\n| program | CPU s | times the first | peak MB |\n| --- | ---: | ---: | ---: |\n"]
    for command in held:
        seconds, peak = statistics.median(command.seconds), statistics.median(command.peak)
        rows.append(f"| {command.name} | {seconds:.2f} | {seconds / unit:.1f} | {peak:.0f} |\n")
    return "".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, nargs="+", default=[2_000, 50_000])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--fast", action="store_true", help="leave out the programs that take minutes")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for files in given.files:
        tree = given.folder / f"tree{files}"
        if not tree.exists():
            make(tree, files, min(400, files), given.seed)
            subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
            subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
        held = commands("git grep -lI vllm")
        for time in range(given.times):
            for command in held:
                if not (time and command.once) and not (command.once and given.fast):
                    command.run(tree)
        print(table(f"{files:,} files", [c for c in held if c.seconds]), flush=True)


if __name__ == "__main__":
    main()
