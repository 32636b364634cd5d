"""Tells the format of a text that has no name: what a pipe brings, what stands after `--`."""

from __future__ import annotations

import re

from vllm_migrate.hosts import Host, host, host_for
from vllm_migrate.lazy import regex

_INSTRUCTION = regex(r"(?:FROM|ARG)\s+\S", re.I)
_FROM = regex(r"\s*FROM\s+(?:--platform=\S+\s+)?\S+(?:\s+AS\s+\S+)?\s*$", re.I)
_IMPORT = regex(r"(?m)^(?:from\s+[\w.]+\s+import\s|import\s+[\w.]+)")
_KEY = regex(r"(?:- )?(?:[A-Za-z_][\w.-]*|\"[^\"]*\"|'[^']*'):(?:\s|$)")
_TABLE = regex(r"\[{1,2}[\w.\" -]+\]{1,2}\s*$|[\w.-]+\s*=\s*[\"'\[{\d]")
_REQUIREMENT = regex(r"[A-Za-z0-9][\w.-]*(?:\[[^\]]*\])?\s*(?:[=<>!~]=|@\s|[<>])\s*\S+\s*$|-[re]\s+\S+$")


def guess(text: str) -> Host | None:
    """Return the host of a text by what stands in it, or None where nothing says."""
    name = _name(text.lstrip("\ufeff"))
    return host(name) if name else None


def _name(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    said = [line for line in lines if not line.lstrip().startswith(("#", "//"))]
    claimed = host_for("stdin", lines[0]) if lines else None
    if claimed is not None:
        return claimed.NAME
    if not said:
        return ""
    first = said[0].strip()
    if first.startswith("{") and not first.startswith("{{"):
        return "json"
    if _INSTRUCTION.match(first) and any(_FROM.match(line) for line in said):
        return "dockerfile"
    if _IMPORT.search(text) and _is_python(text):
        return "python"
    if first in ("---", "...") or first.startswith(("%YAML", "{{")) or _KEY.match(first):
        return "yaml"
    if all(_REQUIREMENT.match(line.split(" #")[0].split(";")[0].rstrip()) for line in said):
        return "requirements"
    if _TABLE.match(first) and not re.match(r"\w+=\S", first):
        return "toml"
    return "shell"


def _is_python(text: str) -> bool:
    import ast

    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
