"""Lists keep their shape: whatever is taken away or added, the rest reads the same."""

from __future__ import annotations

import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.hosts.listing import Listing
from vllm_migrate.text import Span, apply_edits

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def toml_listing(text: str) -> Listing:
    spans = [
        Span(m.start(), m.end())
        for m in re.finditer(r'"[^"]*"', re.sub(r"#.*", lambda m: " " * len(m[0]), text))
    ]
    newline = "\r\n" if "\r\n" in text else "\n"
    return Listing(text, spans, text.index("[") + 1, comment="#", newline=newline)


def toml_remove(text: str, *gone: int) -> str:
    return apply_edits(text, toml_listing(text).edits(gone, {}, {}))


def docker_listing(text: str) -> Listing:
    spans = [Span(m.start(), m.end()) for m in re.finditer(r'"[^"]*"', text)]
    return Listing(text, spans, text.index("[") + 1, continuation="\\")


ONE = 'x = ["a", "b", "c"]\n'
LINES = 'x = [\n  "a",  # first\n  "b",\n  "c",\n]\n'
NO_COMMA = 'x = [\n  "a",  # first\n  "b",\n  "c"  # last\n]\n'
PAIRS = 'x = ["a", "b",\n     "c", "d",\n     "e", "f"]\n'


@pytest.mark.parametrize(
    ("text", "gone", "left"),
    [
        (ONE, (0,), 'x = ["b", "c"]\n'),
        (ONE, (1,), 'x = ["a", "c"]\n'),
        (ONE, (2,), 'x = ["a", "b"]\n'),
        (ONE, (1, 2), 'x = ["a"]\n'),
        (LINES, (0,), 'x = [\n  "b",\n  "c",\n]\n'),
        (LINES, (1,), 'x = [\n  "a",  # first\n  "c",\n]\n'),
        (LINES, (2,), 'x = [\n  "a",  # first\n  "b",\n]\n'),
        (LINES, (0, 2), 'x = [\n  "b",\n]\n'),
        (NO_COMMA, (2,), 'x = [\n  "a",  # first\n  "b"\n]\n'),
        (NO_COMMA, (1, 2), 'x = [\n  "a"  # first\n]\n'),
        (PAIRS, (2, 3), 'x = ["a", "b",\n     "e", "f"]\n'),
        (PAIRS, (4, 5), 'x = ["a", "b",\n     "c", "d"]\n'),
        (PAIRS, (0, 1), 'x = ["c", "d",\n     "e", "f"]\n'),
        (PAIRS, (1,), 'x = ["a",\n     "c", "d",\n     "e", "f"]\n'),
    ],
)
def test_remove(text: str, gone: tuple[int, ...], left: str) -> None:
    assert toml_remove(text, *gone) == left
    crlf = text.replace("\n", "\r\n")
    assert toml_remove(crlf, *gone) == left.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "after", "left"),
    [
        (ONE, 2, 'x = ["a", "b", "c", "n", "m"]\n'),
        (ONE, 0, 'x = ["a", "n", "m", "b", "c"]\n'),
        (ONE, -1, 'x = ["n", "m", "a", "b", "c"]\n'),
        (LINES, 2, 'x = [\n  "a",  # first\n  "b",\n  "c",\n  "n",\n  "m",\n]\n'),
        (LINES, 0, 'x = [\n  "a",  # first\n  "n",\n  "m",\n  "b",\n  "c",\n]\n'),
        (LINES, -1, 'x = [\n  "n",\n  "m",\n  "a",  # first\n  "b",\n  "c",\n]\n'),
        (NO_COMMA, 2, 'x = [\n  "a",  # first\n  "b",\n  "c",  # last\n  "n",\n  "m"\n]\n'),
        (PAIRS, 5, 'x = ["a", "b",\n     "c", "d",\n     "e", "f",\n     "n", "m"]\n'),
        (PAIRS, 3, 'x = ["a", "b",\n     "c", "d",\n     "n", "m",\n     "e", "f"]\n'),
    ],
)
def test_insert(text: str, after: int, left: str) -> None:
    assert apply_edits(text, toml_listing(text).edits((), {}, {after: ['"n"', '"m"']})) == left


def test_inserted_items_take_the_place_of_the_removed_item() -> None:
    text = 'x = [\n  "a",\n  "b",\n  "c",\n]\n'
    edits = toml_listing(text).edits((1,), {}, {1: ['"n"', '"m"']})
    assert apply_edits(text, edits) == 'x = [\n  "a",\n  "n",\n  "m",\n  "c",\n]\n'


def test_continuations_go_with_their_line() -> None:
    text = '["a", \\\n  "b", "1", \\\n  "c", \\\n  "d"]\n'
    listing = docker_listing(text)
    assert apply_edits(text, listing.edits((1, 2), {}, {})) == '["a", \\\n  "c", \\\n  "d"]\n'
    assert apply_edits(text, listing.edits((4,), {}, {})) == '["a", \\\n  "b", "1", \\\n  "c"]\n'
    assert apply_edits(text, listing.edits((), {}, {4: ['"e"']})).endswith('"d", \\\n  "e"]\n')


GAPS = st.sampled_from([" ", "\n  ", "  # note\n  ", ""])


PARTS = st.lists(st.tuples(st.sampled_from("abc"), GAPS, GAPS), min_size=2, max_size=6)


@given(PARTS, st.booleans(), st.data())
def test_any_change_leaves_a_right_list(
    parts: list[tuple[str, str, str]], trailing: bool, data: st.DataObject
) -> None:
    body = ""
    for i, (name, before, after) in enumerate(parts):
        last = i == len(parts) - 1
        body += (
            f'{before}"{name}{i}"' + ("" if last and not trailing else ",") + (after if "#" in after else "")
        )
    text = f"x = [{body}\n]\ny = 1\n"
    items = tomllib.loads(text)["x"]
    gone = data.draw(st.sets(st.integers(0, len(items) - 1), max_size=len(items) - 1))
    after = data.draw(st.integers(-1, len(items) - 1))
    add = data.draw(st.lists(st.sampled_from(['"n"', '"m"']), max_size=2))
    result = apply_edits(text, toml_listing(text).edits(sorted(gone), {}, {after: add}))
    expected = []
    new = [json.loads(a) for a in add]
    expected += new if after < 0 else []
    for i, item in enumerate(items):
        expected += [item] if i not in gone else []
        expected += new if i == after else []
    assert tomllib.loads(result) == {"x": expected, "y": 1}
