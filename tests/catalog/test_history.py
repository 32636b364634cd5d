"""Intervals: what goes in comes out, in whatever order releases arrive."""

from __future__ import annotations

import random

from vllm_migrate.catalog.history import Entries, Facts, compress, expand, insert

RELEASES = ["0.6.0", "0.6.1.post2", "0.7.0", "0.10.0"]
TABLES: list[Facts] = [
    {"a": {}, "b": {"type": "int"}},
    {"a": {}},
    {"a": {"default": 1}, "b": {"type": "int"}},
    {"b": {"type": "int"}, "c": {}},
]


def test_compress_and_expand_are_inverse() -> None:
    entries = compress(TABLES, RELEASES)
    assert entries == {
        "a": [["0.6.0", "0.7.0", {}], ["0.7.0", "0.10.0", {"default": 1}]],
        "b": [["0.6.0", "0.6.1.post2", {"type": "int"}], ["0.7.0", None, {"type": "int"}]],
        "c": [["0.10.0", None, {}]],
    }
    assert expand(entries, RELEASES) == TABLES


def test_any_order_of_arrival_gives_the_same_history() -> None:
    whole = compress(TABLES, RELEASES)
    pairs = list(zip(RELEASES, TABLES, strict=True))
    for seed in range(10):
        random.Random(seed).shuffle(pairs)
        entries: Entries = {}
        order: list[str] = []
        for version, facts in pairs:
            entries, order = insert(entries, order, version, facts)
        assert (entries, order) == (whole, RELEASES)
        assert insert(entries, order, "0.7.0", TABLES[2]) == (whole, RELEASES)


def test_a_replaced_release_leaves_no_trace_of_the_old_facts() -> None:
    entries, order = insert(compress(TABLES, RELEASES), RELEASES, "0.10.0", {"a": {}})
    assert "c" not in entries
    assert entries["b"][-1][1] == "0.10.0"
    assert order == RELEASES
