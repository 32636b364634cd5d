"""What the commands print, write and return."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from standin import Run

BAD = b"vllm serve m --swap-space 4 --port 80\n"
RISKY = b"vllm serve m --swap-space 4 --risky --note\r\n"


def test_check_reports_and_writes_nothing(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(BAD)
    ran = run("check", "--to", "0.33.0", "--output-format", "concise")
    assert ran.status == 1
    assert ran.lines == ["a.sh:1:14: VM101 [*] --swap-space is gone"]
    assert "Found 1 error (1 file read, 1 launch)." in ran.err
    assert (here / "a.sh").read_bytes() == BAD


def test_a_clean_tree(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(b"vllm serve m\n")
    ran = run("check", "--to", "0.33.0")
    assert (ran.status, ran.out) == (0, b"")
    assert "Nothing found" in ran.err


def test_quiet_prints_the_result_only(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(BAD)
    assert "taking 0.33.0" in run("check").err
    ran = run("check", "-q", "--output-format", "json")
    assert ran.err == ""
    assert json.loads(ran.out)["summary"]["errors"] == 1


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 1),
        (["--fail-on", "error"], 0),
        (["--fail-on", "warning"], 1),
        (["--exit-zero"], 0),
        (["--select", "VM109"], 0),
        (["--select", "VM109", "--fail-on", "info"], 1),
        (["--ignore", "VM3,VM101"], 0),
        (["--ignore", "VM3", "--ignore", "VM101", "--fail-on", "info"], 1),
    ],
)
def test_exit_status_of_check(run: Run, here: Path, arguments: list[str], status: int) -> None:
    (here / "a.sh").write_bytes(b"vllm serve m --risky --note\n")
    assert run("check", *arguments).status == status


def test_fix_writes_safe_fixes_and_reports_the_rest(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(RISKY)
    ran = run("fix", "--output-format", "concise")
    assert (here / "a.sh").read_bytes() == b"vllm serve m --risky --note\r\n"
    assert ran.status == 1
    assert ran.lines == ["a.sh:1:14: VM301 --risky is gone", "a.sh:1:22: VM109 --note is gone"]
    assert "a.sh: 1 fix\n  Remove --swap-space" in ran.err
    assert "1 fix left out: unsafe" in ran.err
    again = run("fix", "--output-format", "concise")
    assert again.lines == ran.lines
    assert "a.sh: 1 fix" not in again.err


def test_fix_with_unsafe_fixes_leaves_nothing_to_fail_on(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(RISKY)
    assert run("fix", "--unsafe-fixes").status == 0
    assert (here / "a.sh").read_bytes() == b"vllm serve m --note\r\n"


def test_check_with_fix_is_fix(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(BAD)
    assert run("check", "--fix").status == 0
    assert (here / "a.sh").read_bytes() == b"vllm serve m --port 80\n"


def test_diff_prints_what_fix_writes(run: Run, here: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    (here / "deep").mkdir()
    (here / "deep" / "a.sh").write_bytes(RISKY + b"# no newline at the end")
    (here / "b.sh").write_bytes(BAD)
    patch = run("diff")
    assert patch.status == 1
    assert "1 fix left out: unsafe" in patch.err
    assert run("fix", "--diff").out == run("check", "--diff").out == patch.out
    assert (here / "b.sh").read_bytes() == BAD
    done = subprocess.run(["git", "apply", "-"], input=patch.out, cwd=here)
    assert done.returncode == 0
    applied = {name: (here / name).read_bytes() for name in ("b.sh", "deep/a.sh")}
    (here / "deep" / "a.sh").write_bytes(RISKY + b"# no newline at the end")
    (here / "b.sh").write_bytes(BAD)
    run("fix")
    assert {name: (here / name).read_bytes() for name in applied} == applied


def test_diff_from_a_folder_below(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    (here / "deep").mkdir()
    (here / "deep" / "a.sh").write_bytes(BAD)
    monkeypatch.chdir(here / "deep")
    patch = run("diff", "a.sh")
    assert patch.lines[0] == "diff --git a/deep/a.sh b/deep/a.sh"
    assert subprocess.run(["git", "apply", "-"], input=patch.out).returncode == 0
    assert (here / "deep" / "a.sh").read_bytes() == b"vllm serve m --port 80\n"


def test_a_file_that_cannot_be_written_does_not_stop_the_others(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm_migrate import write

    (here / "a.sh").write_bytes(BAD)
    (here / "b.sh").write_bytes(BAD)
    real = write.prepare

    def prepare(path: Path, *rest: bytes, **named: Path) -> tuple[Path, str]:
        if path.name == "a.sh":
            raise write.WriteError(f"{path}: read-only, not written")
        return real(path, *rest, **named)

    monkeypatch.setattr(write, "prepare", prepare)
    ran = run("fix")
    assert ran.status == 2
    assert "a.sh: read-only" in ran.err
    assert (here / "a.sh").read_bytes() == BAD
    assert (here / "b.sh").read_bytes() != BAD


def test_values_that_others_use_are_written_last(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_migrate import write

    names = ["a.env", "b.tfvars", "c.yml", "chart/templates/x.yaml", "chart/values.yaml", "main.tf", "z.sh"]
    for name in names:
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(BAD)
    order: list[str] = []
    real = write.finish

    def finish(ready: tuple[Path, str], before: bytes) -> None:
        order.append(ready[0].relative_to(here).as_posix())
        real(ready, before)

    monkeypatch.setattr(write, "finish", finish)
    assert run("fix").status == 0
    assert order == ["chart/templates/x.yaml", "main.tf", "z.sh", "a.env", "b.tfvars", "c.yml", "chart/values.yaml"]


def test_other_names_of_a_file_keep_the_old_text_and_that_is_told(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(BAD)
    (here / "b.sh").write_bytes(BAD)
    os.link(here / "a.sh", here / "other")
    ran = run("fix", "a.sh", "b.sh")
    assert "other names (hard links) of a.sh keep the old text" in ran.err
    assert (here / "other").read_bytes() == BAD
    (here / "a.sh").write_bytes(BAD)
    assert "hard links" not in run("fix", "a.sh").err


def test_standard_input(run: Run, here: Path) -> None:
    ran = run("check", "-", "--stdin-filename", "sub/x.sh", "--output-format", "concise", stdin=BAD)
    assert ran.status == 1
    assert ran.lines == ["sub/x.sh:1:14: VM101 [*] --swap-space is gone"]
    fixed = run("fix", "-", "--stdin-filename", "x.sh", stdin=RISKY)
    assert fixed.out == b"vllm serve m --risky --note\r\n"
    assert fixed.status == 1
    assert "--risky is gone" in fixed.err
    same = run("fix", "-", stdin=b"\xff vllm")
    assert same.out == b"\xff vllm", "what cannot be read comes back as it was"
    patch = run("diff", "-", "--stdin-filename", "x.sh", stdin=BAD)
    assert patch.lines[0] == "diff --git a/x.sh b/x.sh"


def test_statistics(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(BAD + RISKY)
    ran = run("check", "--statistics")
    assert [line.split()[:3] for line in ran.lines] == [
        ["2", "VM101", "[*]"],
        ["1", "VM109", "["],
        ["1", "VM301", "[*]"],
    ]
    data = json.loads(run("check", "--statistics", "--output-format", "json").out)
    assert data["statistics"][0]["count"] == 2
    assert len(data["findings"]) == 4


def test_baseline(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(BAD)
    assert run("check", "--baseline", "known.json", "--write-baseline").status == 0
    assert run("check", "--baseline", "known.json").status == 0
    (here / "a.sh").write_bytes(b"# moved\n" + BAD + b"vllm serve other --swap-space 8\n")
    ran = run("check", "--baseline", "known.json", "--output-format", "concise")
    assert ran.lines == ["a.sh:3:18: VM101 [*] --swap-space is gone"]


def test_suppressed_findings_are_neither_reported_nor_fixed(run: Run, here: Path) -> None:
    text = b"vllm serve m --swap-space 4  # vllm-migrate: ignore[VM101]\n"
    (here / "a.sh").write_bytes(text)
    assert run("fix").status == 0
    assert (here / "a.sh").read_bytes() == text


def test_the_configuration_counts_and_the_command_line_goes_first(run: Run, here: Path) -> None:
    (here / ".vllm-migrate.yaml").write_text("fail-on: error\nto: 0.30.0\nextend-exclude: [old]\n")
    (here / "a.sh").write_bytes(b"vllm serve m --risky\n")
    (here / "old").mkdir()
    (here / "old" / "b.sh").write_bytes(BAD)
    ran = run("check", "--output-format", "json")
    assert ran.status == 0
    assert json.loads(ran.out)["target"] == "0.30.0"
    assert run("check", "--fail-on", "warning", "--to", "0.33.0").status == 1
    (here / "other.yaml").write_text("fail-on: info\n")
    assert (
        json.loads(run("check", "--config", "other.yaml", "--output-format", "json").out)["target"]
        == "0.33.0"
    )


def test_several_targets_are_for_check(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(BAD)
    data = json.loads(run("check", "--to", "0.30.0", "--to", "0.33.0", "--output-format", "json").out)
    assert data["targets"] == ["0.30.0", "0.33.0"]
    assert run("fix", "--to", "0.30.0", "--to", "0.33.0").status == 2


def test_a_folder_without_vllm_is_told(run: Run, here: Path) -> None:
    (here / "a.sh").write_bytes(b"echo hello\n")
    ran = run("check")
    assert (ran.status, ran.err) == (0, "Nothing found: no file here speaks of vLLM.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "none"], "none: No such file"),
        (["check", "--nonsense"], "No such option"),
        (["check", "--output-format", "pdf"], "pdf"),
        (["check", "-", "a.sh"], "`-` stands alone"),
        (["check", "a.sh", "--stdin-filename", "x"], "--stdin-filename"),
        (["check", "--config", "none.yaml"], "none.yaml: No such file"),
        (["check", "--baseline", "none.json"], "none.json: No such file or directory; --write-baseline writes one"),
        (["check", "--write-baseline"], "need --baseline"),
        (["check", "--fail-on", "never"], "never"),
        (["nonsense"], "No such command"),
        (["explain"], "Missing argument"),
        (["explain", "VM999"], "`vllm-migrate rules` lists the codes"),
    ],
)
def test_bad_usage_exits_with_2_and_says_why(
    run: Run, here: Path, arguments: list[str], message: str
) -> None:
    (here / "a.sh").write_bytes(b"vllm serve m\n")
    ran = run(*arguments)
    assert ran.status == 2
    assert message in ran.err
    assert ran.out == b""
    assert "Traceback" not in ran.err


def test_a_bad_configuration_names_file_line_and_key(run: Run, here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.vllm-migrate]\n\nfails-on = 'error'\n")
    ran = run("check")
    assert ran.status == 2
    assert "pyproject.toml:3: fails-on: unknown key; did you mean 'fail-on'?" in ran.err


def test_a_fault_of_our_own_is_no_traceback(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import standin

    (here / "a.sh").write_bytes(BAD)
    monkeypatch.setattr(standin, "run_walk", lambda *_: 1 / 0)
    ran = run("check")
    assert ran.status == 2
    assert "ZeroDivisionError" in ran.err
    assert "Traceback" not in ran.err


def test_colour(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "a.sh").write_bytes(BAD)
    assert b"\x1b[" not in run("check").out
    assert b"\x1b[" in run("check", "--color", "always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert b"\x1b[" in run("check").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b[" not in run("check").out


def test_names_that_are_not_utf8(run: Run, here: Path) -> None:
    name = os.fsdecode(b"odd\xff.sh")
    try:
        (here / name).write_bytes(BAD)
    except OSError:
        pytest.skip("the file system has no such names")
    for form in ("text", "concise", "json", "sarif", "github", "gitlab", "rdjson", "junit", "html", "markdown"):
        assert run("check", "--output-format", form).status == 1
    assert run("fix").status == 0
    assert (here / name).read_bytes() == b"vllm serve m --port 80\n"


def test_version_and_help(run: Run) -> None:
    assert run("--version").out.startswith(b"vllm-migrate 0.")
    assert b"check" in run("--help").out
    assert run("check", "-h").status == 0


@pytest.mark.parametrize("command", ["check", "diff", "review"])
def test_a_page_from_every_command_that_shows_changes(run: Run, here: Path, command: str) -> None:
    (here / "a.sh").write_bytes(RISKY)
    ran = run(command, "--output-format", "html")
    assert ran.status == 1
    assert ran.out.startswith(b"<!doctype html>")
    assert (ran.out.count(b'type="checkbox"'), ran.out.count(b" checked>")) == (2, 1), "the unsafe one is not ticked"
    assert (here / "a.sh").read_bytes() == RISKY
    assert run(command, "--output-format", "html", "--unsafe-fixes").out.count(b" checked>") == 2
