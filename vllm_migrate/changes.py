"""What the catalog knows: the releases, one of them, and everything that changed between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm_migrate.catalog import SECTIONS, Catalog, CatalogError, Release, load
from vllm_migrate.config import Config

if TYPE_CHECKING:
    from vllm_migrate.catalog.build import MinedRelease

_SHOWN = ("choices", "default", "nargs", "type", "deprecated")


def known(config: Config) -> str:
    """Return the releases, one a line, with what each is built for."""
    catalog = load(config.catalog)
    return "".join(_line(catalog, version) for version in catalog.releases)


def _line(catalog: Catalog, version: str) -> str:
    facts = catalog.release_facts(version)
    cuda, python = facts.get("cuda"), facts.get("python")
    torch = (facts.get("requires") or {}).get("torch")
    parts = [
        f"{name} {value}" for name, value in (("CUDA", cuda), ("torch", torch), ("Python", python)) if value
    ]
    return f"{version:<12} {', '.join(parts)}".rstrip() + "\n"


def one(config: Config, version: str) -> str:
    """Return how much of each kind a release takes. Raises UnknownRelease."""
    release = load(config.catalog).release(version)
    lines = [_line(load(config.catalog), release.version)]
    for section in SECTIONS:
        count = len(_section(release, section))
        if count:
            lines.append(f"  {_title(section)}: {count}\n")
    return "".join(lines)


def between(config: Config, first: str, second: str) -> str:
    """Return what the second release gained, lost and changed against the first. Raises UnknownRelease."""
    catalog = load(config.catalog)
    old, new = catalog.release(first), catalog.release(second)
    out = [f"vLLM {old.version} → {new.version}\n", *_facts(old, new)]
    for section in SECTIONS:
        before, after = _section(old, section), _section(new, section)
        lines = [
            f"  - {name}{_end(catalog, section, name)}\n" for name in sorted(before.keys() - after.keys())
        ]
        lines += [f"  + {name}\n" for name in sorted(after.keys() - before.keys())]
        for name in sorted(before.keys() & after.keys()):
            changed = _changed(before[name], after[name])
            if changed:
                lines.append(f"  ~ {name}: {changed}\n")
        if lines:
            out += [f"\n{_title(section)}\n", *lines]
    return "".join(out)


def mined(release: MinedRelease) -> str:
    """Return what a source gave: how much of each kind, what the release before had, what it does not tell."""
    counts = ", ".join(f"{count} {_title(section)}" for section, count in release.counts.items() if count)
    lines = [f"vLLM {release.version}: {counts}\n"]
    for section, names in release.removed.items():
        lines += [f"  - {name}  ({_title(section)}; {release.previous} had it)\n" for name in names]
    return "".join(lines + [f"  note: {note}\n" for note in release.notes])


def _section(release: Release, section: str) -> dict[str, Any]:
    try:
        return dict(release.section(section))
    except CatalogError:
        # A catalog may lack a section it was built without.
        return {}


def _title(section: str) -> str:
    return section.replace("_", " ")


def _end(catalog: Catalog, section: str, name: str) -> str:
    removed = catalog.removed_in(section, name)
    return f"  (gone since {removed})" if removed else ""


def _facts(old: Release, new: Release) -> list[str]:
    """Return what changed in what a release is built with and needs."""
    lines = []
    for key in ("python", "cuda", "rocm", "cxx_standard", "compiler", "image"):
        was, now = old.facts.get(key), new.facts.get(key)
        if was != now:
            lines.append(f"  {_title(key)}: {_show(was)} → {_show(now)}\n")
    was, now = old.facts.get("requires") or {}, new.facts.get("requires") or {}
    for name in sorted(was.keys() | now.keys()):
        if was.get(name) != now.get(name):
            lines.append(f"  {name}: {_show(was.get(name))} → {_show(now.get(name))}\n")
    return ["\nbuild and requirements\n", *lines] if lines else []


def _changed(before: dict[str, Any], after: dict[str, Any]) -> str:
    parts = []
    for key in _SHOWN:
        was, now = before.get(key), after.get(key)
        if was == now:
            continue
        if isinstance(was, list) and isinstance(now, list):
            gone, come = [v for v in was if v not in now], [v for v in now if v not in was]
            signs = [f"-{_show(v)}" for v in gone] + [f"+{_show(v)}" for v in come]
            if signs:
                parts.append(f"{key} {' '.join(signs)}")
        else:
            parts.append(f"{key} {_show(was)} → {_show(now)}")
    return ", ".join(parts)


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if value == "":
        return "any"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_show(v)}" for k, v in value.items())
    return str(value)
