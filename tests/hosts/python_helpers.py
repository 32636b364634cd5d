"""Reads Python text and applies changes of items as an engine would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vllm_migrate.hosts import Context, python
from vllm_migrate.model import (
    Change,
    Container,
    Entry,
    Item,
    Pin,
    Reading,
    Remove,
    Variable,
    Word,
    container_of,
)
from vllm_migrate.text import Edit, Region, Source


def read(text: str) -> Reading:
    return python.read(Region.whole(Source.of(text, "a.py")), Context("a.py"))


def items(reading: Reading) -> list[Item]:
    found: list[Item] = [*reading.pins, *reading.variables, *reading.mentions]
    for site in reading.sites:
        found += [*site.words, *site.entries, *site.variables, *site.pins]
    return list(dict.fromkeys(found))


def name_of(item: Item) -> str:
    if isinstance(item, Word):
        return item.text
    if isinstance(item, Entry):
        return item.key
    if isinstance(item, Variable):
        return item.name
    return item.text if isinstance(item, Pin) else getattr(item, "name", "")


def pick(reading: Reading, *names: str) -> list[Item]:
    """Return the items with these names, one each, in the order of the names."""
    pool = items(reading)
    return [next(i for i in pool if name_of(i) == name) for name in names]


def pair(reading: Reading, option: str) -> list[Item]:
    """Return an option's word and the word after it."""
    for site in reading.sites:
        for i, word in enumerate(site.words):
            if word.text == option:
                return [word, site.words[i + 1]]
    raise AssertionError(f"no {option}")


def render(text: str, changes: Sequence[Change]) -> str:
    """Return the text after the changes; what comes out must be Python again."""
    groups: dict[int, tuple[Container, list[Change]]] = {}
    for change in changes:
        container = container_of(change)
        groups.setdefault(id(container), (container, []))[1].append(change)
    edits: list[Edit] = []
    for container, mine in groups.values():
        edits += container.edits(mine)
    after = Source.of(text).with_edits(edits).text
    assert python.verify(Source.of(after)) is None, after
    return after


def changed(text: str, make: Callable[[Reading], Sequence[Change]]) -> str:
    return render(text, make(read(text)))


def without(text: str, *names: str) -> str:
    """Return the text after the named items are removed; an option goes with its value."""

    def make(reading: Reading) -> list[Change]:
        gone: list[Item] = []
        for name in names:
            gone += pair(reading, name) if name.startswith("--") and "=" not in name else pick(reading, name)
        return [Remove(item) for item in gone]

    return changed(text, make)


def words(text: str, site: int = 0) -> list[str]:
    return [w.spelled() for w in read(text).sites[site].words]


def entries(text: str, site: int = 0) -> dict[str, object]:
    return {e.key: e.value for e in read(text).sites[site].entries}
