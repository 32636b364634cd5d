"""The catalog that ships: valid, quick to load, and right where people have been bitten."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tiny import write_tree

from vllm_migrate.catalog import SECTIONS, Catalog, load
from vllm_migrate.catalog.build import build
from vllm_migrate.paths import schemas_dir
from vllm_migrate.versions_key import key

FOLDER = schemas_dir() / "catalog"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


@pytest.fixture(scope="module")
def validator() -> Any:
    from jsonschema import Draft202012Validator

    schema = json.loads((schemas_dir() / "catalog.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("name", ["releases", "releases/0.6.0", "releases/0.33.0", *SECTIONS])
def test_files_follow_the_schema(name: str, validator: Any) -> None:
    data = json.loads((FOLDER / f"{name}.json").read_text())
    errors = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in validator.iter_errors(data)]
    assert errors == []


def test_a_single_release_follows_the_schema(validator: Any, tmp_path: Path) -> None:
    build([write_tree(tmp_path / "0.40.0")], output=tmp_path / "own.json")
    validator.validate(json.loads((tmp_path / "own.json").read_text()))


@pytest.mark.parametrize(
    "data",
    [
        {"format": 2, "releases": []},
        {"format": 1, "section": "options", "entries": {"--x": []}},
        {"format": 1, "section": "options", "entries": {"--x": [["0.6.0", None]]}},
        {"format": 1, "section": "options", "entries": {"--x": [["0.6.0", None, {"colour": 1}]]}},
        {"format": 1, "section": "nonsense", "entries": {}},
        {"format": 1, "version": "newest", "release": {}, "sections": {}},
    ],
)
def test_the_schema_refuses(data: Any, validator: Any) -> None:
    assert not validator.is_valid(data)


def test_releases_are_in_order_and_intervals_name_them(catalog: Catalog) -> None:
    assert list(catalog.releases) == sorted(catalog.releases, key=key)
    order = {v: i for i, v in enumerate(catalog.releases)}
    for section in SECTIONS:
        for name, intervals in catalog.entries(section).items():
            position = -1
            for first, end, _ in intervals:
                assert order[first] >= position, (section, name)
                position = len(order) if end is None else order[end]
                assert position > order[first], (section, name)


def test_what_every_release_has(catalog: Catalog) -> None:
    for version in catalog.releases:
        release = catalog.release(version)
        for section in ("options", "engine_args", "llm", "configs", "variables", "architectures", "metrics"):
            assert len(release.section(section)) > 5, (version, section)
        assert release.option("--model").option in ("--model", None)
        assert release.keyword("max_model_len", "LLM") is not None
        assert release.has("variables", "VLLM_HOST_IP")
        assert release.facts["python"] and release.facts["requires"]["torch"]


def test_known_turns(catalog: Catalog) -> None:
    assert catalog.removed_in("options", "--swap-space") == "0.18.0"
    assert catalog.introduced_in("options", "--device-ids") == "0.24.0"
    assert catalog.removed_in("variables", "VLLM_USE_V1") is not None
    assert catalog.release("0.33.0").facts["compiler"] == {"gcc": "11.3", "gcc_cuda": "13"}
    assert catalog.release("0.24.0").facts["compiler"] == {"gcc": "11.3", "gcc_cuda": None}
    assert catalog.release("0.10.0").facts["image"]["entrypoint"][-1] == "vllm.entrypoints.openai.api_server"
    assert catalog.release("0.33.0").facts["image"]["entrypoint"] == ["vllm", "serve"]
    assert catalog.release("0.33.0").keyword("speculative_config", "LLM") is not None


def test_disable_log_requests_comes_back_as_an_inverse(catalog: Catalog) -> None:
    for version in ("0.17.0", "0.25.0", "0.32.0"):
        assert catalog.release(version).option("--disable-log-requests").option is None
    back = catalog.release("0.33.0").option("--disable-log-requests")
    assert (back.option, back.exact, back.negated) == ("--enable-log-requests", True, True)
    assert catalog.release("0.33.0").keyword("disable_log_requests", "AsyncEngineArgs") is None


def test_device_reads_as_an_abbreviation(catalog: Catalog) -> None:
    match = catalog.release("0.25.0").option("--device")
    assert (match.option, match.exact) == ("--device-ids", False)
    assert catalog.release("0.33.0").option("--device").option is None


def test_surfaces(catalog: Catalog) -> None:
    release = catalog.release("0.9.0")  # `vllm serve` took the model as a word only
    assert release.option("--model", "serve").option is None
    assert release.option("--model", "api_server").exact
    assert release.option("--model").exact
    assert release.option("--headless", "serve").exact
    assert release.option("--headless", "api_server").option is None


def test_optimization_letters(catalog: Catalog) -> None:
    assert catalog.release("0.10.0").option("-O3").option == "--compilation-config"
    assert catalog.release("0.33.0").option("-O3").option == "--optimization-level"
    assert catalog.release("0.33.0").option("-cc.mode").path == ("mode",)


def test_loading_is_quick() -> None:
    catalog = load()
    best = {}
    for section in SECTIONS:
        times = []
        for _ in range(5):
            catalog = load()
            start = time.perf_counter()
            catalog.release("0.33.0").section(section)
            times.append(time.perf_counter() - start)
        best[section] = min(times)
    slow = {s: f"{t * 1000:.1f} ms" for s, t in best.items() if t > 0.02}
    assert slow == {}
    assert sum(p.stat().st_size for p in FOLDER.iterdir()) < 4_000_000
