"""Expressions of templates that make words, and texts that a chart's own values settle."""

from __future__ import annotations

import pytest

from vllm_migrate.hosts import Context, helm, yaml
from vllm_migrate.hosts.helm_expr import printed, words_of
from vllm_migrate.hosts.helm_filled import filled
from vllm_migrate.text import Region, Source

VALUES = "image:\n  registry: quay.io\n  repository: a/vllm\n  tag: ''\nname: vllm\n"
FILES = {
    "../values.yaml": VALUES,
    "../Chart.yaml": "name: chat\nappVersion: 1.2.3\n",
    "_helpers.tpl": '{{- define "c.image" -}}\n'
    '{{ .Values.image.repository }}:{{ .Values.image.tag | default "v1" }}\n{{- end }}',
}
CONTEXT = Context("c/templates/a.yaml", sibling_reader=FILES.get, sibling_names=lambda folder: ["_helpers.tpl"])


def shown(expression: str) -> list[str] | None:
    made = words_of(expression, 0, {"$a": words_of('list "--x"', 0, {}) or []})
    if made is None:
        return None
    return ["".join(w.holes[ord(c) - 0xE000] if c >= "\ue000" else c for c in w.text) for w in made]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ('list "--a" "b c"', ["--a", "b c"]),
        ('append $a "--y=1"', ["--x", "--y=1"]),
        ('append $a (.Values.y | toString)', ["--x", "{{ .Values.y }}"]),
        ('append $a (printf "--y=%d" (int .Values.y))', ["--x", "--y={{ (int .Values.y) }}"]),
        ('concat $a (list "--y") .Values.more', ["--x", "--y", "{{ .Values.more }}"]),
        ('printf "%s --y %v --z" $a .y', ["--x", "--y", "{{ .y }}", "--z"]),
        ('printf "100%% --y=%s" .y', ["100%", "--y={{ .y }}"]),
        ('list "--a" | join " "', ["--a"]),
        ('"--a b" | quote', ["--a", "b"]),
        ("append $unknown .y", None),
        (".Values.args", None),
        ("dict", None),
        ('list "--a" (', None),
        ('list "--a" )', None),
    ],
)  # fmt: skip
def test_what_an_expression_spells_out(expression: str, words: list[str] | None) -> None:
    assert shown(expression) == words


def test_an_action_that_prints_one_word() -> None:
    made = printed('{{- printf "--x=%s" .y | quote -}}', 10)
    assert made is not None and made.text == "--x=\ue000"
    assert printed('{{ printf "--x %s" .y }}', 0) is None
    assert printed("{{ .y }}", 0) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}", "a/vllm:1.2.3"),
        ('{{ printf "%s/%s" .Values.image.registry .Values.image.repository | quote }}', "quay.io/a/vllm"),
        ('{{ include "c.image" . }}', "a/vllm:v1"),
        ("{{ default .Chart.Name .Values.image.tag }}", "chat"),
        ("{{ .Values.none }}-x", "{{ .Values.none }}-x"),
        ("{{ $x.repository }}", "{{ $x.repository }}"),
        ("{{ .Values.name | upper }}", "{{ .Values.name | upper }}"),
    ],
)
def test_what_the_charts_own_values_settle(text: str, wanted: str) -> None:
    assert filled(text, CONTEXT) == wanted


def test_only_templates_are_filled_in() -> None:
    assert filled("{{ .Values.name }}", Context("c/values.yaml", sibling_reader=FILES.get)) == "{{ .Values.name }}"


@pytest.mark.parametrize("name", ["c/templates/_h.tpl", "c/templates/a.yaml"])
@pytest.mark.parametrize(
    "text",
    [
        '{{- define "a" -}}{{- $x := list "--swap-space=4" -}}{{- $x | toYaml -}}{{- end -}}',
        '{{- $x := printf "vllm serve m --swap-space %d" 4 -}}',
    ],
)
def test_words_in_actions_are_a_launch(name: str, text: str) -> None:
    host = helm if name.endswith(".tpl") else yaml
    reading = host.read(Region.whole(Source(name, text.encode())), Context(name, sibling_reader=FILES.get))
    (site,) = reading.sites
    assert any(w.text.startswith("--swap-space") for w in site.words)


def test_a_chart_without_vllm_has_no_such_launch() -> None:
    text = '{{- $x := list "--swap-space=4" -}}'
    context = Context("c/templates/a.yaml", sibling_reader={"../values.yaml": "name: db\n"}.get)
    assert not yaml.read(Region.whole(Source("c/templates/a.yaml", text.encode())), context).sites
