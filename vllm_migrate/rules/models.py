"""Models: architectures the target no longer serves, by class name and by well-known model id."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from vllm_migrate.arguments import CLIENTS, find, model_of
from vllm_migrate.distribution import read
from vllm_migrate.findings import Finding
from vllm_migrate.globs import name_matches
from vllm_migrate.migrations import Migration, Migrations
from vllm_migrate.planning import object_of
from vllm_migrate.rules.context import Context, SiteContext
from vllm_migrate.rules.registry import Rule
from vllm_migrate.versions_key import key

RULES = (
    Rule(
        "VM801",
        "removed-architecture",
        "error",
        "A model architecture the target release does not serve.",
        """What it does
Compares model classes, named in overrides or known for a model's id, with those the target serves.
Why it matters
The engine refuses the model at start.
Fix safety
There is no fix: another release, a plugin or another model has to be chosen.
""",
    ),
    Rule(
        "VM803",
        "fp8-weight-layout",
        "warning",
        "Code that loads or syncs FP8 weights itself: their layout changed.",
        """What it does
Finds code of your own that hands FP8 weights to vLLM's kernels or loads them itself.
Why it matters
From 0.24.0 weights that are not in blocks must be laid out as (K, N); a wrong layout gives wrong numbers, not an error.
Fix safety
There is no fix: the code has to be read.
""",
    ),
)


_TABLE = 12
"""More architectures than this in one file are a table."""


@lru_cache(maxsize=1)
def _split() -> dict[str, Any]:
    """Return the features that became packages of their own, with the model names that tell of them."""
    plugins: dict[str, Any] = read("distribution.json")["plugins"]
    return plugins


def removed_model(ctx: Context, model: str) -> Migration | None:
    """Return the entry that says the target does not serve a model id, or None."""
    return _removed(ctx.migrations, model.rstrip("/").lower(), ctx.target.version)


@lru_cache(maxsize=256)
def _removed(migrations: Migrations, model: str, release: str) -> Migration | None:
    """The same for a name in lower case. Kept: one model stands in many files."""
    for entry in migrations.of_surface("model"):
        named = any(name_matches(name.lower(), model) for name in (entry.name, *entry.names))
        if named and entry.gone(release):
            return entry
    return None


def judge_site(ctx: SiteContext) -> Iterator[Finding]:
    """Judge the model of a launch and the architectures it overrides."""
    if ctx.site.entry_point in CLIENTS:
        return
    model = model_of(ctx.arguments)
    if model:
        entry = removed_model(ctx, model)
        if entry is not None and entry.code != "VM301":
            item = next(
                (
                    a.item
                    for a in ctx.arguments
                    if (a.option in ("--model", "model_tag", "")) and a.value == model
                ),
                None,
            )
            if item is not None:
                yield ctx.finding(
                    "VM801",
                    "error",
                    model,
                    entry.title,
                    item,
                    migration=entry,
                    site=ctx.site,
                    withheld="another model must be chosen",
                )
        yield from _split_out(ctx, model)
    overrides = find(ctx.arguments, "--hf-overrides")
    held: dict[str, Any] = (object_of(overrides) if overrides is not None else None) or {}
    names = held.get("architectures")
    if overrides is not None and isinstance(names, list):
        for name in names:
            if isinstance(name, str):
                gone = _gone(ctx, name)
                if gone is not None:
                    yield ctx.finding(
                        "VM801",
                        "error",
                        name,
                        gone.title,
                        overrides.item,
                        migration=gone,
                        site=ctx.site,
                        withheld="another model must be chosen",
                    )


def _split_out(ctx: SiteContext, model: str) -> Iterator[Finding]:
    """A checkpoint whose name says that a package of its own loads it; the option that says so is judged as one."""
    from vllm_migrate.rules.plugins import NO_PLACE, installed, plugin_fix, plugin_of

    asked = [a.value for a in (find(ctx.arguments, "--quantization"), find(ctx.arguments, "--load-format")) if a]
    item = next((a.item for a in ctx.arguments if a.option in ("--model", "model_tag", "") and a.value == model), None)
    low = model.lower()
    for name, row in _split().items():
        plugin = plugin_of(ctx, name)
        named = any(name_matches(p, low) for p in row.get("models", ()))
        if item is None or plugin is None or not named or name in asked or installed(ctx, plugin):
            continue
        if any(name_matches(p, low) for p in row.get("except", ())):
            continue
        fix = plugin_fix(ctx, plugin)
        yield ctx.finding(
            "VM705",
            "error",
            model,
            f"{name} checkpoints need {plugin.requirement} since {plugin.since}",
            item,
            fix=fix,
            site=ctx.site,
            removed_in=plugin.since,
            help=f"Install {plugin.requirement} beside vLLM {plugin.since} or later; not beside older ones.",
            evidence=plugin.evidence,
            withheld="" if fix is not None else NO_PLACE,
        )


def _gone(ctx: Context, name: str) -> Migration | None:
    if ctx.target.has("architectures", name):
        return None
    return ctx.migrations.answer("architecture", name, ctx.target.version)


def _is_table(ctx: Context) -> bool:
    """Tell whether a file lists the architectures of many releases: nothing is served by being named there."""
    names = {m.name for m in ctx.reading.mentions if m.kind == "string"}
    return sum(ctx.catalog.lifetime("architectures", name) != [] for name in names) > _TABLE


def judge_file(ctx: Context) -> Iterator[Finding]:
    """Judge architecture names in code, and code that handles FP8 weights itself."""
    places = [i.place for site in ctx.reading.sites for i in (*site.words, *site.entries)]
    table = _is_table(ctx)
    for mention in ctx.reading.mentions:
        if mention.kind == "string":
            if table:
                continue
            gone = _gone(ctx, mention.name)
            # What stands in an argument of a launch is judged there.
            here = mention.place
            if gone is not None and not any(p.start <= here.start and here.end <= p.end for p in places):
                yield ctx.finding(
                    "VM801",
                    "error",
                    mention.name,
                    gone.title,
                    mention,
                    migration=gone,
                    withheld="another model must be chosen",
                )
        elif mention.kind in ("attribute", "call", "import"):
            for entry in ctx.migrations.named("symbol", mention.name.rsplit(".", 1)[-1]):
                since = entry.changed_in or entry.removed_in
                if (
                    since
                    and key(ctx.target.version) >= key(since)
                    and not (ctx.origin and key(ctx.origin) >= key(since))
                ):
                    yield ctx.finding(
                        entry.code,
                        "warning",
                        mention.name,
                        entry.title,
                        mention,
                        migration=entry,
                        withheld="code that handles weights must be read by a person",
                    )
