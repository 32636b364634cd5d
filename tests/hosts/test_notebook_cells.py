"""Edits of a notebook's code land in the strings of its lines: a JSON reader gets the code that was meant."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.hosts.json_tree import parse
from vllm_migrate.hosts.notebook import _sources
from vllm_migrate.hosts.notebook_cells import CellsRegion, cells_region
from vllm_migrate.text import Region, Source


def region_of(text: str) -> CellsRegion:
    return cells_region(Region.whole(Source.of(text, "a.ipynb")), list(_sources(parse(text).roots[0])))


def cells_of(text: str) -> list[str | list[str]]:
    return [cell["source"] for cell in json.loads(text)["cells"]]


def edited(text: str, start: int, end: int, new: str) -> str | None:
    region = region_of(text)
    edit = region.edit(start, end, new)
    return None if edit is None else region.source.with_edits([edit]).text


def notebook(*cells: str | list[str], indent: int | None = 1, ascii_only: bool = False, newline: str = "\n") -> str:
    data = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    return json.dumps(data, indent=indent, ensure_ascii=ascii_only).replace("\n", newline) + newline


CODE = st.text(alphabet='ab =\n"\\é😀\t', max_size=12)
CELLS = st.lists(st.tuples(CODE, st.booleans()), min_size=1, max_size=3)


@given(CELLS, st.sampled_from([None, 1]), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.data())
@settings(max_examples=100)
def test_a_reader_gets_the_code_that_was_meant(
    cells: list[tuple[str, bool]], indent: int | None, ascii_only: bool, newline: str, data: st.DataObject
) -> None:
    sources = [code.splitlines(keepends=True) if listed else code for code, listed in cells]
    text = notebook(*sources, indent=indent, ascii_only=ascii_only, newline=newline)
    region = region_of(text)
    assert region.text == "".join(code + "\n" for code, _ in cells)
    which = data.draw(st.integers(0, len(cells) - 1))
    low = sum(len(code) + 1 for code, _ in cells[:which])
    code, listed = cells[which]
    start = data.draw(st.integers(0, len(code)))
    end = data.draw(st.integers(start, len(code)))
    new = data.draw(st.text(alphabet='xy\n"\\ü', max_size=4))
    after = edited(text, low + start, low + end, new)
    if after is None:
        assert listed and not code, "an empty list has no place for text"
        return
    wanted = [code for code, _ in cells]
    wanted[which] = code[:start] + new + code[end:]
    got = cells_of(after)
    assert ["".join(cell) for cell in got] == wanted
    assert [isinstance(cell, list) for cell in got] == [listed for _, listed in cells]
    for cell in got:
        # A list has a string for each line, as notebooks have it.
        assert isinstance(cell, str) or all("\n" not in line[:-1] for line in cell)
    assert after.isascii() or not text.isascii() or "ü" in new


LINES = ["a = 1\n", "b = 2\n", "c = 3"]


@pytest.mark.parametrize(
    ("code", "old", "new", "left"),
    [
        (LINES, "a = 1\n", "", ["b = 2\n", "c = 3"]),
        (LINES, "b = 2\n", "", ["a = 1\n", "c = 3"]),
        (LINES, "\nc = 3", "", ["a = 1\n", "b = 2"]),
        (LINES, "c = 3", "", ["a = 1\n", "b = 2"]),
        (LINES, "a = 1\nb = 2\n", "", ["c = 3"]),
        (LINES, "b = 2\nc = 3", "", ["a = 1"]),
        (LINES, "2\nc", "2 + c", ["a = 1\n", "b = 2 + c = 3"]),
        (LINES, "b = 2", "b = 2\nd = 4", ["a = 1\n", "b = 2\n", "d = 4\n", "c = 3"]),
        (LINES, "c = 3", "c = 3\nd = 4", ["a = 1\n", "b = 2\n", "c = 3\n", "d = 4"]),
        (LINES, "c = 3", 'c = "é"', ["a = 1\n", "b = 2\n", 'c = "é"']),
        (["a = 1"], "a = 1", "a = 1\nb = 2", ["a = 1\n", "b = 2"]),
        (["a = 1"], "a = 1", "", [""]),
        (["a = 1\n"], "a = 1\n", "", [""]),
    ],
)
def test_lines_of_a_cell_come_and_go_as_strings(code: list[str], old: str, new: str, left: list[str]) -> None:
    for indent in (None, 1):
        for around in ([], ["x\n"]):
            text = notebook(*around, code, *around, indent=indent)
            at = region_of(text).text.index(old)
            after = edited(text, at, at + len(old), new)
            assert after == notebook(*around, left, *around, indent=indent)


def test_a_line_behind_the_last_is_a_string_of_its_own() -> None:
    for code, left in [(["a = 1\n"], ["a = 1\n", "b = 2"]), (["a = 1"], ["a = 1b = 2"])]:
        text = notebook(code, ["c"])
        at = len("".join(code))
        assert edited(text, at, at, "b = 2") == notebook(left, ["c"])


def test_escapes_that_stand_there_stay() -> None:
    text = '{"cells": [{"cell_type": "code", "source": ["a = \\"\\u00e9\\/\\uD83D\\ude00\\"\\n", "b = 1"]}]}'
    region = region_of(text)
    assert region.text == 'a = "é/😀"\nb = 1\n'
    assert edited(text, 10, 15, "b = 'ü'") == text.replace("b = 1", "b = '\\u00fc'")
    assert edited(text, 0, len('a = "é/😀"'), 'c = "é/😀"') == text.replace('"a = ', '"c = ')


def test_no_edit_reaches_into_another_cell() -> None:
    for cells in (["a", "b"], [["a"], ["b"]]):
        text = notebook(*cells)
        assert region_of(text).text == "a\nb\n"
        assert edited(text, 0, 3, "") is None
        assert edited(text, 0, 3, "x\ny") is None
        # The line end after a cell is none of its own.
        assert edited(text, 1, 2, "") is None
        assert edited(text, 0, 2, "") == notebook(*(["", "b"] if cells[0] == "a" else [[""], ["b"]]))
        assert edited(text, 0, 2, "c\n") == notebook(*(["c", "b"] if cells[0] == "a" else [["c"], ["b"]]))
    empty = notebook([], ["b"])
    assert edited(empty, 0, 0, "x") is None
