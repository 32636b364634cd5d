"""Puts the fixes of a round in an order of steps, each of which stands by itself: one a rule, or one a launch.

The text after a step holds the fixes of this step and of all before it, rendered together and proved, so the
last one is what they make all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from vllm_migrate.disjoint import Disjoint
from vllm_migrate.findings import Finding, Step
from vllm_migrate.text import Source

if TYPE_CHECKING:
    from vllm_migrate.engine import Tree
    from vllm_migrate.units import Part, Unit

RULE, LAUNCH = "rule", "launch"
Render = Callable[[str, "Sequence[Part]"], "Source | None"]
"""Gives the text of a file after some parts, None where that does not prove."""


def steps(tree: Tree, units: Sequence[Unit], by: str, render: Render) -> list[Step]:
    """Return the steps of one round, before it is applied.

    by: RULE or LAUNCH. What does not prove before a later step is done is left to that one.
    """
    groups = _by_rule(units) if by == RULE else _by_launch(tree, units)
    now = {path: tree.files[path].source for unit in units for path in unit.paths}
    out: list[Step] = []
    taken: list[Unit] = []
    waiting: list[Unit] = []
    for key, group in groups:
        waiting += group
        tried = [u for u in units if u in taken or u in waiting]
        texts = _texts(tried, {p for u in waiting for p in u.paths}, render)
        if texts is None:
            continue
        step = Step(key, findings_of(waiting))
        step.texts = {path: (now[path], text) for path, text in texts.items() if text.raw != now[path].raw}
        step.places = {id(f): tree.files[f.path].source.position(f.span.start)[0] for f in step.findings}
        now.update(texts)
        taken, waiting = tried, []
        if step.texts:
            out.append(step)
    return out


def joined(steps: Sequence[Step]) -> list[Step]:
    """Return the steps of all rounds, neighbours with the same key as one."""
    out: list[Step] = []
    for step in steps:
        if out and out[-1].key == step.key:
            last = out[-1]
            last.findings += step.findings
            last.places.update(step.places)
            for path, (before, after) in step.texts.items():
                last.texts[path] = (last.texts[path][0] if path in last.texts else before, after)
        else:
            out.append(step)
    return out


def _texts(units: Sequence[Unit], paths: set[str], render: Render) -> dict[str, Source] | None:
    out: dict[str, Source] = {}
    for path in sorted(paths):
        text = render(path, [p for u in units for p in u.alive if p.path == path])
        if text is None:
            return None
        out[path] = text
    return out


def findings_of(units: Iterable[Unit]) -> list[Finding]:
    """Return what the fixes of some units answer, in order of place."""
    found = {id(f): f for u in units for p in u.alive for f in p.findings}
    return sorted(found.values(), key=lambda f: (f.path, f.span, f.code))


def _by_rule(units: Sequence[Unit]) -> list[tuple[str, list[Unit]]]:
    """Group by code; what goes together under several counts as the move of the pin, else as the first."""
    groups: dict[str, list[Unit]] = {}
    for unit in units:
        findings = findings_of([unit])
        moves = {id(p) for part in unit.alive for p in part.needs}
        pins = {f.code for part in unit.alive if id(part) in moves for f in part.findings}
        codes = pins or {f.code for f in findings}
        groups.setdefault(min(codes, default=""), []).append(unit)
    return sorted(groups.items())


def _by_launch(tree: Tree, units: Sequence[Unit]) -> list[tuple[str, list[Unit]]]:
    """Group by launch; launches that share a fix are one group, what belongs to none is one of its file."""
    places: dict[int, tuple[str, int]] = {}
    for path, file in tree.files.items():
        places.update({id(site): (path, i) for i, site in enumerate(file.reading.sites)})
    sets: Disjoint[tuple[str, int]] = Disjoint()
    asked: list[tuple[Unit, tuple[str, int]]] = []
    for unit in units:
        findings = findings_of([unit])
        sites = [f.site for f in findings if f.site is not None]
        # A pin that one launch alone runs on belongs to it.
        sites += [f.governs[0] for f in findings if len(f.governs) == 1]
        own = sorted({places[id(site)] for site in sites if id(site) in places})
        own = own or sorted({(f.path, -1) for f in findings}) or sorted((path, -1) for path in unit.paths)
        for other in own[1:]:
            # The first place stands for all.
            first, later = sorted((sets.root(own[0]), sets.root(other)))
            sets.join(later, first)
        asked.append((unit, own[0]))
    groups: dict[tuple[str, int], list[Unit]] = {}
    for unit, place in asked:
        groups.setdefault(sets.root(place), []).append(unit)
    return [(f"{path}:{i}" if i >= 0 else path, mine) for (path, i), mine in sorted(groups.items())]
