"""Names against patterns: the same as `fnmatch` says, which also tells of `?` and `[…]`."""

from __future__ import annotations

import fnmatch

from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.globs import name_matches

_TEXT = st.text("ab/.", max_size=8)


@given(st.text("ab*/.?[]!", max_size=8), _TEXT)
def test_a_name_matches_as_it_does_for_fnmatch(pattern: str, name: str) -> None:
    assert name_matches(pattern, name) is fnmatch.fnmatchcase(name, pattern)


def test_the_parts_of_a_pattern_do_not_share_text() -> None:
    assert name_matches("ab*ba", "abba") and not name_matches("ab*ba", "aba")
    assert name_matches("*-gguf:*", "m-gguf:q4") and not name_matches("a*b*b", "ab")
    assert not name_matches("Model", "model")
