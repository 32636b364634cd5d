"""What the shipped data makes of real spellings: the answers a user relies on, release by release."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from vllm_migrate.migrations import CannotConvert, Case, Migration, convert, holds, load, normal

DATA = load()

Result = list[tuple[str, Any]]


def _judge(
    surface: str, name: str, value: Any, target: str, present: Sequence[str] = (), only: str = ""
) -> tuple[Migration, Case | None]:
    """Return the entry that answers a name for a target, and its case; the value-bound entry comes first."""
    text = None if value is None else str(value)
    entry = DATA.answer(surface, name, target, only=only, value=text) or DATA.answer(
        surface, name, target, only=only
    )
    assert entry is not None, f"nothing says that {name} is gone from {target}"
    here = [normal(option) for option in present]
    return entry, next((case for case in entry.cases if holds(case, target, value, here)), None)


def _results(case: Case, value: Any) -> Result:
    return [
        (result.get("option") or result["variable"], convert(result.get("value"), value, typed=False))
        for result in case.then
    ]


@pytest.mark.parametrize(
    ("surface", "name", "value", "target", "present", "expected", "safety"),
    [
        ("option", "--swap-space", "16", "0.33.0", [], [], "safe"),
        ("option", "swap_space", 4, "0.18.0", [], [], "safe"),
        ("option", "--num-scheduler-steps", "8", "0.33.0", [], [], "safe"),
        ("option", "--enable-reasoning", True, "0.33.0", ["--reasoning-parser"], [], "safe"),
        ("option", "--enable-reasoning", True, "0.33.0", [], [], "unsafe"),
        ("option", "--task", "auto", "0.33.0", [], [], "safe"),
        ("option", "--task", "generate", "0.33.0", [], [("--runner", "generate")], "safe"),
        (
            "option",
            "--task",
            "embed",
            "0.13.0",
            [],
            [("--runner", "pooling"), ("--convert", "embed")],
            "safe",
        ),
        (
            "option",
            "--task",
            "classify",
            "0.33.0",
            [],
            [("--runner", "pooling"), ("--convert", "classify")],
            "safe",
        ),
        ("option", "--task", "score", "0.33.0", [], [("--runner", "pooling")], "unsafe"),
        ("option", "--device", "cuda", "0.33.0", [], [], "safe"),
        ("option", "--device", "cpu", "0.33.0", [], [], "unsafe"),
        ("option", "--guided-decoding-backend", "auto", "0.33.0", [], [], "safe"),
        (
            "option",
            "--guided-decoding-backend",
            "xgrammar:disable-any-whitespace",
            "0.12.0",
            [],
            [
                ("--structured-outputs-config.backend", "xgrammar"),
                ("--structured-outputs-config.disable_any_whitespace", True),
            ],
            "safe",
        ),
        ("option", "--max-num-partial-prefills", "1", "0.33.0", [], [], "safe"),
        ("option", "--max-num-partial-prefills", "4", "0.33.0", [], [], "unsafe"),
        ("option", "--calculate-kv-scales", True, "0.33.0", [], [], "unsafe"),
        (
            "option",
            "--disable-mm-preprocessor-cache",
            True,
            "0.33.0",
            [],
            [("--mm-processor-cache-gb", 0)],
            "safe",
        ),
        (
            "option",
            "--cuda-graph-sizes",
            "512",
            "0.33.0",
            [],
            [("--max-cudagraph-capture-size", 512)],
            "unsafe",
        ),
        (
            "option",
            "--rope-theta",
            "1000000",
            "0.16.0",
            [],
            [("--hf-overrides.rope_theta", 1000000.0)],
            "safe",
        ),
        (
            "option",
            "--rope-scaling",
            '{"rope_type": "yarn", "factor": 4.0}',
            "0.33.0",
            ["--rope-theta"],
            [("--hf-overrides.rope_parameters", {"rope_type": "yarn", "factor": 4.0})],
            "unsafe",
        ),
        (
            "option",
            "--speculative-model",
            "[ngram]",
            "0.33.0",
            [],
            [("--speculative-config.method", "ngram")],
            "safe",
        ),
        (
            "option",
            "--num-speculative-tokens",
            "5",
            "0.33.0",
            [],
            [("--speculative-config.num_speculative_tokens", 5)],
            "safe",
        ),
        (
            "option",
            "--limit-mm-per-prompt",
            "image=5,video=2",
            "0.33.0",
            [],
            [("--limit-mm-per-prompt", {"image": 5, "video": 2})],
            "safe",
        ),
        ("variable", "VLLM_USE_V1", "1", "0.33.0", [], [], "safe"),
        ("variable", "VLLM_USE_V1", "0", "0.33.0", [], [], "unsafe"),
        (
            "variable",
            "VLLM_ATTENTION_BACKEND",
            "FLASHINFER_VLLM_V1",
            "0.33.0",
            [],
            [("--attention-backend", "FLASHINFER")],
            "safe",
        ),
        ("variable", "VLLM_ATTENTION_BACKEND", "XFORMERS", "0.33.0", [], [], "unsafe"),
        (
            "variable",
            "VLLM_TORCH_PROFILER_DIR",
            "/traces",
            "0.33.0",
            [],
            [("--profiler-config.profiler", "torch"), ("--profiler-config.torch_profiler_dir", "/traces")],
            "safe",
        ),
        (
            "variable",
            "VLLM_NVFP4_GEMM_BACKEND",
            "flashinfer-cutlass",
            "0.24.0",
            [],
            [("--linear-backend", "flashinfer_cutlass")],
            "unsafe",
        ),
        ("variable", "VLLM_USE_RAY_V2_EXECUTOR_BACKEND", "0", "0.33.0", [], [], "unsafe"),
        ("key", "--compilation-config.level", 3, "0.33.0", [], [("--compilation-config.mode", 3)], "safe"),
        (
            "key",
            "--compilation-config.use_cudagraph",
            False,
            "0.33.0",
            [],
            [("--compilation-config.cudagraph_mode", "NONE")],
            "safe",
        ),
        (
            "key",
            "--compilation-config.pass_config.enable_fusion",
            True,
            "0.33.0",
            [],
            [
                ("--compilation-config.pass_config.fuse_norm_quant", True),
                ("--compilation-config.pass_config.fuse_act_quant", True),
            ],
            "safe",
        ),
    ],
)
def test_value_is_carried_over(
    surface: str, name: str, value: Any, target: str, present: list[str], expected: Result, safety: str
) -> None:
    _, case = _judge(surface, name, value, target, present)
    assert case is not None
    assert (_results(case, value), case.safety) == (expected, safety)


@pytest.mark.parametrize(
    ("surface", "name", "value"),
    [
        ("key", "--speculative-config.method", "medusa"),
        ("key", "--speculative-config.method", "mlp_speculator"),
        ("option", "--quantization", "bitsandbytes"),
        ("option", "--load-format", "gguf"),
        ("option", "--rope-scaling", '{"rope_type": "yarn", "factor": 4.0}'),
    ],
)
def test_what_needs_more_than_the_launch_is_reported_only(surface: str, name: str, value: str) -> None:
    entry, case = _judge(surface, name, value, "0.33.0")
    assert case is None
    assert entry.severity == "error"


def test_disable_log_requests_lives_two_lives() -> None:
    for target, gone in (("0.16.0", False), ("0.17.0", True), ("0.32.0", True), ("0.33.0", False)):
        assert (DATA.answer("option", "--disable-log-requests", target, only="cli") is not None) is gone
    for target, gone in (("0.10.0", False), ("0.10.1", True), ("0.33.0", True)):
        assert (DATA.answer("option", "disable_log_requests", target, only="keyword") is not None) is gone
    _, case = _judge("option", "disable_log_requests", False, "0.33.0", only="keyword")
    assert case is not None
    assert _results(case, False) == [("--enable-log-requests", True)]


def test_draft_models_are_missing_for_five_releases_only() -> None:
    for target, gone in (
        ("0.9.2", False),
        ("0.10.0", True),
        ("0.14.1", True),
        ("0.15.0", False),
        ("0.33.0", False),
    ):
        found = DATA.answer("key", "--speculative-config.method", target, value="draft_model")
        assert (found is not None) is gone, target


def test_a_chain_of_renames_ends_at_something_the_newest_release_takes() -> None:
    """VLLM_V1_USE_PREFILL_DECODE_ATTENTION became a key, and the key became a backend."""
    _, case = _judge("variable", "VLLM_V1_USE_PREFILL_DECODE_ATTENTION", "1", "0.33.0")
    assert case is not None
    [(name, value)] = _results(case, "1")
    _, following = _judge("key", name, value, "0.33.0")
    assert following is not None
    assert _results(following, value) == [("--attention-backend", "ROCM_ATTN")]
    assert following.safety == "unsafe"


@pytest.mark.parametrize("entry", [e for e in DATA.all if e.cases], ids=lambda e: e.id)
def test_every_listed_value_converts(entry: Migration) -> None:
    for case, result in itertools.chain.from_iterable(((c, r) for r in c.then) for c in entry.cases):
        if "value" not in result:
            continue
        listed = case.when.get("value")
        if listed is None and "truthy" in case.when:
            listed = [case.when["truthy"]]
        for value in listed or []:
            try:
                convert(result["value"], value, typed=False)
            except CannotConvert as problem:
                pytest.fail(f"{value!r}: {problem}")
