"""What wraps vLLM and passes options on to it: programs, images, platforms, functions.

The facts are data: the files of `schemas/wrappers/` and those a team names under `wrappers` in its
configuration, both described by `schemas/wrapper.schema.json`.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from vllm_migrate.carried import Carrier
from vllm_migrate.config import ConfigError
from vllm_migrate.model import Dynamic, Entry, Site, Variable, Word
from vllm_migrate.paths import schemas_dir

T = TypeVar("T")


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
    lines: frozenset[str] = frozenset()
    overrides: tuple[str, ...] = ()
    ignores: bool = False
    when: Mapping[str, Sequence[str]] | None = None

    def mark(self, site: Site) -> Site:
        """Note on a site that this passes its arguments on; return it."""
        site.wrapper, site.ignores = self.title, self.ignores
        return site

    def starts_vllm(self, texts: Sequence[str]) -> bool:
        """Tell whether the wrapper starts vLLM at all when it is given these words."""
        if self.passes == "nothing":
            return False
        for option, values in (self.when or {}).items():
            given = values[0]
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


def validate(path: Path) -> None:
    """Raise ConfigError where a file is not what the schema wants."""
    from vllm_migrate import schemacheck

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from None
    schema = json.loads((schemas_dir() / "wrapper.schema.json").read_text(encoding="utf-8"))
    for place, text in schemacheck.problems(schema, data):
        where = ".".join(str(p) for p in place)
        raise ConfigError(f"{path}: {where or 'the file'}: {text}")


@lru_cache(maxsize=1)
def wrappers() -> tuple[Wrapper, ...]:
    """Return all wrappers, a team's own first."""
    out: list[Wrapper] = []
    for path in (*_extra, *sorted((schemas_dir() / "wrappers").glob("*.json"))):
        data = json.loads(path.read_text(encoding="utf-8"))
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
        lines=frozenset(entry.get("lines", ())),
        overrides=tuple(entry.get("overrides", ())),
        ignores=entry.get("unknown") == "ignored",
        when=entry.get("when"),
    )


def triggers() -> list[str]:
    """Return words one of which stands in every file that uses a wrapper."""
    out: list[str] = []
    for wrapper in wrappers():
        if wrapper.passes == "nothing":
            continue
        out += [words[0] for words in wrapper.programs]
        out += [m.rsplit(".", 1)[-1] for m in (*wrapper.modules, *(wrapper.callables or ()))]
        out += [p.rsplit("/", 1)[-1].strip("*") for p in wrapper.images]
        out += [*wrapper.lines, *wrapper.overrides]
        if wrapper.prefix:
            out += list(wrapper.beside) if wrapper.beside is not None else [wrapper.prefix]
    return out


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
        if any(fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase("/" + name, p) for p in wrapper.images):
            return wrapper
    return None


def of_format(name: str) -> Wrapper | None:
    """Return the wrapper a manifest names as its model server."""
    return next((w for w in wrappers() if name in w.formats), None)


def line_names() -> frozenset[str]:
    """Return the names of variables that hold a piece of vLLM's command line."""
    return frozenset(n for w in wrappers() for n in w.lines)


def carries(variables: Iterable[Variable], image: str, host: str) -> tuple[Wrapper, list[Entry]] | None:
    """Return the wrapper that takes vLLM's options from these variables, and the options as entries.

    Args: variables: the environment of one process. image: name of its image without tag, or "".
    """
    given = list(variables)
    named = of_image(image) if image else None
    for wrapper in wrappers():
        if wrapper.prefix is None or (wrapper.images and wrapper is not named):
            continue
        mine = [v for v in given if v.name.startswith(wrapper.prefix) and len(v.name) > len(wrapper.prefix)]
        if not mine or not _beside(wrapper, given):
            continue
        carrier = Carrier(host, wrapper.prefix, upper=wrapper.prefix == wrapper.prefix.upper())
        entries = []
        for variable in mine:
            key = variable.name[len(wrapper.prefix) :].lower()
            if key in wrapper.own_keys or not re.fullmatch(r"[a-z][a-z0-9_]*", key):
                continue
            entries.append(carrier.hold(key, _value(variable), variable))
        if entries:
            return wrapper, entries
    return None


def carried_site(variables: Iterable[Variable], image: str, host: str, owner: str = "") -> Site | None:
    """Return the site made of the options that variables of one process carry, None where they carry none.

    Args: image: name of the process's image without tag, or "". host: the format's name.
    """
    found = carries(variables, image, host)
    if found is None:
        return None
    wrapper, entries = found
    site = Site(wrapper.entry_point, host, entries[0].region, entries[0].span, owner=owner, hollow=True)
    site.entries, site.entry_home = entries, entries[0].container
    return wrapper.mark(site)


def _beside(wrapper: Wrapper, variables: Sequence[Variable]) -> bool:
    if wrapper.beside is None:
        return True
    return any(
        v.name in wrapper.beside and v.value is not None and re.fullmatch(wrapper.beside[v.name], v.value)
        for v in variables
    )


def _value(item: Variable) -> Any:
    if item.value is None or item.holes:
        return Dynamic(item.spelled())
    low = item.value.lower()
    return low == "true" if low in ("true", "false") else item.value


def overridden(words: Sequence[Word], host: str) -> tuple[Wrapper, list[Entry]] | None:
    """Return the wrapper whose overrides (`a.b.name=value`) are among the words, and what they set."""
    for wrapper in wrappers():
        if not wrapper.overrides:
            continue
        carrier = Carrier(host, "", upper=False)
        entries = []
        for word in words:
            name, equals, value = word.text.partition("=")
            prefix = next((p for p in wrapper.overrides if equals and p in name), None)
            if prefix is None or word.splits or name.startswith("~"):
                continue
            key = name.partition(prefix)[2]
            if re.fullmatch(r"[A-Za-z_][\w.]*", key):
                entries.append(carrier.hold(key, _scalar(value, word), word))
        if entries:
            return wrapper, entries
    return None


def _scalar(text: str, word: Word) -> Any:
    if word.holes:
        return Dynamic(text)
    low = text.lower()
    if low in ("true", "false"):
        return low == "true"
    if low in ("null", "none"):
        return None
    return int(text) if re.fullmatch(r"-?\d+", text) else text
