"""Small launches and pins, what is said of them, and what they become."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_migrate.config import Config
from vllm_migrate.engine import run_text
from vllm_migrate.findings import Finding


def judged(folder: Path, name: str, text: str, *, unsafe: bool = True) -> tuple[str, list[Finding]]:
    settings = Config(to=("0.33.0",), fix=True, unsafe_fixes=unsafe, ignore=("VM109",))
    (result,) = run_text(name, text.encode(), folder, settings).files
    assert result.source is not None
    return (result.fixed or result.source).text, result.findings


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--max-num-seqs MAX_SEQS", ""),
        ("--max-num-seqs=MAX_SEQS", ""),
        ("--max-num-seqs=@N@", ""),
        ("--max-num-seqs=a=MAX_SEQS", "VM107 --max-num-seqs: argument --max-num-seqs: invalid int value: 'a=MAX_SEQS'"),
        ("--max-num-seqs many", "VM107 --max-num-seqs: argument --max-num-seqs: invalid int value: 'many'"),
        ("--nonsense 3", "VM106 --nonsense: 0.33.0 does not know --nonsense: unrecognized arguments"),
        ("--served 3", ""),
        ("--max-cpu 3", ""),
        ("--max-cudagraph-capture-s 3", ""),
        ("--seed-oss 3", "VM106 --seed-oss: 0.33.0 does not know --seed-oss: unrecognized arguments"),
        ("--max-log 3", "VM106 --max-log: --max-log is ambiguous for 0.33.0: --max-log-len, --max-logprobs"),
        (
            "--compilation-config '{\"bogus\": 1}'",
            "VM110 --compilation-config.bogus: --compilation-config refuses the key bogus in 0.33.0",
        ),
        (
            "--compilation-config.bogus 1",
            "VM110 --compilation-config.bogus: --compilation-config refuses the key bogus in 0.33.0",
        ),
        (
            "--compilation-config.pass_config.bogus 1",
            "VM110 --compilation-config.pass_config.bogus: --compilation-config refuses the key bogus in 0.33.0",
        ),
        (
            "--compilation-config.mode many",
            "VM104 --compilation-config.mode: --compilation-config.mode: Input should be 'NONE', ",
        ),
        ("--compilation-config '{\"mode\": 9}'", "VM107 --compilation-config.mode: --compilation-config.mode: Input "),
        ("--speculative-config '{\"method\": \"nope\"}'", "VM104 --speculative-config.method: "),
    ],
)
def test_what_the_parser_would_say(words: str, said: str, tmp_path: Path) -> None:
    text = f"vllm serve m {words}\n"
    after, found = judged(tmp_path, "run.sh", text)
    assert after == text
    told = [f"{f.code} {f.subject}: {f.message}" for f in found if f.severity == "error"]
    assert len(told) == bool(said)
    assert all(t.startswith(said) for t in told)


def test_many_choices_are_cut_short(tmp_path: Path) -> None:
    _, (found,) = judged(tmp_path, "run.sh", "vllm serve m --speculative-config '{\"method\": \"nope\"}'\n")
    assert found.message.count(", ") == 6
    assert "…; it is given 'nope'" in found.message


BACKEND = "export VLLM_ATTENTION_BACKEND=FLASH_ATTN\n"


@pytest.mark.parametrize(
    ("text", "after", "safe"),
    [
        (BACKEND + "vllm serve m\n", "vllm serve m --attention-backend FLASH_ATTN\n", True),
        (
            BACKEND + "vllm serve m\nvllm serve n\n",
            "vllm serve m --attention-backend FLASH_ATTN\nvllm serve n --attention-backend FLASH_ATTN\n",
            True,
        ),
        (
            BACKEND + "vllm serve m\n./other\n",
            "vllm serve m --attention-backend FLASH_ATTN\n./other\n",
            False,
        ),
    ],
)
def test_a_variable_that_others_may_read_needs_a_person(text: str, after: str, safe: bool, tmp_path: Path) -> None:
    assert judged(tmp_path, "run.sh", text)[0] == after
    assert judged(tmp_path, "run.sh", text, unsafe=False)[0] == (after if safe else text)


@pytest.mark.parametrize(
    ("before", "after", "withheld"),
    [
        ("VLLM_TRITON_ATTN_USE_TD=1", "VLLM_TRITON_USE_TD=1", ""),
        ("VLLM_KIMI_K3_GEMM_RS=${A}", "VLLM_ENABLE_GEMM_RS=${A}", ""),
        ("VLLM_USE_TRTLLM_FP4_GEMM=1", "VLLM_NVFP4_GEMM_BACKEND=flashinfer-trtllm", ""),
        ("VLLM_USE_TRTLLM_FP4_GEMM=0", "", ""),
        ("VLLM_FLOAT32_MATMUL_PRECISION=ieee", "VLLM_FLOAT32_MATMUL_PRECISION=highest", ""),
        ("VLLM_FLOAT32_MATMUL_PRECISION=high", "VLLM_FLOAT32_MATMUL_PRECISION=high", None),
        ("VLLM_RPC_TIMEOUT=1", "", ""),
        (
            "VLLM_USE_TRTLLM_FP4_GEMM=$X",
            "VLLM_USE_TRTLLM_FP4_GEMM=$X",
            "what replaces it depends on a value only known at run time",
        ),
        (
            "VLLM_ATTENTION_BACKEND=FLASH_ATTN",
            "VLLM_ATTENTION_BACKEND=FLASH_ATTN",
            "the launch that reads it is not in this file: give it --attention-backend there",
        ),
    ],
)
def test_variables_that_no_launch_here_reads(before: str, after: str, withheld: str | None, tmp_path: Path) -> None:
    text, found = judged(tmp_path, "vllm.env", f"A=1\n{before}\nB=2\n")
    assert text == f"A=1\n{after}\nB=2\n".replace("\n\n", "\n")
    assert [(f.withheld, f.severity) for f in found] == ([] if withheld is None else [(withheld, "warning")])


def test_each_variable_of_a_launch_is_judged_by_itself(tmp_path: Path) -> None:
    held = "VLLM_USE_TRTLLM_FP4_GEMM=$X VLLM_RPC_TIMEOUT=1 VLLM_ATTENTION_BACKEND=$B VLLM_TRITON_ATTN_USE_TD=1 "
    text, found = judged(tmp_path, "run.sh", held + "vllm serve m\n")
    kept = held.replace("VLLM_RPC_TIMEOUT=1 ", "").replace("VLLM_TRITON_ATTN_USE_TD", "VLLM_TRITON_USE_TD")
    assert text == kept + "vllm serve m\n"
    late = "what replaces it depends on a value only known at run time"
    assert [f.withheld for f in found] == [late, "", late, ""]


@pytest.mark.parametrize(
    ("words", "after"),
    [
        (
            '\'{"method":"medusa","model":"x"}\'',
            '\'{"method":"ngram","prompt_lookup_max":4,"prompt_lookup_min":2}\'',
        ),
        (
            '\'{"model":"x","method":"medusa","num_speculative_tokens":3}\'',
            '\'{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":4,"prompt_lookup_min":2}\'',
        ),
    ],
)
def test_a_draft_that_is_gone(words: str, after: str, tmp_path: Path) -> None:
    text, (found,) = judged(tmp_path, "run.sh", f"vllm serve m --speculative-config {words}\n")
    assert text == f"vllm serve m --speculative-config {after}\n"
    assert (found.code, found.severity, found.subject) == ("VM301", "error", "--speculative-config.method")


def test_a_draft_that_is_gone_in_words_of_its_own(tmp_path: Path) -> None:
    before = "vllm serve m --speculative-config.method medusa --speculative-config.model x\n"
    text, (found,) = judged(tmp_path, "run.sh", before)
    assert text == before
    assert found.withheld == "write --speculative-config with the method ngram by hand"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("vllm", "vllm"),
        ("vllm==*", "vllm==*"),
        ("vllm!=0.9.0", "vllm!=0.9.0"),
        ("vllm>0.8,!=0.9.1", "vllm>0.8,!=0.9.1"),
        ("vllm==0.30.*", "vllm==0.33.*"),
        ("vllm>=0.8,<0.10", "vllm>=0.33,<0.34"),
        ("vllm~=0.31.0", "vllm~=0.33.0"),
        ("vllm==0.31.0", "vllm==0.33.0"),
        ("vllm==0.34.0", "vllm==0.34.0"),
    ],
)
def test_requirements(before: str, after: str, tmp_path: Path) -> None:
    assert judged(tmp_path, "requirements.txt", before + "\n")[0] == after + "\n"


INDEX = "--extra-index-url https://wheels.vllm.ai/rocm{}\nvllm=={}\n"
TORCH = "--index-url https://download.pytorch.org/whl/{}\nvllm=={}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *[
            (f"vllm==0.33.0\ntorch{old}\n", f"vllm==0.33.0\ntorch{new}\n")
            for old, new in [
                ("==2.13.0", "==2.14.0"),
                ("===2.13.0", "===2.14.0"),
                (" == 2.13.0", " == 2.14.0"),
                (">=2.10,<2.14", "==2.14.0"),
                ("~=2.13.0", "==2.14.0"),
                ("<2.14", "==2.14.0"),
                (">=2.10", ">=2.10"),
                ("==2.14.0", "==2.14.0"),
            ]
        ],
        ("vllm==0.33.0\ntransformers<5\n", "vllm==0.33.0\ntransformers>=5.16.1,<5.21.0\n"),
        ("vllm==0.33.0\ntransformers >= 4, < 5\n", "vllm==0.33.0\ntransformers >= 5.16.1, < 5.21.0\n"),
        (TORCH.format("cu129", "0.31.0"), TORCH.format("cu130", "0.33.0")),
        (TORCH.format("cpu", "0.31.0"), TORCH.format("cpu", "0.33.0")),
        (INDEX.format("/0.31.0/rocm721", "0.31.0"), INDEX.format("/0.33.0/rocm72", "0.33.0")),
        (INDEX.format("/", "0.31.0"), INDEX.format("/0.33.0/rocm72/", "0.33.0")),
        (INDEX.format("", "0.31.0"), INDEX.format("/0.33.0/rocm72", "0.33.0")),
    ],
)
def test_requirements_that_go_together(before: str, after: str, tmp_path: Path) -> None:
    assert judged(tmp_path, "requirements.txt", before)[0] == after


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("vllm==0.31.0", "vllm==0.33.0", "VM505 safe"),
        ("vllm[audio]==0.31.0", "vllm[audio]==0.33.0", "VM505 safe"),
        ("vllm==0.10.0", "vllm==0.33.0", "VM502 unsafe"),
        ("vllm==0.31.0+cpu", "vllm==0.33.0+cpu", "VM505 safe"),
        ("vllm==0.31.0+cu129", "vllm==0.33.0", "VM507 unsafe"),
        # What an index beside it brings is for another device: no CUDA changes there.
        (
            "--index-url https://download.pytorch.org/whl/cpu\nvllm==0.10.0",
            "--index-url https://download.pytorch.org/whl/cpu\nvllm==0.33.0",
            "VM505 safe",
        ),
        (
            "--extra-index-url https://wheels.vllm.ai/0.31.0/\nvllm==0.31.0",
            "--extra-index-url https://wheels.vllm.ai/0.33.0/\nvllm==0.33.0",
            "VM505 safe, VM505 safe",
        ),
        (
            "--extra-index-url https://wheels.vllm.ai/v0.31.0\nvllm==0.31.0",
            "--extra-index-url https://wheels.vllm.ai/v0.33.0\nvllm==0.33.0",
            "VM505 safe, VM505 safe",
        ),
        (
            "--extra-index-url https://wheels.vllm.ai/0.31.0/cu129\nvllm==0.31.0",
            "--extra-index-url https://wheels.vllm.ai/0.33.0\nvllm==0.33.0",
            "VM507 unsafe, VM505 unsafe",
        ),
    ],
)
def test_wheels_and_their_indexes(before: str, after: str, said: str, tmp_path: Path) -> None:
    text, found = judged(tmp_path, "requirements.txt", before + "\n")
    assert text == after + "\n"
    assert ", ".join(f"{f.code} {f.fix.safety if f.fix else ''}" for f in found) == said


RELEASE = "pip install https://github.com/vllm-project/vllm/releases/download/v{0}/vllm-{0}{1}-cp38-abi3-{2}.whl\n"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("0.31.0", "", "manylinux_2_31_x86_64"), ("", "manylinux_2_28_x86_64"), "VM505 unsafe"),
        (("0.31.0", "", "manylinux_2_35_aarch64"), ("", "manylinux_2_28_aarch64"), "VM505 unsafe"),
        (("0.31.0", "+cpu", "manylinux_2_35_x86_64"), ("+cpu", "manylinux_2_28_x86_64"), "VM505 safe"),
        (("0.31.0", "+cu129", "manylinux_2_31_x86_64"), ("", "manylinux_2_28_x86_64"), "VM507 unsafe"),
        (("0.31.0", "+cu130", "manylinux_2_35_x86_64"), ("", "manylinux_2_28_x86_64"), "VM502 unsafe"),
    ],
)
def test_wheels_by_their_address(
    before: tuple[str, str, str], after: tuple[str, str], said: str, tmp_path: Path
) -> None:
    text, (found,) = judged(tmp_path, "run.sh", RELEASE.format(*before))
    assert text == RELEASE.format("0.33.0", *after)
    assert f"{found.code} {found.fix.safety if found.fix else ''}" == said


COMPOSE = "services:\n  a:\n    image: {}\n    command: --model m\n"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("vllm/vllm-openai:v0.31.0", "vllm/vllm-openai:v0.33.0", "VM505 info safe"),
        ("docker.io/vllm/vllm-openai:v0.31.0", "docker.io/vllm/vllm-openai:v0.33.0", "VM505 info safe"),
        ("vllm/vllm-openai:v0.31.0-aarch64", "vllm/vllm-openai:v0.33.0-aarch64", "VM505 info safe"),
        ("vllm/vllm-openai-cpu:v0.31.0-arm64", "vllm/vllm-openai-cpu:v0.33.0-arm64", "VM505 info safe"),
        ("vllm/vllm-openai:v0.28.0-cu130", "vllm/vllm-openai:v0.33.0", "VM501 warning safe"),
        ("vllm/vllm-openai:v0.8.0", "vllm/vllm-openai:v0.33.0", "VM501 warning unsafe"),
        ("vllm/vllm-openai:latest-cu129", "vllm/vllm-openai:latest", "VM507 error unsafe"),
        ("vllm/vllm-openai-rocm:v0.20.0", "vllm/vllm-openai-rocm:v0.33.0-rocm72", "VM506 warning safe"),
        ("vllm/vllm-openai:v0.14.0-rocm", "vllm/vllm-openai-rocm:v0.33.0-rocm72", "VM507 error safe"),
        ("me/vllm-openai:v0.31.0", "me/vllm-openai:v0.33.0", "VM505 info unsafe"),
        ("host:5000/vllm-openai:v0.31.0", "host:5000/vllm-openai:v0.33.0", "VM505 info unsafe"),
        ("vllm/vllm-tpu:v0.30.0", "vllm/vllm-tpu:v0.33.0", "VM505 info unsafe"),
        ("vllm/vllm-openai:v0.31.0-fancy", "", "VM505 info no release publishes a tag ending in -fancy"),
        (f"vllm/vllm-openai:v0.31.0@sha256:{'a' * 64}", "", "VM505 info a digest fixes the content"),
        ("vllm/vllm-openai:v0.33.0", "", ""),
        ("vllm/vllm-openai:v0.33.0-cu126", "", ""),
        ("vllm/vllm-openai:latest", "", ""),
        ("vllm/vllm-openai:nightly-0123456789abcdef0123456789abcdef01234567", "", ""),
        ("lmcache/vllm-openai:v0.3.0", "", ""),
        ("me/llm:v0.31.0", "", ""),
    ],
)
def test_images(before: str, after: str, said: str, tmp_path: Path) -> None:
    text, found = judged(tmp_path, "compose.yaml", COMPOSE.format(before))
    assert text == COMPOSE.format(after or before)
    told = [f"{f.code} {f.severity} {f.withheld or (f.fix.safety if f.fix else '')}" for f in found]
    assert len(told) == bool(said)
    assert all(t.startswith(said) for t in told)


INSTALL = "V=0.31.0\npip install vllm==$V\n"
WHEEL = "pip install https://github.com/vllm-project/vllm/releases/download/v${V}/vllm-${V}-cp38-abi3-manylinux1_x86_64.whl\n"


@pytest.mark.parametrize(
    ("more", "moves", "withheld"),
    [
        ("", True, ""),
        ("echo v$V\n", True, ""),
        ("docker run vllm/vllm-openai:v$V --model m\n", True, ""),
        ("docker run vllm/vllm-openai-cpu:v$V --model m\n", True, ""),
        ("docker run me/other:v$V\n", False, "the same text is part of me/other:v0.31.0, which it would not suit"),
        (WHEEL, False, "the same text is part of https://github.com/vllm-project/vllm/releases/download/"),
    ],
)
def test_a_text_that_several_pins_share_moves_where_it_suits_all(
    more: str, moves: bool, withheld: str, tmp_path: Path
) -> None:
    text, found = judged(tmp_path, "run.sh", INSTALL + more)
    assert text == (INSTALL.replace("0.31.0", "0.33.0") if moves else INSTALL) + more
    said = next(f for f in found if f.subject == "vllm==0.31.0").withheld
    assert said.startswith(withheld) and bool(said) == bool(withheld)


BUILD = """FROM nvidia/cuda:13.0.3-devel-ubuntu24.04
RUN git clone https://github.com/vllm-project/vllm
WORKDIR /vllm
{}
RUN pip install -e .
"""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('ENV CMAKE_ARGS="-DCMAKE_CXX_STANDARD=14"', 'ENV CMAKE_ARGS="-DCMAKE_CXX_STANDARD=20"', ""),
        ('ENV CMAKE_ARGS="-DCMAKE_CXX_STANDARD:STRING=14"', 'ENV CMAKE_ARGS="-DCMAKE_CXX_STANDARD:STRING=20"', ""),
        ('ENV CXXFLAGS="-O2 -std=gnu++14"', 'ENV CXXFLAGS="-O2 -std=gnu++20"', ""),
        ('ENV CXXFLAGS="-std=c++98"', 'ENV CXXFLAGS="-std=c++20"', ""),
        ('ENV CXXFLAGS="-std=c++03"', 'ENV CXXFLAGS="-std=c++20"', ""),
        ('ENV CXXFLAGS="-std=c++20"', "", None),
        ('ENV CXXFLAGS="-std=c++23"', "", None),
        ("ENV CMAKE_CXX_STANDARD=14", "ENV CMAKE_CXX_STANDARD=20", ""),
        ("ENV CMAKE_CXX_STANDARD=14x", "", None),
        ("ENV CC=gcc-9 CXX=g++-9", "ENV CC=gcc-13 CXX=g++-13", ""),
        (
            "RUN apt-get install -y gcc-9 g++-9\nENV CC=gcc-9",
            "RUN apt-get install -y gcc-13 g++-13\nENV CC=gcc-13",
            "",
        ),
        (
            "RUN apt-get install -y gcc-9=9.4.0 g++-9",
            "",
            "gcc-9=9.4.0 names a package version too; choose that of gcc-13 by hand",
        ),
        ("ENV CC=gcc-13 CXX=g++-13", "", None),
    ],
)
def test_compilers_and_standards(before: str, after: str, said: str | None, tmp_path: Path) -> None:
    """said: why there is no fix, None where nothing is said at all."""
    text, found = judged(tmp_path, "Dockerfile", BUILD.format(before), unsafe=False)
    assert text == BUILD.format(after or before)
    assert [f.withheld for f in found] == ([] if said is None else [said])
    kept = Config(to=("0.33.0",), fix=True, unsafe_fixes=True, keep_pins=True)
    (result,) = run_text("Dockerfile", BUILD.format(before).encode(), tmp_path, kept).files
    assert result.fixed is None
