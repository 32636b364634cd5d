"""Whatever a person picks of a run's fixes is what the engine writes for them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from vllm_migrate.config import Config, place_key
from vllm_migrate.engine import run
from vllm_migrate.findings import Report
from vllm_migrate.text import Edit, Source

FILES = {
    "flow list": ("a.yaml", "command: [vllm, serve, m, --swap-space, '4', --max-seq-len-to-capture, '9']\nenv:\n"
                  "- {name: VLLM_USE_V1, value: '1'}\n- {name: A, value: b}\n"),
    "all arguments": ("a.yaml", "containers:\n- image: vllm/vllm-openai:v0.10.0\n  args:\n  - --swap-space=4\n"
                      "  - --use-v2-block-manager\n  - --max-seq-len-to-capture=9\n"),
    "replaced at the end": ("a.sh", "VLLM_ATTENTION_BACKEND=FLASH_ATTN VLLM_USE_V1=1 vllm serve m --swap-space 4\n"),
    "one object": ("a.sh", "vllm serve m --guided-decoding-backend xgrammar --guided-decoding-disable-fallback "
                   "--swap-space 4 --port 80\n"),
    "keywords": ("a.py", "from vllm import LLM\nLLM('m', swap_space=4, max_seq_len_to_capture=9, "
                 "use_v2_block_manager=True)\n"),
}  # fmt: skip


def picked(report: Report, some: set[int]) -> dict[str, bytes]:
    """Write what was picked by the edits alone, as the page does."""
    edits: dict[str, list[Edit]] = {}
    alone = set(some)
    for cluster in report.clusters:
        mine = frozenset(cluster.members) & some
        if mine in cluster.together:
            edits.setdefault(cluster.path, []).extend(cluster.together[mine])
            alone -= mine
    for i in sorted(alone):
        for path, edit in report.choices[i].edits:
            edits.setdefault(path, []).append(edit)
    known: dict[str, Source] = {f.path: f.source for f in report.files if f.source is not None}
    return {path: known[path].with_edits(mine).raw for path, mine in edits.items()}


@pytest.mark.parametrize("name", FILES)
def test_every_selection(name: str, tmp_path: Path) -> None:
    path, text = FILES[name]
    (tmp_path / path).write_text(text)
    given = Config(to=("0.33.0",), from_="0.10.0", unsafe_fixes=True)
    report = run([tmp_path], tmp_path, Config(**{**vars(given), "choose": True}))
    count = len(report.choices)
    assert count >= 2
    for size in range(1, count + 1):
        for some in itertools.combinations(range(count), size):
            chosen = frozenset(place_key(f) for i in some for f in report.choices[i].findings)
            wanted = run([tmp_path], tmp_path, Config(**{**vars(given), "fix": True, "chosen": chosen}))
            fixed = {f.path: f.fixed.raw for f in wanted.files if f.fixed is not None}
            assert picked(report, set(some)) == fixed, some


def test_what_is_reported_once_is_one_choice(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        "ARG BASE=nvcr.io/nvidia/cuda:12.8.1-devel-ubuntu24.04\nFROM ${BASE} AS build\nRUN pip install vllm==0.33.0\n"
        "FROM ${BASE}\nRUN pip install vllm==0.33.0\n"
    )
    report = run([tmp_path], tmp_path, Config(to=("0.33.0",), choose=True))
    found = [f for f in report.findings() if f.code == "VM503" and f.fix is not None]
    choices = [c for c in report.choices if any(f.code == "VM503" for f in c.findings)]
    assert len(found) == len(choices) == 1


def test_what_needs_the_pin_goes_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n"
        "    command: --model m --guided-decoding-backend xgrammar\n"
    )
    report = run([tmp_path], tmp_path, Config(to=("0.33.0",), choose=True))
    (choice,) = [c for c in report.choices if len(c.findings) > 1]
    assert {f.code for f in choice.findings} == {"VM103", "VM501"}
    assert choice.safety == "unsafe"
    assert [f.governs[0].entry_point for f in choice.findings if f.code == "VM501"] == ["serve"]
