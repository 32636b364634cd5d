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
    key = (id(node), script.bound)
    if key not in script.guards:
        script.guards[key] = _guard(script, node)
    return script.guards[key]


def _guard(script: Script, node: Node) -> str:
    last = node
    for holder in node.ancestors():
        if (holder.kind == "if" and last.role in ("then", "else")) or (
            holder.kind == "statement" and holder.children[0] is not last
        ):
            place, text = _first_test(script, holder)
            if text and place < holder.children.index(last):
                return text
        elif holder.kind == "case" and any(_tells_version(script, h) for w in holder.words for h in w.holes):
            return script.text[holder.start : holder.children[0].start].strip()
        last = holder
    if script.outer is not None:
        return guard(script.outer.script, script.outer.node)
    return ""


def _first_test(script: Script, holder: Node) -> tuple[int, str]:
    """Return place and text of the first part of a list or an `if` that tests the version; "" where none does."""
    key = (id(holder), script.bound)
    if key not in script.tests:
        parts = enumerate(holder.children)
        tests = ((i, c) for i, c in parts if holder.kind != "if" or c.role == "cond")
        found = ((i, text) for i, c in tests if (text := _version_test(script, c)))
        # Looked for once for all commands of a long list.
        script.tests[key] = next(found, (0, ""))
    return script.tests[key]


def _version_test(script: Script, test: Node) -> str:
    """Return the text of a command that looks at the version of vLLM, else ""."""
    text = script.text[test.start : test.end].strip().rstrip(";").strip()
    holes = (hole for part in test.walk() for _, hole in uses_of(script.region, part))
    return text if _VERSION_TEST.search(text) or any(_tells_version(script, hole) for hole in holes) else ""


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
