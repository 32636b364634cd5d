"""Resources, strings and templates of HCL files."""

from __future__ import annotations

import pytest
from small_hosts import check_identity, env, pins, read, render, words

from vllm_migrate.hosts import terraform
from vllm_migrate.model import CannotRender, InsertVariable, InsertWords, Reading, Remove, Rename, Replace, fill


def of(text: str, path: str = "main.tf") -> Reading:
    return read(terraform, text, path)


def test_a_list_put_together_leaves_a_launch_open() -> None:
    found = of(
        'container {\n  image = "vllm/vllm-openai:v0.9.0"\n'
        '  args = concat(["--model", "m", "--a", "1"], var.more, ["--b"])\n}\n'
    )
    assert words(found) == ["--model", "m", "--a", "1", "var.more", "--b"]
    assert found.sites[0].open


def test_an_image_named_by_a_variable_moves_where_it_is_written() -> None:
    text = (
        'variable "i" {\n  default = "vllm/vllm-openai:v0.9.0"\n}\ncontainer {\n  image = var.i\n  args = ["--a"]\n}\n'
    )
    (pin,) = of(text).pins
    assert (pin.text, pin.kind) == ("vllm/vllm-openai:v0.9.0", "image")
    assert text[pin.place.start : pin.place.end] == pin.text
    assert words(of(text)) == ["--a"]


def test_a_tag_of_a_local() -> None:
    text = 'locals {\n  tag = "v0.9.0"\n}\nx = "vllm/vllm-openai:${local.tag}-x86_64"\n'
    (pin,) = of(text).pins
    assert (pin.whole, pin.text) == ("vllm/vllm-openai:v0.9.0-x86_64", "v0.9.0")


def test_an_unknown_tag_is_a_run_time_part() -> None:
    (pin,) = of('x = "vllm/vllm-openai:${var.tag}"\n').pins
    assert pin.holes == ("${var.tag}",)


@pytest.mark.parametrize(
    "text",
    [
        'description = "run vllm serve m --a 1"\n',
        'name = "vllm"\n',
        '# args = ["vllm", "serve", "m"]\n',
        "/* x = <<EOT\nvllm serve m\nEOT\n*/\n",
        'tags = { app = "vllm" }\n',
        'x = "https://vllm:8000/v1"\n',
    ],
)
def test_nothing_is_started(text: str) -> None:
    found = of(text)
    assert (found.sites, found.pins, found.problems) == ([], [], [])


@pytest.mark.parametrize(
    "text",
    [
        "x = <<EOT\n#!/bin/bash\nvllm serve m --a 1\nEOT\n",
        "x {\n  y = <<-EOT\n    vllm serve m \\\n      --a 1\n  EOT\n}\n",
        'x = "vllm serve m --a 1"\n',
        'x = ["bash", "-c", "vllm serve m --a 1"]\n',
        'x = ["vllm", "serve", "m", "--a", "1"]\n',
        'x = f({ command = ["vllm", "serve"], args = ["m", "--a", "1"] })\n',
        'task "t" {\n  config {\n    command = "vllm"\n    args = ["serve", "m", "--a", "1"]\n  }\n}\n',
        'container {\n  command = ["sh", "-c"]\n  args = [<<-EOT\n    vllm serve m --a 1\n  EOT\n  ]\n}\n',
        'x = var.y ? "vllm serve m --a 1" : "true"\n',
        "x = <<EOT\n#cloud-config\nruncmd:\n  - vllm serve m --a 1\nEOT\n",
        'x = <<EOT\n{"command": ["vllm", "serve", "m", "--a", "1"]}\nEOT\n',
    ],
)
def test_launches(text: str) -> None:
    found = of(text)
    assert [words(found, i) for i in range(len(found.sites))] == [["m", "--a", "1"]]


def test_templates_are_run_time_parts() -> None:
    found = of(
        'x = <<EOT\nvllm serve ${var.m} --a "${jsonencode({ b = "c" })}" --d $${E} %{ if x }--f%{ endif }\nEOT\n'
    )
    assert [w.literal for w in found.sites[0].words][:5] == [False, True, False, True, False]


def test_a_tasks_environment_reaches_its_container() -> None:
    text = (
        'task "t" {\n  config {\n    image = "vllm/vllm-openai:v0.9.0"\n    args = ["--a"]\n  }\n'
        "  env {\n    VLLM_X = 1\n    B = var.b\n  }\n}\n"
    )
    assert env(of(text)) == {"VLLM_X": "1", "B": "\ue000"}


def test_template_files() -> None:
    assert words(of("#!/bin/bash\nvllm serve ${m} --a 1\n", "boot.sh.tftpl")) == ["${_part_0}", "--a", "1"]
    values = of("image: vllm/vllm-openai:${tag}\nargs: [--a, '${b}']\n", "values.yaml.tftpl")
    assert [w.literal for w in values.sites[0].words] == [True, False]
    assert pins(values) == ["vllm/vllm-openai:${tag}"]


@pytest.mark.parametrize(
    "text",
    [
        "x = ",
        "x = [",
        "x {",
        'x = "a',
        "x = <<EOT\nvllm",
        "x = (]",
        "= 1",
        'x "y" = 1',
        "{",
        "x = ${",
        "x = {a}",
        "x.y = 1",
    ],
)
def test_what_is_not_hcl_is_a_problem(text: str) -> None:
    found = of(f"# vllm\n{text}\n")
    assert found.sites == [] and len(found.problems) <= 1


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_templates_of_yaml_without_another_ending(newline: str) -> None:
    text = '# values\nmodelSpec:\n  - name: m\n    vllmConfig: {dtype: "${dtype}", extraArgs: [--swap-space=4]}\n'
    found = read(terraform, text.replace("\n", newline), "helm/values-gpu.tpl")
    assert [w.text for w in found.sites[0].words] == ["--swap-space=4"]
    assert read(terraform, "# a note about vllm\nserver { listen 80; }\n", "nginx.tpl").problems == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('vllm_args = ["--swap-space=4", "--port=1"]', ["--swap-space=4", "--port=1"]),
        ('variable "vllm_extra_args" {\n  default = ["--a", "1"]\n}', ["--a", "1"]),
        ('variable "vllm_args" {\n  default = "--a 1 --b"\n}', ["--a", "1", "--b"]),
        (
            'resource "helm_release" "x" {\n  values = [yamlencode({ spec = [{ repository = "vllm/vllm-openai", '
            'vllmConfig = { extraArgs = ["--a"] } }] })]\n}',
            ["--a"],
        ),
    ],
)
def test_options_that_stand_alone(text: str, told: list[str]) -> None:
    (site,) = of(text + "\n").sites
    assert [w.text for w in site.words] == told
    assert site.open


@pytest.mark.parametrize(
    "text",
    [
        'nginx_args = ["--a"]',
        'vllm_router_args = ["--a"]',
        'vllm_docker_args = ["--a"]',
        'variable "vllm_args" {\n  description = "--a 1"\n}',
        'resource "kubernetes_deployment" "vllm" {\n  container {\n    image = "nginx:1"\n    args = ["--a"]\n  }\n}',
    ],
)
def test_options_of_other_programs(text: str) -> None:
    assert of(text + "\n").sites == []


def test_options_in_variables_of_a_container() -> None:
    found = of(
        'primary_container {\n  image = "registry.example.com/vllm:0.11.0"\n'
        '  environment = { SM_VLLM_SWAP_SPACE = "4" }\n}\n'
    )
    (site,) = found.sites
    assert {e.key: e.value for e in site.entries} == {"swap_space": "4"}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('x = "vllm serve m --a 1 --b"\n', 'x = "vllm serve m --b"\n'),
        (
            'x = "vllm serve ${var.m} --a 1 %{ if y }--b%{ endif }"\n',
            'x = "vllm serve ${var.m} %{ if y }--b%{ endif }"\n',
        ),
        ('x = "vllm serve \\"m\\" --a 1"\n', 'x = "vllm serve \\"m\\""\n'),
        ("x = <<EOT\nvllm serve m \\\n  --a 1 \\\n  --b\nEOT\n", "x = <<EOT\nvllm serve m \\\n  --b\nEOT\n"),
        (
            "x = <<-EOT\n    export A=$${B}\n\n      vllm serve ${m} \\\n        --a 1 \\\n        --b\n  EOT\n",
            "x = <<-EOT\n    export A=$${B}\n\n      vllm serve ${m} \\\n        --b\n  EOT\n",
        ),
        ("x = <<-EOT\n\tvllm serve m --a 1\n\tEOT\n", "x = <<-EOT\n\tvllm serve m\n\tEOT\n"),
        ('x = ["vllm", "serve", "m", "--a", "1"]\n', 'x = ["vllm", "serve", "m"]\n'),
        (
            'x = [\n  "vllm", "serve", "m",\n  "--a", "1", # why\n  "--b",\n]\n',
            'x = [\n  "vllm", "serve", "m",\n  "--b",\n]\n',
        ),
        ('inline = ["cd /", "vllm serve m --a 1"]\n', 'inline = ["cd /", "vllm serve m"]\n'),
        (
            "x = <<EOT\n---\nargs: [vllm, serve, m, --a, '1', '${b}']\nEOT\n",
            "x = <<EOT\n---\nargs: [vllm, serve, m, '${b}']\nEOT\n",
        ),
        (
            'x = <<EOT\n{"command": ["vllm", "serve", "m", "--a", "1"]}\nEOT\n',
            'x = <<EOT\n{"command": ["vllm", "serve", "m"]}\nEOT\n',
        ),
    ],
)
def test_options_go(before: str, after: str, newline: str) -> None:
    text = before.replace("\n", newline)
    found = of(text)
    check_identity(found, text)
    gone = [w for w in found.sites[0].words if w.text in ("--a", "1")]
    assert render(found, text, [Remove(w) for w in gone]) == after.replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "value", "after"),
    [
        ('x = "vllm serve m --a 1"\n', "$5", "x = \"vllm serve m --a '$5'\"\n"),
        ('x = "vllm serve m --a 1"\n', "${y}", "x = \"vllm serve m --a '$${y}'\"\n"),
        ('x = "vllm serve m --a 1"\n', '"q"', 'x = "vllm serve m --a \'\\"q\\"\'"\n'),
        (
            'x = ["vllm", "serve", "m", "--a", "1"]\n',
            'a "b" %{c}',
            'x = ["vllm", "serve", "m", "--a", "a \\"b\\" %%{c}"]\n',
        ),
        ("x = <<EOT\nvllm serve m --a 1\nEOT\n", "${y} \\", "x = <<EOT\nvllm serve m --a '$${y} \\'\nEOT\n"),
        (
            "x = <<EOT\n---\ncommand: [vllm, serve, m, --a, '1']\nEOT\n",
            "it's ${y}",
            "x = <<EOT\n---\ncommand: [vllm, serve, m, --a, 'it''s $${y}']\nEOT\n",
        ),
    ],
)
def test_values_are_written_as_the_format_reads_them(text: str, value: str, after: str) -> None:
    found = of(text)
    (item,) = (w for w in found.sites[0].words if w.text == "1")
    assert render(found, text, [Replace(item, value)]) == after
    assert [w.text for w in of(after).sites[0].words][-1] == value


def test_a_word_keeps_its_run_time_parts() -> None:
    text = 'x = ["vllm", "serve", "m", "--a=${var.a}/${var.b}:1"]\n'
    found = of(text)
    item = found.sites[0].words[-1]
    assert item.text == "--a=\ue000/\ue001:1"
    assert render(found, text, [Replace(item, "--c=\ue001/\ue000:2", item.holes)]) == (
        'x = ["vllm", "serve", "m", "--c=${var.b}/${var.a}:2"]\n'
    )
    yaml = "x = <<EOT\n---\ncommand: [vllm, serve, m, '--a=${a}/${b}']\nEOT\n"
    found = of(yaml)
    item = found.sites[0].words[-1]
    assert item.holes and render(found, yaml, [Replace(item, item.text.replace("--a", "--c"), item.holes)]) == (
        yaml.replace("--a", "--c")
    )


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (
            'x = <<EOT\n#!/usr/bin/env python3\nfrom vllm import LLM\nLLM("m", swap_space=4)\nEOT\n',
            {"model", "swap_space"},
        ),
        (
            "x = <<-EOT\n    #!/usr/bin/env python3\n    from vllm import LLM\n    if x:\n"
            '      LLM("m", swap_space=4)\n  EOT\n',
            {"model", "swap_space"},
        ),
        ("x = <<EOT\n#!/bin/sh\n{ vllm serve m; }\nEOT\n", set()),
    ],
)
def test_hosts_of_here_documents(text: str, kinds: set[str]) -> None:
    (site,) = of(text).sites
    assert {e.key for e in site.entries} == kinds and of(text).problems == []


@pytest.mark.parametrize(
    ("image", "text", "prefix", "locked"),
    [
        ('"vllm/vllm-openai:v0.9.0"', "vllm/vllm-openai:v0.9.0", "", False),
        ('"vllm/vllm-openai:v0.9.0@sha256:ab"', "vllm/vllm-openai:v0.9.0@sha256:ab", "", True),
        ('"vllm\\u002fvllm-openai:v0.9.0"', "vllm/vllm-openai:v0.9.0", "", True),
        ('"vllm/vllm-openai:${var.tag}"', "v0.8.0", "vllm/vllm-openai:", False),
        ('"vllm/vllm-openai:${ local.tag }"', "v0.7.0", "vllm/vllm-openai:", False),
        ('"vllm/vllm-openai:${var.none}"', "vllm/vllm-openai:\ue000", "", False),
        ('"${var.a}/vllm-openai:${var.tag}"', "\ue000/vllm-openai:\ue001", "", False),
        ("var.image", "vllm/vllm-openai:v0.6.0", "", False),
    ],
)
def test_where_the_version_of_an_image_is_written(image: str, text: str, prefix: str, locked: bool) -> None:
    head = (
        'variable "tag" {\n  default = "v0.8.0"\n}\nlocals {\n  tag = "v0.7.0"\n  n = 1\n}\n'
        'variable "image" {\n  default = "vllm/vllm-openai:v0.6.0"\n}\nvariable "none" {}\n'
    )
    whole = f'{head}container {{\n  image = {image}\n  args = ["--a"]\n}}\n'
    found = of(whole)
    (pin,) = found.sites[0].pins
    assert (pin.text, pin.prefix, bool(pin.locked)) == (text, prefix, locked)
    assert pin in found.pins
    if not locked and not pin.holes:
        assert render(found, whole, [Replace(pin, "x:1")]) == whole.replace(text, "x:1")


@pytest.mark.parametrize(
    ("env", "told", "only"),
    [
        ('env {\n    name = "A"\n    value = "1"\n  }', {"A": "1"}, True),
        ('env {\n    name = "A"\n    value_from {}\n  }', {"A": None}, True),
        ('env {\n    name = var.n\n    value = "1"\n  }', {}, True),
        ('env = { A = "1", B = 2, C = var.c, D = true }', {"A": "1", "B": "2", "C": "\ue000", "D": "true"}, True),
        ('environment = ["A=1", "B", "C=${var.c}"]', {"A": "1", "C": "\ue000"}, True),
        ('environment = [{ name = "A", value = "1" }, { name = "B", value = var.b }]', {"A": "1", "B": "\ue000"}, True),
        ('env = [{ key = "A", value = "1" }]', {"A": "1"}, True),
        ('env = [var.a, "B=1"]', {}, True),
        ("env = var.env", {}, True),
        ('labels = { A = "1" }', {}, True),
    ],
)
def test_environment_of_a_container(env: str, told: dict[str, str | None], only: bool) -> None:
    text = f'container {{\n  image = "vllm/vllm-openai:v0.9.0"\n  args = ["--a"]\n  {env}\n}}\n'
    (site,) = of(text).sites
    assert {v.name: v.value for v in site.variables} == told
    assert all(v.only is only for v in site.variables)
    for variable in site.variables:
        if variable.value_span is not None:
            span = variable.value_span
            assert text[span.start : span.end] == fill(variable.value or "", variable.holes)


def test_variables_without_a_launch_are_told() -> None:
    found = of('container {\n  image = "nginx:1"\n  env = { VLLM_A = "1" }\n}\n')
    assert found.sites == [] and [v.name for v in found.variables] == ["VLLM_A"]


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("a.sh.tftpl", "vllm serve ${m} --a 1\n", ["${_part_0}", "--a", "1"]),
        ("a.tftpl", "vllm serve ${m} --a 1\n", ["${_part_0}", "--a", "1"]),
        ("a.yaml.tpl", "command: [vllm, serve, '${m}', --a, '1']\n", ["\ue000", "--a", "1"]),
        ("a.json.tftpl", '{"command": ["vllm", "serve", "${m}", "--a", "1"]}\n', ["\ue000", "--a", "1"]),
        ("a.tpl", "#!/bin/sh\nvllm serve m --a 1\n", ["m", "--a", "1"]),
        ("a.tpl", "vllm serve m --a 1\n", None),
        ("a.tpl", "# note\ncommand: [vllm, serve, m, --a, '1']\n", ["m", "--a", "1"]),
        ("a.tpl", "#cloud-config\nruncmd:\n  - vllm serve m --a 1\n", ["m", "--a", "1"]),
    ],
)
def test_what_template_files_hold(path: str, text: str, said: list[str] | None) -> None:
    found = of(text, path)
    assert [w.text for w in found.sites[0].words] == said if said and said[0] == "\ue000" else True
    told = words(found) if found.sites else None
    assert told == said or (said is not None and said[0] == "\ue000"), told
    assert found.problems == []


MANY = """\
c {
  image = "vllm/vllm-openai:v0.9.0"
  args = ["--a"]
  env = {
    A = "1", B = "2"
    C = "3", # why
    D = "${d}" // why
    E = "5" /* why */
    F = "6",
  }
}
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("A", ""),
        ("B", ""),
        ("C", '    C = "3", # why\n'),
        ("D", '    D = "${d}" // why\n'),
        ("E", ""),
        ("F", '    F = "6",\n'),
    ],
)
def test_only_lines_of_their_own_go(name: str, line: str) -> None:
    found = of(MANY)
    (variable,) = (v for v in found.sites[0].variables if v.name == name)
    if line:
        assert render(found, MANY, [Remove(variable)]) == MANY.replace(line, "")
    else:
        with pytest.raises(CannotRender):
            render(found, MANY, [Remove(variable)])


def test_variables_of_an_object_change_in_place() -> None:
    found = of(MANY)
    held = {v.name: v for v in found.sites[0].variables}
    changes = [Rename(held["A"], "N"), Replace(held["D"], "x${e}\ue000", held["D"].holes), Replace(held["B"], "2")]
    after = MANY.replace("A =", "N =").replace('"${d}"', '"x$${e}${d}"')
    assert render(found, MANY, changes) == after
    added = [
        InsertVariable(held["F"].container, "M", '"q"'),
        InsertVariable(held["C"].container, "O", "1", after=held["C"]),
    ]
    assert render(found, MANY, added) == MANY.replace("# why\n", '# why\n    O = "1"\n').replace(
        '"6",\n', '"6",\n    M = "\\"q\\""\n'
    )
    with pytest.raises(CannotRender):
        held["A"].container.edits([Remove(found.pins[0])])


@pytest.mark.parametrize(
    ("arguments", "started"),
    [
        ('args = ["--a"]', True),
        ('command = ["python3", "-m", "vllm.entrypoints.openai.api_server"]\n  args = ["--a"]', True),
        ("args = var.args", False),
        ('command = var.c\n  args = ["--a"]', False),
        ('command = ["sh"]\n  args = var.args', False),
        ("args = concat(var.a, var.b)", False),
        ("args = []", False),
    ],
)
def test_what_a_container_is_started_with(arguments: str, started: bool) -> None:
    found = of(f'container {{\n  image = "vllm/vllm-openai:v0.9.0"\n  {arguments}\n  env = {{ A = "1" }}\n}}\n')
    # What options that stand alone are for is told by their names alone.
    assert any(s.entry_point != "values" for s in found.sites) is started
    assert [v.name for v in found.variables] == ([] if started else ["A"])


def test_a_here_document_may_hold_variables_alone() -> None:
    assert [v.name for v in of("x = <<EOT\nexport VLLM_X=1\nEOT\n").variables] == ["VLLM_X"]
    assert of('x = "export VLLM_X=1"\n').variables == []
    assert [p.kind for p in of("# vllm\nx = [\n").problems] == ["syntax"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_new_line_is_indented_like_its_here_document(newline: str) -> None:
    text = "x = <<-EOT\n    vllm serve m \\\n      --a 1\n  EOT\n".replace("\n", newline)
    found = of(text)
    item = found.sites[0].words[-1]
    after = render(found, text, [InsertWords(item.container, ["--b"], after=item)])
    assert after == text.replace("--a 1", f"--a 1 \\{newline}      --b")


def test_a_backslash_of_a_here_document_is_a_letter() -> None:
    text = 'x = <<EOT\nvllm serve m --a "q\\"r" --b \'s\\nt\'\nEOT\n'
    assert words(of(text)) == ["m", "--a", 'q"r', "--b", "s\\nt"]
    check_identity(of(text), text)
