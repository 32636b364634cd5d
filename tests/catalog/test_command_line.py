"""A command line is read as the release's own parser reads it."""

from __future__ import annotations

import pytest

from vllm_migrate.catalog import Catalog, load
from vllm_migrate.catalog.command_line import CommandLine, read_command_line

MODEL = "facebook/opt-125m"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def read(catalog: Catalog, version: str, text: str, surface: str = "serve") -> CommandLine:
    return read_command_line(catalog.release(version), surface, text.split(" ") if text else [])


def refused(catalog: Catalog, version: str, text: str, surface: str = "serve") -> list[tuple[str, str]]:
    return [(r.kind, r.option) for r in read(catalog, version, text, surface).refusals]


@pytest.mark.parametrize(
    ("version", "text", "option", "value"),
    [
        ("0.33.0", f"{MODEL} --max-num-batched-token 1k", "--max-num-batched-tokens", 1000),
        ("0.33.0", f"{MODEL} --gpu_memory_utilization=0.5", "--gpu-memory-utilization", 0.5),
        ("0.33.0", f"{MODEL} -tp 2 -tp 4", "--tensor-parallel-size", 4),
        ("0.33.0", f"{MODEL} -tp=2", "--tensor-parallel-size", 2),
        ("0.33.0", f"{MODEL} --disable-prefix-caching", "--enable-prefix-caching", False),
        ("0.10.0", f"{MODEL} --no-enable-prefix-caching", "--enable-prefix-caching", False),
        ("0.33.0", f"{MODEL} -O3", "--optimization-level", "3"),
        ("0.10.0", f"{MODEL} -O3", "--compilation-config", {"level": 3}),
        ("0.33.0", f"{MODEL} -cc.mode=3 -cc.pass_config.fuse_norm_quant true", "--compilation-config", None),
        ("0.33.0", f"{MODEL} --kv-transfer-config.kv_port 80k", "--kv-transfer-config", {"kv_port": 80000}),
        ("0.12.0", f"{MODEL} --kv-transfer-config.kv_port 80k", "--kv-transfer-config", {"kv_port": "80k"}),
        ("0.9.0", f"{MODEL} --kv-transfer-config.kv_port 80", "--kv-transfer-config", None),
        ("0.33.0", f"{MODEL} --middleware a --middleware b", "--middleware", "b"),
        ("0.33.0", f"--model {MODEL} --seed -1", "--seed", -1),
    ],
)
def test_what_it_takes(catalog: Catalog, version: str, text: str, option: str, value: object) -> None:
    line = read(catalog, version, text)
    assert line.refusals == []
    assert line.values["model_tag"] == MODEL
    if value is None:
        assert option in line.values
    else:
        assert line.values[option] == value


@pytest.mark.parametrize(
    ("version", "text", "kind", "option"),
    [
        ("0.33.0", f"{MODEL} --swap-space 4", "unrecognized", ""),
        ("0.33.0", f"{MODEL} extra", "unrecognized", ""),
        ("0.33.0", f"{MODEL} -- extra", "unrecognized", ""),
        ("0.33.0", f"--enable-prefix-caching True {MODEL}", "unrecognized", ""),
        ("0.33.0", f"{MODEL} --enable-prefix-caching=true", "explicit", "--enable-prefix-caching"),
        ("0.33.0", f"{MODEL} --max-num 4", "ambiguous", ""),
        ("0.33.0", f"{MODEL} --port abc", "value", "--port"),
        ("0.33.0", f"{MODEL} --port", "count", "--port"),
        ("0.33.0", f"{MODEL} --port --seed 1", "count", "--port"),
        ("0.33.0", f"{MODEL} --dtype FLOAT16", "choice", "--dtype"),
        ("0.33.0", f"{MODEL} --max-model-len 1.5K", "value", "--max-model-len"),
        ("0.33.0", f"{MODEL} --hf-overrides {{a:1}}", "value", "--hf-overrides"),
        ("0.33.0", f"{MODEL} --lora-modules name", "value", "--lora-modules"),
        ("0.33.0", "--served-model-name a", "usage", "--served-model-name"),
        ("0.8.5", f"--model {MODEL}", "usage", "--model"),
        ("0.8.5", f"{MODEL} --kv-transfer-config.kv_port 1", "unrecognized", ""),
        ("0.33.0", f"{MODEL} --config a.yaml --config b.yaml", "usage", "--config"),
        ("0.33.0", f"{MODEL} --config a.json", "value", "--config"),
        ("0.6.6", "--port 1", "count", ""),
    ],
)
def test_what_it_refuses(catalog: Catalog, version: str, text: str, kind: str, option: str) -> None:
    assert (kind, option) in refused(catalog, version, text)


def test_a_list_of_values_swallows_the_model(catalog: Catalog) -> None:
    line = read(catalog, "0.12.0", f"--served-model-name a b {MODEL}")
    assert line.values["--served-model-name"] == ["a", "b", MODEL]
    assert "model_tag" not in line.values and line.refusals == []


def test_the_message_is_the_parsers(catalog: Catalog) -> None:
    (refusal,) = read(catalog, "0.33.0", f"{MODEL} --port abc").refusals
    assert refusal.message == "argument --port: invalid int value: 'abc'"
    assert refusal.words == (1, 2)


def test_help_ends_the_reading(catalog: Catalog) -> None:
    assert read(catalog, "0.33.0", f"{MODEL} --help --swap-space 4").refusals == []
    assert read(catalog, "0.33.0", f"{MODEL} --help=cache --port").refusals == []


def test_what_a_run_decides_is_not_refused(catalog: Catalog) -> None:
    words = [MODEL, "--port", "$PORT", "--seed", "x"]
    line = read_command_line(catalog.release("0.33.0"), "serve", words, lambda word: "$" in word)
    assert [r.option for r in line.refusals] == ["--seed"]


def test_the_two_surfaces_differ(catalog: Catalog) -> None:
    assert refused(catalog, "0.9.0", f"--model {MODEL}", "api_server") == []
    assert refused(catalog, "0.9.0", MODEL, "api_server") == [("unrecognized", "")]
