"""Arguments that travel as something else: an option in an environment variable or an override's word.

Such an argument is an entry like any other to the rules. Its container does not write: every change of
it is turned into changes of the item that carries it before anything is rendered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from vllm_migrate.jsontext import rewrite
from vllm_migrate.jsonvalue import loads
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import (
    CannotRender,
    Change,
    Entry,
    InsertEntry,
    InsertVariable,
    InsertWords,
    Reading,
    Remove,
    Rename,
    Replace,
    Variable,
    Word,
    container_of,
)
from vllm_migrate.text import Edit


@dataclass(eq=False)
class Carrier:
    """Container of the arguments that one launch is given by other items.

    prefix: what stands before a name. upper: names are written in capitals. items: id of an argument →
    it and the variable or word that carries it.
    """

    host: str
    prefix: str
    upper: bool = True
    items: dict[int, tuple[Entry, Variable | Word]] = field(default_factory=dict)

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        raise CannotRender("the argument is written by what carries it")

    def hold(self, key: str, value: Any, real: Variable | Word) -> Entry:
        """Return the argument that an item carries."""
        entry = Entry(real.region, real.span, self, key=key, value=value)
        self.items[id(entry)] = (entry, real)
        return entry

    def settle(self) -> None:
        """Lock what is carried by an item that must not be edited."""
        for entry, real in self.items.values():
            entry.locked, entry.guarded = entry.locked or real.locked, entry.guarded or real.guarded

    def name(self, key: str) -> str:
        if self.upper and "." in key:
            raise CannotRender(f"a variable's name cannot hold {key}: set the whole object by hand")
        plain = key.replace("-", "_")
        return self.prefix + (plain.upper() if self.upper else plain)

    def same_key(self, key: str) -> str:
        """Return a key as it reads once it is written here."""
        return key.replace("-", "_")

    def text(self, value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower() if self.upper else str(value)
        if isinstance(value, (dict, list)) or value is None or (not self.upper and '"' in str(value)):
            raise CannotRender("such a value has no plain form here")
        return str(value)

    def real_changes(self, changes: Sequence[Change]) -> list[Change]:
        """Return the changes of the carrying items for changes of what they carry."""
        out: list[Change] = []
        keys: dict[int, str] = {}
        values: dict[int, Any] = {}
        for change in changes:
            if isinstance(change, Remove):
                out.append(Remove(self.items[id(change.item)][1]))
            elif isinstance(change, Rename):
                keys[id(change.item)] = change.name
            elif isinstance(change, Replace):
                values[id(change.item)] = change.value
            elif isinstance(change, InsertEntry):
                out.append(self._insert(change))
            else:
                raise CannotRender("this cannot be written here")
        for item in dict.fromkeys((*keys, *values)):
            entry, real = self.items[item]
            if isinstance(real, Variable):
                if item in keys:
                    out.append(Rename(real, self.name(keys[item])))
                if item in values:
                    out.append(Replace(real, self.text(values[item]), real.holes))
            else:
                key, value = keys.get(item, entry.key), values.get(item, entry.value)
                head = real.text.partition("=")[0][: -len(entry.key)] if item in keys else ""
                name = head + key.replace("-", "_") if item in keys else real.text.partition("=")[0]
                out.append(Replace(real, f"{name}={self.text(value)}"))
        return out

    def _insert(self, change: InsertEntry) -> Change:
        beside = self.items.get(id(change.after)) or next(iter(self.items.values()), None)
        if beside is None:
            raise CannotRender("there is nothing beside which to write")
        entry, real = beside
        if isinstance(real, Variable):
            return InsertVariable(real.container, self.name(change.key), self.text(change.value), after=real)
        head = real.text.partition("=")[0][: -len(entry.key)]
        word = f"{head}{change.key.replace('-', '_')}={self.text(change.value)}"
        return InsertWords(real.container, [word], after=real)


@dataclass(eq=False)
class Packed(Carrier):
    """Container of arguments that one word holds together: `a=1,b=2`, or a JSON object.

    word: what holds them. head: the letters of it before them. form: "pairs" or "json".
    """

    word: Word = field(kw_only=True)
    head: str = ""
    form: str = "pairs"

    def real_changes(self, changes: Sequence[Change]) -> list[Change]:
        """Return the one change of the word for changes of what it holds."""
        old = self.word.text[len(self.head) :]
        named: dict[int, Any] = {}
        renamed: dict[int, str] = {}
        gone: set[int] = set()
        added: list[InsertEntry] = []
        for change in changes:
            if isinstance(change, Remove):
                gone.add(id(change.item))
            elif isinstance(change, Rename):
                renamed[id(change.item)] = change.name.replace("-", "_")
            elif isinstance(change, Replace):
                named[id(change.item)] = change.value
            elif isinstance(change, InsertEntry):
                added.append(change)
            else:
                raise CannotRender("this cannot be written here")
        text = self._json(old, named, renamed, gone, added) if self.form == "json" else ""
        if self.form == "pairs":
            text = self._pairs(old, named, renamed, gone, added)
        return [Replace(self.word, self.head + text, self.word.holes)]

    def _json(
        self, old: str, values: dict[int, Any], names: dict[int, str], gone: set[int], added: list[InsertEntry]
    ) -> str:
        new = loads(old)
        for item, (entry, _) in self.items.items():
            if item in gone:
                new.pop(entry.key, None)
            elif item in names or item in values:
                value = values.get(item, new.pop(entry.key))
                new.pop(entry.key, None)
                new[names.get(item, entry.key)] = value
        new.update({c.key.replace("-", "_"): c.value for c in added})
        return rewrite(old, new)

    def _pairs(
        self, old: str, values: dict[int, Any], names: dict[int, str], gone: set[int], added: list[InsertEntry]
    ) -> str:
        known = {entry.key: item for item, (entry, _) in self.items.items()}
        out: list[str] = []
        for part in old.split(","):
            key, equals, text = part.partition("=")
            item = known.get(key.strip())
            if item is None:
                out.append(part)
            elif item not in gone:
                out.append(names.get(item, key) + equals + (self.text(values[item]) if item in values else text))
        out += [f"{c.key.replace('-', '_')}={self.text(c.value)}" for c in added]
        if not any(p.strip() for p in out):
            raise CannotRender("nothing would be left of the list")
        return ",".join(out)


def resolved(changes: Iterable[Change]) -> list[Change]:
    """Return the changes with those of carried arguments turned into changes of what carries them."""
    out: list[Change] = []
    groups: dict[int, tuple[Carrier, list[Change]]] = {}
    for change in changes:
        container = container_of(change)
        if isinstance(container, Carrier):
            groups.setdefault(id(container), (container, []))[1].append(change)
        else:
            out.append(change)
    for carrier, mine in groups.values():
        out += carrier.real_changes(mine)
    return out


def settle(reading: Reading) -> None:
    """Lock the carried arguments of a reading as what carries them was locked; hosts lock items last."""
    for site in reading.sites:
        for carrier in {id(e.container): e.container for e in site.entries}.values():
            if isinstance(carrier, Carrier):
                carrier.settle()


def carrying(entries: Iterable[Entry]) -> set[int]:
    """Return the ids of the variables and words that carry arguments."""
    return {id(e.container.items[id(e)][1]) for e in entries if isinstance(e.container, Carrier)}
