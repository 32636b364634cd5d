"""Which values of a chart its templates use, and where a values file sets them."""

from __future__ import annotations

import pytest

from vllm_migrate.hosts.helm_values import Use, defined, read_values, spreading, touches, uses, within
from vllm_migrate.text import Source, Span

Path = tuple[str, ...]


def used(text: str) -> list[tuple[str, str | None, bool]]:
    """What is written, the value it is, and whether everything below counts as used."""
    return [(text[u.start : u.end], None if u.path is None else ".".join(u.path), u.whole) for u in uses(text)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ .Values.a.b }}{{- $.Values.c -}}", [(".Values.a.b", "a.b", True), ("$.Values.c", "c", True)]),
        ("{{ .Chart.Name }}", [(".Chart.Name", None, True)]),
        ("{{ toYaml .Values }}", [(".Values", "", True)]),
        ("{{ if .Values.a }}{{ end }}", [(".Values.a", "a", False)]),
        ("{{ if .Values.a }}{{ else if .Values.b }}{{ end }}", [(".Values.a", "a", False), (".Values.b", "b", False)]),
        ('{{ include "x" . }}', [(".", "", False)]),
        ('{{ index .Values "a" "b-c" }}', [('.Values "a" "b-c"', "a.b-c", True)]),
        ('{{ hasKey (get .Values.a "b") "c" }}', [('.Values.a "b"', "a.b", True)]),
        ('{{ get $x "c" }}', [('$x "c"', None, True)]),
        ('{{ default "c" .Values.a }}', [(".Values.a", "a", True)]),
        (
            '{{ ".Values.a" }}{{ `.Values.b` }}{{/* .Values.c */}}{{ print "a\\".b" .Values.d }}',
            [(".Values.d", "d", True)],
        ),
        ("{{ (f .Values.x).y }}", [(".Values.x", "x", True)]),
        ("{{- /* .Values.a */ -}}", []),
        (".Values.a", []),
        ("{{ end }}{{ .Values.a }}", [(".Values.a", "a", True)]),
    ],
)
def test_what_an_action_names(text: str, said: list[tuple[str, str | None, bool]]) -> None:
    assert used(text) == said


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("{{ with .Values.a }}{{ .b }}{{ . }}{{ $.Values.c }}{{ end }}{{ .d }}", ["a", "a.b", "a", "c", None]),
        ("{{ with $x := .Values.a }}{{ $x.b }}{{ .c }}{{ end }}", ["a", "a.b", "a.c"]),
        ("{{ with f .Values.a }}{{ .b }}{{ end }}", ["a", None]),
        ("{{ with .Values.a }}{{ else }}{{ .Values.b }}{{ end }}", ["a", "b"]),
        ("{{ range .Values.a }}{{ .b }}{{ else }}{{ .Values.c }}{{ end }}", ["a", "a.[].b", "c"]),
        ("{{ range $i, $x := .Values.a }}{{ $x.b }}{{ $i }}{{ .c }}{{ end }}", ["a", "a.[].b", None, "a.[].c"]),
        ("{{ range $k, $x := f .Values.a }}{{ $x.b }}{{ .c }}{{ end }}", ["a", None, None]),
        ("{{ range f .Values.a }}{{ .b }}{{ end }}", ["a", None]),
        ("{{ $x := .Values.a }}{{ $x.b }}", ["a", "a.b"]),
        ("{{ $x = .Values.a | default dict }}{{ $x.b }}", ["a", "a.b"]),
        ("{{ $x := .Values.a | default (dict) }}{{ $x.b }}", ["a", "a.b"]),
        ("{{ $x := f .Values.a }}{{ $x.b }}", ["a", None]),
        (
            "{{ $x := .Values }}{{ if .x }}{{ $x := .Values.a }}{{ $x.b }}{{ end }}{{ $x.c }}",
            ["", None, "a", "a.b", "c"],
        ),
        ("{{ if .Values.a }}{{ with .Values.b }}{{ .c }}{{ end }}{{ .Values.d }}{{ end }}", ["a", "b", "b.c", "d"]),
        ("{{ $x := .Values.a }}{{ $x = f .Values.b }}{{ $x.c }}", ["a", "b", None]),
        ('{{ with .Values.a }}{{ define "t" }}{{ .b }}{{ end }}{{ .c }}{{ end }}', ["a", None, "a.c"]),
        ('{{ define "t" }}{{ .a }}{{ .Values.b }}{{ end }}', [None, "b"]),
        ('{{ range .Values.m }}{{ include "t" . }}{{ end }}', ["m", "m.[]"]),
        ('{{ block "t" .Values.a }}{{ .b }}{{ end }}{{ .Values.c }}', ["a", None, "c"]),
    ],
)
def test_what_the_dot_and_variables_are(text: str, paths: list[str | None]) -> None:
    assert [None if u.path is None else ".".join(u.path) for u in uses(text)] == paths


def guards(text: str) -> list[set[str]]:
    return [{".".join(g) for g in u.guards} for u in uses(text) if u.names[-1] == "x"]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("{{ if .Values.a }}{{ .Values.x }}{{ end }}{{ .Values.x }}", [{"a"}, set()]),
        ("{{ if and .Values.a .Values.b }}{{ .Values.x }}{{ end }}", [{"a", "b"}]),
        ("{{ if or .Values.a .Values.b }}{{ .Values.x }}{{ end }}", [set()]),
        ("{{ if not .Values.a }}{{ .Values.x }}{{ end }}", [set()]),
        ('{{ if hasKey .Values.a "b" }}{{ .Values.x }}{{ end }}', [{"a.b"}]),
        ('{{ if and .Values.a (get .Values.b "or") }}{{ .Values.x }}{{ end }}', [{"a", "b.or"}]),
        ("{{ if .Values.a }}{{ else }}{{ .Values.x }}{{ end }}", [set()]),
        (
            "{{ if .Values.a }}{{ if .Values.b }}{{ .Values.x }}{{ else }}{{ .Values.x }}{{ end }}{{ end }}",
            [{"a", "b"}, {"a"}],
        ),
        ("{{ with .Values.a }}{{ .x }}{{ end }}", [{"a"}]),
        ("{{ range .Values.a }}{{ .x }}{{ end }}", [{"a"}]),
        ("{{ if .Chart.Name }}{{ .Values.x }}{{ end }}", [set()]),
        ('{{ define "t" }}{{ .x }}{{ end }}', [set()]),
        ("{{ if .Values.a }}{{ if .Values.x }}{{ end }}{{ end }}", [{"a"}]),
    ],
)
def test_what_must_be_given_for_a_place_to_be_rendered(text: str, held: list[set[str]]) -> None:
    assert guards(text) == held


def test_what_is_handed_to_a_named_template() -> None:
    text = '{{ include "a.b" .Values.x }}{{ template "c" $.Values.y }}'
    text += '{{ f (include "d" .Values.z) .Values.w }}{{ include "e" (f .Values.v) }}'
    assert [(u.names[-1], u.handed) for u in uses(text)] == [("x", "a.b"), ("y", "c"), ("z", "d"), ("w", ""), ("v", "")]


@pytest.mark.parametrize(
    ("bodies", "wide"),
    [
        ({"a": "{{ .x }}{{ $.y }}"}, set()),
        ({"a": "{{ toYaml . }}"}, {"a"}),
        ({"a": "{{ $ | toYaml }}"}, {"a"}),
        ({"a": "{{ with $x := . }}{{ end }}"}, {"a"}),
        ({"a": "{{ $x := . }}{{ $x.y }}"}, set()),
        ({"a": "{{ $x := . }}{{ toYaml $x }}"}, {"a"}),
        ({"a": '{{ get . "x" }}{{ index $ "y" }}{{ hasKey . "z" }}'}, set()),
        ({"a": "{{ index . .x }}"}, {"a"}),
        ({"a": '{{ include "b" . }}', "b": "{{ .x }}"}, set()),
        ({"a": '{{ include "b" . }}', "b": '{{ include "c" . }}', "c": "{{ . }}"}, {"a", "b", "c"}),
        ({"a": '{{ include "elsewhere" . }}'}, {"a"}),
        ({"a": '{{ include "b" .x }}', "b": "{{ . }}"}, {"b"}),
        ({"a": "{{/* . */}}{{ if .x }}{{ else }}{{ end }}{{ .y }}", "b": "{{ . }}"}, {"b"}),
        ({"a": '{{ "." }}'}, set()),
    ],
)
def test_named_templates_that_use_all_they_are_given(bodies: dict[str, str], wide: set[str]) -> None:
    texts = [f'{{{{- define "{n}" -}}}}\n{b}\n{{{{- end }}}}\n{{{{ . }}}}\n' for n, b in bodies.items()]
    assert spreading(texts) == spreading(["".join(texts)]) == wide
    assert defined(texts) == set(bodies)


@pytest.mark.parametrize(
    ("use", "path", "touched"),
    [
        (("a", "b"), ("a", "b"), True),
        (("a", "b", "c"), ("a", "b"), True),
        (("a",), ("a", "b"), True),
        (("a", "c"), ("a", "b"), False),
        (("ab",), ("a",), False),
        ((), ("a",), True),
        (("m",), ("m", "[]", "x"), False),
        (("m", "[]"), ("m", "[]", "x"), True),
        (("b",), ("a", "b"), False),
    ],
)
def test_what_uses_a_value(use: Path, path: Path, touched: bool) -> None:
    assert touches(Use(0, 1, use, use, whole=True), path) is touched
    assert touches(Use(0, 1, use, use), path) is (touched and len(use) >= len(path))
    assert touches(Use(0, 1, None, ("q", *path)), path) and not touches(Use(0, 1, None, ()), path)


VALUES = "a:\n  b: 1\n  c: [x, {d: 2}]\n  b: 3\ne: &s\n  f: 4\ng: *s\nh:\n  <<: *s\n  i:\n    - j: 5\n    - j: 6\n"


def test_where_a_values_file_sets_its_values() -> None:
    values = read_values(Source.of(VALUES))
    assert values is not None
    assert set(map(".".join, values.entries)) == {
        "a", "a.b", "a.c", "a.c.[].d", "e", "e.f", "h", "h.i", "h.i.[].j",
    }  # fmt: skip
    assert [e.value for e in values.entries["a", "b"]] == [1, 3]
    assert sorted(e.value for e in values.entries["h", "i", "[]", "j"]) == [5, 6]
    assert len(values.removable(("h", "i", "[]", "j"))) == 2
    assert values.removable(("e", "f")) == values.removable(("none",)) == []
    assert {VALUES[a:b].split(":")[0]: ".".join(p) for (a, b), p in values.spans.items()}["f"] == "e.f"


@pytest.mark.parametrize("text", ["- a\n", "a: 1\n---\nb: 2\n", "a: [\n", "", "text\n"])
def test_what_is_no_values_file(text: str) -> None:
    assert read_values(Source.of(text)) is None


def test_values_with_actions_are_read_too() -> None:
    values = read_values(Source.of("a: {{ x }}\n{{- if y }}\nb:\n  c: 1\n{{- end }}\n"))
    assert values is not None and set(values.entries) == {("a",), ("b",), ("b", "c")}


def test_a_place_lies_within_spans() -> None:
    spans = [Span(2, 5), Span(8, 9)]
    assert [within(Use(a, b, None, ()), spans) for a, b in ((2, 5), (3, 4), (1, 5), (2, 6), (4, 9), (8, 9))] == [
        True, True, False, False, False, True,
    ]  # fmt: skip
