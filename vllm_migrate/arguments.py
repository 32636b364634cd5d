"""Groups the words or entries of a site into arguments, as a release's own parser would.

A command line is read with the options of the target release, then of the release it was written for,
then of any release that had the option: the arity of an option decides which word is its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Dynamic, Entry, Item, Site, Word, is_hole

if TYPE_CHECKING:
    from vllm_migrate.catalog import Catalog, OptionMatch, Release

COMMAND_LINES = frozenset({"serve", "api_server", "run_batch", "demo_server"})
ENGINE_LINES = frozenset({"bench_engine", "grpc_server"})
"""Programs with options of their own that take the engine's too."""
CLIENTS = frozenset({"bench"})
"""Programs that talk to a server and run no engine: they read none of its variables."""
KEYWORDS = frozenset({"LLM", "EngineArgs", "AsyncEngineArgs"})
_NEGATIVE = regex(r"-\d+$|-\d*\.\d+$", re.ASCII)
_CAMEL = regex(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(eq=False)
class Argument:
    """One option at a site.

    option: its key in the catalog (`--swap-space`), or the normal form of an unknown one; "" for a
    positional. path: keys after a dot (`--compilation-config.mode`). spelling: the name as written.
    value: text of a command line (holes as private-use letters), a Python value of a keyword or key,
    a list for an option of several values, None for none. accepted: the target takes the name here.
    negated: the spelling says no. candidates: what an ambiguous abbreviation could mean.
    """

    site: Site
    option: str
    spelling: str
    value: Any = None
    path: tuple[str, ...] = ()
    accepted: bool = False
    attrs: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    abbreviated: bool = False
    negated: bool = False
    glued: bool = False
    words: list[Word] = field(default_factory=list)
    entry: Entry | None = None
    missing_value: bool = False

    @property
    def items(self) -> list[Item]:
        return list(self.words) if self.entry is None else [self.entry]

    @property
    def item(self) -> Item:
        return self.items[0]

    @property
    def literal(self) -> bool:
        """The value is all in the file."""
        if self.entry is not None:
            return not has_dynamic(self.entry.value)
        return all(w.literal for w in self.words)

    @property
    def locked(self) -> str:
        """Why the argument may not be edited, or ""."""
        for item in self.items:
            if item.guarded:
                return f"the code is guarded by a version test ({item.guarded})"
            if item.locked:
                return item.locked
        return ""

    @property
    def subject(self) -> str:
        """Canonical spelling on its surface: `--swap-space`, `swap_space`."""
        dotted = "".join("." + p for p in self.path)
        if self.entry is not None and self.site.entry_point in KEYWORDS:
            return self.option.lstrip("-").replace("-", "_") + dotted
        return self.option + dotted

    def holes(self) -> tuple[str, ...]:
        return self.words[-1].holes if self.words else ()


def surface_of(site: Site, release: Release) -> str:
    """Return which parser reads a launch's words: "serve" or "api_server", "" where it cannot be told.

    An image runs what its entry point says, which is a fact of the release.
    """
    if site.wrapper:
        return ""
    if site.entry_point == "api_server":
        return "api_server"
    if not site.by_image:
        return "serve" if site.entry_point == "serve" else ""
    image = release.facts.get("image") or {}
    words = image.get("entrypoint") or []
    if words[-1:] == ["serve"]:
        return "serve"
    return "api_server" if words and words[-1].endswith("api_server") else ""


def has_dynamic(value: Any) -> bool:
    """Tell whether a value has a part only a run can tell."""
    if isinstance(value, Dynamic):
        return True
    if isinstance(value, dict):
        return any(has_dynamic(v) for v in value.values()) or any(isinstance(k, Dynamic) for k in value)
    if isinstance(value, (list, tuple)):
        return any(has_dynamic(v) for v in value)
    return isinstance(value, str) and any(is_hole(c) for c in value)


def kebab(name: str) -> str:
    """Return the option name of a keyword or a key: `swap_space`, `swapSpace` → `--swap-space`."""
    name = _CAMEL.sub("-", name.lstrip("-"))
    head, dot, tail = name.partition(".")
    return "--" + head.replace("_", "-").lower() + dot + tail


def read_arguments(site: Site, catalog: Catalog, target: Release, origin: Release | None) -> list[Argument]:
    """Return the arguments of a site in order; positionals have an empty `option`."""
    arguments = _from_words(site, catalog, target, origin) if site.words else []
    arguments += [_from_entry(site, entry, target) for entry in site.entries]
    return arguments


@dataclass
class _Match:
    """What the catalog makes of one spelling."""

    option: str
    path: tuple[str, ...]
    attrs: Mapping[str, Any]
    accepted: bool
    candidates: tuple[str, ...] = ()
    abbreviated: bool = False
    glued_value: str | None = None
    negated: bool = False


def _resolve(name: str, catalog: Catalog, target: Release, origin: Release | None, surface: str) -> _Match:
    found = target.option(name, surface)
    if found.option is not None and found.exact:
        return _Match(
            found.option, tuple(found.path), found.attrs, True, (), False, found.glued, found.negated
        )
    past = origin.option(name) if origin is not None else None
    if past is not None and past.option is not None and past.exact:
        # A removed option that the target now reads as an abbreviation of another is still the old one.
        return _Match(
            past.option,
            tuple(past.path),
            past.attrs,
            False,
            _readings(found),
            False,
            past.glued,
            past.negated,
        )
    old = catalog.past_option(name)
    if old is not None:
        return _Match(
            old.option or name,
            tuple(old.path),
            old.attrs,
            False,
            _readings(found),
            False,
            old.glued,
            old.negated,
        )
    if found.option is not None:
        return _Match(found.option, tuple(found.path), found.attrs, True, (), True, None, found.negated)
    if past is not None and past.option is not None:
        return _Match(past.option, tuple(past.path), past.attrs, False, found.candidates, True)
    head, _, tail = name.partition(".")
    path = tuple(tail.split(".")) if tail and name.startswith("--") else ()
    base = head.replace("_", "-") if name.startswith("--") else name
    return _Match(base if path else name.replace("_", "-"), path, {}, False, found.candidates)


def _readings(found: OptionMatch) -> tuple[str, ...]:
    """Return what the target makes of a spelling it does not have: the options it abbreviates."""
    return found.candidates or ((found.option,) if found.option else ())


def _is_option(word: Word) -> bool:
    text = word.text
    if len(text) < 2 or not text.startswith("-"):
        return False
    if _NEGATIVE.match(text) or (" " in text and not text.startswith("--")):
        return False
    return " " not in text.partition("=")[0]


def _from_words(site: Site, catalog: Catalog, target: Release, origin: Release | None) -> list[Argument]:
    out: list[Argument] = []
    words = site.words
    surface = surface_of(site, target)
    i = 0
    only_positionals = False
    while i < len(words):
        word = words[i]
        if only_positionals or not _is_option(word):
            out.append(Argument(site, "", "", word.text, words=[word], accepted=True))
            i += 1
            continue
        if word.text == "--":
            only_positionals = True
            out.append(Argument(site, "", "--", None, words=[word], accepted=True))
            i += 1
            continue
        name, equals, glued = word.text.partition("=")
        match = _resolve(name, catalog, target, origin, surface)
        argument = Argument(
            site,
            match.option,
            name,
            path=match.path,
            accepted=match.accepted,
            attrs=match.attrs,
            candidates=match.candidates,
            abbreviated=match.abbreviated,
            words=[word],
        )
        argument.negated = match.negated
        i += 1
        if equals:
            argument.glued = True
            argument.value = glued
        elif match.glued_value is not None:
            argument.glued = True
            argument.value = match.glued_value
        else:
            i = _take_values(argument, words, i, known=bool(match.attrs))
        _level(argument, target)
        out.append(argument)
    return out


def _level(argument: Argument, release: Release) -> None:
    """Read `-O3` and `-O 3` as the key they set, where the release's parser writes them so."""
    level = str((release.facts.get("parser") or {}).get("level", ""))
    letter, _, key = level.partition(".")
    if key and argument.spelling.startswith(letter) and not argument.path and argument.accepted:
        glued = argument.glued and isinstance(argument.value, str) and not argument.value.startswith(".")
        if glued or argument.value in ("0", "1", "2", "3"):
            argument.path = (key,)


def _take_values(argument: Argument, words: Sequence[Word], i: int, *, known: bool) -> int:
    """Give an argument the words argparse would; return the index of the next word."""
    nargs = argument.attrs.get("nargs")
    if argument.path:
        nargs = None
    if not known:
        # An option no release had: what follows and is no option is taken for its value.
        if i < len(words) and not _is_option(words[i]) and not words[i].splits:
            argument.words.append(words[i])
            argument.value = words[i].text
            return i + 1
        return i
    if nargs == 0:
        if i < len(words) and words[i].text.lower() in ("true", "false") and not words[i].holes:
            # Switches took a word once (`--enable-chunked-prefill False`); it is nobody's positional.
            past = argument.attrs.get("action") in ("store_bool", "boolean_optional", "enable_disable")
            if past:
                argument.words.append(words[i])
                argument.value = words[i].text
                return i + 1
        return i
    if nargs in ("+", "*"):
        values = []
        while i < len(words) and not _is_option(words[i]):
            argument.words.append(words[i])
            values.append(words[i].text)
            i += 1
        argument.value = values
        argument.missing_value = nargs == "+" and not values
        return i
    count = nargs if isinstance(nargs, int) else 1
    values = []
    while i < len(words) and len(values) < count and not _is_option(words[i]):
        argument.words.append(words[i])
        values.append(words[i].text)
        i += 1
    if nargs == "?":
        argument.value = values[0] if values else None
    elif count == 1:
        argument.value = values[0] if values else None
        argument.missing_value = not values
    else:
        argument.value = values
        argument.missing_value = len(values) < count
    return i


def _from_entry(site: Site, entry: Entry, target: Release) -> Argument:
    key = entry.key
    option = kebab(key)
    head, dot, tail = option.partition(".")
    path = tuple(tail.split(".")) if dot else ()
    argument = Argument(site, head, key, entry.value, path=path, entry=entry)
    if site.entry_point in KEYWORDS:
        attrs = target.keyword(key, site.entry_point)
        argument.accepted = attrs is not None
        argument.attrs = attrs or {}
        return argument
    found = target.option(option)
    if found.option is not None:
        argument.option = found.option
        argument.accepted = found.exact
        argument.attrs = found.attrs
        argument.negated = found.negated
        argument.path = tuple(found.path) or path
    return argument


def model_of(arguments: Sequence[Argument]) -> str | None:
    """Return the model a launch names literally, or None."""
    positional = None
    for argument in arguments:
        if argument.option in ("--model", "model_tag") and isinstance(argument.value, str):
            return None if has_dynamic(argument.value) else argument.value
        if argument.option == "" and positional is None and isinstance(argument.value, str):
            positional = argument.value
    if positional is not None and not has_dynamic(positional) and positional != "--":
        return positional
    return None


def find(arguments: Sequence[Argument], option: str) -> Argument | None:
    """Return the last argument for an option (repeated options: the last one counts), or None."""
    found = None
    for argument in arguments:
        if argument.option == option and not argument.path:
            found = argument
    return found
