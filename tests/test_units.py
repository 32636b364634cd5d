"""Which fixes go together, what is left out or withheld, and what a fault in one of them leaves of the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vllm_migrate import units
from vllm_migrate.budget import TooLong
from vllm_migrate.config import Config
from vllm_migrate.engine import run_text
from vllm_migrate.findings import Report
from vllm_migrate.model import Change, Remove, Word
from vllm_migrate.proof import prove

TO = Config(to=("0.33.0",), fix=True, unsafe_fixes=True)
RUN = "docker run vllm/vllm-openai:{} --model m {}\n"


def entry(name: str, new: str, value: Any = True, **case: Any) -> dict[str, Any]:
    """A made-up option that 0.33.0 dropped for another option or a variable."""
    result = {"variable" if new.isupper() else "option": new, "value": value}
    said = "made up for a test of what goes together"
    return {
        "id": name.strip("-"), "surface": "option", "name": name, "code": "VM102", "introduced_in": None,
        "deprecated_in": None, "removed_in": "0.33.0", "severity": "error", "title": said, "reason": said,
        "help": said, "evidence": [said], "cases": [{"then": [result], "safety": "safe", **case}],
    }  # fmt: skip


def fixed(folder: Path, text: str, settings: Config, *entries: dict[str, Any]) -> tuple[str, Report]:
    if entries:
        (folder / "own.json").write_text(json.dumps({"format": 1, "theme": "made up", "migrations": entries}))
        settings = replace(settings, migrations=(folder / "own.json",))
    report = run_text("run.sh", text.encode(), folder, settings)
    (file,) = report.files
    assert file.source is not None
    return (file.fixed or file.source).text, report


# What 0.33.0 has and 0.31.0 has not; both are built for the same CUDA.
NEW = "--monokernel"


@pytest.mark.parametrize("unsafe", [False, True])
def test_what_breaks_nothing_and_needs_a_person_does_not_hold_the_pin_back(unsafe: bool, tmp_path: Path) -> None:
    before = "docker run -e CUDA_VISIBLE_DEVICES=$GPUS vllm/vllm-openai:v0.22.0 --model m\n"
    after = before.replace("v0.22.0", "v0.33.0")
    if unsafe:
        after = 'docker run vllm/vllm-openai:v0.33.0 --model m --device-ids "$GPUS"\n'
    text, report = fixed(tmp_path, before, replace(TO, unsafe_fixes=unsafe))
    assert text == after
    assert (report.left_out, report.withheld) == (0 if unsafe else 1, 0)
    fixes = {f.code: f.fix for f in report.findings() if f.fix is not None}
    assert (fixes["VM505"].safety, fixes["VM204"].safety) == ("unsafe" if unsafe else "safe", "unsafe")
    assert (fixes["VM505"].edits == fixes["VM204"].edits) == unsafe
    text, report = fixed(tmp_path, before, replace(TO, unsafe_fixes=unsafe, keep_pins=True))
    assert text == before
    assert (report.left_out, report.withheld) == (0, 2)


def test_what_breaks_and_needs_a_person_holds_the_pin_back(tmp_path: Path) -> None:
    broken = entry("--old", NEW, safety="unsafe", why="a person must look")
    text, report = fixed(tmp_path, RUN.format("v0.31.0", "--old"), replace(TO, unsafe_fixes=False), broken)
    assert text == RUN.format("v0.31.0", "--old")
    fixes = {f.code: f.fix for f in report.findings() if f.fix is not None}
    assert {f.safety for f in fixes.values()} == {"unsafe"}
    assert len({tuple(f.edits) for f in fixes.values()}) == 1, "each shows all that is done"
    assert len(fixes["VM102"].edits) >= 2


@pytest.mark.parametrize(
    ("new", "value", "after", "why"),
    [
        ("HOME", "/x", "--model m", ""),
        ("VLLM_LOGGING_LEVEL", "DEBUG", "--model m", ""),
        ("VLLM_NOT_YET", "1", "", "VLLM_NOT_YET, which replaces it, does not exist in 0.33.0"),
        ("VLLM_P2P_HANDSHAKE_TIMEOUT_S", "9", "", "0.31.0, which it is pinned to, lacks what replaces it"),
        ("--seed", 3, "--model m --seed 3", ""),
        (NEW, True, "", "0.31.0, which it is pinned to, lacks what replaces it"),
        ("--compilation-config.mode", 3, "--model m --compilation-config.mode 3", ""),
        ("--attention-config.use_trtllm_attention", True, "--model m --attention-config.use_trtllm_attention true", ""),
    ],
)
def test_a_pin_that_stays_takes_what_its_release_takes(
    new: str, value: Any, after: str, why: str, tmp_path: Path
) -> None:
    before = RUN.format("v0.31.0", "--old")
    text, report = fixed(tmp_path, before, replace(TO, keep_pins=True), entry("--old", new, value))
    (finding,) = [f for f in report.findings() if f.code == "VM102"]
    assert finding.withheld.startswith(why) and bool(finding.withheld) == bool(why)
    assert (text == before) == bool(why)
    assert text.rstrip().endswith(after)


def test_a_pin_says_all_that_would_not_start(tmp_path: Path) -> None:
    never = [entry(name, "--not-there") for name in ("--old-a", "--old-b")]
    before = RUN.format("v0.31.0", "--old-b --old-a --old-b")
    text, report = fixed(tmp_path, before, replace(TO, unsafe_fixes=False), *never)
    assert text == before
    move = next(f.fix for f in report.findings() if f.code.startswith("VM5") and f.fix is not None)
    why = "the launch would not start on the new release before this is settled: --old-b, --old-a"
    assert (move.safety, move.why) == ("unsafe", why)
    assert fixed(tmp_path, before, TO, *never)[0] == RUN.format("v0.33.0", "--old-b --old-a --old-b")


def test_what_launches_share_is_one_fix(tmp_path: Path) -> None:
    script = 'ARGS="--old-a --port 1"\nvllm serve m $ARGS\nvllm serve n $ARGS\n'
    doubtful = entry("--old-a", "--seed", 1, safety="unsafe", why="a person must look")
    _, report = fixed(tmp_path, script, replace(TO, unsafe_fixes=False), doubtful)
    assert (len(report.findings()), report.left_out) == (1, 1)
    text, _ = fixed(tmp_path, script, TO, doubtful)
    assert text == script.replace("--old-a", "--seed 1")


def test_what_is_left_out_and_withheld_is_counted(tmp_path: Path) -> None:
    sure = entry("--old-a", "--seed", 1)
    why = "a person must look"
    doubtful = [entry("--old-b", "--port", 1, safety="unsafe", why=why)]
    doubtful += [entry("--old-c", "--max-num-seqs", 1, safety="unsafe", why=why)]
    never = [entry(f"--old-{name}", "--not-there") for name in "de"]
    words = "vllm serve m --old-a --old-b --old-c --old-d --old-e\n"
    text, report = fixed(tmp_path, words, replace(TO, unsafe_fixes=False), sure, *doubtful, *never)
    assert text == "vllm serve m --seed 1 --old-b --old-c --old-d --old-e\n"
    assert (report.left_out, report.withheld) == (2, 2)
    text, report = fixed(tmp_path, words, TO, sure, *doubtful, *never)
    assert text == "vllm serve m --seed 1 --port 1 --max-num-seqs 1 --old-d --old-e\n"
    assert (report.left_out, report.withheld) == (0, 2)


def test_what_does_not_prove_is_not_offered_by_a_check_either(tmp_path: Path) -> None:
    """`check` says of each finding whether `fix` would write it."""
    entries = [entry("--old-a", "--seed", "$value"), entry("--old-b", "--max-num-seqs", "$value")]
    for fix in (False, True):
        text, report = fixed(tmp_path, "vllm serve m --old-a many --old-b 4\n", replace(TO, fix=fix), *entries)
        refused, taken = sorted(report.findings(), key=lambda f: f.subject)
        why = "the rewrite could not be proved: the target would refuse --seed in the edited launch"
        assert (refused.fix, refused.withheld) == (None, why)
        assert taken.fix is not None and [e.text for _, e in taken.fix.edits] == ["--max-num-seqs"]
        assert text == f"vllm serve m --old-a many {'--max-num-seqs' if fix else '--old-b'} 4\n"


@pytest.mark.parametrize(
    ("fault", "after", "why", "most"),
    [
        (KeyError("x"), "vllm serve m --swap-space 4\n", "could not be proved (KeyError: 'x')", 9),
        (TooLong(), "", "takes too long to be proved", 1),
    ],
)
def test_a_fault_in_proving_one_fix_leaves_the_others(
    fault: BaseException, after: str, why: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def broken(source: Any, before: Any, changes: Sequence[Change], *rest: Any) -> Any:
        if any(isinstance(c, Remove) and isinstance(c.item, Word) and c.item.text == "--swap-space" for c in changes):
            tried.append(len(changes))
            raise fault
        return prove(source, before, changes, *rest)

    monkeypatch.delenv("VLLM_MIGRATE_TRACEBACK", raising=False)
    monkeypatch.setattr(units, "prove", broken)
    before = "vllm serve m --max-seq-len-to-capture 9 --swap-space 4 --use-v2-block-manager --num-lookahead-slots 3\n"
    text, report = fixed(tmp_path, before, TO)
    assert text == (after or before)
    withheld = {f.subject: f.withheld for f in report.findings() if f.withheld}
    assert "--swap-space" in withheld and (len(withheld) > 1) == (not after)
    assert set(withheld.values()) == {f"the rewrite could not be proved: {why}"}
    assert len(tried) <= most
