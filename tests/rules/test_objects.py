"""Values and keys of config objects, wherever they are written: what the class refuses is said in its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from vllm_migrate.config import Config, with_options
from vllm_migrate.engine import run

INTEGER = "Input should be a valid integer"


def found(root: Path, name: str, text: str, to: str = "0.33.0") -> list[tuple[str, str, str]]:
    """Return code, subject and message of what is reported for one file."""
    (root / ".git").mkdir(exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")
    report = run([root], root, with_options(Config(), to=[to]))
    return [(f.code, f.subject, f.message) for f in report.findings() if f.severity == "error"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", """vllm serve m --speculative-config '{"method": "ngram", "num_speculative_tokens": "x"}'\n"""),
        ("a.sh", "vllm serve m --speculative-config.method ngram --speculative-config.num_speculative_tokens x\n"),
        ("a.py", "from vllm import LLM\nLLM('m', speculative_config={'num_speculative_tokens': 'x'})\n"),
        (
            "serve.yaml",
            "model: m\nport: 8000\nmax-model-len: 4096\nspeculative-config:\n  num_speculative_tokens: x\n",
        ),
    ],
)
def test_a_value_of_the_wrong_type(name: str, text: str, tmp_path: Path) -> None:
    if name == "serve.yaml":
        (tmp_path / "run.sh").write_text("vllm serve --config serve.yaml\n")
    code, subject, message = found(tmp_path, name, text)[0]
    assert (code, subject) == ("VM107", "--speculative-config.num_speculative_tokens")
    assert message == f"{subject}: {INTEGER}; it is given 'x'"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            """--compilation-config '{"pass_config": {"fuse_act_quant": "maybe"}}'""",
            "VM107",
            "--compilation-config.pass_config.fuse_act_quant: Input should be a valid boolean; it is given 'maybe'",
        ),
        (
            """--compilation-config '{"cudagraph_capture_sizes": [1, "b"]}'""",
            "VM107",
            f"--compilation-config.cudagraph_capture_sizes.1: {INTEGER}",
        ),
        (
            """--pooler-config '{"pooling_type": "cls"}'""",
            "VM104",
            "--pooler-config.pooling_type: Input should be 'CLS', 'LAST', 'MEAN', 'ALL' or 'STEP'; it is given 'cls'",
        ),
        (
            "--compilation-config.pass_config.foo 1",
            "VM110",
            "--compilation-config refuses the key foo in 0.33.0",
        ),
        (
            """--compilation-config '{"pass_config": 3}'""",
            "VM107",
            "--compilation-config.pass_config: Input should be a dictionary or an instance of PassConfig; "
            "it is given '3'",
        ),
    ],
)
def test_what_the_class_refuses(words: str, code: str, message: str, tmp_path: Path) -> None:
    assert [(c, m) for c, _, m in found(tmp_path, "a.sh", f"vllm serve m {words}\n")] == [(code, message)]


@pytest.mark.parametrize(
    "words",
    [
        """--speculative-config '{"method": "ngram", "num-speculative-tokens": "4"}'""",
        """--speculative-config "{\\"num_speculative_tokens\\": $N}" """,
        "--attention-config.backend flash_attn",
        "--kernel-config.moe_backend deep-gemm",
        "--compilation-config.mode vllm_compile",
        "--compilation-config.custom_ops+ none,+rms_norm",
        "--compilation-config.max_cudagraph_capture_size 1k",
        """--weight-transfer-config '{"backend": "mine"}'""",
    ],
)
def test_what_the_class_takes(words: str, tmp_path: Path) -> None:
    assert found(tmp_path, "a.sh", f"vllm serve m {words}\n") == []


def test_classes_before_types_were_looked_at(tmp_path: Path) -> None:
    text = """vllm serve m --speculative-config '{"num_speculative_tokens": "x", "nothing": 1}'\n"""
    assert [(c, s) for c, s, _ in found(tmp_path, "a.sh", text, "0.8.5")] == [("VM110", "--speculative-config.nothing")]


def test_a_migration_says_more(tmp_path: Path) -> None:
    text = """vllm serve m --speculative-config '{"method": "medusa", "model": "d"}'\n"""
    assert [c for c, _, _ in found(tmp_path, "a.sh", text)] == ["VM301"]
