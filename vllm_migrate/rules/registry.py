"""The rules there are, found by looking at the modules of this package."""

from __future__ import annotations

import importlib
import os
from functools import lru_cache
from types import ModuleType

from vllm_migrate.findings import Severity
from vllm_migrate.lazy import dataclass


@dataclass(frozen=True)
class Rule:
    """A kind of finding. code and slug name it everywhere: in output, in `explain`, in `fixtures/`."""

    code: str
    slug: str
    severity: Severity
    summary: str
    docs: str = ""


@lru_cache(maxsize=1)
def modules() -> tuple[ModuleType, ...]:
    """Return every rule module, in order of name."""
    package = importlib.import_module("vllm_migrate.rules")
    found = []
    for file in sorted(os.listdir(package.__path__[0])):
        name, _, ending = file.partition(".")
        if ending != "py" or name in ("__init__", "context", "registry"):
            continue
        module = importlib.import_module(f"vllm_migrate.rules.{name}")
        if hasattr(module, "RULES"):
            found.append(module)
    return tuple(sorted(found, key=lambda m: m.__name__))


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """Return the rules by code, ascending. Raises ValueError when two share a code or a slug."""
    found: dict[str, Rule] = {}
    slugs: set[str] = set()
    for module in modules():
        for rule in module.RULES:
            if rule.code in found or rule.slug in slugs:
                raise ValueError(f"two rules are called {rule.code} or {rule.slug}")
            found[rule.code] = rule
            slugs.add(rule.slug)
    return dict(sorted(found.items()))
