"""Loads the written facts: what became of each thing a release took away or changed.

The files are `schemas/migrations/*.json` and, after them, the user's own in the same form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from vllm_migrate import patterns
from vllm_migrate.datafile import read_json
from vllm_migrate.jsonvalue import loads
from vllm_migrate.lazy import dataclass
from vllm_migrate.paths import schemas_dir
from vllm_migrate.versions_key import key, matches


class MigrationError(ValueError):
    """A migration file cannot be used; the message names the file and the place."""


@dataclass(frozen=True)
class Case:
    """What is done where `target` and `when` hold."""

    then: Sequence[dict[str, Any]]
    safety: str
    when: dict[str, Any]
    target: str = ""
    why: str = ""
    note: str = ""


@dataclass(frozen=True)
class Migration:
    """One thing that was removed, renamed, moved or changed; fields as in `migration.schema.json`."""

    id: str
    code: str
    surface: str
    name: str
    severity: str
    title: str
    reason: str
    help: str
    evidence: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    only: str = ""
    where: str = ""
    devices: tuple[str, ...] = ()
    introduced_in: str | None = None
    deprecated_in: str | None = None
    removed_in: str | None = None
    changed_in: str | None = None
    returned_in: str | None = None
    cases: tuple[Case, ...] = field(default_factory=tuple)

    def gone(self, release: str) -> bool:
        """Tell whether the thing is absent from a release, as far as this entry knows."""
        if self.removed_in is None or key(release) < key(self.removed_in):
            return False
        return self.returned_in is None or key(release) < key(self.returned_in)

    def changed(self, old: str | None, new: str) -> bool:
        """Tell whether its meaning changed on the way from `old` (None: unknown) to `new`."""
        if self.changed_in is None or key(new) < key(self.changed_in):
            return False
        return old is not None and key(old) < key(self.changed_in)


def normal(name: str) -> str:
    """Return the lookup form of a name: no leading dashes, `-` for `_` before the first dot, lower case."""
    head, dot, tail = name.lstrip("-").partition(".")
    return head.replace("_", "-").lower() + dot + tail.replace("-", "_")


class Migrations:
    """All migrations, and the ways to find the one that answers a name.

    Hundreds are known and a run asks for a few: each is made when it is first asked for.
    """

    def __init__(self, entries: Iterable[dict[str, Any]]) -> None:
        """entries: as they stand in the files. Raises MigrationError where two have one id, KeyError without one."""
        self._raw: dict[str, dict[str, Any]] = {}
        self._made: dict[str, Migration] = {}
        self._by_surface: dict[str, list[str]] = {}
        self._whole: dict[str, list[Migration]] = {}
        self._by_name: dict[str, dict[str, list[str]]] = {}
        self._in_code: frozenset[str] | None = None
        for raw in entries:
            id_, surface = raw["id"], raw["surface"]
            if id_ in self._raw:
                raise MigrationError(f"two migrations have the id {id_!r}")
            self._raw[id_] = raw
            self._by_surface.setdefault(surface, []).append(id_)

    def get(self, id_: str) -> Migration | None:
        """Return the entry of an id, None for one that is not known."""
        if id_ not in self._made:
            if id_ not in self._raw:
                return None
            self._made[id_] = _entry(self._raw[id_])
        return self._made[id_]

    def _each(self, ids: Iterable[str]) -> list[Migration]:
        return [m for m in map(self.get, ids) if m is not None]

    @property
    def all(self) -> list[Migration]:
        """Every entry, in file order."""
        return self._each(self._raw)

    @staticmethod
    def _form(surface: str, name: str) -> str:
        if surface in ("option", "key"):
            # A one-letter dash is part of a short option's name: `-tp` is not `--tp`.
            return name if name.startswith("-") and not name.startswith("--") else normal(name)
        return name

    def named(self, surface: str, name: str) -> list[Migration]:
        """Return the entries of a surface for a name in any of its spellings, in file order."""
        if surface not in self._by_name:
            found = self._by_name[surface] = {}
            for id_ in self._by_surface.get(surface, ()):
                raw = self._raw[id_]
                for each in (raw["name"], *raw.get("names", ())):
                    found.setdefault(self._form(surface, each), []).append(id_)
        return self._each(self._by_name[surface].get(self._form(surface, name), ()))

    def of_surface(self, surface: str) -> list[Migration]:
        """Return the entries of a surface, in file order."""
        if surface not in self._whole:
            self._whole[surface] = self._each(self._by_surface.get(surface, ()))
        return self._whole[surface]

    def names_in_code(self) -> frozenset[str]:
        """Return the names that tell by themselves that a program's own code uses what the data knows.

        Words as common as `type` or `message` do not.
        """
        if self._in_code is None:
            raws = (raw for raw in self._raw.values() if raw["surface"] in ("symbol", "field"))
            found = (name for raw in raws for name in (raw["name"], *raw.get("names", ())))
            words = (word for name in found for word in name.split("."))
            self._in_code = frozenset(w for w in words if w.isidentifier() and ("_" in w or not w.islower()))
        return self._in_code

    def answer(
        self, surface: str, name: str, release: str, *, only: str = "", value: str | None = None
    ) -> Migration | None:
        """Return the entry that says the name (or this value of it) is gone from `release`, or None.

        only: "cli" or "keyword" leaves out entries for the other form.
        """
        for entry in self.named(surface, name):
            if entry.only and only and entry.only != only:
                continue
            if entry.values and (value is None or value.lower() not in {v.lower() for v in entry.values}):
                continue
            if not entry.values and value is not None:
                continue
            if entry.gone(release):
                return entry
        return None


def _entry(raw: dict[str, Any]) -> Migration:
    fields = dict(raw)
    fields["cases"] = tuple(
        Case(
            then=tuple(c.get("then", ())),
            safety=c.get("safety", "unsafe"),
            when=c.get("when", {}),
            target=c.get("target", ""),
            why=c.get("why", ""),
            note=c.get("note", ""),
        )
        for c in raw.get("cases", ())
    )
    for name in ("evidence", "names", "values", "devices"):
        fields[name] = tuple(raw.get(name, ()))
    return Migration(**fields)


def read_file(path: Path) -> list[dict[str, Any]]:
    """Return the entries of one file. Raises MigrationError naming the file where it cannot be used."""
    try:
        entries: list[dict[str, Any]] = read_json(path, MigrationError)["migrations"]
        return entries
    except (KeyError, TypeError, AttributeError) as error:
        raise MigrationError(f"{path}: not a migration file: {error}") from None


def validate(path: Path) -> None:
    """Check a user's file against the schema. Raises MigrationError naming the entry at fault."""
    import jsonschema

    schema = json.loads((schemas_dir() / "migration.schema.json").read_text(encoding="utf-8"))
    data = read_json(path, MigrationError)
    try:
        problem = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(data))
    except RecursionError:
        raise MigrationError(f"{path}: nested too deeply") from None
    if problem is not None:
        where = "/".join(str(p) for p in problem.absolute_path) or "the file"
        raise MigrationError(f"{path}: {where}: {problem.message}")
    for entry in data["migrations"]:
        for case in entry.get("cases", ()):
            text = case.get("when", {}).get("pattern")
            try:
                if text is not None:
                    patterns.pattern(text)
            except patterns.PatternError as error:
                raise MigrationError(f"{path}: {entry['id']}: the pattern cannot be used: {error}") from None


def load(extra: Sequence[Path] = ()) -> Migrations:
    """Return the shipped migrations and the user's. Raises MigrationError for a file that cannot be used."""
    entries: list[dict[str, Any]] = []
    for path in sorted((schemas_dir() / "migrations").glob("*.json")):
        entries += read_file(path)
    for path in extra:
        validate(path)
        entries += read_file(path)
    return Migrations(entries)


def holds(case: Case, target: str, value: Any, present: Iterable[str]) -> bool:
    """Tell whether a case applies: its target range and its conditions on value and other options.

    value: the option's or variable's value, str or a typed value; None where there is none.
    present: the names of the options and variables at the site, in lookup form (see `normal`).
    """

    if case.target and not matches(case.target, target):
        return False
    when = case.when
    text = spell(value)
    if "value" in when and text.lower() not in {spell(v).lower() for v in when["value"]}:
        return False
    if "not_value" in when and text.lower() in {spell(v).lower() for v in when["not_value"]}:
        return False
    if "truthy" in when and truthy(value) is not bool(when["truthy"]):
        return False
    if "pattern" in when and not patterns.fits(when["pattern"], text):
        return False
    if "type" in when and not _is_type(value, when["type"]):
        return False
    here = set(present)
    if any(normal(n) not in here for n in when.get("with", ())):
        return False
    return not any(normal(n) in here for n in when.get("without", ()))


def spell(value: Any) -> str:
    """Return a value as a command line spells it."""
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return str(value)


def truthy(value: Any) -> bool | None:
    """Return what a release's own reading of a switch makes of a value; None where it is no switch."""
    text = spell(value).strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("0", "false", "no", "off", ""):
        return False
    return True if text.lstrip("-").isdigit() else None


def _is_type(value: Any, kind: str) -> bool:
    text = spell(value)
    try:
        if kind == "int":
            int(text)
        elif kind in ("float", "number"):
            float(text)
        elif kind in ("json", "list", "object"):
            parsed = value if isinstance(value, (dict, list)) else loads(text)
            wanted = {"list": (list,), "object": (dict,)}.get(kind, (object,))
            return isinstance(parsed, wanted)
        else:
            return True
    except (ValueError, TypeError):
        return False
    return True


class CannotConvert(Exception):
    """The value cannot be carried over; the message says why."""


def convert(form: Any, value: Any, *, typed: bool) -> Any:
    """Return the new value for a result of a case.

    Args: form: the `value` of a result: a literal, "$value", or a conversion object. value: the old
    value (text on a command line, a Python value for a keyword). typed: results are Python values
    rather than words. Raises CannotConvert.
    """
    if form == "$value":
        return value
    if isinstance(form, dict) and "from" in form:
        if "template" in form:
            return _template(form["template"], value)
        mapped = value
        if "split" in form:
            mapped = [part.strip() for part in spell(value).split(form["split"]) if part.strip()]
        if "map" in form:
            table = {str(k).lower(): v for k, v in form["map"].items()}
            if spell(value).lower() not in table:
                raise CannotConvert(f"there is no counterpart of the value {spell(value)!r}")
            mapped = table[spell(value).lower()]
        return _as(form.get("as", ""), mapped)
    if isinstance(form, dict):
        return {k: convert(v, value, typed=typed) for k, v in form.items()}
    if isinstance(form, list):
        return [convert(v, value, typed=typed) for v in form]
    return form


def _template(template: Any, value: Any) -> Any:
    if template == "$value":
        return value
    if isinstance(template, dict):
        return {k: _template(v, value) for k, v in template.items()}
    if isinstance(template, list):
        return [_template(v, value) for v in template]
    return template


def _as(kind: str, value: Any) -> Any:
    try:
        if kind == "int":
            return int(spell(value))
        if kind == "float":
            return float(spell(value))
        if kind == "bool":
            known = truthy(value)
            if known is None:
                raise CannotConvert(f"{spell(value)!r} is no switch")
            return known
        if kind == "not":
            known = truthy(value)
            if known is None:
                raise CannotConvert(f"{spell(value)!r} is no switch")
            return not known
        if kind == "json":
            return value if isinstance(value, (dict, list)) else loads(spell(value))
        if kind == "str":
            return spell(value)
        if kind == "lower":
            return spell(value).lower()
        if kind == "upper":
            return spell(value).upper()
        if kind == "list":
            return value if isinstance(value, list) else [value]
    except (ValueError, TypeError):
        raise CannotConvert(f"{spell(value)!r} cannot be read as {kind}") from None
    return value
