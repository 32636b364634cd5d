"""The command `schema`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_migrate.cli import main


def test_the_schema_of_a_configuration_file(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "v0.33"]) == 0
    schema = json.loads(capfd.readouterr().out)
    assert schema["title"] == "vllm serve --config of vLLM 0.33.0"
    assert schema["properties"]["speculative-config"]["anyOf"][0] == {"$ref": "#/$defs/SpeculativeConfig"}


@pytest.mark.parametrize("name", ["speculative-config", "--speculative-config", "SpeculativeConfig"])
def test_the_schema_of_one_object(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "0.33.0", "--object", name]) == 0
    schema = json.loads(capfd.readouterr().out)
    assert schema["$ref"] == "#/$defs/SpeculativeConfig"
    assert "CompilationConfig" not in schema["$defs"]


def test_the_objects_of_a_release(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "0.8.5", "--list"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "--compilation-config  CompilationConfig",
        "--kv-transfer-config  KVTransferConfig",
        "--speculative-config  SpeculativeConfig",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["0.99.0"], "vLLM 0.99.0 is not in the catalog (nearest: 0.33.0)"),
        (["latest"], "'latest' is not a vLLM version"),
        (["0.33.0", "--object", "no-such"], "vLLM 0.33.0 has no config object 'no-such'; it has: attention-config"),
        (["0.33.0", "--object", "x", "--list"], "--list goes without --object"),
        ([], "Missing argument 'VERSION'"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", *words]) == 2
    out, err = capfd.readouterr()
    assert out == "" and said in err


def test_a_release_of_the_configuration(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    own = {
        "format": 1,
        "version": "0.40.0",
        "release": {"config_file": ["switch", "list", "object"]},
        "sections": {"options": {"--mine": {"type": "int"}}},
    }
    (tmp_path / "own.json").write_text(json.dumps(own))
    (tmp_path / "config.yaml").write_text("catalog: own.json\n")
    assert main(["schema", "0.40.0", "--config", str(tmp_path / "config.yaml")]) == 0
    assert list(json.loads(capfd.readouterr().out)["properties"]) == ["mine"]
