"""Entries of a file for `--config`: the target turns them into words and reads those as its parser does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from vllm_migrate.arguments import Argument, has_dynamic
from vllm_migrate.catalog.command_line import read_command_line
from vllm_migrate.planning import Answer
from vllm_migrate.rules.answers import finding_of
from vllm_migrate.rules.command_line import code_of
from vllm_migrate.rules.context import SiteContext


def words_of(key: str, value: Any, ways: Sequence[str]) -> list[str]:
    """Return the words `vllm serve` makes of one entry. ways: what its releases' files may hold."""
    if isinstance(value, bool) and "switch" in ways:
        # The way to say no that later releases have is only there for the API server's own module.
        return ["--" + key] if value else []
    if isinstance(value, list) and "list" in ways:
        return ["--" + key, *map(str, value)] if value else []
    if isinstance(value, dict) and "object" in ways:
        return ["--" + key, json.dumps(value)]
    return ["--" + key, str(value)]


def judge_entries(ctx: SiteContext, answers: Sequence[Answer]) -> Iterator[Answer]:
    """Say what the target refuses or ignores of a configuration file's entries, where no answer does."""
    if ctx.site.entry_point != "config":
        return
    ways = ctx.target.facts.get("config_file") or ()
    told = {id(a.argument) for a in answers}
    for argument in ctx.arguments:
        entry = argument.entry
        if entry is None or id(argument) in told or has_dynamic(entry.value) or argument.locked:
            continue
        words = words_of(entry.key, entry.value, ways)
        if entry.value is False and not words:
            yield from _ignored(ctx, argument)
        if not words or not argument.accepted:
            continue
        for refusal in read_command_line(ctx.target, "serve", words).refusals:
            if refusal.kind == "usage" or (refusal.kind == "count" and not refusal.option):
                # The model may come from the command line.
                continue
            finding = finding_of(ctx, code_of(refusal), "error", argument, refusal.brief, None)
            finding.withheld = "what is meant cannot be told"
            finding.help = _help(entry.value)
            yield Answer(finding, [], "unsafe", argument=argument)
            break


def _help(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "Write it as one text: this release does not read nested values from a configuration file."
    return "Write a value of the type the option takes."


def _ignored(ctx: SiteContext, argument: Argument) -> Iterator[Answer]:
    if not argument.accepted or argument.attrs.get("default") is not True or argument.negated:
        return
    text = f"{ctx.target.version} ignores false in a configuration file: {argument.option} stays on"
    finding = finding_of(ctx, "VM111", "warning", argument, text, None)
    finding.help = f"Write no-{argument.option.lstrip('-')}: true, or the negative option on the command line."
    finding.withheld = "the file has had no effect so far; what is meant needs a person"
    yield Answer(finding, [], "unsafe", argument=argument)
