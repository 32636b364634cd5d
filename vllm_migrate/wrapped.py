"""Finds the options that environment variables and words of a command carry for a wrapper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from vllm_migrate.carried import Carrier, Packed
from vllm_migrate.jsonvalue import loads
from vllm_migrate.model import Dynamic, Entry, Site, Variable, Word
from vllm_migrate.patterns import fits
from vllm_migrate.wrappers import Wrapper, of_image, wrappers


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
        v.name in wrapper.beside and v.value is not None and fits(wrapper.beside[v.name], v.value)
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
        if wrapper.packed:
            held = _packed(wrapper, words, host)
            if held:
                return wrapper, held
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


def _packed(wrapper: Wrapper, words: Sequence[Word], host: str) -> list[Entry]:
    """Return the options that one word of a wrapper's command line holds together."""
    texts = [w.text for w in words]
    names = {text.rsplit("/", 1)[-1] for text in texts}
    if not names & ({p[0] for p in wrapper.programs} | wrapper.modules) or not wrapper.starts_vllm(texts):
        return []
    for i, text in enumerate(texts):
        name, equals, value = text.partition("=")
        form = (wrapper.packed or {}).get(name)
        if form is None or (not equals and i + 1 >= len(texts)):
            continue
        word = words[i] if equals else words[i + 1]
        value = value if equals else word.text
        if word.holes:
            return []
        carrier = Packed(host, "", False, word=word, head=f"{name}=" if equals else "", form=form)
        members = _object(value) if form == "json" else _pairs(value, word)
        return [carrier.hold(k, v, word) for k, v in members.items() if k not in wrapper.own_keys]
    return []


def _object(text: str) -> dict[str, Any]:
    try:
        found = loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _pairs(text: str, word: Word) -> dict[str, Any]:
    parts = [p.partition("=") for p in text.split(",") if p.strip()]
    if not all(equals and re.fullmatch(r"\s*[A-Za-z_]\w*", key) for key, equals, _ in parts):
        # A value holds a comma of its own: where it ends cannot be told.
        return {}
    return {key.strip(): _scalar(value, word) for key, _, value in parts}


def _scalar(text: str, word: Word) -> Any:
    if word.holes:
        return Dynamic(text)
    low = text.lower()
    if low in ("true", "false"):
        return low == "true"
    if low in ("null", "none"):
        return None
    return int(text) if re.fullmatch(r"-?\d+", text) else text
