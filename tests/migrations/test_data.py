"""The migration data: valid, consistent with itself, and with the catalog where there is one."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
FILES = sorted((SCHEMAS / "migrations").glob("*.json"))
CATALOG = SCHEMAS / "catalog"

Entry = dict[str, Any]


def _load() -> list[tuple[str, Entry]]:
    found: list[tuple[str, Entry]] = []
    for path in FILES:
        for entry in json.loads(path.read_text(encoding="utf-8"))["migrations"]:
            found.append((path.name, entry))
    return found


ENTRIES = _load()
IDS = [entry["id"] for _, entry in ENTRIES]


def _version(text: str) -> tuple[int, ...]:
    """A release as a key that sorts: 0.8.5.post1 comes after 0.8.5."""
    base, _, post = text.partition(".post")
    parts = [int(part) for part in base.split(".")]
    return (*parts, *([0] * (4 - len(parts))), int(post or 0))


def _results(entry: Entry) -> list[dict[str, Any]]:
    return [result for case in entry.get("cases", []) for result in case["then"]]


def _section(name: str) -> dict[str, Any]:
    path = CATALOG / f"{name}.json"
    if not path.exists():
        pytest.skip(f"no catalog section {name}")
    entries: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["entries"]
    return entries


def _releases() -> list[str]:
    path = CATALOG / "releases.json"
    if not path.exists():
        pytest.skip("no catalog")
    return [str(version) for version in json.loads(path.read_text(encoding="utf-8"))["releases"]]


def _alive(intervals: list[list[Any]], release: str) -> bool:
    at = _version(release)
    return any(
        _version(first) <= at and (end is None or at < _version(end)) for first, end, *_ in intervals
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file_is_valid_against_the_schema(path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / "migration.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    problems = [
        f"{'/'.join(str(part) for part in error.absolute_path)}: {error.message[:200]}"
        for error in validator.iter_errors(json.loads(path.read_text(encoding="utf-8")))
    ]
    assert problems == []


def test_schema_refuses_what_it_does_not_know() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / "migration.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    good = json.loads((SCHEMAS / "migrations" / "engine-options.json").read_text(encoding="utf-8"))
    assert validator.is_valid(good)
    entry = good["migrations"][0]
    for broken in (
        {**entry, "colour": "red"},
        {**entry, "evidence": []},
        {**entry, "name": "no spaces allowed"},
        {**entry, "removed_in": "v0.18"},
        {**entry, "cases": [{"then": [], "safety": "unsafe"}]},
    ):
        assert not validator.is_valid({**good, "migrations": [broken]})


def test_ids_are_unique() -> None:
    assert sorted(IDS) == sorted(set(IDS))


def test_two_entries_never_judge_the_same_thing() -> None:
    seen: dict[tuple[Any, ...], str] = {}
    for _, entry in ENTRIES:
        if entry["code"] == "VM109":
            continue
        for value in entry.get("values", [None]):
            what = (
                entry["surface"],
                entry["name"],
                value,
                entry.get("only"),
                entry["removed_in"],
                entry.get("changed_in"),
            )
            assert what not in seen, f"{entry['id']} and {seen[what]} say the same"
            seen[what] = entry["id"]


@pytest.mark.parametrize("entry", [entry for _, entry in ENTRIES], ids=IDS)
def test_entry_is_consistent(entry: Entry) -> None:
    for text in (entry["title"], entry["reason"], entry["help"]):
        assert text == text.strip() and text
    times = [entry.get(k) for k in ("introduced_in", "deprecated_in", "removed_in", "returned_in")]
    known = [_version(time) for time in times if time]
    assert known == sorted(known), f"releases run backwards: {times}"
    if entry.get("returned_in"):
        assert entry["removed_in"], "what returned must have been removed"
    if entry["severity"] == "error":
        assert entry["removed_in"] or entry.get("changed_in")
    if entry["surface"] == "variable" and entry["removed_in"] and not entry.get("values"):
        assert entry["severity"] == "warning", "a variable that is gone is ignored, not refused"
    for case in entry.get("cases", []):
        if case["safety"] == "unsafe":
            assert case.get("why"), "a person must be told what to decide"
        else:
            assert "why" not in case, "a safe case leaves nothing to decide"
        if "pattern" in case.get("when", {}):
            re.compile(case["when"]["pattern"])
        for value in case.get("when", {}).get("value", []):
            if entry.get("values"):
                assert value in entry["values"], f"{value} is not among the values of the entry"
    for result in _results(entry):
        own = {entry["name"], *entry.get("names", [])}
        if not entry.get("values") and entry.get("only") is None and entry["code"] != "VM111":
            for target in (result.get("option"), result.get("variable")):
                assert target not in own, "a replacement by itself never ends"


def test_replacements_form_no_circle() -> None:
    """Following results from name to name ends: the tool composes chains when it loads them."""
    edges: dict[str, set[str]] = {}
    for _, entry in ENTRIES:
        if entry.get("values") or not entry["removed_in"]:
            continue
        for result in _results(entry):
            target = result.get("option") or result.get("variable") or result.get("name")
            if target and not result.get("drop"):
                edges.setdefault(entry["name"], set()).add(str(target))

    def walk(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above, name))
        for following in edges.get(name, ()):
            if following != name:
                walk(following, (*above, name))

    for name in edges:
        walk(name, ())


def test_removed_options_are_absent_from_the_catalog() -> None:
    options = _section("options")
    releases = _releases()
    spelled = {name: name for name in options}
    for name, intervals in options.items():
        for _, _, attrs in intervals:
            for spelling in attrs.get("spellings", []):
                spelled.setdefault(spelling, name)
    wrong = []
    for _, entry in ENTRIES:
        if entry["surface"] != "option" or entry.get("values") or entry.get("only") == "keyword":
            continue
        removed = entry["removed_in"]
        if removed not in releases or spelled.get(entry["name"]) != entry["name"]:
            continue
        if _alive(options[entry["name"]], removed):
            wrong.append(f"{entry['id']}: still accepted by {removed}")
    assert wrong == []


def test_removed_variables_are_absent_from_the_catalog() -> None:
    variables = _section("variables")
    releases = _releases()
    wrong = [
        entry["id"]
        for _, entry in ENTRIES
        if entry["surface"] == "variable"
        and not entry.get("values")
        and entry["removed_in"] in releases
        and entry["name"] in variables
        and _alive(variables[entry["name"]], entry["removed_in"])
    ]
    assert wrong == []


def test_replacements_exist_in_some_release() -> None:
    options = _section("options")
    variables = _section("variables")
    spellings = set(options)
    for intervals in options.values():
        for _, _, attrs in intervals:
            spellings.update(attrs.get("spellings", []))
    wrong = []
    for _, entry in ENTRIES:
        for result in _results(entry):
            option = result.get("option")
            if option and option.split(".")[0] not in spellings:
                wrong.append(f"{entry['id']}: no release has {option}")
            variable = result.get("variable", "")
            if variable.startswith("VLLM_") and variable not in variables:
                wrong.append(f"{entry['id']}: no release reads {variable}")
    assert wrong == []


def _distribution() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((SCHEMAS / "distribution.json").read_text(encoding="utf-8"))
    return data


@pytest.mark.parametrize("section", ["channels", "rocm", "nightly"])
def test_distribution_intervals_follow_each_other(section: str) -> None:
    intervals = _distribution()[section]
    for earlier, later in itertools.pairwise(intervals):
        assert earlier["until"] == later["from"]
    assert intervals[-1]["until"] is None
    assert all(item["evidence"] for item in intervals)


def test_every_release_from_0_6_0_on_has_one_channel() -> None:
    channels = _distribution()["channels"]
    assert channels[0]["from"] == "0.6.0"
    for release, default, suffixes in (
        ("0.19.1", "cu129", ["cu130"]),
        ("0.20.0", "cu130", ["cu129"]),
        ("0.32.0", "cu130", ["cu129"]),
        ("0.33.0", "cu130", []),
    ):
        at = _version(release)
        (found,) = [
            channel
            for channel in channels
            if _version(channel["from"]) <= at and (not channel["until"] or at < _version(channel["until"]))
        ]
        assert (found["default"], found["suffixes"]) == (default, suffixes)


def test_every_channel_named_has_a_driver_floor() -> None:
    data = _distribution()
    named = {channel["default"] for channel in data["channels"]}
    for channel in data["channels"]:
        named.update(channel["suffixes"], channel["wheel_local"])
        assert channel["driver"] == data["drivers"][channel["default"]]
    assert named <= set(data["drivers"])
