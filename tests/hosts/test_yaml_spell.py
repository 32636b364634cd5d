"""Values written in YAML are read as those values, by loaders of YAML 1.1 and of 1.2."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.hosts import yaml_spell
from vllm_migrate.model import Dynamic

_WORDS = st.sampled_from(
    ["yes", "on", "Off", "null", "~", "1e3", "0x1f", "0o17", "017", "1_000", "1:30", "12:30:45", ".5", "1.", "-.inf",
     ".NaN", "2024-01-02", "2024-1-2 3:04", "=", "<<", "-", "- a", "? a", ": a", "a: b", "a:b", "a #b", "a#b", "#a",
     "---", "...", "&a", "*a", "!t", "|", ">", "%a", "@a", "`a", "'", '"', "it's", 'say "x"', "a\\b", "[a]", "{a}",
     "a,b", "a?", "--x=4", "--x={\"a\": 1}", "true", "True", "TRUE", "+1", "-0", "a\tb", "a\nb", "a\r", "é", "\u2028",
     "\x07", "\ufeff", "\x85", "a ", " a", "a:", "", "1.5e-3", "1e", "e1", "0b11", "08", "0", "-", "+", "."]
)  # fmt: skip
_TEXT = _WORDS | st.text(alphabet="ab01:-#,'\"\\{}[]&*!|>%@`?=~ .é\t\n", max_size=8)


def load(text: str, version: tuple[int, int]) -> Any:
    from ruamel.yaml import YAML

    loader = YAML(typ="safe", pure=True)
    loader.version = version
    return loader.load(text)


@pytest.mark.parametrize("version", [(1, 1), (1, 2)])
@given(text=_TEXT, style=st.sampled_from(["", "'", '"']), flow=st.booleans(), escapes=st.booleans())
@settings(max_examples=150)
def test_a_text_is_read_as_it_was(text: str, style: str, flow: bool, escapes: bool, version: tuple[int, int]) -> None:
    spelled = yaml_spell.spell_text(text, style, flow=flow, escapes=escapes)
    document = f"k: [{spelled}, {{a: {spelled}}}]\n" if flow else f"k: {spelled}\nl:\n- {spelled}\n"
    got = load(document, version)
    assert (got["k"] if flow else [got["k"], {"a": got["l"][0]}]) == [text, {"a": text}]
    assert json.loads(yaml_spell.spell_text(text, style, flow=flow, only_json=True)) == text


@pytest.mark.parametrize(
    ("text", "style", "spelled"),
    [
        ("a", "", "a"),
        ("a", "'", "'a'"),
        ("a", '"', '"a"'),
        ("4", "", '"4"'),
        ("yes", "", '"yes"'),
        ("1:30", "", '"1:30"'),
        ("MAX", "", "MAX"),
        ("at 1:30", "", "at 1:30"),
        ("on 2024-01-02", "", "on 2024-01-02"),
        ("it's", "'", "'it''s'"),
        ("it's", "", "it's"),
        ("it's", '"', '"it\'s"'),
        ('{"a": 1}', "", "'{\"a\": 1}'"),
        ('{"a": 1}', '"', "'{\"a\": 1}'"),
        ('{"a": "it\'s"}', '"', '"{\\"a\\": \\"it\'s\\"}"'),
        ("a\\b", '"', "'a\\b'"),
        ("a\\b", "", "a\\b"),
        ("a: b", "", '"a: b"'),
        ("a: \\b", "", "'a: \\b'"),
        ("a\nb", "'", '"a\\nb"'),
        ("a\nb", "", '"a\\nb"'),
        ("\x07", "'", '"\\u0007"'),
        ("a,b", "", "a,b"),
    ],
)
def test_quotes_stay_where_they_can_hold_the_text(text: str, style: str, spelled: str) -> None:
    assert yaml_spell.spell_text(text, style, flow=False) == spelled


def test_quotes_where_they_are_needed_only_there() -> None:
    assert yaml_spell.spell_text("a,b", "", flow=True) == '"a,b"'
    assert yaml_spell.spell_text("4", "", flow=False, loose=True) == "4"
    assert yaml_spell.spell_text("a: b", "", flow=False, loose=True) == '"a: b"'
    assert yaml_spell.spell_text('say "x"', '"', flow=False, escapes=True) == '"say \\"x\\""'
    assert yaml_spell.spell_text("\ue000", "", flow=False) == '"\ue000"'
    assert yaml_spell.spell_text("a\ue000", "", flow=False) == "a\ue000"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None), ("nULL", "nULL"),
        ("true", True), ("Yes", True), ("ON", True), ("oN", "oN"), ("off", False), ("No", False), ("FALSE", False),
        ("4", 4), ("-4", -4), ("+4", 4), ("1_000", 1000), ("0x1F", 31), ("-0x1f", -31), ("0b101", 5), ("0o17", 15),
        ("017", 15), ("-017", -15), ("08", "08"), ("0", 0), ("1.5", 1.5), ("-.5", -0.5), ("1.", 1.0), ("1e3", 1000.0),
        ("1_0.5", 10.5), ("1__0.5", 10.5), (".", "."), ("-", "-"),
        ("1.2.3", "1.2.3"), ("4k", "4k"), ("x4", "x4"), ("-x", "-x"),
        (".inf", float("inf")), ("-.INF", float("-inf")), ("+.inf", float("inf")), (".infx", ".infx"),
        ("-.Inf", float("-inf")), ("1e", "1e"),
    ],
)  # fmt: skip
def test_plain_scalars_have_the_type_that_loaders_give_them(text: str, value: Any) -> None:
    got = yaml_spell.resolve(text)
    assert (type(got), got) == (type(value), value)


def test_no_number_is_one() -> None:
    for text in (".nan", ".NaN", ".NAN"):
        assert math.isnan(yaml_spell.resolve(text)) and not yaml_spell.is_text(text)


_KEYS = st.sampled_from(["a", "b c", "yes", "4"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.sampled_from([0.5, 1e20, -2.0]) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)


@given(_VALUES, st.sampled_from(["", "'", '"']))
@settings(max_examples=150)
def test_a_value_is_read_as_it_was(value: Any, style: str) -> None:
    for flow in (True, False):
        spelled = yaml_spell.spell_value(value, style, flow=flow)
        document = f"k: [{spelled}]\n" if flow else f"k: {spelled}\n"
        assert load(document, (1, 2))["k"] == ([value] if flow else value)
    assert json.loads(yaml_spell.spell_value(value, style, flow=True, only_json=True)) == value


@given(st.sampled_from(["key", "yes", "a b"]), _VALUES, st.integers(1, 4))
@settings(max_examples=150)
def test_a_key_with_its_value_is_read_as_it_was(key: str, value: Any, step: int) -> None:
    lines = yaml_spell.keyed_lines(key, value, step)
    assert load("\n".join(lines) + "\n", (1, 2)) == {key: value}
    assert all(not line.startswith(" ") or line[:step].isspace() for line in lines)


def test_nested_values_stand_in_blocks() -> None:
    value = {"a": 1, "b": {"c": ["x", {"d": True, "e": None}]}, "f": {}, "g": []}
    assert yaml_spell.keyed_lines("k", value, 2) == [
        "k:",
        "  a: 1",
        "  b:",
        "    c:",
        "      - x",
        "      - d: true",
        "        e: null",
        "  f: {}",
        "  g: []",
    ]
    assert yaml_spell.keyed_lines("a,b", ["c,d", {"e,f": 1}], 2) == ["a,b:", "  - c,d", "  - e,f: 1"]
    assert yaml_spell.keyed_lines("k", "v", 2, '"') == ['k: "v"']
    assert yaml_spell.block_lines("v", 2) is None


def test_truth_is_written_like_what_stood_there() -> None:
    for like, spelled in [("", "true"), ("false", "true"), ("False", "True"), ("FALSE", "TRUE"), ("No", "True")]:
        assert yaml_spell.spell_value(True, flow=False, like=like) == spelled
    assert yaml_spell.spell_value(False, flow=False, like="True") == "False"
    assert yaml_spell.spell_value(True, flow=False, like="Auto") == "true"
    assert yaml_spell.spell_value(True, flow=True, only_json=True, like="False") == "true"
    assert yaml_spell.spell_value(Dynamic("{{ .x }}"), flow=False) == "{{ .x }}"
    with pytest.raises(TypeError, match="set"):
        yaml_spell.spell_value({1}, flow=False)
