"""Steps, environment and images of Jenkins pipelines."""

from __future__ import annotations

import pytest
from small_hosts import check_identity, env, pins, read, render, words

from vllm_migrate.hosts import groovy
from vllm_migrate.model import Remove, Replace


@pytest.mark.parametrize(
    "step",
    [
        "sh 'vllm serve m --a 1'",
        'sh "vllm serve m --a 1"',
        "sh('vllm serve m --a 1')",
        "sh(script: 'vllm serve m --a 1', returnStatus: true)",
        "sh label: 'vllm', script: 'vllm serve m --a 1'",
        "sh '''\n  vllm serve m \\\n    --a 1\n'''",
        'sh """\n  vllm serve m --a 1\n"""',
    ],
)
def test_steps(step: str) -> None:
    found = read(groovy, f"node {{\n  {step}\n}}\n", "Jenkinsfile")
    assert [words(found)] == [["m", "--a", "1"]]


@pytest.mark.parametrize(
    "step",
    [
        "echo 'vllm serve m --a 1'",
        "// sh 'vllm serve m --a 1'",
        "/* sh 'vllm serve m --a 1' */",
        "bat 'vllm serve m --a 1'",
        "stage('vllm serve m --a 1') {}",
        "publish 'vllm serve m --a 1'",
        "sh 'vllm serve m --a 1",
    ],
)
def test_no_steps(step: str) -> None:
    assert read(groovy, f"node {{\n  {step}\n}}\n", "Jenkinsfile").sites == []


def test_what_groovy_fills_in_is_not_known() -> None:
    found = read(groovy, 'sh "vllm serve ${params.M} --a \\$A --b $b"\n', "Jenkinsfile")
    assert [w.literal for w in found.sites[0].words] == [False, True, False, True, False]


def test_escapes_stay() -> None:
    text = 'sh "vllm serve m --a \\"${x}\\" --b 1 --c \\$C"\n'
    found = read(groovy, text, "Jenkinsfile")
    gone = [w for w in found.sites[0].words if w.text in ("--b", "1")]
    assert render(found, text, [Remove(w) for w in gone]) == 'sh "vllm serve m --a \\"${x}\\" --c \\$C"\n'


def test_environment_and_images() -> None:
    text = (
        "pipeline {\n  agent { docker { image 'vllm/vllm-openai:v0.9.0' } }\n  environment {\n"
        "    VLLM_X = '1'\n    B = \"${c}\"\n  }\n  steps { sh 'vllm serve m' }\n}\n"
    )
    found = read(groovy, text, "Jenkinsfile")
    assert pins(found) == ["vllm/vllm-openai:v0.9.0"]
    assert env(found) == {"VLLM_X": "1", "B": "\ue000"}
    first, _ = found.sites[0].variables
    assert "    VLLM_X = '1'\n" not in render(found, text, [Remove(first)])
    assert "    VLLM_X = 'it\\'s'\n" in render(found, text, [Replace(first, "it's")])


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("sh 'pip install torch==2.5.0'", "torch==2.5.0"),
        ("sh '''\n  pip install \\\\\n    torch==2.5.0\n'''", "torch==2.5.0"),
        ("image 'vllm/vllm-openai:v0.9.0'", "vllm/vllm-openai:v0.9.0"),
        ('docker.image("reg.io:5000/vllm/vllm-openai:v0.9.0")', "reg.io:5000/vllm/vllm-openai:v0.9.0"),
        ('image "vllm/vllm-openai:${TAG}"', "vllm/vllm-openai:${TAG}"),
        ('image "${REG}/vllm-openai:v0.9.0"', "${REG}/vllm-openai:v0.9.0"),
        ("image 'vllm/vllm-openai:v0.9.0@sha256:ab'", "vllm/vllm-openai:v0.9.0@sha256:ab"),
        ("image 'python:3.12'", ""),
        ("echo 'see vllm/vllm-openai:v0.9.0'", ""),
        ("image '''vllm/vllm-openai:v0.9.0'''", ""),
    ],
)
def test_what_is_pinned(step: str, said: str, newline: str) -> None:
    text = f"node {{\n  {step}\n}}\n".replace("\n", newline)
    found = read(groovy, text, "Jenkinsfile")
    assert pins(found) == ([said] if said else [])
    check_identity(found, text)
    for pin in found.pins:
        assert bool(pin.locked) is ("@" in said)
        assert "x:1" in render(found, text, [Replace(pin, "x:1")])


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("step", "after"),
    [
        ("sh '''\n  vllm serve m \\\\\n    --a 1 \\\\\n    --b\n'''", "sh '''\n  vllm serve m \\\\\n    --b\n'''"),
        ('sh """\n  vllm serve "${m}" \\\\\n    --a 1\n"""', 'sh """\n  vllm serve "${m}"\n"""'),
        ("sh 'vllm serve \\'m\\' --a 1'", "sh 'vllm serve \\'m\\''"),
        ('sh "vllm serve ${params.get("m")} --a 1"', 'sh "vllm serve ${params.get("m")}"'),
        ('sh "vllm serve \\u006d --a 1"', 'sh "vllm serve \\u006d"'),
        ("sh 'A=$X vllm serve X --a 1'; sh 'exit'", "sh 'A=$X vllm serve X'; sh 'exit'"),
        ("sh 'vllm serve m\\t--a 1'", "sh 'vllm serve m'"),
    ],
)
def test_options_go_from_steps(step: str, after: str, newline: str) -> None:
    text = f"node {{\n  {step}\n}}\n".replace("\n", newline)
    found = read(groovy, text, "Jenkinsfile")
    check_identity(found, text)
    gone = [w for w in found.sites[0].words if w.text in ("--a", "1")]
    assert render(found, text, [Remove(w) for w in gone]) == f"node {{\n  {after}\n}}\n".replace("\n", newline)


@pytest.mark.parametrize(
    ("quoted", "value", "holes"),
    [
        ("'a\\tb\\n\\f\\b\\r'", "a\tb\n\f\b\r", ()),
        ("'it\\'s \\\\ \\u0041'", "it's \\ A", ()),
        ('"say \\"x\\" \\$y"', 'say "x" $y', ()),
        ("\"$a.b/${c['d']}!\"", "\ue000/\ue001!", ("$a.b", "${c['d']}")),
        ("'$a'", "$a", ()),
        ("''", "", ()),
        ("'\\uuu0041X'", "AX", ()),
    ],
)
def test_values_of_an_environment(quoted: str, value: str, holes: tuple[str, ...]) -> None:
    text = f"pipeline {{\n  environment {{\n    A = {quoted}\n  }}\n  steps {{ sh 'vllm serve m' }}\n}}\n"
    found = read(groovy, text, "Jenkinsfile")
    (variable,) = found.sites[0].variables
    assert (variable.value, variable.holes) == (value, holes)
    check_identity(found, text)
    again = render(found, text, [Replace(variable, "x" + value)])
    (written,) = read(groovy, again, "Jenkinsfile").sites[0].variables
    assert (written.value, written.holes) == ("x" + value, holes)


def test_only_the_block_that_is_left_empty_goes() -> None:
    text = (
        "pipeline {\n  environment {\n    A = '1'\n  }\n  stages { stage('x') {\n    environment {\n      B = '2'\n"
        "      C = '3'\n    }\n    steps { sh 'vllm serve m' }\n  } }\n}\n"
    )
    found = read(groovy, text, "Jenkinsfile")
    by_name = {v.name: v for v in found.sites[0].variables}
    after = render(found, text, [Remove(by_name["A"]), Remove(by_name["B"]), Replace(by_name["C"], "4")])
    assert after == (
        text.replace("  environment {\n    A = '1'\n  }\n", "").replace("      B = '2'\n", "").replace("'3'", "'4'")
    )
    both = [Remove(v) for v in by_name.values()]
    assert "environment" not in render(found, text, both)


def test_a_variable_of_two_blocks_is_the_first_and_containers_get_none() -> None:
    text = (
        "pipeline {\n  environment { A = '1'; A = '2' }\n  steps {\n    sh 'vllm serve m'\n"
        "    sh 'docker run vllm/vllm-openai:v0.9.0 --model m'\n  }\n}\n"
    )
    found = read(groovy, text, "Jenkinsfile")
    assert [env(found, i) for i in range(2)] == [{"A": "1"}, {}]
    assert [v.value for v in found.variables] == ["2"]


@pytest.mark.parametrize(
    "text",
    ["def environment = 'x'\nA = '1'\n", "environment {\n  A == '1'\n}\n", "environment { A = '''1''' }\n",
     "environment { x { A = '1' } }\n", "environment(A: '1') { }\n"],
)  # fmt: skip
def test_what_is_no_environment(text: str) -> None:
    found = read(groovy, text + "sh 'vllm serve m'\n", "Jenkinsfile")
    assert found.sites[0].variables == [] and found.variables == []
