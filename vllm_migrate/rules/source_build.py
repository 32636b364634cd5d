"""Tells whether a file builds vLLM from source, for which device, and on which distribution."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from vllm_migrate.distribution import read
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Pin
from vllm_migrate.rules.context import Context
from vllm_migrate.rules.pin_tools import pins_of
from vllm_migrate.rules.specifiers import Spec, conflict, specifier_of


@dataclass(frozen=True)
class Distro:
    """A Linux distribution as a base image names it: the compilers in its archive, its C library."""

    name: str
    gcc: tuple[str, ...]
    default_gcc: str
    glibc: str
    python: str


@lru_cache(maxsize=1)
def toolchains() -> dict[str, Any]:
    """Return `schemas/toolchains.json`, read once."""
    return read("toolchains.json")


@lru_cache(maxsize=8)
def _says(text: str, what: str) -> bool:
    """Tell whether a text holds one of some patterns. Kept: each pin of a file asks."""
    return any(re.search(p, text, re.M) for p in toolchains()[what])


def other_device(ctx: Context) -> bool:
    """Tell whether a file builds vLLM for another device than CUDA, whose torch comes from elsewhere."""
    return _says(ctx.source.text, "other_device")


def plugin_beside(ctx: Context) -> bool:
    """Tell whether a file builds vLLM for a device that only a plugin of its own release line serves."""
    return re.search(toolchains()["plugin_device"], ctx.source.text) is not None


def code_of(ctx: Context) -> str:
    """Return the file's text without lines that are only a comment."""
    return _code(ctx.source.text)


@lru_cache(maxsize=2)
def _code(text: str) -> str:
    return "\n".join("" if line.lstrip().startswith(("#", "//")) else line for line in text.splitlines())


def compiles_vllm(ctx: Context) -> bool:
    """Tell whether the file compiles vLLM itself (not an editable checkout over a finished wheel)."""
    text = code_of(ctx)
    if _says(text, "not_compiled"):
        return False
    return pins_of(ctx.reading).cloned or _says(text, "source_build")


def for_cuda(ctx: Context) -> bool:
    """Tell whether what is built or installed is for CUDA: vLLM's default unless the file says otherwise."""
    if ctx.device not in ("", "cuda"):
        return False
    return not _says(code_of(ctx), "other_device")


def distro_of(reference: str) -> Distro | None:
    """Return the distribution a base image names, None where it does not say."""
    for row in toolchains()["distributions"]:
        if re.search(rf"(?:^|[/:_.-])(?:{row['match']})(?![0-9])", reference):
            return Distro(row["name"], tuple(row["gcc"]), row["default"], row["glibc"], row["python"])
    return None


def base_of(ctx: Context, pin: Pin) -> Pin | None:
    """Return the base image a pin's step runs in: of the same stage, else the only one of the file."""
    bases = [p for p in ctx.reading.pins if p.kind == "base" and distro_of(p.whole) is not None]
    mine = [p for p in bases if p.owner == pin.owner]
    if mine:
        return mine[0]
    return bases[0] if len({p.whole for p in bases}) == 1 else None


def old_python(ctx: Context) -> tuple[Pin, Distro, Spec] | None:
    """Return the package that installs a distribution's own Python which the target does not run on.

    With it: the distribution, and the Python the target wants. None where vLLM is not installed for it.
    """
    wanted = specifier_of(str(ctx.target.facts.get("python") or ""))
    installs = [p for p in pins_of(ctx.reading).ours if p.kind in ("requirement", "url", "git")]
    if not wanted or not installs or re.search(toolchains()["other_python"], code_of(ctx)):
        return None
    for pin in ctx.reading.pins:
        if pin.kind != "package" or not re.fullmatch(r"python3(?:-(?:pip|dev|venv|full))?", pin.whole.strip()):
            continue
        base = base_of(ctx, pin)
        distro = distro_of(base.whole) if base is not None else None
        mine = specifier_of(distro.python, minor=True) if distro is not None else None
        if distro is not None and mine and conflict(mine, wanted):
            return pin, distro, wanted
    return None


def has_toolchain_archive(ctx: Context) -> bool:
    """Tell whether the file adds an archive with newer compilers."""
    return any(mark in ctx.source.text for mark in toolchains()["toolchain_archives"])


def floor_of(ctx: Context) -> str:
    """Return the lowest GCC the target builds with here, "" where it names none."""
    compiler = ctx.target.facts.get("compiler") or {}
    cuda = compiler.get("gcc_cuda") if for_cuda(ctx) else None
    return str(cuda or compiler.get("gcc") or "")


def install_for(floor: str) -> str:
    """Return the GCC major to install for a floor."""
    for row in toolchains()["compilers"]:
        if row["floor"] == floor:
            return str(row["install"])
    return floor.split(".", 1)[0]


def below(version: str, floor: str) -> bool:
    """Tell whether a compiler version as written (`11`, `11.2`) is certainly below a floor.

    >>> below("11", "11.3"), below("10", "11.3"), below("11.2", "11.3")
    (False, True, True)
    """
    have = [int(n) for n in version.split(".")]
    want = [int(n) for n in floor.split(".")]
    size = min(len(have), len(want))
    return have[:size] < want[:size]
