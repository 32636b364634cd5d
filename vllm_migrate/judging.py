"""Judges one file between two releases: builds the contexts and asks every rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from vllm_migrate.arguments import read_arguments
from vllm_migrate.catalog import UnknownRelease
from vllm_migrate.config import Config
from vllm_migrate.evidence import (
    Beside,
    Origin,
    Readings,
    moving,
    origin_of,
    origin_of_file,
    readings_beside,
    version_of,
)
from vllm_migrate.findings import Finding, Severity, Standing
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Pin, Reading, Site
from vllm_migrate.rules.context import Context, PinContext, SiteContext
from vllm_migrate.rules.registry import modules
from vllm_migrate.text import Source, Span
from vllm_migrate.versions_key import key

if TYPE_CHECKING:
    from vllm_migrate.catalog import Catalog, Release
    from vllm_migrate.migrations import Migrations


@dataclass
class Data:
    """What the tool knows, loaded once a run."""

    catalog: Catalog
    migrations: Migrations
    config: Config


@dataclass
class Judged:
    """The findings of one file, and where each launch and pin stands."""

    findings: list[Finding] = field(default_factory=list)
    origins: dict[int, Origin] = field(default_factory=dict)
    """id of a site → its origin."""
    pin_findings: dict[int, list[Finding]] = field(default_factory=dict)
    """id of a pin → the findings about it."""
    notices: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    """What says which release each launch is on, for who asks."""
    standings: list[Standing] = field(default_factory=list)


@dataclass
class _Subject:
    """The file being judged. wanted: the release to reach, None where pins decide it."""

    path: str
    source: Source
    reading: Reading
    data: Data
    wanted: str | None
    folder: Readings
    out: Judged
    examples: bool = False
    """The file shows examples that are only reported: one that pins its own release is judged by that."""

    def context(self, target: Release, version: str | None, device: str) -> Context:
        """Return what all rules see: the file between `version` (where it is now) and the target."""
        data = self.data
        return Context(
            self.path,
            self.source,
            self.reading,
            data.catalog,
            data.migrations,
            data.config,
            target,
            version,
            _release(data, version),
            device,
        )


_PROBLEMS: dict[str, tuple[str, Severity]] = {
    "syntax": ("VM001", "warning"),
    "generated": ("VM003", "info"),
    "doubt": ("VM001", "warning"),
}

_NOTES = ("VM109", "VM508")
"""Codes of notes on launches that run."""


def judge(
    path: str,
    source: Source,
    reading: Reading,
    data: Data,
    to: str | None,
    folder: Readings,
    only: Sequence[Site] | None = None,
) -> Judged:
    """Return the findings of a file for one target (None: each launch's own release, else the newest).

    folder: gives the readings of the files of a folder, for evidence. only: launches to judge, and nothing else.
    """
    from_, configured = data.config.releases_at(path)
    wanted = to if to is not None else (configured[0] if configured else None)
    out = Judged()
    examples = reading.documentation and data.config.markdown != "fix"
    around = Beside(reading, folder)
    subject = _Subject(path, source, reading, data, wanted, folder, out, examples)
    judge_problems(path, reading, wanted or data.catalog.latest, out)
    for site in reading.sites if only is None else only:
        origin = origin_of(site, path, reading, data.config, around)
        out.origins[id(site)] = origin
        _site(subject, site, origin, from_)
    if only is not None:
        return out
    nearest = origin_of_file(path, reading, data.config, around)
    version = from_ or nearest.version
    common = subject.context(_target(data, wanted, version)[0], version, nearest.device)
    for module in modules():
        if hasattr(module, "judge_file"):
            out.findings += module.judge_file(common)
    for pin in reading.pins:
        # A tag that moves does not stand where a pin beside it stands.
        _pin(subject, pin, from_ if moving(pin) else version, nearest.device)
    if any(f.severity == "info" and f.code == "VM003" for f in out.findings) and len(out.findings) == 1:
        # That a file is generated only matters where something in it would have to change.
        out.findings.clear()
    if reading.documentation:
        # Nothing in a document runs: notes on what its example relies on are noise.
        out.findings[:] = [f for f in out.findings if f.code not in _NOTES]
    if examples:
        _only_report(out)
    return out


def _only_report(out: Judged) -> None:
    """Keep what an example would fail with or get wrong, without fixes."""
    out.findings[:] = _reported(out.findings)
    out.pin_findings.clear()
    out.notices.clear()


def _reported(found: Iterable[Finding]) -> list[Finding]:
    """Return what an example would fail with or get wrong, the fixes taken away."""
    out = [f for f in found if f.severity != "info"]
    for finding in out:
        if finding.fix is not None:
            finding.fix = None
            finding.withheld = (
                "examples in documents are only reported; `markdown: fix` in the configuration edits them"
            )
    return out


def judge_problems(path: str, reading: Reading, to: str, out: Judged) -> None:
    """Report what is wrong with a file itself."""
    for problem in reading.problems:
        if problem.kind not in _PROBLEMS:
            continue
        code, severity = _PROBLEMS[problem.kind]
        if reading.tolerant:
            severity = "info"
        span = Span(problem.offset, max(problem.end, problem.offset))
        out.findings.append(Finding(code, severity, path.rsplit("/", 1)[-1], problem.message, path, span, to))


def _release(data: Data, version: str | None) -> Release | None:
    if version is None:
        return None
    try:
        return data.catalog.release(version)
    except UnknownRelease:
        return None


def _target(data: Data, wanted: str | None, version: str | None) -> tuple[Release, str | None]:
    """Return the release to judge against: a launch that is beyond the target keeps its own."""
    target = data.catalog.release(wanted) if wanted is not None else _release(data, version)
    note = None
    if target is None:
        target = data.catalog.release(data.catalog.latest)
    if version is not None and wanted is not None:
        try:
            beyond = key(version) > key(target.version)
        except ValueError:
            beyond = False
        if beyond:
            own = _release(data, version)
            if own is not None:
                note = f"it runs on {version} already, beyond {target.version}: judged against {own.version}"
                target = own
    return target, note


def _site(subject: _Subject, site: Site, origin: Origin, from_: str | None) -> None:
    path, source, reading, data, out = subject.path, subject.source, subject.reading, subject.data, subject.out
    version = from_ or origin.version
    line = source.position(site.place.start)[0]
    out.evidence.append(f"{path}:{line}: {_standing(site, origin, from_)}")
    if not reading.documentation:
        images = tuple(p.effective or p.whole for p in site.pins if p.kind in ("image", "base") and not p.holes)
        out.standings.append(Standing(path, line, version, images))
    shown = site.shown and data.config.markdown != "fix"
    wanted = None if (subject.examples or shown) and _own(site, origin) else subject.wanted
    target, note = _target(data, wanted, version if wanted is not None or from_ is None else origin.version)
    common = subject.context(target, version, origin.device)
    ctx = SiteContext(
        **vars(common),
        site=site,
        arguments=read_arguments(site, data.catalog, target, common.origin_release),
        beside=lambda: readings_beside(path, reading, subject.folder),
    )
    found: list[Finding] = []
    for module in modules():
        if hasattr(module, "judge_site"):
            found += module.judge_site(ctx)
    if site.ignores:
        _soften(site, target, found)
    if note:
        out.notices.append(f"{path}:{source.position(site.place.start)[0]}: {note}")
        for finding in found:
            finding.related.append(note)
    if origin.conflict and from_ is None and found and not site.shown:
        where = ", ".join(origin.conflict)
        found.append(
            Finding(
                "VM508",
                "info",
                "vllm",
                f"pins at the same distance name different releases ({where}); none is taken for this launch's",
                path,
                site.place,
                target.version,
                site=site,
                help="Say which one it is with --from, or with `paths:` in the configuration.",
            )
        )
    if site.shown:
        found = [f for f in found if f.code not in _NOTES]
    out.findings += _reported(found) if shown else found


def _own(site: Site, origin: Origin) -> bool:
    """Tell whether a launch is pinned where it stands."""
    return origin.version is not None and any(p is q for p in site.pins for _, q in origin.pins)


def _standing(site: Site, origin: Origin, from_: str | None) -> str:
    """Say which release a launch is on and what says so."""
    what = f"a launch ({site.entry_point}" + (f", through {site.wrapper})" if site.wrapper else ")")
    if from_ is not None:
        return f"{what} is taken to be on {from_}, as the settings say"
    if origin.conflict:
        return f"{what}: pins at the same distance disagree ({', '.join(origin.conflict)})"
    if origin.version is None:
        return f"{what}: nothing says which release it is on" + (f" ({origin.how})" if origin.how else "")
    named = (f"{pin.effective or pin.whole} at {where}" for where, pin in origin.pins[:3])
    said = ", ".join(dict.fromkeys(named))
    return f"{what} is on {origin.version}: {said} ({origin.how})"


def _soften(site: Site, target: Release, found: Iterable[Finding]) -> None:
    """What a wrapper drops by itself keeps nothing from starting: options that the target does not have."""
    for finding in found:
        if finding.severity != "error" or finding.site is not site or not finding.subject.startswith("--"):
            continue
        # A key or a value is passed on with its option, and refused.
        if not target.takes(finding.subject.partition(".")[0], (), site.entry_point):
            finding.severity = "warning"
            finding.related.append(f"{site.wrapper} drops an option that its vLLM does not take")


def _pin(subject: _Subject, pin: Pin, nearest: str | None, device: str) -> None:
    data, wanted, out = subject.data, subject.wanted, subject.out
    said = version_of(pin, data.config)
    if subject.examples and said is not None and said.version:
        wanted = None
    version = said.version if said is not None and said.version else nearest
    target, _ = _target(data, wanted, None if said is not None and said.version else version)
    if wanted is None and said is not None and said.version:
        target = _release(data, said.version) or target
    common = subject.context(target, version, (said.device if said is not None else "") or device)
    ctx = PinContext(**vars(common), pin=pin)
    for module in modules():
        if hasattr(module, "judge_pin"):
            for finding in module.judge_pin(ctx):
                out.pin_findings.setdefault(id(pin), []).append(finding)
                out.findings.append(finding)


def launches_refuse(findings: Iterable[Finding]) -> dict[str, int]:
    """Count what the target refuses at launches, by code and subject: a fix must add nothing to it."""
    out: dict[str, int] = {}
    for finding in findings:
        if finding.severity == "error" and finding.site is not None:
            name = f"{finding.code} {finding.subject}"
            out[name] = out.get(name, 0) + 1
    return out
