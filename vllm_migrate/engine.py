"""A run: discover files, read them, judge them, plan fixes, prove them, and report."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path

from vllm_migrate import baseline, charts, discover, suppress
from vllm_migrate.arguments import CLIENTS
from vllm_migrate.budget import Limited, TooLong, told
from vllm_migrate.carried import settle
from vllm_migrate.catalog import CatalogError
from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.config import Config
from vllm_migrate.findings import FileResult, Finding, Report
from vllm_migrate.hosts import Context as HostContext
from vllm_migrate.hosts import Host, bearing, host_for
from vllm_migrate.hosts.spread import spread
from vllm_migrate.judging import Data, Judged, judge, judge_problems
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.migrations import MigrationError
from vllm_migrate.migrations import load as load_migrations
from vllm_migrate.model import Problem, Reading
from vllm_migrate.progress import Step, silent
from vllm_migrate.text import Region, Source, Span, UndecodableError
from vllm_migrate.wrappers import use as use_wrappers

ROUNDS = 5


@dataclass
class File:
    """One file of a run, as it is now: rounds of fixes replace source and reading."""

    path: str
    source: Source
    reading: Reading
    host: Host
    reported: bool = True
    judged: Judged = field(default_factory=Judged)
    hiding: set[int] = field(default_factory=set)
    """Where the comments start that hid a finding."""


def run(paths: Sequence[Path], root: Path, settings: Config, progress: Step = silent) -> Report:
    """Check files below `paths` and, with `settings.fix`, choose fixes into `FileResult.fixed`.

    progress: told how far the run is.

    Raises PathError for a path that cannot be read, ConfigError, CatalogError or MigrationError for data
    that cannot be used.
    """
    walk = discover.Walk(root, settings, progress=progress)
    return run_walk(walk, walk.files(paths), paths)


def run_walk(walk: discover.Walk, files: Iterable[tuple[str, bytes]], paths: Sequence[Path]) -> Report:
    """Check the files of a walk that has begun; the same as `run` otherwise."""
    use_wrappers(walk.config.wrappers)
    named = [walk.name(str(discover.absolute(path))) for path in paths]
    report = _run(files, walk.root, walk.config, named, progress=walk.progress)
    report.walked = walk.looked_at
    report.notices += walk.notices
    report.skipped = walk.skipped
    return report


def run_text(name: str, raw: bytes, root: Path, settings: Config, host: Host | None = None) -> Report:
    """Check one text as if it were the file `name` (relative to the root).

    host: reads the text, which then is no file: what stands in the folder says nothing of it.
    """
    use_wrappers(settings.wrappers)
    report = _run([(name, raw)], root.resolve(), settings, [name], host)
    report.walked = 1
    return report


class Tree:
    """The files read in a run, and those beside them that may say which release is in use."""

    def __init__(self, root: Path, *, alone: bool = False, progress: Step = silent) -> None:
        self.root = root
        self.progress = progress
        self.alone = alone
        self.files: dict[str, File] = {}
        self._folders: dict[str, list[str]] = {}
        self._looked: set[str] = set()

    def add(self, file: File) -> None:
        self.files[file.path] = file
        self._folders.setdefault(posixpath.dirname(file.path), []).append(file.path)

    def folder(self, name: str) -> Iterable[tuple[str, Reading]]:
        """Return the readings of the files directly in a folder, for evidence."""
        if name not in self._looked and not self.alone:
            self._looked.add(name)
            self._look(name)
        readings = [(p, self.files[p].reading) for p in sorted(self._folders.get(name, ()))]
        return [(p, reading) for p, reading in readings if not reading.documentation]

    def read_kustomization(self, name: str) -> None:
        """Read what stands in a folder whose kustomization may set the tags of its manifests."""
        from vllm_migrate.hosts.kustomize import NAMES

        if name not in self._looked and any((self.root / name / k).is_file() for k in NAMES):
            self.folder(name)

    def _look(self, name: str) -> None:
        for entry in discover.names_inside(self.root, name):
            path = f"{name}/{entry}" if name else entry
            if path in self.files or not _may_pin(entry):
                continue
            raw = discover.read_inside(self.root, path)
            if raw is None or len(raw) > 1 << 20 or b"vllm" not in raw:
                continue
            file = read(path, raw, self.root)
            if isinstance(file, File):
                file.reported = False
                self.add(file)


_PIN_NAMES = (
    "dockerfile", "containerfile", "requirements", "constraints", "pyproject.toml", "setup.py", "setup.cfg",
    "pipfile", "uv.lock", "poetry.lock", "pdm.lock", "pixi.toml", ".env",
)  # fmt: skip
_PIN_ENDS = (".dockerfile", ".yaml", ".yml", ".env", "requirements.txt", "requirements.in")


def _may_pin(name: str) -> bool:
    low = name.lower()
    return low.startswith(_PIN_NAMES) or low.endswith(_PIN_ENDS)


def read(path: str, raw: bytes, root: Path, host: Host | None = None) -> File | Finding | None:
    """Read one file: a File, a finding where it is not text, None where no host reads it.

    host: reads it whatever its name says.
    """
    source = decode(path, raw)
    return read_text(source, root, host) if isinstance(source, Source) else source


def decode(path: str, raw: bytes) -> Source | Finding:
    """Return the text of a file, or a finding where it is none."""
    try:
        return Source(path, raw)
    except UndecodableError as error:
        message = f"not UTF-8 text: byte {error.offset}: {error.reason}"
        return Finding("VM002", "warning", posixpath.basename(path), message, path, Span(0, 0), "")


def read_text(source: Source, root: Path, host: Host | None = None) -> File | None:
    """Read a text: a File, None where no host reads it. host: reads it whatever its name says."""
    path = source.path
    host = host or host_for(path, source.head[:200])
    if host is None:
        return None
    return File(path, source, read_source(source, host, root), host)


def read_source(source: Source, host: Host, root: Path) -> Reading:
    """Return a host's reading; a fault of the host itself is a problem of the file, never a crash."""

    def beside(name: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(source.path), name))

    def sibling(name: str) -> str | None:
        raw = discover.read_inside(root, beside(name))
        if raw is None or len(raw) > 1 << 20:
            return None
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    def names(folder: str) -> list[str]:
        return discover.names_inside(root, beside(folder))

    context = HostContext(source.path, sibling_reader=sibling, sibling_names=names)
    try:
        with Limited(len(source.text)):
            reading = host.read(Region.whole(source), context)
            spread(reading, source)
            settle(reading)
            _keep_from_clients(reading)
            if "<<<<<<< " in source.text and not reading.documentation:
                return _conflict(source.text) or reading
            return reading
    except (Exception, TooLong) as error:
        return Reading(problems=[Problem("syntax", told(error, "read"))])


_SIDES = tuple(regex(mark, re.M) for mark in (r"^<{7} ", r"^={7}\r?$", r"^>{7} "))


def _conflict(text: str) -> Reading | None:
    """Return the reading of a file with an open merge conflict: neither side is what will be run."""
    at: list[int] = []
    for side in _SIDES:
        found = side.search(text, at[-1] if at else 0)
        if found is None:
            return None
        at.append(found.start())
    message = "a merge conflict is open here; settle it first"
    return Reading(problems=[Problem("syntax", message, at[0], at[0] + 7)])


def _keep_from_clients(reading: Reading) -> None:
    """A program that only talks to a server reads no variable of the engine's: they reach no site through it."""
    clients = [s for s in reading.sites if s.entry_point in CLIENTS]
    held = [v for s in clients for v in s.variables]
    for site in clients:
        site.variables, site.variable_home = [], None
    known = {id(v) for v in reading.variables} | {id(v) for s in reading.sites for v in s.variables}
    reading.variables += {id(v): v for v in held if id(v) not in known}.values()


def _follow(tree: Tree, named: Sequence[str]) -> None:
    """Read the files that launches and requirement files link to; they are reported where a path names them."""
    waiting = list(tree.files.values())
    known_values: dict[str, list[str]] = {}
    while waiting:
        file = waiting.pop()
        links = [(name, False) for name in (*file.reading.links, *charts.linked(tree.root, file.path, known_values))]
        links += [(name, True) for name in _configs(file.reading)]
        for name, config in links:
            for base in dict.fromkeys((posixpath.dirname(file.path), "")):
                path = posixpath.normpath(posixpath.join(base, name))
                known = tree.files.get(path)
                raw = None if path.startswith("..") or path.startswith("/") else discover.read_inside(tree.root, path)
                if raw is None or len(raw) > 1 << 20 or (known is not None and not config):
                    continue
                found = read(path, raw, tree.root, _ConfigHost() if config else None)
                if isinstance(found, File):
                    found.reported = any(n == "" or path == n or path.startswith(n + "/") for n in named)
                    if known is None:
                        waiting.append(found)
                        tree.add(found)
                    elif not known.reading.sites:
                        tree.files[path] = found
                break


def _configs(reading: Reading) -> list[str]:
    """Return the files that launches name with `--config FILE` (with `=` no release loads it)."""
    out = []
    for site in reading.sites:
        for word, value in zip(site.words, site.words[1:], strict=False):
            if word.text == "--config" and value.literal and value.text.endswith((".yaml", ".yml")):
                out.append(value.text)
    return out


class _ConfigHost:
    """The YAML host, for a file that a launch names with `--config`."""

    NAME = "yaml"

    def read(self, region: Region, context: HostContext) -> Reading:
        from vllm_migrate.hosts.yaml import read_config

        return read_config(region, context)


def _run(
    files: Iterable[tuple[str, bytes]],
    root: Path,
    settings: Config,
    named: Sequence[str],
    host: Host | None = None,
    progress: Step = silent,
) -> Report:
    tree: Tree | None = None
    data: Data
    report = Report(list(settings.to), root=str(root))
    undecodable: list[Finding] = []
    for path, raw in files:
        if tree is None:
            tree = Tree(root, alone=host is not None, progress=progress)
            data = Data(load_catalog(settings.catalog), load_migrations(settings.migrations), settings)
            bearing.look_for(data.migrations.names_in_code)
        source = decode(path, raw)
        # The bytes can be hundreds of megabytes, and are those of the text.
        del raw
        file = read_text(source, root, host) if isinstance(source, Source) else source
        if file is None:
            report.unread.append(path)
        if isinstance(file, Finding):
            undecodable.append(file)
        elif file is not None:
            tree.add(file)
    for finding in undecodable:
        report.files.append(FileResult(finding.path, None, [finding]))
    if tree is None or not tree.files:
        return report
    if not tree.alone:
        _follow(tree, named)
    if not settings.to and not any(r.to for r in settings.paths.values()):
        report.notices.append(
            f"no target release given: each launch is judged against its own pin, else {data.catalog.latest}"
        )
    for finding in undecodable:
        finding.to = data.catalog.latest
    targets: list[str | None] = list(settings.to) or [None]
    known = baseline.load(settings.baseline)
    results: dict[str, FileResult] = {}
    originals = {p: f.source for p, f in tree.files.items()}
    for i, target in enumerate(targets):
        _one_target(tree, data, target, report, results, known, last=i == len(targets) - 1)
    for path, file in tree.files.items():
        result = results.get(path)
        if result is not None and file.source is not originals[path]:
            result.fixed = file.source
            result.source = originals[path]
    report.files += [results[p] for p in sorted(results)]
    if report.steps:
        from vllm_migrate.steps import joined

        report.steps = joined(report.steps)
    return report


def _judge_all(tree: Tree, data: Data, target: str | None, paths: Iterable[str]) -> None:
    from vllm_migrate.hosts.kustomize import hold

    paths = sorted(paths)
    for folder in {posixpath.dirname(path) for path in paths}:
        tree.read_kustomization(folder)
    hold({path: file.reading for path, file in tree.files.items()})
    for done, path in enumerate(paths):
        tree.progress("judging files", done, len(paths))
        file = tree.files[path]
        try:
            with Limited(len(file.source.text)):
                file.judged = judge(path, file.source, file.reading, data, target, tree.folder)
        except (CatalogError, MigrationError):
            raise
        except (Exception, TooLong) as error:
            file.reading = Reading(problems=[Problem("syntax", told(error, "judged"))])
            file.judged = Judged()
            judge_problems(path, file.reading, target or data.catalog.latest, file.judged)


def _one_target(
    tree: Tree,
    data: Data,
    target: str | None,
    report: Report,
    results: dict[str, FileResult],
    known: baseline.Baseline,
    *,
    last: bool,
) -> None:
    from vllm_migrate.units import Planner

    settings = data.config
    fixing = settings.fix and last
    _judge_all(tree, data, target, [p for p, f in tree.files.items() if f.reported])
    # Looking for evidence may have read more files: their pins are judged so that a fix can say where they are.
    _judge_all(tree, data, target, [p for p, f in tree.files.items() if not f.reported])
    for done in range(ROUNDS if fixing else 1):
        first = done == 0
        _govern(tree)
        planner = Planner(tree, data, target)
        # What the baseline knows is not fixed in a later round either: each round meets it afresh.
        hidden = _hide(tree, settings, known if first else baseline.load(settings.baseline))
        planner.plan(hidden)
        if first:
            told = (f for file in tree.files.values() if file.reported for f in file.judged.findings)
            wanted = (f for f in told if settings.reports(f.code, f.migration, f.path))
            report.suppressed += sum(1 for f in wanted if id(f) in hidden)
            report.left_out += planner.left_out
            report.withheld += planner.withheld
            _collect(tree, report, results, hidden | planner.told)
        if first and last:
            _unused_comments(tree, settings, target or data.catalog.latest, results)
        if first and settings.choose:
            from vllm_migrate.choices import choices

            report.choices, report.clusters = choices(planner)
        if not fixing:
            break
        changed = planner.apply(first=first)
        report.steps += planner.steps
        for path, fixes in changed.items():
            results[path].applied += fixes
        if not changed:
            break
        # A launch whose fix stands in another file is judged anew with it.
        asking = {f.path for p in tree.files.values() for f in p.judged.findings if f.fix and f.fix.path in changed}
        _judge_all(tree, data, target, {*changed, *asking})


def _govern(tree: Tree) -> None:
    """Tell the findings of pins which launches run what the pin names."""
    for file in tree.files.values():
        for finding in file.judged.findings:
            finding.governs.clear()
    for file in tree.files.values():
        for site in file.reading.sites:
            origin = file.judged.origins.get(id(site))
            for path, pin in origin.pins if origin is not None else ():
                for finding in tree.files[path].judged.pin_findings.get(id(pin), ()):
                    finding.governs.append(site)


def _hide(tree: Tree, settings: Config, known: baseline.Baseline) -> set[int]:
    """Return the ids of findings that are not to be reported or fixed; note the comments that hide some."""
    hidden: set[int] = set()
    for file in tree.files.values():
        comments = suppress.read(file.source)
        for finding in file.judged.findings:
            hiding = comments.hiding(finding, file.source)
            file.hiding.update(c.start for c in hiding)
            if (
                not file.reported
                or not settings.reports(finding.code, finding.migration, finding.path)
                or hiding
                or known.hides(finding, file.source)
            ):
                hidden.add(id(finding))
    return hidden


def _unused_comments(tree: Tree, settings: Config, to: str, results: dict[str, FileResult]) -> None:
    """Report the comments that hid nothing for any target."""
    for path, file in tree.files.items():
        if path in results and settings.reports("VM004", "", path) and not file.reading.documentation:
            results[path].findings += suppress.unused(file.source, path, to, file.hiding)


def _collect(tree: Tree, report: Report, results: dict[str, FileResult], hidden: set[int]) -> None:
    for path, file in tree.files.items():
        if not file.reported:
            continue
        if path not in results:
            report.standings += file.judged.standings
        fresh = FileResult(path, file.source, sites=len(file.reading.sites), host=file.host.NAME)
        result = results.setdefault(path, fresh)
        seen = {(f.code, f.subject, f.span, f.to, f.message) for f in result.findings}
        for finding in sorted(file.judged.findings, key=lambda f: (f.span, f.code, f.subject)):
            name = (finding.code, finding.subject, finding.span, finding.to, finding.message)
            if id(finding) in hidden or name in seen:
                continue
            seen.add(name)
            result.findings.append(finding)
        report.notices += [n for n in file.judged.notices if n not in report.notices]
        report.evidence += [e for e in file.judged.evidence if e not in report.evidence]
