"""A small checker for the part of JSON Schema that the configuration's schema uses.

The full validator takes longer to import than a run over a small repository takes; a test holds this one
to the same answers. Knows: `$ref` inside the document, `type`, `enum`, `anyOf`, `pattern`, `minLength`,
`minItems`, `items`, `properties`, `additionalProperties`, `required`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Place = tuple["str | int", ...]
Problem = tuple[Place, str]

_TYPES: Mapping[str, tuple[type, str]] = {
    "string": (str, "a string"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "a table"),
}


def problems(schema: Mapping[str, Any], value: Any) -> list[Problem]:
    """Return what is wrong with a value: the keys that lead to the place, and a sentence about it."""
    return list(_check(schema, schema, value, ()))


def _check(root: Mapping[str, Any], schema: Any, value: Any, at: Place) -> Iterator[Problem]:
    if schema is False:
        yield at, "not allowed here"
        return
    if "$ref" in schema:
        yield from _check(root, _target(root, schema["$ref"]), value, at)
    if "enum" in schema and value not in schema["enum"]:
        yield at, f"must be one of {_listed(schema['enum'])}, not {_show(value)}"
    if "type" in schema:
        kind, words = _TYPES[schema["type"]]
        if not isinstance(value, kind):
            yield at, f"must be {words}, not {_show(value)}{_hint(value, schema['type'])}"
            return
    if isinstance(value, str):
        yield from _check_text(schema, value, at)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield at, "must not be empty"
        for i, item in enumerate(value):
            yield from _check(root, schema.get("items", {}), item, (*at, i))
    if isinstance(value, dict):
        yield from _check_table(root, schema, value, at)
    if "anyOf" in schema:
        yield from _check_choices(root, schema["anyOf"], value, at)


def _check_text(schema: Mapping[str, Any], value: str, at: Place) -> Iterator[Problem]:
    if "pattern" in schema and re.search(schema["pattern"], value) is None:
        yield at, f"{value!r} does not have the right form"
    if len(value) < schema.get("minLength", 0):
        yield at, "must not be empty"


def _check_table(
    root: Mapping[str, Any], schema: Mapping[str, Any], value: dict[Any, Any], at: Place
) -> Iterator[Problem]:
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", {})
    for key, item in value.items():
        if not isinstance(key, str):
            yield at, f"the key {_show(key)} must be a string; quote it"
        elif key in known:
            yield from _check(root, known[key], item, (*at, key))
        elif others is False:
            yield (*at, key), "unknown key" + _nearest(key, known)
        else:
            yield from _check(root, others, item, (*at, key))
    for key in schema.get("required", ()):
        if key not in value:
            yield at, f"the key {key!r} is missing"


def _check_choices(root: Mapping[str, Any], choices: list[Any], value: Any, at: Place) -> Iterator[Problem]:
    """Report the problems of the choice that comes closest: the one whose trouble lies deepest."""
    best: list[Problem] = []
    depth = -1.0
    allowed: list[Any] = []
    for choice in choices:
        found = list(_check(root, choice, value, at))
        if not found:
            return
        allowed += choice.get("enum", ())
        here = max(len(place) for place, _ in found) + (0.5 if _is_kind(root, choice, value) else 0)
        if here > depth:
            best, depth = found, here
    if allowed and isinstance(value, str):
        best = [(at, f"must be one of {_listed(allowed)} or a table, not {_show(value)}")]
    yield from best


def _target(root: Mapping[str, Any], reference: str) -> Any:
    target: Any = root
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    return target


def _is_kind(root: Mapping[str, Any], schema: Mapping[str, Any], value: Any) -> bool:
    if "$ref" in schema:
        return _is_kind(root, _target(root, schema["$ref"]), value)
    return "type" in schema and isinstance(value, _TYPES[schema["type"]][0])


def _hint(value: Any, wanted: str) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "; write it in quotes" if wanted == "string" and number else ""


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    return "nothing" if value is None else repr(value)


def _listed(values: list[Any]) -> str:
    return ", ".join(repr(v) for v in values)


def _nearest(key: str, known: Mapping[str, Any]) -> str:
    import difflib

    near = difflib.get_close_matches(key.replace("_", "-"), known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
