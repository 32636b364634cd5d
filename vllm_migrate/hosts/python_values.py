"""Python literals as values, and values as Python source."""

from __future__ import annotations

import ast
from typing import Any

from vllm_migrate.hosts.python_commas import bracket_of
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_text import quote_of, write_string
from vllm_migrate.model import CannotRender, Dynamic
from vllm_migrate.text import Edit


def value_of(module: Module, node: ast.expr) -> Any:
    """Return the value of an expression: literals as they are, anything else as Dynamic.

    A `dict(...)` call counts as a dictionary, a tuple as a list.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = value_of(module, node.operand)
        if isinstance(inner, (int, float)) and not isinstance(inner, bool):
            return -inner
    if isinstance(node, (ast.List, ast.Tuple)) and not any(isinstance(e, ast.Starred) for e in node.elts):
        return [value_of(module, e) for e in node.elts]
    pairs = pairs_of(module, node)
    if pairs is not None:
        return {key: value_of(module, value) for key, value in pairs}
    return Dynamic(module.raw(node))


def pairs_of(module: Module, node: ast.expr) -> list[tuple[str, ast.expr]] | None:
    """Return the pairs of a dictionary literal or `dict(...)` with literal keys and nothing unpacked."""
    if isinstance(node, ast.Dict):
        pairs = []
        for key, value in zip(node.keys, node.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                return None
            pairs.append((key.value, value))
        return pairs
    if is_dict_call(node) and not node.args:  # type: ignore[attr-defined]
        keywords = node.keywords  # type: ignore[attr-defined]
        if all(k.arg is not None for k in keywords):
            return [(k.arg, k.value) for k in keywords]
    return None


def is_dict_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict"


def write_value(value: Any, quote: str = '"') -> str:
    """Write a value as Python source on one line. Raises CannotRender for what is no literal."""
    if isinstance(value, Dynamic):
        return value.raw
    if isinstance(value, str):
        written = write_string(value, (), quote)
        if written is None:
            raise CannotRender("the text cannot be written as a Python string")
        return written
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(write_value(v, quote) for v in value) + "]"
    if isinstance(value, dict):
        items = (f"{write_value(k, quote)}: {write_value(v, quote)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    raise CannotRender(f"a value of type {type(value).__name__} cannot be written")


def same(a: Any, b: Any) -> bool:
    """Compare values and their types: 1 is not True, 1 is not 1.0."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and bool(a == b)


def value_edits(module: Module, node: ast.expr, new: Any, quote: str) -> list[Edit]:
    """Return edits of the module's text that make an expression read `new`, changing as little as can be."""
    old = value_of(module, node)
    if same(old, new):
        return []
    span = module.span(node)
    pairs = pairs_of(module, node)
    if pairs is not None and isinstance(new, dict) and len({k for k, _ in pairs}) == len(pairs):
        edits = _dict_edits(module, node, dict(pairs), new, quote)
        if edits is not None:
            return edits
    if isinstance(node, (ast.List, ast.Tuple)) and isinstance(new, (list, tuple)) and len(node.elts) == len(new):
        return [e for n, v in zip(node.elts, new, strict=True) for e in value_edits(module, n, v, quote)]
    like = quote_of(module.text[span.start : span.end]) or quote
    return [Edit(span.start, span.end, write_value(new, like))]


def _dict_edits(
    module: Module, node: ast.expr, pairs: dict[str, ast.expr], new: dict[str, Any], quote: str
) -> list[Edit] | None:
    assert isinstance(node, (ast.Dict, ast.Call))
    kept = [k for k in pairs if k in new]
    if kept != [k for k in new if k in pairs] or any(not isinstance(k, str) for k in new):
        return None
    bracket = bracket_of(module, node)
    if bracket is None:
        return None
    called = isinstance(node, ast.Call)
    near = next((module.raw(k) for k in node.keys if k is not None), "") if isinstance(node, ast.Dict) else ""
    quote = quote_of(near) or quote
    names = list(pairs)
    removed = {i for i, k in enumerate(names) if k not in new}
    if not kept and pairs:
        return None
    inserted: dict[int, list[str]] = {}
    after = -1
    for key, value in new.items():
        if key in pairs:
            after = names.index(key)
            continue
        if called and not key.isidentifier():
            return None
        written = write_value(value, quote)
        raw = f"{key}={written}" if called else f"{write_value(key, quote)}: {written}"
        inserted.setdefault(after, []).append(raw)
    edits = bracket.edits(removed, {}, inserted)
    for key in kept:
        edits += value_edits(module, pairs[key], new[key], quote)
    return edits
