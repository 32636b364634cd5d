"""How the defaults that change under a launch are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vllm_migrate.config import Config
from vllm_migrate.engine import run_text


@pytest.mark.parametrize(
    ("from_", "line", "told"),
    [
        (
            "0.32.0",
            "vllm serve m",
            "2 defaults this launch relies on change from 0.32.0 to 0.33.0: "
            "--max-num-seqs (only with GB10 GPUs), --tool-strict-level",
        ),
        (
            "0.32.0",
            "vllm serve m --max-num-seqs 8",
            "1 default this launch relies on changes from 0.32.0 to 0.33.0: --tool-strict-level",
        ),
        (
            "0.32.0",
            "docker run vllm/vllm-openai-rocm:v0.32.0 --model m",
            "1 default this launch relies on changes from 0.32.0 to 0.33.0: --tool-strict-level",
        ),
    ],
)
def test_what_is_said_of_them(tmp_path: Path, from_: str, line: str, told: str) -> None:
    settings = replace(Config(), from_=from_, to=("0.33.0",))
    found = run_text("serve.sh", f"{line}\n".encode(), tmp_path, settings).findings()
    assert [f.message for f in found if f.code == "VM109"] == [told]
