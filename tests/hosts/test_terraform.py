"""Resources, strings and templates of HCL files."""

from __future__ import annotations

import pytest
from small_hosts import env, pins, read, words

from vllm_migrate.hosts import terraform
from vllm_migrate.model import Reading


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
    text = "# values\nmodelSpec:\n  - name: m\n    vllmConfig: {dtype: \"${dtype}\", extraArgs: [--swap-space=4]}\n"
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
