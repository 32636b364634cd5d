"""The review as a person sees it: a real terminal, the real engine, real editors, and terminals that go away."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals here", allow_module_level=True)

from terminal import Terminal

from vllm_migrate.cli import main

SCRIPT = b"export VLLM_USE_V1=1\nvllm serve m \\\n  --swap-space 4 \\\n  --calculate-kv-scales \\\n  --port 80\n"
SETTINGS = ("--to", "0.33.0", "--from", "0.17.1", "--ignore", "VM109")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "a.sh").write_bytes(SCRIPT)
    return tmp_path


def review(tree: Path, *more: str, columns: int = 100, **environment: str) -> Terminal:
    return Terminal(["review", *SETTINGS, *more], tree, columns=columns, **environment)


def kept(tree: Path) -> list[str]:
    return [
        answer["word"]
        for file in (tree / ".git" / "vllm-migrate").glob("*.json")
        for answer in json.loads(file.read_text())["answers"]
    ]


def test_a_walk_from_the_first_to_the_last(tree: Path) -> None:
    terminal = review(tree)
    first = terminal.answer("y")
    told = ("1 of 3", "in vllm serve m", "VLLM_USE_V1 is ignored", "silently ignored", "why", "evidence", "a.sh:1:8")
    for text in told:
        assert text in first
    assert "\x1b[1;32msafe\x1b[0m" in first
    assert "\x1b[31mexport VLLM_USE_V1=1\x1b[0m" in first
    second = terminal.answer("x")
    assert "breaks at start" in second and "0.17.1 → 0.33.0, gone since 0.18.0" in second
    assert "What to do:" in terminal.answer("y"), "explained, and asked again"
    third = terminal.answer("y")
    assert "\x1b[1;33munsafe: a person must agree\x1b[0m" in third
    assert "a person must decide" in third and "without scales in the checkpoint" in third
    assert (tree / "a.sh").read_bytes() == SCRIPT, "nothing is written before the end"
    terminal.wait("Write 3 accepted fixes to 1 file?")
    terminal.type("y\n")
    assert terminal.end() == 0
    assert "3 fixes applied, 0 findings left." in terminal.text
    assert (tree / "a.sh").read_bytes() == b"vllm serve m \\\n  --port 80\n"
    assert kept(tree) == []


def test_words_that_differ_are_marked(tree: Path) -> None:
    (tree / "a.sh").write_bytes(b"vllm serve m --compilation-config '{\"level\": 3, \"custom_ops\": []}'\n")
    part = review(tree).answer("q")
    assert "\x1b[31;7mlevel\x1b[0m" in part and "\x1b[32;7mmode\x1b[0m" in part
    assert part.count("custom_ops") == 2


def test_without_colour_and_on_a_narrow_terminal(tree: Path) -> None:
    terminal = review(tree, "-q", columns=50, NO_COLOR="1")
    part = terminal.answer("q")
    terminal.end()
    assert "\x1b" not in part
    assert "- export VLLM_USE_V1=1" in part
    notes = [line for line in part.splitlines() if re.match(r"  = |    \S", line)]
    assert notes and all(len(line) <= 50 for line in notes)


def test_it_is_what_fix_writes(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "fixtures" / "example"
    one, other = tmp_path / "one", tmp_path / "other"
    for root in (one, other):
        shutil.copytree(example, root)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    terminal = Terminal(["review", "--to", "0.33.0", "--no-unsafe-fixes"], one)
    while "Write" not in terminal.wait(" "):
        if "(?) " in terminal.text[terminal.text.rfind("\n") :]:
            terminal.type("y\n")
    terminal.type("y\n")
    terminal.end()
    assert main(["fix", "--to", "0.33.0", "--exit-zero", "-q", "--output-format", "concise", str(other)]) == 0
    for path in sorted(p for p in example.rglob("*") if p.is_file()):
        name = path.relative_to(example)
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_a_terminal_that_closes_loses_nothing(tree: Path) -> None:
    terminal = review(tree)
    terminal.answer("y")
    terminal.answer("n")
    terminal.wait("3 of 3")
    terminal.hang_up()
    assert (tree / "a.sh").read_bytes() == SCRIPT
    assert kept(tree) == ["accept", "skip"]
    again = review(tree)
    assert "Going on with 2 answers from before" in again.wait("3 of 3")
    again.answer("n")
    again.wait("Write 1 accepted fix to 1 file?")
    again.type("y\n")
    assert again.end() == 1
    assert (tree / "a.sh").read_bytes() == SCRIPT.partition(b"\n")[2]


@pytest.mark.parametrize("key", ["\x04", "\x03"])
def test_the_end_of_the_answers_and_an_interrupt_keep_them(tree: Path, key: str) -> None:
    terminal = review(tree)
    terminal.answer("y")
    terminal.wait("(?) ")
    terminal.press(key, until="nothing more is written")
    assert terminal.end() == 1
    assert "1 answer kept, nothing more is written" in terminal.text
    assert (tree / "a.sh").read_bytes() == SCRIPT
    assert kept(tree) == ["accept"]


def editor(tree: Path, body: str) -> str:
    script = tree.parent / f"editor-{tree.name}"
    script.write_text(f"#!{sys.executable}\nimport pathlib, sys\npath = pathlib.Path(sys.argv[1])\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def test_an_editor_that_edits(tree: Path) -> None:
    program = editor(tree, "path.write_text(path.read_text() + '  --seed 1 \\\\\\n')")
    terminal = review(tree, VISUAL="", EDITOR=program)
    terminal.answer("n")
    terminal.answer("e")
    terminal.answer("n")
    terminal.wait("Write 1 accepted fix")
    terminal.type("y\n")
    terminal.end()
    text = (tree / "a.sh").read_bytes()
    assert b"--swap-space" not in text and b"  --seed 1 \\\n" in text, text


def test_an_editor_that_fails(tree: Path) -> None:
    terminal = review(tree, VISUAL=editor(tree, "path.write_text('half'); sys.exit(3)"))
    terminal.answer("e")
    assert "The editor failed" in terminal.answer("q")
    terminal.end()
    assert (tree / "a.sh").read_bytes() == SCRIPT
    assert kept(tree) == []


def test_an_edit_that_does_not_parse_is_refused(tree: Path) -> None:
    (tree / "a.sh").unlink()
    (tree / "a.py").write_text("from vllm import LLM\nLLM('m',\n    swap_space=4,\n    seed=1)\n")
    before = (tree / "a.py").read_bytes()
    terminal = review(tree, VISUAL=editor(tree, "path.write_text('    seed=((1)\\n')"))
    terminal.answer("e")
    assert "a.py: the edited text does not parse" in terminal.answer("q")
    terminal.end()
    assert (tree / "a.py").read_bytes() == before


def test_a_file_changed_under_the_review(tree: Path) -> None:
    terminal = review(tree)
    terminal.answer("y")
    terminal.wait("(?) ")
    (tree / "a.sh").write_bytes(b"# mine\n" + SCRIPT)
    terminal.type("y\n")
    part = terminal.wait("1 of 3")
    assert "A file changed under the review: it was read again." in part
    assert "1 answer no longer hold" in part
    terminal.answer("a")
    terminal.answer("q")
    terminal.wait("Write 1 accepted fix")
    terminal.type("y\n")
    terminal.end()
    assert (tree / "a.sh").read_bytes() == b"# mine\n" + SCRIPT.partition(b"\n")[2]


def test_signals_wait_until_all_is_written() -> None:
    from vllm_migrate.write import unbroken

    came: list[str] = []
    before = signal.signal(signal.SIGHUP, lambda *_: came.append("signal"))
    try:
        with unbroken():
            os.kill(os.getpid(), signal.SIGHUP)
            came.append("written")
        assert came == ["written", "signal"]
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("columns", "beside"), [(140, True), (70, False)])
def test_reasons_stand_beside_the_hunk_where_there_is_room(tree: Path, columns: int, beside: bool) -> None:
    part = review(tree, "-q", columns=columns, NO_COLOR="1").answer("q")
    lines = [line for line in part.splitlines() if "- export VLLM_USE_V1=1" in line]
    assert len(lines) == 1
    assert (" │ - export" in lines[0] and len(lines[0].partition("│")[0].strip()) > 20) is beside
    assert all(len(line) <= columns for line in part.splitlines() if "(?)" not in line)
