"""What an answer becomes at one launch, or why it cannot be written there: with migrations of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vllm_migrate.config import Config
from vllm_migrate.engine import run, run_text

Entry = dict[str, Any]
VALUE = "$value"


def entry(name: str, *then: Entry, surface: str = "option", **case: Any) -> Entry:
    """A thing that 0.20.0 dropped. then: what comes instead; case: more of the one case it has."""
    return {
        "id": name.strip("-").replace("_", "-").replace(".", "-").lower(),
        "surface": surface,
        "name": name,
        "code": "VM102",
        "introduced_in": None,
        "deprecated_in": None,
        "removed_in": "0.20.0",
        "severity": "error",
        "title": "the old thing is gone",
        "reason": "It belonged to an engine that is gone.",
        "help": "Use the new one.",
        "evidence": ["made up for a test"],
        "cases": [{"then": list(then), "safety": "safe", **case}],
    }


def planned(folder: Path, text: str, entries: list[Entry], path: str) -> tuple[str, list[str]]:
    """Return the text after all fixes, and why the fixes that are not there are not."""
    file = folder / "own.json"
    file.write_text(json.dumps({"format": 1, "theme": "made up", "migrations": entries}))
    settings = Config(to=("0.33.0",), fix=True, unsafe_fixes=True, migrations=(file,))
    (result,) = run_text(path, text.encode(), folder, settings).files
    assert result.source is not None
    withheld = [f.withheld for f in result.findings if f.code == "VM102" and f.withheld]
    return (result.fixed or result.source).text, withheld


def to(option: str, value: Any = VALUE) -> Entry:
    return {"variable" if option.isupper() else "option": option, "value": value}


WRITTEN = [
    ("--old 4 --seed 1", [entry("--old", {"option": "--seed", "drop": True})], ""),
    ("--old 4 --seed 1", [entry("--old", {"option": "--seed", "drop": True}, to("--port"))], "--port 4"),
    (
        "--old 4 --structured-outputs-config.backend x",
        [entry("--old", to("--compilation-config.backend", "y"))],
        "--compilation-config.backend y --structured-outputs-config.backend x",
    ),
    ("--old 4", [entry("--old", to("--seed"))], "--seed 4"),
    ("--old=4", [entry("--old", to("--seed"))], "--seed=4"),
    ("--old $X", [entry("--old", to("--seed"))], "--seed $X"),
    ("--old 4", [entry("--old", to("--seed"), when={"value": ["4"]})], "--seed 4"),
    ("--old 4", [entry("--old", to("--seed"), target=">=0.30.0")], "--seed 4"),
    ("--old 4", [entry("--old", to("--older")), entry("--older", to("--seed"))], "--seed 4"),
    ("--old", [entry("--old", to("--seed", 3), to("--port", 8))], "--seed 3 --port 8"),
    ("--old=4 --x=5", [entry("--old", to("--seed"), to("--enforce-eager", True))], "--seed=4 --enforce-eager --x=5"),
    ("--old 5", [entry("--old", to("--enable-prefix-caching", False))], "--no-enable-prefix-caching"),
    ("--old no", [entry("--old", to("--enforce-eager"))], "--no-enforce-eager"),
    ("--old 5 --seed 5", [entry("--old", to("--seed"))], "--seed 5"),
    ("--old 5 --enforce-eager", [entry("--old", to("--enforce-eager", True))], "--enforce-eager"),
    ("--old 1 2 3", [entry("--old", to("--cudagraph-capture-sizes"))], "--cudagraph-capture-sizes 1 2 3"),
    ("--old 4", [entry("--old", to("--compilation-config.mode", 3))], "--compilation-config.mode 3"),
    (
        "--old 4",
        [entry("--old", to("--compilation-config.pass_config.fuse_norm_quant", True))],
        "--compilation-config.pass_config.fuse_norm_quant true",
    ),
    (
        "--old 4 --older 5",
        [entry("--old", to("--compilation-config.mode", 3)), entry("--older", to("--compilation-config.backend", "x"))],
        "--compilation-config '{\"mode\": 3, \"backend\": \"x\"}'",
    ),
    (
        "--old 4 --compilation-config.backend x",
        [entry("--old", to("--compilation-config.mode", 3))],
        "--compilation-config.mode 3 --compilation-config.backend x",
    ),
    (
        "--old 4 --compilation-config '{\"backend\": \"x\"}'",
        [entry("--old", to("--compilation-config.mode", 3))],
        "--compilation-config '{\"backend\": \"x\", \"mode\": 3}'",
    ),
    (
        '--compilation-config \'{"pass_config": {"old": 3, "fuse_norm_quant": true}}\'',
        [entry("--compilation-config.pass_config.old", surface="key")],
        '--compilation-config \'{"pass_config": {"fuse_norm_quant": true}}\'',
    ),
    ('--compilation-config \'{"old": 3}\'', [entry("--compilation-config.old", surface="key")], ""),
]


@pytest.mark.parametrize(("before", "entries", "after"), WRITTEN)
def test_options_come_instead(before: str, entries: list[Entry], after: str, tmp_path: Path) -> None:
    text, withheld = planned(tmp_path, f"vllm serve m {before}\n", entries, "run.sh")
    assert withheld == []
    assert text == f"vllm serve m {after}".rstrip() + "\n"


REFUSED = [
    ("--old 4", [entry("--old", to("--older")), entry("--older", to("--old"))], "the replacements run in a circle"),
    ("--old 4", [entry("--old", to("--not-there"))], "--not-there, which replaces it, does not exist in 0.33.0"),
    ("--old 4", [entry("--old", to("VLLM_NOT_THERE"))], "VLLM_NOT_THERE, which replaces it, does not exist in 0.33.0"),
    (
        "--old $X",
        [entry("--old", to("--seed"), when={"value": ["4"]})],
        "what replaces it depends on a value only known at run time",
    ),
    (
        "--old $X",
        [entry("--old", to("--compilation-config.mode", {"from": VALUE, "as": "int"}))],
        "its value is only known at run time",
    ),
    ("--old 5", [entry("--old", to("--seed"), when={"value": ["4"]})], "no rewrite fits this value"),
    ("--old 5", [entry("--old", to("--seed"), target="<0.30.0")], "no rewrite fits this value"),
    ("--old 5 --seed 6", [entry("--old", to("--seed"))], "the launch already has --seed with another value"),
    (
        "--old 5 --no-enforce-eager",
        [entry("--old", to("--enforce-eager", True))],
        "the launch already has --enforce-eager with another value",
    ),
    ("--old maybe", [entry("--old", to("--enforce-eager"))], "--enforce-eager takes no value"),
    ("--old no", [entry("--old", to("--disable-log-stats"))], "--disable-log-stats has no form that says no"),
    (
        "--old 4 --compilation-config '{\"mode\": 2}'",
        [entry("--old", to("--compilation-config.mode", 3))],
        "the launch already sets --compilation-config.mode to 2",
    ),
    (
        "--old 4 --compilation-config.mode 2",
        [entry("--old", to("--compilation-config.mode", 3))],
        "the launch already sets --compilation-config.mode",
    ),
    (
        "--old 4 --compilation-config '{\"pass_config\": 3}'",
        [entry("--old", to("--compilation-config.pass_config.fuse_norm_quant", True))],
        "--compilation-config already sets pass_config",
    ),
    (
        "--old 4 --compilation-config nope",
        [entry("--old", to("--compilation-config.mode", 3))],
        "the value of --compilation-config cannot be read",
    ),
    (
        "--old $N --compilation-config '{\"backend\": \"x\"}'",
        [entry("--old", to("--compilation-config.mode"))],
        "a value only known at run time cannot be moved into a JSON object safely",
    ),
]


@pytest.mark.parametrize(("before", "entries", "why"), REFUSED)
def test_what_cannot_be_written_is_left_with_the_reason(
    before: str, entries: list[Entry], why: str, tmp_path: Path
) -> None:
    text = f"vllm serve m {before}\n"
    after, withheld = planned(tmp_path, text, entries, "run.sh")
    assert after == text
    assert why in withheld


@pytest.mark.parametrize(
    ("before", "entries", "after", "why"),
    [
        ("vllm serve m --old 5", [entry("--old", to("VLLM_LOGGING_LEVEL"))], "VLLM_LOGGING_LEVEL=5 vllm serve m", ""),
        (
            "vllm serve m --old",
            [entry("--old", to("VLLM_NO_USAGE_STATS", True))],
            "VLLM_NO_USAGE_STATS=1 vllm serve m",
            "",
        ),
        ("VLLM_LOGGING_LEVEL=x vllm serve m --old 5", [entry("--old", to("VLLM_LOGGING_LEVEL"))], "", "is set already"),
        (
            "VLLM_OLD=5 vllm serve m",
            [entry("VLLM_OLD", to("VLLM_LOGGING_LEVEL"), surface="variable")],
            "VLLM_LOGGING_LEVEL=5 vllm serve m",
            "",
        ),
        (
            "VLLM_OLD=5 vllm serve m",
            [entry("VLLM_OLD", to("VLLM_LOGGING_LEVEL", "DEBUG"), surface="variable")],
            "VLLM_LOGGING_LEVEL=DEBUG vllm serve m",
            "",
        ),
        (
            "VLLM_OLD=5 VLLM_LOGGING_LEVEL=x vllm serve m",
            [entry("VLLM_OLD", to("VLLM_LOGGING_LEVEL"), surface="variable")],
            "",
            "VLLM_LOGGING_LEVEL is set already",
        ),
        (
            "VLLM_OLD=5 vllm serve m --port=1",
            [entry("VLLM_OLD", to("--seed"), to("--enforce-eager", True), surface="variable")],
            "vllm serve m --port=1 --seed=5 --enforce-eager",
            "",
        ),
        (
            "VLLM_OLD=5 MINE=1 vllm serve m",
            [entry("VLLM_OLD", {"variable": "MINE", "drop": True}, surface="variable")],
            "vllm serve m",
            "",
        ),
    ],
)
def test_variables_and_options_come_for_each_other(
    before: str, entries: list[Entry], after: str, why: str, tmp_path: Path
) -> None:
    text, withheld = planned(tmp_path, before + "\n", entries, "run.sh")
    assert text == (after or before) + "\n"
    assert bool(withheld) == bool(why) and all(why in w for w in withheld)


def test_keywords_get_values_of_their_own_types(tmp_path: Path) -> None:
    names = {"--a": "--seed", "--b": "--gpu-memory-utilization", "--c": "--enforce-eager", "--d": "--max-model-len"}
    entries = [entry(f"--old{old[1:]}", to(new)) for old, new in names.items()]
    text = "from vllm import LLM\nLLM('m', old_a='5', old_b='0.5', old_c='yes', old_d=x)\n"
    after, withheld = planned(tmp_path, text, entries, "run.py")
    assert withheld == []
    assert after.endswith("LLM('m', seed=5, gpu_memory_utilization=0.5, enforce_eager=True, max_model_len=x)\n")
    text = "from vllm import LLM\nLLM('m', old=5)\n"
    after, withheld = planned(tmp_path, text, [entry("--old", to("HOME"))], "run.py")
    assert after == text
    assert withheld == ["set HOME=5 in the environment of the process"]


@pytest.mark.parametrize("dash", ["-", "_"])
def test_keys_of_a_config_file_are_spelled_like_their_neighbours(dash: str, tmp_path: Path) -> None:
    entries = [
        entry("--old-one", to("--max-num-seqs")),
        entry("--old-two", to("--enable-prefix-caching", False)),
        entry("--old-three", to("--compilation-config.mode", 3)),
    ]
    (tmp_path / "own.json").write_text(json.dumps({"format": 1, "theme": "made up", "migrations": entries}))
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.sh").write_text("vllm serve m --config c.yaml\n")
    before = "max-model-len: 5\nold-one: 4\nold-two: 1\nold-three: 1\n"
    (tmp_path / "c.yaml").write_text(before.replace("-", dash))
    settings = Config(to=("0.33.0",), fix=True, unsafe_fixes=True, migrations=(tmp_path / "own.json",))
    fixed = {f.path: f.fixed for f in run([tmp_path], tmp_path, settings).files}
    got = fixed["c.yaml"]
    assert got is not None
    after = "max-model-len: 5\nmax-num-seqs: 4\nno-enable-prefix-caching: true\ncompilation-config.mode: 3\n"
    assert got.text == after.replace("-", dash)


@pytest.mark.parametrize(
    ("version", "after", "why"),
    [
        ("v0.22.0", "v0.33.0 --enable-fault-tolerance", ""),
        ("v0.33.0", "v0.33.0 --enable-fault-tolerance", ""),
        ("v0.22.0 keep", "v0.22.0 --old", "0.22.0, which it is pinned to, lacks what replaces it"),
        ("v0.5.1 keep", "v0.5.1 --old", "0.5.1, which it is pinned to, lacks what replaces it"),
    ],
)
def test_what_the_pinned_release_lacks_comes_with_the_pin(version: str, after: str, why: str, tmp_path: Path) -> None:
    tag, _, keep = version.partition(" ")
    entries = [entry("--old", to("--enable-fault-tolerance", True))]
    (tmp_path / "own.json").write_text(json.dumps({"format": 1, "theme": "made up", "migrations": entries}))
    pins = bool(keep)
    files = (tmp_path / "own.json",)
    settings = Config(to=("0.33.0",), fix=True, unsafe_fixes=True, keep_pins=pins, migrations=files)
    text = f"docker run vllm/vllm-openai:{tag} --model m/x --old\n"
    (result,) = run_text("run.sh", text.encode(), tmp_path, settings).files
    assert result.source is not None
    fixed = (result.fixed or result.source).text
    assert fixed == "docker run vllm/vllm-openai:" + after.replace(" ", " --model m/x ", 1) + "\n"
    (finding,) = [f for f in result.findings if f.code == "VM102"]
    assert finding.withheld.startswith(why) and bool(finding.withheld) == bool(why)


def test_a_fix_that_brings_what_the_target_refuses_is_withheld(tmp_path: Path) -> None:
    entries = [entry("--old", to("--seed"))]
    after, withheld = planned(tmp_path, "vllm serve m --old many\n", entries, "run.sh")
    assert after == "vllm serve m --old many\n"
    assert withheld == ["the rewrite could not be proved: the target would refuse --seed in the edited launch"]


def test_what_a_person_must_agree_to_waits_and_holds_back_what_goes_with_it(tmp_path: Path) -> None:
    why = "a person must look at this"
    doubtful = entry("--old", to("--seed"), safety="unsafe", why=why)
    sure = entry("--older", to("--max-num-seqs"))
    (tmp_path / "own.json").write_text(json.dumps({"format": 1, "theme": "made up", "migrations": [doubtful, sure]}))
    settings = Config(to=("0.33.0",), fix=True, migrations=(tmp_path / "own.json",))
    (result,) = run_text("run.sh", b"vllm serve m --old 4 --older 5\n", tmp_path, settings).files
    assert result.fixed is not None and result.fixed.text == "vllm serve m --old 4 --max-num-seqs 5\n"
    fixes = {f.subject: f.fix for f in result.findings}
    old, older = fixes["--old"], fixes["--older"]
    assert old is not None and (old.safety, old.why) == ("unsafe", why)
    assert older is not None and (older.safety, older.why) == ("safe", "")


def test_the_first_case_that_can_apply_is_taken(tmp_path: Path) -> None:
    old = entry("--old")
    old["cases"] = [
        {"target": "<0.30.0", "when": {"value": ["4"]}, "then": [], "safety": "safe"},
        {"then": [to("--seed")], "safety": "safe"},
    ]
    for value in ("$X", "4"):
        after, withheld = planned(tmp_path, f"vllm serve m --old {value}\n", [old], "run.sh")
        assert (after, withheld) == (f"vllm serve m --seed {value}\n", [])
    old["cases"][0]["target"] = ">=0.30.0"
    after, withheld = planned(tmp_path, "vllm serve m --old $X\n", [old], "run.sh")
    assert withheld == ["what replaces it depends on a value only known at run time"]
    assert planned(tmp_path, "vllm serve m --old 4\n", [old], "run.sh") == ("vllm serve m\n", [])


def test_a_key_that_was_replaced_twice_becomes_the_last(tmp_path: Path) -> None:
    entries = [
        entry("--compilation-config.old", to("--compilation-config.older"), surface="key"),
        entry("--compilation-config.older", to("--compilation-config.mode", 3), surface="key"),
    ]
    text = "vllm serve m --compilation-config '{\"old\": 1}'\n"
    after, withheld = planned(tmp_path, text, entries, "run.sh")
    assert (after, withheld) == (text.replace('"old": 1', '"mode": 3'), [])


def test_values_convert_or_are_left_with_the_reason(tmp_path: Path) -> None:
    number = {"from": "$value", "as": "int"}
    entries = [entry("--old", to("--compilation-config.mode", number))]
    after, withheld = planned(tmp_path, "vllm serve m --old 3\n", entries, "run.sh")
    assert (after, withheld) == ("vllm serve m --compilation-config.mode 3\n", [])
    for value in ("many", "$X"):
        text = f"vllm serve m --old {value}\n"
        after, withheld = planned(tmp_path, text, entries, "run.sh")
        assert after == text
        assert len(withheld) == 1 and withheld[0]


def test_a_replacement_is_followed_in_the_form_the_launch_has(tmp_path: Path) -> None:
    onward = {**entry("--older", to("--seed")), "only": "keyword"}
    entries = [entry("--old", to("--older")), onward]
    text = "from vllm import LLM\nLLM('m', old=4)\n"
    assert planned(tmp_path, text, entries, "run.py") == (text.replace("old=4", "seed=4"), [])
    text = "vllm serve m --old 4\n"
    why = "--older, which replaces it, does not exist in 0.33.0"
    assert planned(tmp_path, text, entries, "run.sh") == (text, [why])
