"""JSON with parts that only a run can tell: the rest is judged, the parts stay where they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.jsontext import Filled, parse, rewrite

A, B = "\ue000", "\ue001"


def test_parts_are_values_or_stand_in_strings() -> None:
    text = f'{{"a": {A}, "b": "x{B}", "c": [{A}{B}, 1]}}'
    assert parse(text).value == {"a": A, "b": f"x{B}", "c": [A + B, 1]}


@pytest.mark.parametrize("text", [f"{{{A}}}", f'{{"a": 1 {A}}}', f'{{"a": 1{A}}}', f'{{{A}: 1}}'])
def test_parts_that_may_be_anything_are_no_json(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_what_stays_is_not_touched_and_what_goes_takes_its_part() -> None:
    text = f'{{"level": {A}, "model": "{B}", "n": 3}}'
    assert rewrite(text, {"mode": A, "n": 3}) == f'{{"mode": {A}, "n": 3}}'


def test_a_part_is_never_written_at_another_place() -> None:
    with pytest.raises(Filled):
        rewrite(f'{{"a": {A}}}', {"b": {"c": A}})


@given(st.dictionaries(st.text("ab", min_size=1, max_size=3), st.sampled_from([1, "x", True, None]), min_size=1))
def test_parts_beside_any_values_keep_their_place(values: dict[str, object]) -> None:
    text = json.dumps(values)[:-1] + f', "filled": {A}, "end": "{B}"}}'
    kept = dict(list(values.items())[1:])
    after = parse(rewrite(text, {**kept, "filled": A, "end": B})).value
    assert after == {**kept, "filled": A, "end": B}
