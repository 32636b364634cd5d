"""Writing into files that hold changes Git does not have."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from standin import Run

from vllm_migrate.gitindex import changed

STALE = "vllm serve m --swap-space 4\n"


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com")
    given = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    subprocess.run(["git", *name, *words], cwd=folder, env=given, check=True, capture_output=True)


@pytest.fixture
def repository(here: Path) -> Path:
    git(here, "init", "-q")
    for name in ("a.sh", "deep/er/b.sh", "c.sh"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(STALE)
    git(here, "add", "-A")
    git(here, "commit", "-qm", "all")
    return here


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_index_is_read_as_git_writes_it(repository: Path, version: str) -> None:
    (repository / "later.sh").write_text("new\n")
    git(repository, "add", "-N", "later.sh")
    git(repository, "update-index", "--index-version", version)
    (repository / "a.sh").write_text("other\n")
    (repository / "unknown.sh").write_text("x\n")
    paths = sorted(repository.rglob("*.sh"))
    assert [p.name for p in changed(repository, paths)] == ["a.sh", "later.sh", "unknown.sh"]


def test_line_ends_that_git_converts_are_no_change(repository: Path) -> None:
    (repository / "a.sh").write_bytes(STALE.replace("\n", "\r\n").encode())
    assert changed(repository, [repository / "a.sh"]) == []


def test_a_linked_work_tree_has_its_own_index(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("linked") / "tree"
    git(repository, "worktree", "add", "-q", str(other))
    (other / "c.sh").write_text("other\n")
    assert [p.name for p in changed(other, [other / "a.sh", other / "c.sh"])] == ["c.sh"]


@pytest.mark.parametrize("raw", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\5abc", b"\xff" * 500])
def test_an_index_that_cannot_be_read_holds_nothing(repository: Path, raw: bytes) -> None:
    (repository / ".git" / "index").write_bytes(raw)
    assert changed(repository, [repository / "a.sh"]) == [repository / "a.sh"]


def test_fix_says_so_and_writes(real: Run, repository: Path) -> None:
    (repository / "a.sh").write_text("# mine\n" + STALE)
    done = real("fix", "--to", "0.33.0", ".")
    assert "Git does not have a.sh as they are" in done.err
    assert (repository / "a.sh").read_text() == "# mine\nvllm serve m\n"


def test_require_clean_writes_nothing(real: Run, repository: Path) -> None:
    (repository / "a.sh").write_text("# mine\n" + STALE)
    done = real("fix", "--to", "0.33.0", "--require-clean", ".")
    assert (done.status, "a.sh" in done.err) == (2, True)
    assert (repository / "c.sh").read_text() == STALE
    assert real("fix", "--to", "0.33.0", "--require-clean", "c.sh", "deep").status == 0
    assert (repository / "c.sh").read_text() == "vllm serve m\n"


def test_require_clean_needs_git(real: Run, here: Path) -> None:
    (here / "a.sh").write_text(STALE)
    assert real("fix", "--to", "0.33.0", "--require-clean", ".").status == 2
    assert (here / "a.sh").read_text() == STALE


def test_a_submodule_has_its_own_index(real: Run, here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    part = tmp_path_factory.mktemp("part")
    git(part, "init", "-q")
    (part / "b.sh").write_text(STALE)
    git(part, "add", "-A")
    git(part, "commit", "-qm", "all")
    git(here, "init", "-q")
    (here / "a.sh").write_text(STALE)
    git(here, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    git(here, "add", "-A")
    git(here, "commit", "-qm", "all")
    assert real("fix", "--to", "0.33.0", "--require-clean", ".").status == 0
    assert (here / "part/b.sh").read_text() == "vllm serve m\n"
    (here / "part/b.sh").write_text("# mine\n" + STALE)
    done = real("fix", "--to", "0.33.0", "--require-clean", ".")
    assert (done.status, "part/b.sh" in done.err) == (2, True)


def test_before_the_first_commit_what_is_staged_is_kept(real: Run, here: Path) -> None:
    git(here, "init", "-q")
    for name in ("a.sh", "b.sh"):
        (here / name).write_text(STALE)
    git(here, "add", "a.sh")
    assert real("fix", "--to", "0.33.0", "--require-clean", "a.sh").status == 0
    done = real("fix", "--to", "0.33.0", "--require-clean", ".")
    assert (done.status, "b.sh" in done.err) == (2, True)
    assert (here / "b.sh").read_text() == STALE


@pytest.mark.parametrize("version", ["3", "4"])
def test_a_sparse_index(repository: Path, version: str) -> None:
    (repository / "other").mkdir()
    (repository / "other/d.sh").write_text(STALE)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "more")
    git(repository, "sparse-checkout", "set", "--cone", "--sparse-index", "deep")
    git(repository, "update-index", "--index-version", version)
    (repository / "a.sh").write_text("other\n")
    paths = [repository / "a.sh", repository / "c.sh", repository / "deep/er/b.sh"]
    assert [p.name for p in changed(repository, paths)] == ["a.sh"]


def test_a_split_index_is_taken_for_unknown(real: Run, repository: Path) -> None:
    git(repository, "update-index", "--split-index")
    done = real("fix", "--to", "0.33.0", "--require-clean", ".")
    assert done.status == 2
    assert (repository / "a.sh").read_text() == STALE
