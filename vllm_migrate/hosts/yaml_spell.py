"""How a value is written in YAML (or JSON): plain, quoted, or as a flow collection."""

from __future__ import annotations

import json
import re
from typing import Any

from vllm_migrate.lazy import regex
from vllm_migrate.model import Dynamic, is_hole

_INT = regex(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|[0-9][0-9_]*)$")
_FLOAT = regex(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$")
_SIXTY = regex(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$")
_TIME = regex(r"\d{4}-\d\d?-\d\d?(?:[Tt ].*)?$")
_BOOLS = {
    word: value
    for value, words in ((True, ("true", "yes", "on")), (False, ("false", "no", "off")))
    for lower in words
    for word in (lower, lower.title(), lower.upper())
}
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_SPECIAL = frozenset((".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN"))
_BAD_START = regex(r"[\s\"'&*!|>%@`#,\[\]{}]|[-?:](?:\s|$)|---|\.\.\.|<<$|=$")
_CONTROL = regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def resolve(text: str) -> Any:
    """Return the value of a plain scalar as the YAML loaders of Python and Go read it."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if text in _SPECIAL:
        return float(text.replace(".", ""))
    if text[0] not in "+-.0123456789":
        return text
    if _INT.match(text):
        return _integer(text)
    if _FLOAT.match(text) and any(c.isdigit() for c in text):
        try:
            return float(text.replace("_", ""))
        except ValueError:
            return text
    return text


def _integer(text: str) -> Any:
    digits = text.replace("_", "").lower()
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    try:
        if digits.startswith(("0x", "0b", "0o")):
            return sign * int(digits, 0)
        if len(digits) > 1 and digits.startswith("0"):
            return sign * int(digits, 8)
        return sign * int(digits)
    except ValueError:
        return text


def is_text(text: str) -> bool:
    """Tell whether a plain scalar of this text is read as a string by every loader."""
    return isinstance(resolve(text), str) and not _SIXTY.match(text) and not _TIME.match(text) and text != "="


def plain_safe(text: str, *, flow: bool) -> bool:
    """Tell whether text can stand without quotes (whatever type it then has)."""
    if not text or _BAD_START.match(text) or text[-1] in " \t:" or has_control(text):
        return False
    if "\n" in text or "\t" in text or ": " in text or " #" in text:
        return False
    return not (flow and re.search(r"[,\[\]{}:?]", text))


def has_control(text: str) -> bool:
    """Tell whether only escapes can write a text."""
    return _CONTROL.search(text) is not None


def double_quoted(text: str) -> str:
    """Return the inside of a double-quoted scalar."""
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    out = out.replace("\r", "\\r")
    return _CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", out)


def spell_text(
    text: str, style: str, *, flow: bool, only_json: bool = False, loose: bool = False, escapes: bool = False
) -> str:
    """Write a string as a one-line scalar that every loader reads as that string.

    Args: style: the style to keep where it can hold the text (`""`, `'` or `"`). loose: a plain scalar may
    be of another type, because its place takes any scalar as text. escapes: what stands there is written with
    backslashes, so that double quotes keep them; else text full of double quotes gets single ones. Hole letters
    count as letters.
    """
    if only_json:
        return json.dumps(text, ensure_ascii=False)
    if style == '"' and not escapes and re.search(r'["\\]', text) and not re.search(r"[\n\t\r']", text):
        style = "'"
    if style == "'" and not re.search(r"[\n\t\r]", text) and not has_control(text):
        return "'" + text.replace("'", "''") + "'"
    if style != '"':
        if plain_safe(text, flow=flow) and (loose or is_text(text)) and not is_hole(text[0]):
            return text
        if ('"' in text or "\\" in text) and not re.search(r"[\n\t\r]", text) and not has_control(text):
            return "'" + text.replace("'", "''") + "'"
    return '"' + double_quoted(text) + '"'


def spell_value(value: Any, style: str = "", *, flow: bool, only_json: bool = False, like: str = "") -> str:
    """Write a Python value on one line.

    Args: style: for a string. like: the text it replaces, for the case of `True`. Raises TypeError for a
    value YAML has no form for.
    """
    if isinstance(value, Dynamic):
        return value.raw
    if isinstance(value, bool):
        word = "true" if value else "false"
        if not only_json and like[:1].isupper() and like in _BOOLS:
            word = word.upper() if like.isupper() else word.title()
        return word
    if value is None:
        return "null"
    if isinstance(value, (int, float)):
        return json.dumps(value)
    if isinstance(value, str):
        return spell_text(value, style, flow=flow, only_json=only_json)
    if isinstance(value, dict):
        inner = ", ".join(
            f"{spell_text(str(k), '', flow=True, only_json=only_json)}: "
            + spell_value(v, style, flow=True, only_json=only_json)
            for k, v in value.items()
        )
        return "{" + inner + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(spell_value(v, style, flow=True, only_json=only_json) for v in value) + "]"
    raise TypeError(f"cannot write {type(value).__name__}")


def block_lines(value: Any, step: int) -> list[str] | None:
    """Return the lines of a non-empty mapping or list in block form, or None for what has no such form."""
    if isinstance(value, dict) and value:
        out: list[str] = []
        for key, inner in value.items():
            out += keyed_lines(str(key), inner, step)
        return out
    if isinstance(value, (list, tuple)) and value:
        out = []
        for inner in value:
            lines = block_lines(inner, step) if isinstance(inner, dict) else None
            lines = lines or [spell_value(inner, flow=False)]
            out += ["- " + lines[0], *("  " + line for line in lines[1:])]
        return out
    return None


def keyed_lines(key: str, value: Any, step: int, style: str = "") -> list[str]:
    """Return the lines of `key: value` in block form; step: how much deeper a nested mapping stands."""
    name = spell_text(key, "", flow=False)
    nested = block_lines(value, step) if isinstance(value, (dict, list)) else None
    if nested is None:
        return [f"{name}: {spell_value(value, style, flow=False)}"]
    pad = " " * step
    return [f"{name}:", *(pad + line for line in nested)]
