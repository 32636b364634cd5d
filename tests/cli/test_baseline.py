"""A baseline of known findings, from the day it is written until nothing is left of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from standin import Run

KNOWN = ("--to", "0.33.0", "--baseline", "known.json")


@pytest.fixture
def repository(here: Path) -> Path:
    (here / "a").mkdir()
    (here / "b").mkdir()
    (here / "a" / "run.sh").write_text("vllm serve m --swap-space 4\nvllm serve n --swap-space 4\n")
    (here / "b" / "run.sh").write_text("vllm serve m --swap-space 4\n")
    return here


def known(folder: Path) -> dict[str, int]:
    entries = json.loads((folder / "known.json").read_text())["findings"]
    counts: dict[str, int] = {}
    for entry in entries:
        counts[entry["path"]] = counts.get(entry["path"], 0) + entry.get("count", 1)
    return counts


def test_pruning_takes_out_what_is_gone_and_adds_nothing(real: Run, repository: Path) -> None:
    assert real("check", *KNOWN, "--write-baseline").status == 0
    assert real("check", *KNOWN).status == 0
    (repository / "a" / "run.sh").write_text("vllm serve n --swap-space 4\nvllm serve m --num-scheduler-steps 8\n")
    (repository / "b" / "run.sh").unlink()
    done = real("check", *KNOWN, "--prune-baseline")
    assert done.status == 0
    assert "2 findings no longer found" in done.err
    assert known(repository) == {"a/run.sh": 1}
    # What is new is still reported, what was known still is not.
    assert [line.split(" ")[1] for line in real("check", *KNOWN, "--output-format", "concise").lines] == ["VM101"]


def test_pruning_below_one_path_keeps_what_is_known_elsewhere(real: Run, repository: Path) -> None:
    real("check", *KNOWN, "--write-baseline")
    for folder in ("a", "b"):
        (repository / folder / "run.sh").write_text("vllm serve m\n")
    real("check", *KNOWN, "--prune-baseline", "a")
    assert known(repository) == {"b/run.sh": 1}


def test_a_baseline_of_another_version_is_refused_and_kept(real: Run, repository: Path) -> None:
    (repository / "known.json").write_text('{"version": 9, "findings": []}')
    done = real("check", *KNOWN, "--prune-baseline")
    assert (done.status, "version 9" in done.err) == (2, True)
    assert (repository / "known.json").read_text() == '{"version": 9, "findings": []}'
