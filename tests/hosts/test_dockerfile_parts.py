"""What parts of a Dockerfile share: build arguments, here-documents, environments, quotes that stay."""

from __future__ import annotations

import pytest
from small_hosts import check_identity, env, pins, read, render, word, words

from vllm_migrate.hosts import dockerfile
from vllm_migrate.model import InsertText, Remove, Replace

SERVER = "FROM vllm/vllm-openai:v0.11.0\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "step",
    [
        "RUN <<-EOF\n\tset -e\n\t\tvllm serve m --swap-space 4 --x\n\nEOF\n",
        "RUN <<EOF\n  vllm serve m --swap-space 4 --x\nEOF\n",
        "RUN bash <<'EOF'\nvllm serve m --swap-space 4 --x\nEOF\n",
        "COPY <<EOF /bin/start.sh\nvllm serve m --swap-space 4 --x\nEOF\n",
        "COPY --chmod=755 <<start.sh /bin/\nvllm serve m --swap-space 4 --x\nstart.sh\n",
        "COPY <<EOF /bin/start\n#!/bin/sh\nset -e\nvllm serve m --swap-space 4 --x\nEOF\n",
        "RUN --mount=type=cache,target=/x vllm serve m --swap-space 4 --x\n",
        "RUN --network=none \\\n    --mount=type=cache,target=/x \\\n    vllm serve m --swap-space 4 --x\n",
    ],
)
def test_scripts_of_a_build(step: str, newline: str) -> None:
    text = ("FROM a:1\n" + step).replace("\n", newline)
    found = read(dockerfile, text)
    assert words(found) == ["m", "--swap-space", "4", "--x"]
    check_identity(found, text)
    after = render(found, text, [Remove(word(found, "--swap-space")), Remove(word(found, "4"))])
    assert after == text.replace(" --swap-space 4", "")


@pytest.mark.parametrize(
    "step",
    [
        "RUN cat <<EOF\nvllm serve m --x\nEOF\n",
        "RUN python3 <<EOF\n# vllm serve m --x\nprint(1)\nEOF\n",
        'RUN ["vllm", "serve", "m"]\n',
        "COPY <<EOF /a.txt\nvllm serve m --x\nEOF\n",
        'HEALTHCHECK CMD ["vllm", "serve", "m"]\n',
        "# RUN vllm serve m --x\n",
    ],
)
def test_what_starts_no_server(step: str) -> None:
    assert read(dockerfile, "FROM a:1\n" + step).sites == []


@pytest.mark.parametrize("head", ["RUN python3 <<EOF\n", "RUN <<EOF\n#!/usr/bin/env python3\n"])
def test_python_of_a_build(head: str) -> None:
    text = f'FROM a:1\n{head}from vllm import LLM\nLLM("m", swap_space=4)\nEOF\n'
    found = read(dockerfile, text)
    assert [e.key for e in found.sites[0].entries] == ["model", "swap_space"]
    assert render(found, text, [Remove(found.sites[0].entries[1])]) == text.replace(", swap_space=4", "")


@pytest.mark.parametrize(
    ("text", "locked"),
    [
        ("ARG T=v0.11.0\nFROM vllm/vllm-openai:$T AS a\nFROM envoy:$T\n", True),
        ("ARG T=v0.11.0\nFROM reg.io:5000/vllm-openai:$T AS a\nFROM reg.io:5000/envoy:$T\n", True),
        ("ARG T=v0.11.0\nFROM vllm/vllm-openai:$T AS a\nFROM reg.io:5000/vllm-openai:$T\n", False),
        ("ARG T=v0.11.0\nFROM vllm/vllm-openai:$T AS a\nFROM vllm/vllm-openai:$T\n", False),
        ("ARG T=v0.11.0\nFROM vllm/vllm-openai:$T\nCOPY --from=proxy/envoy:$T /a /b\n", True),
    ],
)
def test_a_tag_of_two_different_images_stays(text: str, locked: bool) -> None:
    assert [bool(p.locked) for p in read(dockerfile, text).pins] == [locked, locked]


@pytest.mark.parametrize(
    ("stage", "image"),
    [
        ("ARG V=v0.11.0\nFROM a:1\nARG V\nCOPY --from=vllm/vllm-openai:$V /a /b\n", "vllm/vllm-openai:v0.11.0"),
        ("ARG V=v0.9.0\nFROM a:1\nARG V=v0.11.0\nCOPY --from=vllm/vllm-openai:$V /a /b\n", "vllm/vllm-openai:v0.11.0"),
        ("FROM a:1\nENV V=v0.11.0\nARG V=v0.9.0\nCOPY --from=vllm/vllm-openai:$V /a /b\n", "vllm/vllm-openai:v0.11.0"),
        ("FROM a:1\nARG A=1 V='v0.11.0'\nCOPY --from=vllm/vllm-openai:$V /a /b\n", "vllm/vllm-openai:v0.11.0"),
        ("FROM a:1 AS b\nENV V=v0.11.0\nFROM b\nCOPY --from=vllm/vllm-openai:$V /a /b\n", "vllm/vllm-openai:v0.11.0"),
        ("FROM a:1\nCOPY --from=0 /a /b\nCOPY --from=b /a /b\nCOPY --from=localhost/v /a /b\n", "localhost/v"),
    ],
)
def test_where_a_build_argument_counts(stage: str, image: str) -> None:
    found = read(dockerfile, stage)
    assert pins(found)[1:] == [image]
    check_identity(found, stage)
    if "v0.11.0" in image:
        assert render(found, stage, [Replace(found.pins[1], "v0.33.0")]) == stage.replace("v0.11.0", "v0.33.0")


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("ENV A='1'", "ENV A='x y'"),
        ('ENV A="1"', 'ENV A="x y"'),
        ("ENV A=1", 'ENV A="x y"'),
        ("ENV A 1", "ENV A x y"),
        ("ENV A '1'", "ENV A x y"),
        ("ENV A=$B", 'ENV A="x y"'),
        ("ENV B=2 \\\n  A=1 \\\n  C=3", 'ENV B=2 \\\n  A="x y" \\\n  C=3'),
    ],
)
def test_a_variable_keeps_its_quotes(line: str, after: str) -> None:
    text = SERVER + line + '\nCMD ["--model", "m"]\n'
    found = read(dockerfile, text)
    (item,) = (v for v in found.sites[0].variables if v.name == "A")
    assert render(found, text, [Replace(item, "x y")]) == SERVER + after + '\nCMD ["--model", "m"]\n'
    assert item.value_span is not None and text[item.value_span.start : item.value_span.end].strip("'\"") in ("1", "$B")


@pytest.mark.parametrize(
    ("head", "stage", "whole"),
    [
        ("ARG V=0.9.0\n", "ARG V\nRUN pip install vllm==$V\n", "vllm==0.9.0"),
        ("ARG V=0.9.0\n", "RUN pip install vllm==$V\n", "vllm==\ue000"),
        ("", "ARG V=0.9.0\nRUN pip install vllm==${V}\n", "vllm==0.9.0"),
        ("", "ENV V=0.9.0\nARG V=0.8.0\nRUN pip install vllm==$V\n", "vllm==0.9.0"),
        ("", "ARG V=0.8.0\nENV V=0.9.0\nRUN pip install vllm==$V\n", "vllm==0.9.0"),
    ],
)
def test_a_build_argument_is_known_where_it_is_declared(head: str, stage: str, whole: str) -> None:
    assert [p.whole for p in read(dockerfile, f"{head}FROM a:1\n{stage}").pins][1:] == [whole]


def test_an_image_put_together_of_arguments_is_known() -> None:
    text = 'ARG N=openai\nARG V=v0.9.0\nFROM vllm/vllm-${N}:${V}\nCMD ["--a"]\n'
    found = read(dockerfile, text)
    assert words(found) == ["--a"] and found.pins[0].whole == "vllm/vllm-openai:v0.9.0"


@pytest.mark.parametrize(
    ("line", "value", "after"),
    [
        ("ENV A=1", "x=a b", 'ENV A="x=a b"'),
        ("ENV A 1", "it's", 'ENV A "it\'s"'),
        ("ENV A 1", "a\\b", 'ENV A "a\\b"'),
        ("ENV A 1", "$x y", "ENV A \\$x y"),
        ("ENV A 1", " x", 'ENV A " x"'),
        ("ENV A 1", "", 'ENV A ""'),
    ],
)
def test_values_of_either_form_of_env(line: str, value: str, after: str) -> None:
    text = f"FROM a:1\n{line}\n"
    found = read(dockerfile, text)
    assert render(found, text, [Replace(found.variables[0], value)]) == f"FROM a:1\n{after}\n"
    assert [v.value for v in read(dockerfile, f"FROM a:1\n{after}\n").variables] == [value]


def test_a_version_in_several_quotes_is_read_and_stays() -> None:
    text = "ARG T='v0.9.0'-x\nFROM vllm/vllm-openai:$T\n"
    (pin,) = read(dockerfile, text).pins
    assert pin.whole == "vllm/vllm-openai:v0.9.0-x"


def test_launches_of_a_stage_are_told_once() -> None:
    text = SERVER + "ENV A=1\nRUN vllm serve m --x 1\nCMD --y 2\nCMD vllm serve n\n"
    found = read(dockerfile, text)
    assert [words(found, i) for i in range(2)] == [["m", "--x", "1"], ["n"]] and len(found.sites) == 2
    for site in found.sites:
        assert [p.text for p in site.pins] == ["vllm/vllm-openai:v0.11.0"] and len(site.variables) == 1
    assert [p.text for p in found.pins] == ["vllm/vllm-openai:v0.11.0"]


def test_pins_of_build_steps_stay_with_their_stage() -> None:
    text = "FROM {0}:1\nRUN pip install {0}==0.9.0\nCMD vllm serve m\n"
    found = read(dockerfile, text.format("a") + text.format("b"))
    assert [sorted(p.text for p in s.pins) for s in found.sites] == [["a:1", "a==0.9.0"], ["b:1", "b==0.9.0"]]
    assert len({s.owner for s in found.sites}) == 2 and all(
        p.owner in {s.owner for s in found.sites} for p in found.pins
    )


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ("pip install ray", "RUN pip install ray"),
        ("ENV A=1", "ENV A=1"),
        ("USER root", "USER root"),
        ("apt-get update", "RUN apt-get update"),
    ],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("FROM a:1", "FROM a:1\n{}"),
        ("FROM a:1\n", "FROM a:1\n{}\n"),
        ("FROM a:1\n\nUSER x\n", "FROM a:1\n\n{}\n\nUSER x\n"),
        ("FROM a:1 \\\n  AS b\nUSER x\n", "FROM a:1 \\\n  AS b\n{}\nUSER x\n"),
    ],
)
def test_a_build_step_follows_the_base_image(step: str, line: str, before: str, after: str) -> None:
    found = read(dockerfile, before)
    assert render(found, before, [InsertText(found.pins[0], "step", step)]) == after.format(line)


def test_variables_of_a_stage_reach_later_stages_only_through_it() -> None:
    text = (
        "FROM vllm/vllm-openai:v0.11.0 AS base\nENV A=1\n"
        "FROM base AS one\nENV B=2\nCMD --model m\n"
        "FROM base\nENV C=3\nCMD --model n\n"
    )
    found = read(
        dockerfile,
        text.replace("CMD --model m", 'CMD ["--model", "m"]').replace("CMD --model n", 'CMD ["--model", "n"]'),
    )
    assert [env(found, i) for i in range(2)] == [{"A": "1", "B": "2"}, {"A": "1", "C": "3"}]
    assert [[v.only for v in s.variables] for s in found.sites] == [[False, True], [False, True]]


def test_variables_that_carry_options_are_a_launch() -> None:
    text = "FROM registry.example.com/vllm:0.11.0\nENV SM_VLLM_SWAP_SPACE=4 A=1\n"
    found = read(dockerfile, text)
    (site,) = found.sites
    assert {e.key: e.value for e in site.entries} == {"swap_space": "4"}
    assert [p.text for p in site.pins] == ["registry.example.com/vllm:0.11.0"] and site.owner == site.pins[0].owner
