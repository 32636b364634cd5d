"""JSON Schemas of what releases take: valid, as loose as the releases, and read alike by both checkers."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.catalog import load
from vllm_migrate.catalog.objects import UnknownObject, class_of, config_objects, object_schema
from vllm_migrate.catalog.query import Catalog, Release
from vllm_migrate.catalog.schema import config_file_schema
from vllm_migrate.paths import schemas_dir
from vllm_migrate.refusals import refusals
from vllm_migrate.schemacheck import problems

VERSIONS = json.loads((schemas_dir() / "catalog" / "releases.json").read_text())["releases"]
VALIDATOR = jsonschema.Draft202012Validator


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    return load()


def release(version: str) -> Release:
    return catalog().release(version)


@lru_cache(maxsize=8)
def of_file(version: str) -> dict[str, Any]:
    return config_file_schema(catalog(), release(version))


@lru_cache(maxsize=8)
def of_object(version: str, name: str) -> dict[str, Any]:
    return object_schema(release(version), name)


def references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {r for item in schema for r in references(item)}
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"]} if isinstance(schema.get("$ref"), str) else set()
    return own.union(*(references(item) for item in schema.values())) if schema else own


@pytest.mark.parametrize("version", VERSIONS)
def test_every_release_has_valid_schemas(version: str) -> None:
    schema = of_file(version)
    VALIDATOR.check_schema(schema)
    assert "$id" not in schema and {"title", "description", "$schema"} <= set(schema)
    for reference in references(schema):
        place: Any = schema
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
    # The objects are held by the file's schema from the release on that takes them there.
    if "object" in release(version).facts["config_file"]:
        assert set(config_objects(release(version)).values()) <= set(schema["$defs"])


@pytest.mark.parametrize("version", ["0.6.6", "0.8.5", "0.9.2", "0.16.0", "0.33.0"])
def test_every_object_has_a_valid_schema_of_its_own(version: str) -> None:
    for name in config_objects(release(version)).values():
        VALIDATOR.check_schema(of_object(version, name))


TAKEN = [
    ("0.6.6", {"max-model-len": 4096, "max_num_seqs": "8", "enforce-eager": True, "model": "m", "dtype": "auto"}),
    ("0.6.6", {"compilation-config": {"level": 3}, "speculative_model": "d", "swap-space": 1.5}),
    ("0.8.5", {"kv-transfer-config": '{"kv_connector": "x", "kv_role": "kv_both"}', "quantization": None}),
    ("0.10.2", {"served-model-name": ["a", "b"], "middleware": "a.b", "no-enable-prefix-caching": True}),
    ("0.16.0", {"compilation-config": {"mode": 3, "pass_config": {"fuse_act_quant": True}}}),
    ("0.16.0", {"compilation_config.mode": 3, "speculative-config": '{"method": "ngram"}'}),
    ("0.33.0", {"speculative-config": {"method": "ngram", "num-speculative-tokens": "4"}, "max-model-len": "32k"}),
    ("0.33.0", {"kernel-config": {"moe_backend": "DEEP-GEMM"}, "attention_config": {"backend": "flash_attn"}}),
    ("0.33.0", {"kv_cache_memory_bytes": 10_000, "device-ids": "0,1", "served-model-name": ["a", "b"], "api-key": "x"}),
]
REFUSED = [
    ("0.6.2", {"enforce-eager": True}, "enforce-eager"),
    ("0.6.6", {"speculative-config": "{}"}, "speculative-config"),
    ("0.10.2", {"middleware": ["a", "b"]}, "middleware"),
    ("0.8.5", {"kv-transfer-config": {"kv_connector": "x"}}, "kv-transfer-config"),
    ("0.8.5", {"max-num-seqs": "many"}, "max-num-seqs"),
    ("0.16.0", {"compilation-config": {"mood": 3}}, "compilation-config"),
    ("0.33.0", {"swap-space": 4}, "swap-space"),
    ("0.33.0", {"dtype": "float8"}, "dtype"),
    ("0.33.0", {"enforce-eager": "yes"}, "enforce-eager"),
    ("0.33.0", {"max-model-len": "32 k"}, "max-model-len"),
    ("0.33.0", {"speculative-config": {"num_speculative_tokens": 0}}, "speculative-config"),
    ("0.33.0", {"model_tag": "m"}, "model_tag"),
]


@pytest.mark.parametrize(("version", "held"), TAKEN)
def test_a_file_the_release_takes(version: str, held: dict[str, Any]) -> None:
    assert problems(of_file(version), held) == []
    assert list(VALIDATOR(of_file(version)).iter_errors(held)) == []


@pytest.mark.parametrize(("version", "held", "key"), REFUSED)
def test_a_file_the_release_refuses(version: str, held: dict[str, Any], key: str) -> None:
    assert {place[0] for place, _ in problems(of_file(version), held)} == {key}
    assert list(VALIDATOR(of_file(version)).iter_errors(held))


def test_what_an_editor_shows() -> None:
    properties = of_file("0.33.0")["properties"]
    assert properties["max-num-seqs"]["description"].startswith("--max-num-seqs (SchedulerConfig)")
    assert properties["max_num_seqs"] == {"$ref": "#/properties/max-num-seqs"}
    assert properties["gpu-memory-utilization"]["default"] == 0.92
    assert "float16" in properties["dtype"]["enum"]
    deprecated = {name for name, schema in properties.items() if schema.get("deprecated")}
    assert deprecated == {
        n.removeprefix("--") for n, a in release("0.33.0").section("options").items() if a.get("deprecated")
    }
    assert "help" not in properties


NONE: list[tuple[tuple[str | int, ...], str]] = []
OBJECTS = [
    # a class that pydantic reads takes what can be read as the type
    ("0.33.0", "SpeculativeConfig", {"num_speculative_tokens": "4", "method": "ngram", "enforce_eager": "no"}, NONE),
    ("0.33.0", "SpeculativeConfig", {"num_speculative_tokens": True}, NONE),
    (
        "0.33.0", "SpeculativeConfig", {"num_speculative_tokens": "x"},
        [(("num_speculative_tokens",), "Input should be a valid integer")],
    ),
    (
        "0.33.0", "SpeculativeConfig", {"num_speculative_tokens": False},
        [(("num_speculative_tokens",), "not allowed here")],
    ),
    ("0.33.0", "SpeculativeConfig", {"target_model_config": 1}, NONE),
    ("0.33.0", "SpeculativeConfig", {"num-speculative-tokens": 4}, NONE),
    (
        "0.25.1", "SpeculativeConfig", {"num-speculative-tokens": 4},
        [(("num-speculative-tokens",), "Unexpected keyword argument; did you mean 'num_speculative_tokens'?")],
    ),
    ("0.33.0", "WatermarkConfig", {"alpha": 2}, [(("alpha",), "Input should be less than or equal to 1")]),
    ("0.33.0", "CompilationConfig", {"mode": "Vllm_Compile", "pass_config": {"fuse_act_quant": None}}, NONE),
    ("0.33.0", "CompilationConfig", {"mode": 2, "cudagraph_mode": None}, NONE),
    (
        "0.33.0", "CompilationConfig", {"cudagraph_mode": "1"},
        [(("cudagraph_mode",), "Input should be 'NONE', 'PIECEWISE', 'FULL', 'FULL_DECODE_ONLY' or "
          "'FULL_AND_PIECEWISE' or 0, 1 or 2")],
    ),
    (
        "0.33.0", "CompilationConfig", {"pass_config": {"fuse_act_quant": 2}},
        [(("pass_config", "fuse_act_quant"), "Input should be a valid boolean")],
    ),
    (
        "0.33.0", "CompilationConfig", {"pass_config": 1},
        [(("pass_config",), "Input should be a dictionary or an instance of PassConfig")],
    ),
    (
        "0.33.0", "CompilationConfig", {"cudagraph_capture_sizes": [1, "b"]},
        [(("cudagraph_capture_sizes", 1), "Input should be a valid integer")],
    ),
    ("0.33.0", "CompilationConfig", {"custom_ops": "all"}, [(("custom_ops",), "Input should be a valid list")]),
    # any string where the class takes one beside its names
    ("0.33.0", "WeightTransferConfig", {"backend": "mine"}, NONE),
    ("0.33.0", "PoolerConfig", {"pooling_type": "cls"},
     [(("pooling_type",), "Input should be 'CLS', 'LAST', 'MEAN', 'ALL' or 'STEP'")]),
    # unknown keys: dropped, later forbidden; a plain class never took them, and looks at no type
    ("0.15.1", "PoolerConfig", {"nothing": 1, "dimensions": 3}, NONE),
    ("0.16.0", "PoolerConfig", {"nothing": 1}, [(("nothing",), "Unexpected keyword argument")]),
    ("0.8.5", "SpeculativeConfig", {"num_speculative_tokens": "x"}, NONE),
    ("0.8.5", "SpeculativeConfig", {"nothing": 1}, [(("nothing",), "Unexpected keyword argument")]),
    ("0.8.5", "KVTransferConfig", {"kv_rank": "x"}, [(("kv_rank",), "Input should be a valid integer")]),
    ("0.8.5", "KVTransferConfig", {"nothing": 1}, NONE),
    # a release without the class has nothing to say
    ("0.8.5", "WatermarkConfig", {"nothing": 1}, NONE),
]  # fmt: skip


@pytest.mark.parametrize(("version", "name", "value", "expected"), OBJECTS)
def test_refusals(version: str, name: str, value: dict[str, Any], expected: Any) -> None:
    assert refusals(release(version), name, value) == expected


def test_what_only_a_run_can_tell_is_passed_over() -> None:
    from vllm_migrate.model import Dynamic

    some: dict[Any, Any] = {"method": Dynamic("x"), "num_speculative_tokens": Dynamic("n"), "model": ("a", "b")}
    assert refusals(release("0.33.0"), "SpeculativeConfig", some) == [(("model",), "Input should be a valid string")]
    assert refusals(release("0.33.0"), "CompilationConfig", {"cudagraph_capture_sizes": [1, Dynamic("n"), "x"]}) == []


NAMES = ["speculative-config", "--speculative-config", "speculative_config", "SpeculativeConfig"]


@pytest.mark.parametrize("name", NAMES)
def test_an_object_by_any_of_its_names(name: str) -> None:
    assert class_of(release("0.33.0"), name) == "SpeculativeConfig"


def test_an_object_the_release_does_not_have() -> None:
    with pytest.raises(UnknownObject, match=r"0\.8\.5 has no config object 'watermark-config'; it has: compilation"):
        class_of(release("0.8.5"), "watermark-config")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 4)
    | st.floats(-2, 4)
    | st.sampled_from(["", "1", "-1", " 2 ", "1.0", "1.5", "1e2", "nan", "off", "Yes", "ngram", "FULL", "full", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "1"]), inner, max_size=2),
    max_leaves=5,
)
CLASSES = [("0.8.5", "KVTransferConfig"), ("0.11.0", "CompilationConfig"), ("0.33.0", "CompilationConfig"),
           ("0.33.0", "SpeculativeConfig"), ("0.33.0", "KernelConfig"), ("0.33.0", "ProfilerConfig")]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CLASSES), st.data())
def test_both_checkers_agree(which: tuple[str, str], data: st.DataObject) -> None:
    schema = of_object(*which)
    keys = [*schema["$defs"][which[1]]["properties"], "no_such_key"]
    value = data.draw(st.dictionaries(st.sampled_from(keys), VALUES, max_size=3))
    assert bool(problems(schema, value)) == (not VALIDATOR(schema).is_valid(value))
    assert bool(refusals(release(which[0]), which[1], value)) == bool(problems(schema, value))
