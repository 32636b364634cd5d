"""Device visibility: `CUDA_VISIBLE_DEVICES` of a launch becomes the engine's own device list."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vllm_migrate.arguments import COMMAND_LINES, KEYWORDS, Argument, find, has_dynamic
from vllm_migrate.evidence import moving, private
from vllm_migrate.findings import Finding, Fix
from vllm_migrate.lazy import regex
from vllm_migrate.model import Change, InsertEntry, Remove, Rename, Variable
from vllm_migrate.planning import NoFix, add_words, all_glued
from vllm_migrate.rules.context import SiteContext
from vllm_migrate.rules.registry import Rule

RULES = (
    Rule(
        "VM204",
        "device-visibility",
        "info",
        "Which GPUs a launch uses, said by a variable where the engine has an option of its own.",
        """What it does
Moves the list of CUDA_VISIBLE_DEVICES of one launch into --device-ids (device_ids= in Python) and takes
the variable out of that process's environment. The option exists from 0.24.0.

Why it matters
The variable still works, but every library of the process renumbers the GPUs by it. With both set, the
numbers of the option are positions in the visible list, so a half done move stops the launch or picks
other GPUs.

Fix safety
Safe for a literal list of distinct numbers or of GPU UUIDs, in the environment of this one process, on
CUDA, without Ray, and as long as the launch has ranks on this host. Unsafe where the list is a value only
known at run time. On ROCm the variable is renamed to HIP_VISIBLE_DEVICES instead.
""",
    ),
)

VARIABLE = "CUDA_VISIBLE_DEVICES"
OPTION = "--device-ids"
_INTEGERS = regex(r"\d{1,4}(,\d{1,4})*", re.ASCII)
_UUIDS = regex(r"(GPU|MIG)-[0-9A-Za-z-]+(,(GPU|MIG)-[0-9A-Za-z-]+)*", re.ASCII)
_EVIDENCE = (
    "0.24.0 adds --device-ids; 0.33.0 vllm/platforms/cuda.py reads its numbers as positions in the visible set",
    "with CUDA_VISIBLE_DEVICES=2,3 and --device-ids 2,3 the launch ends with an index out of range",
)


def judge_site(ctx: SiteContext) -> Iterator[Finding]:
    """Judge the device variable of a launch."""
    if ctx.site.entry_point not in COMMAND_LINES | KEYWORDS | {"values"}:
        return
    for variable in ctx.site.variables:
        if variable.name != VARIABLE:
            continue
        if ctx.device == "rocm":
            yield from _rocm(ctx, variable)
            continue
        if not ctx.target.has("options", OPTION) or ctx.device in ("xpu", "cpu", "tpu"):
            continue
        text = (variable.value or "").replace(" ", "")
        if variable.value is None or text in ("", "-1"):
            # Handed through from outside: this file holds no list that could be moved.
            continue
        yield _cuda(ctx, variable, text)


def _rocm(ctx: SiteContext, variable: Variable) -> Iterator[Finding]:
    from vllm_migrate.versions_key import key

    if key(ctx.target.version) < key("0.30.0") or variable.value is None:
        return
    finding = ctx.finding(
        "VM204",
        "warning",
        VARIABLE,
        f"{VARIABLE} no longer hides GPUs on ROCm: use HIP_VISIBLE_DEVICES",
        variable,
        site=ctx.site,
        replacement="HIP_VISIBLE_DEVICES",
        removed_in="0.30.0",
        reason="Up to 0.29 vLLM copied the CUDA variable to HIP_VISIBLE_DEVICES on ROCm; 0.30.0 stopped that.",
        help="Set HIP_VISIBLE_DEVICES, and only that one.",
        evidence=("0.30.0 removes the mirroring of CUDA_VISIBLE_DEVICES on ROCm",),
    )
    if any(v.name == "HIP_VISIBLE_DEVICES" for v in ctx.site.variables):
        finding.withheld = "HIP_VISIBLE_DEVICES is set already: remove the CUDA variable"
    elif variable.locked or variable.guarded:
        finding.withheld = variable.locked or variable.guarded
    elif ctx.config.device_ids != "report":
        finding.fix = Fix(
            "safe", f"rename {VARIABLE} to HIP_VISIBLE_DEVICES", [Rename(variable, "HIP_VISIBLE_DEVICES")]
        )
    yield finding


def _cuda(ctx: SiteContext, variable: Variable, text: str) -> Finding:
    keyword = ctx.site.entry_point in KEYWORDS
    replacement = "device_ids" if keyword else OPTION
    finding = ctx.finding(
        "VM204",
        "info",
        VARIABLE,
        f"{VARIABLE} of this launch can be said by {replacement}",
        variable,
        site=ctx.site,
        replacement=replacement,
        reason="The variable renumbers the GPUs for every library of the process; "
        "the option names them for the engine alone.",
        help=f"Give the launch {replacement} with the same list and remove the variable from its environment; "
        "never leave both.",
        evidence=_EVIDENCE,
    )
    reason, unsafe = _obstacle(ctx, variable, text)
    if ctx.config.device_ids == "report":
        finding.withheld = "the configuration asks for a report only"
    elif reason:
        finding.withheld = reason
    else:
        changes = _changes(ctx, variable, text)
        if changes is None:
            finding.withheld = f"there is no place to add {replacement}"
        else:
            finding.fix = Fix(
                "unsafe" if unsafe else "safe",
                f"move {VARIABLE} to {replacement}",
                changes,
                unsafe,
                [("options", OPTION)],
            )
    return finding


def _obstacle(ctx: SiteContext, variable: Variable, text: str) -> tuple[str, str]:
    """Return why there is no fix, and why a fix needs a person; both empty when it is safe."""
    if ctx.site.wrapper:
        return f"{ctx.site.wrapper} may look at the variable too", ""
    if variable.locked:
        return variable.locked, ""
    if variable.guarded:
        return f"the code is guarded by a version test ({variable.guarded})", ""
    if find(ctx.arguments, OPTION) is not None:
        return (
            f"the launch already has {OPTION}: its numbers are positions in the visible list; keep only one",
            "",
        )
    if not variable.only:
        return "other processes see the variable too", ""
    if any(v is not variable and v.name == VARIABLE for v in ctx.site.variables):
        return "the variable is set more than once", ""
    if _uses_ray(ctx):
        return "with Ray the option is ignored: placement groups decide which GPUs a worker gets", ""
    if _reads_variable(ctx):
        return "the command itself reads the variable", ""
    if not variable.literal:
        if variable.value and all(
            0xE000 <= ord(c) <= 0xF8FF or c.isdigit() or c == "," for c in variable.value
        ):
            return (
                "",
                "the list is only known at run time: it must be distinct numbers, as many as the launch has ranks",
            )
        return "the list is only known at run time", ""
    if not (_INTEGERS.fullmatch(text) or _UUIDS.fullmatch(text)):
        return "the value is no list of GPU numbers or of GPU UUIDs", ""
    names = text.split(",")
    if len({n.lstrip("0") or "0" if n.isdigit() else n for n in names}) != len(names):
        return "the list names a GPU twice", ""
    ranks = _ranks(ctx)
    if ranks is None and _of_values(ctx):
        return "", "the chart may give the launch more options: the list must have as many GPUs as it uses"
    if ranks is None:
        return "", "how many GPUs the launch uses is only known at run time; the list must be that long"
    if ranks != len(names):
        return f"the list has {len(names)} GPUs but the launch uses {ranks}", ""
    if ctx.origin is None and any(private(p) and not moving(p) for p in ctx.site.pins):
        return "", "nothing says which release the image holds: before 0.24.0 there is no such option"
    return "", ""


def _of_values(ctx: SiteContext) -> bool:
    """Tell whether the launch itself stands elsewhere, in a template that these values go into."""
    return ctx.site.entry_point == "values"


def _uses_ray(ctx: SiteContext) -> bool:
    for option in ("--distributed-executor-backend", "--data-parallel-backend"):
        argument = find(ctx.arguments, option)
        if argument is not None and argument.value not in ("mp", "uni", None):
            return True
    return find(ctx.arguments, "--worker-use-ray") is not None


def _reads_variable(ctx: SiteContext) -> bool:
    return any(VARIABLE in hole for word in ctx.site.words for hole in word.holes)


def _ranks(ctx: SiteContext) -> int | None:
    """Return how many GPUs the launch uses on this host, None where that cannot be read."""
    if ctx.site.open:
        return None
    total = 1
    for option in (
        "--tensor-parallel-size",
        "--pipeline-parallel-size",
        "--prefill-context-parallel-size",
    ):
        size = _size(find(ctx.arguments, option))
        if size is None:
            return None
        total *= size
    local = find(ctx.arguments, "--data-parallel-size-local") or find(ctx.arguments, "--data-parallel-size")
    size = _size(local)
    nodes = _size(find(ctx.arguments, "--nnodes"))
    if size is None or nodes is None or total * size % nodes:
        return None
    return total * size // nodes


def _size(argument: Argument | None) -> int | None:
    if argument is None:
        return 1
    value = argument.value
    if has_dynamic(value) or isinstance(value, bool):
        return None
    try:
        return int(str(value))
    except ValueError:
        return None


def _changes(ctx: SiteContext, variable: Variable, text: str) -> list[Change] | None:
    site = ctx.site
    if variable.branch != -1:
        # It is set only under a condition; the option would always hold.
        return None
    if site.entry_point in KEYWORDS:
        entries = [e for e in site.entries if not e.locked]
        home = entries[-1].container if entries else site.entry_home
        if home is None or variable.holes:
            return None
        names: list[int | str] = [int(n) if n.isdigit() else n for n in text.split(",")]
        return [
            Remove(variable),
            InsertEntry(home, "device_ids", names, after=entries[-1] if entries else None),
        ]
    if _of_values(ctx) and not site.words:
        return None
    words = [f"{OPTION}={text}"] if all_glued(ctx) else [OPTION, text]
    try:
        return [Remove(variable), add_words(ctx, words, variable.holes)]
    except NoFix:
        return None
