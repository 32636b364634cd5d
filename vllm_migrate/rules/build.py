"""Building vLLM from source: compilers, the C++ standard, build arguments, files of the tree (VM6xx)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vllm_migrate.findings import Finding, Fix
from vllm_migrate.lazy import regex
from vllm_migrate.model import Pin, is_hole
from vllm_migrate.rules.base_images import raised_rest
from vllm_migrate.rules.context import Context, PinContext
from vllm_migrate.rules.distribution import at_pin, join, join_moves, verdict_of
from vllm_migrate.rules.pin_tools import Verdict, editable, finding, kept, replacing
from vllm_migrate.rules.registry import Rule
from vllm_migrate.rules.source_build import (
    Distro,
    base_of,
    below,
    compiles_vllm,
    distro_of,
    floor_of,
    for_cuda,
    has_toolchain_archive,
    install_for,
    toolchains,
)
from vllm_migrate.versions_key import key

RULES = (
    Rule(
        "VM601",
        "compiler-floor",
        "error",
        "A compiler below the floor of the target's source build.",
        """What it does
Finds GCC versions in the packages, alternatives and CC/CXX of a file that compiles vLLM.
Why it matters
The build stops: 0.24.0 and later refuse GCC below 11.3, CUDA builds of 0.32.0 and later below 13.
Example
`apt-get install -y gcc-11 g++-11` and `ENV CC=gcc-11`, target 0.33.0
Use instead
`apt-get install -y gcc-13 g++-13` and `ENV CC=gcc-13`
Fix safety
All places change together. Safe where the base image is known to offer the package; unsafe elsewhere.""",
    ),
    Rule(
        "VM602",
        "cxx-standard",
        "error",
        "A C++ standard below that of the target's source build.",
        """What it does
Finds `-std=c++17` and `CMAKE_CXX_STANDARD` in a file that compiles vLLM.
Why it matters
The target's sources need a newer standard.
Example
`-DCMAKE_CXX_STANDARD=17`, target 0.33.0
Use instead
`-DCMAKE_CXX_STANDARD=20`
Fix safety
Safe.""",
    ),
    Rule(
        "VM603",
        "build-argument",
        "warning",
        "A build argument the target's Dockerfile does not declare, or a GPU it cannot build for.",
        """What it does
Compares `--build-arg` names of a build of vLLM's own Dockerfile with those each release declares.
Why it matters
An argument nothing declares is ignored with a warning: the build is not what was asked for.
Example
`--build-arg FLASHINFER_VERSION=0.6.4`, target 0.33.0
Use instead
Take it out; the release pins FlashInfer.
Fix safety
There is no fix: what the argument asked for has to be decided.""",
    ),
    Rule(
        "VM604",
        "dockerfile-path",
        "error",
        "A file of vLLM's tree that moved, is gone, or builds something else in the target.",
        """What it does
Follows `docker build -f` and requirement files of a vLLM checkout.
Why it matters
The file is not there, or builds for another ROCm.
Example
`docker build -f Dockerfile.cpu` in a checkout of 0.7.3, target 0.33.0
Use instead
`docker build -f docker/Dockerfile.cpu`
Fix safety
Safe: the new path is the same file.""",
    ),
)

_GCC = regex(
    r"(?<![\w.+-])(?P<tool>gcc-toolset|devtoolset|gcc|g\+\+|cpp|c\+\+|gfortran|libstdc\+\+)-(?P<version>\d+(?:\.\d+)?)(?![\w.])"
)
_PLAIN = regex(r"(?:build-essential|gcc|g\+\+)")
_STANDARD = regex(r"(?:-std=(?:c|gnu)\+\+|CMAKE_CXX_STANDARD(?::\w+)?=)(?P<standard>\d\d)")


def judge_pin(ctx: PinContext) -> Iterator[Finding]:
    """Judge the C++ standard, build arguments and paths of a file that builds vLLM."""
    pin = ctx.pin
    if pin.kind not in ("compiler", "build-arg", "path") or any(is_hole(c) for c in pin.text):
        return
    if not compiles_vllm(ctx):
        return
    if pin.kind == "compiler":
        yield from _standard(ctx, pin)
    elif pin.kind == "build-arg":
        yield from _build_arg(ctx, pin)
    else:
        yield from _path(ctx, pin)


def judge_file(ctx: Context) -> Iterator[Finding]:
    """Judge the compilers of a file as a whole: they change in step or not at all."""
    if not any(p.kind in ("package", "compiler") for p in ctx.reading.pins) or not compiles_vllm(ctx):
        return
    floor = floor_of(ctx)
    if not floor:
        return
    named: list[tuple[Pin, re.Match[str]]] = []
    for pin in ctx.reading.pins:
        if pin.kind in ("package", "compiler"):
            named += [(pin, m) for m in _GCC.finditer(pin.whole)]
    low = [(pin, m) for pin, m in named if below(m["version"], floor)]
    if low:
        yield _compilers(ctx, floor, low)
    elif not named:
        yield from _default_compiler(ctx, floor)


def _compilers(ctx: Context, floor: str, low: list[tuple[Pin, re.Match[str]]]) -> Finding:
    """One finding for all places that name the compiler."""
    pins = list({id(pin): pin for pin, _ in low}.values())
    versions = sorted({m["version"] for _, m in low}, key=lambda v: [int(n) for n in v.split(".")])
    new = install_for(floor)
    first = pins[0]
    subject = ", ".join(dict.fromkeys(m[0] for _, m in low))
    cuda = " for CUDA" if for_cuda(ctx) else ""
    says = f"vLLM {ctx.target.version} refuses GCC {', '.join(versions)}: it needs {floor} or newer{cuda}"
    help_text = f"Install gcc-{new} and g++-{new} and let CC, CXX and the alternatives name them."
    step = [p for p in ctx.reading.pins if p.kind in ("package", "compiler")]
    step = [p for p in step if any(below(m["version"], new) for m in _GCC.finditer(p.whole))]
    fix, withheld = _compiler_fix(ctx, step, new)
    if fix is not None:
        withheld = join(ctx, fix, first)
        fix = None if withheld else fix
    found = ctx.finding(
        "VM601",
        "error",
        subject,
        says,
        first,
        fix=fix,
        replacement=f"gcc-{new}",
        help=help_text,
        withheld=withheld,
        evidence=_evidence(floor),
    )
    found.related += [f"also {p.whole.strip()}" for p in pins[1:]]
    return found


def _evidence(floor: str) -> list[str]:
    return [e for row in toolchains()["compilers"] if row["floor"] == floor for e in row["evidence"]]


def _compiler_fix(ctx: Context, pins: list[Pin], new: str) -> tuple[Fix | None, str]:
    withheld = editable(ctx, pins) or kept(ctx)
    if withheld:
        return None, withheld
    fix = Fix("safe", f"build with GCC {new}", [])
    for pin in pins:
        if pin.kind == "package" and "=" in pin.whole:
            return None, f"{pin.whole} names a package version too; choose that of gcc-{new} by hand"
        change = replacing(pin, _GCC.sub(lambda m: _raise(m, new), pin.whole))
        if change is None:
            return None, "the version is put together from several places"
        fix.changes.append(change)
    left = _left_over(ctx, pins, new)
    if left:
        return None, f"{left} is named in a place that cannot be rewritten with the others"
    bases = {id(b): b for b in (base_of(ctx, p) for p in pins) if b is not None}
    if not bases:
        fix.safety, fix.why = "unsafe", f"whether the machine it is built on offers GCC {new}"
        return fix, ""
    for base in bases.values():
        withheld = _fit(ctx, fix, base, new)
        if withheld:
            return None, withheld
    return fix, ""


def _raise(match: re.Match[str], new: str) -> str:
    return f"{match['tool']}-{new}" if below(match["version"], new) else match[0]


def _fit(ctx: Context, fix: Fix, base: Pin, new: str) -> str:
    """Make sure a base image offers the compiler, raising it where that is known; return why not, or ""."""
    distro = distro_of(base.whole)
    if distro is None or _offers(ctx, distro, new):
        return ""
    verdict = verdict_of(at_pin(ctx, base, ""))
    better = distro_of(verdict.text) if verdict is not None and verdict.text else None
    if verdict is None or verdict.text is None or better is None or not _offers(ctx, better, new):
        raised = _raised(ctx, base)
        better = distro_of(raised) if raised else None
        if raised is None or better is None or not _offers(ctx, better, new):
            return f"{distro.name} has no gcc-{new}; take a newer base image"
        change = replacing(base, raised)
        why = "another distribution has other packages and another Python"
    else:
        change, why = replacing(base, verdict.text), verdict.why
    if change is None or editable(ctx, [base]):
        return editable(ctx, [base]) or f"{distro.name} has no gcc-{new}, and its line cannot be rewritten"
    fix.changes.append(change)
    fix.safety, fix.why = "unsafe", why
    return ""


def _raised(ctx: Context, base: Pin) -> str | None:
    """Return a CUDA base with its distribution raised, None for a base whose releases are not known."""
    found = re.search(r"(?:^|/)nvidia/cuda:\d+(?:\.\d+)*(?P<rest>-[\w.-]+)$", base.whole)
    if found is None:
        return None
    rest = raised_rest(ctx, found["rest"])
    return base.whole[: found.start("rest")] + rest if rest != found["rest"] else None


def _offers(ctx: Context, distro: Distro, version: str) -> bool:
    return version in distro.gcc or has_toolchain_archive(ctx)


def _left_over(ctx: Context, pins: list[Pin], new: str) -> str:
    """Return an old compiler named in the file's code outside the pins, "" where there is none."""
    places = [p.place for p in pins]
    at = 0
    for line in ctx.source.text.splitlines(keepends=True):
        code = not line.lstrip().startswith(("#", "//"))
        for match in _GCC.finditer(line) if code else ():
            start = at + match.start()
            inside = any(p.start <= start and at + match.end() <= p.end for p in places)
            if not inside and below(match["version"], new):
                return match[0]
        at += len(line)
    return ""


def _default_compiler(ctx: Context, floor: str) -> Iterator[Finding]:
    """The distribution's own compiler is used, and is below the floor."""
    for pin in ctx.reading.pins:
        if pin.kind != "package" or not _PLAIN.fullmatch(pin.whole.strip()):
            continue
        base = base_of(ctx, pin)
        distro = distro_of(base.whole) if base is not None else None
        if distro is None or not below(distro.default_gcc, floor):
            continue
        new = install_for(floor)
        says = (
            f"{pin.whole.strip()} on {distro.name} is GCC {distro.default_gcc}; "
            f"vLLM {ctx.target.version} needs {floor} or newer"
        )
        how = f"Install gcc-{new} and g++-{new} and set CC and CXX to them."
        if not _offers(ctx, distro, new):
            how = f"{distro.name} has no gcc-{new}: take a newer base image, or add an archive that has it."
        yield ctx.finding("VM601", "error", pin.whole.strip(), says, pin, help=how, evidence=_evidence(floor))
        return


def _standard(ctx: PinContext, pin: Pin) -> Iterator[Finding]:
    wanted = ctx.target.facts.get("cxx_standard")
    before = pin.region.text[max(0, pin.span.start - 60) : pin.span.start]
    lead = re.search(r"(?:CMAKE_CXX_STANDARD(?::\w+)?=|-std=(?:c|gnu)\+\+)[\"']?$", before)
    named = pin.name == "CMAKE_CXX_STANDARD"
    if not wanted:
        return
    found = _STANDARD.search(pin.whole)
    bare = re.fullmatch(r"\d\d", pin.whole) if lead or named else None
    standard = found["standard"] if found else bare[0] if bare else ""
    # C++98 is older than C++03.
    if not standard or int(wanted) <= int(standard) < 90:
        return
    says = f"vLLM {ctx.target.version} needs C++{wanted}; this asks for C++{standard}"
    verdict = Verdict("VM602", "error", f"C++{standard}", says, replacement=f"C++{wanted}")
    span = found.span("standard") if found else (0, 2)
    verdict.text = pin.whole[: span[0]] + str(wanted) + pin.whole[span[1] :]
    verdict.description, verdict.help = f"build with C++{wanted}", f"Ask for C++{wanted}, or leave it to vLLM."
    yield finding(ctx, pin, verdict)


def _build_arg(ctx: PinContext, pin: Pin) -> Iterator[Finding]:
    name, _, value = pin.whole.partition("=")
    name = pin.name or name
    declared = ctx.target.facts.get("build_args")
    target = ctx.target.version
    if name.lower() in {n.lower() for n in toolchains()["arch_args"]}:
        yield from _arch(ctx, pin, name, value)
    if not declared or name in declared or any(name == a.lower() for a in declared):
        return
    last = ""
    for version in ctx.catalog.releases:
        facts = ctx.catalog.release_facts(version)
        if key(version) < key(target) and name in (facts.get("build_args") or ()):
            last = version
    if not last:
        return
    says = f"vLLM's Dockerfile of {target} does not declare {name} ({last} did): the build ignores it"
    verdict = Verdict("VM603", "warning", name, says)
    verdict.help = toolchains()["build_args"].get(name, "Take the argument out")
    yield finding(ctx, pin, verdict)


def _arch(ctx: PinContext, pin: Pin, name: str, value: str) -> Iterator[Finding]:
    """GPUs the target's CUDA cannot build for."""
    major = str(ctx.target.facts.get("cuda") or "").split(".", 1)[0]
    lowest = toolchains()["lowest_arch"].get(major)
    if lowest is None:
        return
    least = [*map(int, lowest.split("."))]
    low = [a for a in re.findall(r"\d{1,9}\.\d{1,9}", value) if [*map(int, a.split("."))] < least]
    if low:
        says = f"CUDA {major} cannot build for compute capability {', '.join(low)}; the lowest is {lowest}"
        help_text = f"Take {', '.join(low)} out of {name}, or stay on a release built with an older CUDA."
        yield finding(ctx, pin, Verdict("VM603", "warning", name, says, help=help_text))


def _path(ctx: PinContext, pin: Pin) -> Iterator[Finding]:
    path, target = pin.whole, ctx.target.version
    says: list[str] = []
    code_severity = "error"
    removed = help_text = ""
    gone = False
    for row in toolchains()["paths"]:
        match = re.fullmatch(row["match"], path)
        if match is None or key(target) < key(row["since"]):
            continue
        if row.get("changed"):
            if ctx.origin is None or key(ctx.origin) >= key(row["since"]):
                continue
            code_severity = "error" if says else "warning"
        says.append(row["what"])
        removed, help_text = row["since"], row.get("help", "")
        if row["to"] is None:
            gone = True
            break
        path = match.expand(row["to"])
    if not says:
        return
    known = ctx.target.facts.get("dockerfiles")
    message = f"{pin.whole}: {'; '.join(says)} (since {removed})"
    verdict = Verdict("VM604", "warning" if code_severity == "warning" else "error", pin.whole, message)
    verdict.removed_in, verdict.help = removed, help_text
    if not gone:
        verdict.help = verdict.help or f"Use {path}."
        if known and path.startswith("docker/") and path not in known:
            verdict.withheld = f"{target} has no {path}"
        verdict.text, verdict.replacement, verdict.description = path, path, f"use {path}"
    found = finding(ctx, pin, verdict)
    if not gone:
        join_moves(ctx, found)
    yield found
