"""Steps, environment and images of Jenkins pipelines."""

from __future__ import annotations

import pytest
from small_hosts import env, pins, read, render, words

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
