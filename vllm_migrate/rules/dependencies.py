"""What vLLM requires beside it: packages, Python, and features that became packages of their own (VM7xx)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from vllm_migrate.catalog import Release
from vllm_migrate.distribution import distribution
from vllm_migrate.findings import Finding, Fix
from vllm_migrate.lazy import regex
from vllm_migrate.model import InsertText, Pin, Site, is_hole
from vllm_migrate.rules.context import Context, PinContext
from vllm_migrate.rules.distribution import join, join_moves, wanted_channel
from vllm_migrate.rules.pin_tools import Verdict, finding, pins_of
from vllm_migrate.rules.registry import Rule
from vllm_migrate.rules.source_build import old_python, plugin_beside, toolchains
from vllm_migrate.rules.specifiers import Spec, conflict, ordered, python_text, specifier_of
from vllm_migrate.versions import (
    RequirementVersion,
    about_vllm,
    normalize_name,
    requirement_of,
)
from vllm_migrate.versions_key import key

_DOCS = """What it does
Compares a requirement in a file that installs vLLM with what the target requires.
Why it matters
No version satisfies both, so the resolver refuses, or an older vLLM is installed instead.
Example
{example}
Use instead
{instead}
Fix safety
Safe beside vLLM's own requirement, when that can move along; unsafe elsewhere, since other things may be
installed from the same file."""

RULES = (
    Rule(
        "VM701",
        "transformers",
        "error",
        "A requirement on transformers that no version satisfies together with the target's.",
        _DOCS.format(
            example="`transformers<5`, target 0.33.0", instead="`transformers>=5.16.1,<5.21.0`"
        ),
    ),
    Rule(
        "VM702",
        "torch",
        "error",
        "A requirement on torch, torchvision or torchaudio that conflicts with the target's.",
        _DOCS.format(example="`torch==2.11.0`, target 0.33.0", instead="`torch==2.14.0`"),
    ),
    Rule(
        "VM703",
        "triton",
        "error",
        "A requirement on triton that conflicts with the target's.",
        _DOCS.format(example="`triton==3.4.0`, target 0.33.0", instead="`triton~=3.8.0`"),
    ),
    Rule(
        "VM704",
        "python",
        "error",
        "A Python version that the target does not run on.",
        """What it does
Compares Python versions of environments and projects that install vLLM with those of the target.
Why it matters
pip and uv pass over releases that do not support the interpreter, and install an old vLLM in silence.
Example
`requires-python = ">=3.9,<3.11"`, target 0.33.0
Use instead
`requires-python = ">=3.11,<3.15"`
Fix safety
Unsafe: everything else in the environment runs on the new interpreter too.""",
    ),
    Rule(
        "VM706",
        "requirement-conflict",
        "error",
        "A requirement on another package that conflicts with the target's, or is left over from an old one.",
        _DOCS.format(example="`openai<2`, target 0.33.0", instead="`openai>=2.25.0`"),
    ),
)

_COMMAND_END = regex(r"&&|;|\|\||(?<!\\)(?<!\\\r)\n")
_TORCH = ("VM702", "VM703")
_CODES = {
    "transformers": "VM701",
    "torch": "VM702",
    "torchvision": "VM702",
    "torchaudio": "VM702",
    "triton": "VM703",
}


def judge_pin(ctx: PinContext) -> Iterator[Finding]:
    """Judge a requirement or a Python version of a file that has to do with vLLM."""
    if not _regenerated(ctx, ctx.pin):
        yield from _pin(ctx)


def _pin(ctx: PinContext) -> Iterator[Finding]:
    pin = ctx.pin
    if any(is_hole(c) for c in pin.text) or pin.kind not in ("requirement", "python", "base"):
        return
    company = _company(ctx, pin)
    if not company:
        return
    if pin.kind == "python":
        yield from _python(ctx, pin, pin.text)
        return
    if pin.kind == "base":
        image = re.search(r"(?:^|/)python:(?P<version>3\.\d+)(?=$|[.-])", pin.whole)
        if image is not None:
            yield from _python_image(ctx, pin, image)
        return
    found = requirement_of(pin)
    if found is None or about_vllm(pin):
        return
    requirement, text = found
    if requirement.name == "python":
        yield from _python(ctx, pin, text[requirement.start : requirement.end])
        return
    yield from _extras(ctx, pin, requirement, text)
    yield from _leftover(ctx, pin, requirement)
    yield from _requirement(ctx, pin, requirement, text, company)


def judge_file(ctx: Context) -> Iterator[Finding]:
    """Judge what only the whole file shows: a generated list of requirements, a distribution's own Python."""
    yield from _listed(ctx)
    yield from _distribution_python(ctx)


def _regenerated(ctx: Context, pin: Pin) -> bool:
    """Tell whether a pin is one line of a generated list, which is answered as a whole: generate it anew."""
    return pin.kind == "requirement" and bool(pin.locked) and any(p.kind == "generated" for p in ctx.reading.problems)


def _listed(ctx: Context) -> Iterator[Finding]:
    """Report a generated list (a lock file) once, with every conflicting line of it."""
    pins = [p for p in ctx.reading.pins if _regenerated(ctx, p)]
    found = sorted(
        (f for p in pins for f in _pin(PinContext(**vars(ctx), pin=p))), key=lambda f: (f.severity != "error", f.span)
    )
    if len(found) < 2:
        yield from found
        return
    reason = next(p.locked for p in pins)
    whole = found[0]
    count = f"{len(found)} requirements of this file do not go with vLLM {ctx.target.version}"
    related = [f"line {ctx.source.position(f.span.start)[0]}: {_briefly(f)}" for f in found]
    whole.code, whole.message, whole.related = "VM706", f"{count}: {reason}", related
    whole.subject, whole.replacement, whole.help = ctx.path.rsplit("/", 1)[-1], None, "Generate the file anew."
    yield whole


def _briefly(found: Finding) -> str:
    return f"{found.subject}, vLLM requires {found.replacement}" if found.replacement else found.message


def _distribution_python(ctx: Context) -> Iterator[Finding]:
    """Report vLLM installed for a distribution's own Python that the target does not run on."""
    found = old_python(ctx)
    if found is None:
        return
    pin, distro, wanted = found
    spec = ordered(wanted)
    says = f"the Python of {distro.name} is {distro.python}; vLLM {ctx.target.version} runs on {spec}"
    help_text = f"Take a newer base image, or make an environment whose Python satisfies {spec}."
    yield ctx.finding("VM704", "error", pin.whole.strip(), says, pin, help=help_text, replacement=spec)


def _company(ctx: Context, pin: Pin) -> str:
    """Return how a pin belongs to vLLM: "same" scope, "file" (elsewhere in it), or "" (not at all)."""
    pins = pins_of(ctx.reading)
    if pin.owner in pins.owners or (pin.kind == "python" and pin.name == "vllm"):
        return "same"
    if pins.ours or ctx.reading.sites:
        return "file"
    return ""


def _pinned(ctx: Context, pin: Pin) -> bool:
    """Tell whether the vLLM installed together with a requirement is given a version."""
    beside = [requirement_of(p) for p in pins_of(ctx.reading).about.get(pin.owner, ())]
    plain = [r for r in beside if r is not None and r[0].name == "vllm"]
    return not plain or any(r[0].clauses for r in plain)


def _replaced_later(ctx: Context, pin: Pin) -> bool:
    """Tell whether a command installs a package and a later one vLLM, which then brings its own version."""
    if pin.container.host != "shell":
        return False
    text = pin.region.source.text
    places = [p.place for p in pins_of(ctx.reading).about.get(pin.owner, ()) if p is not pin]
    between = [text[pin.place.end : place.start] for place in places if place.start >= pin.place.end]
    return len(between) == len(places) > 0 and all(_COMMAND_END.search(part) for part in between)


def required(ctx: Context) -> Mapping[str, str]:
    """Return name → specifier of what the target requires on the device at hand."""
    return _required(ctx.target, ctx.device == "rocm")


@lru_cache(maxsize=8)
def _required(target: Release, rocm: bool) -> Mapping[str, str]:
    facts = target.facts
    raw = dict(facts.get("requires") or {})
    if rocm:
        raw.update(facts.get("requires_rocm") or {})
    return {normalize_name(name): str(spec or "") for name, spec in raw.items()}


def _requirement(
    ctx: PinContext, pin: Pin, requirement: RequirementVersion, text: str, company: str
) -> Iterator[Finding]:
    wanted = specifier_of(required(ctx).get(requirement.name, ""))
    mine = specifier_of(text[requirement.start : requirement.end])
    if wanted is None or mine is None or not wanted or not mine or not conflict(mine, wanted):
        return
    code = _CODES.get(requirement.name, "VM706")
    if code in _TORCH and plugin_beside(ctx):
        return
    spec = ordered(wanted)
    subject = requirement.name + re.sub(r"\s+", "", text[requirement.start : requirement.end])
    says = f"vLLM {ctx.target.version} requires {requirement.name}{spec}; no version satisfies {subject} too"
    verdict = Verdict(code, "error", subject, says, replacement=f"{requirement.name}{spec}")
    verdict.help = f"Write {requirement.name}{spec}, or take the line out and let vLLM choose."
    new = _spelled(requirement, text, spec, _local(ctx, pin, requirement))
    verdict.text = new if text == pin.whole else pin.prefix + new + pin.suffix
    verdict.description = f"move {subject} to {requirement.name}{spec}"
    if company != "same":
        verdict.safety, verdict.why = "unsafe", "what else is installed from here with this requirement"
    elif not _pinned(ctx, pin):
        verdict.safety, verdict.why = "unsafe", "vllm has no version here: the old bound may be what chooses it"
    if _replaced_later(ctx, pin):
        verdict.severity, verdict.message = "warning", f"{says}; installing vLLM after it puts another in its place"
        verdict.safety, verdict.why = "unsafe", "what runs before vLLM is installed may need this version"
    found = finding(ctx, pin, verdict)
    join_moves(ctx, found)
    yield found


def _spelled(requirement: RequirementVersion, text: str, spec: str, local: str) -> str:
    """Return the requirement with another specifier, spaced and operated as the old one."""
    old = text[requirement.start : requirement.end]
    exact = re.fullmatch(r"==([\w.!]+)", spec)
    clause = requirement.clauses[0]
    if exact is not None and len(requirement.clauses) == 1 and clause.op in ("==", "===", "="):
        return text[: clause.start] + exact[1] + local + text[clause.end :]
    if exact is not None and text[: requirement.start].rstrip() == "" and clause.op == "":
        return text[: clause.start] + exact[1] + text[clause.end :]
    if re.search(r"[<>=~!]\s+\d", old):
        spec = re.sub(r"([<>=~!]{1,3})(?=\d)", r"\1 ", spec).replace(",", ", ")
    elif ", " in old:
        spec = spec.replace(",", ", ")
    open_, close = ("(", ")") if old.startswith("(") and old.endswith(")") else ("", "")
    begin = requirement.start
    # A prefix that ends in the operator is the format's way to spell an exact pin: the rest of it stays outside.
    return text[:begin] + open_ + spec + close + text[requirement.end :]


def _local(ctx: Context, pin: Pin, requirement: RequirementVersion) -> str:
    """Return the local version to write: the channel of vLLM's wheel where the old pin named one."""
    if not requirement.channel.startswith("cu"):
        return ""
    channel = wanted_channel(ctx, pin)
    return f"+{channel}" if channel else ""


def _extras(ctx: PinContext, pin: Pin, requirement: RequirementVersion, text: str) -> Iterator[Finding]:
    """An extra that the target has no use for any more (`ray[cgraph]`)."""
    for row in toolchains()["extras"]:
        gone = [e for e in requirement.extras if e in row["extras"]]
        if requirement.name != row["requirement"] or not gone or key(ctx.target.version) < key(row["since"]):
            continue
        kept = [e for e in requirement.extras if e not in gone]
        name = re.match(r"\s*[A-Za-z][\w.-]*", text)
        bracket = re.search(r"(?<!\s)\s*\[[^\[\]]*\]", text)
        if name is None or bracket is None:
            continue
        new = text[: bracket.start()] + (f"[{','.join(kept)}]" if kept else "") + text[bracket.end() :]
        subject = f"{requirement.name}[{','.join(gone)}]"
        verdict = Verdict(row["code"], "info", subject, f"{row['what']} (since {row['since']})")
        verdict.text = new if text == pin.whole else pin.prefix + new + pin.suffix
        verdict.replacement = requirement.name
        verdict.description = f"replace {subject} by {requirement.name}"
        verdict.evidence, verdict.help = row["evidence"], f"Require plain {requirement.name}."
        verdict.removed_in = row["since"]
        found = finding(ctx, pin, verdict)
        join_moves(ctx, found)
        yield found


def _leftover(ctx: PinContext, pin: Pin, requirement: RequirementVersion) -> Iterator[Finding]:
    """A package older releases brought that harms or does nothing beside the target."""
    for row in toolchains()["leftovers"]:
        if requirement.name != row["requirement"] or key(ctx.target.version) < key(row["since"]):
            continue
        verdict = Verdict("VM706", "warning", requirement.name, row["what"], help=row["help"])
        verdict.evidence, verdict.removed_in = row["evidence"], row["since"]
        yield finding(ctx, pin, verdict)


def _python(ctx: PinContext, pin: Pin, text: str) -> Iterator[Finding]:
    wanted = specifier_of(str(ctx.target.facts.get("python") or ""))
    mine = specifier_of(python_text(text), minor=True)
    if not wanted or not mine:
        return
    spec = ordered(wanted)
    subject = f"python {text.strip()}"
    if not conflict(mine, wanted):
        yield from _too_wide(ctx, pin, text, mine, wanted)
        return
    says = f"vLLM {ctx.target.version} runs on Python {spec}; {text.strip()} leaves that out"
    verdict = Verdict("VM704", "error", subject, says, replacement=spec)
    verdict.help = f"Give the environment a Python that satisfies {spec}."
    new = _python_spelled(text, spec)
    if new is not None:
        verdict.text = pin.whole.replace(text, new, 1)
        verdict.description = f"move Python {text.strip()} to {new.strip()}"
    verdict.safety, verdict.why = "unsafe", "whether everything else here runs on that Python"
    yield finding(ctx, pin, verdict)


def _too_wide(ctx: PinContext, pin: Pin, text: str, mine: Spec, wanted: Spec) -> Iterator[Finding]:
    """A project that promises older Pythons than vLLM runs on: resolvers that lock for all of them refuse."""
    low = re.search(r">=\s*(3\.\d{1,3})\b", text)
    floor = re.search(r">=\s*(3\.\d+)", ordered(wanted))
    if low is None or floor is None or pin.kind != "python" or key(low[1]) >= key(floor[1]):
        return
    says = f"vLLM {ctx.target.version} needs Python {floor[1]}; {text.strip()} also promises {low[1]}"
    verdict = Verdict("VM704", "info", f"python {text.strip()}", says, replacement=f">={floor[1]}")
    verdict.help = f"Raise the lower bound to {floor[1]} where vLLM is not optional."
    verdict.text = pin.whole.replace(low[0], low[0].replace(low[1], floor[1]), 1)
    verdict.description = f"raise the lowest Python to {floor[1]}"
    verdict.safety, verdict.why = "unsafe", f"whether support for Python {low[1]} may be given up"
    if all(p.conditional for p in pins_of(ctx.reading).ours):
        verdict.withheld = "vLLM is optional here: give its requirement a marker instead"
    yield finding(ctx, pin, verdict)


def _lowest(spec: str) -> str:
    found = re.search(r">=\s*(3\.\d+)", spec)
    return found[1] if found else ""


def _python_spelled(text: str, spec: str) -> str | None:
    """Return the new text of a Python pin: the lowest supported version for an exact one, else the range."""
    body = text.strip()
    exact = re.fullmatch(r"(?P<head>(?:python)?(?:==?)?)(?P<version>3\.\d+)(?P<tail>(?:\.\d+)?(?:\.\*)?)", body)
    lowest = _lowest(spec)
    if exact is not None:
        star = ".*" if exact["tail"].endswith(".*") else ""
        return text.replace(body, f"{exact['head']}{lowest}{star}", 1) if lowest else None
    if re.match(r"[<>=~!^]", body):
        return text.replace(body, spec.replace(",", ", ") if ", " in body else spec, 1)
    return None


def _python_image(ctx: PinContext, pin: Pin, image: re.Match[str]) -> Iterator[Finding]:
    wanted = specifier_of(str(ctx.target.facts.get("python") or ""))
    installs = [p for p in pins_of(ctx.reading).ours if p.kind in ("requirement", "url", "git")]
    mine = specifier_of(image["version"], minor=True)
    if not wanted or not mine or not installs or not conflict(mine, wanted):
        return
    spec = ordered(wanted)
    says = f"vLLM {ctx.target.version} runs on Python {spec}; {pin.whole} has {image['version']}"
    verdict = Verdict("VM704", "error", pin.whole, says)
    lowest = _lowest(spec)
    if lowest and not re.match(r"\.\d", pin.whole[image.end() :]):
        verdict.text = pin.whole[: image.start("version")] + lowest + pin.whole[image.end() :]
        verdict.replacement, verdict.description = verdict.text, f"move {pin.whole} to {verdict.text}"
    verdict.safety, verdict.why = "unsafe", "whether everything else in the image runs on that Python"
    verdict.help = f"Take a base image with a Python that satisfies {spec}."
    yield finding(ctx, pin, verdict)


def plugin_changes(ctx: Context, plugin: str) -> Fix | None:
    """Return the fix that installs the package a feature moved into, None where the file shows no place.

    Args: plugin: the value that asks for the feature (`gguf`, `bitsandbytes`). The package goes beside
    vLLM's own requirement, or into a step of an image built from a vLLM image.
    """
    row = distribution().plugins.get(plugin.lower())
    if row is None or key(ctx.target.version) < key(row.since):
        return None
    name = normalize_name(row.requirement)
    for pin in ctx.reading.pins:
        found = requirement_of(pin) if pin.kind == "requirement" else None
        if found is not None and found[0].name == name:
            return None
    site: Site | None = getattr(ctx, "site", None)
    near = [*(site.pins if site is not None else ()), *ctx.reading.pins]
    # What is downloaded or cloned is not installed there.
    kinds = ("requirement", "url", "git")
    for pin in sorted((p for p in near if p.kind in kinds and about_vllm(p)), key=lambda p: kinds.index(p.kind)):
        if not pin.guarded and not _closed(pin):
            return _install(ctx, InsertText(pin, "requirement", row.requirement), "vLLM's requirement")
    for pin in near:
        if pin.kind == "base" and about_vllm(pin) and not pin.guarded and not _closed(pin):
            step = f"RUN uv pip install --system {row.requirement}"
            return _install(ctx, InsertText(pin, "step", step), "the base image")
    return None


def _install(ctx: Context, change: InsertText, where: str) -> Fix | None:
    """Return the fix that adds a package; together with the move of a vLLM that still has the feature."""
    fix = Fix("safe", f"install {change.text.split()[-1]} beside {where}", [change])
    return None if join(ctx, fix, change.item, itself=True) else fix


def _closed(pin: Pin) -> bool:
    """Tell whether nothing may be added at a pin: a generated file, not merely a digest or a missing ref."""
    return bool(pin.locked) and not any(w in pin.locked for w in ("digest", "no ref", "also used", "more than once"))
