"""What the config classes of a release check: type hints as text, as the catalog has them.

A field's `type` and `choices` mostly say what its class takes. Where they do not (bounds, a Literal inside a
list, an enum's values, a validator that runs before the type is looked at), the catalog also has a `hint`:
Python syntax, in which a call adds to a type (`int(ge=1)`), `Enum[…]` lists the values of an enum, `Upper[…]` and
`Lower[…]` are strings compared without their case (`Lower` reads `-` as `_` too), `Str` is any string because a
validator reads it, `Other` is anything but a string, and the name `choices` stands for the values in `choices`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Any

KNOWN = frozenset({"str", "int", "float", "bool", "None", "list", "dict", "set", "tuple", "Path"})
_CONTAINERS = frozenset({"list", "dict", "set", "tuple"})


def reading(attrs: Mapping[str, Any], classes: Collection[str]) -> str:
    """Return the hint of a field as its other attributes say it; what is not understood reads `Any`.

    classes: names of the release's config classes.
    """
    if "hint" in attrs:
        return str(attrs["hint"]).replace("choices", repr(attrs.get("choices"))[1:-1])
    text = str(attrs.get("type", "Any"))
    try:
        parsed = ast.parse(text, mode="eval").body
    except SyntaxError:
        return "Any"
    parts = [_name(node, classes) for node in members(parsed)]
    choices = attrs.get("choices")
    if choices:
        literal = f"Literal{list(choices)!r}"
        kinds = dict.fromkeys(type(c).__name__ for c in choices)
        if any(kind not in parts for kind in kinds):
            return "Any"
        parts = [literal if p == next(iter(kinds)) else p for p in parts if p not in list(kinds)[1:]]
    return "Any" if "Any" in parts else " | ".join(parts)


def members(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*members(node.left), *members(node.right)]
    return [node]


def _name(node: ast.expr, classes: Collection[str]) -> str:
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    if isinstance(node, ast.Name):
        return node.id if node.id in KNOWN or node.id in classes else "Any"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in _CONTAINERS:
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return f"{node.value.id}[{', '.join(' | '.join(_name(m, classes) for m in members(i)) for i in inner)}]"
    return "Any"
