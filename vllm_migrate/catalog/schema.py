"""The JSON Schema of a `vllm serve --config FILE` of one release, for editors.

The release's own loader turns each key into `--key` and each value into words; which values it turns into
something else than their text (true, lists, objects) is in the catalog, as are the options. A value that the
loader drops without a word (false for an option that takes a value, an empty list) means nothing and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vllm_migrate.catalog.objects import LAX, Schema, definitions
from vllm_migrate.catalog.options import spellings
from vllm_migrate.catalog.query import Catalog, Release

_TEXT: Schema = {"type": ["string", "number", "null"]}
#: A whole number as the parser's `int` reads it from text; a YAML number becomes such text.
_INTEGER: Schema = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^\s*[+-]?[0-9][0-9_]*\s*$"}]}
_NUMBER: Schema = {"anyOf": [{"type": "number"}, LAX["lax-number"]["anyOf"][1]]}
_HUMAN = r"^\s*([+-]?[0-9][0-9_]*|[0-9]+(\.[0-9]+)?[kKmMgGtT])\s*$"
_SWITCH_WORD = "^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE])$"


def config_file_schema(catalog: Catalog, release: Release) -> Schema:
    """Return the schema of the configuration file; the config objects' are in its `$defs`."""
    loads = frozenset(release.facts.get("config_file", ()))
    properties: dict[str, Schema] = {}
    defs: dict[str, Schema] = {}
    dotted: list[str] = []
    for name, attrs in sorted(release.section("options").items()):
        if not name.startswith("--") or attrs.get("only") == "api_server" or attrs.get("action") == "help":
            continue
        schema = _described(_value(attrs, loads, defs, release), name, attrs, catalog)
        own = name[2:]
        properties[own] = schema
        for spelling in (s[2:] for s in spellings(name, attrs) if s.startswith("--")):
            for key in dict.fromkeys((spelling, spelling.replace("-", "_"))):
                if key not in properties:
                    negative = "--" + spelling in attrs.get("negative", ())
                    properties[key] = _switch(loads) if negative else {"$ref": f"#/properties/{own}"}
        if "json" in str(attrs.get("type", "")) and release.facts.get("dotted"):
            dotted.append(own.replace("-", "[-_]"))
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"vllm serve --config of vLLM {release.version}",
        "description": f"Options of `vllm serve` as a YAML file, as vLLM {release.version} reads it.",
        "type": "object",
        "properties": dict(sorted(properties.items())),
        "additionalProperties": False,
    }
    if dotted:
        schema["patternProperties"] = {rf"^({'|'.join(dotted)})\.": True}
    if defs:
        schema["$defs"] = dict(sorted(defs.items()))
    return schema


def _described(schema: Schema, name: str, attrs: Mapping[str, Any], catalog: Catalog) -> Schema:
    since = catalog.introduced_in("options", name)
    group = f" ({attrs['group']})" if attrs.get("group") else ""
    schema = {**schema, "description": f"{name}{group}, in vLLM since {since}."}
    if since == catalog.releases[0]:
        schema["description"] = f"{name}{group}."
    if attrs.get("default") is not None:
        schema["default"] = attrs["default"]
    if attrs.get("deprecated"):
        schema["deprecated"] = True
    return schema


def _switch(loads: frozenset[str]) -> Schema:
    # Before a release's loader knew switches, every value became a word behind the option: none fits.
    return {"type": "boolean"} if "switch" in loads else {"not": {}}


def _value(attrs: Mapping[str, Any], loads: frozenset[str], defs: dict[str, Schema], release: Release) -> Schema:
    action, nargs = attrs.get("action"), attrs.get("nargs")
    if action == "store_bool":
        return {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": _SWITCH_WORD}]}
    if nargs == 0:
        return _switch(loads)
    if action not in (None, "append"):
        return {}
    schema = _scalar(attrs, loads, defs, release)
    if nargs == "?" and "switch" in loads:
        schema = _any(schema, {"type": "boolean"})
    if nargs in ("+", "*") or isinstance(nargs, int):
        many: Schema = {"type": "array", "items": schema} if schema else {"type": "array"}
        if isinstance(nargs, int):
            many |= {"minItems": nargs, "maxItems": nargs}
        elif nargs == "+":
            many["minItems"] = 1
        if "list" not in loads:
            return schema
        return many if isinstance(nargs, int) and nargs > 1 else _any(schema, many)
    return schema


def _scalar(attrs: Mapping[str, Any], loads: frozenset[str], defs: dict[str, Schema], release: Release) -> Schema:
    kind = str(attrs.get("type", "str"))
    if "json" in kind:
        schema = _json(kind, attrs.get("config"), loads, defs, release)
    elif kind == "int":
        schema = _INTEGER
    elif kind == "float":
        schema = _NUMBER
    elif kind in ("human_int", "human_int_or_auto"):
        pattern = _HUMAN if kind == "human_int" else rf"({_HUMAN})|^\s*([aA][uU][tT][oO])\s*$"
        schema = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": pattern}]}
    elif kind == "str":
        schema = _TEXT
    else:
        return {}
    choices = attrs.get("choices")
    if choices:
        values = [c for c in choices if c is not None]
        written = [str(c) for c in values if not isinstance(c, str)]
        # A YAML `null` reaches the parser as the word None.
        none: list[Any] = [None, "None"] if attrs.get("optional") or None in choices else []
        return {"enum": [*values, *written, *none]}
    if attrs.get("optional") and schema is not _TEXT:
        return _any(schema, {"enum": [None, "None", ""]})
    return schema


def _json(kind: str, config: Any, loads: frozenset[str], defs: dict[str, Schema], release: Release) -> Schema:
    text: Schema = {"type": "string"} if kind != "json_or_str" else _TEXT
    if "object" not in loads and kind != "json_or_literal":
        # The text Python has for a mapping is not JSON.
        return text
    if not isinstance(config, str) or config not in release.section("configs"):
        # Lists reach the parser as several words, and as one where they have one item.
        return _any({"type": "object"}, text)
    defs.update({n: d for n, d in definitions(release, config).items() if n not in defs})
    words = _any({"$ref": f"#/$defs/{config}"}, text)
    if kind == "json_or_literal" or config == "CompilationConfig":
        words["anyOf"].append({"type": "integer"})
    return words


def _any(first: Schema, second: Schema) -> Schema:
    if not first or not second:
        return {}
    inner = [*first["anyOf"]] if set(first) == {"anyOf"} else [first]
    return {"anyOf": [*inner, second]}
