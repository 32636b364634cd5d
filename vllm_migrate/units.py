"""Chooses which fixes go together, proves them, and applies them.

A *unit* is a set of fixes that is applied whole or not at all: fixes that touch the same text, a fix and
the move of the pin it needs, the same change at every launch a shared text reaches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from vllm_migrate import chart_moves, charts
from vllm_migrate.budget import Limited, TooLong, told
from vllm_migrate.catalog import CatalogError
from vllm_migrate.config import place_key
from vllm_migrate.disjoint import Disjoint
from vllm_migrate.findings import Finding, Fix, Step
from vllm_migrate.judging import Data, judge, launches_refuse
from vllm_migrate.lazy import dataclass
from vllm_migrate.migrations import MigrationError
from vllm_migrate.model import CannotRender, Change, Reading, Site
from vllm_migrate.proof import NotProved, item_of, prove, render, signature, unique
from vllm_migrate.text import Edit, Source

if TYPE_CHECKING:
    from vllm_migrate.engine import File, Tree

_LARGEST = 64 << 20
"""Letters of a file, beyond which it is not rewritten: proving needs the text several times over."""
SHARED = "the text also reaches another launch, or another use, that does not ask for the same"


@dataclass(eq=False)
class Part:
    """Fixes of one file that touch the same text. needs: the parts that move the pins it relies on."""

    path: str
    fixes: list[Fix] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    needs: list[Part] = field(default_factory=list)
    dead: str = ""

    @property
    def safe(self) -> bool:
        return all(f.safety == "safe" for f in self.fixes)


@dataclass(eq=False)
class Unit:
    """Parts applied together: the move of a pin and what the pinned release would not accept."""

    parts: list[Part] = field(default_factory=list)

    @property
    def alive(self) -> list[Part]:
        return [p for p in self.parts if not p.dead]

    @property
    def safe(self) -> bool:
        return all(p.safe for p in self.alive)

    @property
    def paths(self) -> set[str]:
        return {p.path for p in self.alive}


class Planner:
    """Plans the fixes of one round over all files."""

    def __init__(self, tree: Tree, data: Data, target: str | None) -> None:
        self.tree, self.data, self.target = tree, data, target
        self.parts: list[Part] = []
        self.units: list[Unit] = []
        self.left_out = 0
        self.withheld = 0
        self.told: set[int] = set()
        """ids of findings that another file's finding speaks for."""
        self.charts: dict[str, charts.Chart] = {}
        self.moves: dict[int, chart_moves.Move] = {}
        """id of a template's fix → what becomes of the values it prints."""
        self.steps: list[Step] = []
        """With `split`: what the last `apply` did, in steps."""
        self._writes = data.config.fix or data.config.choose
        """A second parser reads what may be written; a run that only reports is spared loading it."""
        self._slow: dict[str, str] = {}
        """Path → why nothing more is proved there."""
        self._proved: dict[tuple[int, ...], tuple[Source, Reading]] = {}
        self._refused: dict[str, dict[LaunchKey, dict[str, int]]] = {}
        self._pins: dict[tuple[str, ...], int] = {}

    def plan(self, hidden: set[int]) -> None:
        """Build and prove the units; findings whose fix does not hold lose it, with the reason."""
        findings = [f for file in self.tree.files.values() for f in file.judged.findings if id(f) not in hidden]
        chart_moves.offer(self)
        self._agree(findings)
        self._make_parts(findings)
        for part in self.parts:
            if not self.tree.files[part.path].reported:
                self._kill(part, f"it is made in {part.path}, which is not among the paths given")
        self._tie_to_pins()
        self._prove_all()
        charts.link(self)
        findings = [f for f in findings if id(f) not in self.told]
        self._make_units()
        self._pin_safety(findings)
        for unit in self.units:
            self._show_edits(unit)
        chosen = self.data.config.unsafe_fixes
        self.left_out = sum(1 for u in self.units if u.alive and not u.safe and not chosen)
        self.withheld = sum(1 for f in findings if f.withheld)

    def _agree(self, findings: list[Finding]) -> None:
        """Take the fix from findings whose text reaches a launch that does not ask for the same change."""
        asked: dict[int, set[tuple[object, ...]]] = {}
        for finding in findings:
            if finding.fix is not None and finding.site is not None:
                asked.setdefault(id(finding.site), set()).update(signature(c) for c in finding.fix.changes)
        for file in self.tree.files.values():
            users: dict[int, list[int]] = {}
            for site in file.reading.sites:
                for held in (*site.words, *site.entries, *site.variables):
                    users.setdefault(id(held), []).append(id(site))
            for finding in file.judged.findings:
                fix = finding.fix
                if fix is None:
                    continue
                for change in fix.changes:
                    item = item_of(change)
                    if item is None:
                        continue
                    sites = users.get(id(item), [])
                    lacking = [s for s in sites if signature(change) not in asked.get(s, set())]
                    if lacking and finding.site is not None:
                        _take(finding, SHARED)
                        break

    def _make_parts(self, findings: list[Finding]) -> None:
        sets: Disjoint[object] = Disjoint()
        for finding in findings:
            for change in finding.fix.changes if finding.fix is not None else ():
                item = item_of(change)
                token = ("item", id(item)) if item is not None else ("insert", *signature(change))
                sets.join(("fix", id(finding.fix)), token)
        groups: dict[object, Part] = {}
        for finding in findings:
            if finding.fix is None:
                continue
            path = finding.fix.path or finding.path
            part = groups.setdefault(sets.root(("fix", id(finding.fix))), Part(path))
            part.findings.append(finding)
            if finding.fix not in part.fixes:
                part.fixes.append(finding.fix)
        self.parts = list(groups.values())

    def _tie_to_pins(self) -> None:
        """Tie what the pinned release would not accept to the move of the pin."""
        by_fix = {id(f): part for part in self.parts for f in part.fixes}
        for part in self.parts:
            for finding in part.findings:
                if finding.site is None or finding.fix is None:
                    continue
                origin = self.tree.files[finding.path].judged.origins.get(id(finding.site))
                if origin is None or origin.version is None or self.data.config.from_ is not None:
                    continue
                if self._accepts(origin.version, finding.fix, finding.site.entry_point):
                    continue
                for path, pin in origin.pins:
                    file = self.tree.files[path]
                    moves = file.judged.pin_findings.get(id(pin), [])
                    move = next((by_fix[id(f.fix)] for f in moves if f.fix is not None and id(f.fix) in by_fix), None)
                    if move is None or not file.reported:
                        why = next((f.withheld for f in moves if f.withheld), "") or f"its pin in {path} stays"
                        self._kill(part, f"{origin.version}, which it is pinned to, lacks what replaces it: {why}")
                    elif move not in part.needs and move is not part:
                        part.needs.append(move)

    def _make_units(self) -> None:
        sets: Disjoint[object] = Disjoint()
        for part in self.parts:
            for move in part.needs:
                lone = part.dead or (not part.safe and all(f.severity == "info" for f in part.findings))
                if not lone or (self.data.config.unsafe_fixes and not part.dead):
                    # What breaks nothing and needs a person must not hold the pin back.
                    sets.join(id(part), id(move))
            for other in self.written_with(part):
                sets.join(id(part), id(other))
        groups: dict[object, Unit] = {}
        for part in self.parts:
            groups.setdefault(sets.root(id(part)), Unit()).parts.append(part)
        self.units = list(groups.values())

    def written_with(self, part: Part) -> list[Part]:
        """Return the parts without which a part cannot be written (all branches of a template's `if` go)."""
        if part.dead or _renders([part]):
            return []
        others = [p for p in self.parts if p is not part and p.path == part.path and not p.dead]
        pair = next((p for p in others if _renders([part, p])), None)
        return others if pair is None else [pair]

    def _accepts(self, version: str, fix: Fix, surface: str) -> bool:
        from vllm_migrate.catalog import UnknownRelease

        try:
            release = self.data.catalog.release(version)
        except UnknownRelease:
            return not fix.needs
        for section, name in fix.needs:
            if section == "options":
                head, *path = name.split(".")
                if not release.takes(head, path, surface):
                    return False
            elif (name.startswith("VLLM_") or section != "variables") and not release.has(section, name):
                return False
        return True

    def _pin_safety(self, findings: list[Finding]) -> None:
        """Moving a pin is safe only when no error would remain at the launches it governs."""
        governed: dict[int, list[Finding]] = {}
        for finding in findings:
            if finding.site is None or finding.severity != "error":
                continue
            origin = self.tree.files[finding.path].judged.origins.get(id(finding.site))
            for _, pin in origin.pins if origin is not None else ():
                governed.setdefault(id(pin), []).append(finding)
        for file in self.tree.files.values():
            for pin_id, moves in file.judged.pin_findings.items():
                for move in moves:
                    fix = move.fix
                    if fix is None or fix.safety != "safe":
                        continue
                    open_ = [f for f in governed.get(pin_id, ()) if f.fix is None or f.fix.safety != "safe"]
                    if open_:
                        names = ", ".join(dict.fromkeys(f.subject for f in open_))
                        fix.safety = "unsafe"
                        fix.why = f"the launch would not start on the new release before this is settled: {names}"

    def _prove_file(self, path: str, parts: Sequence[Part]) -> tuple[Source, Reading]:
        """Return the file after these parts. Raises CannotRender or NotProved.

        What was proved when planning is not read and judged again to be applied.
        """
        from vllm_migrate.engine import read_source

        key = tuple(id(part) for part in parts)
        if key in self._proved:
            return self._proved[key]
        file = self.tree.files[path]
        if len(file.source.text) > _LARGEST:
            raise NotProved(f"a file of {len(file.source.text) >> 20} MiB is reported, not rewritten")
        if path in self._slow:
            raise NotProved(self._slow[path])
        try:
            with Limited(len(file.source.text)):
                source, reading = prove(
                    file.source,
                    file.reading,
                    _changes(parts),
                    lambda s: read_source(s, file.host, self.tree.root),
                    getattr(file.host, "verify", None) if self._writes else None,
                )
                self._refuses_nothing_new(file, source, reading)
        except (CannotRender, NotProved, CatalogError, MigrationError):
            raise
        except (Exception, TooLong) as error:
            if isinstance(error, TooLong):
                self._slow[path] = told(error, "proved")
            raise NotProved(told(error, "proved")) from None
        self._proved[key] = source, reading
        return source, reading

    def _pins_of(self, reading: Reading) -> int:
        """Return a number that stands for what the pins of a file say: the same for the same."""
        return self._pins.setdefault(tuple(p.whole for p in reading.pins), len(self._pins))

    def _refuses_nothing_new(self, file: File, source: Source, reading: Reading) -> None:
        before = launches_refuse(file.judged.findings)
        known = self._refused.setdefault(file.path, {})
        if not known:
            known.update(_by_launch(file.reading, file.judged.findings, self._pins_of(file.reading)))
        pins = self._pins_of(reading)
        names = {id(site): _launch_key(site, pins) for site in reading.sites}
        # A launch that reads as one judged already is refused the same.
        fresh = [site for site in reading.sites if names[id(site)] not in known]
        if fresh:
            judged = judge(file.path, source, reading, self.data, self.target, self.tree.folder, fresh)
            for site in fresh:
                known[names[id(site)]] = launches_refuse(f for f in judged.findings if f.site is site)
        after: Counter[str] = Counter()
        for site in reading.sites:
            after.update(known[names[id(site)]])
        for name, count in after.items():
            if count > before.get(name, 0):
                raise NotProved(f"the target would refuse {name.partition(' ')[2]} in the edited launch")

    def _prove_all(self) -> None:
        """Prove all parts of a file together, and one by one where that fails."""
        by_path: dict[str, list[Part]] = {}
        for part in self.parts:
            if not part.dead:
                by_path.setdefault(part.path, []).append(part)
        for done, path in enumerate(sorted(by_path)):
            self.tree.progress("proving fixes of files", done, len(by_path))
            self._prove_parts(path, by_path[path])

    def _prove_parts(self, path: str, parts: list[Part]) -> tuple[Source, Reading] | None:
        """Return the file after all of the parts that prove; the others are withheld."""
        if not parts:
            return None
        try:
            return self._prove_file(path, parts)
        except (CannotRender, NotProved) as error:
            if len(parts) == 1:
                self._kill(parts[0], f"the rewrite could not be proved: {error}")
                return None
        good: list[Part] = []
        last: tuple[Source, Reading] | None = None
        waiting = [parts[len(parts) // 2 :], parts[: len(parts) // 2]]
        while waiting:
            some = waiting.pop()
            try:
                last = self._prove_file(path, [*good, *some])
                good += some
            except (CannotRender, NotProved) as error:
                if len(some) == 1:
                    self._kill(some[0], f"the rewrite could not be proved: {error}")
                else:
                    waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
        return last

    def text(self, path: str, parts: Sequence[Part]) -> Source | None:
        """Return a file after these parts, None where that does not prove."""
        try:
            return self._prove_file(path, parts)[0] if parts else self.tree.files[path].source
        except (CannotRender, NotProved):
            return None

    def add_companion(self, path: str, fix: Fix, users: Sequence[Part]) -> str:
        """Add a fix that only makes sense with others, in another file; alone it is never made.

        Returns why it could not be proved, "" where it was.
        """
        part = Part(path, [fix], needs=list(users))
        before = [p for p in self.parts if p.path == path and not p.dead]
        self.parts.append(part)
        try:
            self._prove_file(path, [*before, part])
        except (CannotRender, NotProved) as error:
            part.dead = str(error)
        return part.dead

    def _kill(self, part: Part, reason: str) -> None:
        if part.dead:
            return
        part.dead = reason
        for finding in part.findings:
            _take(finding, reason)
        for other in self.parts:
            if part in other.needs:
                self._kill(other, f"it needs the pin to move: {reason}")

    def _show_edits(self, unit: Unit) -> None:
        """Give each fix its edits; fixes applied together show all edits of the unit."""
        edits: list[tuple[str, Edit]] = []
        for path in sorted(unit.paths):
            mine = [p for p in unit.alive if p.path == path]
            try:
                edits += [(path, e) for e in sorted(render(_changes(mine)))]
            except CannotRender as error:
                for part in mine:
                    self._kill(part, str(error))
        worst = next((f for part in unit.alive for f in part.fixes if f.safety == "unsafe"), None)
        for part in unit.alive:
            for fix in part.fixes:
                fix.edits = edits
                if worst is not None and fix.safety == "safe":
                    # What is applied together is as safe as its least safe part.
                    fix.safety, fix.why = "unsafe", f"it goes together with: {worst.description} ({worst.why})"

    def apply(self, *, first: bool = True) -> dict[str, list[Fix]]:
        """Put the chosen units into the files; return the changed paths and what was applied there.

        first: this is the first round; fixes picked one by one are all of it.
        """
        config = self.data.config
        chosen = [u for u in self.units if u.alive and (u.safe or config.unsafe_fixes)]
        if config.chosen is not None:
            picked = [
                u for u in chosen if any(place_key(f) in (config.chosen or ()) for p in u.alive for f in p.findings)
            ]
            chosen = picked if first else []
        done: dict[str, tuple[Source, Reading]] = {}
        while True:
            before = sum(len(u.alive) for u in chosen)
            done = {}
            for path in sorted({p for u in chosen for p in u.paths}):
                after = self._prove_parts(path, [p for u in chosen for p in u.alive if p.path == path])
                if after is not None:
                    done[path] = after
            if sum(len(u.alive) for u in chosen) == before:
                break
        if config.split:
            from vllm_migrate.steps import steps

            self.steps = steps(self.tree, chosen, config.split, self.text)
        out: dict[str, list[Fix]] = {}
        for path, (source, reading) in done.items():
            file = self.tree.files[path]
            file.source, file.reading = source, reading
            out[path] = [f for u in chosen for p in u.alive if p.path == path for f in p.fixes]
        return out


LaunchKey = tuple[object, ...]


def _launch_key(site: Site, pins: int) -> LaunchKey:
    """Return all of a launch that decides what a release refuses of it, as something to look up.

    pins: stands for what the pins of its file say.
    """
    variables = [(v.name, v.value, v.scope, v.holes) for v in site.variables]
    return (
        site.entry_point,
        site.host,
        site.owner,
        site.wrapper,
        site.by_image,
        site.open,
        tuple((w.text, w.holes, w.splits, w.locked, w.guarded) for w in site.words),
        tuple((e.key, repr(e.value), e.locked, e.guarded) for e in site.entries),
        tuple(variables),
        pins,
    )


def _by_launch(reading: Reading, findings: Iterable[Finding], pins: int) -> dict[LaunchKey, dict[str, int]]:
    held: dict[int, list[Finding]] = {}
    for finding in findings:
        held.setdefault(id(finding.site), []).append(finding)
    return {_launch_key(s, pins): launches_refuse(held.get(id(s), ())) for s in reading.sites}


def _changes(parts: Iterable[Part]) -> list[Change]:
    return unique(c for part in parts for fix in part.fixes for c in fix.changes)


def _renders(parts: Sequence[Part]) -> bool:
    try:
        return bool(render(_changes(parts)))
    except CannotRender:
        return False


def _take(finding: Finding, reason: str) -> None:
    finding.fix = None
    finding.withheld = reason
