"""What became of each thing a release took away: its migration, or the reason that covers its whole kind.

The reasons and the places where a name is given to a launch are `schemas/answers.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vllm_migrate.catalog.removals import Removal, Thing
from vllm_migrate.globs import name_matches
from vllm_migrate.lazy import dataclass
from vllm_migrate.migrations import Migration, Migrations
from vllm_migrate.paths import schemas_dir

#: The surface of migrations that answers a kind of thing by its name alone.
_SURFACES: dict[str, str] = {
    "option": "option",
    "keyword": "option",
    "key": "key",
    "variable": "variable",
    "architecture": "architecture",
    "metric": "metric",
    "module": "import",
    "endpoint": "endpoint",
    "parameter": "method",
}
#: The surface that answers a value of the name.
_VALUES: dict[str, str] = {
    "choice": "option",
    "keyword_choice": "option",
    "key_choice": "key",
    "variable_choice": "variable",
    "form": "option",
    "arity": "option",
}
#: The rule that reports a migration of a surface, where nothing says otherwise.
_CODES: dict[str, str] = {
    "option": "VM101",
    "key": "VM110",
    "variable": "VM201",
    "architecture": "VM801",
    "metric": "VM901",
    "import": "VM108",
    "endpoint": "VM902",
    "field": "VM903",
    "method": "VM108",
}
#: Kinds of what an option takes: a form of its text, a value or none.
_NARROWED = frozenset({"form", "arity"})
#: Kinds whose loss can also be told by an entry about a changed meaning.
_CHANGED = frozenset({"form", "arity", "endpoint", "method", "default"})


@dataclass(frozen=True)
class Reason:
    """Why things of a kind need no migration of their own; fields as in `answers.schema.json`."""

    id: str
    kinds: tuple[str, ...]
    reason: str
    names: tuple[str, ...] = ("*",)
    values: tuple[str, ...] = ("*",)
    surfaces: tuple[str, ...] = ()
    removed_in: tuple[str, ...] = ()
    code: str = ""

    def covers(self, removal: Removal) -> bool:
        thing = removal.thing
        if thing.kind not in self.kinds or (self.removed_in and removal.removed_in not in self.removed_in):
            return False
        if self.surfaces and not (removal.surfaces and set(removal.surfaces) <= set(self.surfaces)):
            return False
        if self.values != ("*",) and not any(name_matches(v, thing.value) for v in self.values):
            return False
        return any(name_matches(name, thing.name) for name in self.names)


@dataclass
class Answers:
    """The written answers, and the ways to find the one for a removal."""

    migrations: Migrations
    reasons: Sequence[Reason]
    given: dict[str, list[tuple[str, str]]]

    def of(self, removal: Removal, target: str | None = None) -> Migration | Reason | None:
        """Return what answers a removal, the migration that speaks of it first; None where nothing does.

        target: the release that lacks the thing, where it is not the first that does.
        """
        release = target or removal.removed_in
        for entry in self.about(removal.thing, _form(removal)):
            if entry.gone(release) or (removal.kind in _CHANGED and entry.changed(removal.last, release)):
                return entry
        return next((r for r in self.reasons if r.covers(removal)), None)

    def about(self, thing: Thing, only: str = "") -> Iterator[Migration]:
        """Give the migrations that speak of a thing. only: "cli" or "keyword" leaves out the other form's."""
        for surface, name, value in self.places(thing):
            for entry in self.migrations.named(surface, name):
                if entry.only and only and entry.only != only:
                    continue
                if value is None or thing.kind in _NARROWED:
                    if not entry.values:
                        yield entry
                elif value.lower() in {v.lower() for v in entry.values}:
                    yield entry

    def places(self, thing: Thing) -> Iterator[tuple[str, str, str | None]]:
        """Give (surface, name, value or None) under which a migration would answer a thing."""
        kind, name, value = thing.kind, thing.name, thing.value
        if kind == "default":
            for surface in ("key" if "." in name and name.startswith("-") else "option", "variable", "field", "method"):
                yield surface, name, None
            yield "field", name.rpartition(".")[2], None
            return
        if kind in _VALUES:
            yield _VALUES[kind], name, value
        if kind in _SURFACES:
            yield _SURFACES[kind], name, None
        if kind == "option" and name.startswith("--no-"):
            # The inverse form of a switch goes with it.
            yield "option", "--" + name[len("--no-") :], None
        if kind in ("request_field", "response_field"):
            yield "field", name, None
            yield "field", name.rpartition(".")[2], None
        if kind == "method":
            yield "endpoint", name, None
        for surface, place in self.given.get(kind, ()):
            yield surface, place, name
        if kind == "answer":
            yield "field", name, None
        if kind == "parameters":
            yield "import", f"vllm.sampling_params.{name}", None
            yield "import", f"vllm.pooling_params.{name}", None
        while kind == "module" and "." in name:
            # An entry for a package speaks of what is in it.
            name = name.rpartition(".")[0]
            yield "import", name, None


def stub(removal: Removal, answers: Answers) -> dict[str, Any]:
    """Return the start of the migration that would answer a removal: what is known without reading the notes."""
    thing = removal.thing
    places = list(answers.places(thing))
    surface, name, value = places[0] if places else (thing.kind, thing.name, None)
    if surface == "option" and not name.startswith("-"):
        name = "--" + name.replace("_", "-")
    words = "-".join(filter(None, [name, value]))
    out: dict[str, Any] = {
        "id": re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-"),
        "code": _CODES.get(surface, "VM101") if value is None else "VM104",
        "surface": surface,
        "name": name,
    }
    since: dict[str, Any] = {"introduced_in": None, "deprecated_in": None, "removed_in": removal.removed_in}
    if thing.kind in _NARROWED:
        # The option stays and takes less.
        since.update(removed_in=None, changed_in=removal.removed_in)
        return {**out, "code": "VM111", **since, "severity": "warning"}
    if value is not None:
        out["values"] = [value]
    severity = "warning" if surface in ("variable", "metric", "field", "endpoint") else "error"
    return {**out, **since, "severity": severity}


def _form(removal: Removal) -> str:
    if removal.kind in ("keyword", "keyword_choice"):
        return "keyword"
    return "cli" if removal.kind in ("option", "choice", "form", "arity") else ""


def load(migrations: Migrations, path: Path | None = None) -> Answers:
    """Return the answers over a set of migrations. path: another file than the shipped one."""
    data = json.loads((path or schemas_dir() / "answers.json").read_text(encoding="utf-8"))
    reasons = [_reason(raw) for raw in data["reasons"]]
    given = {kind: [(p["surface"], p["name"]) for p in places] for kind, places in data["given"].items()}
    return Answers(migrations, reasons, given)


def _reason(raw: dict[str, Any]) -> Reason:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items()}
    return Reason(**fields)
