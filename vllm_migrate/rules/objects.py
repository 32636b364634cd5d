"""Config objects of a launch: the keys and values the target's class refuses, or reads otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vllm_migrate.arguments import Argument, has_dynamic
from vllm_migrate.findings import Severity
from vllm_migrate.migrations import Migration, spell
from vllm_migrate.planning import Answer
from vllm_migrate.rules.answers import answer_for, finding_of
from vllm_migrate.rules.context import SiteContext


def judge_object(
    ctx: SiteContext, argument: Argument, config: str, held: dict[str, Any], path: tuple[str, ...]
) -> Iterator[Answer]:
    """Judge the keys of a config object, nested ones too. config: its class. path: the keys that lead to it."""
    fields = ctx.target.config_fields(config)
    if not fields:
        return
    for key, value in held.items():
        if not isinstance(key, str):
            continue
        here = (*path, key)
        done = False
        for answer in judge_key(ctx, argument, here, value, fields, config):
            done = True
            yield answer
        nested = fields.get(key, {}).get("config")
        if not done and nested and isinstance(value, dict):
            yield from judge_object(ctx, argument, nested, value, here)


def judge_key(
    ctx: SiteContext,
    argument: Argument,
    path: tuple[str, ...],
    value: Any,
    fields: Mapping[str, Mapping[str, Any]] | None = None,
    config: str = "",
) -> Iterator[Answer]:
    """Judge one key of a config object, or a dotted argument."""
    target = ctx.target.version
    name = argument.option + "." + ".".join(path)
    inside = path if not argument.path else ()
    if fields is None:
        config = str(argument.attrs.get("config") or "")
        fields = ctx.target.config_fields(config) if config and len(path) == 1 else {}
    known = path[-1] in fields or path[-1].replace("-", "_") in fields
    if not known and fields:
        migration = ctx.migrations.answer("key", name, target)
        if migration is not None:
            finding = finding_of(ctx, migration.code, "error", argument, migration.title, migration, name)
            yield answer_for(ctx, finding, migration, argument, value, inside)
            return
        strict = ctx.target.section("configs").get(config, {}).get("extra") == "forbid"
        removed = ctx.catalog.removed_in("configs", f"{config}.{path[-1]}")
        if strict or removed:
            text = f"{argument.option} refuses the key {path[-1]} in {target}"
            finding = finding_of(ctx, "VM110", "error" if strict else "warning", argument, text, None, name)
            finding.removed_in = removed
            finding.withheld = argument.locked or "what replaces the key is not recorded"
            finding.help = "Remove the key or write its new name; see the config class of the release."
            yield Answer(finding, [], "unsafe", argument=argument, key=inside)
        return
    if has_dynamic(value) or isinstance(value, (dict, list)):
        return
    migration = ctx.migrations.answer("key", name, target, value=spell(value))
    if migration is not None and migration.code != "VM301":
        finding = finding_of(ctx, migration.code, "error", argument, migration.title, migration, name)
        yield answer_for(ctx, finding, migration, argument, value, inside)
        return
    for entry in ctx.migrations.named("key", name):
        if entry.code == "VM109":
            continue  # another default is nothing to a launch that gives the value
        if entry.values and spell(value).lower() not in {v.lower() for v in entry.values}:
            continue
        late = entry.changed_in is not None and ctx.origin is None and entry.code in ("VM303", "VM304")
        if entry.changed(ctx.origin, target) or (late and not _before(target, entry)):
            severity: Severity = "warning" if entry.severity != "info" else "info"
            yield answer_for(
                ctx,
                finding_of(ctx, entry.code, severity, argument, entry.title, entry, name),
                entry,
                argument,
                value,
                inside,
            )
            return
    choices = fields.get(path[-1], {}).get("choices")
    if (
        choices
        and value is not None
        and migration is None
        and isinstance(value, str)
        and value not in map(spell, choices)
        and config
    ):
        text = f"{name} does not take {value!r} in {target}"
        finding = finding_of(ctx, "VM104", "error", argument, text, None, name)
        finding.withheld = "which value is meant cannot be told"
        finding.help = "It takes: " + ", ".join(spell(c) for c in choices) + "."
        yield Answer(finding, [], "unsafe", argument=argument, key=inside)


def _before(target: str, entry: Migration) -> bool:
    from vllm_migrate.versions_key import key

    return entry.changed_in is not None and key(target) < key(entry.changed_in)
