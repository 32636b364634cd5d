"""Charts: what becomes of the values that a template's fix leaves without a use; no text of a template crashes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.config import Config
from vllm_migrate.engine import run
from vllm_migrate.findings import Report
from vllm_migrate.hosts import Context, helm, yaml
from vllm_migrate.hosts.helm_values import Use, spreading, touches, uses
from vllm_migrate.text import Region, Source

DEPLOYMENT = """\
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
          args:
            - --model=m
            {{- if .Values.swap }}
            - --swap-space={{ .Values.swap }}
            {{- end }}
"""
VALUES = "image:\n  repository: vllm/vllm-openai\n  tag: v0.33.0\nswap: 4\n"


def chart(folder: Path, **files: str) -> Path:
    given = {"Chart.yaml": "name: c\n", "values.yaml": VALUES, "templates/deployment.yaml": DEPLOYMENT, **files}
    for name, text in given.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / ".git").mkdir(exist_ok=True)
    return folder


def fixed(folder: Path, *paths: str) -> tuple[Report, dict[str, str]]:
    report = run([folder / p for p in paths] or [folder], folder, replace(Config(), fix=True, to=("0.33.0",)))
    return report, {f.path: f.fixed.text for f in report.files if f.fixed is not None}


def test_a_value_goes_with_the_only_block_that_renders_it(tmp_path: Path) -> None:
    report, texts = fixed(chart(tmp_path))
    assert set(texts) == {"values.yaml", "templates/deployment.yaml"}
    assert "swap" not in texts["values.yaml"] + texts["templates/deployment.yaml"]
    (finding,) = report.findings()
    assert finding.fix is not None
    assert {path for path, _ in finding.fix.edits} == set(texts)


@pytest.mark.parametrize(
    "files",
    [
        {"templates/service.yaml": "a: {{ .Values.swap }}\n"},
        {"templates/service.yaml": "a: {{ toYaml .Values | nindent 2 }}\n"},
        {"templates/service.yaml": "{{- $v := .Values }}\na: {{ $v.swap }}\n"},
        {"templates/service.yaml": '{{- with $.Values }}\na: {{ index . "swap" }}\n{{- end }}\n'},
        {"templates/NOTES.txt": "Swaps to {{ .Values.swap }} GiB\n"},
        {"templates/_a.tpl": '{{- define "a" }}{{ .swap }}{{ end }}\n'},
        {"values.schema.json": '{"properties": {"swap": {"type": "integer"}}}'},
        {"values.yaml": VALUES.replace("swap: 4", "swap: &s 4\nother: *s")},
    ],
    ids=lambda files: next(iter(files)) + str(len(next(iter(files.values())))),
)
def test_a_value_with_another_use_stays(tmp_path: Path, files: dict[str, str]) -> None:
    _, texts = fixed(chart(tmp_path, **files))
    assert set(texts) == {"templates/deployment.yaml"}
    assert "swap" not in texts["templates/deployment.yaml"]


def test_values_outside_the_paths_given_stay(tmp_path: Path) -> None:
    report, texts = fixed(chart(tmp_path), "templates")
    assert set(texts) == {"templates/deployment.yaml"}
    (finding,) = report.findings()
    assert any("values.yaml is not among the paths given" in text for text in finding.related)


def test_a_value_that_is_rendered_in_any_case_stays_with_its_flag(tmp_path: Path) -> None:
    """Without the value the template would print a flag without one."""
    bare = '  a: {{ printf "--swap-space=%v" .Values.vllmConfig.swapSpace }}\n'
    values = VALUES.replace("swap: 4", "vllmConfig:\n  swapSpace: 4")
    report, texts = fixed(chart(tmp_path, **{"templates/other.yaml": "data:\n" + bare, "values.yaml": values}))
    assert "values.yaml" not in texts
    (finding,) = [f for f in report.findings() if f.path == "values.yaml"]
    assert finding.withheld == "templates/other.yaml:2 renders it, and must change with it"


def test_an_option_given_once_in_each_branch_stays_in_each(tmp_path: Path) -> None:
    branches = """\
            {{- if .Values.plain }}
            - --chat-template-text-format=string
            {{- else }}
            - --chat-template-text-format=openai
            {{- end }}
"""
    _, texts = fixed(chart(tmp_path, **{"templates/deployment.yaml": DEPLOYMENT + branches}))
    assert texts["templates/deployment.yaml"].endswith(branches.replace("text-format", "content-format"))


def test_an_object_is_rewritten_under_each_condition_by_itself(tmp_path: Path) -> None:
    branches = """\
            {{- if .Values.plain }}
            - --kv-transfer-config={"kv_connector":"LMCacheConnector","kv_role":"kv_both"}
            {{- else }}
            - --kv-transfer-config={"kv_connector":"LMCacheConnector","kv_role":"kv_consumer"}
            {{- end }}
"""
    _, texts = fixed(chart(tmp_path, **{"templates/deployment.yaml": DEPLOYMENT + branches}))
    assert texts["templates/deployment.yaml"].endswith(branches.replace("LMCacheConnector", "LMCacheConnectorV1"))


def test_what_is_added_is_added_under_no_condition(tmp_path: Path) -> None:
    variables = """\
          env:
            - name: VLLM_ATTENTION_BACKEND
              value: FLASH_ATTN
"""
    text = DEPLOYMENT.replace("--swap-space", "--max-num-seqs")
    _, texts = fixed(chart(tmp_path, **{"templates/deployment.yaml": text + variables}))
    added = "            - --model=m\n            - --attention-backend=FLASH_ATTN\n"
    assert texts["templates/deployment.yaml"] == text.replace("            - --model=m\n", added)
    indent = "            "
    opening, closing = f"{indent}{{{{- if .Values.fast }}}}\n", f"{indent}{{{{ end }}}}\n"
    held = variables.replace(f"{indent}- name", f"{opening}{indent}- name") + closing
    report, texts = fixed(chart(tmp_path, **{"templates/deployment.yaml": text + held}))
    assert texts == {}
    (finding,) = report.findings()
    assert finding.withheld == "what it has to do with stands under another condition"


def paths(text: str) -> list[tuple[str, ...] | None]:
    return [u.path for u in uses(text)]


def test_what_a_template_uses() -> None:
    assert paths("{{ .Values.a.b | quote }}") == [("a", "b")]
    assert paths("{{ with .Values.a }}{{ .b }}{{ $.Values.c }}{{ end }}{{ .Values.d }}") == [
        ("a",),
        ("a", "b"),
        ("c",),
        ("d",),
    ]
    assert paths("{{ range $m := .Values.models }}{{ $m.swap }}{{ .x }}{{ end }}")[1:] == [
        ("models", "[]", "swap"),
        ("models", "[]", "x"),
    ]
    assert paths('{{ hasKey .Values.a "b" }}{{ "quoted .Values.x" }}{{/* .Values.y */}}') == [("a", "b")]
    assert paths("{{ range $k, $v := .Values.a }}{{ $v.b }}{{ $k }}{{ end }}")[-1] is None


def test_what_uses_a_value() -> None:
    assert touches(Use(0, 1, ("a",), ("a",), whole=True), ("a", "b"))
    assert not touches(Use(0, 1, ("a",), ("a",)), ("a", "b"))
    assert touches(Use(0, 1, None, ("x", "b")), ("a", "b"))
    assert not touches(Use(0, 1, ("a",), ("a",), whole=True), ("a", "[]", "b"))


def test_what_a_named_template_takes_of_what_it_is_given() -> None:
    narrow = '{{ define "a" }}{{ .x }}{{ if hasKey . "y" }}{{ end }}{{ end }}'
    assert spreading([narrow]) == set()
    assert spreading(
        [narrow + '{{ define "b" }}{{ toYaml . }}{{ end }}{{ define "c" }}{{ include "b" . }}{{ end }}']
    ) == {
        "b",
        "c",
    }


PIECES = [
    *DEPLOYMENT.splitlines(keepends=True), '{{- define "a" -}}\n', "{{- end }}\n", "{{ else }}", "{{ if", "}}",
    "{{/* ", "*/}}", "- --swap-space=4\n", "- {{ .x }}\n", "{{ with .Values }}", "  ", "\r\n", "{{`}}`}}", '"',
    "- name: VLLM_USE_V1\n", "  value: 1\n", "vllm serve m --swap-space 4\n", "{{ $a := .Values.b }}",
    "{{ range $a", "{{ end", "|\n", "&a ", "*a ", "{{ include \"a\" .Values.x }}",
]  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_no_text_of_a_template_crashes(pieces: list[str]) -> None:
    text = "".join(pieces)
    source = Source.of(text, "templates/a.yaml")
    uses(text)
    spreading([text])
    yaml.read(Region.whole(source), Context("templates/a.yaml"))
    helm.read(Region.whole(source), Context("templates/_a.tpl"))


MOVING = """\
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
          args:
            - --model=m
            {{- if .Values.old }}
            - --chat-template-text-format={{ .Values.old }}
            {{- end }}
            {{- if .Values.new }}
            - --chat-template-content-format={{ .Values.new }}
            {{- end }}
"""


def moved(folder: Path, **files: str) -> tuple[Report, dict[str, str]]:
    values = "image:\n  repository: vllm/vllm-openai\n  tag: v0.33.0\nold: string # as it is\n"
    made = chart(folder, **{"values.yaml": values, "templates/deployment.yaml": MOVING, **files})
    report = run([made], made, replace(Config(), fix=True, unsafe_fixes=True, to=("0.33.0",)))
    return report, {f.path: f.fixed.text for f in report.files if f.fixed is not None}


def test_a_value_moves_to_the_key_that_is_printed_as_the_new_option(tmp_path: Path) -> None:
    report, texts = moved(tmp_path, **{"values-a.yaml": "old: openai\n", "ci/b.yaml": "new: string\n"})
    assert texts["values-a.yaml"] == "new: openai\n"
    assert texts["values.yaml"].endswith("new: string # as it is\n")
    assert ".old" not in texts["templates/deployment.yaml"]
    (finding,) = report.findings()
    assert finding.fix is not None and finding.fix.safety == "unsafe"
    assert {path for path, _ in finding.fix.edits} == set(texts)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"values-a.yaml": "new: openai\n"}, "prints both"),
        ({"values-a.yaml": "old: ''\n"}, "takes back"),
        ({"templates/b.yaml": "kind: ConfigMap\ndata:\n  a: {{ .Values.old }}\n"}, "uses it too"),
        ({"values.schema.json": '{"properties": {"old": {"type": "string"}}}'}, "values.schema.json names it"),
        ({"values-a.yaml": "old: openai\nnew: openai\n", "templates/b.yaml": "{{ .Values }}"}, "uses it too"),
        ({"templates/deployment.yaml": MOVING.replace("if .Values.new", "if gt .Values.n 1")}, "must print"),
        ({"templates/deployment.yaml": MOVING.replace(".Values.new", ".Values.other.new")}, "must print"),
    ],
)
def test_a_value_that_cannot_move_stays_with_its_option(tmp_path: Path, files: dict[str, str], why: str) -> None:
    report, texts = moved(tmp_path, **files)
    assert not texts
    assert any(why in f.withheld for f in report.findings()), [f.withheld for f in report.findings()]
