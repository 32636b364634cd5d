"""Which statements of a long shell script have a bearing on a launch."""

from __future__ import annotations

from functools import lru_cache

from vllm_migrate.hosts.bearing import Telling, bearing, blanked, joined, marks, quiet_parts
from vllm_migrate.hosts.shell_programs import TELLING
from vllm_migrate.hosts.shell_skim import statements
from vllm_migrate.launch import launchers
from vllm_migrate.lazy import regex
from vllm_migrate.speaks import Names
from vllm_migrate.text import Region, Span

_MADE = regex(
    r"(?<![\w$-])([A-Za-z_]\w*)(?:\[[^\]\n]{0,300}\]\+?=|\+?=|[ \t]*\([ \t]*\))|(?:function|for|select)[ \t]+([\w.:-]+)"
    r"|\$\{([A-Za-z_]\w*):?="
)
_READ = regex(r"\b(?:read|mapfile|readarray|getopts|printf[ \t]+-v)\b([^\n;|&<]*)")
_WRITTEN = regex(r">[ \t]*[\"']?(?:[^\s\"'/;&|()<>]*/)*([\w-]+)")
_NAME = regex(r"[A-Za-z_]\w*")
_CHANGES = frozenset(("set", "shift", "source", "eval", "exec", "alias", "cd", "pushd"))
"""What changes how the rest of a script is read."""
_CMAKE = Telling(("CMAKE_",), regex("CMAKE_"))
_ALSO = Telling((". ", ".\t", "CMAKE_"), regex(r"(?m)(?:^|[;&|({])[ \t]*\.[ \t]|CMAKE_"))
_SHARED = regex(r"\b(?:export|declare|typeset|readonly|unset|allexport)\b|\bset[ \t]+-\w*a")
"""What is set for every program: then each command counts, since it may read it."""


def without_the_rest(region: Region) -> str:
    """Return a script with blanks for the statements that have no bearing on a launch; every offset stays."""
    return blanked(region.text, quiet_parts("shell", region, _quiet))


def _quiet(text: str) -> list[Span]:
    if _SHARED.search(text):
        return []
    spans = statements(text)
    if spans is None or len(spans) < 2:
        return []
    return joined(spans, bearing(text, spans, _seeds(), _makes, _ALSO))


def speaking(text: str) -> list[int]:
    """Return where in the text around some commands a word stands that a launch or a pin may have, in order.

    A command that stands by itself and holds none neither starts, configures nor pins anything looked for.
    """
    return marks(text, _seeds_of_a_step(), _CMAKE)


def _looked_for() -> frozenset[str]:
    tools = launchers()
    return TELLING.union(tools["container_tools"], tools["cluster_tools"], tools["image_tools"])


@lru_cache(maxsize=1)
def _seeds() -> Names:
    return Names(_looked_for() | _CHANGES)


@lru_cache(maxsize=1)
def _seeds_of_a_step() -> Names:
    return Names(_looked_for())


def _makes(number: int, text: str) -> set[str]:
    # Most commands make nothing, and looking for a word is much faster than for a pattern.
    out: set[str] = set()
    if "=" in text or "(" in text or "for" in text or "function" in text or "select" in text:
        out.update(name for found in _MADE.findall(text) for name in found if name)
    if "read" in text or "mapfile" in text or "getopts" in text or "printf" in text:
        for found in _READ.findall(text):
            out.update(_NAME.findall(found))
    if ">" in text:
        out.update(name for name in _WRITTEN.findall(text) if name != "null")
    return out
