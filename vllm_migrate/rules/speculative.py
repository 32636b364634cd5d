"""Speculative decoding: methods that are gone, and what may take their place."""

from __future__ import annotations

import copy
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import Any

from vllm_migrate.arguments import COMMAND_LINES, ENGINE_LINES, KEYWORDS, Argument, find, model_of
from vllm_migrate.distribution import read
from vllm_migrate.findings import Finding, Fix
from vllm_migrate.globs import name_matches
from vllm_migrate.migrations import Migration
from vllm_migrate.model import Remove
from vllm_migrate.planning import Answer, Result, object_of, value_text, write_object
from vllm_migrate.rules.context import SiteContext
from vllm_migrate.rules.registry import Rule

RULES = (
    Rule(
        "VM301",
        "removed-speculative-method",
        "error",
        "A speculative decoding method the target release does not have.",
        """What it does
Reports Medusa heads and MLP speculators, by method and by draft model, and offers what the configuration
names: n-gram (the default), suffix decoding, MTP, another draft, or no speculation.

Why it matters
0.33.0 refuses the method when the engine starts. MLP speculators have done nothing since 0.10.0.

Fix safety
Always unsafe: another method gives another acceptance rate, and some need a checkpoint or a package.
N-gram needs neither and keeps the output distribution.
""",
    ),
    Rule(
        "VM303",
        "draft-token-budget",
        "info",
        "How draft slots count against the token budget has changed.",
        """What it does
Notes launches with a DFlash or DSpark draft.
Why it matters
Up to 0.32.0 draft slots were taken out of `--max-num-batched-tokens`; from 0.33.0 they are not, so the same number
admits more tokens of prompts in a step.
Fix safety
There is no fix: the number has to be chosen again.
""",
    ),
    Rule(
        "VM304",
        "kept-draft-block",
        "info",
        "EAGLE and MTP keep the last cached block of a prefix.",
        """What it does
Notes launches with an EAGLE or MTP draft.
Why it matters
0.33.0 keeps the last block of a cached prefix, and hashes of blocks differ from those of 0.32.
Fix safety
There is no fix: routers that read cache events should not mix the two releases.
""",
    ),
)

CONFIG = "--speculative-config"
_DROPPED = "the launch goes on without speculation: outputs stay the same, latency grows"


@lru_cache(maxsize=1)
def _facts() -> dict[str, Any]:
    return read("speculation.json")


def judge_site(ctx: SiteContext) -> Iterator[Finding]:
    """Judge the speculative method of a launch."""
    if ctx.site.entry_point not in COMMAND_LINES | ENGINE_LINES | KEYWORDS | {"config", "values"}:
        return
    dotted = {a.path[0]: a for a in ctx.arguments if a.option == CONFIG and len(a.path) == 1}
    whole = find(ctx.arguments, CONFIG)
    held: dict[str, Any] | None = None
    if whole is not None:
        held = object_of(whole)
    elif dotted:
        held = {k: value_text(a.value) for k, a in dotted.items()}
    if held is None:
        return
    source = whole or next(iter(dotted.values()))
    migration = _removed(ctx, held)
    if migration is None:
        return
    finding = ctx.finding(
        migration.code,
        "error",
        source.subject if source.path else source.subject + (".method" if "method" in held else ".model"),
        migration.title,
        source.item,
        migration=migration,
        site=ctx.site,
    )
    _offer(ctx, finding, source, held, dotted if whole is None else {})
    yield finding


def _removed(ctx: SiteContext, held: dict[str, Any]) -> Migration | None:
    target = ctx.target.version
    method = held.get("method")
    if isinstance(method, str):
        found = ctx.migrations.answer("key", CONFIG + ".method", target, value=method)
        if found is not None and found.code == "VM301":
            return found
    model = held.get("model")
    if isinstance(model, str):
        for entry in ctx.migrations.of_surface("model"):
            if (
                entry.code == "VM301"
                and entry.gone(target)
                and any(name_matches(n.lower(), model.lower()) for n in (entry.name, *entry.names))
            ):
                return entry
    return None


def _offer(
    ctx: SiteContext, finding: Finding, source: Argument, held: dict[str, Any], dotted: dict[str, Argument]
) -> None:
    if source.locked:
        finding.withheld = source.locked
        return
    model = model_of(ctx.arguments)
    choice = ctx.config.speculator_for(model)
    if choice is None:
        finding.withheld = f"the configuration names no replacement for {model or 'this model'}"
        return
    if choice.method == "drop":
        items = [i for a in (dotted.values() if dotted else [source]) for i in a.items]
        finding.fix = Fix(
            "unsafe",
            "remove speculative decoding",
            [Remove(i) for i in items],
            _DROPPED,
        )
        finding.replacement = None
        return
    methods = ctx.target.section("speculative_methods")
    if methods and choice.method not in methods:
        finding.withheld = f"{ctx.target.version} has no speculative method {choice.method!r}"
        return
    if dotted or isinstance(source.value, list):
        finding.withheld = f"write {CONFIG} with the method {choice.method} by hand"
        return
    new = copy.deepcopy(held)
    new["method"] = choice.method
    for key in _draft_keys():
        new.pop(key, None)
    if choice.model:
        new["model"] = choice.model
    for key, value in _added_keys(ctx, choice.method, new).items():
        new[key] = value
    places = {k: i for i, k in enumerate(held)}
    # A method that was read from the draft's own files takes the place of the draft.
    places.setdefault("method", places.get("model", len(held)))
    ordered = {k: new[k] for k in sorted(new, key=lambda k: places.get(k, len(held)))}
    finding.replacement = f"{CONFIG}.method {choice.method}"
    finding.fix = Fix(
        "unsafe",
        f"draft with {choice.method} instead",
        [write_object(source, ordered)],
        _why(choice.method),
        [("speculative_methods", choice.method)],
    )


def _draft_keys() -> list[str]:
    keys: list[str] = _facts()["draft_keys"]["keys"]
    return keys


def _added_keys(ctx: SiteContext, method: str, held: Container[str]) -> dict[str, Any]:
    """Return what a method should be given besides its name, where neither key is set and the target has them."""
    keys: dict[str, Any] = _facts()["methods"].get(method, {}).get("keys", {})
    if any(k in held for k in keys) or not all(ctx.target.takes(CONFIG, [k]) for k in keys):
        return {}
    return keys


def _why(method: str) -> str:
    default = "the draft must have been trained for this target model; measure its acceptance rate"
    return str(_facts()["methods"].get(method, {}).get("why") or default)


def replace_drafts(ctx: SiteContext, answers: Sequence[Answer]) -> None:
    """Change answers that would write a draft the target has no loader for: the replacement comes at once.

    An old option that names such a draft would else be moved first and found removed in its new place.
    """
    held = {r.path[0]: (a, r) for a in answers for r in a.results if r.option == CONFIG and len(r.path) == 1}
    answer, result = held.get("model", (None, None))
    if answer is None or result is None or not isinstance(result.value, str):
        return
    migration = _removed(ctx, {"model": result.value})
    if migration is None:
        return
    answer.finding.related.append(migration.title)
    model = model_of(ctx.arguments)
    choice = ctx.config.speculator_for(model)
    methods = ctx.target.section("speculative_methods")
    if choice is None or (choice.method != "drop" and methods and choice.method not in methods):
        reason = f"no replacement for the draft {result.value} is configured"
        for one in {id(a): a for a, _ in held.values()}.values():
            one.finding.withheld = reason
        return
    gone = set(held) if choice.method == "drop" else set(_draft_keys())
    for key, (one, own) in held.items():
        if key in gone:
            one.results = [r for r in one.results if r is not own]
    answer.safety, answer.note = "unsafe", ""
    if choice.method == "drop":
        answer.why = _DROPPED
        return
    answer.why = _why(choice.method)
    new: dict[str, Any] = {"method": choice.method}
    if choice.model:
        new["model"] = choice.model
    answer.results[:0] = [Result(CONFIG, (k,), "", v) for k, v in new.items()]
    last = held.get("num_speculative_tokens", (answer, result))[0]
    more = _added_keys(ctx, choice.method, held)
    last.results += [Result(CONFIG, (k,), "", v) for k, v in more.items()]
