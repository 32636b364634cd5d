"""Which GPUs a launch sees: when the variable becomes an option, another variable, or stays with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_migrate.config import Config
from vllm_migrate.engine import run_text

LENGTH = "how many GPUs the launch uses is only known at run time; the list must be that long"
LATE = "the list is only known at run time: it must be distinct numbers, as many as the launch has ranks"


def judged(folder: Path, text: str, to: str = "0.33.0") -> tuple[str, str, list[str]]:
    """Return the text after the safe fixes, the one after all, and what is said of the variable."""
    out, said = [], []
    for unsafe in (False, True):
        settings = Config(to=(to,), fix=True, unsafe_fixes=unsafe, keep_pins=True)
        (result,) = run_text("run.sh", text.encode(), folder, settings).files
        assert result.source is not None
        out.append((result.fixed or result.source).text)
        said = [f.withheld or (f.fix.why if f.fix else "") for f in result.findings if f.code == "VM204"]
    return out[0], out[1], said


@pytest.mark.parametrize(
    ("value", "words", "after", "said"),
    [
        ("0", "", "0", ""),
        ("0,1", "-pp 2", "0,1", ""),
        ("0,1,2,3", "-tp 2 -pp 2", "0,1,2,3", ""),
        ("0,1,2,3", "-dp 2 -tp 2", "0,1,2,3", ""),
        ("0,1", "-dp 4 --data-parallel-size-local 2", "0,1", ""),
        ("0", "-tp 2 --nnodes 2", "0", ""),
        ("GPU-1a2b3c4d", "", "GPU-1a2b3c4d", ""),
        ("0,1", "-tp $N", "(0,1)", LENGTH),
        ("0,$X", "-tp 2", '("0,$X")', LATE),
        ("gpu$X", "-tp 2", "", "the list is only known at run time"),
        ("$X,gpu", "-tp 2", "", "the list is only known at run time"),
        ("0,1", "", "", "the list has 2 GPUs but the launch uses 1"),
        ("0,1,2", "-tp 3 --nnodes 2", "", LENGTH),
        ("0,00", "-tp 2", "", "the list names a GPU twice"),
        ("all", "", "", "the value is no list of GPU numbers or of GPU UUIDs"),
        ("0,1", "-tp 2 --distributed-executor-backend ray", "", "with Ray the option is ignored: placement groups "
         "decide which GPUs a worker gets"),
        ("0", "--device-ids 0", "", "the launch already has --device-ids: its numbers are positions in the visible "
         "list; keep only one"),
        ("", "", "", None),
        ("-1", "", "", None),
    ],
)  # fmt: skip
def test_a_list_becomes_the_option_where_it_means_the_same(
    value: str, words: str, after: str, said: str | None, tmp_path: Path
) -> None:
    before = f"CUDA_VISIBLE_DEVICES={value} vllm serve m {words}".rstrip() + "\n"
    moved = f"vllm serve m {words}".rstrip() + f" --device-ids {after.strip('()')}\n"
    safe, every, told = judged(tmp_path, before)
    assert told == ([] if said is None else [said])
    if after:
        assert every == moved
    assert safe == (moved if after and not after.startswith("(") else before)


RUN = "docker run {}{} vllm serve m\n"
CUDA, HIP = "-e CUDA_VISIBLE_DEVICES=0 ", "-e HIP_VISIBLE_DEVICES=0 "


@pytest.mark.parametrize(
    ("given", "image", "to", "after", "said"),
    [
        (CUDA, "vllm/vllm-openai-rocm:v0.30.0", "0.33.0", HIP, [""]),
        (CUDA, "vllm/vllm-openai-rocm:v0.30.0", "0.30.0", HIP, [""]),
        (CUDA, "vllm/vllm-openai-rocm:v0.28.0", "0.29.0", CUDA, []),
        (HIP, "vllm/vllm-openai-rocm:v0.30.0", "0.33.0", HIP, []),
        ("-e CUDA_VISIBLE_DEVICES ", "vllm/vllm-openai-rocm:v0.30.0", "0.33.0", "-e CUDA_VISIBLE_DEVICES ", []),
        (
            CUDA + HIP,
            "vllm/vllm-openai-rocm:v0.30.0",
            "0.33.0",
            CUDA + HIP,
            ["HIP_VISIBLE_DEVICES is set already: remove the CUDA variable"],
        ),
        (CUDA, "vllm/vllm-tpu:v0.30.0", "0.33.0", CUDA, []),
        (CUDA, "vllm/vllm-openai-cpu:v0.30.0", "0.33.0", CUDA, []),
    ],
)
def test_other_devices_have_variables_of_their_own(
    given: str, image: str, to: str, after: str, said: list[str], tmp_path: Path
) -> None:
    safe, every, told = judged(tmp_path, RUN.format(given, image), to)
    assert told == said
    assert safe == every == RUN.format(after, image)


def test_a_release_without_the_option_is_not_told_of_it(tmp_path: Path) -> None:
    assert judged(tmp_path, "CUDA_VISIBLE_DEVICES=0 vllm serve m\n", "0.20.0")[2] == []


PROGRAM = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0,1'\nfrom vllm import LLM\nllm = LLM({})\n"


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("'m', tensor_parallel_size=2", "'m', tensor_parallel_size=2, device_ids=[0, 1]"),
        ("tensor_parallel_size=2, **more", "tensor_parallel_size=2, device_ids=[0, 1], **more"),
    ],
)
def test_a_program_gives_the_keyword(given: str, after: str, tmp_path: Path) -> None:
    text = PROGRAM.format(given)
    (result,) = run_text("run.py", text.encode(), tmp_path, Config(to=("0.33.0",), fix=True, unsafe_fixes=True)).files
    assert [f.replacement for f in result.findings if f.code == "VM204"] == ["device_ids"]
    assert result.fixed is not None
    assert result.fixed.text == f"from vllm import LLM\nllm = LLM({after})\n"
