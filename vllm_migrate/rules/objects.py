"""Config objects of a launch: the keys and values the target's class refuses, or reads otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vllm_migrate.arguments import Argument, has_dynamic
from vllm_migrate.findings import Severity
from vllm_migrate.jsonvalue import loads
from vllm_migrate.migrations import Migration, spell
from vllm_migrate.model import Dynamic
from vllm_migrate.planning import Answer
from vllm_migrate.refusals import UNEXPECTED, refusals, refused_together
from vllm_migrate.rules.answers import answer_for, finding_of
from vllm_migrate.rules.context import SiteContext
from vllm_migrate.schemacheck import Place

Refusal = tuple[Place, str]


def judge_object(
    ctx: SiteContext,
    argument: Argument,
    config: str,
    held: dict[str, Any],
    path: tuple[str, ...] = (),
    refused: Sequence[Refusal] | None = None,
) -> Iterator[Answer]:
    """Judge the keys of a config object, nested ones too.

    config: its class. path: the keys that lead to it. refused: what the class refuses of the whole.
    """
    fields = ctx.target.config_fields(config)
    if not fields:
        return
    if refused is None:
        refused = refusals(ctx.target, config, held)
    for key, value in held.items():
        if not isinstance(key, str):
            continue
        here = (*path, key)
        nested = fields.get(_known(ctx, config, fields, key), {}).get("config")
        inner = nested if isinstance(value, dict) and ctx.target.config_fields(str(nested)) else None
        below = [r for r in refused if r[0][: len(here)] == here]
        done = False
        for answer in _judge(ctx, argument, here, value, config, [r for r in below if not inner or r[0] == here]):
            done = True
            yield answer
        if not done and inner:
            yield from judge_object(ctx, argument, inner, value, here, below)
    if not path and not refused and argument.entry is not None and not argument.locked:
        # Of words the parser's own reading tells.
        yield from _together(ctx, argument, config, held)


def _together(ctx: SiteContext, argument: Argument, config: str, held: dict[str, Any]) -> Iterator[Answer]:
    """What the class refuses of fields that are right one by one."""
    for _, message in refused_together(ctx.target, config, held):
        finding = finding_of(ctx, "VM112", "error", argument, f"{argument.subject}: {message}", None)
        finding.help = "Add what it needs, or take it away."
        finding.withheld = "which of the two is meant cannot be told"
        yield Answer(finding, [], "unsafe", argument=argument)


def judge_key(ctx: SiteContext, argument: Argument) -> Iterator[Answer]:
    """Judge an argument that names a key itself: `--x.key value`."""
    config = str(argument.attrs.get("config") or "")
    held = value = _dotted(argument)
    for part in reversed(argument.path):
        held = {part: held}
    refused = refusals(ctx.target, config, held) if config and value is not _UNKNOWN else []
    for part in argument.path[:-1]:
        fields = ctx.target.config_fields(config)
        config = str(fields.get(_known(ctx, config, fields, part), {}).get("config") or "")
    yield from _judge(ctx, argument, argument.path, argument.value, config, refused)


_UNKNOWN = Dynamic("a value the parser reads in its own way")


def _dotted(argument: Argument) -> Any:
    """Return what the parser makes of the value of a dotted argument: JSON, else its text."""
    value = argument.value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or has_dynamic(value):
        return _UNKNOWN
    text = str(value)
    if argument.spelling.endswith("+"):
        return text.split(",")
    try:
        return loads(text)
    except ValueError:
        # Some releases read 80g as a number.
        return _UNKNOWN if re.fullmatch(r"\s*[\d.]+[kKmMgGtT]?\s*", text) else text


def _known(ctx: SiteContext, config: str, fields: Mapping[str, Mapping[str, Any]], key: str) -> str:
    """Return the field a key means to a class, "" where it has none."""
    if ctx.target.section("configs").get(config, {}).get("dashes"):
        key = key.replace("-", "_")
    return key if key in fields and fields[key].get("init") is not False else ""


def _judge(
    ctx: SiteContext, argument: Argument, path: tuple[str, ...], value: Any, config: str, refused: Sequence[Refusal]
) -> Iterator[Answer]:
    """Judge one key of a config object. config: the class it belongs to, "" where that is not known."""
    target = ctx.target.version
    name = argument.option + "." + ".".join(path)
    inside = path if not argument.path else ()
    fields = ctx.target.config_fields(config) if config else {}
    if fields and not _known(ctx, config, fields, path[-1]):
        yield from _unknown(ctx, argument, path, value, config, refused)
        return
    plain = not has_dynamic(value) and not isinstance(value, (dict, list))
    migration = ctx.migrations.answer("key", name, target, value=spell(value)) if plain else None
    if migration is not None and migration.code != "VM301":
        finding = finding_of(ctx, migration.code, "error", argument, migration.title, migration, name)
        yield answer_for(ctx, finding, migration, argument, value, inside)
        return
    if refused and migration is None:
        yield _refused(ctx, argument, path, value, refused[0])
        return
    if not plain:
        return
    for entry in ctx.migrations.named("key", name):
        if entry.code == "VM109":
            continue  # another default is nothing to a launch that gives the value
        if entry.values and spell(value).lower() not in {v.lower() for v in entry.values}:
            continue
        late = entry.changed_in is not None and ctx.origin is None and entry.code in ("VM303", "VM304")
        if entry.changed(ctx.origin, target) or (late and not _before(target, entry)):
            severity: Severity = "warning" if entry.severity != "info" else "info"
            finding = finding_of(ctx, entry.code, severity, argument, entry.title, entry, name)
            yield answer_for(ctx, finding, entry, argument, value, inside)
            return


def _unknown(
    ctx: SiteContext, argument: Argument, path: tuple[str, ...], value: Any, config: str, refused: Sequence[Refusal]
) -> Iterator[Answer]:
    """Judge a key the class does not have."""
    target = ctx.target.version
    name = argument.option + "." + ".".join(path)
    inside = path if not argument.path else ()
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
        if refused and refused[0][1].startswith(UNEXPECTED):
            finding.reason = f"{config}: {refused[0][1]}."
        yield Answer(finding, [], "unsafe", argument=argument, key=inside)


def _refused(ctx: SiteContext, argument: Argument, path: tuple[str, ...], value: Any, refusal: Refusal) -> Answer:
    """Report a value the class refuses, in the words of its parser."""
    place, words = refusal
    name = argument.option + "." + ".".join(path)
    deeper = "".join(f".{part}" for part in place[len(path) :])
    if words.startswith(UNEXPECTED):
        code, why = "VM110", "what replaces the key is not recorded"
    else:
        choice = isinstance(value, str) and words.startswith("Input should be '")
        code, why = ("VM104" if choice else "VM107"), "which value is meant cannot be told"
    shown = f"; it is given {spell(value)!r}" if not deeper and not isinstance(value, (dict, list)) else ""
    text = f"{name}{deeper}: {_shortened(words)}{shown}"
    finding = finding_of(ctx, code, "error", argument, text, None, name)
    finding.withheld = argument.locked or why
    takes = words.removeprefix("Input should be ")
    finding.help = f"It takes {takes}." if code == "VM104" else f"Write what vLLM {ctx.target.version} takes there."
    return Answer(finding, [], "unsafe", argument=argument, key=path if not argument.path else ())


def _shortened(words: str) -> str:
    """Return the parser's words with the first few of many choices."""
    choices = words.split(", ")
    return words if len(choices) <= 8 else ", ".join([*choices[:6], "…"])


def _before(target: str, entry: Migration) -> bool:
    from vllm_migrate.versions_key import key

    return entry.changed_in is not None and key(target) < key(entry.changed_in)
