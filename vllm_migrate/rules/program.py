"""Names of the Python package and of the server: imports, calls, metrics, endpoints, request fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from vllm_migrate.findings import Finding, Fix, Safety, Severity
from vllm_migrate.launch import launchers
from vllm_migrate.lazy import regex
from vllm_migrate.migrations import Migration, Migrations, holds
from vllm_migrate.model import Mention, Remove, Replace
from vllm_migrate.rules.context import Context, SiteContext
from vllm_migrate.rules.registry import Rule
from vllm_migrate.versions_key import key

if TYPE_CHECKING:
    from vllm_migrate.catalog import Release

RULES = (
    Rule(
        "VM901",
        "removed-metric",
        "warning",
        "A metric the target release does not export.",
        """What it does
Finds metrics in queries, dashboards, alerts and programs that the target does not export, or hides.
Why it matters
A panel stays empty and an alert never fires.
Fix safety
Safe where the metric has a new name for the same number. A metric the files record or export themselves is left alone.
""",
    ),
    Rule(
        "VM902",
        "removed-endpoint",
        "warning",
        "An endpoint the target release does not serve.",
        """What it does
Finds paths of the server in probes, gateways and client programs that the target does not serve.
Why it matters
The caller gets 404, and a probe restarts the server.
Fix safety
Safe where the same answer is served under another path.
""",
    ),
    Rule(
        "VM903",
        "removed-request-field",
        "warning",
        "A request or response field the target release does not know.",
        """What it does
Finds fields of requests and answers, in client programs and request files, that the target does not know.
Why it matters
A field that is not known is ignored in silence, so the answer is another one.
Fix safety
Safe where the field moved and stands alone; a file that speaks to another server as well is only noted.
""",
    ),
)

_PART = regex(r"_(?:bucket|sum|count|created)$")
_FAMILY = "family"
_SURFACES = {
    "import": ("import",),
    "call": ("method",),
    "metric": ("metric",),
    "endpoint": ("endpoint",),
    "field": ("field",),
}


_COPY = regex(r"(?:^|/)vllm/(?:\w+/){1,12}\w+\.py$")


def judge_site(ctx: SiteContext) -> Iterator[Finding]:
    """Judge the program or module a launch starts."""
    modules = {"demo_server": "vllm.entrypoints.api_server"}
    name = modules.get(ctx.site.entry_point)
    if name is None:
        return
    entry = ctx.migrations.answer("import", name, ctx.target.version)
    if entry is None:
        return
    finding = Finding(
        "VM108",
        "error",
        name,
        entry.title,
        ctx.path,
        ctx.site.place,
        ctx.target.version,
        ctx.origin,
        site=ctx.site,
        removed_in=entry.removed_in,
        reason=entry.reason,
        help=entry.help,
        evidence=entry.evidence,
        migration=entry.id,
        withheld="its requests and answers differ from those of the OpenAI server",
    )
    yield finding


def judge_file(ctx: Context) -> Iterator[Finding]:
    """Judge the names a file uses."""
    said: set[tuple[str, int]] = set()
    spots: set[tuple[str, int, int]] = set()
    made = {m.name for m in ctx.reading.mentions if m.kind == "made"}
    copied = _COPY.search(ctx.path) is not None and "vLLM project" in ctx.source.text[:300]
    for mention in ctx.reading.mentions:
        if mention.kind == "metric" and mention.name in made:
            # The file records something under this name itself.
            continue
        for surface in _SURFACES.get(mention.kind, ()):
            found = _gone(ctx, surface, mention)
            if found is None:
                continue
            spot = (found.migration, found.span.start, found.span.end)
            if spot in spots:
                # A script inside another text is read as both.
                break
            spots.add(spot)
            if copied and mention.kind == "import":
                found.fix, found.withheld = None, "a changed copy of a module of vLLM: start from that of the release"
            # `from gone import a, b` says one thing, not three; a rename is offered at every name.
            place = (found.migration, ctx.source.position(found.span.start)[0])
            if found.fix is not None or place not in said:
                said.add(place)
                yield found
            break


def final_name(
    migrations: Migrations, surface: str, entry: Migration, target: str, depth: int = 0
) -> tuple[str, Safety, str] | None:
    """Return the name that takes the place for a target, its safety and why; None where nothing does.

    A name that went later itself is followed to the last one.
    """
    case = next((c for c in entry.cases if holds(c, target, None, ())), None)
    if case is None or depth > 6 or not case.then or "name" not in case.then[0]:
        return None
    name = str(case.then[0]["name"])
    safety: Safety = "safe" if case.safety == "safe" else "unsafe"
    onward = migrations.answer(surface, name, target)
    if onward is None:
        return name, safety, case.why
    last = final_name(migrations, surface, onward, target, depth + 1)
    if last is None or (safety == "safe" and last[1] == "safe"):
        return last
    return last[0], "unsafe", "; ".join(w for w in (case.why, last[2]) if w)


def _change_field(
    ctx: Context, finding: Finding, mention: Mention, entry: Migration, last: tuple[str, Safety, str] | None
) -> None:
    """Offer to rename, move or remove a field, where nothing beside it stands in the way."""
    finding.withheld = mention.locked or "the code that uses it must be read by a person"
    if mention.locked:
        return
    if last is not None and _asked_for(ctx, mention, last[0]):
        finding.severity = "info"
        finding.withheld = f"{last[0]} stands beside it"
    elif last is not None and "." not in last[0]:
        finding.fix = Fix(last[1], f"rename {mention.name} to {last[0]}", [Replace(mention, last[0])], last[2])
    elif last is not None and mention.nests:
        head = last[0].split(".")[0]
        beside = [m for m in ctx.reading.mentions if m is not mention and _beside(m, mention)]
        if any(_goes_to(ctx, other, head) for other in beside):
            finding.withheld = f"more than one field belongs into {head} here"
        else:
            finding.fix = Fix(last[1], f"write {mention.name} as {last[0]}", [Replace(mention, last[0])], last[2])
    elif last is None and mention.nests:
        case = next((c for c in entry.cases if holds(c, ctx.target.version, None, ()) and not c.then), None)
        if case is not None:
            safety: Safety = "safe" if case.safety == "safe" else "unsafe"
            finding.fix = Fix(safety, f"remove {mention.name}", [Remove(mention)], case.why)
    if finding.fix is not None:
        finding.withheld = ""


def _beside(other: Mention, mention: Mention) -> bool:
    return other.kind == mention.kind and other.group is mention.group and other.region is mention.region


def _goes_to(ctx: Context, other: Mention, head: str) -> bool:
    if other.name.split(".")[0] == head:
        return True
    entry = ctx.migrations.answer("field", other.name, ctx.target.version)
    last = final_name(ctx.migrations, "field", entry, ctx.target.version) if entry is not None else None
    return last is not None and last[0].split(".")[0] == head


@lru_cache(maxsize=4)
def _servers(text: str) -> tuple[bool, str]:
    """Tell whether a text that talks to a server says that it is vLLM's, and which other one it names too.

    What is sent may be meant for the other one.
    """
    text = text.lower()
    return "vllm" in text, next((name for name in launchers()["other_servers"] if name in text), "")


def _of_metric(ctx: Context, name: str) -> tuple[Migration | None, str]:
    """Return what became of the metric that a part of it or its family's name belongs to, and which part.

    A histogram or a summary shows its parts under names of their own; a client library calls a counter by its
    family, without `_total`.
    """
    base = _PART.sub("", name)
    if base != name:
        entry = ctx.migrations.answer("metric", base, ctx.target.version)
        if entry is not None:
            return entry, name[len(base) :]
    return ctx.migrations.answer("metric", name + "_total", ctx.target.version), _FAMILY


def _asked_for(ctx: Context, mention: Mention, name: str) -> bool:
    """Tell whether the same query, list or program asks for the new name too: it is for both releases."""
    group = mention.group or mention.region
    return any(
        m.name == name and (m.group or m.region) is group for m in ctx.reading.mentions if m.kind == mention.kind
    )


def _exports(release: Release, name: str) -> bool:
    return release.has("metrics", name) or release.has("metrics", _PART.sub("", name))


def _gone(ctx: Context, surface: str, mention: Mention) -> Finding | None:
    name = mention.name
    entry: Migration | None = None
    rest = part = ""
    while name and entry is None:
        entry = ctx.migrations.answer(surface, name, ctx.target.version)
        if entry is None:
            if surface != "import" or "." not in name:
                break
            name, _, tail = name.rpartition(".")
            rest = "." + tail + rest
    if surface in ("field", "endpoint") and not mention.ours and not _servers(ctx.source.text)[0]:
        return None
    if surface == "field":
        of = f"{mention.of}.{name}"
        entry = (ctx.migrations.answer(surface, of, ctx.target.version) if mention.of else None) or entry
    if entry is None and surface == "metric":
        entry, part = _of_metric(ctx, mention.name)
        name = mention.name
    if entry is None and surface == "method":
        short = mention.name.removeprefix("vllm.")
        entry = ctx.migrations.answer(surface, short, ctx.target.version)
        name = mention.name
    if entry is None and surface == "endpoint":
        known = ctx.migrations.named(surface, name)
        entry = next((e for e in known if e.changed(ctx.origin, ctx.target.version)), None)
    if entry is None:
        return None
    if surface == "import" and rest and ctx.target.has("modules", mention.name):
        return None
    severity: Severity = "error" if surface in ("import", "method") else "warning"
    finding = ctx.finding(entry.code, severity, mention.name, entry.title, mention, migration=entry)
    if mention.guarded:
        finding.severity = "info"
        finding.withheld = f"the code is guarded ({mention.guarded})"
        return finding
    last = final_name(ctx.migrations, surface, entry, ctx.target.version)
    if last is not None:
        last = (last[0].removesuffix("_total") if part == _FAMILY else last[0] + part, *last[1:])
        finding.replacement = last[0]
        if surface == "metric":
            if _asked_for(ctx, mention, last[0]):
                finding.severity = "info"
                finding.withheld = f"{last[0]} is asked for beside it: drop the old name when no server exports it"
                return finding
            if last[1] == "unsafe" and ctx.origin_release is not None and _exports(ctx.origin_release, last[0]):
                # The old release exports both, and they are the same there.
                last = (last[0], "safe", "")
    if surface in ("field", "endpoint") and not mention.ours and (other := _servers(ctx.source.text)[1]):
        finding.severity = "info"
        finding.withheld = f"the file speaks of {other} too"
    elif surface == "field":
        _change_field(ctx, finding, mention, entry, last)
    elif surface in ("import", "metric") and last is not None and not rest and not mention.locked:
        name, safety, why = last
        finding.fix = Fix(safety, f"rename {mention.name} to {name}", [Replace(mention, name)], why)
    else:
        finding.withheld = mention.locked or "the code that uses it must be read by a person"
    if (
        entry.removed_in
        and ctx.origin
        and key(ctx.origin) >= key(entry.removed_in)
        and surface in ("metric", "field")
    ):
        finding.related.append(f"{ctx.origin} lacks it already")
    return finding
