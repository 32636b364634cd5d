"""Charts: keys of a map that a template prints as options one by one, whatever they are (`range $k, $v := …`).

Such a key is the option itself: where an option was renamed, the key is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vllm_migrate.arguments import read_arguments
from vllm_migrate.catalog import UnknownRelease
from vllm_migrate.findings import Finding, Fix
from vllm_migrate.lazy import regex
from vllm_migrate.model import Change, Dynamic, InsertEntry, Rename, Replace
from vllm_migrate.planning import NoFix, find_answer
from vllm_migrate.rules.context import SiteContext

if TYPE_CHECKING:
    from vllm_migrate.charts import Chart
    from vllm_migrate.engine import File
    from vllm_migrate.hosts.helm_values import Path, Use
    from vllm_migrate.units import Planner

_LOOP = regex(r"\{\{-?\s*range\s+(\$\w+)\s*,\s*(\$\w+)\s*:=[^}]*\}\}")


def open_(finding: Finding) -> bool:
    return finding.fix is None and bool(finding.migration) and finding.site is not None


def context_of(planner: Planner, file: File, finding: Finding) -> SiteContext:
    data, site = planner.data, finding.site
    assert site is not None
    target = data.catalog.release(finding.to)
    origin = file.judged.origins.get(id(site))
    version = origin.version if origin is not None else None
    try:
        release = data.catalog.release(version) if version is not None else None
    except UnknownRelease:
        release = None
    return SiteContext(
        file.path, file.source, file.reading, data.catalog, data.migrations, data.config, target, version, release,
        origin.device if origin is not None else "",
        site=site, arguments=read_arguments(site, data.catalog, target, release),
    )  # fmt: skip


def rename(planner: Planner, chart: Chart, file: File) -> None:
    """Give findings about keys of a values file that only loops print a fix that renames the key."""
    for finding in file.judged.findings:
        migration = planner.data.migrations.get(finding.migration) if open_(finding) else None
        if migration is None or migration.surface != "option":
            continue
        try:
            finding.fix = _renamed(chart, context_of(planner, file, finding), finding)
        except NoFix as error:
            finding.withheld = str(error) or finding.withheld
        if finding.fix is not None:
            finding.withheld = ""


def _renamed(chart: Chart, ctx: SiteContext, finding: Finding) -> Fix | None:
    old = next((a for a in ctx.arguments if a.entry is not None and a.item.place == finding.span and not a.path), None)
    if old is None or old.entry is None or old.locked:
        return None
    entry, value = old.entry, old.entry.value
    path = chart.values[ctx.path].spans.get((entry.place.start, entry.place.end))
    if path is None or isinstance(value, (Dynamic, dict, list)) or not _only_loops(chart, path):
        return None
    migration = ctx.migrations.get(finding.migration)
    if migration is None:
        return None
    results, safety, why, note = find_answer(ctx, migration, value)
    changes: list[Change] = []
    for result in results:
        if result.drop or result.variable or result.path:
            return None
        if any(a.option == result.option for a in ctx.arguments if a is not old):
            raise NoFix(f"the map already sets {result.option}")
        if type(result.value) is bool or (type(value) is bool and result.value is not value):
            # How a loop prints a switch is its own.
            return None
        key = _key(entry.key, result.option)
        if changes:
            changes.append(InsertEntry(entry.container, key, result.value, after=entry))
            continue
        changes.append(Rename(entry, key))
        if result.value != value:
            changes.append(Replace(entry, result.value))
    if not changes:
        return None
    names = ", ".join(r.option for r in results)
    finding.replacement = finding.replacement or names
    text = f"replace {finding.subject} by {names}" + (f" ({note})" if note else "")
    needs = [("options", r.option) for r in results]
    return Fix("safe" if safety == "safe" else "unsafe", text, changes, why=why, needs=needs)


def _key(old: str, option: str) -> str:
    """Return a key for an option, in the case that the old key is written in."""
    first, *rest = option.lstrip("-").split("-")
    if "-" in old or (old.islower() and "_" not in old):
        return "-".join((first, *rest))
    return "_".join((first, *rest)) if "_" in old else first + "".join(p.capitalize() for p in rest)


def _only_loops(chart: Chart, path: Path) -> bool:
    """Tell whether all that prints a key is loops over its map that make an option of each key."""
    from vllm_migrate.hosts.helm_values import touches

    if path[0] in chart.foreign:
        return False
    found = [(where, use) for where, held in chart.uses.items() for use in held if touches(use, path)]
    asking = [(w, u) for w, u in found if u.path == path[:-1]]
    return bool(found) and len(asking) == len(found) and all(_loops(chart.texts[w], u) for w, u in asking)


def _loops(text: str, use: Use) -> bool:
    from vllm_migrate.hosts.yaml_mask import mask

    opening = text.rfind("{{", 0, use.start)
    loop = _LOOP.match(text, opening)
    if loop is None:
        return False
    depth = 0
    for action in mask(text).actions:
        if action.start >= opening:
            depth += action.step
            if depth == 0:
                body = text[loop.end() : action.start]
                return re.search(r"--\{\{-?[^{}]*" + re.escape(loop[1]) + r"\b", body) is not None
    return False
