"""Whatever a release took away has an answer, and every answer leads to something the target takes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from vllm_migrate.answers import Answers, Reason
from vllm_migrate.answers import load as load_answers
from vllm_migrate.catalog import Catalog, Release
from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.catalog.removals import FIELDS, NAMES, Removal, default_changes, history
from vllm_migrate.migrations import Case, Migration, Migrations, holds, normal
from vllm_migrate.migrations import load as load_migrations
from vllm_migrate.paths import schemas_dir
from vllm_migrate.planning import NoFix, find_answer
from vllm_migrate.rules.program import final_name
from vllm_migrate.versions_key import key


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="module")
def answers() -> Answers:
    return load_answers(load_migrations())


@pytest.fixture(scope="module")
def removals(catalog: Catalog) -> list[Removal]:
    return history(catalog)


def _told(removal: Removal) -> str:
    back = f", back in {removal.returned_in}" if removal.returned_in else ""
    what = f"{removal.kind} {removal.name} {removal.value}".rstrip()
    return f"{what}: {removal.last} has it, {removal.removed_in} not{back}"


def test_every_removal_has_an_answer(answers: Answers, removals: list[Removal]) -> None:
    assert len(removals) > 1500
    unanswered = [_told(r) for r in removals if answers.of(r) is None]
    assert not unanswered, "\n".join(unanswered)


def test_every_default_that_gave_way_to_another_has_an_answer(catalog: Catalog, answers: Answers) -> None:
    changes = default_changes(catalog)
    assert len(changes) > 50
    unanswered = [f"{_told(r)}" for r in changes if answers.of(r) is None]
    assert not unanswered, "\n".join(unanswered)


def test_an_answer_holds_as_long_as_the_thing_is_away(
    catalog: Catalog, answers: Answers, removals: list[Removal]
) -> None:
    order = list(catalog.releases)
    wrong = []
    for removal in removals:
        end = order.index(removal.returned_in) if removal.returned_in else len(order)
        if answers.of(removal, order[end - 1]) is None:
            wrong.append(f"{_told(removal)}: no answer for {order[end - 1]}")
        answer = answers.of(removal)
        if removal.returned_in and isinstance(answer, Migration) and answer.gone(removal.returned_in):
            wrong.append(f"{_told(removal)}: {answer.id} says it is still gone")
    assert not wrong, "\n".join(wrong)


def test_no_answer_comes_before_its_removal(answers: Answers, removals: list[Removal]) -> None:
    early = [
        f"{_told(r)}: {a.id}"
        for r in removals
        for a in [answers.of(r)]
        if isinstance(a, Migration) and a.gone(r.last)
    ]
    # Hidden by the new engine in 0.11.0, whose tree still carries the module of the old one.
    assert early == ["metric vllm:gpu_cache_usage_perc: 0.11.0 has it, 0.11.1 not: metric-gpu-cache-usage-perc"]


def test_the_file_follows_its_schema_and_says_nothing_twice(answers: Answers) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads((schemas_dir() / "answers.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads((schemas_dir() / "answers.json").read_text()))
    assert [i for i, n in Counter(r.id for r in answers.reasons).items() if n > 1] == []


def test_every_reason_and_every_name_in_it_covers_something(
    catalog: Catalog, answers: Answers, removals: list[Removal]
) -> None:
    idle, changes = [], default_changes(catalog)
    for reason in answers.reasons:
        for name in reason.names:
            alone = replace(reason, names=(name,))
            if not any(alone.covers(r) for r in [*removals, *changes]):
                idle.append(f"{reason.id}: {name}")
    assert not idle, "\n".join(idle)


def test_a_reason_never_stands_where_a_migration_speaks(answers: Answers, removals: list[Removal]) -> None:
    """Broad reasons are for inner things only: options, keywords, metrics and variables are spoken of one by one."""
    alone = ("keyword", "metric", "quantization", "tool_parser", "reasoning_parser", "speculative_method", "executor")
    assert [_told(r) for r in removals if r.kind in alone and isinstance(answers.of(r), Reason)] == []


def test_places_where_names_are_given_exist(catalog: Catalog, answers: Answers) -> None:
    kinds = {*NAMES.values(), *(k for pair in FIELDS.values() for k in pair)}
    for kind, places in answers.given.items():
        assert kind in kinds
        for surface, name in places:
            section = {"option": "options", "key": "options", "variable": "variables"}[surface]
            assert catalog.lifetime(section, name.partition(".")[0]), name


def _values(migration: Migration, case: Case) -> list[Any]:
    """Return texts for which a case may hold, typed as a user would write them."""
    when = case.when
    if "value" in when:
        return [str(when["value"][0])]
    if migration.values:
        return [v for v in migration.values if v not in when.get("not_value", ())][:1]
    if "truthy" in when:
        return ["true" if when["truthy"] else "false"]
    return ["4", "0.5", "true", "text", '{"a": 1}', "[1, 2]", "a,b", "a=1"]


def _context(release: Release, migrations: Migrations, case: Case, entry_point: str) -> Any:
    arguments = [SimpleNamespace(subject=n, option=n, path=()) for n in case.when.get("with", ())]
    site = SimpleNamespace(entry_point=entry_point, variables=[])
    return SimpleNamespace(target=release, migrations=migrations, arguments=arguments, site=site)


def _introduced(catalog: Catalog, name: str) -> str | None:
    head, _, tail = name.lstrip("-").partition(".")
    options = catalog.entries("options")
    if name.startswith("VLLM_"):
        return catalog.introduced_in("variables", name)
    if tail:
        configs = {a.get("config") for i in options.get("--" + head, []) for *_, a in i and [i[-1]]}
        found = [catalog.introduced_in("configs", f"{c}.{tail.split('.')[0]}") for c in configs if c]
        return next((f for f in found if f), catalog.introduced_in("options", "--" + head))
    return catalog.introduced_in("options", "--" + normal(head))


def test_every_replacement_ends_at_what_the_target_takes_or_says_why_not(catalog: Catalog, answers: Answers) -> None:
    """For every migration and every release it speaks for, its results are followed to the end."""
    wrong: list[str] = []
    followed = 0
    for migration in answers.migrations.all:
        since = migration.removed_in or migration.changed_in
        if since is None or migration.surface not in ("option", "key", "variable"):
            continue
        entry_point = "AsyncEngineArgs" if migration.only == "keyword" else "serve"
        for version in catalog.releases:
            if key(version) < key(since) or (migration.removed_in and not migration.gone(version)):
                continue
            release = catalog.release(version)
            for case in migration.cases:
                if case.target and not holds(Case((), "safe", {}, case.target), version, None, ()):
                    continue
                for value in _values(migration, case):
                    context = _context(release, answers.migrations, case, entry_point)
                    if not holds(case, version, value, [normal(n) for n in case.when.get("with", ())]):
                        continue
                    try:
                        results, _, _, _ = find_answer(context, migration, value)
                    except NoFix as error:
                        text = str(error)
                        name = text.partition(",")[0]
                        first = _introduced(catalog, name) if "does not exist in" in text else None
                        too_early = first is not None and key(version) < key(first)
                        if "circle" in text or ("does not exist in" in text and not too_early):
                            wrong.append(f"{migration.id} for {version}: {text}")
                        continue
                    followed += len(results) or 1
                    break
    assert followed > 5000
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("surface", ["import", "metric", "field", "endpoint", "method"])
def test_a_new_name_is_one_the_target_has(catalog: Catalog, answers: Answers, surface: str) -> None:
    """Names are followed as `check` follows them: to the one that is there, or to none."""
    wrong = []
    known = {"import": "modules", "metric": "metrics", "endpoint": "endpoints"}.get(surface)
    for entry in answers.migrations.of_surface(surface):
        if not any("name" in r for c in entry.cases for r in c.then):
            continue
        for version in catalog.releases:
            if not entry.gone(version):
                continue
            found = final_name(answers.migrations, surface, entry, version)
            if found is None:
                continue
            name = found[0]
            if answers.migrations.answer(surface, name, version) is not None:
                wrong.append(f"{entry.id} for {version}: {name} is gone too")
            release = catalog.release(version)
            here = known is None or not name.startswith(("vllm", "/")) or any(
                release.has(known, n) for n in (name, name.rpartition(".")[0])
            )
            if not here and not name.startswith("vllm_"):
                wrong.append(f"{entry.id} for {version}: there is no {name}")
    assert not wrong, "\n".join(wrong)
