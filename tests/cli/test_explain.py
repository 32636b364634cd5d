"""`explain`, `rules` and `releases` over a small catalog and the shipped migrations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from standin import Run

from vllm_migrate import catalog, changes, explain
from vllm_migrate.catalog import SECTIONS, Catalog, UnknownRelease
from vllm_migrate.catalog.removals import Removal, Thing
from vllm_migrate.config import Config, ConfigError, PathReleases
from vllm_migrate.migrations import load
from vllm_migrate.paths import schemas_dir
from vllm_migrate.runs import check_settings

HISTORY: dict[str, dict[str, Any]] = {
    "options": {
        "--swap-space": [["0.17.0", "0.18.0", {"type": "float", "default": 4}]],
        "--dtype": [
            ["0.17.0", "0.18.0", {"choices": ["auto", "half"], "default": "auto"}],
            ["0.18.0", None, {"choices": ["auto", "bfloat16"], "default": "auto"}],
        ],
        "--device-ids": [["0.18.0", None, {}]],
    },
    "engine_args": {"swap_space": [["0.17.0", "0.18.0", {}]]},
    "variables": {"VLLM_USE_V1": [["0.17.0", "0.18.0", {}]]},
}


@pytest.fixture(autouse=True)
def small_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "catalog"
    (folder / "releases").mkdir(parents=True)
    releases: list[dict[str, Any]] = [
        {"version": "0.17.0", "python": ">=3.10", "cuda": "12.9", "requires": {"torch": "==2.9.0"}},
        {"version": "0.18.0", "python": ">=3.10", "cuda": "13.0", "requires": {"torch": "==2.10.0", "new": ">=1"}},
    ]
    (folder / "releases.json").write_text(json.dumps({"format": 1, "releases": [r["version"] for r in releases]}))
    for release in releases:
        path = folder / "releases" / f"{release['version']}.json"
        path.write_text(json.dumps({"format": 1, "release": release}))
    for section in SECTIONS:
        text = json.dumps({"format": 1, "section": section, "entries": HISTORY.get(section, {})})
        (folder / f"{section}.json").write_text(text)

    real = catalog.load

    def load_small(extra: Sequence[Path] = ()) -> Catalog:
        return real(extra, folder=folder)

    monkeypatch.setattr(catalog, "load", load_small)
    monkeypatch.setattr(changes, "load", load_small)
    monkeypatch.setattr(explain, "load_catalog", load_small)


@pytest.mark.parametrize("name", ["swap-space", "--swap-space", "swap_space", "--swap_space", "VM101:swap-space"])
def test_an_option_in_any_spelling(run: Run, name: str) -> None:
    ran = run("explain", name)
    text = ran.out.decode()
    assert ran.status == 0
    assert "VM101:swap-space (error)" in text
    assert "--swap-space: option of `vllm serve`, 0.17.0 until before 0.18.0" in text
    assert "swap_space: EngineArgs parameter, 0.17.0 until before 0.18.0" in text
    assert "removed in 0.18.0" in text
    for heading in ("Why:", "What to do:", "What `fix` writes", "Evidence:"):
        assert heading in text


def test_a_variable_an_architecture_and_a_key(run: Run) -> None:
    assert b"VLLM_USE_V1: environment variable, 0.17.0 until before 0.18.0" in run("explain", "VLLM_USE_V1").out
    assert b"VM801:" in run("explain", "MedusaModel").out or b"VM301:" in run("explain", "MedusaModel").out
    assert run("explain", "--compilation-config.level").status == 0


def test_what_only_the_catalog_knows(run: Run) -> None:
    ran = run("explain", "--device-ids")
    assert ran.lines[0] == "--device-ids: option of `vllm serve`, since 0.18.0"


def test_a_code_by_number_and_by_name(run: Run) -> None:
    by_code = run("explain", "VM101")
    assert by_code.lines[0].startswith("VM101 removed-option (error)")
    assert run("explain", "removed-option").out == run("explain", "vm101").out == by_code.out
    assert b"swap-space" in by_code.out, "the migrations under a code are listed"


def test_an_unknown_name_offers_near_ones(run: Run) -> None:
    ran = run("explain", "--swap-spice")
    assert (ran.status, ran.out) == (2, b"")
    assert "did you mean --swap-space" in ran.err


def test_every_shipped_migration_can_be_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    known, facts = load(), explain.load_catalog(())
    monkeypatch.setattr(explain, "load_migrations", lambda extra: known)
    monkeypatch.setattr(explain, "load_catalog", lambda extra: facts)
    # Examples have tests of their own; thousands of them would take a minute.
    monkeypatch.setattr(explain, "example", lambda entry, catalog: None)
    for entry in known.all:
        text = explain.explanation(entry.id, Config())
        assert f"{entry.code}:{entry.id}" in text
        assert f":{entry.id} " in explain.explanation(entry.name, Config()), entry.name


def test_rules(run: Run) -> None:
    lines = run("rules").lines
    assert any(line.split()[:3] == ["VM101", "removed-option", "error"] for line in lines)
    assert [line.split()[0] for line in lines] == sorted(line.split()[0] for line in lines)
    data = json.loads(run("rules", "--output-format", "json").out)
    assert {"code", "slug", "severity", "summary"} == set(data[0])
    assert len(data) == len(lines)


def test_releases(run: Run) -> None:
    assert run("releases").lines == [
        "0.17.0       CUDA 12.9, torch ==2.9.0, Python >=3.10",
        "0.18.0       CUDA 13.0, torch ==2.10.0, Python >=3.10",
    ]
    assert "  options: 2" in run("releases", "0.17.0").lines


def test_a_catalog_may_lack_a_section(run: Run, tmp_path: Path) -> None:
    whole = run("releases", "0.17.0").lines
    (tmp_path / "catalog" / "variables.json").unlink()
    assert [line for line in whole if "variables" not in line] == run("releases", "0.17.0").lines != whole


def test_changes_between_two_releases_with_what_is_written_about_each_loss(run: Run) -> None:
    lines = run("releases", "0.17.0", "0.18.0").lines
    assert lines[:6] == [
        "vLLM 0.17.0 → 0.18.0",
        "",
        "Build, images and toolchain",
        "  cuda: 12.9 → 13.0",
        "",
        "Requirements",
    ]
    assert lines[6:13] == [
        "  new: none → >=1",
        "  torch: ==2.9.0 → ==2.10.0",
        "",
        "Options",
        "  - --swap-space: gone since 0.18.0; --swap-space was removed: the KV cache is never swapped to CPU memory"
        "  (VM101:swap-space)",
        "  + --device-ids",
        "",
    ]
    assert lines[13:16] == [
        "Values of options",
        "  - --dtype half: gone since 0.18.0; what replaces it is not recorded",
        "  + --dtype bfloat16",
    ]
    assert any(line.startswith("  - VLLM_USE_V1: gone since 0.18.0; ") for line in lines)


def test_the_order_of_two_releases_does_not_matter(run: Run) -> None:
    ran = run("releases", "0.18.0", "0.17.0")
    assert ran.status == 0
    assert ran.out == run("releases", "0.17.0", "0.18.0").out
    assert "0.18.0 is the newer one" in ran.err
    assert run("releases", "0.17.0", "0.18.0").err == ""
    assert run("releases", "0.18.0", "0.18.0").lines == ["vLLM 0.18.0 → 0.18.0"]


def test_changes_as_json_follow_the_schema(run: Run) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads((schemas_dir() / "releases.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    data = json.loads(run("releases", "0.17.0", "0.18.0", "--output-format", "json").out)
    Draft202012Validator(schema).validate(data)
    options = next(p for p in data["parts"] if p["part"] == "options")
    assert options["removed"][0]["answer"]["migration"] == "swap-space"
    assert options["added"] == [{"kind": "option", "name": "--device-ids"}]
    assert {"name": "torch", "old": "==2.9.0", "new": "==2.10.0"} in data["requirements"]


def test_changes_as_markdown(run: Run) -> None:
    lines = run("releases", "0.17.0", "0.18.0", "--output-format", "markdown").lines
    assert lines[0] == "# vLLM 0.17.0 → 0.18.0"
    assert "## Options" in lines
    assert "| New | `--device-ids` |  |" in lines
    assert any(line.startswith("| Gone | `--swap-space` | gone since 0.18.0; ") for line in lines)


def test_a_form_goes_with_two_releases(run: Run) -> None:
    ran = run("releases", "0.17.0", "--output-format", "json")
    assert (ran.status, ran.out) == (2, b"")


def test_an_unknown_release_is_refused(run: Run) -> None:
    ran = run("releases", "0.17.0", "9.0.0")
    assert (ran.status, ran.out) == (2, b"")
    assert "9.0.0" in ran.err and "0.18.0" in ran.err


@pytest.mark.parametrize(
    "settings",
    [{"to": ("9.0.0",)}, {"to": ("latest",)}, {"paths": {"a/**": PathReleases(to="0.1.0")}}],
)
def test_an_unknown_target_is_refused_before_anything_is_read(settings: dict[str, Any]) -> None:
    with pytest.raises(UnknownRelease, match=r"9\.0\.0|latest|0\.1\.0"):
        check_settings(Config(**settings))


def test_a_release_that_is_read_as_another_one_is_told() -> None:
    told = check_settings(Config(to=("0.17.9",)))
    assert len(told) == 1
    assert told[0].startswith("vLLM 0.17.9 is not in the catalog: judged against 0.17.")


def test_the_release_to_leave_may_lie_outside_the_catalog() -> None:
    assert check_settings(Config(from_="0.5.3post1", to=("v0.18.0", "0.18"))) == []
    with pytest.raises(ConfigError, match="stable"):
        check_settings(Config(from_="stable"))


def test_codes_of_a_teams_own_migrations_are_selectors(tmp_path: Path) -> None:
    said = "a sentence that says something"
    entry = {
        "id": "ours", "code": "VM799", "surface": "option", "name": "--ours", "introduced_in": None,
        "deprecated_in": None, "removed_in": "0.18.0", "severity": "error", "title": said, "reason": said,
        "help": said, "evidence": [said], "cases": [],
    }  # fmt: skip
    (tmp_path / "own.json").write_text(json.dumps({"format": 1, "theme": "ours", "migrations": [entry]}))
    settings = Config(select=("VM799", "ours", "vm799:ours"), migrations=(tmp_path / "own.json",))
    assert check_settings(settings) == []
    with pytest.raises(ConfigError, match="VM799"):
        check_settings(Config(select=("VM799",)))


def test_selectors_must_mean_something() -> None:
    check_settings(Config(select=("VM1", "ALL", "swap-space"), ignore=("vm101:swap-space",)))
    for selector in ("VM999", "swap", "VM101:nonsense", "E501"):
        with pytest.raises(ConfigError, match=selector):
            check_settings(Config(select=(selector,)))


def test_building_a_catalog_lists_what_nothing_is_written_about(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vllm_migrate.catalog import build as module

    gone = (
        Removal(Thing("option", "--dtype"), "0.18.0", "0.19.0"),
        Removal(Thing("choice", "--load-format", "fresh"), "0.18.0", "0.19.0"),
        Removal(Thing("option", "--swap-space"), "0.18.0", "0.19.0"),
    )
    inner = (Removal(Thing("speculative_method", "wish"), "0.20.0", "0.21.0"),)
    release = module.MinedRelease("0.19.0", here, {"options": 3, "llm": 0}, ("no Dockerfile",), "0.18.0", gone)
    quiet = module.MinedRelease("0.20.0", here, {"options": 3}, (), "0.19.0", gone[2:])
    same = module.MinedRelease("0.20.1", here, {"options": 3}, (), "0.20.0")
    last = module.MinedRelease("0.21.0", here, {"options": 3, "tool_parsers": 2}, (), "0.20.0", inner)
    first = module.MinedRelease("0.1.0", here, {"options": 3}, (), None)
    report = module.BuildReport([release, quiet, same, last, first], [here / "x.json"])
    monkeypatch.setattr(module, "build", lambda paths, version, output: report)
    ran = run("catalog", "build", "src", "--output", "x.json")
    assert ran.status == 0
    assert ran.lines == [
        "vLLM 0.19.0: 3 options",
        "  - option --dtype  (0.18.0 has it; no migration yet)",
        '    {"id": "dtype", "code": "VM101", "surface": "option", "name": "--dtype", "introduced_in": null, '
        '"deprecated_in": null, "removed_in": "0.19.0", "severity": "error"}',
        "  - choice --load-format fresh  (0.18.0 has it; no migration yet)",
        '    {"id": "load-format-fresh", "code": "VM104", "surface": "option", "name": "--load-format", '
        '"values": ["fresh"], "introduced_in": null, "deprecated_in": null, "removed_in": "0.19.0", '
        '"severity": "error"}',
        "  3 removals since 0.18.0, 2 without a migration",
        "  note: no Dockerfile",
        "vLLM 0.20.0: 3 options",
        "  1 removal since 0.19.0, each with an answer",
        "vLLM 0.20.1: 3 options",
        "  no removals since 0.20.0",
        "vLLM 0.21.0: 3 options, 2 tool parsers",
        "  - speculative method wish  (0.20.0 has it; no migration yet)",
        '    {"id": "speculative-config-method-wish", "code": "VM104", "surface": "key", '
        '"name": "--speculative-config.method", "values": ["wish"], "introduced_in": null, "deprecated_in": null, '
        '"removed_in": "0.21.0", "severity": "error"}',
        "  1 removal since 0.20.0, 1 without a migration",
        "vLLM 0.1.0: 3 options",
    ]
    assert "x.json" in ran.err


def test_a_source_that_cannot_be_mined_is_named(run: Run, here: Path) -> None:
    (here / "empty").mkdir()
    ran = run("catalog", "build", "empty", "--output", "x.json")
    assert (ran.status, ran.out) == (2, b"")
    assert "empty" in ran.err and "Traceback" not in ran.err
    assert not (here / "x.json").exists()


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explain from the catalog that ships."""
    real = catalog.Catalog(schemas_dir() / "catalog")
    monkeypatch.setattr(explain, "load_catalog", lambda extra: real)


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("medusa", ("medusa: speculative method, ", "value of --spec-method", "VM301:method-medusa")),
        ("swap_space", ("swap_space: LLM() parameter", "VM101:swap-space", "takes it away (safe)")),
        ("speculative_model", ("VM302:speculative-model", "--speculative-config.model with the same value (unsafe)")),
        ("guided_json", ("request field of /v1/chat/completions", "VM903:", "writes structured_outputs.json")),
        ("vllm:time_in_queue_requests", ("metric", "VM901:", "writes vllm:request_queue_time_seconds (safe)")),
        ("fp8_inc", ("fp8_inc: value of --kv-cache-dtype, since 0.10.0",)),
        ("glm4_moe", ("glm4_moe: tool parser", "glm4_moe: reasoning parser", "VM104:")),
        ("/generate", ("/generate: endpoint", "VM902:endpoint-generate")),
        ("XFORMERS", ("attention backend", "VM205:env-attention-backend-xformers", "another backend takes its place")),
        ("FLASH_ATTN_VLLM_V1", ("FLASH_ATTN_VLLM_V1 → FLASH_ATTN",)),
        ("SamplingParams.best_of", ("parameter of SamplingParams", "0.6.0 until before")),
        ("-tp", ("-tp: spelling of --tensor-parallel-size, since 0.6.0",)),
        ("TransformersModel", ("model architecture", "vLLM gave the name itself; no checkpoint carries it.")),
        ("QWEN2FORCAUSALLM", ("Qwen2ForCausalLM: model architecture",)),
    ],
)
def test_a_word_is_explained_in_every_kind_it_is_known(run: Run, word: str, expected: tuple[str, ...]) -> None:
    ran = run("explain", word)
    text = " ".join(ran.out.decode().split())
    assert ran.status == 0
    assert [part for part in expected if part not in text] == []


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize(
    ("word", "near"),
    [("medusaa", "medusa"), ("guided_jsn", "guided_json"), ("VLLM_ATENTION_BACKEND", "VLLM_ATTENTION_BACKEND")],
)
def test_a_word_that_is_nearly_known_is_offered(run: Run, word: str, near: str) -> None:
    ran = run("explain", word)
    assert (ran.status, ran.out) == (2, b"")
    assert near in ran.err.partition("did you mean")[2]


def test_summaries_of_rules_are_sentences() -> None:
    from vllm_migrate.rules.registry import rules

    for rule in rules().values():
        assert rule.summary[0].isupper() and rule.summary.endswith("."), rule.code


def test_the_shipped_catalog_has_an_answer_for_every_loss_and_follows_the_schema() -> None:
    from jsonschema import Draft202012Validator

    from vllm_migrate.answers import load as load_answers
    from vllm_migrate.differences import differences

    validator = Draft202012Validator(json.loads((schemas_dir() / "releases.schema.json").read_text()))
    shipped, answers = catalog.Catalog(schemas_dir() / "catalog"), load_answers(load())
    for first, second in (("0.6.0", "0.33.0"), ("0.10.2", "0.11.0"), ("0.17.1", "0.18.0"), ("0.32.0", "0.33.0")):
        data = differences(shipped, answers, first, second)
        validator.validate(data)
        open_ = [row["name"] for part in data["parts"] for row in part["removed"] if row["answer"] is None]
        assert open_ == [], (first, second)
        assert sum(len(part["removed"]) for part in data["parts"]) > 20
