"""The tutorial, run as it stands: every command, its exit status, and what the page says it prints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import DOCS, Block, blocks

ROOT = DOCS.parent
ANSWERS_END = "\ny\n"


class Shell:
    """One shell session, a block at a time: the folder and what was printed last stay."""

    def __init__(self, folder: Path) -> None:
        self.here = folder
        self.printed = ""
        programs = folder.parent / "bin"
        programs.mkdir()
        shim = programs / "vllm-migrate"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vllm_migrate "$@"\n')
        shim.chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "XDG_STATE_HOME": str(folder.parent / "state"),
            "NO_COLOR": "1",
        }

    def run(self, block: Block) -> int:
        script = f'{block.text}status=$?\npwd > "{self.here.parent}/.here"\nexit $status\n'
        answers = block.given("answers")
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.here,
            env=self.environment,
            input=None if answers is None else answers.replace(",", "\n") + ANSWERS_END,
            stdin=subprocess.DEVNULL if answers is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        self.printed = done.stdout
        self.here = Path((self.here.parent / ".here").read_text().strip())
        return done.returncode


def holds(printed: str, shown: str) -> bool:
    """Tell whether a page shows what was printed: its lines in order, `…` for any lines between."""
    lines = [line.rstrip() for line in printed.splitlines()]
    at, anywhere = 0, True
    for line in (s.rstrip() for s in shown.splitlines()):
        if line == "…":
            anywhere = True
            continue
        if line not in lines[at:] or (not anywhere and lines[at] != line):
            return False
        at = lines.index(line, at) + 1
        anywhere = False
    return True


def follow(shell: Shell, page: Path) -> int:
    """Run what a page shows, in order, and compare what is printed; returns how many commands that were."""
    ran = 0
    for block in blocks(page):
        if "run" in block.words:
            status = shell.run(block)
            assert status == int(block.given("exit") or 0), f"line {block.line}: {shell.printed}"
            ran += 1
        elif "output" in block.words:
            assert holds(shell.printed, block.text), f"line {block.line}:\n{shell.printed}"
    return ran


def test_the_tutorial_holds(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "fixtures" / "example", clone / "fixtures" / "example")
    assert follow(Shell(clone), DOCS / "tutorial.md") > 8


def test_every_command_of_the_tutorial_is_run() -> None:
    loose = [b for b in blocks(DOCS / "tutorial.md") if b.language == "sh" and not {"run", "setup"} & set(b.words)]
    assert loose == []


def test_the_readme_sets_up_as_the_tutorial_does() -> None:
    setup = next(b for b in blocks(DOCS / "tutorial.md") if "setup" in b.words)
    first = next(b for b in blocks(ROOT / "README.md") if b.language == "sh")
    assert setup.text.split(" && ")[:2] == first.text.split(" && ")[:2]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [("a\n…\nd\n", True), ("a\nb\n", True), ("a\nc\n", False), ("…\nc\nd\n", True), ("b\na\n", False), ("e\n", False)],
)
def test_outputs_are_compared_line_by_line(shown: str, expected: bool) -> None:
    assert holds("a\nb\nc\nd\n", shown) is expected
