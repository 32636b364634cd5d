"""Finds calls that configure an engine: `LLM(...)`, `EngineArgs(...)`, `engine_kwargs=dict(...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from vllm_migrate import wrappers
from vllm_migrate.hosts.python_edit import Plan
from vllm_migrate.hosts.python_maps import Found, Maps
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.yaml_names import settings_kind
from vllm_migrate.launch import launchers
from vllm_migrate.lazy import regex
from vllm_migrate.model import Entry, Site
from vllm_migrate.text import Edit

_KEBAB = regex(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?:\.[\w-]+)*")
_KEYWORD = regex(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_ARGUMENTS = regex(r"(?:\w+_)?vllm_(?:engine_|serve_|server_)?(?:args|kwargs)")
_OURS = regex(r"(?i)(?=\w*vllm)\w*(?:config|args|settings|options)")


def read_calls(module: Module, maps: Maps) -> Iterator[tuple[Site, ast.AST]]:
    """Yield every site in keyword form, with its node."""
    callables: dict[str, str] = {**wrappers.callables(), **launchers()["callables"]}
    for node in module.nodes:
        if isinstance(node, ast.Call):
            entry_point = _surface(callables, module.dotted(node.func))
            skip = 0
            if entry_point is None and module.dotted(node.func) in ("functools.partial", "partial") and node.args:
                entry_point = _surface(callables, module.dotted(node.args[0]))
                skip = 1
            if entry_point is not None:
                site = _construction(module, maps, node, entry_point, skip)
                if site is not None:
                    yield site, node
                continue
            for keyword in node.keywords:
                by_engine = _by_engine(keyword.value)
                if keyword.arg == "engine_kwargs" and _engine_kwargs(module, node) and not by_engine:
                    yield _mapping(module, maps, keyword.value), keyword.value
        elif isinstance(node, ast.Dict):
            if (_flags(node) and _engine_settings(module, node)) or (_plain(node) and _called_ours(module, node)):
                yield _of_flags(module, maps, node), node
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "engine_kwargs" and not _by_engine(value):
                    yield _mapping(module, maps, value), value


def _surface(callables: dict[str, str], name: str) -> str | None:
    """Return the keyword surface of a callable; modules of the package hand its classes on under their own names."""
    known = callables.get(name)
    if known is None and name.startswith("vllm."):
        names: dict[str, str] = launchers()["callable_names"]
        known = names.get(name.rpartition(".")[2])
    return known


def _flags(node: ast.Dict) -> bool:
    """Tell whether every key of a dictionary is an option of a command line."""
    names = [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    if not names or len(names) < len(node.keys):
        return False
    return all(n.startswith("--") for n in names) or (
        any("-" in n for n in names) and all(_KEBAB.fullmatch(n) for n in names)
    )


def _plain(node: ast.Dict) -> bool:
    """Tell whether every key of a dictionary could be a keyword."""
    names = [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    return bool(names) and len(names) == len(node.keys) and all(_KEYWORD.fullmatch(n) for n in names)


def _called_ours(module: Module, node: ast.Dict) -> bool:
    """Tell whether a dictionary is called vLLM's arguments by the key or keyword that holds it."""
    parent = module.parents.get(node)
    if isinstance(parent, ast.keyword):
        return _ARGUMENTS.fullmatch(parent.arg or "") is not None
    if not isinstance(parent, ast.Dict):
        return False
    keys = [k for k, v in zip(parent.keys, parent.values, strict=True) if v is node]
    return any(isinstance(k, ast.Constant) and _ARGUMENTS.fullmatch(str(k.value)) for k in keys)


def _engine_settings(module: Module, node: ast.AST) -> bool:
    """Tell whether a dictionary is, or lies in, what is called the settings of an engine."""
    for _ in range(4):
        parent = module.parents.get(node)
        if isinstance(parent, (ast.BoolOp, ast.IfExp)):
            node = parent
            continue
        if isinstance(parent, ast.keyword):
            call = module.parents.get(parent)
            maker = module.dotted(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
            return settings_kind(parent.arg or "") == "strong" or _OURS.fullmatch(maker) is not None
        if not isinstance(parent, ast.Dict):
            return False
        keys = [k for k, v in zip(parent.keys, parent.values, strict=True) if v is node]
        if any(isinstance(k, ast.Constant) and settings_kind(str(k.value)) == "strong" for k in keys):
            return True
        node = parent
    return False


def _of_flags(module: Module, maps: Maps, node: ast.Dict) -> Site:
    cluster = maps.cluster(node, "entry")
    found = maps.read(node, "entry", cluster)
    site = Site("values", "python", module.region, module.span(node), entry_home=cluster, hollow=True)
    site.entries = [i for i in found.items if isinstance(i, Entry)]
    site.open = True
    return site


def _by_engine(node: ast.expr) -> bool:
    """Tell whether settings are kept apart by the name of an engine: `{"nccl": {…}}`."""
    if not isinstance(node, ast.Dict) or not node.keys:
        return False
    names = [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    plain = len(names) == len(node.keys) and all(n.isalnum() for n in names)
    return plain and all(isinstance(v, ast.Dict) for v in node.values)


def _engine_kwargs(module: Module, call: ast.Call) -> bool:
    name = module.dotted(call.func) or module.raw(call.func)
    return "sglang" not in name.lower() and "vllm" not in name.split(".")[:1]


def _construction(module: Module, maps: Maps, call: ast.Call, entry_point: str, skip: int) -> Site | None:
    bracket = maps.bracket(call)
    if bracket is None:
        return None
    cluster = maps.cluster(call, "entry")
    cluster.home = bracket
    site = Site(entry_point, "python", module.region, module.span(call), entry_home=cluster)
    found = Found()
    if len(call.args) > skip:
        first = call.args[skip]
        if isinstance(first, ast.Starred):
            found.open = True
        elif skip == 0:
            entry = maps.positional(call, "model", cluster)
            if entry is not None:
                found.items.append(entry)
        found.open = found.open or len(call.args) > skip + 1
    found.join(maps.keywords(call, "entry", cluster))
    site.entries = [i for i in found.items if isinstance(i, Entry)]
    site.open = found.open
    guard = module.guard(call)
    for entry in site.entries:
        entry.guarded = entry.guarded or guard
    return site


def _mapping(module: Module, maps: Maps, node: ast.expr) -> Site:
    cluster = maps.cluster(node, "entry")
    found = maps.read(node, "entry", cluster)
    home = cluster
    if cluster.home is None and len(found.builds) == 1:
        home = maps.cluster(found.builds[0], "entry")
    site = Site("EngineArgs", "python", module.region, module.span(node), entry_home=home, hollow=True)
    if isinstance(node, (ast.Dict, ast.Call)):
        inner, parent = maps.bracket(node), module.parents.get(node)
        call = module.parents.get(parent) if isinstance(parent, ast.keyword) else None
        if inner is not None and isinstance(parent, ast.keyword) and isinstance(call, ast.Call):
            outer = maps.bracket(call)
            if outer is not None:
                index, holder = outer.index(parent), outer

                def gone(plan: Plan) -> list[Edit]:
                    plan.of(holder).removed.add(index)
                    return []

                cluster.empty.setdefault(id(inner), gone)
    site.entries = [i for i in found.items if isinstance(i, Entry)]
    site.open = found.open
    return site
