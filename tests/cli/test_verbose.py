"""What -v tells: which files were read and as what, and why others were not."""

from __future__ import annotations

from pathlib import Path

from standin import Run


def test_it_says_what_was_read_and_why_others_were_not(real: Run, here: Path) -> None:
    (here / ".git").mkdir()
    (here / ".gitignore").write_text("built/\nlocal.sh\n")
    (here / ".vllm-migrate.yaml").write_text("to: 0.33.0\nextend-exclude: [attic/]\n")
    for name in ("run.sh", "local.sh", "attic/run.sh", "built/run.sh", "node_modules/run.sh", "main.go"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text("vllm serve m\n")
    (here / "link.sh").symlink_to("run.sh")
    told = real("check", "-v", ".").err
    assert told.splitlines()[:2] == [f"root: {here}", f"configuration: {here / '.vllm-migrate.yaml'}"]
    assert "run.sh: read as shell" in told
    assert "main.go: left out, no format that is known" in told
    assert "ignored by Git: built/, local.sh" in told
    assert "excluded by the configuration: attic/" in told
    assert "a folder of tools or vendored code: node_modules/" in told
    assert "a symbolic link: link.sh" in told


def test_a_path_that_was_named_is_never_passed_over_without_a_reason(real: Run, here: Path) -> None:
    (here / "a.sh").write_text("echo\n")
    (here / "b.bin").write_bytes(b"vllm\0")
    told = real("check", "-v", "--to", "0.33.0", "a.sh", "b.bin").err
    assert "configuration: none" in told.splitlines()
    assert "says nothing of vLLM: a.sh" in told
    assert "not text: b.bin" in told


def test_without_it_nothing_of_that_is_told(real: Run, here: Path) -> None:
    (here / "run.sh").write_text("vllm serve m\n")
    told = real("check", "--to", "0.33.0", "--ignore", "VM109", ".").err
    assert told.splitlines() == ["Nothing found (1 file read, 1 launch)."]
