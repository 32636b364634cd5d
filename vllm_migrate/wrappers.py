"""What wraps vLLM and passes options on to it: programs, images, platforms, functions.

The facts are data: the files of `schemas/wrappers/` and those a team names under `wrappers` in its
configuration, both described by `schemas/wrapper.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vllm_migrate import patterns
from vllm_migrate.config import ConfigError
from vllm_migrate.datafile import read_json
from vllm_migrate.globs import name_matches
from vllm_migrate.lazy import dataclass
from vllm_migrate.paths import schemas_dir

if TYPE_CHECKING:
    from vllm_migrate.model import Site

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """Where documents hold vLLM's options. at: the keys that lead there, `*` for any."""

    at: tuple[str, ...]
    files: tuple[str, ...] = ()
    kind: str = ""
    api: str = ""

    def holds(self, path: Sequence[str], file: str, kind: str, api: str) -> bool:
        """Tell whether a value at this path of keys is such a place."""
        if len(path) != len(self.at) or not all(a in ("*", p) for a, p in zip(self.at, path, strict=True)):
            return False
        if self.files and not any(name_matches(f, name) for f in self.files for name in (file, "/" + file)):
            return False
        return (not self.kind or kind == self.kind) and (not self.api or name_matches(self.api, api))


@dataclass(frozen=True)
class Wrapper:
    """One wrapper; the fields are those of the schema.

    own: options of its own → how many words each takes. beside: None where a prefix alone tells.
    """

    id: str
    title: str
    programs: tuple[tuple[str, ...], ...] = ()
    modules: frozenset[str] = frozenset()
    images: tuple[str, ...] = ()
    formats: frozenset[str] = frozenset()
    callables: Mapping[str, str] | None = None
    passes: str = "words"
    after: str = ""
    entry_point: str = "values"
    own: Mapping[str, str] | None = None
    own_keys: frozenset[str] = frozenset()
    prefix: str | None = None
    beside: Mapping[str, str] | None = None
    places: tuple[Place, ...] = ()
    triggers: tuple[str, ...] = ()
    lines: frozenset[str] = frozenset()
    overrides: tuple[str, ...] = ()
    packed: Mapping[str, str] | None = None
    ignores: bool = False
    when: Mapping[str, Sequence[str]] | None = None

    def mark(self, site: Site) -> Site:
        """Note on a site that this passes its arguments on; return it."""
        site.wrapper, site.ignores = self.title, self.ignores
        return site

    def starts_vllm(self, texts: Sequence[str]) -> bool:
        """Tell whether the wrapper starts vLLM at all when it is given these words."""
        if self.passes == "nothing" and not self.packed:
            return False
        for option, values in (self.when or {}).items():
            given = ""
            for i, text in enumerate(texts):
                name, equals, value = text.partition("=")
                if _plain(name) == _plain(option):
                    given = value if equals else texts[i + 1] if i + 1 < len(texts) else ""
            if given not in values:
                return False
        return True

    def passed(self, words: Sequence[T], texts: Sequence[str]) -> list[T]:
        """Return the words that are vLLM's. texts: what each word says."""
        if self.passes == "nothing":
            return []
        start = texts.index(self.after) + 1 if self.after and self.after in texts else 0
        if self.after and not start:
            return []
        own = {_plain(name): count for name, count in (self.own or {}).items()}
        out: list[T] = []
        i = start
        while i < len(words):
            name, equals, _ = texts[i].partition("=")
            count = own.get(_plain(name)) if name.startswith("-") else None
            if count is None and name.startswith("--no-"):
                count = "0" if own.get(_plain("--" + name[5:])) == "0" else None
            if count is None:
                out.append(words[i])
                i += 1
                continue
            i += 1
            if equals or count == "0":
                continue
            most = 1 if count in ("1", "?") else len(words)
            while i < len(words) and most and not texts[i].startswith("-"):
                i, most = i + 1, most - 1
        return out


def _plain(option: str) -> str:
    return option.replace("_", "-")


_extra: tuple[Path, ...] = ()


def use(files: Sequence[Path]) -> None:
    """Add a team's own files to the shipped ones, for all that is read from now on.

    Raises ConfigError for a file that cannot be used.
    """
    global _extra
    if tuple(files) == _extra:
        return
    for path in files:
        validate(path)
    _extra = tuple(files)
    wrappers.cache_clear()
    _by_module.cache_clear()
    callables.cache_clear()
    _placed.cache_clear()
    spoken.cache_clear()


def validate(path: Path) -> None:
    """Raise ConfigError where a file is not what the schema wants."""
    from vllm_migrate import schemacheck

    data = read_json(path, ConfigError)
    schema = json.loads((schemas_dir() / "wrapper.schema.json").read_text(encoding="utf-8"))
    for place, text in schemacheck.problems(schema, data):
        where = ".".join(str(p) for p in place)
        raise ConfigError(f"{path}: {where or 'the file'}: {text}")
    for entry in data["wrappers"]:
        for name, text in (entry.get("variables") or {}).get("beside", {}).items():
            try:
                patterns.pattern(text)
            except patterns.PatternError as error:
                raise ConfigError(f"{path}: {entry['id']}: the pattern for {name} cannot be used: {error}") from None


@lru_cache(maxsize=1)
def wrappers() -> tuple[Wrapper, ...]:
    """Return all wrappers, a team's own first."""
    out: list[Wrapper] = []
    for path in (*_extra, *sorted((schemas_dir() / "wrappers").glob("*.json"))):
        data = read_json(path, ConfigError)
        out += [_wrapper(entry) for entry in data["wrappers"]]
    return tuple(out)


def _wrapper(entry: Mapping[str, Any]) -> Wrapper:
    variables = entry.get("variables")
    return Wrapper(
        id=entry["id"],
        title=entry["title"],
        programs=tuple(tuple(words) for words in entry.get("programs", ())),
        modules=frozenset(entry.get("modules", ())),
        images=tuple(entry.get("images", ())),
        formats=frozenset(entry.get("formats", ())),
        callables=entry.get("callables"),
        passes=entry.get("passes", "words"),
        after=entry.get("after", ""),
        entry_point=entry.get("entry-point", "values"),
        own=entry.get("own"),
        own_keys=frozenset(entry.get("own-keys", ())),
        prefix=variables["prefix"] if variables is not None else None,
        beside=variables.get("beside") if variables is not None else None,
        places=tuple(_place(p) for p in entry.get("mappings", ())),
        triggers=tuple(entry.get("triggers", ())),
        lines=frozenset(entry.get("lines", ())),
        overrides=tuple(entry.get("overrides", ())),
        packed=entry.get("packed"),
        ignores=entry.get("unknown") == "ignored",
        when=entry.get("when"),
    )


def _place(entry: Mapping[str, Any]) -> Place:
    at = tuple(entry["at"].split(".")) if entry["at"] else ()
    return Place(at, tuple(entry.get("files", ())), entry.get("kind", ""), entry.get("apiVersion", ""))


def of_place(path: Sequence[str], file: str, kind: str, api: str) -> Wrapper | None:
    """Return the wrapper that reads its options at a place of a document.

    Args: path: the keys that lead there. file: the document's file. kind, api: what a manifest says it is.
    """
    for wrapper in _placed():
        if any(place.holds(path, file, kind, api) for place in wrapper.places):
            return wrapper
    return None


@lru_cache(maxsize=1)
def _placed() -> tuple[Wrapper, ...]:
    return tuple(w for w in wrappers() if w.places)


def triggers() -> list[str]:
    """Return words one of which stands in every file that uses a wrapper."""
    out: list[str] = []
    for wrapper in wrappers():
        if wrapper.passes == "nothing":
            continue
        out += [words[0] for words in wrapper.programs]
        out += [m.rsplit(".", 1)[-1] for m in (*wrapper.modules, *(wrapper.callables or ()))]
        out += [p.rsplit("/", 1)[-1].strip("*") for p in wrapper.images]
        out += [*wrapper.lines, *wrapper.overrides, *wrapper.triggers]
        if wrapper.prefix:
            out += list(wrapper.beside) if wrapper.beside is not None else [wrapper.prefix]
    return out


@lru_cache(maxsize=1)
def spoken() -> tuple[str, ...]:
    """Return the words one of which stands in every file that speaks of vLLM, the wrappers' words included."""
    from vllm_migrate.launch import launchers

    texts = sorted({*launchers()["triggers"], *triggers()} - {""}, key=len)
    # A word that holds another one finds nothing new.
    return tuple(t for i, t in enumerate(texts) if not any(other in t for other in texts[:i]))


@lru_cache(maxsize=1)
def _by_module() -> dict[str, Wrapper]:
    return {m: w for w in reversed(wrappers()) for m in w.modules}


@lru_cache(maxsize=1)
def callables() -> dict[str, str]:
    """Return the Python callables of all wrappers and the keyword surface of each."""
    return {n: s for w in reversed(wrappers()) for n, s in (w.callables or {}).items()}


def of_module(name: str) -> Wrapper | None:
    """Return the wrapper that `python -m name` starts."""
    return _by_module().get(name)


def of_program(words: Sequence[str]) -> tuple[Wrapper, int] | None:
    """Return the wrapper a command line starts with, and how many words name it.

    Args: words: the command line, the program's word without its folder.
    """
    for wrapper in wrappers():
        for program in wrapper.programs:
            if tuple(words[: len(program)]) == program:
                return wrapper, len(program)
    return None


def of_image(name: str) -> Wrapper | None:
    """Return the wrapper an image holds. name: the reference without tag and digest."""
    for wrapper in wrappers():
        if any(name_matches(p, name) or name_matches(p, "/" + name) for p in wrapper.images):
            return wrapper
    return None


def of_format(name: str) -> Wrapper | None:
    """Return the wrapper a manifest names as its model server."""
    return next((w for w in wrappers() if name in w.formats), None)


def line_names() -> frozenset[str]:
    """Return the names of variables that hold a piece of vLLM's command line."""
    return frozenset(n for w in wrappers() for n in w.lines)
