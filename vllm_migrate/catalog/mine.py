"""Mines one release: every section from its source, none of its code run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any

from vllm_migrate.catalog import mine_tables as tables
from vllm_migrate.catalog.history import SECTIONS, Facts
from vllm_migrate.catalog.interp import Interpreter
from vllm_migrate.catalog.interp_values import Raised, Stop, Unsupported
from vllm_migrate.catalog.mine_checks import class_checks, mine_checks
from vllm_migrate.catalog.mine_http import Http, mine_sampling_params
from vllm_migrate.catalog.mine_metrics import mine_metrics
from vllm_migrate.catalog.mine_options import mine_options, prepare
from vllm_migrate.catalog.mine_release import mine_release
from vllm_migrate.catalog.source import MineError, Tree
from vllm_migrate.lazy import dataclass
from vllm_migrate.versions_key import key

#: A release without any of these does not exist; an empty result means the source was not understood.
MANDATORY: dict[str, str] = {
    "options": "vllm/entrypoints",
    "engine_args": "vllm/engine/arg_utils.py",
    "llm": "vllm/entrypoints/llm.py",
    "configs": "vllm/config",
    "variables": "vllm/envs.py",
    "architectures": "vllm/model_executor/models/registry.py",
    "quantization": "vllm/model_executor/layers/quantization/__init__.py",
    "attention_backends": "vllm/v1/attention/backends/registry.py",
    "executors": "vllm/config/parallel.py",
    "load_formats": "vllm/model_executor/model_loader/__init__.py",
    "metrics": "vllm/v1/metrics/loggers.py",
    "modules": "vllm",
    "subcommands": "vllm/entrypoints/cli",
    "endpoints": "vllm/entrypoints",
    "request_fields": "vllm/entrypoints/**/protocol.py",
    "response_fields": "vllm/entrypoints/**/protocol.py",
    "sampling_params": "vllm/sampling_params.py",
}


@dataclass
class Mined:
    """What one source says. notes: what it does not tell, or what could not be followed."""

    version: str
    source: Path
    release: dict[str, Any]
    sections: dict[str, Facts]
    notes: list[str] = field(default_factory=list)


def mine(path: Path, version: str | None = None) -> Mined:
    """Mine an unpacked tree, a source archive or a wheel.

    version: overrides what the source says it is. Raises MineError, naming file and section, where the
    source is none of these, is too large, tells no version, or has an empty mandatory section.
    """
    tree = Tree(path)
    version = version or tree.version()
    if version is None:
        raise MineError(f"{path}: no version in it; give one with --version")
    try:
        key(version)
    except ValueError as error:
        raise MineError(f"{path}: {error}") from error
    version = version.removeprefix("v").partition("+")[0]
    interp = Interpreter(tree)
    try:
        http = Http(tree)
        sections = _sections(interp, tree, http)
    except Stop as stop:
        raise MineError(f"{path}: {stop}: is this a vLLM source tree?") from stop
    except RecursionError as error:
        raise MineError(f"{path}: nested too deep: is this a vLLM source tree?") from error
    for name, where in MANDATORY.items():
        if not sections[name]:
            raise MineError(f"{path}: {where}: section {name} came out empty")
    release, notes = mine_release(tree, version)
    return Mined(version, path, release, sections, [*notes, *http.notes, *dict.fromkeys(_relevant(interp.notes))])


def _sections(interp: Interpreter, tree: Tree, http: Http) -> dict[str, Facts]:
    prepare(interp)
    tables.read_registries(interp)
    options = mine_options(interp, tree)
    configs = _guarded("configs", tree, lambda: tables.mine_configs(interp, tree))
    architectures, removed = tables.mine_architectures(tree)
    readers: dict[str, Callable[[], Facts]] = {
        "engine_args": lambda: tables.mine_engine_args(interp),
        "llm": lambda: tables.mine_llm(interp),
        "variables": lambda: tables.mine_variables(interp, tree),
        "tool_parsers": lambda: tables.mine_parsers(interp, "tool_parsers"),
        "reasoning_parsers": lambda: tables.mine_parsers(interp, "reasoning_parsers"),
        "quantization": lambda: tables.mine_quantization(interp),
        "attention_backends": lambda: tables.mine_backends(interp),
        "executors": lambda: tables.mine_executors(interp, options),
        "kv_connectors": lambda: tables.mine_kv_connectors(interp),
        "load_formats": lambda: tables.mine_load_formats(interp, options),
        "speculative_methods": lambda: tables.mine_speculative_methods(configs),
        "metrics": lambda: mine_metrics(tree),
        "modules": lambda: tables.mine_modules(tree),
        "subcommands": lambda: tables.mine_subcommands(interp, tree),
        "endpoints": http.endpoints,
        "request_fields": http.request_fields,
        "response_fields": http.response_fields,
        "sampling_params": lambda: mine_sampling_params(tree),
        "checks": lambda: mine_checks(tree),
    }
    out = {name: _guarded(name, tree, reader) for name, reader in readers.items()}
    tables.name_configs(options, configs)
    tables.name_configs(out["engine_args"], configs)
    tables.name_configs(out["llm"], configs)
    given = {a.get("config") for facts in (options, out["engine_args"], configs) for a in facts.values()}
    for name, checks in class_checks(tree, {str(n) for n in given if n}).items():
        if name in configs:
            configs[name]["checks"] = checks
    out |= {"options": options, "configs": configs}
    out |= {"architectures": architectures, "removed_architectures": removed}
    return {name: out[name] for name in SECTIONS}


def _guarded(section: str, tree: Tree, reader: Callable[[], Facts]) -> Facts:
    try:
        return reader()
    except (Raised, Unsupported) as error:
        raise MineError(f"{tree.path}: section {section}: {error}") from error


def _relevant(notes: list[str]) -> list[str]:
    """Keep what concerns the command line; elsewhere an unknown value costs nothing."""
    about = re.compile(
        r"vllm/engine/arg_utils|vllm/entrypoints/(\w+/)*(cli_args|serve)\.py|make_arg_parser|subparser_init"
    )
    return [n for n in notes if about.match(n)]
