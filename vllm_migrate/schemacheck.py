"""A small checker for the part of JSON Schema that the schemas of this project use.

The full validator takes longer to import than a run over a small repository takes; a test holds this one
to the same answers. Knows: `$ref` inside the document, `type`, `enum`, `anyOf`, `not`, `pattern`, `minLength`,
`minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `minItems`, `maxItems`, `items`, `prefixItems`,
`properties`, `patternProperties`, `propertyNames`, `additionalProperties`, `required`; and `errorMessage`, which
editors know too: what is said when a value does not fit.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Place = tuple["str | int", ...]
Problem = tuple[Place, str]

_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "string": (str, "a string"),
    "boolean": (bool, "true or false"),
    "integer": (int, "a whole number"),
    "number": ((int, float), "a number"),
    "null": (type(None), "nothing"),
    "array": (list, "a list"),
    "object": (dict, "a table"),
}
_BOUNDS: Mapping[str, tuple[Callable[[float, float], bool], str]] = {
    "minimum": (operator.ge, "greater than or equal to"),
    "exclusiveMinimum": (operator.gt, "greater than"),
    "maximum": (operator.le, "less than or equal to"),
    "exclusiveMaximum": (operator.lt, "less than"),
}


def problems(schema: Mapping[str, Any], value: Any) -> list[Problem]:
    """Return what is wrong with a value: the keys that lead to the place, and a sentence about it."""
    return list(_check(schema, schema, value, ()))


def _check(root: Mapping[str, Any], schema: Any, value: Any, at: Place) -> Iterator[Problem]:
    if schema is True or schema is False:
        if schema is False:
            yield at, "not allowed here"
        return
    found = _found(root, schema, value, at)
    if "errorMessage" not in schema:
        yield from found
        return
    listed = list(found)
    deeper = [problem for problem in listed if problem[0] != at]
    yield from deeper if deeper or not listed else [(at, schema["errorMessage"])]


def _found(root: Mapping[str, Any], schema: Mapping[str, Any], value: Any, at: Place) -> Iterator[Problem]:
    if "$ref" in schema:
        yield from _check(root, _target(root, schema["$ref"]), value, at)
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        yield at, f"must be one of {_listed(schema['enum'])}, not {_show(value)}"
    if "type" in schema and not _is_of(schema["type"], value):
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        words = " or ".join(_TYPES[name][1] for name in names)
        yield at, f"must be {words}, not {_show(value)}{_hint(value, schema['type'])}"
        return
    if "not" in schema and not any(_check(root, schema["not"], value, at)):
        yield at, "not allowed here"
    if isinstance(value, str):
        yield from _check_text(schema, value, at)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        for name, (fits, words) in _BOUNDS.items():
            if name in schema and not fits(value, schema[name]):
                yield at, f"must be {words} {schema[name]}"
    if isinstance(value, list):
        yield from _check_list(root, schema, value, at)
    if isinstance(value, dict):
        yield from _check_table(root, schema, value, at)
    if "anyOf" in schema:
        yield from _check_choices(root, schema["anyOf"], value, at)


def _is_of(names: str | list[str], value: Any) -> bool:
    for name in [names] if isinstance(names, str) else names:
        if isinstance(value, bool):
            fits = name == "boolean"
        else:
            fits = isinstance(value, _TYPES[name][0])
            fits = fits or (name == "integer" and isinstance(value, float) and value.is_integer())
        if fits:
            return True
    return False


def _same(value: Any, allowed: Any) -> bool:
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)


def _check_list(root: Mapping[str, Any], schema: Mapping[str, Any], value: list[Any], at: Place) -> Iterator[Problem]:
    if len(value) < schema.get("minItems", 0):
        yield at, "must not be empty" if schema["minItems"] == 1 else f"must have {schema['minItems']} items"
    if len(value) > schema.get("maxItems", len(value)):
        yield at, f"must have at most {schema['maxItems']} items"
    first = schema.get("prefixItems", ())
    for i, item in enumerate(value):
        yield from _check(root, first[i] if i < len(first) else schema.get("items", True), item, (*at, i))


def _check_text(schema: Mapping[str, Any], value: str, at: Place) -> Iterator[Problem]:
    if "pattern" in schema and re.search(schema["pattern"], value) is None:
        yield at, f"{value!r} does not have the right form"
    if len(value) < schema.get("minLength", 0):
        yield at, "must not be empty"


def _check_table(
    root: Mapping[str, Any], schema: Mapping[str, Any], value: dict[Any, Any], at: Place
) -> Iterator[Problem]:
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    patterns = schema.get("patternProperties", {})
    for key, item in value.items():
        if not isinstance(key, str):
            yield at, f"the key {_show(key)} must be a string; quote it"
            continue
        if "propertyNames" in schema:
            yield from _check(root, schema["propertyNames"], key, (*at, key))
        fitting = [inner for pattern, inner in patterns.items() if re.search(pattern, key)]
        for inner in fitting:
            yield from _check(root, inner, item, (*at, key))
        if key in known:
            yield from _check(root, known[key], item, (*at, key))
        elif fitting:
            continue
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
        allowed += choice.get("enum", ()) if isinstance(choice, dict) else ()
        here = max(len(place) for place, _ in found) + (0.5 if _is_kind(root, choice, value) else 0)
        if here > depth:
            best, depth = found, here
    if allowed and isinstance(value, str) and not any("errorMessage" in c for c in choices if isinstance(c, dict)):
        table = " or a table" if any(_is_kind(root, c, {}) for c in choices) else ""
        best = [(at, f"must be one of {_listed(allowed)}{table}, not {_show(value)}")]
    yield from best


def _target(root: Mapping[str, Any], reference: str) -> Any:
    target: Any = root
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    return target


def _is_kind(root: Mapping[str, Any], schema: Any, value: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    if "$ref" in schema:
        return _is_kind(root, _target(root, schema["$ref"]), value)
    return "type" in schema and _is_of(schema["type"], value)


def _hint(value: Any, wanted: Any) -> str:
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

    near = difflib.get_close_matches(key if key.isidentifier() else key.replace("_", "-"), known, n=1, cutoff=0.6)
    near = near or difflib.get_close_matches(key.replace("_", "-"), known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
