"""Mines the sections that are tables in the source: keywords, config classes, variables, registries."""

from __future__ import annotations

import ast
import enum
import re
import typing
from typing import Any

from vllm_migrate.catalog.hints import reading
from vllm_migrate.catalog.history import Attrs, Facts
from vllm_migrate.catalog.interp import Interpreter
from vllm_migrate.catalog.interp_classes import class_attribute, dataclass_fields, default_of
from vllm_migrate.catalog.interp_values import (
    MISSING,
    Bound,
    ClassInfo,
    FieldObject,
    Function,
    ImportRef,
    Raised,
    Unsupported,
)
from vllm_migrate.catalog.mine_hints import hint_of, short
from vllm_migrate.catalog.plain import config_class, hint_text, hint_values, plain, put_default
from vllm_migrate.catalog.source import Tree

_PARSER_PACKAGES = {
    "tool_parsers": ("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers"),
    "reasoning_parsers": ("vllm.reasoning", "vllm.entrypoints.openai.reasoning_parsers"),
}
_BACKENDS = (
    ("vllm.v1.attention.backends.registry", "AttentionBackendEnum"),
    ("vllm.attention.backends.registry", "AttentionBackendEnum"),
    ("vllm.attention.backends.registry", "_Backend"),
    ("vllm.platforms.interface", "_Backend"),
    ("vllm.attention.selector", "_Backend"),
)


def read_registries(interp: Interpreter) -> None:
    """Read every module that registers a parser on import, in the order their packages import them."""
    for packages in _PARSER_PACKAGES.values():
        for package in packages:
            module = interp.load(package)
            for value in list(module.globals.values()) if module is not None else ():
                if isinstance(value, ImportRef) and value.module.startswith(package):
                    interp.load(value.module)


def field_attrs(interp: Interpreter, field: FieldObject) -> Attrs:
    """Return type, choices, default and nested config class of a dataclass field."""
    attrs: Attrs = {"type": hint_text(field.type)}
    choices = hint_values(field.type)
    if choices:
        attrs["choices"] = choices
    put_default(attrs, default_of(interp, field))
    nested = config_class(field.type, lambda c: c in interp.infos and interp.infos[c].dataclass)
    if nested is not None:
        attrs["config"] = nested
    if not field.init:
        attrs["init"] = False
    return attrs


def mine_engine_args(interp: Interpreter) -> Facts:
    out: Facts = {}
    for cls_name, async_only in (("AsyncEngineArgs", True), ("EngineArgs", False)):
        cls = interp.lookup("vllm.engine.arg_utils", cls_name)
        for field in dataclass_fields(interp, cls) if isinstance(cls, type) else ():
            attrs = field_attrs(interp, field)
            if field.init:
                out[field.name] = {**attrs, "async_only": True} if async_only else attrs
    return dict(sorted(out.items()))


def mine_llm(interp: Interpreter) -> Facts:
    """Return the parameters of `LLM(...)`."""
    cls = interp.lookup("vllm.entrypoints.llm", "LLM")
    init = class_attribute(interp, cls, "__init__") if isinstance(cls, type) else None
    if isinstance(init, Bound):
        init = init.function
    if not isinstance(init, Function):
        return {}
    spec = init.node.args
    positional = [*spec.posonlyargs, *spec.args]
    with_default = [a.arg for a in positional][len(positional) - len(init.defaults) :]
    defaults = dict(zip(with_default, init.defaults, strict=True))
    out: Facts = {}
    for argument in (*positional[1:], *spec.kwonlyargs):
        attrs: Attrs = {}
        if argument.annotation is not None:
            attrs["type"] = hint_text(interp.try_eval(argument.annotation, init.scope))
        default = defaults.get(argument.arg, init.kw_defaults.get(argument.arg, MISSING))
        put_default(attrs, default)
        if argument in spec.kwonlyargs:
            attrs["keyword_only"] = True
        out[argument.arg] = attrs
    if spec.kwarg is not None:
        out["**"] = {}
    return dict(sorted(out.items()))


def mine_configs(interp: Interpreter, tree: Tree) -> Facts:
    """Return every dataclass that `vllm.config` or one of its modules holds, and their fields."""
    classes: dict[str, type] = {}
    names = ["vllm.config"]
    names += [p.removesuffix(".py").replace("/", ".") for p in tree.names(r"vllm/config/[a-z0-9_]+\.py")]
    for module_name in names:
        module = interp.load(module_name)
        for name in list(module.globals) if module is not None else ():
            value = interp.module_attribute(module, name) if module is not None else None
            if isinstance(value, type) and value in interp.infos and interp.infos[value].dataclass:
                classes.setdefault(name, value)
    out: Facts = {}
    dashed = _dashed_classes(tree)
    for name, cls in classes.items():
        out[name] = class_attrs(interp.infos[cls])
        if name in dashed:
            out[name]["dashes"] = True
        for field in dataclass_fields(interp, cls):
            attrs = field_attrs(interp, field)
            if "checked" in out[name]:
                infos = [interp.infos[c] for c in dict.fromkeys((field.owner or cls, cls))]
                hint = hint_of(field, infos, lambda c: classes.get(c.__name__) is c)
                if hint != reading(attrs, classes):
                    attrs["hint"] = short(hint, attrs)
            out[f"{name}.{field.name}"] = attrs
    return dict(sorted(out.items()))


def class_attrs(info: ClassInfo) -> Attrs:
    """Return what a config class does with keys it lacks, and whether it looks at the types of values.

    A plain class raises for an unknown key and takes any value, unless its `from_cli` has pydantic read it.
    """
    if info.pydantic:
        return {"extra": info.extra or "ignore", "checked": True}
    reads = f"TypeAdapter({info.node.name}).validate_json"
    methods = [n for n in info.node.body if isinstance(n, ast.FunctionDef) and n.name == "from_cli"]
    read = any(reads in ast.unparse(n) for n in methods)
    return {"extra": "ignore", "checked": True} if read else {"extra": "forbid"}


def _dashed_classes(tree: Tree) -> set[str]:
    """Return the config classes whose keys the engine arguments read with `-` for `_`."""
    out: set[str] = set()
    for node in ast.walk(tree.parse("vllm/engine/arg_utils.py")):
        if isinstance(node, ast.FunctionDef) and ".replace('-', '_')" in ast.unparse(node):
            out |= set(re.findall(r"\b(\w+Config)\(\*\*", ast.unparse(node)))
    return out


def name_configs(facts: Facts, configs: Facts) -> None:
    """Say which config class a JSON option or keyword becomes, where its own type does not say it.

    The classes are those of the fields of the same name, the outermost config first.
    """
    holders = sorted((n for n in configs if "." in n), key=lambda n: not n.startswith("VllmConfig."))
    by_field: dict[str, str] = {}
    for name in holders:
        nested = configs[name].get("config")
        if nested is not None:
            by_field.setdefault(name.partition(".")[2], nested)
    for name, attrs in facts.items():
        field = attrs.get("dest") or name.lstrip("-").replace("-", "_")
        takes_json = "json" in attrs.get("type", "") or "dict" in attrs.get("type", "")
        if takes_json and field in by_field:
            attrs.setdefault("config", by_field[field])


def mine_variables(interp: Interpreter, tree: Tree) -> Facts:
    """Return what envs.py knows, and VLLM_ names other modules read by themselves (`direct`)."""
    table = interp.lookup("vllm.envs", "environment_variables")
    if not isinstance(table, dict) or not table:
        return {}
    out: Facts = {}
    types = _declared_types(tree)
    for name, getter in table.items():
        attrs: Attrs = {}
        if name in types:
            attrs["type"] = types[name]
        try:
            put_default(attrs, interp.call(getter, [], {}))
        except (Raised, Unsupported):
            attrs["computed"] = True
        choices = _variable_choices(interp, getter)
        if choices:
            attrs["choices"] = choices
        if not name.startswith("VLLM_"):
            attrs["foreign"] = True
        out[name] = attrs
    for name in _read_directly(tree):
        out.setdefault(name, {"direct": True})
    return dict(sorted(out.items()))


def _declared_types(tree: Tree) -> dict[str, str]:
    out: dict[str, str] = {}
    for node in tree.parse("vllm/envs.py").body:
        for inner in node.body if isinstance(node, ast.If) else ():
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                text = ast.unparse(inner.annotation)
                at, last = text.find("Optional["), text.rfind("]")
                if 0 <= at < last:
                    text = f"{text[:at]}{text[at + len('Optional['):last]} | None{text[last + 1:]}"
                out[inner.target.id] = "str" if text.startswith("Literal[") else text
    return out


def _variable_choices(interp: Interpreter, getter: Any) -> list[Any]:
    if not isinstance(getter, Function) or getter.scope.parent is None:
        return []
    choices = getter.scope.names.get("choices")
    if isinstance(choices, Function):
        try:
            choices = interp.call(choices, [], {})
        except (Raised, Unsupported):
            return []
    stored = plain(choices)
    return stored if isinstance(stored, list) else []


def _read_directly(tree: Tree) -> list[str]:
    # An assignment (`environ["X"] = …`) sets a variable for others; it reads nothing.
    read = re.compile(
        r"""(?:environ(?:\.get|\.pop|\.setdefault)?|getenv)\s*[\[(]\s*["'](VLLM_[A-Z0-9_]+)["'](?!\s*\]\s*=[^=])"""
        r"""|["'](VLLM_[A-Z0-9_]+)["'] (?:not )?in os\.environ"""
    )
    found: set[str] = set()
    for path in (*tree.names(r"vllm/.+\.py"), "setup.py"):
        text = tree.read(path)
        if "VLLM_" in text:
            found |= {a or b for a, b in read.findall(text)}
    return sorted(found)


def mine_architectures(tree: Tree) -> tuple[Facts, Facts]:
    """Return the registry's models, and those it says it no longer has (or left to a plugin)."""
    path = "vllm/model_executor/models/registry.py"
    if not tree.has(path):
        path = "vllm/model_executor/models/__init__.py"
    found: Facts = {}
    gone: Facts = {}
    for node in tree.parse(path).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not isinstance(target, ast.Name) or not isinstance(getattr(node, "value", None), ast.Dict):
            continue
        table = target.id
        entries = _constant_keys(typing.cast(ast.Dict, node.value))  # type: ignore[attr-defined]
        if "PREVIOUSLY" in table:
            gone |= {k: {"last": v} for k, v in entries.items()}
        elif "OOT_SUPPORTED" in table:
            for name, plugin in entries.items():
                gone.setdefault(name, {})["plugin"] = plugin
        elif table.endswith("MODELS") and not re.search("SUBMODULE|OOT|PREV", table):
            for name in entries:
                found.setdefault(name, {"table": table.strip("_").removesuffix("_MODELS").lower()})
    return dict(sorted(found.items())), dict(sorted(gone.items()))


def _constant_keys(node: ast.Dict) -> dict[str, Any]:
    return {
        key.value: value.value if isinstance(value, ast.Constant) else None
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def mine_parsers(interp: Interpreter, section: str) -> Facts:
    manager_name = "ToolParserManager" if section == "tool_parsers" else "ReasoningParserManager"
    for package in _PARSER_PACKAGES[section]:
        if interp.module_path(package) is None:
            continue
        manager = interp.lookup(package, manager_name)
        if not isinstance(manager, type):
            continue
        try:
            method = class_attribute(interp, manager, "list_registered")
            names = interp.call(method, [], {})
        except Raised:
            names = class_attribute(interp, manager, section)
        return _names(names)
    return {}


def _names(value: Any) -> Facts:
    stored = plain(list(value) if isinstance(value, (dict, set)) else value)
    if not isinstance(stored, list):
        return {}
    return {str(name): {} for name in sorted(stored)}


def mine_quantization(interp: Interpreter) -> Facts:
    module = "vllm.model_executor.layers.quantization"
    out = _names(interp.lookup(module, "QUANTIZATION_METHODS"))
    loaded = interp.load(module)
    for name in loaded.globals if loaded is not None else ():
        if "DEPRECATED" in name:
            for method in _names(interp.lookup(module, name)):
                if method in out:
                    out[method] = {"deprecated": True}
    return out


def mine_backends(interp: Interpreter) -> Facts:
    for module, name in _BACKENDS:
        if interp.module_path(module) is None:
            continue
        found = interp.lookup(module, name)
        if isinstance(found, type) and issubclass(found, enum.Enum):
            return {member: {} for member in sorted(found.__members__)}
    return {}


def mine_kv_connectors(interp: Interpreter) -> Facts:
    module = "vllm.distributed.kv_transfer.kv_connector.factory"
    if interp.module_path(module) is None:
        return {}
    factory = interp.lookup(module, "KVConnectorFactory")
    if not isinstance(factory, type) or "_registry" not in interp.infos[factory].namespace:
        return {}  # before there was a registry
    return _names(class_attribute(interp, factory, "_registry"))


def mine_executors(interp: Interpreter, options: Facts) -> Facts:
    for module in ("vllm.config.parallel", "vllm.config"):
        if interp.module_path(module) is None:
            continue
        found = hint_values(interp.lookup(module, "DistributedExecutorBackend"))
        if found:
            return {str(v): {} for v in sorted(found)}
    return {str(v): {} for v in sorted(options.get("--distributed-executor-backend", {}).get("choices", ()))}


def mine_load_formats(interp: Interpreter, options: Facts) -> Facts:
    found = hint_values(interp.lookup("vllm.model_executor.model_loader", "LoadFormats"))
    if not found:
        cls = interp.lookup("vllm.config", "LoadFormat")
        if isinstance(cls, type) and issubclass(cls, enum.Enum):
            found = [m.value for m in cls]
    found = found or options.get("--load-format", {}).get("choices", [])
    return {str(v): {} for v in sorted(found)}


def mine_speculative_methods(configs: Facts) -> Facts:
    choices = configs.get("SpeculativeConfig.method", {}).get("choices", ())
    return {str(v): {} for v in sorted(map(str, choices))}


def mine_modules(tree: Tree) -> Facts:
    """Return importable module paths; bundled copies of other projects are left out."""
    out: Facts = {}
    for path in tree.names(r"vllm/.+\.py|vllm/__init__\.py"):
        if re.match(r"vllm/(third_party|vllm_flash_attn)/.+/", path) or path == "vllm/_version.py":
            continue
        if not all(part.isidentifier() for part in path.removesuffix(".py").split("/")):
            continue
        out[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = {}
    return dict(sorted(out.items()))


def mine_subcommands(interp: Interpreter, tree: Tree) -> Facts:
    """Return the words after `vllm`; those of a group are written with it (`bench serve`)."""
    out: Facts = {}
    for path in tree.names(r"vllm/entrypoints/cli/.+\.py"):
        for node in ast.walk(tree.parse(path)):
            if not isinstance(node, ast.ClassDef):
                continue
            name = _class_name_attribute(node)
            if name is not None:
                bases = " ".join(ast.unparse(b) for b in node.bases)
                group = "bench " if "Benchmark" in bases and "/benchmark/" in path and name != "bench" else ""
                group = "launch " if "Launch" in bases and name != "launch" else group
                out[group + name] = {}
    if not out:
        for name in re.findall(r"""add_parser\(\s*["']([a-z-]+)["']""", tree.read("vllm/scripts.py")):
            out[name] = {}
    return dict(sorted(out.items()))


def _class_name_attribute(node: ast.ClassDef) -> str | None:
    for statement in node.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        value = getattr(statement, "value", None)
        if isinstance(target, ast.Name) and target.id == "name" and isinstance(value, ast.Constant):
            return str(value.value)
    # Older classes say it in their constructor.
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign) and ast.unparse(inner.targets[0]) == "self.name":
            return str(inner.value.value) if isinstance(inner.value, ast.Constant) else None
    return None
