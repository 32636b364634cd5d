"""Derives from the catalog what releases took away: between two of them, or ever.

A *thing* is something a user can write or rely on: a spelling of an option, a value it takes, a key of its
object, a keyword, a variable, a name of a model, a path or field of the server … Whatever the shape of the
catalog, a removal is a thing that one release has and a later one lacks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from vllm_migrate.catalog.history import Attrs, Facts
from vllm_migrate.catalog.options import spellings
from vllm_migrate.catalog.query import Catalog, Release
from vllm_migrate.lazy import dataclass

ANY = "*"
"""The value of a thing that stands for every value: a free text, a number of any form."""

SURFACES = ("serve", "api_server")
CALLEES = ("EngineArgs", "AsyncEngineArgs", "LLM")

#: Sections whose entries are things by their bare name, and the kind each is.
NAMES: dict[str, str] = {
    "variables": "variable",
    "architectures": "architecture",
    "tool_parsers": "tool_parser",
    "reasoning_parsers": "reasoning_parser",
    "quantization": "quantization",
    "attention_backends": "attention_backend",
    "executors": "executor",
    "kv_connectors": "kv_connector",
    "load_formats": "load_format",
    "speculative_methods": "speculative_method",
    "metrics": "metric",
    "modules": "module",
    "subcommands": "subcommand",
    "endpoints": "endpoint",
}
#: Sections of `holder.field`, the kind of the field and of its holder.
FIELDS: dict[str, tuple[str, str]] = {
    "request_fields": ("request_field", "record"),
    "response_fields": ("response_field", "answer"),
    "sampling_params": ("parameter", "parameters"),
}
#: What an option's converter takes, by the form of the text.
_FORMS: dict[str, tuple[str, ...]] = {
    "int": ("integer",),
    "human_int": ("integer", "suffixed"),
    "human_int_or_auto": ("integer", "suffixed"),
    "float": ("integer", "fraction"),
    "json": ("object",),
}


class Thing(NamedTuple):
    """Something a release takes or shows.

    kind: see `NAMES` and `FIELDS`; also option, arity, form, choice, key, key_choice, keyword, keyword_choice,
    variable_choice, config, config_field, method, record, answer, parameters; object marks that the keys of a
    JSON option are known. name: as a user writes it. value: of the name, where the thing is a value. surface:
    where it holds, "" for everywhere: "serve", "api_server", a class that takes keywords.
    """

    kind: str
    name: str
    value: str = ""
    surface: str = ""


@dataclass(frozen=True)
class Removal:
    """A thing that was taken away.

    last: the newest release before that has it. removed_in: the first that lacks it while it has what the
    thing belongs to. returned_in: the first that has it again, None while it stays away. surfaces: those that
    lost it, where others kept it or never had it.
    """

    thing: Thing
    last: str
    removed_in: str
    returned_in: str | None = None
    surfaces: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.thing.kind

    @property
    def name(self) -> str:
        return self.thing.name

    @property
    def value(self) -> str:
        return self.thing.value


def things(release: Release) -> set[Thing]:
    """Return everything a release has."""
    out: set[Thing] = set()
    configs = release.section("configs")
    for name, attrs in release.section("options").items():
        for surface in SURFACES:
            if attrs.get("only", surface) == surface:
                out.update(_option(name, attrs, surface))
        config = attrs.get("config")
        if config:
            out.update(_keys(name, str(config), configs, ()))
    out = {t._replace(surface="") if t.kind in _WITH_CLASS else t for t in out}
    for name, attrs in configs.items():
        holder, dot, _ = name.partition(".")
        if dot and attrs.get("init") is not False:
            out |= {Thing("config_field", name), Thing("config", holder)}
    out.update(_keywords(release))
    for section, kind in NAMES.items():
        for name, attrs in release.section(section).items():
            if not attrs.get("hidden"):
                out.add(Thing(kind, name))
            out.update(Thing("variable_choice", name, spelled(v)) for v in attrs.get("choices", ()))
            if section == "variables" and not attrs.get("choices"):
                out.add(Thing("variable_choice", name, ANY))
            out.update(Thing("method", name, verb) for verb in attrs.get("methods", ()))
    for section, (kind, holder_kind) in FIELDS.items():
        for name in release.section(section):
            holder = name.rpartition(".")[0]
            out.add(Thing(kind, name))
            out.add(Thing("endpoint" if holder.startswith("/") else holder_kind, holder))
    return out


def _option(name: str, attrs: Attrs, surface: str) -> Iterator[Thing]:
    for spelling in (*spellings(name, attrs), *attrs.get("glued", ())):
        yield Thing("option", spelling, "", surface)
    for spelling in attrs.get("negative", ()):
        yield Thing("arity", spelling, "no value", surface)
    nargs = attrs.get("nargs", 1)
    if nargs == 0 or nargs in ("?", "*"):
        yield Thing("arity", name, "no value", surface)
    if nargs != 0:
        yield Thing("arity", name, "a value", surface)
        if nargs in ("*", "+", "...") or (isinstance(nargs, int) and nargs > 1):
            yield Thing("arity", name, "several values", surface)
        yield from _values("choice", "form", name, attrs, surface)


def _values(choice: str, form: str, name: str, attrs: Attrs, surface: str) -> Iterator[Thing]:
    listed = attrs.get("choices")
    if listed:
        for value in listed:
            yield Thing(choice, name, spelled(value), surface)
        yield Thing(form, name, ANY, surface)  # the list says what the texts are
        return
    yield Thing(choice, name, ANY, surface)
    for shape in _FORMS.get(str(attrs.get("type")), (ANY,)):
        yield Thing(form, name, shape, surface)
    if attrs.get("optional"):
        yield Thing(form, name, "None", surface)


def _keys(option: str, config: str, configs: Facts, path: tuple[str, ...]) -> Iterator[Thing]:
    """Give the keys of an option's object, nested ones too; the surface tells the class until all are known."""
    if len(path) > 3:
        return
    yield Thing("object", ".".join((option, *path)), "", config)
    prefix = config + "."
    for name, attrs in configs.items():
        if not name.startswith(prefix) or attrs.get("init") is False:
            continue
        field = name[len(prefix) :]
        written = ".".join((option, *path, field))
        yield Thing("key", written, "", config)
        listed = attrs.get("choices")
        for value in listed or (ANY,):
            yield Thing("key_choice", written, spelled(value), config)
        nested = attrs.get("config")
        if nested and nested != config:
            yield from _keys(option, str(nested), configs, (*path, field))


def _keywords(release: Release) -> Iterator[Thing]:
    arguments = release.section("engine_args")
    own = release.section("llm")
    for name, attrs in {**arguments, **own}.items():
        if name == "**":
            continue
        for callee in CALLEES:
            if release.keyword(name, callee) is None:
                continue
            yield Thing("keyword", name, "", callee)
            for value in attrs.get("choices") or (ANY,):
                yield Thing("keyword_choice", name, spelled(value), callee)


#: Kinds that carry their config class as the surface until every key is known.
_WITH_CLASS = frozenset({"key", "key_choice", "object"})
_OWNERS = {
    "arity": "option",
    "key_choice": "key",
    "keyword_choice": "keyword",
    "variable_choice": "variable",
    "method": "endpoint",
}


def owner(thing: Thing) -> Thing | None:
    """Return what a thing belongs to: where that is gone, the thing's own loss says nothing more."""
    if thing.kind in _OWNERS:
        return Thing(_OWNERS[thing.kind], thing.name, "", thing.surface)
    if thing.kind in ("choice", "form"):
        return Thing("arity", thing.name, "a value", thing.surface)
    head, _, _ = thing.name.rpartition(".")
    if thing.kind == "key":
        return Thing("object", head)
    if thing.kind == "config_field":
        return Thing("config", head)
    for kind, holder in FIELDS.values():
        if thing.kind == kind:
            return Thing("endpoint" if head.startswith("/") else holder, head)
    return None


def _has(present: set[Thing], thing: Thing) -> bool:
    if thing in present:
        return True
    return bool(thing.value) and thing.kind != "arity" and thing._replace(value=ANY) in present


def _held(present: set[Thing], thing: Thing) -> bool:
    """Tell whether a release has what a thing belongs to."""
    above = owner(thing)
    return above is None or above in present


def spelled(value: Any) -> str:
    """Return a value as a thing names it."""
    if value is None:
        return "None"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def between(old: Release, new: Release) -> list[Removal]:
    """Return what `old` has and `new` lacks, in the order of kind and name."""
    before, after = things(old), things(new)
    lost = [t for t in before if t.kind != "object" and not _has(after, t) and _held(after, t)]
    return _joined([Removal(t, old.version, new.version) for t in lost])


def history(catalog: Catalog, versions: Sequence[str] = ()) -> list[Removal]:
    """Return every removal between releases (all of them), those that came back too (with `returned_in`)."""
    versions = versions or catalog.releases
    present = [things(catalog.release(v)) for v in versions]
    out: list[Removal] = []
    for thing in set().union(*present):
        if thing.kind == "object":
            continue
        last = -1
        lost = -1
        for i, table in enumerate(present):
            # That any text is read neither makes a value one before it was listed nor brings it back.
            if thing in table or (last >= 0 and lost < 0 and _has(table, thing)):
                if lost >= 0:
                    out.append(Removal(thing, versions[last], versions[lost], versions[i]))
                last, lost = i, -1
            elif last >= 0 and lost < 0 and _held(table, thing):
                lost = i
        if lost >= 0:
            out.append(Removal(thing, versions[last], versions[lost]))
    return _joined(out)


def _joined(removals: Iterable[Removal]) -> list[Removal]:
    """Make one of what several surfaces lost at once."""
    groups: dict[tuple[Any, ...], list[Removal]] = {}
    for r in removals:
        groups.setdefault((r.thing._replace(surface=""), r.last, r.removed_in, r.returned_in), []).append(r)
    out = [
        replace(rs[0], thing=t, surfaces=tuple(sorted(r.thing.surface for r in rs if r.thing.surface)))
        for (t, *_), rs in groups.items()
    ]
    return sorted(out, key=lambda r: (r.thing, r.surfaces, r.removed_in))


def defaults(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return the default before and after, None where it stayed or a run decides it in one of the two."""
    if old.get("computed") or new.get("computed") or old.get("required") or new.get("required"):
        return None
    was, now = old.get("default"), new.get("default")
    return None if was == now and isinstance(was, bool) == isinstance(now, bool) else (was, now)


def default_changes(catalog: Catalog) -> list[Removal]:
    """Return every default that gave way to another one, as the removal of the old one (kind `default`).

    A default that was or became none is left out: there the engine decides, or decided, itself.
    """
    out: list[Removal] = []
    places = _config_places(catalog)
    for section in ("options", "configs", "variables", "request_fields", "sampling_params"):
        for name, intervals in catalog.entries(section).items():
            for earlier, later in itertools.pairwise(intervals):
                pair = defaults(earlier[2], later[2])
                if earlier[1] != later[0] or pair is None or any(v in (None, "", [], {}) for v in pair):
                    continue
                holder, _, last = name.rpartition(".")
                where = [name] if section != "configs" else [f"{p}.{last}" for p in places.get(holder, ())]
                before = catalog.releases[catalog.releases.index(later[0]) - 1]
                out += [Removal(Thing("default", w, spelled(pair[0])), before, later[0]) for w in where]
    return sorted(out, key=lambda r: (r.thing, r.removed_in))


def _config_places(catalog: Catalog) -> dict[str, list[str]]:
    """Return config class -> the options that take it as an object."""
    out: dict[str, list[str]] = {}
    for option, intervals in catalog.entries("options").items():
        for *_, attrs in intervals:
            if attrs.get("config"):
                places = out.setdefault(str(attrs["config"]), [])
                if option not in places:
                    places.append(option)
    return out
