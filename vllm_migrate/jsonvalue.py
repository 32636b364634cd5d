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
    if text.count("[") + text.count("{") > DEEPEST and too_deep(text) is not None:
        raise ValueError("nested too deeply")
    return json.loads(text)


def too_deep(text: str, marks: re.Pattern[str] = _BRACKET) -> int | None:
    """Return where brackets outside of strings pass `DEEPEST` levels, None where they do not.

    marks: finds brackets and whole strings.
    """
    depth = 0
    for found in marks.finditer(text):
        depth += (found[0] in ("[", "{")) - (found[0] in ("]", "}"))
        if depth > DEEPEST:
            return found.start()
    return None
