"""What the target's parser refuses is said once, and only where it holds whatever a run adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_migrate.catalog import load
from vllm_migrate.config import Config
from vllm_migrate.engine import run_text
from vllm_migrate.rules.command_line import registered


def found(name: str, text: str, to: str = "0.33.0") -> list[tuple[str, str, str]]:
    report = run_text(name, text.encode(), Path("/nowhere"), Config(to=(to,)))
    return [(f.code, f.severity, f.subject) for f in report.findings() if f.code != "VM109"]


def test_registered_names_are_those_of_the_catalog() -> None:
    catalog = load()
    assert [row["option"] for row in registered()]
    for row in registered():
        assert catalog.entries("options")[row["option"]], row
        assert catalog.release("0.33.0").section(row["section"]), row


@pytest.mark.parametrize(
    ("line", "to", "expected"),
    [
        # A removed option is told of once, not as a stray word too.
        ("vllm serve m/x --swap-space 4", "0.33.0", [("VM101", "error", "--swap-space")]),
        ("vllm serve --swap-space 4 m/x", "0.33.0", [("VM101", "error", "--swap-space")]),
        ("vllm serve --enable-prefix-caching True m/x", "0.33.0", [("VM107", "error", "--enable-prefix-caching")]),
        # Without another word for the model, the parser takes it.
        ("vllm serve --enable-prefix-caching True", "0.33.0", [("VM107", "warning", "--enable-prefix-caching")]),
        ("vllm serve m/x --port=eighty", "0.33.0", [("VM107", "error", "--port")]),
        ('vllm serve m/x --port="$PORT"', "0.33.0", []),
        ("vllm serve m/x --port REPLACE_ME_PORT --max-model-len=MAX_LEN --block-size __SIZE__", "0.33.0", []),
        ("vllm serve m/x --port {{ port }}", "0.33.0", []),
        ("vllm serve m/x $ARGS extra", "0.33.0", []),
        ("vllm serve {{ model }} --seed {{ seed }}", "0.33.0", []),
        ("vllm serve $ARGS --enable-auto-tool-choice", "0.33.0", []),
        ("vllm serve m/x --config a.yaml --enable-auto-tool-choice", "0.33.0", []),
        ("vllm serve m/x --enable-auto-tool-choice", "0.33.0", [("VM112", "error", "--enable-auto-tool-choice")]),
        ("vllm serve m/x --kv-transfer-config.kv_connector x", "0.33.0", [("VM112", "error", "--kv-transfer-config")]),
        ("vllm serve", "0.6.6", [("VM107", "error", "model_tag")]),
        ("vllm serve", "0.33.0", []),
        ("vllm serve m/x -O3", "0.10.0", []),
        ("vllm serve m/x -O3", "0.33.0", []),
        # Read by the image's own program, which was another one.
        ("docker run vllm/vllm-openai --model m/x", "0.10.0", []),
        ("vllm serve --model m/x", "0.10.0", [("VM107", "error", "--model")]),
        ("vllm serve m/x --limit-mm-per-prompt image=4", "0.9.2", []),
        ("vllm serve m/x --limit-mm-per-prompt image=4", "0.33.0", [("VM107", "error", "--limit-mm-per-prompt")]),
    ],
)
def test_command_lines(line: str, to: str, expected: list[tuple[str, str, str]]) -> None:
    assert [f for f in found("run.sh", line + "\n", to) if f[1] != "info" or f in expected] == expected


def test_objects_given_in_python() -> None:
    text = 'from vllm import LLM\nLLM("m/x", kv_transfer_config={"kv_connector": "x"})\n'
    assert ("VM112", "error", "kv_transfer_config") in found("a.py", text)
    text = text.replace('"x"}', '"x", "kv_role": "kv_both"}')
    assert found("a.py", text) == []
