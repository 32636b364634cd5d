"""`diff --split`: a series of patches that git itself applies, whose sum is the one patch."""

from __future__ import annotations

import email
import email.policy
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from vllm_migrate.cli import main

EXAMPLE = Path(__file__).parents[2] / "fixtures" / "example"
SETTINGS = ("--to", "0.33.0", "--unsafe-fixes", "--exit-zero", "-q")


def git(folder: Path, *arguments: str, given: bytes | None = None) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=folder, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository; what git is told elsewhere does not count."""
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "Zoë, Ops")
    git(folder, "config", "user.email", "zoe@example.com")
    git(folder, "config", "core.autocrlf", "false")
    monkeypatch.chdir(folder)
    return folder


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "before", "--date", "2026-01-02T03:04:05Z")
    return git(folder, "rev-parse", "HEAD").decode().strip()


def patched(folder: Path, capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> bytes:
    """Return the tree after the one patch; the work tree is as before."""
    capfdbinary.readouterr()
    assert main(["diff", *SETTINGS, *arguments]) == 0
    git(folder, "apply", "--index", "-", given=capfdbinary.readouterr().out)
    tree = git(folder, "write-tree")
    git(folder, "reset", "-q", "--hard")
    return tree


def split(folder: Path, by: str, *arguments: str) -> list[Path]:
    out = folder.parent / f"patches-{by}"
    assert main(["diff", *SETTINGS, "--split", str(out), "--split-by", by, *arguments]) == 0
    return sorted(out.iterdir())


@pytest.mark.parametrize("by", ["rule", "launch"])
def test_the_series_applies_and_makes_the_same_change_as_the_patch(
    by: str, repository: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    shutil.copytree(EXAMPLE, repository, dirs_exist_ok=True)
    commit(repository)
    tree = patched(repository, capfdbinary)
    patches = split(repository, by)
    assert [p.name[:5] for p in patches] == [f"{i:04}-" for i in range(1, len(patches) + 1)]
    assert len(patches) > 4
    git(repository, "am", *(str(p) for p in patches))
    assert git(repository, "rev-parse", "HEAD^{tree}") == tree


def test_a_message_says_what_changed_where_why_and_on_what_evidence(repository: Path) -> None:
    shutil.copytree(EXAMPLE, repository, dirs_exist_ok=True)
    commit(repository)
    patches = split(repository, "rule")
    assert patches[0].name == "0001-VM101-removed-option.patch"
    git(repository, "am", str(patches[0]))
    told = git(repository, "log", "-1", "--format=%an|%ae|%ad|%B", "--date=iso").decode()
    assert told.startswith("Zoë, Ops|zoe@example.com|")
    assert "vLLM 0.33.0: removed option (VM101): max_seq_len_to_capture and 3 more\n\n" in told
    for text in (
        "* VM101: --swap-space was removed",
        "docker/compose.yaml:19",
        "Release: 0.10.2, 0.17.1 -> 0.33.0; gone since 0.18.0",
        "(safe)",
        "A person must agree: without scales in the checkpoint",
        "Evidence: 0.17.1 accepts --swap-space, 0.18.0 does not",
    ):
        assert text in told
    assert git(repository, "show", "--format=", "--name-only").decode().split() == [
        "batch/batch.py", "deploy/chart/values.yaml", "docker/Dockerfile", "docker/compose.yaml",
        "workstation/serve.sh",
    ]  # fmt: skip


LAUNCHES = {
    "neighbouring lines": b"export VLLM_USE_V1=1\nvllm serve m \\\n  --swap-space 4 \\\n  --num-lookahead-slots 3 \\\n"
    b"  --disable-log-requests \\\n  --guided-decoding-backend xgrammar\n",
    "one line": b"VLLM_USE_V1=1 vllm serve m --swap-space 4 --guided-decoding-backend xgrammar -tp 2\n",
    "windows": b"export VLLM_USE_V1=1\r\nvllm serve m --swap-space 4 --guided-decoding-backend xgrammar\r\necho =\r\n",
    "no newline at the end": b"export VLLM_USE_V1=1\nvllm serve m --guided-decoding-backend xgrammar --swap-space 4",
    "marks of mail": b"# From me\n# gr\xc3\xb6\xc3\x9fe \nexport VLLM_USE_V1=1\n# -- \n"
    b"vllm serve m --swap-space 4  --guided-decoding-backend xgrammar \n# From here on\n#\x0c\n",
}


@pytest.mark.parametrize("by", ["rule", "launch"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_fixes_of_one_hunk_stay_consistent(
    name: str, by: str, repository: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = repository / "größe & co" / "run me.sh"
    path.parent.mkdir()
    path.write_bytes(LAUNCHES[name])
    commit(repository)
    tree = patched(repository, capfdbinary, "--from", "0.9.0")
    patches = split(repository, by, "--from", "0.9.0")
    assert len(patches) == 1 if by == "launch" else len(patches) >= 3
    for patch in patches:
        git(repository, "am", str(patch))
        assert path.read_bytes().count(b"\r") == path.read_bytes().count(b"\n") * (name == "windows")
    assert git(repository, "rev-parse", "HEAD^{tree}") == tree


def test_a_message_is_a_mail(repository: Path) -> None:
    (repository / "a.sh").write_bytes(LAUNCHES["windows"])
    commit(repository)
    for patch in split(repository, "rule"):
        raw = patch.read_bytes()
        assert raw.startswith(b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n")
        mail = email.message_from_bytes(raw.partition(b"\n")[2], policy=email.policy.default)
        assert not mail.defects
        assert mail["From"].addresses[0].display_name == "Zoë, Ops"
        assert mail["Subject"].startswith("[PATCH ")
        assert "vllm serve m" in mail.get_content()


def test_the_same_files_give_the_same_patches(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "a.sh").write_bytes(LAUNCHES["neighbouring lines"])
    first = [p.read_bytes() for p in split(repository, "rule")]
    shutil.rmtree(repository.parent / "patches-rule")
    assert [p.read_bytes() for p in split(repository, "rule")] == first
    assert b"\nDate: Sat, 01 Jan 2000 " in first[0], "there is no commit to take a date from"
    commit(repository)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    shutil.rmtree(repository.parent / "patches-rule")
    assert b"\nDate: Tue, 14 Nov 2023 " in split(repository, "rule")[0].read_bytes()


def test_without_a_name_in_git_the_author_is_neutral(repository: Path) -> None:
    git(repository, "config", "--unset", "user.email")
    (repository / "a.sh").write_bytes(LAUNCHES["one line"])
    assert b"\nFrom: vllm-migrate <vllm-migrate@localhost>\n" in split(repository, "rule")[0].read_bytes()


def test_a_folder_with_patches_is_refused(repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (repository / "a.sh").write_bytes(LAUNCHES["one line"])
    patches = split(repository, "rule")
    before = [p.read_bytes() for p in patches]
    capfd.readouterr()
    assert main(["diff", *SETTINGS, "--split", str(patches[0].parent)]) == 2
    assert "holds patches already (0001-" in capfd.readouterr().err
    assert [p.read_bytes() for p in sorted(patches[0].parent.iterdir())] == before
    (repository / "file").write_bytes(b"")
    assert main(["diff", *SETTINGS, "--split", "file"]) == 2
    assert "file: not a folder" in capfd.readouterr().err


def test_no_fix_makes_no_folder(repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (repository / "a.sh").write_bytes(b"vllm serve m --port 80\n")
    assert main(["diff", "--to", "0.33.0", "--split", "out"]) == 0
    assert not (repository / "out").exists()
    assert "No fix to write" in capfd.readouterr().err
    assert main(["diff", "--split-by", "rule"]) == 2
    assert "--split-by goes with --split DIR" in capfd.readouterr().err


def test_what_cannot_be_written_leaves_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_migrate import write

    (repository / "a.sh").write_bytes(LAUNCHES["one line"])
    out = repository / "deep" / "out"
    with pytest.raises(write.WriteError):
        write.create_all(out, {"a": b"1", "b/c": b"2"})
    assert not (repository / "deep").exists()
