"""JSON is read as a JSON reader reads it, and every value lies where it says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.hosts.json_tree import parse
from vllm_migrate.hosts.yaml_tree import Node

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def value(node: Node, text: str) -> Any:
    """Return what a node says, by its parts; each lies where its text is."""
    raw = text[node.start : node.end]
    if node.kind == "scalar":
        assert node.body == node.start
        assert raw == node.text if node.style == "" else json.loads(raw) == node.text
        return json.loads(raw)
    assert raw[0] + raw[-1] == ("{}" if node.kind == "mapping" else "[]") and node.flow
    for index, use in enumerate(node.children):
        assert (use.index, use.holder, use.start, use.end) == (index, node, use.node.start, use.node.end)
        assert use.node.uses == [use]
    if node.kind == "sequence":
        return [value(use.node, text) for use in node.items]
    return {value(pair.key, text): value(pair.node, text) for pair in node.pairs}


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
@settings(max_examples=150)
def test_what_is_read_is_what_json_says(data: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    tree = parse(f" {text}\n")
    (root,) = tree.roots
    assert not tree.errors
    assert value(root, f" {text}\n") == data
    assert root.uses[0].node is root and root.uses[0].holder is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        (" // nothing\n", []),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('{"a": 1, // one\n "b": [1, 2, /* , */ 3,], }', [{"a": 1, "b": [1, 2, 3]}]),
        ('/* a\nb */ "x"', ["x"]),
        ('["//", "/*", "\\"]"]', [["//", "/*", '"]']]),
        ("-1.5e+3 true", [-1500.0, True]),
        ("[" * 150 + "]" * 150, None),
    ],
)
def test_comments_trailing_commas_and_lines_of_values(text: str, values: list[Any] | None) -> None:
    tree = parse(text)
    assert not tree.errors
    if values is not None:
        assert [value(root, text) for root in tree.roots] == values


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ('{"a', "a string is not closed", 1),
        ('["a\nb"]', "a string is not closed", 1),
        ('["\\q"]', "a bad escape in a string", 1),
        ("[1, x]", "no JSON value", 4),
        ("[1", "no comma between two values", 2),
        ("[1,", "a bracket is not closed", 0),
        ('x: {"a": [', "no JSON value", 0),
        ('{"a": [', "a bracket is not closed", 6),
        ('{"a": 1 "b"}', "no comma between two values", 8),
        ('{"a" 1}', "no colon after a key", 5),
        ('{"a":', "no JSON value", 5),
        ("{a: 1}", "a string is not closed", 1),
        ("[" * 200 + "]" * 200, "nested too deeply", 151),
        ('{"a":' * 200, "nested too deeply", 755),
    ],
)
def test_what_is_wrong_and_where(text: str, message: str, offset: int) -> None:
    tree = parse(text)
    assert tree.errors == [(message, offset)]
    assert not tree.roots


def test_what_comes_before_an_error_is_read() -> None:
    tree = parse('{"a": 1}\n{"b": ')
    assert len(tree.roots) == 1 and tree.errors == [("no JSON value", 15)]
