"""The first configuration of a repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from standin import Run

from vllm_migrate import config_file

POD = "kind: Pod\nspec:\n  containers:\n    - image: {}\n      args: [--model=m, --swap-space=4]\n"
KEY = re.compile(r"# ((?:[a-z-]+:|  ).*)")


@pytest.fixture
def repository(here: Path) -> Path:
    (here / ".git").mkdir()
    for name, image in {"a/a": "vllm/vllm-openai:v0.10.0", "b/b": "example.com/llm/vllm-server:stable"}.items():
        (here / name).parent.mkdir()
        (here / f"{name}.yaml").write_text(POD.format(image))
    (here / "scripts").mkdir()
    (here / "scripts" / "run.sh").write_text("vllm serve m --swap-space 4\n" * 30)
    (here / "README.md").write_text("```sh\nvllm serve m --swap-space 4\n```\n")
    return here


def test_it_says_what_it_found_and_is_a_configuration(real: Run, repository: Path) -> None:
    done = real("init")
    assert done.status == 0
    text = (repository / ".vllm-migrate.yaml").read_text()
    assert config_file.load(repository / ".vllm-migrate.yaml").to == ("0.33.0",)
    assert "Found 32 launches in 3 files: 1 on 0.10.0" in text
    assert '"example.com/llm/vllm-server:stable": X.Y.Z  # b/b.yaml:' in text
    assert '"scripts/*": {from: X.Y.Z}  # 30 launches' in text
    assert "baseline: " in text
    assert "markdown: fix" in text


def test_every_offer_is_valid_when_its_mark_is_taken_away(real: Run, repository: Path) -> None:
    text = real("init", "--stdout", "--to", "0.30.0").out.decode()
    assert not (repository / ".vllm-migrate.yaml").exists()
    lines = [found[1] if (found := KEY.fullmatch(line)) else line for line in text.splitlines()]
    filled = "\n".join(lines).replace("X.Y.Z", "0.10.0")
    (repository / ".vllm-migrate.yaml").write_text(re.sub(r"(?m)^  vllm-migrate check .*\n", "", filled))
    config = config_file.load(repository / ".vllm-migrate.yaml")
    assert (config.to, config.fail_on, config.markdown) == (("0.30.0",), "error", "fix")
    assert set(config.images) == {"example.com/llm/vllm-server:stable"}
    assert set(config.paths) == {"scripts/*"}


def test_a_configuration_that_is_there_is_kept(real: Run, repository: Path) -> None:
    (repository / "pyproject.toml").write_text("[tool.vllm-migrate]\nto = '0.20.0'\n")
    done = real("init")
    assert (done.status, "pyproject.toml" in done.err) == (2, True)
    assert not (repository / ".vllm-migrate.yaml").exists()
