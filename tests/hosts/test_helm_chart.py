"""What a chart's files say of one another: values over values, templates, named templates of one container."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

import pytest
from small_hosts import env, render, words

from vllm_migrate.hosts import Context, helm, yaml
from vllm_migrate.hosts.helm_chart import application_image, defaults, is_values, printed
from vllm_migrate.hosts.helm_filled import filled
from vllm_migrate.hosts.helm_included import containers
from vllm_migrate.hosts.yaml_tree import parse
from vllm_migrate.model import CannotRender, Reading, Remove, Replace
from vllm_migrate.text import Region, Source


def context(path: str, files: Mapping[str, str]) -> Context:
    """Return the context of one file among others, whose paths are relative to the root."""

    def place(name: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))

    def names(folder: str) -> list[str]:
        inside = "" if place(folder) == "." else place(folder) + "/"
        return sorted({n[len(inside) :].split("/")[0] for n in files if n.startswith(inside)})

    return Context(path, sibling_reader=lambda name: files.get(place(name)), sibling_names=names)


@pytest.mark.parametrize(
    ("path", "chart", "yes"),
    [
        ("c/values.yaml", "c", True),
        ("c/values-prod.yml", "c", True),
        ("c/my-values.yaml", "c", True),
        ("c/ci/a.yaml", "c", True),
        ("c/environments/a/b.yaml", "c", True),
        ("values/a.yaml", "", True),
        ("c/a.yaml", "c", False),
        ("c/ci.yaml", "c", False),
        ("c/values.yaml", "d", False),
        ("c/templates/values.yaml", "c", False),
        ("templates/values.yaml", "", False),
        ("values.yaml", "", True),
        ("c/a/b/c/d/values.yaml", "c", False),
        ("c/values.json", "c", False),
    ],
)
def test_which_files_are_values_of_a_chart(path: str, chart: str, yes: bool) -> None:
    assert is_values(context(path, {f"{chart}/Chart.yaml".lstrip("/"): "name: c\n"})) is yes


def test_values_stand_over_those_of_the_chart() -> None:
    files = {"c/Chart.yaml": "", "c/values.yaml": "a:\n  b: {image: vllm}\n  l: [{x: 1}]\nt: 1\n"}
    over = defaults(context("c/ci/values-a.yaml", files))
    assert over is not None and over.mentions_vllm
    mine = parse("a:\n  b: {image: x}\n  l: [{x: 2}]\n  n: {y: 1}\nt: {z: 1}\n").roots[0]
    a = mine.get("a")
    assert a is not None
    b, n, items = a.get("b"), a.get("n"), a.get("l")
    assert b is not None and n is not None and items is not None
    same = over.same(b)
    assert same is not None and same.scalar("image") == "vllm"
    assert over.same(mine) is over.root
    t = mine.get("t")
    assert t is not None
    assert over.same(n) is over.same(items.items[0].node) is over.same(t) is None
    q = parse("q: {r: {s: {u: 1}}}\n").roots[0].get("q")
    r = q.get("r") if q is not None else None
    s = r.get("s") if r is not None else None
    assert s is not None and over.same(s) is None
    assert defaults(context("values.yaml", {"Chart.yaml": "", "values.yaml": "a: 1\n"})) is None
    for path in ("c/values.yaml", "c/templates/a.yaml", "d/values.yaml"):
        assert defaults(context(path, files)) is None
    assert defaults(context("c/values-a.yaml", {"c/Chart.yaml": ""})) is None
    other = defaults(context("c/values-a.yaml", {**files, "c/values.yaml": "a: {{ b }}\n"}))
    assert other is not None and other.root is None and not other.mentions_vllm


VLLM = '{{ if .Values.on }}# vLLM\n{{ end }}args: ["--max-len={{ .Values.maxLen }}", "--no-swap-out"]\n'


@pytest.mark.parametrize(
    ("path", "files", "found"),
    [
        ("c/values.yaml", {"c/Chart.yaml": "", "c/templates/a.yaml": VLLM}, True),
        ("c/values-x.yaml", {"c/Chart.yaml": "", "c/templates/b/a.tpl": VLLM}, True),
        ("c/values.yaml", {"c/Chart.yaml": "", "c/templates/a.txt": VLLM}, False),
        ("c/values.yaml", {"c/Chart.yaml": "", "c/templates/a.yaml": "args: [--x]\n"}, False),
        ("c/values.yaml", {"c/Chart.yaml": "", "c/templates/a.yaml": "a: vllm\n"}, False),
        ("c/values.yaml", {"c/templates/a.yaml": VLLM}, False),
        ("c/other.yaml", {"c/Chart.yaml": "", "c/templates/a.yaml": VLLM}, False),
        ("deploy/values.yaml", {"charts/c/Chart.yaml": "", "charts/c/templates/a.yaml": VLLM}, True),
        ("values/a.yaml", {"charts/c/Chart.yaml": "", "charts/c/templates/a.yaml": VLLM}, True),
        (
            "values.yaml",
            {"charts/c/Chart.yaml": "", "charts/c/templates/a.yaml": VLLM, "charts/d/Chart.yaml": ""},
            False,
        ),
        ("a/b/c/d/values.yaml", {"charts/c/Chart.yaml": "", "charts/c/templates/a.yaml": VLLM}, False),
    ],
)
def test_templates_of_the_chart_that_values_belong_to(path: str, files: dict[str, str], found: bool) -> None:
    said = printed(context(path, files))
    assert (said is not None) is found
    if said is not None:
        assert said.beside is not path.startswith("c/") and said.prints("maxLen") and not said.prints("max_len")


def test_what_templates_print() -> None:
    template = (
        "vllm: {{ .Values.maxLen }} --max-len --api-key-file --a_b\n{{ if .on }}{{ end }}{{ with $.Values.x.swapOut }}"
        '{{ end }}{{ else if .late }}{{ if eq .mode "a" }}{{ end }}{{ if not .off }}{{ end }}\n'
        '{{ printf "--gpu-part=%v --more \\" --too" .Values.gpuPart }} x--none ---dashes'
        " {{- if .swap }}--no-swap{{ end }}\n"
    )
    said = printed(context("c/values.yaml", {"c/Chart.yaml": "", "c/templates/a.yaml": template}))
    assert said is not None
    assert said.options == {"maxlen", "apikeyfile", "ab", "gpupart", "more", "too", "noswap"}
    assert said.composed == {"gpupart", "more", "too"}
    assert said.guards == {"on", "swapOut", "late", "swap"}
    assert said.composes("gpuPart") and not said.composes("maxLen") and not said.composes("gpu_part")
    assert said.silent("on") and not said.silent("swap") and not said.silent("mode")


def test_values_of_a_chart_that_another_depends_on() -> None:
    depends = "dependencies:\n  - name: engine\n    repository: file://../engine\n"
    depends += "  - {name: x, alias: y, repository: 'file://sub/x'}\n  - {name: far, repository: 'https://x'}\n"
    files = {
        "c/Chart.yaml": depends,
        "c/templates/a.yaml": "a: {{ .Values.a }}\n",
        "engine/templates/a.yaml": VLLM,
        "c/sub/x/templates/a.yaml": VLLM.replace("max", "min"),
    }
    first, second = printed(context("c/values.yaml", files), "engine"), printed(context("c/values.yaml", files), "y")
    assert first is not None and first.beside and first.prints("maxLen")
    assert second is not None and "minlen" in second.options
    assert printed(context("c/values.yaml", files), "x") is printed(context("c/values.yaml", files), "far") is None


VALUES = "image:\n  repository: vllm/vllm-openai\nside: {{image: {{repository: other}}}}\n{}"


@pytest.mark.parametrize(
    ("template", "more", "image"),
    [
        ("{{ .Values.image.tag | default .Chart.AppVersion }}", "", "vllm/vllm-openai:"),
        ("{{- $.Values.image.tag | default $.Chart.AppVersion -}}", "", "vllm/vllm-openai:"),
        ("{{ default .Chart.AppVersion .Values.image.tag }}", "", "vllm/vllm-openai:"),
        ("{{ $tag := .Values.image.tag | default .Chart.AppVersion }}", "", "vllm/vllm-openai:"),
        ('{{ .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}', "", "vllm/vllm-openai:v"),
        ("x:v{{ .Values.image.tag | default .Chart.AppVersion }}", "", "vllm/vllm-openai:v"),
        ("{{ .Values.other.tag | default .Chart.AppVersion }}", "", None),
        ("{{ .Values.image.tag }}", "", None),
        ("{{ .Values.side.image.tag | default .Chart.AppVersion }}", "", None),
        (
            "{{ .Values.g.i.tag | default .Chart.AppVersion }}",
            "g: {i: {registry: r.io/, repository: a/vllm}}\n",
            "r.io/a/vllm:",
        ),
        ("{{ .Values.g.i.tag | default .Chart.AppVersion }}", "g: {i: {repository: a/vllm, tag: x}}\n", None),
        ("{{ .Values.g.i.tag | default .Chart.AppVersion }}", "g: {i: {repository: a/vllm, digest: x}}\n", None),
    ],
)
def test_where_the_version_of_the_application_is_the_tag(template: str, more: str, image: str | None) -> None:
    files = {"c/values.yaml": VALUES.format(more), "c/templates/a.yaml": f"image: {template}\n"}
    assert application_image(context("c/Chart.yaml", files)) == image
    assert (
        application_image(context("c/Chart.yaml", {**files, "c/templates/a.yaml": "", "c/templates/a.txt": template}))
        is None
    )


def test_a_chart_whose_folders_cannot_be_listed_says_nothing() -> None:
    files = {"values.yaml": VALUES.format("")}
    assert application_image(Context("c/Chart.yaml", sibling_reader=files.get)) is None
    assert printed(Context("c/values.yaml", sibling_reader=files.get)) is None
    assert list(containers(Context("c/templates/_h.tpl", sibling_reader=files.get))) == []


CONTAINER = """\
kind: Deployment
spec:
  template:
    spec:
      containers:
        - image: "{{ .Values.image }}"
          env:
            {{- include "c.env" . | nindent 12 }}
          args:
            {{- include "c.args" . | nindent 12 }}
            - --last
          volumes:
            {{- include "c.volumes" . | nindent 12 }}
        - name: other
          args: [a]
"""
HELPERS = """\
{{- define "c.args" -}}
- --model=m
- --swap-space=4
{{- end -}}
{{- define "c.env" -}}
- name: VLLM_X
  value: "1"
{{- end -}}
"""


def chart(**more: str) -> dict[str, str]:
    return {
        "c/Chart.yaml": "name: c\n",
        "c/values.yaml": "image: vllm/vllm-openai:v0.9.0\n",
        "c/templates/a.yaml": CONTAINER,
        "c/templates/_h.tpl": HELPERS,
        **{"c/templates/" + k: v for k, v in more.items()},
    }


def helpers(files: Mapping[str, str], name: str = "c/templates/_h.tpl") -> Reading:
    return helm.read(Region.whole(Source.of(files[name], name)), context(name, files))


@pytest.mark.parametrize("more", [{}, {"b.txt": CONTAINER}, {"0.yaml": "a: b\n"}, {"0.yml": "args: {{ x }}\n"}])
def test_named_templates_of_one_container_are_one_launch(more: dict[str, str]) -> None:
    files = chart(**more)
    (told,) = [c for c in containers(context("c/templates/_h.tpl", files)) if c.arguments]
    assert (told.arguments, told.environment, told.server) == ({"c.args"}, {"c.env"}, True)
    found = helpers(files)
    assert (words(found), env(found)) == (["--model=m", "--swap-space=4"], {"VLLM_X": "1"})
    (site,) = found.sites
    assert site.entry_point == "serve" and site.by_image and site.variables[0].only
    assert site.variables[0].scope == "process" and found.variables == []
    text = files["c/templates/_h.tpl"]
    assert render(found, text, [Remove(site.words[1])]) == text.replace("- --swap-space=4\n", "")


@pytest.mark.parametrize(
    ("change", "entry", "variables"),
    [
        (("{{ .Values.image }}", "nginx:1"), "values", True),
        (("{{ .Values.image }}", "{{ .Values.none }}"), "values", True),
        (("          args", "          command: [x]\n          args"), "values", True),
        (('            {{- include "c.env" . | nindent 12 }}\n', "            - name: A\n"), "serve", False),
        (("          env:", "          other:"), "serve", False),
        (("          args:", "          command:"), "values", True),
    ],
)
def test_what_other_containers_make_of_named_templates(change: tuple[str, str], entry: str, variables: bool) -> None:
    files = chart(**{"a.yaml": CONTAINER.replace(*change)})
    (site,) = helpers(files).sites
    assert site.entry_point == entry and bool(site.variables) is variables
    both = chart(**{"b.yaml": CONTAINER.replace(*change)})
    (site,) = helpers(both).sites
    assert site.entry_point == entry and bool(site.variables) is variables


def test_a_variable_that_another_container_includes_stays_out() -> None:
    alone = CONTAINER.replace('            {{- include "c.args" . | nindent 12 }}\n', "")
    found = helpers(chart(**{"b.yaml": alone}))
    assert found.sites[0].variables == [] and [v.name for v in found.variables] == ["VLLM_X"]


TEXTS = {
    "c/Chart.yaml": "name: chat\nappVersion: 1.2.3\nversion: 0.1\n",
    "c/values.yaml": "a: {b: x, n: 4, l: [y]}\nempty: ''\nname: N\n",
    "c/templates/_h.tpl": '{{ define "one" }}\n {{ .Values.a.b }}-{{ .Chart.Name }}\n{{ end }}'
    '{{- define "two" -}}a\nb{{- end -}}'
    '{{ define "open" }}{{ .Values.none }}{{ end }}'
    '{{ define "three" }}3{{ end }}{{ define "self" }}{{ include "self" . }}{{ end }}',
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ .Values.a.b }}", "x"),
        ("{{- $.Values.a.b | quote -}}!", "x!"),
        ("{{ .Values.a.n | toString | trim | lower | squote }}", "4"),
        ("{{ .Chart.AppVersion }}/{{ .Chart.Version }}", "1.2.3/0.1"),
        ('{{ .Values.empty | default "d" }}', "d"),
        ('{{ .Values.a.b | default "d" }}', "x"),
        ("{{ default .Chart.Name .Values.none }}", "chat"),
        ("{{ default .Chart.Name .Values.a.b }}", "x"),
        ("{{ coalesce .Values.none .Chart.Name }}", "chat"),
        ("{{ coalesce .Values.a.b .Chart.Name }}", "x"),
        ('{{ printf "%s:%v" .Values.a.b (.Values.a.n) }}', "x:4"),
        ("{{ (.Values.a.b) }}", "x"),
        ('{{ "x" }}', "x"),
        ('{{ include "one" . }}', "x-chat"),
        ('{{ include "one" $ }}', "x-chat"),
        ('{{ include "three" . }}', "3"),
    ],
)
@pytest.mark.parametrize("path", ["c/templates/a.yaml", "c/templates/sub/a.yaml"])
def test_what_the_values_of_a_chart_settle(text: str, said: str, path: str) -> None:
    if "include" in text and "sub" in path:
        assert filled(text, context(path, TEXTS)) == said
    else:
        assert filled(f"<{text}>", context(path, TEXTS)) == f"<{said}>"


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Values.none }}", "{{ .Values.empty }}", "{{ .Values.a }}", "{{ .Values.a.l }}", "{{ .Values.name.x }}",
        "{{ .Values.a.b | upper }}", '{{ printf "%s" }}', '{{ printf "%s" .Values.none }}', "{{ f .Values.a.b }}",
        '{{ include "two" . }}', '{{ include "none" . }}', '{{ include "open" . }}', '{{ include "self" . }}',
        '{{ include "one" .Values.a.b.c | f }}', "{{ if .Values.a.b }}", '{{ "a\\"b" }}', "{{ .Chart.None }}",
        "{{ .Release.Name }}", "{{ xinclude \"one\" . }}",
    ],
)  # fmt: skip
def test_what_only_a_run_can_tell_stays(text: str) -> None:
    assert filled(text, context("c/templates/a.yaml", TEXTS)) == text


def test_values_that_are_templates_settle_nothing() -> None:
    files = {**TEXTS, "c/values.yaml": "a: {b: x}\nc: {{ d }}\n"}
    assert filled("{{ .Values.a.b }}", context("c/templates/a.yaml", files)) == "{{ .Values.a.b }}"
    assert filled("{{ .Values.a.b }}", context("c/other/a.yaml", TEXTS)) == "{{ .Values.a.b }}"
    assert filled("{{ .Values.a.b }}", Context("c/templates/a.yaml")) == "{{ .Values.a.b }}"


BUILT = """\
{{- define "c.cmd" -}}
{{- $a := list "vllm" "serve" "m" -}}
{{- if .Values.x }}
{{- $a = append $a "--swap-space=4" -}}
{{- end }}
{{- $a = append $a "--port=1" -}}
{{- $a = concat $a (list "--x" "1") -}}
{{- $a | toYaml -}}
{{- end -}}
"""


def built(text: str) -> Reading:
    files = {"c/values.yaml": "vllm: 1\n", "c/templates/_h.tpl": text}
    return helpers(files)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("gone", "lines"),
    [
        (["--swap-space=4"], ["{{- if .Values.x }}\n", '{{- $a = append $a "--swap-space=4" -}}\n', "{{- end }}\n"]),
        (["--port=1"], ['{{- $a = append $a "--port=1" -}}\n']),
        (["--x", "1"], ['{{- $a = concat $a (list "--x" "1") -}}\n']),
        (
            ["--port=1", "--x", "1"],
            ['{{- $a = append $a "--port=1" -}}\n', '{{- $a = concat $a (list "--x" "1") -}}\n'],
        ),
    ],
)
def test_actions_go_with_the_words_they_add(gone: list[str], lines: list[str], newline: str) -> None:
    text, after = BUILT, BUILT
    for line in lines:
        after = after.replace(line, "", 1)
    text, after = text.replace("\n", newline), after.replace("\n", newline)
    found = built(text)
    (site,) = found.sites
    assert [w.text for w in site.words] == ["m", "--swap-space=4", "--port=1", "--x", "1"]
    assert site.entry_point == "serve" and site.open
    assert site.span.start < site.words[0].span.start and site.words[-1].span.end <= site.span.end
    assert [w.branch >= 0 for w in site.words] == [False, True, False, False, False]
    assert render(found, text, [Remove(w) for w in site.words if w.text in gone]) == after


def test_a_template_in_a_folder_of_its_own_is_of_the_same_chart() -> None:
    files = {"c/values.yaml": "vllm: 1\n", "c/templates/sub/_h.tpl": BUILT}
    assert len(helpers(files, "c/templates/sub/_h.tpl").sites) == 1
    assert helpers({"c/values.yaml": "x: 1\n", "c/templates/sub/_h.tpl": BUILT}, "c/templates/sub/_h.tpl").sites == []


def test_actions_that_say_more_stay() -> None:
    found = built(BUILT)
    by_text = {w.text: w for w in found.sites[0].words}
    for changes in ([Remove(by_text["m"])], [Remove(by_text["1"])], [Replace(by_text["--port=1"], "--port=2")]):
        with pytest.raises(CannotRender):
            render(found, BUILT, changes)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{{ printf "vllm serve m --x %d" .Values.x }}', ["m", "--x", "{{ .Values.x }}"]),
        ('{{ $a := list "--x" }}{{ $a | toYaml }}', ["--x"]),
        ('{{ $a := list "true" "&&" "vllm" "serve" "m" ";" "echo" "--b" }}{{ $a }}', ["m"]),
        ('{{ $a := list "true" ";" "echo" "--b" }}{{ $a }}', None),
        ('{{ $a := list "x" }}{{ $a }}', None),
        ('{{ $a := list "--x" }}{{ $b := concat $a (list "--y") }}{{ $b }}', ["--x", "--y"]),
        ('{{ $a := list "--x" }}{{ $a = list "--y" }}{{ $a }}', ["--x"]),
        ('{{ $a := list "--x" }}{{ $a = append $a .y }}{{ $a = f $a }}', None),
    ],
)
def test_what_actions_put_together(body: str, said: list[str] | None) -> None:
    found = built(f'{{{{ define "c.cmd" }}}}{body}{{{{ end }}}}')
    assert ([w.spelled() for w in found.sites[0].words] if found.sites else None) == said


def test_named_templates_of_other_programs_are_passed_over() -> None:
    text = BUILT.replace("c.cmd", "c.router.args")
    assert built(text).sites == []
    assert (
        yaml.read(Region.whole(Source.of(BUILT)), context("c/templates/a.yaml", {"c/values.yaml": "x: 1\n"})).sites
        == []
    )
