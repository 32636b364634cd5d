"""Mines the hints of config fields: see `vllm_migrate.catalog.hints` for their form."""

from __future__ import annotations

import ast
import enum
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vllm_migrate.catalog.hints import members
from vllm_migrate.catalog.interp_values import ClassInfo, FieldInfo, FieldObject, Unknown
from vllm_migrate.catalog.plain import plain

BOUNDS = ("ge", "gt", "le", "lt")


def exact(hint: Any, is_config: Callable[[type], bool]) -> str:
    """Return the hint of a type as the source writes it."""
    if hint is None or hint is type(None):
        return "None"
    if isinstance(hint, Unknown):
        # The reader has no stand-in for the standard library's paths.
        return "Path" if "Path" in str(getattr(hint, "text", "")).split(".") else "Any"
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        text = exact(args[0], is_config)
        for mark in args[1:]:
            text = bounded(text, mark) if isinstance(mark, FieldInfo) else "Any"
        return text
    if origin is typing.Literal:
        values = [plain(a) for a in args]
        return f"Literal{values!r}" if all(isinstance(v, (str, int)) for v in values) else "Any"
    if origin in (typing.Union, types.UnionType):
        return _union([exact(a, is_config) for a in args])
    if origin in (list, dict, set, tuple):
        inner = ["..." if a is Ellipsis else exact(a, is_config) for a in args]
        return f"{origin.__name__}[{', '.join(inner)}]" if inner else str(origin.__name__)
    if isinstance(hint, type):
        if issubclass(hint, enum.Enum):
            return _enum(hint)
        if hint in (str, int, float, bool, list, dict, set, tuple) or is_config(hint):
            return hint.__name__
    return "Any"


def _union(parts: list[str]) -> str:
    """Return a union: None last, Literals as one, and none beside `str`, which takes them all."""
    parts = list(dict.fromkeys(parts))
    if "Any" in parts:
        return "Any"
    literals = [p for p in parts if p.startswith("Literal[")]
    if len(literals) > 1:
        merged = [v for p in literals for v in ast.literal_eval(p[len("Literal") :])]
        parts = [f"Literal{list(dict.fromkeys(merged))!r}" if p == literals[0] else p for p in parts]
        parts = [p for p in parts if p not in literals[1:]]
    if "str" in parts:
        parts = [p for p in parts if not p.startswith("Literal['")]
    return " | ".join([p for p in parts if p != "None"] + ["None"] * ("None" in parts))


def _enum(hint: type[enum.Enum]) -> str:
    # No JSON value equals a tuple; a member whose value is None stands for null.
    values = [plain(m.value) for m in hint if not isinstance(m.value, (tuple, type(None)))]
    if not all(isinstance(v, (str, int)) for v in values):
        return "Any"
    none = ["None"] if any(m.value is None for m in hint) else []
    return " | ".join([f"Enum{values!r}", *none])


def bounded(text: str, info: FieldInfo) -> str:
    """Return a hint with the bounds `Field(ge=…)` adds to its numbers."""
    bounds = ", ".join(f"{n}={getattr(info, n)!r}" for n in BOUNDS if isinstance(getattr(info, n), (int, float)))
    if not bounds:
        return text
    return " | ".join(f"{p}({bounds})" if p in ("int", "float") else p for p in text.split(" | "))


def hint_of(field: FieldObject, infos: Sequence[ClassInfo], is_config: Callable[[type], bool]) -> str:
    """Return the full hint of a field (no `choices` in it), with what validators do before the type is looked at.

    infos: the class that declares the field and the one asked about, where they differ.
    """
    if "SkipValidation" in ast.unparse(field.annotation):
        return "Any"
    text = exact(field.type, is_config)
    if isinstance(field.default, FieldInfo):
        text = bounded(text, field.default)
    for validator, mode in [v for info in infos for v in reversed(_validators(info, field.name))]:
        text = _before(validator, text, field.type) if mode == "before" else _around(validator, text)
    return text


def _validators(info: ClassInfo, name: str) -> list[tuple[ast.FunctionDef, str]]:
    """Return the validators of a field that run before the type is looked at, with their modes."""
    out: list[tuple[ast.FunctionDef, str]] = []
    for node in info.node.body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if not isinstance(decorator, ast.Call) or not ast.unparse(decorator.func).endswith("field_validator"):
                continue
            names = [a.value for a in decorator.args if isinstance(a, ast.Constant)]
            modes = [k.value.value for k in decorator.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)]
            if modes and modes[0] != "after" and (name in names or "*" in names) and isinstance(node, ast.FunctionDef):
                out.append((node, str(modes[0])))
    return out


def _body(node: ast.FunctionDef) -> list[ast.stmt]:
    first = node.body[0]
    docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return node.body[1:] if docstring else node.body


def _around(node: ast.FunctionDef, text: str) -> str:
    """Read a validator around the type: only the form that lets None pass is understood."""
    value, *rest = [a.arg for a in node.args.args][1:]
    lines = [ast.unparse(s) for s in _body(node)]
    if rest and lines == [f"if {value} is None:\n    return {value}", f"return {rest[0]}({value})"]:
        return text if text == "Any" or "None" in text.split(" | ") else f"{text} | None"
    return "Any"


def _before(node: ast.FunctionDef, text: str, hint: Any) -> str:
    """Read a validator before the type: one that looks at strings, or at objects, and leaves the rest."""
    value = node.args.args[1].arg
    body = [s for s in _body(node) if not isinstance(s, (ast.Import, ast.ImportFrom))]
    if not body or not isinstance(body[0], ast.If) or body[0].orelse:
        return "Any"
    test, first = ast.unparse(body[0].test), body[0]
    for kind in ("str", "dict"):
        if test == f"not isinstance({value}, {kind})" and ast.unparse(first.body[-1]) == f"return {value}":
            return _others(text, kind, "Str" if kind == "str" else "dict")
    # What only raises takes nothing more.
    if ast.unparse(body[-1]) != f"return {value}" or not all(map(_raises, body[1:-1])):
        return "Any"
    if test == f"isinstance({value}, dict)":
        same = ast.unparse(first.body[-1]).endswith(f"(**{value})")
        return text if same else _others(text, "dict", "dict")
    if test == f"isinstance({value}, str)":
        return _others(text, "str", _strings(first, value, text, hint))
    return "Any"


def _raises(node: ast.stmt) -> bool:
    only = isinstance(node, ast.If) and not node.orelse and all(isinstance(s, ast.Raise) for s in node.body)
    return isinstance(node, ast.Assert) or only


def _others(text: str, kind: str, mine: str) -> str:
    """Return a hint in which `mine` stands for everything of a kind, "str" or "dict", that was there."""
    if text == "Any":
        return f"{mine} | Other" if kind == "str" and mine != "Str" else "Any"
    heads = ("str", "Literal[") if kind == "str" else ("dict",)
    rest = [p for p in _split(text) if not p.startswith(heads)]
    if kind == "str":
        rest = [_without_strings(p) for p in rest]
    return " | ".join(dict.fromkeys([mine, *(p for p in rest if p)]))


def _without_strings(text: str) -> str:
    if not text.startswith("Enum["):
        return text
    values = [v for v in ast.literal_eval(text[len("Enum") :]) if not isinstance(v, str)]
    return f"Enum{values!r}" if values else ""


def _strings(branch: ast.If, value: str, text: str, hint: Any) -> str:
    """Return the strings a branch of a validator takes, `Str` where that is not plain to see."""
    lines = [ast.unparse(s) for s in branch.body]
    literal = next((p for p in _split(text) if p.startswith("Literal[")), None)
    if lines in ([f"return {value}.lower().replace('-', '_')"], [f"return {value}.lower()"]) and literal:
        return "Lower" + literal[len("Literal") :]
    extra: list[str] = []
    if lines[0] == f"if {value}.lower() == 'auto':\n    return None":
        extra, lines = ["AUTO"], lines[1:]
    wanted = next((a for a in (hint, *typing.get_args(hint)) if isinstance(a, type) and issubclass(a, enum.Enum)), None)
    if wanted is None:
        return "Str"
    # The name may be put in a variable, and its absence told in words, before it is looked up.
    held = re.match(rf"(\w+) = {value}\.upper\(\)$", lines[0])
    name = f"{value}.upper()" if held is None else held[1]
    middle = [] if held is None else lines[1:-1]
    told = all(line.startswith(f"if {name} not in {wanted.__name__}.__members__:\n    raise ") for line in middle)
    if lines[-1] == f"return {wanted.__name__}[{name}]" and told and len(lines) == 1 + len(middle) + (held is not None):
        return f"Upper{[*wanted.__members__, *extra]!r}"
    return "Str"


def short(hint: str, attrs: Mapping[str, Any]) -> str:
    """Return a hint with the name `choices` for the values that stand in `choices` already."""
    listed = repr(attrs["choices"])[1:-1] if attrs.get("choices") else ""
    return hint.replace(listed, "choices") if listed and " choices" not in hint else hint


def _split(text: str) -> list[str]:
    """Return the members of a union written as text."""
    return [ast.unparse(node) for node in members(ast.parse(text, mode="eval").body)]
