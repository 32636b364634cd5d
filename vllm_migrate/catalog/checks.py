"""Checks a release makes right after parsing, as conditions over the values it parsed.

A condition is a JSON list: `["get", name]` a value by its destination, `["has", name]` whether there is one,
`["is", value]` a constant, `["not", c]`, `["and", c…]`, `["or", c…]`, `["bool", c]`, and comparisons
`["<", a, b]`, `["in", a, b]` and the like. What cannot be told is UNKNOWN and refuses nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vllm_migrate.catalog.converters import UNKNOWN

COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "%": operator.mod,
    "+": operator.add,
    "-": operator.sub,
}


def evaluate(condition: Sequence[Any], values: Mapping[str, Any]) -> Any:
    """Return what a condition comes to, UNKNOWN where it depends on what is not there or cannot be told."""
    kind, *rest = condition
    if kind == "value":
        return rest[0]
    if kind == "get":
        return values.get(rest[0], rest[1] if len(rest) > 1 else UNKNOWN)
    if kind == "has":
        return rest[0] in values
    if kind in ("and", "or"):
        return _all_or_any(kind, rest, values)
    inner = [evaluate(c, values) for c in rest]
    if any(v is UNKNOWN for v in inner):
        return UNKNOWN
    if kind == "not":
        return not inner[0]
    if kind == "bool":
        return bool(inner[0])
    try:
        return COMPARED[kind](inner[0], inner[1])
    except (TypeError, KeyError, ZeroDivisionError):
        return UNKNOWN


def _all_or_any(kind: str, conditions: Sequence[Any], values: Mapping[str, Any]) -> Any:
    unsure = False
    result: Any = kind == "and"
    for condition in conditions:
        result = evaluate(condition, values)
        if result is UNKNOWN:
            unsure = True
        elif bool(result) == (kind == "or"):
            return result
    return UNKNOWN if unsure else result


def names_in(condition: Sequence[Any]) -> list[str]:
    """Return the destinations a condition speaks of, in order."""
    kind, *rest = condition
    if kind in ("get", "has"):
        return [rest[0]]
    if kind == "value":
        return []
    return list(dict.fromkeys(name for part in rest for name in names_in(part)))
