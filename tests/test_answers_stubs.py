"""The start of a migration that `catalog build` prints for what nothing is written about yet."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from vllm_migrate.answers import Answers, Reason, load, stub
from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.catalog.removals import Removal, Thing, history
from vllm_migrate.migrations import Migrations
from vllm_migrate.migrations import load as load_migrations
from vllm_migrate.paths import schemas_dir

SAID = "a sentence that says something"
REST = {"title": SAID, "reason": SAID, "help": SAID, "evidence": [SAID]}


@pytest.fixture(scope="module")
def answers() -> Answers:
    return load(load_migrations())


def gone(kind: str, name: str, value: str = "", *surfaces: str) -> Removal:
    return Removal(Thing(kind, name, value), "0.8.0", "0.9.0", surfaces=surfaces)


@pytest.mark.parametrize(
    ("kind", "thing", "wanted"),
    [
        ("option", "--no-logs", "no-logs VM101 error option --no-logs"),
        ("keyword", "swap_space", "swap-space VM101 error option --swap-space"),
        ("key", "--compilation-config.a_b", "compilation-config-a-b VM110 error key --compilation-config.a_b"),
        ("variable", "VLLM_X_Y", "vllm-x-y VM201 warning variable VLLM_X_Y"),
        ("architecture", "FooForCausalLM", "fooforcausallm VM801 error architecture FooForCausalLM"),
        ("metric", "vllm:a", "vllm-a VM901 warning metric vllm:a"),
        ("module", "vllm.a.b", "vllm-a-b VM108 error import vllm.a.b"),
        ("endpoint", "/v1/old", "v1-old VM902 warning endpoint /v1/old"),
        ("method", "GET /ping", "get-ping VM902 warning endpoint GET /ping"),
        ("request_field", "/v1/old.a", "v1-old-a VM903 warning field /v1/old.a"),
        ("parameter", "LLM.generate.x", "llm-generate-x VM108 error method LLM.generate.x"),
        ("choice", "--dtype=Half", "dtype-half VM104 error option --dtype Half"),
        ("keyword_choice", "dtype=half", "dtype-half VM104 error option --dtype half"),
        ("key_choice", "--a.b=c", "a-b-c VM104 error key --a.b c"),
        ("variable_choice", "VLLM_X=A", "vllm-x-a VM104 warning variable VLLM_X A"),
        ("tool_parser", "x", "tool-call-parser-x VM104 error option --tool-call-parser x"),
        ("form", "--seed=None", "seed-none VM111 warning option --seed"),
        ("arity", "--logs=a value", "logs-a-value VM111 warning option --logs"),
    ],
)
def test_what_is_known_without_the_notes_is_filled_in(kind: str, thing: str, wanted: str, answers: Answers) -> None:
    name, _, value = thing.partition("=")
    made = stub(gone(kind, name, value), answers)
    told = [made["id"], made["code"], made["severity"], made["surface"], made["name"], *made.get("values", [])]
    assert " ".join(told) == wanted


def test_a_stub_is_a_migration_that_answers_what_it_was_made_for(answers: Answers) -> None:
    """Whatever kind of thing goes, of all that ever went."""
    schema = json.loads((schemas_dir() / "migration.schema.json").read_text())
    entry = Draft202012Validator({**schema["$defs"]["migration"], "$defs": schema["$defs"]})
    found = {r.kind: r for r in history(load_catalog())}
    # What no launch or client names has reasons for its whole kind.
    inner = {"config", "config_field", "record"}
    assert len(found) > 20 and inner <= set(found)
    for kind in set(found) - inner:
        made = {**stub(found[kind], answers), **REST}
        assert [e.message for e in entry.iter_errors(made)] == []
        own = Answers(Migrations([{"cases": [], **made}]), (), answers.given)
        answer = own.of(found[kind])
        assert answer is not None and answer.id == made["id"], kind
        assert own.of(found[kind], found[kind].last) is None


def test_a_reason_covers_what_it_says_and_nothing_else() -> None:
    reason = Reason("r", ("form",), "why", ("--a*", "--b"), ("x*",), ("serve", "api_server"), ("0.9.0",))
    assert reason.covers(gone("form", "--abc", "xyz", "serve"))
    assert not reason.covers(gone("arity", "--abc", "xyz", "serve"))
    assert not reason.covers(gone("form", "--cab", "xyz", "serve"))
    assert not reason.covers(gone("form", "--abc", "zyx", "serve"))
    assert not reason.covers(gone("form", "--abc", "xyz"))
    assert not reason.covers(gone("form", "--abc", "xyz", "serve", "LLM"))
    assert not reason.covers(Removal(Thing("form", "--abc", "xyz"), "0.9.0", "0.10.0", surfaces=("serve",)))
    assert Reason("r", ("form",), "why").covers(gone("form", "--abc", "anything"))


def own(*entries: tuple[str, str, str, str]) -> Answers:
    """Answers of migrations alone, each with its id, surface, name and form."""
    made = {**REST, "code": "VM101", "severity": "error", "removed_in": "0.9.0", "cases": []}
    return Answers(
        Migrations([{**made, "id": id_, "surface": s, "name": name, "only": only} for id_, s, name, only in entries]),
        (),
        {},
    )


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("kind", "name", "value", "wanted"),
    [
        ("option", "--gone", "", "words"),
        ("option", "--no-gone", "", "words"),
        ("form", "--gone", "None", "words"),
        ("arity", "--gone", "a value", "words"),
        ("keyword", "gone", "", "keywords"),
        ("choice", "--gone", "x", None),
        ("keyword_choice", "gone", "x", None),
    ],
)
def test_the_form_a_migration_speaks_of_is_the_one_that_went(
    kind: str, name: str, value: str, wanted: str | None, turned: bool
) -> None:
    entries = [("words", "option", "--gone", "cli"), ("keywords", "option", "--gone", "keyword")]
    answer = own(*(reversed(entries) if turned else entries)).of(gone(kind, name, value))
    assert (answer and answer.id) == wanted


@pytest.mark.parametrize(
    ("kind", "name", "wanted"),
    [
        ("module", "vllm.a.b.c", "package"),
        ("module", "vllm.a", "package"),
        ("module", "vllm.ab.c", None),
        ("request_field", "/v1/old.deep.field", "field"),
        ("response_field", "/v1/old.field", "field"),
        ("request_field", "/v1/old.field.other", None),
    ],
)
def test_an_entry_for_what_holds_a_thing_answers_it(kind: str, name: str, wanted: str | None) -> None:
    answers = own(("package", "import", "vllm.a", ""), ("field", "field", "field", ""))
    answer = answers.of(gone(kind, name))
    assert (answer and answer.id) == wanted
