"""Options of a launch: what the target refuses, reads otherwise, or has announced to remove."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vllm_migrate.arguments import CLIENTS, COMMAND_LINES, KEYWORDS, Argument, has_dynamic
from vllm_migrate.findings import Finding, Severity
from vllm_migrate.migrations import Migration, spell
from vllm_migrate.planning import (
    Answer,
    make_fixes,
    object_of,
    value_text,
)
from vllm_migrate.rules.answers import answer_for, finding_of
from vllm_migrate.rules.command_line import judge_command_line, misused_words, parsed
from vllm_migrate.rules.config_entries import judge_entries
from vllm_migrate.rules.context import SiteContext
from vllm_migrate.rules.objects import judge_key, judge_object
from vllm_migrate.rules.option_rules import OPTION_RULES
from vllm_migrate.rules.speculative import replace_drafts

RULES = OPTION_RULES

_SWITCHES = frozenset({"0", "1", "true", "false", "yes", "no"})
JUDGED = COMMAND_LINES | KEYWORDS | {"config"}
"""Entry points whose every name is vLLM's; elsewhere only what some release took is judged."""


def judge_site(ctx: SiteContext) -> Iterator[Finding]:
    """Judge every argument of a launch."""
    if ctx.site.entry_point in CLIENTS | {"demo_server", "run_batch"}:
        return
    answers: list[Answer] = []
    line = parsed(ctx)
    misused = misused_words(ctx, line)
    for argument in ctx.arguments:
        if any(id(word) in misused for word in argument.words):
            continue
        if not argument.option or argument.option == "model_tag" or _unset(ctx, argument):
            continue
        if not argument.accepted:
            answers += _refused(ctx, argument)
            continue
        if argument.path:
            answers += judge_key(ctx, argument)
        else:
            answers += _accepted(ctx, argument)
    replace_drafts(ctx, answers)
    if line is not None:
        answers += judge_command_line(ctx, line, answers)
    answers += judge_entries(ctx, answers)
    make_fixes(ctx, [a for a in answers if not a.finding.withheld])
    for answer in answers:
        if not _plugin(ctx, answer):
            yield answer.finding
    yield from _defaults(ctx)


def _unset(ctx: SiteContext, argument: Argument) -> bool:
    """Tell whether a value of a chart is empty: templates write no option for it."""
    return ctx.site.entry_point == "values" and argument.entry is not None and argument.value in ("", None)


def _surface(ctx: SiteContext) -> str:
    return "keyword" if ctx.site.entry_point in KEYWORDS else "cli"


def _refused(ctx: SiteContext, argument: Argument) -> Iterator[Answer]:
    target = ctx.target.version
    if argument.path:
        key_name = argument.option + "." + ".".join(argument.path)
        migration = ctx.migrations.answer("key", key_name, target)
        if migration is not None:
            text = f"{argument.spelling} is gone from {target}: {migration.title}"
            finding = finding_of(ctx, migration.code, "error", argument, text, migration)
            yield answer_for(ctx, finding, migration, argument, value_text(argument.value))
            return
    migration = ctx.migrations.answer("option", argument.option, target, only=_surface(ctx))
    if migration is None and argument.spelling != argument.option:
        migration = ctx.migrations.answer("option", argument.spelling, target, only=_surface(ctx))
    if migration is not None:
        severity: Severity = "error"
        text = migration.title
        if len(argument.candidates) == 1 and argument.entry is None:
            severity = "warning"
            text += f"; {target} reads it as {argument.candidates[0]}"
        elif len(argument.candidates) > 1 and argument.entry is None:
            text += f"; {target} finds it ambiguous ({', '.join(argument.candidates)})"
        finding = finding_of(ctx, migration.code, severity, argument, text, migration)
        yield answer_for(ctx, finding, migration, argument, value_text(argument.value))
        return
    removed = _removed_in(ctx, argument)
    if removed is not None:
        text = f"{argument.subject} was removed in {removed}"
        finding = finding_of(ctx, "VM101", "error", argument, text, None)
        finding.removed_in = removed
        finding.withheld = argument.locked or "what replaces it is not recorded"
        finding.help = f"Look up {argument.subject} in the notes of vLLM {removed}."
        yield Answer(finding, [], "unsafe", argument=argument)
        return
    if ctx.site.entry_point not in JUDGED or argument.locked or has_dynamic(argument.spelling):
        return
    if len(argument.candidates) > 1:
        text = f"{argument.spelling} is ambiguous for {target}: {', '.join(argument.candidates)}"
    elif ctx.site.entry_point == "LLM" or argument.entry is not None:
        text = f"{target} does not take {argument.subject}"
    else:
        text = f"{target} does not know {argument.subject}: unrecognized arguments"
    finding = finding_of(ctx, "VM106", "error", argument, text, None)
    near = _similar(ctx, argument)
    finding.help = f"Did you mean {near}?" if near else "Check the spelling, or whether another program takes it."
    finding.withheld = "no release had this name"
    yield Answer(finding, [], "unsafe", argument=argument)


def _similar(ctx: SiteContext, argument: Argument) -> str | None:
    import difflib

    if ctx.site.entry_point in KEYWORDS:
        names = list(ctx.target.section("engine_args"))
        wanted = argument.option.lstrip("-").replace("-", "_")
    else:
        names, wanted = list(ctx.target.section("options")), argument.option
    close = difflib.get_close_matches(wanted, names, 1, 0.8)
    return close[0] if close else None


def _removed_in(ctx: SiteContext, argument: Argument) -> str | None:
    if ctx.site.entry_point in KEYWORDS:
        name = argument.option.lstrip("-").replace("-", "_")
        if ctx.catalog.lifetime("engine_args", name):
            return ctx.catalog.removed_in("engine_args", name)
        return ctx.catalog.removed_in("llm", name) if ctx.site.entry_point == "LLM" else None
    return ctx.catalog.removed_in("options", argument.option)


def _accepted(ctx: SiteContext, argument: Argument) -> Iterator[Answer]:
    target = ctx.target.version
    value = value_text(argument.value)
    found = False
    for answer in _values(ctx, argument, value):
        found = True
        yield answer
    config = argument.attrs.get("config") or ctx.target.option(argument.option).attrs.get("config")
    if config:
        held = object_of(argument)
        if held is not None:
            yield from judge_object(ctx, argument, config, held)
    if found:
        return
    for migration in ctx.migrations.named("option", argument.option):
        if migration.values or (migration.only and migration.only != _surface(ctx)):
            continue
        if migration.changed(ctx.origin, target) and migration.code != "VM109":
            finding = finding_of(ctx, migration.code, "warning", argument, migration.title, migration)
            yield answer_for(ctx, finding, migration, argument, value)
        elif migration.deprecated_in and not migration.gone(target) and _announced(ctx, migration):
            finding = finding_of(ctx, "VM105", "info", argument, migration.title, migration)
            yield answer_for(ctx, finding, migration, argument, value)


def _announced(ctx: SiteContext, migration: Migration) -> bool:
    from vllm_migrate.versions_key import key

    return (
        migration.deprecated_in is not None
        and key(migration.deprecated_in) <= key(ctx.target.version)
        and migration.returned_in is None
    )


def _values(ctx: SiteContext, argument: Argument, value: Any) -> Iterator[Answer]:
    """Values that were taken away."""
    target = ctx.target.version
    if value is None or has_dynamic(value) or isinstance(value, dict):
        return
    for text in value if isinstance(value, list) else [value]:
        migration = ctx.migrations.answer("option", argument.option, target, value=spell(text))
        if migration is not None:
            title = migration.title
            finding = finding_of(ctx, migration.code, "error", argument, title, migration)
            yield answer_for(ctx, finding, migration, argument, text)
            return
    for migration in ctx.migrations.named("option", argument.option):
        mine = spell(value).lower() in {v.lower() for v in migration.values}
        if mine and migration.changed(ctx.origin, target):
            severity: Severity = "info" if migration.severity == "info" else "warning"
            finding = finding_of(ctx, migration.code, severity, argument, migration.title, migration)
            yield answer_for(ctx, finding, migration, argument, value)
            return


def _plugin(ctx: SiteContext, answer: Answer) -> bool:
    """A feature that was split out gets its package beside vLLM's; return whether it is installed already."""
    finding = answer.finding
    if finding.code != "VM705" or finding.fix is not None or answer.argument is None:
        return False
    from vllm_migrate.rules.plugins import NO_PLACE, installed, plugin_fix, plugin_of

    row = plugin_of(ctx, spell(value_text(answer.argument.value)))
    if row is None:
        return False
    if installed(ctx, row):
        return True
    finding.fix = plugin_fix(ctx, row)
    finding.withheld = "" if finding.fix is not None else NO_PLACE
    return False


_NAMED = 3
"""Defaults that a message names; the subject names all."""


def _defaults(ctx: SiteContext) -> Iterator[Finding]:
    """Name the defaults that change under a launch, once a site and only when both releases are known."""
    if ctx.origin is None or ctx.site.entry_point not in (
        "serve",
        "api_server",
        "LLM",
        "EngineArgs",
        "AsyncEngineArgs",
    ):
        return
    given = {a.option for a in ctx.arguments}
    if any(a.option == "" for a in ctx.arguments):
        # What no option takes is the model, also when only the run knows which.
        given.add("--model")
    changed = [
        m
        for m in ctx.migrations.of_surface("option")
        if m.code == "VM109" and m.changed(ctx.origin, ctx.target.version) and m.name not in given
    ]
    changed = [m for m in changed if not m.devices or not ctx.device or ctx.device in m.devices]
    changed = [m for m in changed if ctx.target.takes(m.name, surface=ctx.site.entry_point)]
    if not changed:
        return
    count = len(dict.fromkeys(m.name for m in changed))
    what = "1 default this launch relies on changes" if count == 1 else f"{count} defaults this launch relies on change"
    finding = ctx.finding(
        "VM109",
        "info",
        ", ".join(dict.fromkeys(m.name for m in changed)),
        f"{what} from {ctx.origin} to {ctx.target.version}: {_named(changed)}",
        ctx.site.words[0] if ctx.site.words else ctx.site.entries[0] if ctx.site.entries else _Spot(ctx),  # type: ignore[arg-type]
        site=ctx.site,
        reason=" ".join(m.title + "." for m in changed),
        help="Set an option explicitly to keep the old behaviour.",
        evidence=[e for m in changed for e in m.evidence[:1]],
    )
    finding.span = ctx.site.place
    yield finding


def _named(changed: list[Migration]) -> str:
    """Return the first options by name, with what limits a change to some hardware or models."""
    limits: dict[str, list[str]] = {}
    for entry in changed:
        limits.setdefault(entry.name, []).append(entry.where)
    named = [n if "" in w else f"{n} (only with {' and '.join(w)})" for n, w in limits.items()]
    if len(named) > _NAMED + 1:
        return ", ".join(named[:_NAMED]) + f" and {len(named) - _NAMED} more"
    return ", ".join(named)


class _Spot:
    """A place for a finding about a launch that shows no argument."""

    def __init__(self, ctx: SiteContext) -> None:
        self.place = ctx.site.place
