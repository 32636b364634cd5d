"""Scripts, units and build files that a template engine fills in."""

from __future__ import annotations

import pytest
from small_hosts import check_identity, env, pins, read, render, words

from vllm_migrate.hosts import template, yaml
from vllm_migrate.model import CannotRender, Remove, Replace

HEAD = "#!/bin/bash\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        (
            "vllm serve {{ m }} --a 1 --b {{x}}y\n",
            "${_part_0} --a 1 --b ${_part_1}y",
            "vllm serve {{ m }} --b {{x}}y\n",
        ),
        ("vllm serve {{ m }}/{{ m }} --a 1\n", "${_part_0}/${_part_0} --a 1", "vllm serve {{ m }}/{{ m }}\n"),
        ("{% if x %}\nvllm serve m --a 1\n{% endif %}\n", "m --a 1", "{% if x %}\nvllm serve m\n{% endif %}\n"),
        (
            "vllm serve m \\\n  {% if x %}\n  --a 1 \\\n  {% endif %}\n  --b\n",
            "m --a 1 --b",
            "vllm serve m \\\n  {% if x %}\n  {% endif %}\n  --b\n",
        ),
        (
            "vllm serve m {%- if x %} --a 1 {%- endif %} --b\n",
            "m --a 1 --b",
            "vllm serve m {%- if x %} {%- endif %} --b\n",
        ),
        ("vllm serve m --a 1 {{- x -}}  y --b\n", "m --a 1${_part_0}y --b", None),
        ("vllm serve m --a {% if x %}1{% else %}1{% endif %} --b\n", "m --a 11 --b", None),
        (
            "{# vllm serve n --a 1 #}\nvllm serve {{ m }} --a 1\n",
            "${_part_0} --a 1",
            "{# vllm serve n --a 1 #}\nvllm serve {{ m }}\n",
        ),
        (
            "{% set x = 'vllm serve n --a 1' %}vllm serve m --a 1\n",
            "m --a 1",
            "{% set x = 'vllm serve n --a 1' %}vllm serve m\n",
        ),
        ("vllm serve m --a 1 {{ x }}", "m --a 1 ${_part_0}", "vllm serve m {{ x }}"),
        ("vllm serve $_part_0 {{ x }} --a 1\n", "$_part_0 ${_part_0} --a 1", "vllm serve $_part_0 {{ x }}\n"),
    ],
)
def test_options_go_around_what_is_filled_in(before: str, said: str, after: str | None, newline: str) -> None:
    text = (HEAD + before).replace("\n", newline)
    found = read(template, text, "run.sh.j2")
    assert words(found) == said.split()
    check_identity(found, text)
    gone = [Remove(w) for w in found.sites[0].words if w.text in ("--a", "1", "11")]
    if after is None:
        assert any(c.item.locked for c in gone) or len(gone) < 2
    else:
        assert render(found, text, gone) == (HEAD + after).replace("\n", newline)


def test_what_a_condition_holds_is_told() -> None:
    text = HEAD + "vllm serve m {% if x %}--a 1 {% else %}--b {% endif %}--c\n"
    branches = [w.branch for w in read(template, text, "run.sh.j2").sites[0].words]
    assert branches == [-1, *[text.index("{% if")] * 2, text.index("{% else"), -1]


def test_a_value_keeps_what_is_filled_in() -> None:
    text = HEAD + "vllm serve m --a {{ x }}/y\n"
    found = read(template, text, "run.sh.j2")
    item = found.sites[0].words[-1]
    assert render(found, text, [Replace(item, item.text.replace("/y", "/z"), item.holes)]) == text.replace("/y", "/z")


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        (
            "vllm.service.j2",
            "[Service]\nEnvironment=A={{ a }}\nExecStart=/bin/vllm serve {{ m }} --a 1\n",
            ["--a", "1"],
        ),
        ("Dockerfile.tmpl", 'FROM vllm/vllm-openai:{{ tag }}\nENV A=1\nCMD ["--a", "1"]\n', ["--a", "1"]),
        ("Makefile.jinja", "all:\n\tvllm serve {{ m }} --a 1\n", ["--a", "1"]),
        ("run.sh.gotmpl", "vllm serve {{ .M }} --a 1\n", ["--a", "1"]),
    ],
)
def test_hosts_of_templates(path: str, text: str, said: list[str]) -> None:
    found = read(template, text, path)
    assert words(found)[-2:] == said
    assert render(found, text, [Replace(w, w.text, w.holes) for w in found.sites[0].words]) == text


def test_pins_and_variables_of_templates() -> None:
    text = "FROM vllm/vllm-openai:{{ tag }}\nENV A=1\n{% if x %}\nENV B={% if y %}1{% endif %}\n{% endif %}\n"
    found = read(template, text, "Dockerfile.j2")
    assert pins(found) == ["vllm/vllm-openai:${_part_0}"] and not found.pins[0].locked
    held = {v.name: v for v in found.variables}
    assert held["A"].locked == "" and held["B"].locked == "inside a template action"
    assert held["A"].branch == -1 and held["B"].branch == text.index("{% if x")
    with pytest.raises(CannotRender):
        render(found, text, [Replace(held["B"], "2")])


MACROS = """\
{{% macro start(m) %}}
{}
{{% endmacro %}}
"""


@pytest.mark.parametrize(
    ("line", "sure"),
    [
        ("vllm serve {{ m }} --a 1", True),
        ("  exec vllm serve m --a 1", True),
        ("A=1 sudo vllm serve m --a 1", True),
        ("{{ pre }} vllm serve m --a 1", True),
        ("{{ pre }} && (vllm serve m --a 1)", True),
        ("run vllm serve m --a 1", False),
        ("Start it with: vllm serve m --a 1", False),
        ("python -m vllm.entrypoints.openai.api_server --a 1", True),
    ],
)
def test_of_macros_only_whole_commands_count(line: str, sure: bool) -> None:
    found = read(template, MACROS.format(line), "macros.j2")
    assert bool(found.sites) is sure
    assert found.pins == found.variables == found.problems == []


@pytest.mark.parametrize("text", ["vllm", "pip install vllm==0.9.0\n", "export VLLM_X=1\n", ""])
def test_other_templates_hold_nothing(text: str) -> None:
    found = read(template, text, "notes.j2")
    assert found.sites == found.pins == found.variables == []


def test_a_first_line_tells_what_a_template_gives() -> None:
    assert pins(read(template, HEAD + "set -e\npip install vllm==0.9.0\n", "start.j2")) == ["vllm==0.9.0"]


def test_a_template_of_nothing_but_actions() -> None:
    assert read(template, "{% if x %}{% endif %}", "run.sh.j2").sites == []
    assert env(read(template, "export A=1\nvllm serve m", "run.sh.j2")) == {"A": "1"}


@pytest.mark.parametrize("more", ["", "{% if x %}{% endif %}\n"])
def test_remarks_of_a_template_are_no_text(more: str) -> None:
    text = f"{more}a: {{{{ b }}}}\n{{# vllm serve m --a #}}\nimage: vllm/vllm-openai:v0.9.0 {{# why #}}\nargs: [--a]\n"
    found = read(yaml, text, "a.yaml.j2")
    assert [words(found, i) for i in range(len(found.sites))] == [["--a"]] and found.problems == []
    shell = "a: {{ b }}\nimage: vllm/vllm-openai:v0.9.0\nargs: [--a, '${#A[@]}', '--b #}']\n"
    assert words(read(yaml, shell, "a.yaml.j2"))[:2] == ["--a", "${#A[@]}"]
