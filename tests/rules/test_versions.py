from __future__ import annotations

import pytest

from vllm_migrate.model import Pin
from vllm_migrate.text import Region, Source, Span
from vllm_migrate.versions import (
    archive_version,
    git_version,
    held_version,
    image_version,
    index_version,
    pin_version,
    read_image,
    requirement_version,
    wheel_version,
)


def pin(kind: str, text: str, **more: str) -> Pin:
    source = Source.of(text)
    return Pin(Region.whole(source), Span(0, len(text)), None, kind=kind, text=text, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "version", "channel", "suffixes", "device"),
    [
        ("vllm/vllm-openai:v0.11.0", "0.11.0", "", (), "cuda"),
        ("vllm/vllm-openai:0.11.0", "0.11.0", "", (), "cuda"),
        ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1", "", (), "cuda"),
        ("vllm/vllm-openai:v0.10.1.1", "0.10.1.1", "", (), "cuda"),
        ("vllm/vllm-openai:v0.20.0-cu130", "0.20.0", "cu130", (), "cuda"),
        ("vllm/vllm-openai:v0.20.2-ubuntu2404", "0.20.2", "", ("ubuntu2404",), "cuda"),
        ("vllm/vllm-openai:v0.11.0-x86_64", "0.11.0", "", ("x86_64",), "cuda"),
        ("vllm/vllm-openai:v0.31.0-x86_64-zstd", "0.31.0", "", ("x86_64-zstd",), "cuda"),
        ("vllm/vllm-openai:v0.11.0-cfc13f2", "0.11.0", "", ("cfc13f2",), "cuda"),
        ("vllm/vllm-openai-rocm:v0.33.0-rocm72-base", "0.33.0", "rocm72", ("base",), "rocm"),
        ("rocm/vllm:rocm6.4.1_vllm_0.10.1_20250909", "0.10.1", "", (), "rocm"),
        ("gpustack/runner:cuda12.8-vllm0.13.0", "0.13.0", "", (), "cuda"),
        ("vllm-openai_v0.13.0.sif", "0.13.0", "", (), "cuda"),
        ("localhost:5000/vllm-openai:v0.11.0", "0.11.0", "", (), "cuda"),
        ("docker://vllm/vllm-openai:v0.11.0", "0.11.0", "", (), "cuda"),
        ("vllm/vllm-openai-cpu:v0.16.0-arm64", "0.16.0", "", ("arm64",), "cpu"),
    ],
)
def test_a_tag_that_names_a_release(
    reference: str, version: str, channel: str, suffixes: tuple[str, ...], device: str
) -> None:
    found = image_version(reference)
    assert found is not None
    assert (found.version, found.channel, found.suffixes, found.device) == (version, channel, suffixes, device)
    assert reference[found.start : found.end] == version


@pytest.mark.parametrize(
    "reference",
    [
        "nvcr.io/nvidia/vllm:25.11-py3",
        "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.8.0",
        "rayproject/ray-llm:2.56.0-py312-cu130",
        "ghcr.io/llm-d/llm-d-cuda:v0.9.0",
        "kserve/huggingfaceserver:v0.16.0",
        "lmcache/vllm-openai:2025-05-05",
        "lmcache/vllm-openai:v0.3.9",
        "runpod/worker-v1-vllm:v2.7.0",
        "avarok/vllm-dgx-spark:v11",
        "vllm/vllm-openai:latest",
        "vllm/vllm-openai:nightly",
        "vllm/vllm-openai:gemma4-0505-cu129",
        "vllm/vllm-openai:kimi-k3",
        "vllm/vllm-openai:nightly-dev-arm64-cu13.0.1-426e59f",
        "vllm/vllm-openai:\ue000",
        "nginx:1.27.0",
    ],
)
def test_a_tag_that_names_none(reference: str) -> None:
    assert image_version(reference) is None


@pytest.mark.parametrize(
    ("reference", "version"),
    [
        ("nvcr.io/nvidia/vllm:26.01-py3", "0.11.1"),
        ("nvcr.io/nvidia/vllm:25.11-py3", ""),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.8.0", "0.12.0"),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.0-cuda13", "0.19.0"),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.10.0", ""),
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.33.0-lmi15.0.0-cu128", "0.8.4"),
        ("vllm/vllm-openai:v0.11.0", ""),
    ],
)
def test_what_is_inside_an_image_with_versions_of_its_own(reference: str, version: str) -> None:
    assert held_version(reference) == version
    if version:
        said = pin_version(pin("image", reference))
        assert said is not None and said.version == version


def test_a_release_given_to_an_image_build() -> None:
    said = pin_version(pin("build-arg", "v0.11.0", name="VLLM_VERSION", prefix="VLLM_VERSION="))
    assert said is not None and said.version == "0.11.0"
    assert pin_version(pin("build-arg", "2.8.0", name="TORCH_VERSION", prefix="TORCH_VERSION=")) is None
    assert pin_version(pin("build-arg", "main", name="VLLM_REF", prefix="VLLM_REF=")) is None


def test_what_is_in_effect_counts() -> None:
    given = pin("image", "v0.10.2", prefix="vllm/vllm-openai:", effective="vllm/vllm-openai:v0.16.0")
    said = pin_version(given)
    assert said is not None and said.version == "0.16.0"


def test_a_moving_tag_keeps_its_channel() -> None:
    front, back = read_image("vllm/vllm-openai:cu130-nightly"), read_image("vllm/vllm-openai:latest-cu129")
    assert front is not None and (front.moving, front.channel) == ("nightly", "cu130")
    assert back is not None and (back.moving, back.channel) == ("latest", "cu129")


def test_a_digest_is_told_apart_from_the_tag() -> None:
    found = image_version("vllm/vllm-openai:v0.11.0@sha256:abc")
    assert found is not None
    assert (found.version, found.digest) == ("0.11.0", "sha256:abc")


@pytest.mark.parametrize(
    ("text", "version", "local", "channel"),
    [
        ("vllm==0.11.0", "0.11.0", "", ""),
        ("vllm===0.11.0", "0.11.0", "", ""),
        ("vllm[audio, flashinfer]==0.11.0 ; python_version < '3.13'", "0.11.0", "", ""),
        ("vllm==0.20.0+cu129", "0.20.0", "cu129", "cu129"),
        ("vllm==0.20.0+rocm721", "0.20.0", "rocm721", "rocm721"),
        ("vllm==0.5.3post1", "0.5.3.post1", "", ""),
        ("vllm~=0.10.1", "0.10.1", "", ""),
        ("vllm=0.11.0", "0.11.0", "", ""),
        ("vllm==0.15.0rc2.dev49+g59bcc5b6f.cu130", "0.15.0rc2.dev49", "g59bcc5b6f.cu130", "cu130"),
        ("vllm==0.10.1+gptoss", "0.10.1", "gptoss", ""),
        ("vllm>=0.10,<0.12", "", "", ""),
        ("vllm~=0.10", "", "", ""),
        ("vllm==0.11.*", "", "", ""),
        ("vllm", "", "", ""),
    ],
)
def test_a_requirement(text: str, version: str, local: str, channel: str) -> None:
    found = requirement_version(text)
    assert found is not None
    assert (found.name, found.version, found.local, found.channel) == ("vllm", version, local, channel)
    for clause in found.clauses:
        assert text[clause.start : clause.end] == clause.version


def test_a_wheel_url() -> None:
    url = "https://example.org/v0.20.0/vllm-0.20.0%2Bcu129-cp38-abi3-manylinux_2_31_x86_64.whl"
    found = wheel_version(url)
    assert found is not None
    assert (found.version, found.channel) == ("0.20.0", "cu129")
    assert url[found.start : found.end].startswith("vllm-0.20.0%2B")
    assert wheel_version("https://example.org/flash_attn-2.8.0-cp38-abi3-linux_x86_64.whl") is None


def test_a_source_archive() -> None:
    found = archive_version("https://github.com/vllm-project/vllm/archive/refs/tags/v0.11.0.tar.gz")
    assert found is not None and found[0] == "0.11.0"
    assert archive_version("https://github.com/x/vllm-router/archive/v0.11.0.tar.gz") is None


@pytest.mark.parametrize(
    ("text", "channel", "version", "own"),
    [
        ("https://wheels.vllm.ai/0.20.0/cu129", "cu129", "0.20.0", True),
        ("https://wheels.vllm.ai/rocm/0.20.0/rocm721/", "rocm721", "0.20.0", True),
        ("https://wheels.vllm.ai/nightly", "", "", True),
        ("https://download.pytorch.org/whl/cu129", "cu129", "", False),
        ("https://download.pytorch.org/whl/nightly/cu130", "cu130", "", False),
        ("cu129", "cu129", "", False),
        ("--torch-backend=cu129", "cu129", "", False),
    ],
)
def test_an_index(text: str, channel: str, version: str, own: bool) -> None:
    found = index_version(text)
    assert found is not None
    assert (found.channel, found.version, found.own) == (channel, version, own)
    assert text[found.start : found.end] == channel


@pytest.mark.parametrize("text", ["auto", "https://pypi.org/simple", "https://example.org/cuda/simple"])
def test_an_index_that_says_nothing(text: str) -> None:
    assert index_version(text) is None


def test_git_refs() -> None:
    refs = ["v0.11.0", "releases/v0.11.0", "refs/tags/v0.11.0", "main", "4a1b2c3", "v0.11"]
    assert [git_version(r) for r in refs] == ["0.11.0", "0.11.0", "0.11.0", "", "", ""]


def test_a_checkout_of_something_else_is_not_vllm() -> None:
    ours = pin("git", "v0.11.0", prefix="vllm @ git+https://github.com/vllm-project/vllm.git@")
    other = pin("git", "v0.11.0", prefix="git+https://github.com/vllm-project/vllm-ascend.git@")
    attention = pin("git", "v2.8.0", name="flash-attn")
    assert pin_version(ours) is not None
    assert pin_version(other) is None
    assert pin_version(attention) is None


def test_a_bare_specifier_takes_its_name_from_the_key() -> None:
    found = pin_version(pin("requirement", "0.11.0", name="vllm", prefix="vllm=="))
    assert found is not None and found.version == "0.11.0"
    assert pin_version(pin("requirement", "^2.8.0", name="torch", prefix="torch")) is None


def test_app_version_counts_only_as_a_version() -> None:
    assert pin_version(pin("image", "v0.11.0", name="appVersion")) is not None
    assert pin_version(pin("image", "1.16.0", name="tag")) is None
