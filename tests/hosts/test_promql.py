"""Names of metrics in PromQL and in what a server answers."""

from __future__ import annotations

import pytest

from vllm_migrate.hosts.promql import is_query, metric_names, names_in_pattern


def named(text: str) -> list[str]:
    return [text[s.start : s.end] for s in metric_names(text) if ":" in text[s.start : s.end]]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a:x", ["a:x"]),
        ("(a:x - a:y)", ["a:x", "a:y"]),
        ("rate(a:x_bucket[5m] offset 1m)", ["a:x_bucket"]),
        ("a:x[$__rate_interval]", ["a:x"]),
        ("a:x[[range]] + ${other} + a:y", ["a:x", "a:y"]),
        ('a:x{m="a:y",n=~"a:z"}', ["a:x"]),
        ("sum by (a:x) (a:y) without (a:z)", ["a:y"]),
        ("a:x * on(a:l) group_left(a:l) a:y", ["a:x", "a:y"]),
        ("a:x # a:y\n+ a:z", ["a:x", "a:z"]),
        ('{__name__="a:x"}', ["a:x"]),
        ('{job="j", __name__=~"a:x|a:y.*|(a:z)"}', ["a:x", "a:z"]),
        ('{__name__!~"a:x"}', ["a:x"]),
        ('{"a:x", job="a:y"}', ["a:x"]),
        ('label_replace(a:x, "a:l", "$1", "__name__", "a:x")', ["a:x"]),
        ("a:x:avg5m > 1", ["a:x:avg5m"]),
        ("a:x{{ .Values.selector }} > 1", ["a:x"]),
        ("a:x\ue000 > 1", []),
        ('# HELP a:x about a:y\n# TYPE a:x gauge\na:x{m="a"} 1\n# EOF a:y', ["a:x", "a:x", "a:x"]),
        ("`a:x` + 'a:y' + \"a:z\"", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert named(text) == names


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("sum by (le) (rate(a:x[5m])) or a:y unless b", True),
        ("avg(a:x) by (pod) > bool 1", True),
        ("a:x is too high", False),
        ("curl -s h:8000/metrics | grep a:x", False),
        ("a:x$suffix", False),
        ("a:x / a:y", True),
    ],
)
def test_prose_is_no_query(text: str, query: bool) -> None:
    assert is_query(text) is query


def test_a_pattern_names_whole_alternatives() -> None:
    text = "^a:x$|(b|a:y)|a:z.*|a:w[12]"
    assert [text[s.start : s.end] for s in names_in_pattern(text)] == ["a:x", "b", "a:y"]
