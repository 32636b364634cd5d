"""Findings by the launch they belong to."""

from __future__ import annotations

from dataclasses import field

from vllm_migrate.findings import Choice, Cluster, Finding, Report
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Site
from vllm_migrate.output._launches import launch_name
from vllm_migrate.output._located import Located, located, sources
from vllm_migrate.output._paint import plain
from vllm_migrate.text import Edit


@dataclass
class Group:
    """One launch with its findings, or what of a file belongs to no launch alone (site None)."""

    path: str
    line: int
    site: Site | None
    places: list[Located] = field(default_factory=list)

    @property
    def title(self) -> str:
        return launch_name(self.site) if self.site is not None else plain(self.path)

    @property
    def origins(self) -> list[str]:
        return sorted({p.finding.origin for p in self.places if p.finding.origin})

    @property
    def targets(self) -> list[str]:
        return sorted({p.finding.to for p in self.places if p.finding.to})


def site_of(finding: Finding) -> Site | None:
    """Return the launch a finding belongs to: its own, or the only one that runs on the pin it is about."""
    if finding.site is not None:
        return finding.site
    return finding.governs[0] if len(finding.governs) == 1 else None


def groups(report: Report) -> list[Group]:
    """Return the findings of a report by launch, in order of place; the rest of each file comes first."""
    known = sources(report)
    found: dict[object, Group] = {}
    for place in located(report):
        site = site_of(place.finding)
        path, line = place.finding.path, 0
        if site is not None:
            path = site.region.source.path
            start = min(site.place.start, len(site.region.source.text))
            line = (known.get(path) or site.region.source).position(start)[0]
        key: object = id(site) if site is not None else path
        found.setdefault(key, Group(path, line, site)).places.append(place)
    return sorted(found.values(), key=lambda g: (g.path, g.line))


def choices_of(report: Report) -> tuple[list[Choice], list[Cluster]]:
    """Return what can be picked: as the engine tells it, else each fix by itself, tied where two meet."""
    if report.choices:
        return report.choices, report.clusters
    made: list[Choice] = []
    for place in located(report):
        fix = place.finding.fix
        if fix is None or not fix.edits:
            continue
        edits = list(dict.fromkeys(fix.edits))
        meeting = [c for c in made if _meet(c.edits, edits)]
        for choice in meeting:
            made.remove(choice)
        findings = [f for c in meeting for f in c.findings] + [place.finding]
        whole = list(dict.fromkeys([e for c in meeting for e in c.edits] + edits))
        unsafe = fix.safety == "unsafe" or any(c.safety == "unsafe" for c in meeting)
        made.append(Choice(findings, "unsafe" if unsafe else "safe", whole))
    return made, []


def _meet(one: list[tuple[str, Edit]], other: list[tuple[str, Edit]]) -> bool:
    return any(
        p == q and (a.start == b.start or (a.start < b.end and b.start < a.end)) for p, a in one for q, b in other
    )
