"""Walking through fixes one by one."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from standin import Run

from vllm_migrate.config import Config
from vllm_migrate.findings import FileResult

TEXT = b"vllm serve m --swap-space 4 --risky --note\r\nvllm serve n --swap-space 8\r\n"


@pytest.fixture
def file(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (here / ".git").mkdir()
    path = here / "a.sh"
    path.write_bytes(TEXT)
    return path


def kept(here: Path) -> list[str]:
    files = list((here / ".git").glob("vllm-migrate/*"))
    return [a["word"] for f in files for a in json.loads(f.read_text())["answers"]]


def test_accept_and_skip(run: Run, file: Path) -> None:
    ran = run("review", stdin=b"n\ny\ny\ny\n")
    assert file.read_bytes() == b"vllm serve m --swap-space 4 --note\r\nvllm serve n\r\n"
    assert ran.status == 1, "the one skipped remains"
    assert "Write 2 accepted fixes to 1 file?" in ran.err
    assert "2 fixes applied, 2 findings left." in ran.err
    assert ran.out.count(b"VM101]: --swap-space is gone") == 2
    assert kept(file.parent) == [], "a review that is done is forgotten"


@pytest.mark.parametrize("words", [b"accept\nskip\nskip\naccept\n", b"yes\nno\ns\nYES\n", b"what?\n\ny\nn\nn\ny\n"])
def test_answers_may_be_words_and_others_are_asked_again(run: Run, file: Path, words: bytes) -> None:
    ran = run("review", stdin=words)
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")
    assert ("y  accept" in ran.err) == words.startswith(b"what"), "help where an answer is none"


def test_everything_accepted_is_clean(run: Run, file: Path) -> None:
    assert run("review", stdin=b"y\ny\ny\ny\n").status == 0
    assert file.read_bytes() == b"vllm serve m --note\r\nvllm serve n\r\n"


@pytest.mark.parametrize("answers", [b"q\n", b"", b"n\nn\nn\n", b"n\n", b"y\n", b"y\ny\ny\n", b"y\nq\nn\n", b"y\nq\n"])
def test_nothing_is_written_before_the_person_says_so(run: Run, file: Path, answers: bytes) -> None:
    ran = run("review", stdin=answers)
    assert ran.status == 1
    assert file.read_bytes() == TEXT


def test_quitting_may_write_what_was_accepted(run: Run, file: Path) -> None:
    run("review", stdin=b"y\nq\ny\n")
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")


def test_it_goes_on_where_it_stopped(run: Run, file: Path) -> None:
    assert "2 answers kept, nothing more is written" in run("review", stdin=b"y\nn\n").err
    assert kept(file.parent) == ["accept", "skip"]
    ran = run("review", stdin=b"y\ny\n")
    assert "Going on with 2 answers from before" in ran.err
    assert ran.out.count(b" of 3") == 1 and b"3 of 3" in ran.out
    assert file.read_bytes() == b"vllm serve m --risky --note\r\nvllm serve n\r\n"
    assert kept(file.parent) == []


def test_what_was_skipped_stays_skipped_after_some_were_written(run: Run, file: Path) -> None:
    run("review", stdin=b"y\nn\nq\ny\n")
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")
    assert kept(file.parent) == ["skip"]
    ran = run("review", stdin=b"y\ny\n")
    assert b"--risky is gone" not in ran.out
    assert file.read_bytes() == b"vllm serve m --risky --note\r\nvllm serve n\r\n"


def test_restart_asks_everything_again(run: Run, file: Path) -> None:
    run("review", stdin=b"n\nn\n")
    ran = run("review", "--restart", stdin=b"")
    assert b"1 of 3" in ran.out and "Going on" not in ran.err
    assert kept(file.parent) == []


def test_answers_do_not_outlive_a_change_of_the_file(run: Run, file: Path) -> None:
    (file.parent / "b.sh").write_bytes(b"vllm serve b --swap-space 1\n")
    run("review", stdin=b"n\nn\nn\nn\nq\n")
    run("review", stdin=b"y\nn\n")
    file.write_bytes(TEXT + b"# changed\n")
    ran = run("review", stdin=b"")
    assert "2 answers no longer hold, since a file has changed: a.sh" in ran.err
    assert b"1 of 4" in ran.out


def test_a_file_that_cannot_hold_answers_is_told_once(run: Run, file: Path) -> None:
    (file.parent / ".git" / "vllm-migrate").write_bytes(b"")
    ran = run("review", stdin=b"y\nn\nn\ny\n")
    assert ran.err.count("the answers cannot be kept for later") == 1
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"version": 9}', b'{"version":1,"answers":[{}]}'])
def test_kept_answers_of_another_form_are_none(run: Run, file: Path, content: bytes) -> None:
    run("review", stdin=b"n\n")
    (state,) = (file.parent / ".git" / "vllm-migrate").iterdir()
    state.write_bytes(content)
    assert b"1 of 3" in run("review", stdin=b"").out


def test_outside_of_a_repository_the_users_own_folder_keeps_them(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    (here / "a.sh").write_bytes(TEXT)
    run("review", stdin=b"y\n")
    assert len(list((here / "state" / "vllm-migrate").iterdir())) == 1
    assert "Going on with 1 answer" in run("review", stdin=b"").err


def test_back_takes_the_last_answer_back(run: Run, file: Path) -> None:
    ran = run("review", stdin=b"b\ny\ny\nb\nn\nn\ny\n")
    assert "This is the first one." in ran.err
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")
    ran = run("review", stdin=b"y\ny\nb\ny\ny\n")
    assert ran.out.count(b"2 of 2") == 2, "back from the last question too"


def test_all_of_a_rule(run: Run, file: Path) -> None:
    ran = run("review", stdin=b"a\nb\na\nn\ny\n")
    assert "2 fixes of VM101 accepted." in ran.err
    assert file.read_bytes() == b"vllm serve m --risky --note\r\nvllm serve n\r\n"


def test_unsafe_ones_can_be_left_out_and_are_marked(run: Run, file: Path) -> None:
    assert b"2 of 3: unsafe: a person must agree" in run("review", stdin=b"n\n").out
    ran = run("review", "--no-unsafe-fixes", "--restart", stdin=b"n\nn\n")
    assert b"--risky is gone" not in ran.out
    assert "0 fixes applied" in ran.err


def test_explain_asks_again(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_migrate.explain.explanation", lambda what, config: f"{what}: why\n")
    ran = run("review", stdin=b"x\ny\nq\ny\n")
    assert b"VM101: why" in ran.out
    assert ran.out.count(b"1 of 3") == 2
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")


def test_edit_writes_what_the_person_wrote(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def edit(text: str, **given: object) -> str:
        shown.append((text, given["extension"]))
        return text.replace("serve m", "serve m --port 80") + "# kept small\n"

    monkeypatch.setattr(click, "edit", edit)
    ran = run("review", stdin=b"e\nn\ny\ny\n")
    assert shown == [("vllm serve m --risky --note\n", ".sh")]
    assert file.read_bytes() == (b"vllm serve m --port 80 --risky --note\r\n# kept small\r\nvllm serve n\r\n")
    assert "2 fixes applied" in ran.err


def test_an_edit_that_keeps_what_was_found_is_not_asked_about_again(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click, "edit", lambda text, **_: text.replace("m --risky", "m --swap-space 2 --risky"))
    ran = run("review", stdin=b"e\nn\ny\ny\n")
    assert file.read_bytes() == TEXT.replace(b"space 4", b"space 2").replace(b" --swap-space 8", b"")
    assert ran.out.count(b" of 3") == 3 and b" of 2" not in ran.out


def test_an_edit_that_meets_another_accepted_fix_is_left_alone(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click, "edit", lambda text, **_: text.replace("--note", "--port 80"))
    ran = run("review", stdin=b"e\ny\nn\ny\nq\n")
    assert "a.sh: an edited fix meets the lines of another accepted one, left alone" in ran.err
    assert file.read_bytes() == TEXT.replace(b" --risky", b"")
    assert ran.out.count(b"1 of ") == 2, "it is asked about again, as the file now is"


@pytest.mark.parametrize("how", ["closed", "emptied", "failed", "missing"])
def test_an_edit_that_came_to_nothing_changes_nothing(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    editors = {"closed": "true", "emptied": "truncate -s0", "failed": "false", "missing": "/nowhere/editor"}
    monkeypatch.setenv("VISUAL", editors[how])
    ran = run("review", stdin=b"e\nq\n")
    assert file.read_bytes() == TEXT
    assert ran.out.count(b"1 of 3") == 2, "it is still open"
    assert ("The editor failed" in ran.err) == (how in ("failed", "missing"))
    assert kept(file.parent) == []


def test_a_file_that_changes_under_the_review_is_read_again(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(["y", "!", "y", "y", "y", "y", "y"])

    def prompt(*_: object, **__: object) -> str:
        answer = next(answers)
        if answer == "!":
            file.write_bytes(b"# new\n" + TEXT)
            answer = "y"
        return answer

    monkeypatch.setattr(click, "prompt", prompt)
    ran = run("review")
    assert "A file changed under the review: it was read again." in ran.err
    assert "1 answer no longer hold" in ran.err
    assert file.read_bytes() == b"# new\nvllm serve m --note\r\nvllm serve n\r\n"


def test_a_file_that_changes_before_it_is_written_is_asked_about_again(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []

    def prompt(question: str, **_: object) -> str:
        questions.append(question)
        if question.startswith("Write") and len(questions) == 4:
            file.write_bytes(b"# new\n" + TEXT)
        return "y"

    monkeypatch.setattr(click, "prompt", prompt)
    run("review")
    assert len(questions) == 8
    assert file.read_bytes() == b"# new\nvllm serve m --note\r\nvllm serve n\r\n"


def test_what_cannot_be_written_is_kept_and_told(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_migrate import write

    real = write.prepare

    def prepare(path: Path, *rest: bytes, **named: Path) -> None:
        raise write.WriteError(f"{path}: read-only, not written")

    monkeypatch.setattr(write, "prepare", prepare)
    ran = run("review", stdin=b"y\nn\nn\ny\n")
    assert ran.status == 2
    assert "a.sh: read-only, not written" in ran.err
    assert file.read_bytes() == TEXT
    monkeypatch.setattr(write, "prepare", real)
    assert run("review", stdin=b"y\n").status == 1
    assert file.read_bytes() == TEXT.replace(b" --swap-space 4", b"")


def test_a_fix_that_no_longer_applies_is_told_and_left(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import standin

    real = standin._file

    def unwilling(name: str, raw: bytes, settings: Config, known: object) -> FileResult:
        result = real(name, raw, settings, known)  # type: ignore[arg-type]
        if settings.chosen is not None and raw == TEXT:
            result.fixed, result.applied = None, []
        return result

    monkeypatch.setattr(standin, "_file", unwilling)
    ran = run("review", stdin=b"y\nn\nn\ny\n")
    assert "a.sh: --swap-space: the fix no longer applies, left alone" in ran.err
    assert "0 fixes applied" in ran.err and ran.status == 1
    assert file.read_bytes() == TEXT


def test_standard_input_is_refused(run: Run) -> None:
    assert run("review", "-").status == 2
