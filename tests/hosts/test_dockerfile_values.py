"""Values of a Dockerfile: quotes as a shell reads them, references to names, JSON arrays."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from vllm_migrate.hosts.dockerfile_values import (
    Written,
    choose,
    expand,
    inner_span,
    json_region,
    json_strings,
    lex_value,
    quote_value,
    split_words,
)
from vllm_migrate.model import fill
from vllm_migrate.text import Region, Source, Span

RAW = [
    "a", "''", '""', "'a b'", '"a b"', "a\\ b", "\"a\"b'c'd", '"it\'s"', "'say \"x\"'", '"a\\"b\\\\c\\d"', "'a\\b'",
    "a\\'b", "x=\"y z\"w", "XX'Y'", '"a"\'b\'"c"', "\\\\", "\"'\"",
]  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")
def test_quotes_are_read_as_a_shell_reads_them() -> None:
    line = " \t".join(RAW)
    ran = subprocess.run(["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True)
    said = ran.stdout.splitlines()
    assert [lex_value(raw) for raw in RAW] == [(text, ()) for text in said]
    assert [line[s.start : s.end] for s in split_words(line)] == RAW


def test_a_value_that_is_cut_off_is_read_to_its_end() -> None:
    for raw, text in (("a\\", "a\\"), ('"a b', "a b"), ("'a \\", "a \\")):
        assert lex_value(raw) == (text, ())
        assert split_words(raw) == [Span(0, len(raw))]


@pytest.mark.parametrize(
    ("raw", "escape", "text", "holes"),
    [
        ("$A/${B}:'$C'", "\\", "\ue000/\ue001:$C", ("$A", "${B}")),
        ('"${A:-x y}"\\$B', "\\", "\ue000$B", ("${A:-x y}",)),
        ("C:\\x`$y", "`", "C:\\x$y", ()),
        ('"C:\\x`"y"', "`", 'C:\\x"y', ()),
    ],
)
def test_what_is_filled_in(raw: str, escape: str, text: str, holes: tuple[str, ...]) -> None:
    assert lex_value(raw, escape) == (text, holes)


@pytest.mark.parametrize("old", ["x", "", '"x"', "'x'", "'x", "'"])
@pytest.mark.parametrize("escape", ["\\", "`"])
@pytest.mark.parametrize("text", ["8", "a b", "it's", 'say "x"', "$x", "\\", "a\\b", "a\\", '\\"', "`", ""])
def test_a_written_value_reads_the_same(text: str, old: str, escape: str) -> None:
    written = quote_value(text, (), old, escape)
    assert written is not None and lex_value(written, escape) == (text, ())
    assert split_words(written, escape) == ([Span(0, len(written))] if written else [])
    if len(old) == 3 and "'" not in text:
        assert written[0] == written[-1] == old[0], "quotes stay"


@pytest.mark.parametrize(("old", "written"), [("x", "a-$B"), ('"x"', '"a-$B"'), ("'x'", '"a-$B"')])
def test_a_written_value_keeps_what_is_filled_in(old: str, written: str) -> None:
    assert quote_value("a-\ue000", ("$B",), old) == written
    assert quote_value("a\nb", (), old) is quote_value("a\rb", (), old) is None


@pytest.mark.parametrize(
    ("raw", "inside", "exact"),
    [("ab", "ab", True), ('"a b"', "a b", True), ("''", "", True), ("'", "'", False), ("a\\ b", "a\\ b", False),
     ("\"a\"b'c'", "\"a\"b'c'", False), ("'a'", "a", True), ("a`b", "a`b", False)],
)  # fmt: skip
def test_the_inside_of_quotes(raw: str, inside: str, exact: bool) -> None:
    span, plain = inner_span(raw, Span(10, 10 + len(raw)))
    assert (raw[span.start - 10 : span.end - 10], plain) == (inside, exact)


def scope(**values: str) -> dict[str, Written]:
    return {name: Written(text, Span(100, 100 + len(text)), True, "ARG", name) for name, text in values.items()}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a:${V}-x", [("a:", 0), ("0.9.0", 100), ("-x", 6)]),
        ("a:${V:-0.8.0}", [("a:", 0), ("0.9.0", 100)]),
        ("a:${V-0.8.0}", [("a:", 0), ("0.9.0", 100)]),
        ("a:${V:?none}", [("a:", 0), ("0.9.0", 100)]),
        ("a:${N:-0.8.0}-x", [("a:", 0), ("0.8.0", 7), ("-x", 13)]),
        ("a:${N-v${V}}b", [("a:", 0), ("v", 6), ("0.9.0", 100), ("b", 12)]),
        ("a:${N:-}", [("a:", 0)]),
        ("a:${V:+0.8.0}", [("a:", 0), ("${V:+0.8.0}", None)]),
        ("a:${V#v}", [("a:", 0), ("${V#v}", None)]),
        ("a:$N", [("a:", 0), ("$N", None)]),
        ("$I", [("a:", 100), ("0.9.0", 100)]),
        ("$L", [("$L", None)]),
    ],
)
def test_references_and_where_their_values_stand(text: str, parts: list[tuple[str, int | None]]) -> None:
    known = scope(V="0.9.0", I="a:$V", L="$L")
    found = expand(text, Span(0, len(text)), known)
    assert [(p.text, p.span.start if p.span is not None else None) for p in found] == parts
    assert all(p.span is None or p.span.end - p.span.start == len(p.text) for p in found)
    assert [p.hole for p in found] == [p.span is None for p in found]


@pytest.mark.parametrize(
    ("parts", "kind", "chosen"),
    [
        (("vllm/vllm-openai:v", "<0.9.0>", "-x"), "image", "<0.9.0>"),
        (("cuda-12.4/vllm:", "<nightly>"), "image", "<nightly>"),
        (("host:5000/", "<vllm>", ":v", "<0.9.0>"), "base", "<0.9.0>"),
        (("vllm/vllm-openai", "<x>"), "base", "<x>"),
        (("vllm-", "<0.9>", "==", "<0.9.1>"), "requirement", "<0.9>"),
        (("https://x/whl/", "<cu129>"), "index", "<cu129>"),
        (("https://1.2.3/whl/", "<rocm6>"), "index", "<rocm6>"),
        (("https://x/whl/", "<other>"), "index", None),
        (("a:", "<v1>", "<-0.9.0>"), "image", "<-0.9.0>"),
    ],
)
def test_the_part_that_says_the_version(parts: tuple[str, ...], kind: str, chosen: str | None) -> None:
    names = {f"N{i}": p.strip("<>") for i, p in enumerate(parts) if p.startswith("<")}
    text = "".join(f"${{N{i}}}" if p.startswith("<") else p for i, p in enumerate(parts))
    found = expand(text, Span(0, len(text)), scope(**names))
    at = choose(found, kind)
    assert (None if at is None else found[at].text) == (None if chosen is None else chosen.strip("<>"))


@pytest.mark.parametrize(
    "text", ["[]", ' [ "a" , "b\\"c\\u00e9" ] ', '["a\\\\", ""]', '["a",]', '["a" "b"]', "[a]", '["a"] x', '["\\q"]',
             '["a"', '"a"]', "[1]", '["a", \n "b"]', '["a"]]'],
)  # fmt: skip
def test_arrays_are_those_of_json(text: str) -> None:
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    found = json_strings(text)
    if not isinstance(said, list) or any(not isinstance(s, str) for s in said):
        assert found is None
    else:
        assert found is not None and found[1] == said
        assert [json.loads(text[s.start : s.end]) for s in found[0]] == said


@pytest.mark.parametrize(
    "text", ["vllm serve m --x 4", 'echo "é" \t\\\nvllm --x "4" --y \U0001f600', "\u00e9\u00e8 4 \\\\", "4"]
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_script_in_an_array_is_edited_in_json(text: str, ascii_only: bool) -> None:
    raw = "[" + json.dumps(text, ensure_ascii=ascii_only) + "]"
    region = Region.whole(Source.of(raw))
    guest = json_region(region, Span(1, len(raw) - 1))
    assert guest is not None and guest.text == text
    at = text.index("4")
    edit = guest.edit(at, at + 1, 'a\n"b\\é')
    assert edit is not None
    after = region.source.with_edits([edit]).text
    assert json.loads(after) == [text.replace("4", 'a\n"b\\é', 1)]
    assert len(after) - len(raw) == len(json.dumps('a\n"b\\é', ensure_ascii=False)) - 2 - 1, "the rest stays as it was"
    assert fill(guest.text, ()) == text
