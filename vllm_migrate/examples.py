"""What a migration does to a launch: the smallest one, made from the catalog and rewritten by the tool itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vllm_migrate.config import Config
from vllm_migrate.lazy import dataclass
from vllm_migrate.versions_key import key

if TYPE_CHECKING:
    from vllm_migrate.catalog import Catalog
    from vllm_migrate.migrations import Migration

_TRIES = 6
_VALUES: dict[str, tuple[str, ...]] = {
    "int": ("4",),
    "float": ("4", "0.5"),
    "bool": ("true", "1"),
    "json": ('{"a": 1}',),
    "list": ("1",),
}


@dataclass(frozen=True)
class Example:
    """One command line before and after. safety: of the fix."""

    before: str
    after: str
    safety: str


def example(entry: Migration, catalog: Catalog) -> Example | None:
    """Return what `fix` does to a launch with the thing an entry is about; None where it does nothing.

    Options and environment variables have examples; the release is the last one that had the thing.
    """
    last = _last(entry, catalog)
    if last is None or entry.surface not in ("option", "variable") or entry.code == "VM109":
        return None
    for tried, line in enumerate(_lines(entry, catalog, last)):
        if tried == _TRIES:
            break
        found = _fixed(line, entry, last, _target(entry, catalog))
        if found is not None:
            return found
    return None


def _last(entry: Migration, catalog: Catalog) -> str | None:
    """Return the newest release before the one that took the thing away or changed it."""
    end = entry.removed_in or entry.changed_in or entry.deprecated_in
    if end is None:
        return None
    before = [version for version in catalog.releases if key(version) < key(end)]
    return before[-1] if before else None


def _target(entry: Migration, catalog: Catalog) -> str:
    if entry.returned_in is None:
        return catalog.latest
    return [v for v in catalog.releases if key(v) < key(entry.returned_in)][-1]


def _lines(entry: Migration, catalog: Catalog, last: str) -> Iterator[str]:
    """Yield launches that use the thing, the most telling values first."""
    if entry.surface == "variable":
        for value in _candidates(entry, {}):
            yield f"{entry.name}={shlex.quote(value)} vllm serve my-model"
        return
    if "." in entry.name:
        return
    attrs = catalog.release(last).option(entry.name, "serve").attrs
    for others in _company(entry, catalog, last):
        if attrs.get("nargs") == 0:
            yield f"vllm serve my-model {entry.name}{others}"
            continue
        for value in _candidates(entry, attrs):
            yield f"vllm serve my-model {entry.name} {shlex.quote(value)}{others}"


def _candidates(entry: Migration, attrs: Any) -> Iterator[str]:
    told = [str(v) for case in entry.cases for v in _list(case.when.get("value"))]
    typed = _VALUES.get(str(attrs.get("type", "")), ("1", "name"))
    known = [str(attrs["default"])] if isinstance(attrs.get("default"), (int, float)) else []
    yield from dict.fromkeys([*entry.values, *told, *known, *map(str, attrs.get("choices", ())), *typed])


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _company(entry: Migration, catalog: Catalog, last: str) -> Iterator[str]:
    """Yield what has to stand beside the option for one of its cases: nothing, or other options."""
    yield ""
    for case in entry.cases:
        said = ""
        for other in _list(case.when.get("with")):
            attrs = catalog.release(last).option(str(other), "serve").attrs
            said += f" {other}" + ("" if attrs.get("nargs") == 0 else f" {next(iter(attrs.get('choices', ())), 1)}")
        if said:
            yield said


def _fixed(line: str, entry: Migration, last: str, target: str) -> Example | None:
    from vllm_migrate.engine import run_text
    from vllm_migrate.hosts import host

    chosen = Config(from_=last, to=(target,), fix=True, unsafe_fixes=True, select=(entry.id,))
    report = run_text("example.sh", f"{line}\n".encode(), Path.cwd(), chosen, host("shell"))
    for file in report.files:
        if file.fixed is not None and file.applied:
            safe = all(fix.safety == "safe" for fix in file.applied)
            return Example(line, file.fixed.text.rstrip("\n"), "safe" if safe else "unsafe")
    return None
