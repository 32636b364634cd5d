"""A history small enough to check by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny import write_history

RELEASES = ["0.8.5", "0.8.5.post1", "0.9.0", "0.10.0", "0.11.0"]
SWITCH: dict[str, Any] = {"nargs": 0, "action": "boolean_optional"}
OPTIONS: dict[str, Any] = {
    "--swap-space": [["0.8.5", "0.10.0", {"type": "float", "default": 4}]],
    "--max-model-len": [["0.8.5", None, {"type": "human_int"}]],
    "--max-model-lenience": [["0.9.0", "0.10.0", {"type": "int"}]],
    "--device": [["0.8.5", "0.10.0", {"type": "str"}]],
    "--device-ids": [["0.10.0", None, {"type": "str", "nargs": "+"}]],
    "--quantization": [["0.8.5", None, {"spellings": ["--quantization", "-q"], "type": "str"}]],
    "--tensor-parallel-size": [
        ["0.8.5", None, {"spellings": ["--tensor-parallel-size", "-tp"], "type": "int", "default": 1}]
    ],
    "--compilation-config": [
        ["0.8.5", "0.10.0", {"spellings": ["--compilation-config", "-O"], "type": "json", "glued": ["-O"]}],
        ["0.10.0", None, {"spellings": ["--compilation-config", "-cc"], "type": "json"}],
    ],
    "--optimization-level": [["0.10.0", None, {"type": "int", "glued": ["-O"]}]],
    "--enable-log-requests": [
        ["0.9.0", "0.11.0", {**SWITCH, "negative": ["--no-enable-log-requests"]}],
        [
            "0.11.0",
            None,
            {
                "nargs": 0,
                "action": "enable_disable",
                "negative": ["--no-enable-log-requests", "--disable-log-requests"],
            },
        ],
    ],
    "--flicker": [["0.8.5", "0.8.5.post1", {"nargs": 0}], ["0.10.0", "0.11.0", {"nargs": 0}]],
    "model_tag": [["0.8.5", None, {"nargs": "?"}]],
}
ENGINE_ARGS: dict[str, Any] = {
    "swap_space": [["0.8.5", "0.10.0", {"type": "float"}]],
    "max_model_len": [["0.8.5", None, {"type": "int | None"}]],
    "enable_log_requests": [["0.9.0", None, {"type": "bool", "async_only": True}]],
}
LLM: dict[str, Any] = {
    "model": [["0.8.5", None, {"type": "str"}]],
    "skip_tokenizer_init": [["0.8.5", None, {"type": "bool", "default": False}]],
    "**": [["0.8.5", "0.11.0", {}]],
}
CONFIGS: dict[str, Any] = {
    "CacheConfig": [["0.8.5", "0.9.0", {"extra": "ignore"}], ["0.9.0", None, {"extra": "forbid"}]],
    "CacheConfig.block_size": [["0.8.5", None, {"type": "int"}]],
    "CacheConfigOther.x": [["0.8.5", None, {"type": "int"}]],
}


@pytest.fixture
def history(tmp_path: Path) -> Path:
    sections = {"options": OPTIONS, "engine_args": ENGINE_ARGS, "llm": LLM, "configs": CONFIGS}
    return write_history(tmp_path / "catalog", RELEASES, sections)
