"""The hooks, run by pre-commit itself on a repository, without installing the tool again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from vllm_migrate.hosts import claims

HERE = Path(__file__).resolve().parent.parent
HOOKS: list[dict[str, Any]] = YAML(typ="safe").load((HERE / ".pre-commit-hooks.yaml").read_text())


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_the_hooks_are_asked_about_every_file_that_is_read(hook: dict[str, Any]) -> None:
    taken = re.compile(hook["files"])
    before = (HERE / "fixtures").glob("*/*/before/**/*")
    names = {p.relative_to(HERE / "fixtures").as_posix().split("/before/")[1] for p in before if p.is_file()}
    names |= {f"deploy/a{s}" for s in (*claims.SHELL, *claims.MARKDOWN, *claims.HCL, *claims.YAML, *claims.UNITS)}
    assert names
    assert sorted(n for n in names if taken.search(n) is None) == []


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_other_commits_pay_nothing(hook: dict[str, Any]) -> None:
    others = ["main.go", "web/app.tsx", "src/lib.rs", "a.css", "index.html", "Main.java", "logo.svg", "x.sql"]
    assert [n for n in others if re.search(hook["files"], n)] == []


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {**os.environ, "PATH": path, "PRE_COMMIT_HOME": str(folder.parent / "cache"), "NO_COLOR": "1"}
    return subprocess.run(words, cwd=folder, env=given, capture_output=True, text=True, timeout=120)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that uses the hooks of this one, each in the environment the tests run in."""
    pytest.importorskip("pre_commit")
    source, folder = tmp_path / "hooks", tmp_path / "work"
    for made in (source, folder):
        made.mkdir()
        call(made, "git", "init", "-q")
        call(made, "git", "config", "user.email", "someone@example.com")
        call(made, "git", "config", "user.name", "Someone")
    shutil.copy(HERE / ".pre-commit-hooks.yaml", source)
    call(source, "git", "add", "-A")
    call(source, "git", "commit", "-qm", "hooks")
    revision = call(source, "git", "rev-parse", "HEAD").stdout.strip()
    hooks = "".join(
        f"      - id: {hook['id']}\n        language: system\n        args: [--to, 0.33.0]\n" for hook in HOOKS
    )
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {source}\n    rev: {revision}\n    hooks:\n{hooks}"
    )
    call(folder, "git", "add", "-A")
    call(folder, "git", "commit", "-qm", "hooks")
    return folder


def commit(folder: Path, name: str, text: str, hook: str) -> subprocess.CompletedProcess[str]:
    (folder / name).write_text(text)
    call(folder, "git", "add", "-A")
    return call(folder, sys.executable, "-m", "pre_commit", "run", hook)


def test_a_stale_flag_stops_the_commit(repository: Path) -> None:
    done = commit(repository, "serve.sh", "vllm serve m --swap-space 4\n", "vllm-migrate")
    assert done.returncode == 1
    assert "VM101" in done.stdout


def test_a_commit_of_other_files_runs_nothing(repository: Path) -> None:
    done = commit(repository, "main.go", "// vllm serve m --swap-space 4\n", "vllm-migrate")
    assert (done.returncode, "Skipped" in done.stdout) == (0, True)


def test_the_fixing_hook_writes_and_then_passes(repository: Path) -> None:
    done = commit(repository, "serve.sh", "vllm serve m --swap-space 4\n", "vllm-migrate-fix")
    assert done.returncode == 1
    assert "files were modified by this hook" in done.stdout
    assert (repository / "serve.sh").read_text() == "vllm serve m\n"
    call(repository, "git", "add", "-A")
    assert call(repository, sys.executable, "-m", "pre_commit", "run", "vllm-migrate-fix").returncode == 0
