"""Chooses which fixes go together, proves them, and applies them.

A *unit* is a set of fixes that is applied whole or not at all: fixes that touch the same text, a fix and
the move of the pin it needs, the same change at every launch a shared text reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vllm_migrate.findings import Finding, Fix
from vllm_migrate.judging import Data, judge, launches_refuse
from vllm_migrate.model import CannotRender, Change, Reading
from vllm_migrate.proof import NotProved, item_of, prove, render, signature, unique
from vllm_migrate.text import Source

if TYPE_CHECKING:
    from vllm_migrate.engine import File, Tree

SHARED = "the text also reaches another launch, or another use, that does not ask for the same"


@dataclass(eq=False)
class Unit:
    """Fixes applied together. pins: fixes among them that move a pin."""

    fixes: list[Fix] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    dead: str = ""

    @property
    def safe(self) -> bool:
        return all(f.safety == "safe" for f in self.fixes)


class Planner:
    """Plans the fixes of one round over all files."""

    def __init__(self, tree: Tree, data: Data, target: str | None) -> None:
        self.tree, self.data, self.target = tree, data, target
        self.units: list[Unit] = []
        self.left_out = 0
        self.withheld = 0
        self._path: dict[int, str] = {}

    def plan(self, hidden: set[int]) -> None:
        """Build and prove the units; findings whose fix does not hold lose it, with the reason."""
        findings = [
            f for file in self.tree.files.values() for f in file.judged.findings if id(f) not in hidden
        ]
        for finding in findings:
            if finding.fix is not None:
                self._path[id(finding.fix)] = finding.path
        self._agree(findings)
        self._unite(findings)
        self._pin_safety(findings)
        self._prove_all()
        self._pin_safety(findings)
        for unit in self.units:
            if not unit.dead:
                self._show_edits(unit)
        chosen = self.data.config.unsafe_fixes
        self.left_out = sum(1 for u in self.units if not u.dead and not u.safe and not chosen)
        self.withheld = sum(1 for f in findings if f.withheld)

    def _agree(self, findings: list[Finding]) -> None:
        """Take the fix from findings whose text reaches a launch that does not ask for the same change."""
        asked: dict[tuple[int, int], set[tuple[object, ...]]] = {}
        for finding in findings:
            if finding.fix is not None and finding.site is not None:
                mine = asked.setdefault((id(finding.site), 0), set())
                mine.update(signature(c) for c in finding.fix.changes)
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
                    lacking = [s for s in sites if signature(change) not in asked.get((s, 0), set())]
                    if lacking and finding.site is not None:
                        _take(finding, SHARED)
                        break

    def _unite(self, findings: list[Finding]) -> None:
        parent: dict[object, object] = {}

        def root(token: object) -> object:
            while parent.setdefault(token, token) != token:
                parent[token] = parent[parent[token]]
                token = parent[token]
            return token

        for finding in findings:
            fix = finding.fix
            if fix is None:
                continue
            me = ("fix", id(fix))
            for change in fix.changes:
                item = item_of(change)
                token = ("item", id(item)) if item is not None else ("insert", *signature(change))
                parent[root(me)] = root(token)
        for finding in findings:
            if finding.fix is not None and finding.site is not None:
                self._tie_to_pin(finding, root, parent)
        groups: dict[object, Unit] = {}
        for finding in findings:
            if finding.fix is None:
                continue
            unit = groups.setdefault(root(("fix", id(finding.fix))), Unit())
            unit.findings.append(finding)
            if finding.fix not in unit.fixes:
                unit.fixes.append(finding.fix)
        self.units = list(groups.values())

    def _tie_to_pin(self, finding: Finding, root: Callable[[object], object], parent: dict[object, object]) -> None:
        """Tie a fix the pinned release would not accept to the move of the pin."""
        fix, site = finding.fix, finding.site
        assert fix is not None and site is not None
        origin = self.tree.files[finding.path].judged.origins.get(id(site))
        if origin is None or not origin.pins or origin.version is None or self.data.config.from_ is not None:
            return
        if self._accepts(origin.version, fix):
            return
        for path, pin in origin.pins:
            file = self.tree.files.get(path)
            moves = [] if file is None else file.judged.pin_findings.get(id(pin), [])
            move = next((f for f in moves if f.fix is not None), None)
            if move is None or move.fix is None:
                why = next((f.withheld for f in moves if f.withheld), "") or "it stays where it is"
                _take(finding, f"{origin.version}, which it is pinned to, lacks what replaces it; the pin: {why}")
                return
            if file is not None and not file.reported:
                _take(finding, f"{origin.version} lacks what replaces it, and its pin is in {path}")
                return
            parent[root(("fix", id(fix)))] = root(("fix", id(move.fix)))

    def _accepts(self, version: str, fix: Fix) -> bool:
        from vllm_migrate.catalog import UnknownRelease

        try:
            release = self.data.catalog.release(version)
        except UnknownRelease:
            return not fix.needs
        for section, name in fix.needs:
            if section == "options":
                head, _, tail = name.partition(".")
                match = release.option(head)
                if match.option is None or not match.exact:
                    return False
                config = match.attrs.get("config")
                if tail and config and tail.split(".")[0] not in release.config_fields(str(config)):
                    return False
            elif name.startswith("VLLM_") or section != "variables":
                if not release.has(section, name):
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
                    open_ = [
                        f for f in governed.get(pin_id, ()) if f.fix is None or f.fix.safety != "safe"
                    ]
                    if open_:
                        names = ", ".join(dict.fromkeys(f.subject for f in open_))
                        fix.safety = "unsafe"
                        fix.why = f"the launch would not start on the new release before this is settled: {names}"

    def _changes(self, units: Iterable[Unit], path: str) -> list[Change]:
        return unique(
            c for u in units for f in u.fixes if self._path[id(f)] == path for c in f.changes
        )

    def _paths(self, unit: Unit) -> set[str]:
        return {self._path[id(f)] for f in unit.fixes}

    def _prove_file(self, path: str, units: list[Unit]) -> tuple[Source, Reading]:
        """Return the file after these units. Raises CannotRender or NotProved."""
        from vllm_migrate.engine import read_source

        file = self.tree.files[path]
        changes = self._changes(units, path)
        source, reading = prove(
            file.source,
            file.reading,
            changes,
            lambda s: read_source(s, file.host, self.tree.root),
            getattr(file.host, "verify", None),
        )
        self._refuses_nothing_new(file, source, reading)
        return source, reading

    def _refuses_nothing_new(self, file: File, source: Source, reading: Reading) -> None:
        before = launches_refuse(file.judged.findings)
        after = judge(file.path, source, reading, self.data, self.target, self.tree.folder)
        for name, count in launches_refuse(after.findings).items():
            if count > before.get(name, 0):
                raise NotProved(f"the target would refuse {name.partition(' ')[2]} in the edited launch")

    def _prove_all(self) -> None:
        """Prove the whole set file by file, and each unit alone where the set does not prove."""
        by_path: dict[str, list[Unit]] = {}
        for unit in self.units:
            for path in self._paths(unit):
                by_path.setdefault(path, []).append(unit)
        for path in sorted(by_path):
            units = [u for u in by_path[path] if not u.dead]
            if not units:
                continue
            try:
                self._prove_file(path, units)
                continue
            except (CannotRender, NotProved):
                pass
            good: list[Unit] = []
            for unit in units:
                try:
                    self._prove_file(path, [*good, unit])
                    good.append(unit)
                except (CannotRender, NotProved) as error:
                    self._kill(unit, str(error))

    def _kill(self, unit: Unit, reason: str) -> None:
        unit.dead = reason
        for finding in unit.findings:
            _take(finding, f"the rewrite could not be proved: {reason}")

    def _show_edits(self, unit: Unit) -> None:
        for fix in unit.fixes:
            path = self._path[id(fix)]
            try:
                fix.edits = [(path, e) for e in sorted(render(unique(fix.changes)))]
            except CannotRender:
                # Alone it cannot be written, only together with the others of its unit.
                paths = {path}
                try:
                    fix.edits = [(p, e) for p in paths for e in sorted(render(self._changes([unit], p)))]
                except CannotRender:
                    fix.edits = []

    def apply(self) -> dict[str, list[Fix]]:
        """Put the chosen units into the files; return the changed paths and what was applied there."""
        chosen = [u for u in self.units if not u.dead and (u.safe or self.data.config.unsafe_fixes)]
        done: dict[str, tuple[Source, Reading]] = {}
        while True:
            failed: Unit | None = None
            done = {}
            by_path: dict[str, list[Unit]] = {}
            for unit in chosen:
                for path in self._paths(unit):
                    by_path.setdefault(path, []).append(unit)
            for path, units in sorted(by_path.items()):
                good: list[Unit] = []
                try:
                    done[path] = self._prove_file(path, units)
                    continue
                except (CannotRender, NotProved):
                    pass
                for unit in units:
                    try:
                        done[path] = self._prove_file(path, [*good, unit])
                        good.append(unit)
                    except (CannotRender, NotProved) as error:
                        self._kill(unit, str(error))
                        failed = unit
                        break
                if failed is not None:
                    break
            if failed is None:
                break
            chosen.remove(failed)
        out: dict[str, list[Fix]] = {}
        for path, (source, reading) in done.items():
            file = self.tree.files[path]
            file.source, file.reading = source, reading
            out[path] = [f for u in chosen for f in u.fixes if self._path[id(f)] == path]
        return out


def _take(finding: Finding, reason: str) -> None:
    finding.fix = None
    finding.withheld = reason
