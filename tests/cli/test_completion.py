"""What a shell is offered: asked the way bash asks, through the environment."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from standin import Run


def offered(*words: str) -> list[str]:
    given = {
        **os.environ,
        "_VLLM_MIGRATE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("vllm-migrate", *words)),
        "COMP_CWORD": str(len(words)),
    }
    code = "import sys; from vllm_migrate.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_commands_and_options() -> None:
    assert "check" in offered("ch")
    assert "--unsafe-fixes" in offered("fix", "--unsafe")


def test_releases_codes_and_names() -> None:
    assert "0.33.0" in offered("check", "--to", "0.33")
    assert "0.30.0,0.33.0" in offered("check", "--to", "0.30.0,0.33")
    assert "VM101" in offered("check", "--select", "vm10")
    assert "VLLM_ATTENTION_BACKEND" in offered("explain", "VLLM_ATT")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_names_the_program(run: Run, shell: str) -> None:
    assert b"_VLLM_MIGRATE_COMPLETE=" + shell.encode() in run("completion", shell).out
