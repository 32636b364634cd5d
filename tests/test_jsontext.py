"""Rewriting JSON text: the new value, and as few changes as it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.jsontext import parse, rewrite

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet="ab\"\\é", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcdef"), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from("abcdef"), values, max_size=5)


@given(objects, objects, st.sampled_from([None, 2]), st.booleans())
def test_the_result_is_the_new_value(old: Any, new: Any, indent: int | None, compact: bool) -> None:
    text = json.dumps(old, indent=indent, separators=(",", ":") if compact else None)
    assert json.loads(rewrite(text, new)) == new


@given(objects, st.sampled_from([None, 2]))
def test_nothing_to_change_changes_nothing(old: Any, indent: int | None) -> None:
    text = json.dumps(old, indent=indent)
    assert rewrite(text, old) == text
    assert parse(text).value == old


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('{"level":3,"x": 1}', {"mode": 3, "x": 1}, '{"mode":3,"x": 1}'),
        ('{"d":3,"x":1}', {"x": 1, "n": 4, "m": 2}, '{"x":1,"n":4,"m":2}'),
        ('{"d":3,"x":1}', {"n": 4, "x": 1, "m": 2}, '{"n":4,"x":1,"m":2}'),
        ('{ "a": 1, "b": 2 }', {"b": 2}, '{ "b": 2 }'),
        ('{"a":1,"b":2,"c":3}', {"a": 1, "c": 3}, '{"a":1,"c":3}'),
        ('{"a":1}', {"a": 1, "b": "x"}, '{"a":1,"b":"x"}'),
        ('{\n  "a": 1\n}', {"a": 1, "b": 2}, '{\n  "a": 1,\n  "b": 2\n}'),
        ('{"p": {"q": true, "r": 1}}', {"p": {"r": 1}}, '{"p": {"r": 1}}'),
        ('{"a": 1}', {"a": True}, '{"a": true}'),
    ],
)
def test_the_spelling_around_stays(old: str, new: Any, text: str) -> None:
    assert rewrite(old, new) == text


@pytest.mark.parametrize("text", ["", "{", '{"a" 1}', '{"a":1,}', "{'a': 1}", '{"a":1} x', "[" * 500])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)
