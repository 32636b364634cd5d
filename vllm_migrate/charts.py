"""Charts: a value that only what goes away rendered goes with it, in every values file of the chart.

A template's finding stands for the value too: both are one unit, and the value is reported nowhere else.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vllm_migrate import discover
from vllm_migrate.findings import Fix
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import CannotRender, Change, Entry, InsertEntry, Remove, Rename, Replace
from vllm_migrate.proof import render
from vllm_migrate.text import Source, Span, UndecodableError

if TYPE_CHECKING:
    from vllm_migrate.chart_moves import Move
    from vllm_migrate.hosts.helm_values import Use, Values
    from vllm_migrate.units import Part, Planner

_STARTS = regex(rb"(?m)^[ \t-]*(?:args|command):|\"--[a-z]|^[ \t]*- *[\"']?--[a-z]")
_DEPTH = 3
_MOST = 200
_ENVIRONMENTS = frozenset(("environments", "environment", "envs", "env", "values", "ci"))
_SKIPPED = frozenset(("templates", "charts", "crds", "node_modules", "tests", "dashboards"))


def chart_of(root: Path, path: str) -> str | None:
    """Return the folder of the chart a file belongs to ("" for the root itself), or None."""
    here = posixpath.dirname(path)
    for _ in range(6):
        if (root / here / "Chart.yaml").is_file():
            return here
        if not here:
            return None
        here = posixpath.dirname(here)
    return None


def is_template(chart: str, path: str) -> bool:
    return path.startswith(posixpath.join(chart, "templates") + "/")


def values_files(root: Path, chart: str) -> list[str]:
    """Return the values files of a chart: its own, and those of environments."""
    return [p for p in _below(root, chart, _SKIPPED) if p.endswith((".yaml", ".yml")) and _is_values(chart, p)]


def _is_values(chart: str, path: str) -> bool:
    *folders, name = path[len(chart) :].lstrip("/").split("/")
    return "values" in name.lower() or bool(_ENVIRONMENTS.intersection(f.lower() for f in folders))


def _below(root: Path, top: str, skipped: frozenset[str]) -> list[str]:
    out: list[str] = []
    base = root / top if top else root
    if not discover.names_inside(root, top):
        return []
    for folder, folders, files in os.walk(base):
        here = os.path.relpath(folder, base).replace(os.sep, "/")
        deep = 0 if here == "." else here.count("/") + 1
        folders[:] = sorted(
            f
            for f in folders
            if not f.startswith(".")
            and f not in skipped
            and deep < _DEPTH
            # A chart inside this one has its own values.
            and not os.path.exists(os.path.join(folder, f, "Chart.yaml"))
        )
        for name in sorted(files):
            out.append(posixpath.normpath(posixpath.join(top, here, name)))
        if len(out) > 20 * _MOST:
            break
    return out


def linked(root: Path, path: str, known: dict[str, list[str]]) -> list[str]:
    """Return the values files and templates that a template or a values file stands with, relative to its folder.

    known: those of the charts met before; is added to.
    """
    if not path.endswith((".yaml", ".yml", ".tpl")):
        return []
    chart = chart_of(root, path)
    if chart is None or not (is_template(chart, path) or _is_values(chart, path)):
        return []
    here = posixpath.dirname(path) or "."
    if chart not in known:
        known[chart] = values_files(root, chart)[:_MOST] + _templates(root, chart)[:_MOST]
    return [posixpath.relpath(p, here) for p in known[chart] if p != path]


def _templates(root: Path, chart: str) -> list[str]:
    """Return the templates of a chart that start something, or set what a process sees."""
    paths = _below(root, posixpath.join(chart, "templates"), frozenset())
    found = ((p, discover.read_inside(root, p) or b"") for p in paths if p.endswith((".yaml", ".yml", ".tpl")))
    return [p for p, raw in found if b"{{" in raw and _STARTS.search(raw) is not None]


@dataclass
class Chart:
    """One chart while its templates are planned. uses: of each template."""

    folder: str
    texts: dict[str, str] = field(default_factory=dict)
    uses: dict[str, list[Use]] = field(default_factory=dict)
    gone: dict[str, list[Span]] = field(default_factory=dict)
    values: dict[str, Values] = field(default_factory=dict)
    schema: str = ""
    foreign: frozenset[str] = frozenset()
    narrow: set[str] = field(default_factory=set)
    """The named templates that use only what they name of what they are given."""


def link(planner: Planner) -> None:
    """Add to the parts of templates what becomes of the values they render."""
    root = planner.tree.root
    by_chart: dict[str, list[Part]] = {}
    for part in planner.parts:
        chart = chart_of(root, part.path) if part.path.endswith((".yaml", ".yml", ".tpl")) else None
        if chart is not None and not part.dead:
            by_chart.setdefault(chart, []).append(part)
    for folder, parts in by_chart.items():
        _link(planner, read(planner, folder), parts)


def read(planner: Planner, folder: str) -> Chart:
    """Return a chart as it is in this round."""
    if folder not in planner.charts:
        planner.charts[folder] = _read(planner, folder)
    return planner.charts[folder]


def _read(planner: Planner, folder: str) -> Chart:
    from vllm_migrate.hosts.helm_values import defined, read_values, spreading, uses

    root, files = planner.tree.root, planner.tree.files
    made = Chart(folder)

    def source(path: str) -> Source | None:
        if path in files:
            return files[path].source
        raw = discover.read_inside(root, path)
        try:
            return Source(path, raw) if raw is not None and len(raw) < 1 << 20 else None
        except UndecodableError:
            return None

    for path in _below(root, posixpath.join(folder, "templates"), frozenset()):
        text = source(path)
        if text is not None and "{{" in text.text:
            made.texts[path], made.uses[path] = text.text, uses(text.text)
    made.narrow = defined(made.texts.values()) - spreading(made.texts.values())
    for path in values_files(root, folder):
        text = source(path)
        values = read_values(text) if text is not None else None
        if values is not None:
            made.values[path] = values
    schema = source(posixpath.join(folder, "values.schema.json"))
    made.schema = schema.text if schema is not None else ""
    about = source(posixpath.join(folder, "Chart.yaml"))
    named = re.findall(r"(?m)^[- \t]+(?:name|alias):[ \t]*[\"']?([\w.-]+)", about.text if about is not None else "")
    inner = discover.names_inside(root, posixpath.join(folder, "charts"))
    made.foreign = frozenset(("global", *named, *inner))
    return made


def _link(planner: Planner, chart: Chart, parts: Sequence[Part]) -> None:
    from vllm_migrate.hosts.helm_values import within

    templates = [p for p in parts if is_template(chart.folder, p.path) and p.path in chart.uses]
    spans: dict[int, list[Span]] = {}
    for part in templates:
        try:
            together = [part, *planner.written_with(part)]
            edits = render([c for one in together for fix in one.fixes for c in fix.changes])
        except CannotRender:
            continue
        spans[id(part)] = [Span(e.start, e.end) for e in edits if not e.text]
        chart.gone.setdefault(part.path, []).extend(spans[id(part)])
    goes: dict[tuple[str, ...], list[Part]] = {}
    for part in templates:
        for use in chart.uses[part.path]:
            if use.path and within(use, spans.get(id(part), ())):
                goes.setdefault(use.path, [])
                if part not in goes[use.path]:
                    goes[use.path].append(part)
    mine = [p for p in parts if p.path in chart.values]
    for path, users in goes.items():
        _value(planner, chart, path, users, mine)
    for part in mine:
        _keep_used(planner, chart, part)


def _value(
    planner: Planner,
    chart: Chart,
    path: tuple[str, ...],
    users: Sequence[Part],
    mine: Sequence[Part],
) -> None:
    """Say of one value that what goes away rendered it, and take it out where nothing else uses it."""
    other = _other_use(chart, path)
    moving = [(u, planner.moves[id(f)]) for u in users for f in u.fixes if id(f) in planner.moves]
    moves = [(u, m) for u, m in moving if m.path == path]
    if moves:
        _move(planner, chart, moves, users, other)
        return
    name = ".".join(path)
    for where, values in chart.values.items():
        for entry in values.removable(path):
            place = f"{where}:{values.document.region.source.position(entry.span.start)[0]}"
            same = [p for p in mine if p.path == where and _removes(p, entry)]
            for part in same:
                # The template's finding speaks of the value too.
                planner.told.update(id(f) for f in part.findings)
                part.findings = []
                part.needs += [u for u in users if u not in part.needs]
            reason = other or ("values.schema.json names it" if _in_schema(chart, path) else "")
            reported = where in planner.tree.files and planner.tree.files[where].reported
            reason = reason or ("" if reported else f"{where} is not among the paths given")
            if reason:
                for part in same:
                    planner._kill(part, reason)
                _tell(users, f"{name} in {place} is rendered here; it stays: {reason}")
                continue
            if not same:
                read = _as_read(planner, where, entry)
                fix = Fix("safe", f"take out {name}, which nothing renders then", [Remove(read)], path=where)
                failed = read.locked or planner.add_companion(where, fix, users)
                if failed:
                    _tell(users, f"{name} in {place} is rendered nowhere else; it stays: {failed}")
                    continue
            _tell(users, f"{name} in {place} is used nowhere else and goes too")


def _move(
    planner: Planner, chart: Chart, moves: Sequence[tuple[Part, Move]], users: Sequence[Part], other: str
) -> None:
    """Give the values of one key to the keys that are printed as what replaces it, all or nothing."""
    move = moves[0][1]
    name = ".".join(move.path)
    reason = other or ("values.schema.json names it" if _in_schema(chart, move.path) else "")
    if len(moves) < len(users) or any(m.names != move.names for _, m in moves):
        reason = reason or "not all that print it ask for the same"
    made: list[tuple[str, str]] = []
    for where, changes in move.changes.items() if not reason else ():
        if where not in planner.tree.files or not planner.tree.files[where].reported:
            reason = reason or f"{where} is not among the paths given"
            break
        asked = [_where_read(planner, where, change) for change in changes]
        shown = f"set {' and '.join(move.names)} instead of {name}"
        failed = planner.add_companion(where, Fix("unsafe", shown, asked, path=where), users)
        if failed:
            reason = failed
            break
        entry = next(c.item for c in changes if isinstance(c, (Remove, Rename, Replace)))
        made.append((where, f"{where}:{chart.values[where].document.region.source.position(entry.span.start)[0]}"))
    for part, _ in moves if reason else ():
        planner._kill(part, f"{name} cannot move to {' and '.join(move.names)}: {reason}")
    for where, place in made if not reason else ():
        entries = {e.place for e in chart.values[where].entries.get(move.path, ())}
        told = [f for f in planner.tree.files[where].judged.findings if f.span in entries]
        planner.told.update(id(f) for f in told)
        _tell(users, f"{name} in {place} moves to {' and '.join(move.names)}")


def _where_read(planner: Planner, where: str, change: Change) -> Change:
    """Return a change of a values file's key as a change of what a launch reads there, if one does."""
    if isinstance(change, InsertEntry) and change.after is not None:
        after = _as_read(planner, where, change.after)
        return InsertEntry(after.container, change.key, change.value, after)
    if isinstance(change, (Remove, Replace, Rename)) and isinstance(change.item, Entry):
        return replace(change, item=_as_read(planner, where, change.item))
    return change


def _as_read(planner: Planner, where: str, entry: Entry) -> Entry:
    """Return the argument that a launch reads from a key of a values file, or the key itself."""
    for site in planner.tree.files[where].reading.sites:
        for held in site.entries:
            if held.place == entry.place:
                return held
    return entry


def _tell(parts: Iterable[Part], text: str) -> None:
    for part in parts:
        for finding in part.findings[:1]:
            if text not in finding.related:
                finding.related.append(text)


def _removes(part: Part, entry: Entry) -> bool:
    changes = [c for fix in part.fixes for c in fix.changes]
    return bool(changes) and all(
        isinstance(c, Remove) and isinstance(c.item, Entry) and c.item.place == entry.place for c in changes
    )


def _in_schema(chart: Chart, path: tuple[str, ...]) -> bool:
    return f'"{path[-1]}"' in chart.schema


def _other_use(chart: Chart, path: tuple[str, ...]) -> str:
    """Return what else uses a value, "" where nothing does."""
    from vllm_migrate.hosts.helm_values import touches, within

    if path[0] in chart.foreign:
        return "other charts may use it"
    for where, held in chart.uses.items():
        for use in held:
            if use.handed in chart.narrow and use.path != path:
                # What the template itself names is met where it is read.
                continue
            if touches(use, path) and not within(use, chart.gone.get(where, ())):
                line = chart.texts[where].count("\n", 0, use.start) + 1
                return f"{where}:{line} uses it too"
    return ""


def _keep_used(planner: Planner, chart: Chart, part: Part) -> None:
    """Keep a value that a template renders whether it is there or not: half of the change would be worse."""
    from vllm_migrate.hosts.helm_values import within

    if part.dead or (part.needs and not part.findings):
        return
    values = chart.values[part.path]
    for change in (c for fix in part.fixes for c in fix.changes):
        if not isinstance(change, Remove) or not isinstance(change.item, Entry):
            continue
        path = values.spans.get((change.item.place.start, change.item.place.end))
        if path is None:
            continue
        for where, held in chart.uses.items():
            for use in held:
                exact = use.path == path and path not in use.guards
                if exact and not _guard(chart.texts[where], use) and not within(use, chart.gone.get(where, ())):
                    line = chart.texts[where].count("\n", 0, use.start) + 1
                    planner._kill(part, f"{where}:{line} renders it, and must change with it")
                    return


def _guard(text: str, use: Use) -> bool:
    """Tell whether a use is a condition, which takes a value that is not there."""
    opening = text.rfind("{{", 0, use.start)
    return re.match(r"\{\{-?\s*(?:else\s+)?(?:if|with)\b", text[opening : use.start]) is not None
