"""The miner against the real parsers: each release's own argparse and classes, dumped as JSON.

Needs VLLM_MIGRATE_ORACLE: a folder with `dumps/<version>.json`, and the releases' sources in `src/<version>/`
(or in VLLM_MIGRATE_SOURCES). The dumps check the shipped catalog too, where there are no sources.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from vllm_migrate.catalog import SECTIONS, Catalog, load
from vllm_migrate.catalog.mine import mine
from vllm_migrate.versions_key import key

ORACLE = os.environ.get("VLLM_MIGRATE_ORACLE")
DUMPS = Path(ORACLE) / "dumps" if ORACLE else None
SOURCES = Path(os.environ.get("VLLM_MIGRATE_SOURCES") or (f"{ORACLE}/src" if ORACLE else "/nonexistent"))
VERSIONS = sorted((p.stem for p in DUMPS.glob("*.json")), key=key) if DUMPS and DUMPS.is_dir() else []
MINED = [v for v in VERSIONS if (SOURCES / v).is_dir() and key(v) >= key("0.6.0")]

if not VERSIONS:
    pytest.skip("VLLM_MIGRATE_ORACLE names no folder with dumps of the real parsers", allow_module_level=True)

#: Defaults the release works out from the machine it runs on, or from its torch: the dumps were taken with a
#: newer one than old releases pin.
MACHINE = {
    "LD_LIBRARY_PATH",
    "VLLM_OBJECT_STORAGE_SHM_BUFFER_NAME",
    "VLLM_USE_AOT_COMPILE",
    "VLLM_USE_MEGA_AOT_ARTIFACT",
    "VLLM_WORKER_MULTIPROC_METHOD",  # 0.6.3 to 0.7.2 set it when the command line starts
}
#: Classes of pydantic's older kind: the dumps list dataclasses only, a launch can set these too.
MODELS = {"CompilationConfig", "KVTransferConfig"}
#: A set of two Literals: which of them gives the choices depended on the hash seed of the process.
UNORDERED = {"--guided-decoding-backend"}

Facts = dict[str, dict[str, Any]]


@lru_cache(maxsize=1)
def _catalog() -> Catalog:
    return load()


@lru_cache(maxsize=1)
def _dump(version: str) -> dict[str, Any]:
    assert DUMPS is not None
    data: dict[str, Any] = json.loads((DUMPS / f"{version}.json").read_text())
    return data


def differences(sections: dict[str, Facts], dump: dict[str, Any]) -> list[str]:
    """Return every way in which mined sections disagree with a release's own answers."""
    out: list[str] = []
    out += _options(sections["options"], dump)
    out += _engine_args(sections["engine_args"], dump)
    out += _llm(sections["llm"], dump)
    out += _configs(sections["configs"], dump)
    out += _variables(sections["variables"], dump)
    out += _names("architectures", sections["architectures"], dump["registry"]["architectures"])
    previous = dump["registry"]["previously_supported"]
    mined = {k: v["last"] for k, v in sections["removed_architectures"].items() if "last" in v}
    out += [] if mined == previous else [f"removed_architectures: {mined} is not {previous}"]
    for name in ("tool_parsers", "reasoning_parsers", "kv_connectors"):
        out += _names(name, sections[name], dump[name] or [])
    out += _names("quantization", sections["quantization"], dump["quantization"]["methods"])
    out += _names("attention_backends", sections["attention_backends"], dump["attention_backends"]["members"])
    if dump["distributed_executor_backends"]:
        out += _names("executors", sections["executors"], dump["distributed_executor_backends"])
    methods = (dump["speculative"] or {}).get("method_literals")
    out += _names("speculative_methods", sections["speculative_methods"], methods or [])
    if dump["subcommands"]:
        words = {name.rpartition(" ")[2] for name in sections["subcommands"]}
        missing = sorted(set(dump["subcommands"]) - words)
        out += [f"subcommands: missing {missing}"] if missing else []
    return out


def _names(section: str, mined: Any, real: Any) -> list[str]:
    missing, extra = sorted(set(real) - set(mined)), sorted(set(mined) - set(real))
    out = [f"{section}: missing {missing}"] if missing else []
    return out + ([f"{section}: not in the release {extra}"] if extra else [])


def _options(mined: Facts, dump: dict[str, Any]) -> list[str]:
    out: list[str] = []
    serve = {k: a for k, a in mined.items() if a.get("only") != "api_server"}
    spelled: dict[str, str] = {}
    for name, attrs in serve.items():
        if name.startswith("-"):
            for spelling in (*attrs.get("spellings", [name]), *attrs.get("negative", [])):
                spelled[spelling] = attrs.get("dest") or name.lstrip("-").replace("-", "_")
    real = dump["serve"]["registered_option_strings"]
    out += _names("options", spelled, real)
    out += [f"{s}: dest {spelled[s]}, really {real[s]}" for s in real if spelled.get(s, real[s]) != real[s]]
    only_api = [n for n, a in mined.items() if a.get("only") == "api_server" and n.startswith("-")]
    out += [] if set(only_api) <= set(dump["api_server"].get("only_api_server", only_api)) else [f"{only_api}"]
    for action in dump["serve"]["actions"]:
        strings = action["option_strings"] or [action["dest"]]
        name = next((s for s in strings if s.startswith("--")), strings[0])
        attrs = serve.get(name)
        if attrs is None:
            out.append(f"{name}: not mined")
            continue
        if attrs.get("nargs") != action["nargs"]:
            out.append(f"{name}: nargs {attrs.get('nargs')}, really {action['nargs']}")
        choices = attrs.get("choices")
        if name in UNORDERED and key(dump["version"]) < key("0.9.0"):
            continue
        if choices != action["choices"] and not attrs.get("choices_computed"):
            out.append(f"{name}: choices {choices}, really {action['choices']}")
        out += _default(name, attrs, action["default_value"])
    return out


def _default(name: str, attrs: dict[str, Any], real: Any) -> list[str]:
    if real == "==SUPPRESS==":
        return []
    literal = not (isinstance(real, dict) and "__repr__" in real)
    if attrs.get("computed"):
        return [f"{name}: default not mined, really {real!r}"] if literal else []
    mined = attrs.get("default")
    if attrs.get("required") and real is None:
        return []
    return [] if _same(mined, real) else [f"{name}: default {mined!r}, really {real!r}"]


def _same(mined: Any, real: Any) -> bool:
    if isinstance(mined, list) and isinstance(real, list):
        return sorted(map(repr, mined)) == sorted(map(repr, real))
    return bool(mined == real) and type(mined) is type(real)


def _engine_args(mined: Facts, dump: dict[str, Any]) -> list[str]:
    engine = {f["name"]: f for f in dump["engine_args"] if f["init"]}
    both = {f["name"]: f for f in dump["async_engine_args"] if f["init"]}
    out = _names("engine_args", mined, both)
    only = {n for n, a in mined.items() if a.get("async_only")}
    out += [] if only == set(both) - set(engine) else [f"engine_args: async_only {sorted(only)}"]
    for name, field in both.items():
        if name in mined:
            out += _default(f"EngineArgs.{name}", mined[name], field["default_value"])
    return out


def _llm(mined: Facts, dump: dict[str, Any]) -> list[str]:
    real = {p["name"] if p["kind"] != "VAR_KEYWORD" else "**": p for p in dump["llm_init"]}
    out = _names("llm", mined, real)
    for name, parameter in real.items():
        keyword_only = parameter["kind"] == "KEYWORD_ONLY"
        if name in mined and mined[name].get("keyword_only", False) != keyword_only:
            out.append(f"LLM.{name}: keyword only {not keyword_only}")
        required = parameter.get("default") == "<required>"
        if name in mined and name != "**" and mined[name].get("required", False) != required:
            out.append(f"LLM.{name}: required {not required}")
    return out


def _configs(mined: Facts, dump: dict[str, Any]) -> list[str]:
    real = dump["configs"] or {}
    known = {n for n in real if "fields" in real[n]}
    out = _names("configs", {n for n in mined if "." not in n and n not in MODELS - known}, known)
    for cls, about in real.items():
        fields = {f["name"]: f for f in about.get("fields", ())}
        own = {n.partition(".")[2]: a for n, a in mined.items() if n.startswith(cls + ".")}
        out += _names(cls, own, fields)
        if cls in mined and about.get("extra") and mined[cls]["extra"] != about["extra"]:
            out.append(f"{cls}: extra {mined[cls]['extra']}, really {about['extra']}")
        for name, field in fields.items():
            if name not in own:
                continue
            if own[name].get("init", True) != field["init"]:
                out.append(f"{cls}.{name}: init {field['init']}")
            if field["resolved_type"] and own[name].get("choices") != field["literals"]:
                out.append(f"{cls}.{name}: choices {own[name].get('choices')}, really {field['literals']}")
            if not field["default"].startswith("factory:<"):
                out += _default(f"{cls}.{name}", own[name], field["default_value"])
    return out


def _variables(mined: Facts, dump: dict[str, Any]) -> list[str]:
    own = {n: a for n, a in mined.items() if not a.get("direct")}
    real = dump["envs"]
    out = _names("variables", own, real)
    for name, about in real.items():
        if name not in own:
            continue
        if about.get("choices") and own[name].get("choices") != about["choices"]:
            out.append(f"{name}: choices {own[name].get('choices')}, really {about['choices']}")
        if not about["error"] and name not in MACHINE:
            out += _default(name, own[name], about["default_value"])
    return out


@pytest.mark.parametrize("version", MINED)
def test_mined_release_agrees_with_its_own_parser(version: str) -> None:
    assert differences(mine(SOURCES / version, version).sections, _dump(version)) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_shipped_release_agrees_with_its_own_parser(version: str) -> None:
    catalog = _catalog()
    if version not in catalog.releases:
        pytest.skip(f"the catalog does not hold {version}")
    release = catalog.release(version)
    assert differences({name: release.section(name) for name in SECTIONS}, _dump(version)) == []
