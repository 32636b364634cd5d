"""The fast way to find files that speak of vLLM finds the same as looking for each word."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.config import Config
from vllm_migrate.discover import triggers
from vllm_migrate.speaks import Names, Speaks

WORDS = triggers(Config())
letters = st.sampled_from([*b"vlmVLM./_args optinOPTIN\n\0\xff", *b"CUDA_ISEkwgfh"]).map(lambda c: bytes([c]))
parts = st.one_of(
    letters,
    st.binary(max_size=6),
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map(lambda w: w[:-1]),
    st.sampled_from(WORDS).map(bytes.swapcase),
)



def warm(words: Sequence[bytes]) -> Speaks:
    """One that has seen so many files that it looks for words the fast way."""
    speaks = Speaks(words)
    for _ in range(101):
        speaks(b"")
    return speaks


MANY = warm(WORDS)


@given(st.lists(parts, max_size=30).map(b"".join))
def test_a_word_is_found_exactly_where_it_stands(raw: bytes) -> None:
    assert Speaks(WORDS)(raw) == MANY(raw) == any(word in raw for word in WORDS)


@given(st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=5), st.binary(max_size=40))
def test_any_words_may_be_looked_for(words: list[bytes], raw: bytes) -> None:
    assert Speaks(words)(raw) == warm(words)(raw) == any(word in raw for word in words)
    assert warm(words)(raw + words[0])


def test_without_the_library_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    speaks = warm(WORDS)
    assert all(speaks(b"a " + word) for word in WORDS)
    assert not speaks(b"nothing of the kind")


NAMES = ("pip", "pip3", "uv", "uvx", "apt_get", "CC")


@given(st.lists(st.sampled_from([*NAMES, "3", "_", " ", "-", "\n", "é", "x", "$"]), max_size=20).map("".join))
def test_a_name_is_found_whole_the_slow_way_and_the_fast_way(text: str) -> None:
    slow, fast = Names(NAMES), Names(NAMES)
    for _ in range(8):
        list(fast.places("pip"))
    found = sorted(m.start() for m in re.finditer(r"[^\W\d]\w*", text) if m[0] in NAMES)
    assert sorted(slow.places(text)) == found
    assert sorted(fast.places(text)) == found


def test_names_are_found_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    names = Names(NAMES)
    assert [list(names.places("a pip b")) for _ in range(12)] == [[2]] * 12
