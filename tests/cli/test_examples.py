"""What `explain` shows of a launch before and after."""

from __future__ import annotations

import pytest
from standin import Run


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [
        ("--swap-space", "vllm serve my-model --swap-space 4", "vllm serve my-model"),
        ("convert-mm-encoder-only", "vllm serve my-model --convert mm_encoder_only", "my-model --mm-encoder-only"),
        ("VLLM_TORCH_CUDA_PROFILE", "VLLM_TORCH_CUDA_PROFILE=1 vllm serve my-model", "--profiler-config.profiler cuda"),
    ],
)
def test_it_shows_a_launch_before_and_after(real: Run, what: str, before: str, after: str) -> None:
    lines = real("explain", what).lines
    at = lines.index(f"  - {before}")
    assert lines[at + 1].startswith("  + ")
    assert lines[at + 1].endswith(after)
