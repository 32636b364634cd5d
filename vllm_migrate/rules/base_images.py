"""Decides what becomes of the base image vLLM is installed or built on: its CUDA, its C library."""

from __future__ import annotations

import re

from vllm_migrate.distribution import major
from vllm_migrate.model import Pin
from vllm_migrate.rules.context import Context
from vllm_migrate.rules.image_moves import cuda_of, needs_of, why_new_cuda
from vllm_migrate.rules.pin_tools import Verdict, pins_of
from vllm_migrate.rules.source_build import (
    base_of,
    below,
    compiles_vllm,
    distro_of,
    floor_of,
    for_cuda,
    install_for,
    old_python,
    toolchains,
)
from vllm_migrate.rules.specifiers import conflict, specifier_of
from vllm_migrate.versions_key import matches


def judge_base(ctx: Context, pin: Pin, wanted: str) -> Verdict | None:
    """Return what is to be said of a base image that is not vLLM's: of its CUDA and its C library.

    Args: wanted: the CUDA channel of the vLLM that is installed on it.
    """
    installs = [p for p in pins_of(ctx.reading).ours if p.kind in ("requirement", "url", "git")]
    compiles = compiles_vllm(ctx)
    if not installs and not compiles:
        return None
    cuda = re.search(r"(?:^|/)nvidia/cuda:(?P<version>(?P<major>\d+)(?:\.\d+)*)(?P<rest>-[\w.-]+)?$", pin.whole)
    if cuda is not None and for_cuda(ctx):
        return _cuda_base(ctx, pin, cuda, compiles, wanted)
    other = re.search(r"(?:^|/)pytorch/pytorch:.{0,200}?cuda(?P<version>(?P<major>\d+)\.\d+)", pin.whole)
    if other is not None and for_cuda(ctx) and wanted and int(other["major"]) < int(major(wanted)):
        says = f"{pin.whole} has CUDA {other['version']}, vLLM {ctx.target.version} is built for {cuda_of(wanted)}"
        help_text = f"take a base with CUDA {cuda_of(wanted)} and the torch that {ctx.target.version} requires"
        return Verdict("VM503", "warning", pin.whole, says, help=help_text, why=why_new_cuda(wanted))
    return None if compiles else _glibc(ctx, pin)


def _cuda_base(
    ctx: Context, pin: Pin, cuda: re.Match[str], compiles: bool, wanted: str
) -> Verdict | None:
    if not wanted or int(cuda["major"]) >= int(major(wanted)):
        return None if compiles else _glibc(ctx, pin)
    fact = str(ctx.target.facts.get("cuda") or "")
    version = fact if fact.split(".", 1)[0] == major(wanted) else ""
    says = f"{pin.whole} has CUDA {cuda['version']}, vLLM {ctx.target.version} is built for {cuda_of(wanted)}"
    verdict = Verdict("VM503", "warning", pin.whole, says, help=f"before moving make sure of {needs_of(wanted)}")
    rest = re.sub(r"-cudnn\d+", "-cudnn", cuda["rest"] or "")
    gone = next((d for d in toolchains()["base_gone"].get(major(wanted), ()) if d in rest), "")
    if gone:
        verdict.withheld = f"there is no CUDA {cuda_of(wanted)} base on {gone}; choose ubuntu22.04 or later by hand"
        return verdict
    if not version or not rest:
        verdict.withheld = f"choose a base with CUDA {cuda_of(wanted)} by hand"
        return verdict
    raised = raised_rest(ctx, rest) if compiles else rest
    if raised == rest:
        raised = _for_python(ctx, pin, rest)
    verdict.text = pin.whole[: cuda.start("version")] + version + raised
    verdict.replacement, verdict.description = verdict.text, f"move {pin.whole} to {verdict.text}"
    verdict.safety, verdict.why = "unsafe", why_new_cuda(wanted)
    if raised != rest:
        verdict.why += "; another Ubuntu has other packages and another Python"
    return verdict


def _for_python(ctx: Context, pin: Pin, rest: str) -> str:
    """Return the flavour of a base with its distribution raised where vLLM is installed for its own old Python."""
    found = old_python(ctx)
    if found is None or base_of(ctx, found[0]) is not pin:
        return rest
    up = toolchains()["base_raises"].get(found[1].name, "")
    better = distro_of(up)
    mine = specifier_of(better.python, minor=True) if better is not None else None
    if not mine or conflict(mine, found[2]):
        return rest
    return re.sub(r"ubuntu\d\d\.\d\d", up, rest)


def raised_rest(ctx: Context, rest: str) -> str:
    """Return the flavour of a base with its distribution raised where its compilers are below the floor."""
    floor = floor_of(ctx)
    distro = distro_of(rest)
    if not floor or distro is None or not all(below(v, floor) for v in distro.gcc):
        return rest
    up = toolchains()["base_raises"].get(distro.name, "")
    better = distro_of(up)
    if better is None or install_for(floor) not in better.gcc:
        return rest
    return re.sub(r"ubuntu\d\d\.\d\d", up, rest)


def _glibc(ctx: Context, pin: Pin) -> Verdict | None:
    """The wheel needs a C library that the base image does not have."""
    distro = distro_of(pin.whole)
    if distro is None:
        return None
    for row in toolchains()["wheel_glibc"]:
        if matches(row["releases"], ctx.target.version) and below(distro.glibc, row["glibc"]):
            says = f"the {ctx.target.version} wheel needs glibc {row['glibc']}, {distro.name} has {distro.glibc}"
            help_text = "take a newer base image; pip would otherwise try to compile vLLM"
            return Verdict("VM503", "error", pin.whole, says, help=help_text)
    return None
