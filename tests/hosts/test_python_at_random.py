"""Whatever is taken away from a module, reading it again shows the rest and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_helpers import items, read, render
from test_python_calls import CALL, KWARGS
from test_python_lists import GROWN, ONE_PER_LINE
from test_python_names import ENV, MODAL
from test_python_strings import JOINED, PARTS

from vllm_migrate.hosts import host
from vllm_migrate.model import CannotRender, Entry, Item, Mention, Pin, Reading, Remove, Replace, Site, Variable, Word

SAMPLES = [
    CALL,
    KWARGS,
    GROWN,
    ONE_PER_LINE,
    ENV,
    MODAL,
    'c = ["vllm", "serve", "m", *(["--a", "1"] if x else []), "--b=2",  # two\n     "--c", f"{y}"]\n'
    'r(c, env={"A": "1"})\n',
]
TEXTS = [PARTS, JOINED] if host("shell") is not None else []
EVERY = [t for s in [*SAMPLES, *TEXTS] for t in (s, s.replace("\n", "\r\n"))]


def shown(item: Item) -> object:
    if isinstance(item, Word):
        return item.spelled()
    if isinstance(item, Entry):
        return item.key, repr(item.value)
    assert isinstance(item, Variable)
    return item.name, item.spelled()


def own(site: Site) -> list[Item]:
    return [*site.words, *site.entries, *site.variables]


def lines(reading: Reading) -> list[object]:
    return [i for s in reading.sites for i in own(s)]


@pytest.mark.parametrize("text", EVERY)
def test_an_item_given_its_own_value_changes_nothing(text: str) -> None:
    for item in items(read(text)):
        if item.locked:
            continue
        if isinstance(item, (Word, Pin)):
            value: object = item.text
        elif isinstance(item, Mention):
            value = item.name
        else:
            assert isinstance(item, (Entry, Variable))
            value = item.value
        assert render(text, [Replace(item, value, getattr(item, "holes", ()))]) == text


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_what_is_left_is_read_again(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(EVERY))
    reading = read(text)
    pool = [i for i in dict.fromkeys(i for s in reading.sites for i in own(s)) if not i.locked]
    if not pool:
        return
    gone = data.draw(st.lists(st.sampled_from(pool), unique_by=id, min_size=1, max_size=6))
    try:
        after = render(text, [Remove(i) for i in gone])
    except CannotRender:
        # A run that begins in an expression and ends inside a literal has no spelling of its own.
        assert "join" in text or "shell" in text
        return
    want = [[shown(i) for i in own(s) if i not in gone] for s in reading.sites]
    assert [[shown(i) for i in own(s)] for s in read(after).sites] == want
    assert "\n\n\n" not in after and after.count("\r\n") in (0, after.count("\n"))
