"""The files of the page about CI: each parses, names hooks, options and releases that exist, and does what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from blocks import DOCS, Block, blocks
from ruamel.yaml import YAML

from vllm_migrate.cli import main

ROOT = DOCS.parent
PAGE = blocks(DOCS / "ci.md")
FILES = [b for b in PAGE if b.given("file")]
PARSED = {"yaml": lambda text: YAML(typ="safe").load(text), "json": json.loads}


def parsed(name: str) -> Any:
    block = next(b for b in FILES if b.given("file") == name)
    return PARSED[block.language](block.text)


@pytest.mark.parametrize("block", [b for b in PAGE if b.language in PARSED], ids=lambda b: f"line-{b.line}")
def test_every_file_parses(block: Block) -> None:
    assert block.given("file"), "a file without a name"
    assert isinstance(PARSED[block.language](block.text), dict)


def test_the_hook_is_one_of_this_repository() -> None:
    hooks = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    used = [h["id"] for repo in parsed(".pre-commit-config.yaml")["repos"] for h in repo["hooks"]]
    assert used and set(used) <= {h["id"] for h in hooks}


def commands() -> list[str]:
    """Return every call of the tool on the page."""
    text = "\n".join(b.text for b in FILES)
    text = text.replace("{{{newVersion}}}", "0.33.0")
    return re.findall(r"vllm-migrate ((?:check|fix|diff|review) [^>|`\"\n]*)", text)


@pytest.mark.parametrize("command", commands())
def test_every_command_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "fixtures" / "example", tmp_path, dirs_exist_ok=True)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    status = main(command.split())
    assert status == (0 if "--exit-zero" in command else 1), capfd.readouterr().err


def test_there_are_commands() -> None:
    assert len(commands()) >= 4


@pytest.mark.skipif(sys.platform == "win32", reason="the action is a bash script")
@pytest.mark.parametrize("form", ["sarif", "rdjson", "github"])
def test_the_action_prints_what_was_found(form: str, tmp_path: Path) -> None:
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    work, programs = tmp_path / "work", tmp_path / "temp" / "vllm-migrate" / "bin"
    shutil.copytree(ROOT / "fixtures" / "example", work)
    (work / ".git").mkdir()
    programs.mkdir(parents=True)
    shim = programs / "vllm-migrate"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vllm_migrate "$@"\n')
    shim.chmod(0o755)
    given = {name: str(spec["default"]) for name, spec in action["inputs"].items()}
    given |= {"to": "0.33.0", "output-format": form, "output-file": "out", "args": "--exit-zero --select VM1"}
    expression = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")
    environment = {name: expression.sub(lambda m: given[m[1]], value) for name, value in step["env"].items()}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=work,
        env={**os.environ, **environment, "RUNNER_TEMP": str(tmp_path / "temp"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    out = (work / "out").read_text()
    assert "VM101" in out and "VM501" not in out


def test_the_inputs_that_workflows_give_exist() -> None:
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text())
    for block in FILES:
        if "workflows/" in str(block.given("file")):
            for job in PARSED["yaml"](block.text)["jobs"].values():
                for step in job["steps"]:
                    if "vllm-migrate" in step.get("uses", ""):
                        assert set(step["with"]) <= set(action["inputs"])


def test_what_renovate_runs_is_allowed() -> None:
    allowed = parsed("config.json")["allowedCommands"]
    rules = parsed("renovate.json")["packageRules"]
    ran = [command for rule in rules for command in rule["postUpgradeTasks"]["commands"]]
    assert ran and all(any(re.search(pattern, command) for pattern in allowed) for command in ran)


def test_a_commit_with_a_stale_flag_is_told_as_shown(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    source, folder = tmp_path / "hooks", tmp_path / "work"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PRE_COMMIT_HOME": str(tmp_path / "cache"), "NO_COLOR": "1"}

    def call(where: Path, *words: str) -> str:
        return subprocess.run(words, cwd=where, env=environment, capture_output=True, text=True, timeout=120).stdout

    for made in (source, folder):
        made.mkdir()
        for words in ("init -q", "config user.email someone@example.com", "config user.name Someone"):
            call(made, "git", *words.split())
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", source)
    call(source, "git", "add", "-A")
    call(source, "git", "commit", "-qm", "hooks")
    block = next(b for b in FILES if b.given("file") == ".pre-commit-config.yaml")
    text = block.text.replace("https://github.com/OWNER/vllm-migrate", str(source))
    text = text.replace("v0.1.0", call(source, "git", "rev-parse", "HEAD").strip())
    # Not installed once more: the tool of these tests stands in.
    text = text.replace("      - id: vllm-migrate\n", "      - id: vllm-migrate\n        language: system\n")
    (folder / ".pre-commit-config.yaml").write_text(text)
    (folder / "serve.sh").write_text("vllm serve my-model --swap-space 4\n")
    call(folder, "git", "add", "-A")
    printed = call(folder, sys.executable, "-m", "pre_commit", "run")
    shown = next(b for b in PAGE if "pre-commit" in b.words)
    lines = [line.rstrip() for line in printed.splitlines() if not line.startswith("[INFO]")]
    assert "\n".join(lines).strip() == shown.text.strip(), printed
