"""What releases took away, derived from histories small enough to check by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny import write_history

from vllm_migrate.catalog import Catalog
from vllm_migrate.catalog.removals import Removal, Thing, between, default_changes, history, things

RELEASES = ["0.8.0", "0.9.0", "0.10.0", "0.11.0"]
SECTIONS: dict[str, dict[str, Any]] = {
    "options": {
        "--gone": [["0.8.0", "0.10.0", {"spellings": ["--gone", "-g"], "choices": ["a", "b"]}]],
        "--flicker": [["0.8.0", "0.9.0", {"nargs": 0}], ["0.11.0", None, {"nargs": 0}]],
        "--kind": [
            ["0.8.0", "0.9.0", {"choices": ["x", "y"]}],
            ["0.9.0", "0.10.0", {"choices": ["y"]}],
            ["0.10.0", None, {"type": "str"}],
        ],
        "--free": [["0.8.0", "0.10.0", {"type": "str"}], ["0.10.0", None, {"choices": ["one"]}]],
        "--size": [["0.8.0", "0.9.0", {"type": "human_int"}], ["0.9.0", None, {"type": "int"}]],
        "--chunks": [["0.8.0", "0.9.0", {"nargs": "?"}], ["0.9.0", None, {"nargs": 0, "negative": ["--no-chunks"]}]],
        "--logs": [["0.8.0", "0.10.0", {"nargs": 0, "negative": ["--no-logs"]}], ["0.10.0", None, {"nargs": 0}]],
        "--one-side": [["0.8.0", "0.9.0", {}], ["0.9.0", None, {"only": "api_server"}]],
        "--draft": [["0.8.0", None, {"type": "json", "config": "Draft"}]],
    },
    "configs": {
        "Draft": [["0.8.0", None, {"extra": "forbid"}]],
        "Draft.method": [
            ["0.8.0", "0.11.0", {"choices": ["eagle", "medusa"]}],
            ["0.11.0", None, {"choices": ["eagle"]}],
        ],
        "Draft.inner": [["0.8.0", None, {"config": "Inner"}]],
        "Draft.filled": [["0.8.0", "0.9.0", {"init": False}]],
        "Inner": [["0.8.0", None, {"extra": "forbid"}]],
        "Inner.depth": [["0.8.0", "0.10.0", {"type": "int"}]],
    },
    "engine_args": {"gone": [["0.8.0", "0.10.0", {"type": "str"}]]},
    "llm": {"model": [["0.8.0", None, {}]], "**": [["0.8.0", None, {}]]},
    "metrics": {
        "vllm:shown": [["0.8.0", "0.10.0", {"type": "gauge"}], ["0.10.0", None, {"type": "gauge", "hidden": True}]]
    },
    "endpoints": {
        "/ping": [["0.8.0", "0.9.0", {"methods": ["GET", "POST"]}], ["0.9.0", None, {"methods": ["GET"]}]],
        "/old": [["0.8.0", "0.11.0", {"methods": ["POST"]}]],
    },
    "request_fields": {
        "/old.prompt": [["0.8.0", "0.11.0", {}]],
        "/ping.extra": [["0.8.0", "0.9.0", {}], ["0.10.0", None, {}]],
    },
    "sampling_params": {"SamplingParams.best_of": [["0.8.0", "0.9.0", {}]], "SamplingParams.n": [["0.8.0", None, {}]]},
}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(write_history(tmp_path / "catalog", RELEASES, SECTIONS))


def _of(catalog: Catalog, kind: str) -> list[tuple[str, str, str, str | None]]:
    return [(r.name, r.value, r.removed_in, r.returned_in) for r in history(catalog) if r.kind == kind]


def test_options_by_every_spelling(catalog: Catalog) -> None:
    assert _of(catalog, "option") == [
        ("--flicker", "", "0.9.0", "0.11.0"),
        ("--gone", "", "0.10.0", None),
        ("--no-logs", "", "0.10.0", None),
        ("--one-side", "", "0.9.0", None),
        ("-g", "", "0.10.0", None),
    ]


def test_what_one_surface_lost_is_told_apart(catalog: Catalog) -> None:
    found = {r.name: r.surfaces for r in history(catalog) if r.kind == "option"}
    assert found["--one-side"] == ("serve",)
    assert found["--gone"] == ("api_server", "serve")


def test_values_of_an_option_that_is_there_still(catalog: Catalog) -> None:
    """A free text brings no value back, and takes none that a list did not name before."""
    assert _of(catalog, "choice") == [("--free", "*", "0.10.0", None), ("--kind", "x", "0.9.0", None)]


def test_forms_and_arity(catalog: Catalog) -> None:
    assert _of(catalog, "form") == [("--size", "suffixed", "0.9.0", None)]
    assert _of(catalog, "arity") == [("--chunks", "a value", "0.9.0", None)]


def test_keys_are_those_a_launch_can_write(catalog: Catalog) -> None:
    assert _of(catalog, "key") == [("--draft.inner.depth", "", "0.10.0", None)]
    assert _of(catalog, "key_choice") == [("--draft.method", "medusa", "0.11.0", None)]


def test_keywords_of_each_callee(catalog: Catalog) -> None:
    (gone,) = [r for r in history(catalog) if r.kind == "keyword"]
    assert (gone.name, gone.surfaces) == ("gone", ("AsyncEngineArgs", "EngineArgs", "LLM"))


def test_a_metric_shown_only_on_request_is_gone(catalog: Catalog) -> None:
    assert _of(catalog, "metric") == [("vllm:shown", "", "0.10.0", None)]


def test_what_the_server_answers(catalog: Catalog) -> None:
    assert _of(catalog, "endpoint") == [("/old", "", "0.11.0", None)]
    assert _of(catalog, "method") == [("/ping", "POST", "0.9.0", None)]
    # Fields of a path that is gone say nothing more.
    assert _of(catalog, "request_field") == [("/ping.extra", "", "0.9.0", "0.10.0")]
    assert _of(catalog, "parameter") == [("SamplingParams.best_of", "", "0.9.0", None)]


def test_defaults_that_gave_way_to_another(tmp_path: Path) -> None:
    options = {
        "--one": [["0.8.0", "0.9.0", {"default": 1}], ["0.9.0", None, {"default": 2}]],
        "--open": [["0.8.0", "0.9.0", {"default": 1}], ["0.9.0", None, {}]],
        "--run": [["0.8.0", "0.9.0", {"default": 1}], ["0.9.0", None, {"computed": True}]],
        "--draft": [["0.8.0", None, {"config": "Draft"}]],
    }
    configs = {"Draft.flag": [["0.8.0", "0.11.0", {"default": True}], ["0.11.0", None, {"default": False}]]}
    catalog = Catalog(write_history(tmp_path / "other", RELEASES, {"options": options, "configs": configs}))
    assert [(r.name, r.value, r.last, r.removed_in) for r in default_changes(catalog)] == [
        ("--draft.flag", "true", "0.10.0", "0.11.0"),
        ("--one", "1", "0.8.0", "0.9.0"),
    ]


def test_two_releases_alone(catalog: Catalog) -> None:
    found = between(catalog.release("0.8.0"), catalog.release("0.11.0"))
    names = {(r.kind, r.name, r.value) for r in found}
    assert ("option", "--gone", "") in names
    assert ("option", "--flicker", "") not in names, "it is back"
    assert ("request_field", "/ping.extra", "") not in names
    assert {(r.last, r.removed_in) for r in found} == {("0.8.0", "0.11.0")}
    assert between(catalog.release("0.9.0"), catalog.release("0.9.0")) == []
    assert Removal(Thing("variable", "X"), "a", "b").kind == "variable"


def test_a_release_has_its_things(catalog: Catalog) -> None:
    here = things(catalog.release("0.8.0"))
    assert Thing("option", "-g", "", "serve") in here
    assert Thing("key", "--draft.filled") not in here, "nobody can give it"
    assert Thing("keyword", "model", "", "EngineArgs") not in here
