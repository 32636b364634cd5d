from __future__ import annotations

import pytest
from small_hosts import check_identity, env, pins, read, render, word, words

from vllm_migrate.hosts import dockerfile, host
from vllm_migrate.model import (
    CannotRender,
    InsertText,
    InsertVariable,
    InsertWords,
    Pin,
    Reading,
    Remove,
    Rename,
    Replace,
    Variable,
)

needs_shell = pytest.mark.skipif(host("shell") is None, reason="the shell host is not there")

SERVER = """\
FROM vllm/vllm-openai:v0.17.1
ENV VLLM_USE_V1=1 \\
    VLLM_ATTENTION_BACKEND="FLASH_ATTN" \\
    HF_HOME=/models
CMD ["--model", "Qwen/Qwen3-8B", \\
     "--swap-space", "4", \\
     "--port", "8000"]
"""


def variable(reading: Reading, name: str) -> Variable:
    found = [*reading.variables, *(v for s in reading.sites for v in s.variables)]
    return next(v for v in found if v.name == name)


def pin(reading: Reading, text: str) -> Pin:
    return next(p for p in reading.pins if p.text == text)


def test_command_of_a_server_image() -> None:
    found = read(dockerfile, SERVER)
    (site,) = found.sites
    assert site.entry_point == "serve"
    assert words(found) == ["--model", "Qwen/Qwen3-8B", "--swap-space", "4", "--port", "8000"]
    assert env(found) == {"VLLM_USE_V1": "1", "VLLM_ATTENTION_BACKEND": "FLASH_ATTN", "HF_HOME": "/models"}
    assert [(p.kind, p.text) for p in site.pins] == [("base", "vllm/vllm-openai:v0.17.1")]
    assert site.owner == site.pins[0].owner
    check_identity(found, SERVER)


def test_other_images_start_no_server() -> None:
    assert read(dockerfile, 'FROM python:3.12\nCMD ["--model", "x"]\n').sites == []
    assert (
        read(dockerfile, 'FROM python:3.12\n# CMD ["vllm", "serve"]\nCMD ["echo", "vllm", "serve"]\n').sites
        == []
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_remove_and_replace(newline: str) -> None:
    text = SERVER.replace("\n", newline)
    found = read(dockerfile, text)
    after = render(
        found,
        text,
        [
            Remove(word(found, "--swap-space")),
            Remove(word(found, "4")),
            Replace(word(found, "Qwen/Qwen3-8B"), 'a "quoted" one'),
            Remove(variable(found, "VLLM_USE_V1")),
            Rename(variable(found, "HF_HOME"), "HF_HUB"),
            Replace(pin(found, "vllm/vllm-openai:v0.17.1"), "vllm/vllm-openai:v0.33.0"),
        ],
    )
    assert after == (
        "FROM vllm/vllm-openai:v0.33.0\n"
        'ENV VLLM_ATTENTION_BACKEND="FLASH_ATTN" \\\n'
        "    HF_HUB=/models\n"
        'CMD ["--model", "a \\"quoted\\" one", \\\n'
        '     "--port", "8000"]\n'
    ).replace("\n", newline)


def test_removing_everything_takes_the_instruction() -> None:
    text = 'FROM vllm/vllm-openai:v0.17.1\n\nENV VLLM_USE_V1=1\n\nCMD ["--swap-space", "4"]\n'
    found = read(dockerfile, text)
    after = render(
        found, text, [Remove(w) for w in found.sites[0].words] + [Remove(variable(found, "VLLM_USE_V1"))]
    )
    assert after == "FROM vllm/vllm-openai:v0.17.1\n\n"


def test_last_key_of_env_leaves_no_continuation() -> None:
    found = read(dockerfile, SERVER)
    after = render(
        found, SERVER, [Remove(variable(found, "HF_HOME")), Remove(variable(found, "VLLM_ATTENTION_BACKEND"))]
    )
    assert after.startswith("FROM vllm/vllm-openai:v0.17.1\nENV VLLM_USE_V1=1\nCMD")


def test_insertions_are_spelled_like_their_neighbours() -> None:
    found = read(dockerfile, SERVER)
    site = found.sites[0]
    assert site.word_home is not None and site.variable_home is not None
    after = render(
        found,
        SERVER,
        [
            InsertWords(site.word_home, ["--device-ids", "0,1"]),
            InsertVariable(site.variable_home, "A", "x y"),
            InsertText(found.pins[0], "step", "pip install ray"),
        ],
    )
    assert after == (
        "FROM vllm/vllm-openai:v0.17.1\n"
        "RUN pip install ray\n"
        "ENV VLLM_USE_V1=1 \\\n"
        '    VLLM_ATTENTION_BACKEND="FLASH_ATTN" \\\n'
        "    HF_HOME=/models \\\n"
        '    A="x y"\n'
        'CMD ["--model", "Qwen/Qwen3-8B", \\\n'
        '     "--swap-space", "4", \\\n'
        '     "--port", "8000", \\\n'
        '     "--device-ids", "0,1"]\n'
    )


def test_a_variable_finds_a_place_where_none_is_set() -> None:
    text = 'FROM vllm/vllm-openai:v0.17.1\nUSER 1000\nCMD ["--model", "x"]\n'
    found = read(dockerfile, text)
    home = found.sites[0].variable_home
    assert home is not None
    after = render(found, text, [InsertVariable(home, "A", "1"), InsertText(found.pins[0], "step", "x")])
    assert after == 'FROM vllm/vllm-openai:v0.17.1\nRUN x\nUSER 1000\nENV A=1\nCMD ["--model", "x"]\n'


def test_entrypoint_and_command_are_one_launch() -> None:
    text = (
        'FROM python:3.12 AS base\nENTRYPOINT ["vllm", "serve"]\n'
        'FROM base AS one\nCMD ["a/b", "--x"]\n'
        'FROM base\nCMD ["c/d"]\n'
    )
    found = read(dockerfile, text)
    assert [[w.text for w in s.words] for s in found.sites] == [[], ["a/b", "--x"], ["c/d"]]
    assert render(found, text, [Remove(w) for w in found.sites[2].words]).endswith('"--x"]\nFROM base\n')


def test_a_shared_entrypoint_shares_its_words() -> None:
    text = (
        'FROM a AS base\nENTRYPOINT ["vllm", "serve", "m", "--swap-space", "4"]\n'
        'FROM base AS one\nCMD ["--x"]\nFROM base\nCMD ["--y"]\n'
    )
    found = read(dockerfile, text)
    first, second, third = found.sites
    assert first.words[1] is second.words[1] is third.words[1]


def test_entrypoint_keeps_its_program() -> None:
    text = 'FROM a\nENTRYPOINT ["env", "VLLM_USE_V1=1", "vllm", "serve", "m"]\n'
    found = read(dockerfile, text)
    assert env(found) == {"VLLM_USE_V1": "1"}
    assert render(found, text, [Remove(variable(found, "VLLM_USE_V1"))]) == (
        'FROM a\nENTRYPOINT ["env", "vllm", "serve", "m"]\n'
    )


def test_environment_reaches_the_stage_and_its_heirs() -> None:
    text = (
        "FROM vllm/vllm-openai:v0.17.1 AS base\nENV A=1\n"
        'FROM base\nENV B=2\nCMD ["--model", "x"]\n'
        "FROM other:1\nENV C=3\n"
    )
    found = read(dockerfile, text)
    assert env(found) == {"A": "1", "B": "2"}
    assert [v.name for v in found.variables] == ["C"]
    assert [p.text for p in found.sites[0].pins] == ["vllm/vllm-openai:v0.17.1"]


@pytest.mark.parametrize(
    ("run", "only"),
    [
        ("RUN apt-get update && apt-get install -y git", True),
        ("RUN --mount=type=cache,target=/x pip install a", True),
        ("RUN python warm_up.py", False),
        ("RUN ./build.sh", False),
    ],
)
def test_only_when_no_later_step_could_use_it(run: str, only: bool) -> None:
    text = f'FROM vllm/vllm-openai:v0.17.1\nENV A=1\n{run}\nCMD ["--model", "x"]\n'
    assert variable(read(dockerfile, text), "A").only is only
    before = f'FROM vllm/vllm-openai:v0.17.1\n{run}\nENV A=1\nCMD ["--model", "x"]\n'
    assert variable(read(dockerfile, before), "A").only is True


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("ENV A=1", "1"),
        ("ENV A='x y'", "x y"),
        ('ENV A="x \\"y\\""', 'x "y"'),
        ("ENV A=x\\ y", "x y"),
        ("ENV A x y", "x y"),
        ('ENV A="x $B"', "x \ue000"),
        ("ENV B=2 A=1", "1"),
    ],
)
def test_env_values(line: str, value: str) -> None:
    text = f"FROM a:1\n{line}\n"
    found = read(dockerfile, text)
    assert variable(found, "A").value == value
    check_identity(found, text)
    for new in ("2", "p q", 'p"q', "$x"):
        after = render(found, text, [Replace(variable(found, "A"), new)])
        assert variable(read(dockerfile, after), "A").value == new


@pytest.mark.parametrize(
    ("text", "part", "whole"),
    [
        ("ARG V=v0.11.0\nFROM vllm/vllm-openai:${V}\n", "v0.11.0", "vllm/vllm-openai:v0.11.0"),
        (
            "ARG V=0.11.0\nARG S=-cu129\nFROM vllm/vllm-openai:v$V$S AS x\n",
            "0.11.0",
            "vllm/vllm-openai:v0.11.0-cu129",
        ),
        (
            'ARG I="vllm/vllm-openai:v0.11.0"\nFROM --platform=linux/amd64 $I\n',
            "vllm/vllm-openai:v0.11.0",
            "",
        ),
        ("ARG V=0.11.0\nARG I=vllm/vllm-openai:v${V}\nFROM ${I}\n", "0.11.0", "vllm/vllm-openai:v0.11.0"),
        ("ARG V\nFROM vllm/vllm-openai:${V:-v0.11.0}\n", "v0.11.0", "vllm/vllm-openai:v0.11.0"),
        (
            "ARG R=ghcr.io/x\nFROM $R/vllm-openai:v0.11.0\n",
            "/vllm-openai:v0.11.0",
            "ghcr.io/x/vllm-openai:v0.11.0",
        ),
    ],
)
def test_base_image_with_build_arguments(text: str, part: str, whole: str) -> None:
    found = read(dockerfile, text)
    (base,) = found.pins
    assert (base.kind, base.text, base.whole) == ("base", part, whole or part)
    assert not base.holes
    check_identity(found, text)
    new = part.replace("0.11.0", "0.33.0")
    assert render(found, text, [Replace(base, new)]) == text.replace("0.11.0", "0.33.0")


def test_build_argument_without_default_leaves_a_hole() -> None:
    (base,) = read(dockerfile, "ARG V\nFROM vllm/vllm-openai:${V}\n").pins
    assert base.holes == ("${V}",) and base.text == "vllm/vllm-openai:\ue000"


def test_stages_and_scratch_are_no_pins() -> None:
    text = (
        "FROM a:1 AS build\nFROM scratch\nFROM build\n"
        "COPY --from=build /a /b\nCOPY --from=vllm/vllm-openai:v0.11.0 /a /b\n"
    )
    assert pins(read(dockerfile, text)) == ["a:1", "vllm/vllm-openai:v0.11.0"]


def test_a_digest_locks() -> None:
    (base,) = read(dockerfile, "FROM vllm/vllm-openai:v0.11.0@sha256:ab12\n").pins
    assert base.locked


def test_an_argument_for_two_things_is_locked() -> None:
    found = read(dockerfile, "ARG T=v0.11.0\nFROM vllm/vllm-openai:${T} AS a\nFROM proxy/envoy:${T}\n")
    assert all(p.locked for p in found.pins)
    same = read(dockerfile, "ARG T=v0.11.0\nFROM vllm/vllm-openai:${T} AS a\nFROM vllm/vllm-openai:${T}\n")
    assert not any(p.locked for p in same.pins)


def test_compilers_and_indexes_in_the_environment() -> None:
    text = "FROM a:1\nARG CU=cu129\nENV CC=/usr/bin/gcc-11 UV_TORCH_BACKEND=cu129 PIP_EXTRA_INDEX_URL=https://x/whl/${CU}\n"
    found = read(dockerfile, text)
    assert [(p.kind, p.name, p.whole) for p in found.pins if p.kind != "base"] == [
        ("compiler", "CC", "/usr/bin/gcc-11"),
        ("index", "UV_TORCH_BACKEND", "cu129"),
        ("index", "PIP_EXTRA_INDEX_URL", "https://x/whl/cu129"),
    ]
    check_identity(found, text)


def test_unknown_instructions_are_reported_and_passed_over() -> None:
    found = read(dockerfile, 'FROM vllm/vllm-openai:v0.11.0\nHELLO there\nCMD ["--model", "x"]\n')
    assert [p.kind for p in found.problems] == ["syntax"] and len(found.sites) == 1


def test_step_follows_the_image_it_is_for() -> None:
    text = "ARG V=v0.11.0\nFROM a:1 AS b\n\nFROM vllm/vllm-openai:${V}\n\nUSER x\n"
    found = read(dockerfile, text)
    after = render(found, text, [InsertText(pin(found, "v0.11.0"), "step", "uv pip install --system ray")])
    assert after.endswith("${V}\n\nRUN uv pip install --system ray\n\nUSER x\n")
    with pytest.raises(CannotRender):
        render(found, text, [InsertText(pin(found, "v0.11.0"), "requirement", "ray")])


@needs_shell
class TestShell:
    def test_requirement_pin_lies_on_the_build_argument(self) -> None:
        text = (
            "FROM nvidia/cuda:12.9.1-base\nARG VLLM_VERSION=0.11.0\n"
            "RUN pip install \\\n    vllm==${VLLM_VERSION} \\\n    ray\n"
        )
        found = read(dockerfile, text)
        moved = pin(found, "0.11.0")
        assert (moved.kind, moved.whole) == ("requirement", "vllm==0.11.0")
        check_identity(found, text)
        after = render(
            found, text, [Replace(moved, "0.33.0"), InsertText(moved, "requirement", "transformers")]
        )
        assert "ARG VLLM_VERSION=0.33.0\n" in after and "transformers" in after

    def test_run_is_read_through_comments(self) -> None:
        text = "FROM a:1\nRUN pip install \\\n    # the engine\n    vllm==0.11.0 \\\n\n    ray==2.40\n"
        found = read(dockerfile, text)
        assert {p.text for p in found.pins} == {"a:1", "vllm==0.11.0", "ray==2.40"}
        check_identity(found, text)

    @pytest.mark.parametrize(
        "command",
        ["CMD vllm serve m --swap-space 4\n", 'CMD ["bash", "-lc", "exec vllm serve m --swap-space 4"]\n'],
    )
    def test_shell_command(self, command: str) -> None:
        text = f"FROM a:1\nENV VLLM_USE_V1=1\n{command}"
        found = read(dockerfile, text)
        assert words(found) == ["m", "--swap-space", "4"]
        assert env(found) == {"VLLM_USE_V1": "1"} and found.sites[0].owner == "stage:0"
        after = render(found, text, [Remove(word(found, "--swap-space")), Remove(word(found, "4"))])
        assert after == text.replace(" --swap-space 4", "")

    def test_heredocs_are_guests(self) -> None:
        text = (
            "FROM vllm/vllm-openai:v0.11.0\nRUN <<EOF\nset -e\npip install ray==2.40\nEOF\n"
            "COPY <<'EOF' /start.sh\n#!/bin/bash\nexec vllm serve m --swap-space 4\nEOF\n"
        )
        found = read(dockerfile, text)
        assert "ray==2.40" in pins(found) and words(found) == ["m", "--swap-space", "4"]
        assert found.sites[0].pins[0].text == "vllm/vllm-openai:v0.11.0"
        check_identity(found, text)
