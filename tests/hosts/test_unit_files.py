"""systemd units, quadlets, supervisor programs, setup.cfg."""

from __future__ import annotations

import pytest
from small_hosts import check_identity, env, pins, read, render, word, words

from vllm_migrate.hosts import host, ini
from vllm_migrate.model import InsertText, InsertVariable, InsertWords, Remove, Rename, Replace, Variable

needs_shell = pytest.mark.skipif(host("shell") is None, reason="the shell host is not there")

UNIT = """\
[Unit]
Description=vllm serve for the team

[Service]
Environment=VLLM_USE_V1=1 "CUDA_VISIBLE_DEVICES=0,1"
Environment=HF_HOME=/models
EnvironmentFile=-/etc/vllm.env
ExecStart=/opt/vllm/bin/vllm serve Qwen/Qwen3-8B \\
    --swap-space 4 \\
    # what the drafts come from
    --speculative-config '{"method": "ngram"}' \\
    --port ${PORT} $EXTRA
Restart=always
"""


def variables(text: str, path: str = "vllm.service") -> dict[str, Variable]:
    return {v.name: v for v in read(ini, text, path).sites[0].variables}


def test_what_a_unit_starts() -> None:
    found = read(ini, UNIT, "vllm.service")
    assert words(found) == [
        "Qwen/Qwen3-8B",
        "--swap-space",
        "4",
        "--speculative-config",
        '{"method": "ngram"}',
        "--port",
        "${PORT}",
        "$EXTRA",
    ]
    assert env(found) == {"VLLM_USE_V1": "1", "CUDA_VISIBLE_DEVICES": "0,1", "HF_HOME": "/models"}
    site = found.sites[0]
    assert site.open and site.words[-1].splits and not site.words[-2].splits
    assert found.links == ["/etc/vllm.env"]
    check_identity(found, UNIT)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_changes(newline: str) -> None:
    text = UNIT.replace("\n", newline)
    found = read(ini, text, "vllm.service")
    site = found.sites[0]
    by_name = {v.name: v for v in site.variables}
    assert site.word_home is not None and site.variable_home is not None
    after = render(
        found,
        text,
        [
            Remove(word(found, "--swap-space")),
            Remove(word(found, "4")),
            Replace(word(found, '{"method": "ngram"}'), '{"method": "suffix"}'),
            InsertWords(site.word_home, ["--device-ids", "0,1"], before=site.words[-1]),
            Remove(by_name["CUDA_VISIBLE_DEVICES"]),
            Rename(by_name["HF_HOME"], "HF_HUB_CACHE"),
            InsertVariable(site.variable_home, "A", "x y"),
        ],
    )
    assert after == (
        UNIT.replace(' "CUDA_VISIBLE_DEVICES=0,1"', "")
        .replace("HF_HOME=/models", 'HF_HUB_CACHE=/models "A=x y"')
        .replace("    --swap-space 4 \\\n", "")
        .replace("ngram", "suffix")
        .replace("${PORT} $EXTRA", "${PORT} --device-ids 0,1 $EXTRA")
    ).replace("\n", newline)


def test_the_last_assignment_takes_its_line() -> None:
    found = read(ini, UNIT, "vllm.service")
    gone = [v for v in found.sites[0].variables if v.name == "HF_HOME"]
    assert render(found, UNIT, [Remove(v) for v in gone]) == UNIT.replace("Environment=HF_HOME=/models\n", "")


def test_only_when_one_process_sees_it() -> None:
    assert variables(UNIT)["VLLM_USE_V1"].only
    more = UNIT.replace("ExecStart=", "ExecStartPre=/usr/bin/warm-up\nExecStart=")
    assert not variables(more)["VLLM_USE_V1"].only


def test_a_unit_without_environment_gets_a_line() -> None:
    text = "[Service]\nExecStart=/bin/vllm serve m\n"
    found = read(ini, text, "a.service")
    home = found.sites[0].variable_home
    assert home is not None
    assert render(found, text, [InsertVariable(home, "A", "1")]) == text.replace("Exec", "Environment=A=1\nExec")


def test_quoting_of_percent_and_dollar() -> None:
    text = "[Service]\nExecStart=/bin/vllm serve %h/m --x 100%% --y $$HOME\n"
    found = read(ini, text, "a.service")
    assert words(found) == ["%h/m", "--x", "100%", "--y", "$HOME"]
    check_identity(found, text)
    after = render(found, text, [Replace(word(found, "$HOME"), "$X 5%d")])
    assert words(read(ini, after, "a.service"))[-1] == "$X 5%d"


def test_env_program_and_docker_in_a_unit() -> None:
    text = (
        "[Service]\nExecStart=-/usr/bin/docker run --rm -e VLLM_USE_V1=1 "
        "vllm/vllm-openai:v0.17.1 --model m --swap-space 4\n"
    )
    found = read(ini, text, "a.service")
    assert words(found) == ["--model", "m", "--swap-space", "4"] and env(found) == {"VLLM_USE_V1": "1"}
    assert pins(found) == ["vllm/vllm-openai:v0.17.1"]
    check_identity(found, text)


def test_quadlet() -> None:
    text = "[Container]\nImage=docker.io/vllm/vllm-openai:v0.17.1\nEnvironment=A=1\nExec=--model m --swap-space 4\n"
    found = read(ini, text, "vllm.container")
    assert words(found) == ["--model", "m", "--swap-space", "4"] and env(found) == {"A": "1"}
    assert [p.whole for p in found.sites[0].pins] == ["docker.io/vllm/vllm-openai:v0.17.1"]
    assert render(found, text, [Remove(w) for w in found.sites[0].words]) == text.rsplit("Exec", 1)[0]


def test_supervisor() -> None:
    text = '[program:vllm]\ncommand=vllm serve m --swap-space 4\nenvironment=A="1",VLLM_USE_V1="1"\n'
    found = read(ini, text, "supervisord.conf")
    assert env(found) == {"A": "1", "VLLM_USE_V1": "1"}
    check_identity(found, text)
    after = render(found, text, [Remove(found.sites[0].variables[1]), *(Remove(w) for w in found.sites[0].words[1:])])
    assert after == '[program:vllm]\ncommand=vllm serve m\nenvironment=A="1"\n'


def test_setup_cfg() -> None:
    text = (
        "[metadata]\nname = x\n[options]\npython_requires = >=3.9\ninstall_requires =\n    vllm==0.11.0\n"
        "    transformers<5\n\n[options.extras_require]\na = ray\n"
    )
    found = read(ini, text, "setup.cfg")
    assert pins(found) == [">=3.9", "vllm==0.11.0", "transformers<5", "ray"]
    check_identity(found, text)
    _, vllm, transformers, ray = found.pins
    after = render(
        found,
        text,
        [InsertText(vllm, "requirement", "x"), Remove(transformers), InsertText(ray, "requirement", "y")],
    )
    assert after == text.replace("    transformers<5\n", "    x\n").replace("a = ray\n", "a = ray\n    y\n")


@needs_shell
def test_script_in_quotes() -> None:
    text = "[Service]\nExecStart=/bin/bash -lc 'exec vllm serve $$M --swap-space 4 \\\n  --port 1'\n"
    found = read(ini, text, "a.service")
    assert words(found) == ["$M", "--swap-space", "4", "--port", "1"]
    check_identity(found, text)
    after = render(found, text, [Remove(word(found, "--swap-space")), Remove(word(found, "4"))])
    assert words(read(ini, after, "a.service")) == ["$M", "--port", "1"]
