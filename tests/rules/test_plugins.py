"""A package that took over a feature is added where vLLM itself is required, in another file if need be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vllm_migrate.config import Config, with_options
from vllm_migrate.engine import run
from vllm_migrate.findings import Report

LAUNCH = "vllm serve m --quantization bitsandbytes\n"


def check(root: Path, files: dict[str, str], *paths: str, **options: bool) -> Report:
    (root / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    config = with_options(replace(Config(), fix=True, **options), to=["0.33.0"])
    return run([root / p for p in paths] or [root], root, config)


def fixed(report: Report) -> dict[str, str]:
    return {f.path: f.fixed.text for f in report.files if f.fixed is not None}


def test_the_package_is_added_once_in_the_file_that_requires_vllm(tmp_path: Path) -> None:
    files = {"requirements.txt": "vllm==0.33.0\n", "a/one.sh": LAUNCH, "b/two.sh": LAUNCH}
    assert fixed(check(tmp_path, files)) == {"requirements.txt": "vllm==0.33.0\nvllm-bnb-plugin\n"}


def test_it_comes_with_the_move_of_vllm(tmp_path: Path) -> None:
    files = {"requirements.txt": "vllm==0.27.1\n", "serve.sh": LAUNCH}
    assert fixed(check(tmp_path, files)) == {"requirements.txt": "vllm==0.33.0\nvllm-bnb-plugin\n"}
    assert fixed(check(tmp_path, files, keep_pins=True)) == {}


def test_a_file_outside_the_paths_is_not_touched(tmp_path: Path) -> None:
    files = {"requirements.txt": "vllm==0.33.0\n", "scripts/serve.sh": LAUNCH}
    report = check(tmp_path, files, "scripts")
    assert fixed(report) == {}
    (finding,) = report.findings()
    assert "requirements.txt" in finding.withheld


def test_of_two_places_none_is_taken(tmp_path: Path) -> None:
    files = {"requirements.txt": "vllm==0.33.0\n", "requirements-gpu.txt": "vllm==0.33.0\n", "serve.sh": LAUNCH}
    assert fixed(check(tmp_path, files)) == {}


def test_requirements_say_nothing_about_another_image(tmp_path: Path) -> None:
    compose = "services:\n  s:\n    image: vllm/vllm-openai:v0.33.0\n    command: org/m --quantization bitsandbytes\n"
    files = {"requirements.txt": "vllm==0.33.0\nvllm-bnb-plugin\n", "compose.yaml": compose, "serve.sh": LAUNCH}
    report = check(tmp_path, files)
    assert [(f.path, f.code) for f in report.findings()] == [("compose.yaml", "VM705")]
    assert fixed(report) == {}
