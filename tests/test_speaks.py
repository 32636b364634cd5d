"""The fast way to find files that speak of vLLM finds the same as looking for each word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.config import Config
from vllm_migrate.discover import triggers
from vllm_migrate.speaks import Speaks

WORDS = triggers(Config())
letters = st.sampled_from([*b"vlmVLM./_args optinOPTIN\n\0\xff", *b"CUDA_ISEkwgfh"]).map(lambda c: bytes([c]))
parts = st.one_of(
    letters,
    st.binary(max_size=6),
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map(lambda w: w[:-1]),
    st.sampled_from(WORDS).map(bytes.swapcase),
)


@given(st.lists(parts, max_size=30).map(b"".join))
def test_a_word_is_found_exactly_where_it_stands(raw: bytes) -> None:
    assert Speaks(WORDS)(raw) == any(word in raw for word in WORDS)


@given(st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=5), st.binary(max_size=40))
def test_any_words_may_be_looked_for(words: list[bytes], raw: bytes) -> None:
    assert Speaks(words)(raw) == any(word in raw for word in words)
    assert Speaks(words)(raw + words[0])
