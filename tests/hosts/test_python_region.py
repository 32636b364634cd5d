"""Edits of a text that Python puts together from several strings: Python then says what was meant."""

from __future__ import annotations

import ast
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_helpers import without

from vllm_migrate.hosts.python_commas import bracket_of
from vllm_migrate.hosts.python_region import Given, StringRegion, string_region
from vllm_migrate.hosts.python_source import parse
from vllm_migrate.model import is_hole
from vllm_migrate.text import Region, Source

NAMES = {"n": "<n>", "m": "<m>"}
# Each is a part of a sum or of strings side by side; those with a name are f-strings or the name itself.
PARTS = st.sampled_from(
    ["'a b '", '"c --d "', "'''e f'''", "r'g\\h '", "'it\\'s '", "'\\n--i '", "f'{n} j '", "f'--k={m} {{}}'", "' '",
     "''", "'--l \\\n m '"]
)  # fmt: skip
BARE = st.sampled_from(["n", "m", "(n)"])


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Draw a module that makes the text `x` of parts."""
    parts = draw(st.lists(PARTS, min_size=1, max_size=4))
    form = draw(st.sampled_from(["one line", "lines", "sum", "sum on lines", "in brackets", "grown"]))
    if form == "one line":
        return "x = " + " ".join(parts) + "\n"
    if form == "lines":
        return "x = (\n" + "".join(f"    {part}\n" for part in parts) + ")\n"
    if form == "grown":
        return f"x = {parts[0]}\n" + "".join(f"x += {part}\n" for part in parts[1:]) + "y = 1\n"
    mixed = [parts[0]]
    for part in parts[1:]:
        if draw(st.booleans()):
            mixed.append(draw(BARE))
        mixed.append(f"({part})" if draw(st.integers(0, 3)) == 3 else part)
    if form == "in brackets":
        return "x = (n + " + " + ".join(mixed) + ")"
    if form == "sum":
        return "x = " + " + ".join(mixed) + "\n"
    return "x = (\n    " + "\n    + ".join(mixed) + "\n)\n"


def region_of(text: str) -> StringRegion:
    module = parse(Region.whole(Source.of(text, "a.py")))
    assert module is not None
    given = []
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            if statement.targets[0].id == "x":
                given.append(Given(statement.value))
        elif isinstance(statement, ast.AugAssign):
            given.append(Given(statement.value, statement))
    region = string_region(module, given)
    assert region is not None
    return region


def said(text: str) -> object:
    scope: dict[str, object] = dict(NAMES)
    exec(compile(text, "a.py", "exec"), scope)
    return scope["x"]


def filled(text: str, holes: list[str]) -> str:
    return "".join(NAMES[holes[ord(c) - 0xE000].strip("{}")] if is_hole(c) else c for c in text)


@st.composite
def changes(draw: st.DrawFn, length: int, texts: list[str]) -> tuple[int, int, str]:
    start = draw(st.integers(0, length))
    return start, draw(st.integers(start, length)), draw(st.sampled_from(["", *texts]))


@given(modules(), st.data())
@settings(max_examples=60)
def test_python_says_what_was_meant(text: str, data: st.DataObject) -> None:
    region = region_of(text)
    length = len(region.text)
    assert filled(region.text, region.holes) == said(text)
    for start, end, new in data.draw(
        st.lists(changes(length, ["z", " --y ", "q'\"", "{o}\n\\"]), min_size=9, max_size=9)
    ):
        edit = region.edit(start, end, new)
        if edit is None:
            touched = [p for p in region.parts if p.start <= end and start <= p.end]
            bare = any(p.literal is None for p in touched)
            parted = any(set("()") & set(text[a.span.end : b.span.start]) for a, b in itertools.pairwise(touched))
            groups = len({p.group for p in touched})
            everything = start == 0 and end == length
            assert (start == end and not new) or everything or (new and bare) or "r'" in text or parted or groups > 2
            continue
        after = region.source.with_edits([edit]).text
        assert said(after) == filled(region.text[:start] + new + region.text[end:], region.holes), after


ITEMS = st.sampled_from(["'a b'", '"--c d"', "f'{n} --e'", "'--f'", "'g' 'h'", "n", "m + ' i'", "'it\\'s'"])


@st.composite
def joins(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a module that joins a list to the text `x`, and the text between two items."""
    items = ["'vllm'", *draw(st.lists(ITEMS, min_size=1, max_size=4))]
    joint = draw(st.sampled_from([" ", "\n", " \\\n"]))
    shown = draw(
        st.sampled_from(
            [", ".join(items), "\n    " + ",\n    ".join(items) + ",\n", ",  # why\n    ".join(items) + "\n"]
        )
    )
    return f"x = {joint!r}.join([{shown}])\n", joint


@given(joins(), st.data())
@settings(max_examples=50)
def test_a_joined_list_says_what_was_meant(made: tuple[str, str], data: st.DataObject) -> None:
    text, joint = made
    module = parse(Region.whole(Source.of(text, "a.py")))
    listed = next(n for n in ast.walk(module.tree) if isinstance(n, ast.List))
    bracket = bracket_of(module, listed)
    region = string_region(module, [Given(e, None, bracket, i) for i, e in enumerate(listed.elts)], joint)
    assert region is not None and filled(region.text, region.holes) == said(text)
    for start, end, new in data.draw(st.lists(changes(len(region.text), ["", "z", " --y "]), min_size=9, max_size=9)):
        edit = region.edit(start, end, new)
        if edit is None:
            continue
        after = region.source.with_edits([edit]).text
        wanted = filled(region.text[:start] + new + region.text[end:], region.holes)
        # Whole items go with what parted them from the next.
        got = said(after)
        assert isinstance(got, str)
        assert [w for w in got.split() if w != "\\"] == [w for w in wanted.split() if w != "\\"], after


@pytest.mark.parametrize(
    ("text", "start", "end", "after"),
    [
        ("x = r'g\\h '\n", 2, 4, None),
        ("x = r'g\\h ' 'a b'\n", 2, 5, None),
        ("x = r'g\\\\h ' 'a b'\n", 3, 6, "x = r'g\\\\' ' b'\n"),
        ("x = r'g\\h ' + n\n", 2, 5, None),
        ("x = '\\0' '1 b'\n", 0, 1, "x = '1 b'\n"),
        ("x = '\\0a1'\n", 1, 2, None),
        # A bare expression goes with its sign.
        ("x = n + 'a b '\n", 0, 3, "x = 'b '\n"),
        ("x = 'a ' + n + 'c d '\n", 2, 5, "x = 'a ' + 'd '\n"),
        ("x = 'a b' + n + 'c'\n", 1, 4, "x = 'a' + 'c'\n"),
    ],
)
def test_what_is_taken_out_of_a_text(text: str, start: int, end: int, after: str | None) -> None:
    region = region_of(text)
    edit = region.edit(start, end, "")
    assert (None if edit is None else region.source.with_edits([edit]).text) == after


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        (['"vllm serve m "', '"--x"', '" 1 --y"'], ['"vllm serve m "', '"--y"']),
        (['"vllm serve m "', '"--x 1 "  ', '"--y"'], ['"vllm serve m "', '"--y"']),
        (['"vllm serve m "', '"--x 1 "', '"--y"'], ['"vllm serve m "', '"--y"']),
        (['"vllm serve m"', '" --x 1"', '" --y"'], ['"vllm serve m"', '" --y"']),
        (['"vllm serve m --y "', '"--x 1"'], ['"vllm serve m --y"']),
        (['"vllm serve m "', 'f"--x {n} "', '"--y"'], ['"vllm serve m "', '"--y"']),
        (['"vllm serve m --x "', 'f"{n} --y"'], ['"vllm serve m"', 'f" --y"']),
    ],
)
def test_lines_of_a_text_go_whole(parts: list[str], left: list[str]) -> None:
    def text_of(parts: list[str]) -> str:
        return "import os\nos.system(\n" + "".join(f"    {part}\n" for part in parts) + ")\n"

    assert without(text_of(parts), "--x") == text_of(left)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"vllm serve m " +\n    "--y " +\n    "--x=1"', '"vllm serve m " +\n    "--y"'),
        ('"vllm serve m " +\n    "--x=1 " +\n    "--y"', '"vllm serve m " +\n    "--y"'),
        ('"vllm serve m "\n    + "--x=1 "\n    + "--y"', '"vllm serve m "\n    + "--y"'),
        ('"vllm serve m "\n    + "--y "\n    + "--x=1"', '"vllm serve m "\n    + "--y"'),
        ('"vllm serve m " + (n) + " --x=1"', '"vllm serve m " + (n)'),
        ('"vllm serve " + (n) + " --x=1" + (" --y")', '"vllm serve " + (n) + (" --y")'),
        ('"vllm serve " + n + (" --x=1") + " --y"', '"vllm serve " + n + " --y"'),
        ('("vllm serve " + n) + " --x=1" + " --y"', '("vllm serve " + n) + " --y"'),
        ('"vllm serve " + n + (" --x=1" + " --y")', '"vllm serve " + n + (" --y")'),
        ('"vllm serve " + n + (" --y" + " --x=1") + " --z"', '"vllm serve " + n + (" --y") + " --z"'),
        ('"vllm serve " + n + (" --x=1")', '"vllm serve " + n'),
    ],
)
def test_parts_of_a_sum_go_with_their_sign(before: str, after: str) -> None:
    around = "import os\nos.system(\n    %s\n)\n"
    assert without(around % before, "--x=1") == around % after
