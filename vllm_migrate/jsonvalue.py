"""Reads JSON that a file holds: text nested so deeply that readers of it would fail is no JSON here."""

from __future__ import annotations

import json
import re
from typing import Any

from vllm_migrate.lazy import regex

DEEPEST = 100
_BRACKET = regex(r'"(?:[^"\\]|\\(?:.|\Z))*(?:"|\Z)|[\[\]{}]', re.S)


def loads(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError where it is none, or nested beyond `DEEPEST`."""
    if text.count("[") + text.count("{") > DEEPEST and depth(text) > DEEPEST:
        raise ValueError("nested too deeply")
    return json.loads(text)


def depth(text: str) -> int:
    """Return how deep brackets outside of strings are nested."""
    here = deepest = 0
    for found in _BRACKET.finditer(text):
        if found[0] in "[{":
            here += 1
            deepest = max(deepest, here)
        elif found[0] in "]}":
            here -= 1
    return deepest
