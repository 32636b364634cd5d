"""Finds, reads and checks the configuration file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vllm_migrate.config import Config, ConfigError, from_mapping
from vllm_migrate.lazy import regex
from vllm_migrate.paths import schemas_dir
from vllm_migrate.plainfile import read_file

if TYPE_CHECKING:
    from vllm_migrate.schemacheck import Place

YAML_NAME = ".vllm-migrate.yaml"
_LARGEST = 1 << 20
_LONGEST = 1_000
_DEEPEST = 30
_MOST = 20_000
_TABLE = "vllm-migrate"


def find(folder: Path) -> Path | None:
    """Return the configuration file of a folder, or None. Raises ConfigError where there are two."""
    found = [path for path in (folder / YAML_NAME, folder / "pyproject.toml") if _holds_config(path)]
    if len(found) > 1:
        raise ConfigError(f"{found[0]}: {found[1].name} has a table [tool.{_TABLE}] too; keep one of the two")
    return found[0] if found else None


def _holds_config(path: Path) -> bool:
    if path.name == YAML_NAME:
        return os.path.lexists(path)
    if path.is_symlink() and not _inside(path, path.parent):
        return False
    try:
        raw = read_file(path, _LARGEST)
    except OSError:
        return False
    # A cheap look first: most pyproject files say nothing about this tool and need no parser.
    if _TABLE.encode() not in raw or b"tool" not in raw:
        return False
    return _TABLE in _tool_tables(_toml(path, raw))


def _inside(path: Path, folder: Path) -> bool:
    """Tell whether what a path leads to lies in a folder."""
    try:
        return folder.resolve() in path.resolve().parents
    except (OSError, RuntimeError, ValueError):
        return False


def load(path: Path, *, named: bool = False) -> Config:
    """Return the settings of a configuration file.

    named: a person named the file; one that was only found may not name files outside its folder.

    Raises ConfigError naming the file, and the key and line where they are known, for a file that cannot
    be read, does not parse, or does not fit the schema.
    """
    if not named and path.is_symlink() and not _inside(path, path.parent):
        raise ConfigError(f"{path}: a symbolic link out of {path.parent}; --config {path} allows that")
    try:
        raw = read_file(path, _LARGEST)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if path.suffix == ".toml":
        data, line_of = _toml_table(path, raw)
    else:
        data, line_of = _yaml_table(path, raw)
    from vllm_migrate.schemacheck import problems

    schema = json.loads((schemas_dir() / "config.schema.json").read_text(encoding="utf-8"))
    try:
        found = problems(schema, data)
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    if found:
        lines = []
        for place, message in found:
            key = ".".join(str(p) for p in place)
            where = f"{path}:{line_of(place)}"
            lines.append(f"{where}: {key}: {message}" if key else f"{where}: {message}")
        raise ConfigError(*lines)
    base = path.resolve().parent if named else path.parent.resolve()
    if not named:
        _stay_inside(path, data, base, line_of)
    return from_mapping(data, base, path)


_FILES = ("baseline", "migrations", "wrappers", "catalog")


def _stay_inside(path: Path, data: dict[str, Any], base: Path, line_of: Callable[[Place], int]) -> None:
    """Raise ConfigError where a file of somebody's repository names a file that is not part of it."""
    for key in _FILES:
        names = data.get(key, ())
        for name in (names,) if isinstance(names, str) else names:
            if not _inside(base / name, base):
                where = f"{path}:{line_of((key,))}: {key}"
                raise ConfigError(f"{where}: {name!r} lies outside {base}; --config {path} allows that")


def _decode(path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None


def _toml(path: Path, raw: bytes) -> dict[str, Any]:
    from vllm_migrate.tomltext import TomlError, loads

    try:
        return loads(_decode(path, raw))
    except TomlError as error:
        where = f"{path}:{error.line}" if error.line is not None else str(path)
        raise ConfigError(f"{where}: not TOML: {error}") from None


def _tool_tables(data: dict[str, Any]) -> dict[str, Any]:
    tool = data.get("tool", {})
    return tool if isinstance(tool, dict) else {}


def _toml_table(path: Path, raw: bytes) -> tuple[Any, Callable[[Place], int]]:
    data = _toml(path, raw)
    tables = _tool_tables(data)
    # A file of its own, named with --config, may hold the keys at its top.
    own = _TABLE in tables or path.name == "pyproject.toml"
    table = tables.get(_TABLE, {}) if own else data
    prefix = ("tool", _TABLE) if own else ()
    lines = _toml_lines(_decode(path, raw))

    def line_of(place: Place) -> int:
        keys = (*prefix, *(str(p) for p in place if isinstance(p, str)))
        for length in range(len(keys), 0, -1):
            if keys[:length] in lines:
                return lines[keys[:length]]
        return 1

    return table, line_of


_HEADER = regex(r"\s*\[\[?([^\]]+)\]")
_ONE = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = regex(rf"\s*({_ONE}(?:\s*\.\s*{_ONE})*)\s*=")
_PART = regex(_ONE)
_INLINE = regex(rf"[{{,]\s*({_ONE})\s*=")


def _toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line each key of a TOML text is first written on, as well as a look at its lines tells."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()

    def parts(dotted: str) -> tuple[str, ...]:
        return tuple(p.strip("\"'") for p in _PART.findall(dotted))

    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            table = parts(header.group(1))
            found.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            full = table + parts(key.group(1))
            found.setdefault(full, number)
            for inner in _INLINE.findall(line[key.end() :]):
                found.setdefault((*full, inner.strip("\"'")), number)
    return found


def _yaml_table(path: Path, raw: bytes) -> tuple[Any, Callable[[Place], int]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    text = _decode(path, raw)
    try:
        _guard(path, text)
        tree = YAML(typ="rt").load(text)
        plain = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        raise ConfigError(f"{path}:{line}: not YAML: {error.problem or error.context}") from None
    except ConfigError:
        raise
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{path}: not YAML: {str(error) or 'nested too deeply'}") from None

    def line_of(place: Place) -> int:
        node: Any = tree
        line = 1
        for key in place:
            try:
                position = node.lc.item(key) if isinstance(key, int) else node.lc.key(key)
                line = position[0] + 1
                node = node[key]
            except (AttributeError, KeyError, IndexError, TypeError):
                break
        return line

    return ({} if plain is None else plain), line_of


def _guard(path: Path, text: str) -> None:
    """Raise ConfigError for a text that says more than it holds: aliases of aliases, depth, endless numbers."""
    from ruamel.yaml import YAML

    sizes: dict[str, int] = {}
    open_: list[tuple[str, int]] = []
    total = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        kind = type(event).__name__
        anchor = getattr(event, "anchor", None) or ""
        trouble = ""
        if kind == "AliasEvent":
            total += sizes.get(anchor, 1)
            if any(anchor == name for name, _ in open_):
                trouble = f"*{anchor} stands inside of what it names"
        elif kind == "ScalarEvent":
            total += 1
            sizes[anchor] = 1
            if event.style is None and len(event.value) > _LONGEST:
                trouble = f"a value of {len(event.value)} characters"
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            open_.append((anchor, total))
            total += 1
            if len(open_) > _DEEPEST:
                trouble = "nested too deeply"
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            name, before = open_.pop()
            sizes[name] = total - before
        if not trouble and total > _MOST:
            trouble = f"more than {_MOST} values"
        if trouble:
            raise ConfigError(f"{path}:{event.start_mark.line + 1}: {trouble}")
