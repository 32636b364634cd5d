"""The history form: every fact once, with the interval of releases it holds for.

An entry is a list of `[first, end, attrs]`: true from release `first` on, no longer in release `end`
(None: still true in the newest). Facts of one release are plain `name -> attrs` tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vllm_migrate.versions_key import key

Attrs = dict[str, Any]
Facts = dict[str, Attrs]
Intervals = list[list[Any]]
Entries = dict[str, Intervals]

#: Every section of the catalog, in the order they are mined and printed.
SECTIONS: tuple[str, ...] = (
    "options",
    "engine_args",
    "llm",
    "configs",
    "variables",
    "architectures",
    "removed_architectures",
    "tool_parsers",
    "reasoning_parsers",
    "quantization",
    "attention_backends",
    "executors",
    "kv_connectors",
    "load_formats",
    "speculative_methods",
    "metrics",
    "modules",
    "subcommands",
    "endpoints",
    "request_fields",
    "response_fields",
    "sampling_params",
    "checks",
)


def at(entries: Entries, order: Mapping[str, int], position: int) -> Facts:
    """Return the facts of one release: `order` maps versions to positions, `position` is the release's."""
    facts: Facts = {}
    for name, intervals in entries.items():
        for first, end, attrs in intervals:
            if order[first] <= position and (end is None or position < order[end]):
                facts[name] = attrs
                break
    return facts


def expand(entries: Entries, releases: Sequence[str]) -> list[Facts]:
    """Return the facts of every release, in the order of `releases`."""
    order = {version: i for i, version in enumerate(releases)}
    out: list[Facts] = [{} for _ in releases]
    for name, intervals in entries.items():
        for first, end, attrs in intervals:
            for i in range(order[first], len(releases) if end is None else order[end]):
                out[i][name] = attrs
    return out


def compress(tables: Sequence[Facts], releases: Sequence[str]) -> Entries:
    """Return the history of facts given release by release; the inverse of `expand`."""
    entries: Entries = {}
    for name in sorted({name for table in tables for name in table}):
        intervals: Intervals = []
        last: Attrs | None = None
        for version, table in zip(releases, tables, strict=True):
            attrs = table.get(name)
            if attrs != last:
                if last is not None:
                    intervals[-1][1] = version
                if attrs is not None:
                    intervals.append([version, None, attrs])
            last = attrs
        entries[name] = intervals
    return entries


def insert(entries: Entries, releases: Sequence[str], version: str, facts: Facts) -> tuple[Entries, list[str]]:
    """Return the history with one more (or one replaced) release, and the new order of releases.

    The release may lie before, between or after the known ones; doing it twice changes nothing.
    """
    tables = dict(zip(releases, expand(entries, releases), strict=True))
    tables[version] = facts
    order = sort_versions(tables)
    return compress([tables[v] for v in order], order), order


def sort_versions(versions: Iterable[str]) -> list[str]:
    """Return versions oldest first. Raises ValueError for what is not a version."""
    return sorted(versions, key=key)


def lifetime(intervals: Intervals) -> list[tuple[str, str | None]]:
    """Return the spans a name existed for, whatever its attributes were."""
    out: list[tuple[str, str | None]] = []
    for first, end, _ in intervals:
        if out and out[-1][1] == first:
            out[-1] = (out[-1][0], end)
        else:
            out.append((first, end))
    return out
