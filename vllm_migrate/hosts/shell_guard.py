"""Finds the version test a command stands under."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vllm_migrate.hosts.shell_lex import Hole
from vllm_migrate.hosts.shell_region import uses_of
from vllm_migrate.hosts.shell_tree import Node
from vllm_migrate.lazy import regex

if TYPE_CHECKING:
    from vllm_migrate.hosts.shell_script import Script

_VERSION_TEST = regex(
    r"sort\s+(?:-\w+\s+){0,9}-\w*V|__version__|vllm\s+--version|vllm\s+-v\b|compare-versions"
    r"|\b\w*ver(?:sion)?_?(?:lte?|gte?|le|ge|eq|at_least|less|greater|compare|cmp)\b",
    re.IGNORECASE,
)


def guard(script: Script, node: Node | None) -> str:
    """Return the text of a version test that decides whether a command runs, or ""."""
    if node is None:
        return ""
    last = node
    for holder in node.ancestors():
        tests: list[Node] = []
        if holder.kind == "if" and last.role in ("then", "else"):
            stop = holder.children.index(last)
            tests = [c for c in holder.children[:stop] if c.role == "cond"]
        elif holder.kind == "statement" and holder.children[0] is not last:
            tests = holder.children[: holder.children.index(last)]
        elif holder.kind == "case" and any(_tells_version(script, h) for w in holder.words for h in w.holes):
            return script.text[holder.start : holder.children[0].start].strip()
        for test in tests:
            text = script.text[test.start : test.end].strip().rstrip(";").strip()
            if _VERSION_TEST.search(text) or any(
                _tells_version(script, hole) for part in test.walk() for _, hole in uses_of(script.region, part)
            ):
                return text
        last = holder
    if script.outer is not None:
        return guard(script.outer.script, script.outer.node)
    return ""


def _tells_version(script: Script, hole: Hole) -> bool:
    """Tell whether an expansion is a version that decides between vLLM releases."""
    name = hole.name.lower()
    if name in ("ver", "version") or "ver" in name.partition("vllm")[2]:
        return True
    for binding in script.bindings.get(hole.name, ()):
        text = script.text[binding.assignment.start : binding.assignment.end]
        if "vllm" in text and re.search(r"version|pip\S{0,20} (?:show|freeze)", text):
            return True
    return False
