"""Whatever a file holds, reading and judging a pin ends, and a rewritten pin reads as the target."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.rules.image_moves import judge_image
from vllm_migrate.rules.wheel_moves import (
    judge_archive,
    judge_own_index,
    judge_ref,
    judge_requirement,
    judge_torch_index,
    judge_wheel,
)
from vllm_migrate.versions import (
    index_version,
    read_image,
    requirement_version,
    wheel_version,
)

TARGETS = st.sampled_from(["0.8.0", "0.14.0", "0.19.0", "0.20.0", "0.32.0", "0.33.0"])
VERSIONS = st.sampled_from(
    ["0.5.3post1", "0.8.5", "0.10.1.1", "0.11.0", "0.19.1", "0.20.2", "0.33.0", "0.99.0", "0.9.0rc1", "1", "v0.24"]
)
CHANNELS = st.sampled_from(["", "cu118", "cu126", "cu129", "cu130", "rocm72", "rocm721", "rocm641", "cpu", "gptoss"])
SUFFIXES = st.lists(
    st.sampled_from(["x86_64", "aarch64", "ubuntu2404", "cu129", "cu130", "rocm", "rocm72", "base", "abc1234", "efa"]),
    max_size=3,
)
NAMES = st.sampled_from(
    ["vllm/vllm-openai", "vllm/vllm-openai-rocm", "vllm/vllm-openai-cpu", "rocm/vllm", "x.io/vllm-openai", "me/vllm"]
)
NOISE = st.text(alphabet="vl m0123456789.+-=<>~!^*,[]@:/#;curo_", max_size=40)


@settings(max_examples=400)
@given(NAMES, VERSIONS, SUFFIXES, TARGETS)
def test_image_tags(name: str, version: str, suffixes: list[str], target: str) -> None:
    reference = f"{name}:{'-'.join([version, *suffixes])}"
    image = read_image(reference)
    verdict = judge_image(image, reference, "0.19.0", target) if image is not None else None
    if verdict is None or verdict.text is None:
        return
    after = read_image(verdict.text)
    assert after is not None and after.version == target
    again = judge_image(after, verdict.text, target, target)
    assert again is None or again.text is None, (reference, verdict.text, again)


@settings(max_examples=400)
@given(
    st.sampled_from(["==", "~=", "<", "<=", ">=0.9,<", "=", "^", "===", "~"]), VERSIONS, CHANNELS, TARGETS
)
def test_requirements(op: str, version: str, channel: str, target: str) -> None:
    text = f"vllm{op}{version}" + (f"+{channel}" if channel and op in ("==", "===") else "")
    found = requirement_version(text)
    verdict = judge_requirement(found, text, target) if found is not None else None
    if verdict is None or verdict.text is None:
        return
    after = requirement_version(verdict.text)
    assert after is not None
    again = judge_requirement(after, verdict.text, target)
    assert again is None, (text, verdict.text, again)


@settings(max_examples=300)
@given(NOISE, TARGETS)
def test_noise(text: str, target: str) -> None:
    for reference in (text, "vllm/vllm-openai:" + text, "vllm/vllm-openai:v0.11.0" + text):
        image = read_image(reference)
        if image is not None:
            judge_image(image, reference, None, target)
    for line in (text, "vllm" + text, "vllm==0.11.0" + text):
        found = requirement_version(line, "vllm")
        if found is not None:
            judge_requirement(found, line, target)
    for url in ("https://wheels.vllm.ai/" + text, "https://x/whl/cu129" + text, "https://x/vllm-0.11.0" + text, text):
        wheel, index = wheel_version(url), index_version(url)
        if wheel is not None:
            judge_wheel(wheel, url, target)
        if index is not None and index.own:
            judge_own_index(index, url, "0.19.0", target)
        elif index is not None:
            judge_torch_index(index, url, "cu130", target)
        judge_archive(url, target)
    judge_ref(text, target)
    judge_ref("v0.11.0" + text, target)
