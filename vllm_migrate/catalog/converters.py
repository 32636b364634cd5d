"""What a release's parser makes of the text of one value: its `type`, and its choices."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from vllm_migrate.jsonvalue import loads
from vllm_migrate.lazy import regex


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""A value only a run can tell."""


class Refused(Exception):
    """The parser does not take the text; the message says so in its words.

    choice: it is of the right type and not among the choices. named: the parser puts the option before it.
    """

    def __init__(self, message: str, *, choice: bool = False, named: bool = True) -> None:
        super().__init__(message)
        self.choice, self.named = choice, named


_SUFFIXES = {"k": 1, "m": 2, "g": 3, "t": 4}
_HUMAN = regex(r"(\d+(?:\.\d+)?)([kKmMgGtT])")


def human_int(text: str, suffixes: str = "kmgt") -> int:
    """Return the number `1k`, `2M`, `25.6k` or `4096` stands for. Raises ValueError, Refused."""
    text = text.strip()
    match = _HUMAN.fullmatch(text)
    if match is None or match[2].lower() not in suffixes:
        return int(text)
    number, suffix = match.groups()
    power: int = _SUFFIXES[suffix.lower()]
    if suffix.islower():
        return int(float(number) * int(1000**power))
    try:
        return int(number) * int(1024**power)
    except ValueError:
        raise Refused(f"Decimals are not allowed with binary suffixes like {suffix}.") from None


def _human_or_auto(text: str) -> int:
    if text.strip() == "-1" or text.strip().lower() == "auto":
        return -1
    return human_int(text)


def key_values(text: str) -> dict[str, int] | None:
    """Return what `image=4,video=1` stands for. Raises Refused."""
    out: dict[str, int] = {}
    for item in text.split(",") if text else ():
        parts = [p.lower().strip() for p in item.split("=")]
        if len(parts) != 2:
            raise Refused("Each item should be in the form KEY=VALUE")
        try:
            number = int(parts[1])
        except ValueError:
            raise Refused(f"Failed to parse value of item {parts[0]}={parts[1]}") from None
        if out.setdefault(parts[0], number) != number:
            raise Refused(f"Conflicting values specified for key: {parts[0]}")
    return out if text else None


def _named_path(text: str, attrs: Mapping[str, Any], traits: Mapping[str, Any]) -> str:
    """Check `name=path` or, from 0.6.2 on, a JSON object with both."""
    ways = traits.get("lora", ()) if attrs["action"] == "LoRAParserAction" else ()
    if "json" in ways and (not text or (attrs.get("optional") and text == "None")):
        return text
    if "json" not in ways or ("=" in text and "," not in text):
        parts = text.split("=", 1) if "once" in ways else text.split("=")
        if len(parts) != 2:
            raise Refused(f"{text!r} is not of the form name=path")
        return text
    try:
        value = loads(text)
    except ValueError:
        raise Refused(f"Invalid JSON format for --lora-modules: {text}", named=False) from None
    if not isinstance(value, dict):
        raise Refused(f"{text!r} is not a JSON object with a name and a path")
    if not {"name", "path"} <= set(value) <= {"name", "path", *traits.get("lora_keys", ())}:
        raise Refused(f"Invalid fields for --lora-modules: {text}", named=False)
    return text


def _text_or_json(text: str) -> Any:
    return loads(text) if re.match(r"(?s)^\s*{.*}\s*$", text) else text


def _colon_pairs(text: str) -> dict[str, str]:
    pairs = [item.split(":") for item in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError
    return {pair[0]: pair[1] for pair in pairs}


def _json_or_level(text: str) -> Any:
    return {"level": int(text)} if text in ("0", "1", "2", "3") else loads(text)


def _literal_or_level(text: str) -> Any:
    if text in ("0", "1", "2", "3"):
        return {"level": int(text)}
    try:
        return ast.literal_eval(text)
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError from error


def _object(text: str) -> Any:
    value = loads(text)
    if not isinstance(value, dict):
        raise ValueError
    return value


def _bool(text: str) -> bool:
    return bool(text)


_CONVERTERS: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": _bool,
    "json": loads,
    "from_json": _object,
    "human_int": human_int,
    "human_int_or_auto": _human_or_auto,
    "key_values": key_values,
    "json_or_level": _json_or_level,
    "json_or_literal": _literal_or_level,
    "json_or_str": _text_or_json,
    "colon_pairs": _colon_pairs,
    "lower_underscore": lambda text: text.lower().replace("-", "_"),
    "parse_reasoning_parser": lambda text: "" if text.lower() == "none" else text,
}


def convert(text: str, attrs: Mapping[str, Any], traits: Mapping[str, Any]) -> Any:
    """Return the value a release's parser reads from a text. Raises Refused.

    attrs: facts of the option. traits: facts of the release's parser. A type of vLLM's own that the
    catalog does not describe gives the text itself.
    """
    kind = str(attrs.get("type") or "str")
    if str(attrs.get("action", "")).endswith("ParserAction"):
        return _named_path(text, attrs, traits)
    if attrs.get("action") == "store_bool":
        if text.lower() not in ("true", "false"):
            raise Refused(f"Invalid boolean value: {text}. Expected 'true' or 'false'.", named=False)
        return text.lower() == "true"
    if attrs.get("optional") and text in ("", "None"):
        return _chosen(None, attrs)
    value: Any
    if kind == "json" and _takes_pairs(attrs, traits) and not re.match("^{.*}$", text):
        if not text:
            raise Refused("Each item should be in the form KEY=VALUE")
        value = key_values(text)
    else:
        converter = _CONVERTERS.get(kind)
        try:
            value = text if converter is None else converter(text)
        except ValueError:
            raise Refused(f"invalid {kind.removesuffix('_or_auto')} value: {text!r}") from None
    if attrs.get("built") and not isinstance(value, dict):
        raise Refused("Input should be an object")
    return _chosen(value, attrs)


def _chosen(value: Any, attrs: Mapping[str, Any]) -> Any:
    """Return a value that is among the choices, where there are any. Raises Refused for another."""
    choices = attrs.get("choices")
    if choices and not attrs.get("choices_computed") and value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise Refused(f"invalid choice: {value!r} (choose from {listed})", choice=True)
    return value


def _takes_pairs(attrs: Mapping[str, Any], traits: Mapping[str, Any]) -> bool:
    """`a=1,b=2` was taken for a JSON object of the engine's own options; those are the ones with a group."""
    return bool(traits.get("pairs")) and "group" in attrs and attrs.get("config") is None


def dotted_value(text: str, appends: bool, way: str) -> Any:
    """Return what `--x.key text` puts under its key. way: "plain" (text), "json", "human" (`80g` too)."""
    if way == "plain":
        return text
    if appends:
        return text.split(",")
    try:
        return loads(text)
    except ValueError:
        pass
    if way == "human":
        try:
            return human_int(text)
        except (ValueError, Refused):
            pass
    return text
