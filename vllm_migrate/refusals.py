"""What a release's config class refuses of a value, in the words of its parser."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from vllm_migrate.arguments import has_dynamic
from vllm_migrate.catalog import Release
from vllm_migrate.catalog.checks import evaluate
from vllm_migrate.catalog.converters import UNKNOWN
from vllm_migrate.schemacheck import Place, problems

UNEXPECTED = "Unexpected keyword argument"


def refusals(release: Release, class_name: str, value: Mapping[str, Any]) -> list[tuple[Place, str]]:
    """Return what a release's config class refuses of a value: the keys that lead there, and why.

    The words are those of the parser. What only a run can tell is passed over, as is everything where the
    release has no such class.
    """
    if class_name not in release.section("configs"):
        return []
    from vllm_migrate.catalog.objects import definitions

    defs = definitions(release, class_name)
    found = problems({"$ref": f"#/$defs/{class_name}", "$defs": defs}, _told(value))
    return [(place, _words(text)) for place, text in found]


def refused_together(
    release: Release, class_name: str, value: Mapping[str, Any], at: Place = ()
) -> Iterator[tuple[Place, str]]:
    """Give what a config class refuses of fields that are right one by one: the keys that lead there, and why."""
    fields = release.config_fields(class_name)
    dashes = release.section("configs").get(class_name, {}).get("dashes")
    values: dict[str, Any] = {}
    for name, attrs in fields.items():
        given = value.get(name, value.get(name.replace("_", "-"), _UNKNOWN) if dashes else _UNKNOWN)
        if given is not _UNKNOWN:
            values[name] = UNKNOWN if has_dynamic(given) else given
            config = attrs.get("config")
            if isinstance(config, str) and isinstance(given, dict):
                yield from refused_together(release, config, given, (*at, name))
        else:
            values[name] = UNKNOWN if attrs.get("computed") else attrs.get("default")
    for check in release.section("configs").get(class_name, {}).get("checks", ()):
        verdict = evaluate(check["when"], values)
        if verdict is not UNKNOWN and verdict:
            yield at, check["says"]


def _words(text: str) -> str:
    if text.startswith("unknown key"):
        return UNEXPECTED + text.removeprefix("unknown key")
    return "Input should be " + text.removeprefix("must be ") if text.startswith("must be ") else text


_UNKNOWN = object()


def _told(value: Any) -> Any:
    """Return a value as JSON has it; what is not known leaves no trace."""
    if isinstance(value, dict):
        kept = {str(k): _told(v) for k, v in value.items() if not has_dynamic(k)}
        return {k: v for k, v in kept.items() if v is not _UNKNOWN}
    if isinstance(value, (list, tuple)):
        items = [_told(v) for v in value]
        return _UNKNOWN if any(i is _UNKNOWN for i in items) else items
    if isinstance(value, float) and not math.isfinite(value):
        return _UNKNOWN
    if value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and not has_dynamic(value)):
        return value
    return _UNKNOWN
