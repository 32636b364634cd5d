"""Turns values of the reader into what the catalog stores: plain JSON, short type names."""

from __future__ import annotations

import ast
import enum
import types
import typing
from typing import Any

from vllm_migrate.catalog.interp_values import (
    MISSING,
    UNDEFINED,
    Bound,
    External,
    Function,
    Instance,
    Native,
    Partial,
    Unknown,
)

COMPUTED = object()


def plain(value: Any) -> Any:
    """Return the JSON form of a value, COMPUTED where it has none (objects, what only a run could tell)."""
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, (str, int, float, bool)) else value.name
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return _all([plain(v) for v in value])
    if isinstance(value, (set, frozenset)):
        items = _all([plain(v) for v in value])
        return items if items is COMPUTED else sorted(items, key=repr)
    if isinstance(value, dict):
        values = [plain(v) for v in value.values()]
        if _all(values) is COMPUTED:
            return COMPUTED
        return dict(zip(map(str, value), values, strict=True))
    if isinstance(value, Instance) and issubclass(value.cls, dict):
        return plain(value.attributes) if not value.args else COMPUTED
    return COMPUTED


def _all(items: list[Any]) -> Any:
    return COMPUTED if any(i is COMPUTED for i in items) else items


def put_default(attrs: dict[str, Any], value: Any) -> None:
    """Write a default into attrs: absent for None, `computed` where it is not literal, `required` for none."""
    if value is MISSING or value is UNDEFINED:
        attrs["required"] = True
        return
    stored = plain(value)
    if stored is COMPUTED:
        attrs["computed"] = True
    elif stored is not None:
        attrs["default"] = stored


def hint_text(hint: Any) -> str:
    """Return a short name of a type: `int | None`, `list[str]`, `SpeculativeConfig`; `str` for a Literal."""
    if hint is None or hint is type(None):
        return "None"
    if isinstance(hint, Unknown):
        return hint.text.rpartition(".")[2] if isinstance(hint, External) else hint.text
    origin = typing.get_origin(hint)
    args = typing.get_args(hint)
    if origin is typing.Annotated:
        return hint_text(args[0])
    if origin is typing.Literal:
        return " | ".join(dict.fromkeys(type(a).__name__.replace("NoneType", "None") for a in args))
    if origin in (typing.Union, types.UnionType):
        parts: list[str] = []
        for arg in args:
            parts += hint_text(arg).split(" | ") if "[" not in hint_text(arg) else [hint_text(arg)]
        unique = list(dict.fromkeys(parts))
        return " | ".join([p for p in unique if p != "None"] + ["None"] * ("None" in unique))
    if isinstance(hint, typing.ForwardRef):
        return hint.__forward_arg__
    if origin is not None:
        name = getattr(origin, "__name__", str(origin))
        inner = [a for a in args if a is not Ellipsis and not isinstance(a, list)]
        if name in ("Callable", "type") or not inner:
            return name
        return f"{name}[{', '.join(map(hint_text, inner))}]"
    if hint is typing.Any:
        return "Any"
    return str(getattr(hint, "__name__", None) or hint)


def hint_values(hint: Any, depth: int = 0) -> list[Any]:
    """Return the values a type allows by name: those of its Literals and the names of its enums' members."""
    if depth > 6:
        return []
    if typing.get_origin(hint) is typing.Literal:
        return [plain(a) for a in typing.get_args(hint)]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return [m.name for m in hint]
    out: list[Any] = []
    for arg in typing.get_args(hint):
        if typing.get_origin(arg) not in (list, dict, tuple, set) and not isinstance(arg, (list, str)):
            out += hint_values(arg, depth + 1)
    return out


def config_class(hint: Any, is_config: Any) -> str | None:
    """Return the name of the config class a type holds, None where there is none."""
    if isinstance(hint, type):
        return hint.__name__ if is_config(hint) else None
    for arg in typing.get_args(hint):
        if typing.get_origin(arg) is None or typing.get_origin(arg) in (typing.Union, types.UnionType):
            found = config_class(arg, is_config)
            if found is not None:
                return found
    return None


def converter_name(value: Any) -> tuple[str, bool, Any]:
    """Return what an action's `type` converts to, whether it takes "None" for none, and its config class.

    A function is named after what it wraps (`optional_type(int)` is int).
    """
    if isinstance(value, type):
        return value.__name__, False, None
    if isinstance(value, Native):
        return ("json" if value.name == "json.loads" else value.name), False, None
    if isinstance(value, Partial):
        return converter_name(value.function)
    if isinstance(value, External):
        return value.text.rpartition(".")[2], False, None
    if isinstance(value, Bound):  # a constructor such as CompilationConfig.from_cli
        literal = "literal_eval" in ast.unparse(value.function.node)
        kind = "json_or_literal" if literal else "json"
        return kind, False, value.first if isinstance(value.first, type) else None
    if not isinstance(value, Function):
        return "str", False, None
    closure = value.scope.names if value.scope.parent is not None else {}
    if value.name in ("_optional_type", "_parse_type"):
        name, optional, cls = converter_name(closure.get("return_type"))
        return name, optional or value.name == "_optional_type", cls
    if value.name == "parse_dataclass" or "dataclass" in value.name:
        cls = value.defaults[0] if value.defaults else closure.get("dataclass_cls")
        return "json", False, cls if isinstance(cls, type) else None
    if value.name == "<lambda>" and value.defaults and isinstance(value.defaults[0], (Bound, type)):
        held = value.defaults[0]  # what the lambda hands the text to: a constructor, or the class itself
        return converter_name(held) if isinstance(held, Bound) else ("json", False, held)
    known = {
        "human_readable_int": "human_int",
        "human_readable_int_or_auto": "human_int_or_auto",
        "union_dict_and_str": "json_or_str",
        "nullable_str": "str",
        "nullable_kvs": "key_values",
    }
    if isinstance(value.node, ast.Lambda):
        return _lambda_name(value.node), False, None
    return known.get(value.name, value.name), value.name.startswith("nullable"), None


def _lambda_name(node: ast.Lambda) -> str:
    """Return what a nameless converter does, "custom" where it is none of the known ones."""
    text = ast.unparse(node.body)
    if ".lower().replace('-', '_')" in text:
        return "lower_underscore"
    return "colon_pairs" if ".split(':')" in text else "custom"
