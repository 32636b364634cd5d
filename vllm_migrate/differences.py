"""What differs between two releases: gone, come and changed, each loss with what is written about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vllm_migrate.answers import Answers, Reason
from vllm_migrate.catalog import Catalog, Release
from vllm_migrate.catalog.removals import Removal, Thing, between, defaults, history
from vllm_migrate.distribution import distribution
from vllm_migrate.migrations import Migration
from vllm_migrate.versions_key import key

Table = dict[str, Any]

#: id of a part -> title, kinds of things in it, sections of the catalog whose changed attributes it shows.
PARTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "options": ("Options", ("option",), ("options",)),
    "values": ("Values of options", ("choice", "form", "arity"), ()),
    "keys": ("Keys of config objects", ("key", "key_choice"), ()),
    "keywords": ("Engine keywords", ("keyword", "keyword_choice"), ("engine_args", "llm")),
    "configs": ("Config classes", ("config", "config_field"), ("configs",)),
    "variables": ("Environment variables", ("variable", "variable_choice"), ("variables",)),
    "architectures": ("Model architectures", ("architecture",), ()),
    "tool_parsers": ("Tool parsers", ("tool_parser",), ()),
    "reasoning_parsers": ("Reasoning parsers", ("reasoning_parser",), ()),
    "quantization": ("Quantization methods", ("quantization",), ()),
    "attention_backends": ("Attention backends", ("attention_backend",), ()),
    "executors": ("Executors", ("executor",), ()),
    "kv_connectors": ("KV connectors", ("kv_connector",), ()),
    "load_formats": ("Load formats", ("load_format",), ()),
    "speculative_methods": ("Speculative methods", ("speculative_method",), ()),
    "metrics": ("Metrics", ("metric",), ("metrics",)),
    "endpoints": ("Endpoints", ("endpoint", "method"), ()),
    "request_fields": ("Request fields", ("request_field", "record"), ("request_fields",)),
    "response_fields": ("Response fields", ("response_field", "answer"), ()),
    "sampling_params": ("Sampling parameters", ("parameter", "parameters"), ("sampling_params",)),
    "subcommands": ("Subcommands", ("subcommand",), ()),
    "modules": ("Modules", ("module",), ()),
}
_SHOWN = ("type", "default", "nargs", "deprecated", "hidden", "extra")
_BUILD = ("python", "cuda", "rocm", "cxx_standard", "compiler", "image")


def differences(catalog: Catalog, answers: Answers, first: str, second: str) -> Table:
    """Return what the later of two releases lost, gained and changed; see `releases.schema.json`.

    Raises UnknownRelease.
    """
    old, new = catalog.release(first), catalog.release(second)
    if key(old.version) > key(new.version):
        old, new = new, old
    gone = _dated(catalog, between(old, new))
    come = between(new, old)
    parts = []
    for name, (title, kinds, sections) in PARTS.items():
        part: Table = {
            "part": name,
            "title": title,
            "removed": [_lost(r, answers, new.version) for r in gone if r.kind in kinds],
            "added": [_named(r.thing, r.surfaces) for r in come if r.kind in kinds],
            "changed": [c for section in sections for c in _changed(section, old, new)],
        }
        if part["removed"] or part["added"] or part["changed"]:
            parts.append(part)
    return {
        "format": 1,
        "from": old.version,
        "to": new.version,
        "build": list(_build(old, new)),
        "requirements": list(_pairs(old.facts.get("requires") or {}, new.facts.get("requires") or {})),
        "parts": parts,
        "meanings": [
            {"migration": m.id, "code": m.code, "name": m.name, "in": m.changed_in, "text": m.title}
            for m in answers.migrations.all
            if m.changed(old.version, new.version)
        ],
    }


def _dated(catalog: Catalog, removals: list[Removal]) -> list[Removal]:
    """Say of each removal between two releases in which it happened."""
    if not removals:
        return []
    first, last = catalog.releases.index(removals[0].last), catalog.releases.index(removals[0].removed_in)
    when = {
        r.thing: (r.last, r.removed_in)
        for r in history(catalog, catalog.releases[first : last + 1])
        if r.returned_in is None
    }
    return [
        Removal(r.thing, *when.get(r.thing, (r.last, r.removed_in)), None, r.surfaces) for r in removals
    ]


def answer_of(answer: Migration | Reason | None) -> Table | None:
    """Return how a report names an answer, None where there is none."""
    if isinstance(answer, Migration):
        return {"migration": answer.id, "code": answer.code, "text": answer.title}
    return {"reason": answer.id, "text": answer.reason} if answer is not None else None


def _named(thing: Thing, surfaces: Iterable[str]) -> Table:
    out: Table = {"kind": thing.kind, "name": thing.name}
    if thing.value:
        out["value"] = thing.value
    if len(tuple(surfaces)) == 1:
        out["surfaces"] = list(surfaces)
    return out


def _lost(removal: Removal, answers: Answers, target: str) -> Table:
    out = _named(removal.thing, removal.surfaces)
    return {**out, "removed_in": removal.removed_in, "answer": answer_of(answers.of(removal, target))}


def _changed(section: str, old: Release, new: Release) -> Iterator[Table]:
    before, after = old.section(section), new.section(section)
    options_before, options_after = old.section("options"), new.section("options")
    for name in sorted(before.keys() & after.keys()):
        was, now = before[name], after[name]
        option = "--" + name.replace("_", "-")
        twin = section in ("engine_args", "llm") and option in options_before and option in options_after
        for what in _SHOWN:
            if what == "default":
                if twin and defaults(options_before[option], options_after[option]) == defaults(was, now):
                    continue  # the option says it
                pair = defaults(was, now)
                if pair is not None:
                    yield {"name": name, "what": what, "old": pair[0], "new": pair[1]}
            elif was.get(what) != now.get(what) and not (what == "type" and section == "metrics" and not was.get(what)):
                yield {"name": name, "what": what, "old": was.get(what), "new": now.get(what)}


def _build(old: Release, new: Release) -> Iterator[Table]:
    """Give what changed in what a release is built and published with."""
    flat_old, flat_new = dict(_facts(old)), dict(_facts(new))
    for name in [*flat_old, *(n for n in flat_new if n not in flat_old)]:
        was, now = flat_old.get(name), flat_new.get(name)
        if was != now:
            yield {"name": name, "old": was, "new": now}


def _facts(release: Release) -> Iterator[tuple[str, Any]]:
    for name in _BUILD:
        value = release.facts.get(name)
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", v) for inner, v in value.items())
        else:
            yield name, value
    for name in ("build_args", "dockerfiles"):
        yield name, release.facts.get(name) or []
    channel = distribution().channel_at(release.version)
    if channel is not None:
        yield "image.channel", channel.image
        yield "image.suffixes", list(channel.image_others)
        yield "wheel.channel", channel.wheel
        yield "wheel.suffixes", list(channel.wheel_others)
        yield "driver", channel.driver
    rocm = distribution().rocm_at(release.version)
    if rocm is not None:
        yield "image.rocm", rocm.image
        yield "wheel.rocm", rocm.wheel


def _pairs(old: dict[str, str], new: dict[str, str]) -> Iterator[Table]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield {"name": name, "old": old.get(name), "new": new.get(name)}
