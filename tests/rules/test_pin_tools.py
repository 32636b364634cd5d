"""What a pin's own letters become when the whole reference changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vllm_migrate.rules.pin_tools import new_text


@pytest.mark.parametrize(
    ("prefix", "text", "suffix", "whole", "wanted"),
    [
        ("a/", "0.1", "-x", "a/0.2-x", "0.2"),
        ("", "0.1", "", "0.2.3", "0.2.3"),
        ("a/", "0.1", "-x", "b/0.2-x", None),
        ("a/", "0.1", "-x", "a/0.2-y", None),
        ("a/", "0.1", "-x", "a/-x", None),
        ("aa", "0.1", "aa", "aaa", None),
        # Written once and used twice: before, behind, on both sides.
        ("v0.1/vllm-", "0.1", "-cp", "v0.2.3/vllm-0.2.3-cp", "0.2.3"),
        ("v", "0.1", "/vllm-0.1-cp", "v0.2.3/vllm-0.2.3-cp", "0.2.3"),
        ("0.1/", "0.1", "/0.1", "0.22/0.22/0.22", "0.22"),
        ("v0.1/vllm-", "0.1", "-0.1-0.1", "v2/vllm-2-2-2", "2"),
        ("v0.1/vllm-", "0.1", "-cp", "v0.2/vllm-0.3-cp", None),
        ("v0.1/vllm-", "0.1", "-cp", "v0.2/vllm-0.2-other", None),
    ],
)
def test_the_part_that_is_written_there(prefix: str, text: str, suffix: str, whole: str, wanted: str | None) -> None:
    pin: Any = SimpleNamespace(prefix=prefix, text=text, suffix=suffix)
    assert new_text(pin, whole) == wanted
