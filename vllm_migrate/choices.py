"""What a person can pick of the fixes of a run: each by itself, and what becomes of a file when several are.

A fix that does not prove alone is tied to what it proves with. Fixes that write a file otherwise together than
each for itself are given with what they write together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from vllm_migrate.config import place_key
from vllm_migrate.disjoint import Disjoint
from vllm_migrate.findings import Choice, Cluster, Safety
from vllm_migrate.model import CannotRender, container_of
from vllm_migrate.proof import render, unique
from vllm_migrate.steps import findings_of
from vllm_migrate.text import Edit, OverlapError, apply_edits

if TYPE_CHECKING:
    from vllm_migrate.units import Part, Planner, Unit

_MOST = 6
"""Of more fixes than this that write otherwise together, not every selection is tried: they are one choice."""

Group = list["Unit"]


def choices(planner: Planner) -> tuple[list[Choice], list[Cluster]]:
    """Return what can be picked of a planned round, in order of place, and what depends on each other."""
    groups: list[Group] = [[unit] for unit in planner.units if unit.alive]
    groups = _merged(groups, _twins(groups))
    groups = _merged(groups, _proved_with(planner, groups))
    while True:
        clusters, ties = _depending(planner, groups)
        if not ties:
            break
        groups = _merged(groups, ties)
    made = [Choice(findings_of(g), _safety(g), _edits(g)) for g in groups]
    order = sorted(range(len(made)), key=lambda i: [(f.path, f.span, f.code) for f in made[i].findings[:1]])
    place = {old: new for new, old in enumerate(order)}
    renamed = [
        Cluster(
            c.path,
            tuple(sorted(place[i] for i in c.members)),
            {frozenset(place[i] for i in some): edits for some, edits in c.together.items()},
        )
        for c in clusters
    ]
    return [made[i] for i in order], sorted(renamed, key=lambda c: (c.path, c.members))


def _parts(groups: Iterable[Group], path: str) -> list[Part]:
    return [p for g in groups for u in g for p in u.alive if p.path == path]


def _paths(group: Group) -> set[str]:
    return {path for unit in group for path in unit.paths}


def _safety(group: Group) -> Safety:
    return "safe" if all(unit.safe for unit in group) else "unsafe"


def _edits(group: Group) -> list[tuple[str, Edit]]:
    return [(path, edit) for path in sorted(_paths(group)) for edit in _written([group], path) or ()]


def _written(groups: Sequence[Group], path: str) -> list[Edit] | None:
    """Return the edits of a file that make some groups together, None where they cannot be written."""
    changes = unique(c for part in _parts(groups, path) for fix in part.fixes for c in fix.changes)
    try:
        return sorted(render(changes))
    except CannotRender:
        return None


def _by_path(groups: Sequence[Group]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        for path in _paths(group):
            found.setdefault(path, []).append(i)
    return found


def _twins(groups: Sequence[Group]) -> list[tuple[int, int]]:
    """Return the pairs that answer what is found once and reported once, though it was read in two ways."""
    first: dict[str, int] = {}
    keys = [(place_key(f), i) for i, group in enumerate(groups) for f in findings_of(group)]
    return [(first.setdefault(key, i), i) for key, i in keys]


def _proved_with(planner: Planner, groups: Sequence[Group]) -> list[tuple[int, int]]:
    """Return the pairs that must go together, since one of the two does not prove without the other."""
    ties: list[tuple[int, int]] = []
    for path, members in sorted(_by_path(groups).items()):
        if len(members) == 1:
            continue
        for i in _doubtful(planner, groups, path, members):
            if planner.text(path, _parts([groups[i]], path)) is not None:
                continue
            others = [j for j in members if j != i]
            both = {j: [groups[k] for k in sorted((i, j))] for j in others}
            pair = next((j for j in others if planner.text(path, _parts(both[j], path)) is not None), None)
            ties += [(i, j) for j in (others if pair is None else [pair])]
    return ties


def _doubtful(planner: Planner, groups: Sequence[Group], path: str, members: Sequence[int]) -> list[int]:
    """Return the groups that may need another one of their file.

    Each of many is not tried alone, which would take too long: for any two there is a selection with the first and
    without the second, so that one that needs another is in a selection that does not prove.
    """
    if len(members) <= _MOST:
        return list(members)
    doubtful: set[int] = set()
    for bit in range((len(members) - 1).bit_length()):
        for side in (0, 1):
            some = [i for turn, i in enumerate(members) if turn >> bit & 1 == side]
            if planner.text(path, _parts([groups[i] for i in some], path)) is None:
                doubtful.update(some)
    return sorted(doubtful)


def _depending(planner: Planner, groups: Sequence[Group]) -> tuple[list[Cluster], list[tuple[int, int]]]:
    """Return what writes otherwise together, and the pairs for which no selection between all and none is offered."""
    clusters: list[Cluster] = []
    ties: list[tuple[int, int]] = []
    for path, members in sorted(_by_path(groups).items()):
        text = planner.tree.files[path].source.text
        alone = {i: _written([groups[i]], path) or [] for i in members}
        sets: Disjoint[int] = Disjoint()
        held = _containers(groups, members, path)
        for some in held:
            for i, j in combinations(some, 2):
                if sets.root(i) != sets.root(j) and not _independent(groups, path, text, (i, j), alone):
                    sets.join(i, j)
            if len(some) > 2 and not _independent(groups, path, text, some, alone):
                for i, j in pairwise(some):
                    sets.join(i, j)
        for i, j in _touching(members, alone):
            sets.join(i, j)
        for first in members:
            mine = [i for i in members if sets.root(i) == sets.root(first)]
            if mine[0] != first or len(mine) == 1:
                continue
            together = _together(planner, groups, path, mine, alone) if len(mine) <= _MOST else None
            if together is None:
                ties += [(mine[0], i) for i in mine[1:]]
            elif together:
                clusters.append(Cluster(path, tuple(mine), together))
    return clusters, ties


def _containers(groups: Sequence[Group], members: Sequence[int], path: str) -> list[list[int]]:
    """Return the groups that change items of the same container: only those can depend on each other."""
    held: dict[int, list[int]] = {}
    for i in members:
        changes = [c for part in _parts([groups[i]], path) for fix in part.fixes for c in fix.changes]
        for container in dict.fromkeys(id(container_of(c)) for c in changes):
            held.setdefault(container, []).append(i)
    return [some for some in held.values() if len(some) > 1]


def _touching(members: Sequence[int], alone: dict[int, list[Edit]]) -> list[tuple[int, int]]:
    """Return neighbours whose edits meet in the text, though they are of different containers."""
    spans = sorted((e.start, e.end, i) for i in members for e in alone[i])
    out = []
    for (_, end, i), (start, _, j) in pairwise(spans):
        if i != j and start <= end:
            out.append((i, j))
    return out


def _union(some: Iterable[int], alone: dict[int, list[Edit]]) -> list[Edit]:
    return sorted({edit for i in some for edit in alone[i]})


def _applied(text: str, edits: Iterable[Edit] | None) -> str | None:
    try:
        return None if edits is None else apply_edits(text, edits)
    except OverlapError:
        return None


def _independent(
    groups: Sequence[Group], path: str, text: str, some: Sequence[int], alone: dict[int, list[Edit]]
) -> bool:
    joint, union = _written([groups[i] for i in some], path), _union(some, alone)
    if joint is None:
        return False
    return joint == union or _applied(text, joint) == _applied(text, union)


def _together(
    planner: Planner, groups: Sequence[Group], path: str, mine: Sequence[int], alone: dict[int, list[Edit]]
) -> dict[frozenset[int], list[Edit]] | None:
    """Return what each selection writes where that is not what its parts write; None where one does not prove."""
    text = planner.tree.files[path].source.text
    out: dict[frozenset[int], list[Edit]] = {}
    for size in range(2, len(mine) + 1):
        for some in combinations(mine, size):
            if planner.text(path, _parts([groups[i] for i in some], path)) is None:
                return None
            if not _independent(groups, path, text, some, alone):
                joint = _written([groups[i] for i in some], path)
                if joint is None:
                    return None
                out[frozenset(some)] = joint
    return out


def _merged(groups: Sequence[Group], ties: Iterable[tuple[int, int]]) -> list[Group]:
    sets: Disjoint[int] = Disjoint()
    for i, j in ties:
        sets.join(i, j)
    out: dict[int, Group] = {}
    for i, group in enumerate(groups):
        out.setdefault(sets.root(i), []).extend(group)
    return list(out.values())
