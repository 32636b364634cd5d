"""Walking through fixes one by one."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from standin import Run

TEXT = b"vllm serve m --swap-space 4 --risky --note\r\nvllm serve n --swap-space 8\r\n"


@pytest.fixture
def file(here: Path) -> Path:
    path = here / "a.sh"
    path.write_bytes(TEXT)
    return path


def test_accept_and_skip(run: Run, file: Path) -> None:
    ran = run("review", stdin=b"s\na\na\n")
    assert file.read_bytes() == b"vllm serve m --swap-space 4 --note\r\nvllm serve n\r\n"
    assert ran.status == 1, "the one skipped remains"
    assert "2 fixes applied, 2 findings left." in ran.err
    assert ran.out.count(b"VM101]: --swap-space is gone") == 2


def test_accepting_takes_one_fix_only(run: Run, file: Path) -> None:
    run("review", stdin=b"a\nq\n")
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")


def test_everything_accepted_is_clean(run: Run, file: Path) -> None:
    assert run("review", stdin=b"a\na\na\n").status == 0
    assert file.read_bytes() == b"vllm serve m --note\r\nvllm serve n\r\n"


@pytest.mark.parametrize("answers", [b"q\n", b"", b"s\ns\ns\n", b"s\n"])
def test_quitting_or_running_out_of_answers_writes_nothing(run: Run, file: Path, answers: bytes) -> None:
    ran = run("review", stdin=answers)
    assert ran.status == 1
    assert file.read_bytes() == TEXT


def test_unsafe_ones_can_be_left_out(run: Run, file: Path) -> None:
    ran = run("review", "--no-unsafe-fixes", stdin=b"s\ns\n")
    assert b"--risky is gone" not in ran.out
    assert "0 fixes applied" in ran.err


def test_explain_asks_again(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_migrate.explain.explanation", lambda what, config: f"{what}: why\n")
    ran = run("review", stdin=b"x\na\nq\n")
    assert b"VM101: why" in ran.out
    assert ran.out.count(b"VM101]: --swap-space is gone") == 2
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")


def test_edit_writes_what_the_person_wrote(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def edit(text: str, **_: object) -> str:
        shown.append(text)
        return text.replace("serve m", "serve m --port 80") + "# kept small\n"

    monkeypatch.setattr(click, "edit", edit)
    run("review", stdin=b"e\nq\n")
    assert shown == ["vllm serve m --risky --note\n"]
    assert file.read_bytes() == (
        b"vllm serve m --port 80 --risky --note\r\n# kept small\r\nvllm serve n --swap-space 8\r\n"
    )


def test_an_edit_given_up_writes_nothing(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click, "edit", lambda text, **_: None)
    run("review", stdin=b"e\nq\n")
    assert file.read_bytes() == TEXT


def test_standard_input_is_refused(run: Run) -> None:
    assert run("review", "-").status == 2
