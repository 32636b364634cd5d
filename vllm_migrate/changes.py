"""What the catalog knows: the releases, one of them, and everything that changed between two."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vllm_migrate.answers import Answers, stub
from vllm_migrate.answers import load as load_answers
from vllm_migrate.catalog import SECTIONS, Catalog, CatalogError, Release, load
from vllm_migrate.config import Config
from vllm_migrate.differences import Table, differences
from vllm_migrate.migrations import load as load_migrations

if TYPE_CHECKING:
    from vllm_migrate.catalog.build import MinedRelease


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


def between(config: Config, first: str, second: str) -> tuple[Table, str]:
    """Return what the later of two releases lost, gained and changed (`releases.schema.json`), and a notice.

    The notice says that the order was turned round, "" where it was not. Raises UnknownRelease.
    """
    catalog = load(config.catalog)
    changes = differences(catalog, load_answers(load_migrations(config.migrations)), first, second)
    turned = changes["from"] != changes["to"] and catalog.release(first).version == changes["to"]
    notice = f"{first} is the newer one: shown from {changes['from']} to {changes['to']}" if turned else ""
    return changes, notice


def mined(releases: Sequence[MinedRelease], config: Config) -> str:
    """Return what sources gave: how much of each kind, what is gone without an answer, what they do not tell."""
    answers = load_answers(load_migrations(config.migrations))
    return "".join(_mined(release, answers) for release in releases)


def _mined(release: MinedRelease, answers: Answers) -> str:
    counts = ", ".join(f"{count} {_title(section)}" for section, count in release.counts.items() if count)
    lines = [f"vLLM {release.version}: {counts}\n"]
    open_ = [r for r in release.removed if answers.of(r) is None]
    for removal in open_:
        what = f"{removal.kind.replace('_', ' ')} {removal.name} {removal.value}".rstrip()
        lines.append(f"  - {what}  ({release.previous} has it; no migration yet)\n")
        lines.append(f"    {json.dumps(stub(removal, answers), ensure_ascii=False)}\n")
    if release.previous is not None:
        gone = len(release.removed)
        left = f"{len(open_)} without a migration" if open_ else "each with an answer"
        count = f"{gone or 'no'} removal{'' if gone == 1 else 's'}"
        lines.append(f"  {count} since {release.previous}{', ' + left if gone else ''}\n")
    return "".join(lines + [f"  note: {note}\n" for note in release.notes])


def _section(release: Release, section: str) -> dict[str, Any]:
    try:
        return dict(release.section(section))
    except CatalogError:
        # A catalog may lack a section it was built without.
        return {}


def _title(section: str) -> str:
    return section.replace("_", " ")
