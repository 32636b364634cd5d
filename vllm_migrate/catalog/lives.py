"""Tells of a word where the catalog knows it, and in which releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vllm_migrate.catalog.history import SECTIONS, Intervals, lifetime
from vllm_migrate.catalog.query import Catalog, CatalogError
from vllm_migrate.catalog.removals import FIELDS, NAMES, Thing, spelled
from vllm_migrate.lazy import dataclass

#: What a bare name of a section is called.
TITLES: dict[str, str] = {
    "options": "option of `vllm serve`",
    "engine_args": "EngineArgs parameter",
    "llm": "LLM() parameter",
    "configs": "config class",
    "variables": "environment variable",
    "architectures": "model architecture",
    "removed_architectures": "model architecture that releases name as left behind",
    "tool_parsers": "tool parser",
    "reasoning_parsers": "reasoning parser",
    "quantization": "quantization method",
    "attention_backends": "attention backend",
    "executors": "executor",
    "kv_connectors": "KV connector",
    "load_formats": "load format",
    "speculative_methods": "speculative method",
    "metrics": "metric",
    "modules": "module",
    "subcommands": "subcommand",
    "endpoints": "endpoint",
}
#: What the last part of `holder.name` is called, and sections with lists of values.
PARTS = {
    "configs": "key of the config class {}",
    "request_fields": "request field of {}",
    "response_fields": "field of the answer {}",
    "sampling_params": "parameter of {}",
}
VALUED = {"options": "value of {}", "configs": "value of {}", "variables": "value of {}"}
Span = tuple[str, "str | None"]


@dataclass(frozen=True)
class Life:
    """One way a word is known. spans: (first release, first release without). thing: as removals name it."""

    name: str
    kind: str
    spans: tuple[Span, ...]
    thing: Thing | None = None


def lives_of(catalog: Catalog, words: Iterable[str]) -> list[Life]:
    """Return every way the catalog knows the first word, or the others by their name. Empty for a strange word."""
    words = list(dict.fromkeys(words))
    names: list[str] = []
    for word in words:
        plain = word.lstrip("-")
        names += [word, "--" + plain.replace("_", "-"), plain.replace("-", "_")]
    names = list(dict.fromkeys(names))
    out = list(_named(catalog, names))
    plain = words[0].lstrip("-")
    out += _parts(catalog, {plain, plain.replace("-", "_")})
    if not words[0].startswith("--"):
        out += _values(catalog, words[0])
    return out


def known_names(catalog: Catalog) -> Iterator[str]:
    """Give every name of the catalog a person may have meant."""
    for section in SECTIONS:
        if section != "modules":
            for name in _entries(catalog, section):
                yield name.rpartition(".")[2] if section in PARTS else name


def _entries(catalog: Catalog, section: str) -> dict[str, Intervals]:
    try:
        return catalog.entries(section)
    except CatalogError:
        return {}  # a catalog may lack a section it was built without


def _named(catalog: Catalog, names: list[str]) -> Iterator[Life]:
    low = {n.lower() for n in names}
    for section, title in TITLES.items():
        entries = _entries(catalog, section)
        found = [n for n in names if n in entries] or [n for n in entries if n.lower() in low and section != "options"]
        for name in found:
            yield Life(name, title, tuple(lifetime(entries[name])), _thing(section, name))
        if section == "options" and not found:
            yield from _spelled(catalog, names)


def _thing(section: str, name: str) -> Thing:
    kinds = {"options": "option", "engine_args": "keyword", "llm": "keyword", "configs": "config"}
    return Thing(kinds.get(section) or NAMES.get(section, section), name)


def _spelled(catalog: Catalog, names: list[str]) -> Iterator[Life]:
    """Give another spelling of an option: a short one, or the form that says no."""
    for option, intervals in _entries(catalog, "options").items():
        for spelling in names:
            spans: list[list[str | None]] = []
            for first, end, attrs in intervals:
                if spelling in (*attrs.get("spellings", ()), *attrs.get("negative", ())):
                    spans.append([first, end])
            if spans:
                yield Life(spelling, f"spelling of {option}", _merged(spans), Thing("option", spelling))


def _parts(catalog: Catalog, names: set[str]) -> Iterator[Life]:
    for section, title in PARTS.items():
        groups: dict[tuple[str, tuple[Span, ...]], list[str]] = {}
        for name, intervals in _entries(catalog, section).items():
            holder, dot, last = name.rpartition(".")
            if dot and (last in names or name in names):
                groups.setdefault((last, tuple(lifetime(intervals))), []).append(holder)
        for (last, spans), holders in groups.items():
            kind = FIELDS[section][0] if section in FIELDS else "config_field"
            yield Life(last, title.format(", ".join(holders)), spans, Thing(kind, f"{holders[0]}.{last}"))


def _values(catalog: Catalog, word: str) -> Iterator[Life]:
    for section, title in VALUED.items():
        for name, intervals in _entries(catalog, section).items():
            spans: list[list[str | None]] = []
            for first, end, attrs in intervals:
                listed = attrs.get("choices", ())
                # Where a later release reads any text, a value that was listed before still goes.
                if any(spelled(v).lower() == word.lower() for v in listed) or (spans and not listed):
                    spans.append([first, end])
            if spans:
                kind = {"options": "choice", "variables": "variable_choice"}.get(section)
                thing = Thing(kind, name, word) if kind else None
                yield Life(word, title.format(name), _merged(spans), thing)


def _merged(spans: list[list[str | None]]) -> tuple[Span, ...]:
    out: list[list[str | None]] = []
    for first, end in spans:
        if out and out[-1][1] == first:
            out[-1][1] = end
        else:
            out.append([first, end])
    return tuple((str(first), end) for first, end in out)
