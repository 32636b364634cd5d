"""JSON Schemas of the config objects of a release.

As loose as the release: a class that pydantic reads takes "4" for a whole number and 1 for true; a plain class
takes anything under a key it has. Where the catalog does not say what a field takes, the schema says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from vllm_migrate.catalog.hints import members, reading
from vllm_migrate.catalog.query import CatalogError, Release
from vllm_migrate.schemacheck import problems

Schema = dict[str, Any]

_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_NUMBER = r"([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][+-]?[0-9][0-9_]*)?"
#: What pydantic takes for a scalar, from JSON and from Python alike.
LAX: Mapping[str, Schema] = {
    "lax-integer": {
        "anyOf": [
            {"type": ["integer", "boolean"]},
            {"type": "string", "pattern": r"^\s*[+-]?[0-9][0-9_]*(\.0*)?\s*$"},
        ],
        "errorMessage": "Input should be a valid integer",
    },
    "lax-number": {
        "anyOf": [
            {"type": ["number", "boolean"]},
            {
                "type": "string",
                "pattern": rf"^\s*[+-]?({_NUMBER}|[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])\s*$",
            },
        ],
        "errorMessage": "Input should be a valid number",
    },
    "lax-boolean": {
        "anyOf": [
            {"type": "boolean"},
            {"enum": [0, 1]},
            {
                "type": "string",
                "pattern": "^([01fFtTnNyY]|[oO][nN]|[oO][fF][fF]|[nN][oO]|[yY][eE][sS]|[tT][rR][uU][eE]|"
                "[fF][aA][lL][sS][eE])$",
            },
        ],
        "errorMessage": "Input should be a valid boolean",
    },
}
_SCALARS = {"int": "lax-integer", "float": "lax-number", "bool": "lax-boolean"}
_NOT_STRING = ["null", "boolean", "number", "array", "object"]


class UnknownObject(CatalogError):
    """A name that is no config object of a release; the text lists those there are."""


def config_objects(release: Release) -> dict[str, str]:
    """Return option -> config class of every JSON option of a release."""
    options = release.section("options")
    known = release.section("configs")
    return {n: a["config"] for n, a in sorted(options.items()) if n.startswith("--") and a.get("config") in known}


def class_of(release: Release, name: str) -> str:
    """Return the class of an option (`speculative-config`, with or without dashes) or of a class's own name.

    Raises UnknownObject.
    """
    objects = config_objects(release)
    option = "--" + name.lstrip("-").replace("_", "-")
    if option in objects:
        return objects[option]
    if "." not in name and name in release.section("configs"):
        return name
    listed = ", ".join(sorted(o.lstrip("-") for o in objects)) or "none"
    raise UnknownObject(f"vLLM {release.version} has no config object {name!r}; it has: {listed}")


def object_schema(release: Release, class_name: str) -> Schema:
    """Return the schema of one config object, complete in itself."""
    defs = definitions(release, class_name)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{class_name} of vLLM {release.version}",
        "description": f"What vLLM {release.version} takes for a {class_name}.",
        "$ref": f"#/$defs/{class_name}",
        "$defs": {name: defs[name] for name in sorted(defs)},
    }


@lru_cache(maxsize=512)
def definitions(release: Release, class_name: str) -> Mapping[str, Schema]:
    """Return `$defs`: the schema of a config class, of those it holds, and of the scalars they use."""
    out: dict[str, Schema] = {}
    waiting = [class_name]
    while waiting:
        name = waiting.pop()
        if name in out:
            continue
        out[name] = dict(LAX[name]) if name in LAX else _class(release, name)
        waiting += _references(out[name])
    return out


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in _references(item)]
    if not isinstance(schema, dict):
        return []
    found = [schema["$ref"].split("/")[2]] if isinstance(schema.get("$ref"), str) else []
    inner = [item for key, item in schema.items() if key not in ("default", "enum")]
    return found + [name for item in inner for name in _references(item)]


def _class(release: Release, name: str) -> Schema:
    about = release.section("configs").get(name, {})
    fields = release.config_fields(name)
    checked = {n for n, a in release.section("configs").items() if a.get("checked")}
    properties: dict[str, Schema] = {}
    for field, attrs in fields.items():
        if attrs.get("init") is False:
            continue
        properties[field] = _described(_field(attrs, checked) if name in checked else {}, attrs)
        if about.get("dashes") and "_" in field:
            properties[field.replace("_", "-")] = {"$ref": f"#/$defs/{name}/properties/{field}"}
    schema: Schema = {"title": name, "type": "object", "properties": properties}
    if about.get("extra") == "forbid":
        schema["additionalProperties"] = False
    schema["errorMessage"] = f"Input should be a dictionary or an instance of {name}"
    return schema


def _described(schema: Schema, attrs: Mapping[str, Any]) -> Schema:
    if "default" in attrs:
        schema["default"] = attrs["default"]
    if attrs.get("deprecated"):
        schema["deprecated"] = True
    return schema


def _field(attrs: Mapping[str, Any], checked: set[str]) -> Schema:
    text = reading(attrs, checked)
    if "Upper[" in text:
        # The strings are names then; an enum's numbers are not read from text.
        text = text.replace("Enum[", "Literal[")
    schema = _union([_convert(node, checked) for node in members(ast.parse(text, mode="eval").body)])
    words = [c for c in attrs.get("choices", ()) if isinstance(c, str)]
    if words and schema.get("type") == "string":
        # Any string will do; the names are for whoever writes one.
        schema = {"anyOf": [{"enum": words}, schema]}
    return schema


def _convert(node: ast.expr, checked: set[str]) -> Schema:
    """Return the schema of one type of a hint; empty where it says nothing."""
    if isinstance(node, ast.Constant):
        return {"type": "null"} if node.value is None else {}
    if isinstance(node, ast.Name):
        return _named(node.id, checked)
    if isinstance(node, ast.Call):
        bounds = {_BOUNDS[k.arg or ""]: ast.literal_eval(k.value) for k in node.keywords}
        # To Python true is 1 and false 0; the bounds of JSON Schema pass over them.
        outside = [flag for flag in (False, True) if list(problems(bounds, int(flag)))]
        return _convert(node.func, checked) | bounds | ({"not": {"enum": outside}} if outside else {})
    if isinstance(node, ast.BinOp):
        return _union([_convert(m, checked) for m in members(node)])
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return {}
    if node.value.id in ("Literal", "Enum", "Upper", "Lower"):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _values(node.value.id, [ast.literal_eval(item) for item in items])
    return _container(node.value.id, node.slice, checked)


def _named(name: str, checked: set[str]) -> Schema:
    if name in _SCALARS:
        return {"$ref": f"#/$defs/{_SCALARS[name]}"}
    if name in checked:
        return {"$ref": f"#/$defs/{name}"}
    if name in ("list", "set", "tuple"):
        return {"type": "array", "errorMessage": f"Input should be a valid {name}"}
    known: dict[str, Schema] = {
        "str": {"type": "string", "errorMessage": "Input should be a valid string"},
        "Path": {"type": "string", "errorMessage": "Input is not a valid path"},
        "Str": {"type": "string", "errorMessage": "Input should be a valid string"},
        "dict": {"type": "object", "errorMessage": "Input should be a valid dictionary"},
        "Other": {"type": list(_NOT_STRING)},
    }
    return known.get(name, {})


def _container(name: str, inside: ast.expr, checked: set[str]) -> Schema:
    schema = _named(name, checked)
    nodes = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    inner = [_convert(n, checked) for n in nodes if not (isinstance(n, ast.Constant) and n.value is Ellipsis)]
    if name == "dict" and len(inner) == 2:
        if inner[0].get("$ref") in ("#/$defs/lax-integer", "#/$defs/lax-number"):
            schema["propertyNames"] = inner[0]
        if inner[1]:
            schema["additionalProperties"] = inner[1]
    elif name == "tuple" and len(inner) == len(nodes):
        schema |= {"prefixItems": inner, "minItems": len(inner), "maxItems": len(inner)}
    elif name in ("list", "set", "tuple") and len(inner) == 1 and inner[0]:
        schema["items"] = inner[0]
    return schema


def _values(kind: str, values: list[Any]) -> Schema:
    """Return the schema of a Literal, an enum's values, or strings compared without their case."""
    shown = [repr(v) for v in values]
    message = "Input should be " + (", ".join(shown[:-1]) + " or " if shown[:-1] else "") + shown[-1]
    if kind in ("Upper", "Lower"):
        pattern = "^(" + "|".join(_any_case(str(v), dashes=kind == "Lower") for v in values) + ")$"
        return {"anyOf": [{"enum": values}, {"type": "string", "pattern": pattern}], "errorMessage": message}
    numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
    # To Python, and so to pydantic, true is 1 and false 0.
    alike: list[Any] = [bool(v) for v in numbers if v in (0, 1)] + [int(v) for v in values if isinstance(v, bool)]
    schema: Schema = {"enum": [*values, *alike], "errorMessage": message}
    if kind == "Enum" and numbers:
        choices = [schema, {"type": "string", "pattern": LAX["lax-integer"]["anyOf"][1]["pattern"]}]
        return {"anyOf": choices, "errorMessage": message}
    return schema


def _any_case(word: str, *, dashes: bool) -> str:
    marks = {"_": "[-_]"} if dashes else {}
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else marks.get(c, c) for c in word)


def _union(choices: list[Schema]) -> Schema:
    """Return a schema of any of some; one that says nothing lets everything through."""
    if not all(choices):
        return {}
    if len(choices) == 1:
        return choices[0]
    schema: Schema = {"anyOf": choices}
    told = [str(c["errorMessage"]) for c in choices if "errorMessage" in c]
    refs = [LAX[c["$ref"].rpartition("/")[2]]["errorMessage"] for c in choices if c.get("$ref", "")[8:] in LAX]
    if len(told) + len(refs) > 1:
        first, *rest = refs + told
        schema["errorMessage"] = " or ".join([first, *(r.removeprefix("Input should be ") for r in rest)])
    return schema
