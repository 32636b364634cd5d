"""Renders changes of items in Python code: items in brackets, `x[key] = value`, whole statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from vllm_migrate.hosts.python_commas import Bracket
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_statements import line_span, statement_edits, unused_imports
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertEntry,
    InsertText,
    InsertVariable,
    InsertWords,
    Item,
    Remove,
    Rename,
    Replace,
)
from vllm_migrate.text import Edit, Span

Write = Callable[[Replace], "list[Edit]"]
"""Renders a new value of one item as edits of the module's text."""
Empty = Callable[["Plan"], "list[Edit] | None"]
"""Takes away what would be left of a bracket without items; None to leave empty brackets."""


@dataclass(eq=False)
class Slot:
    """How one item is written.

    bracket, index: the item between brackets; statement: the statement that is all the item. key: span of
    its name; quoted: the name is a string. write: renders a new value. single: the bracket takes one item
    only (`append(x)`), spelled `single` + "append" or "extend".
    """

    item: Item
    write: Write | None = None
    bracket: Bracket | None = None
    index: int = 0
    statement: ast.stmt | None = None
    key: Span | None = None
    quoted: str = ""
    rename: Callable[[str], list[Edit]] | None = None
    single: str = ""
    also: list[int] = field(default_factory=list)
    """Other items of the bracket that go with this one."""


@dataclass(eq=False)
class Cluster:
    """Container of the items of one list, dictionary, call or variable.

    home: the bracket that takes new items where none is named. spell: writes a new item for a bracket:
    (bracket, key or "", value, holes) → source. empty: what to do with brackets left without items.
    """

    module: Module
    spell: Callable[[Bracket, str, Any, Sequence[str]], str]
    home: Bracket | None = None
    home_index: int | None = None
    host: str = "python"
    slots: dict[int, Slot] = field(default_factory=dict)
    empty: dict[int, Empty] = field(default_factory=dict)
    statement_form: Callable[[str, str], str] | None = None
    """Writes (key, value) as a statement that sets one item, where items are statements."""

    def add(self, slot: Slot) -> None:
        self.slots[id(slot.item)] = slot

    def slot(self, item: Item | None) -> Slot | None:
        return None if item is None else self.slots.get(id(item))

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        plan = Plan(self.module, self)
        for change in changes:
            plan.take(change)
        return plan.render()


@dataclass
class _Ops:
    bracket: Bracket
    removed: set[int] = field(default_factory=set)
    replaced: dict[int, str] = field(default_factory=dict)
    inserted: dict[int, list[str]] = field(default_factory=dict)


class Plan:
    """The changes of one cluster on their way to edits."""

    def __init__(self, module: Module, cluster: Cluster) -> None:
        self.module = module
        self.cluster = cluster
        self.ops: dict[int, _Ops] = {}
        self.raw: list[Edit] = []
        self.statements: dict[ast.stmt, None] = {}
        self.after: list[tuple[Slot, Sequence[str]]] = []
        self.written: list[tuple[ast.stmt, str]] = []

    def of(self, bracket: Bracket) -> _Ops:
        return self.ops.setdefault(id(bracket), _Ops(bracket))

    def take(self, change: Change) -> None:
        if isinstance(change, (Remove, Replace, Rename)):
            slot = self.cluster.slot(change.item)
            if slot is None:
                raise CannotRender("the item is written in a form that cannot be edited")
            if isinstance(change, Remove):
                self._remove(slot)
            elif isinstance(change, Replace):
                if slot.write is None:
                    raise CannotRender("the value is not written here")
                self.raw += slot.write(change)
            else:
                self._rename(slot, change.name)
        elif isinstance(change, InsertWords):
            self._insert_words(change)
        elif isinstance(change, InsertEntry):
            self._insert_pair(change.key, change.value, (), self.cluster.slot(change.after))
        elif isinstance(change, InsertVariable):
            self._insert_pair(change.name, change.value, (), self.cluster.slot(change.after))
        elif isinstance(change, InsertText) and change.kind == "requirement":
            slot = self.cluster.slot(change.item)
            if slot is None or slot.bracket is None:
                raise CannotRender("there is no list to add a requirement to")
            text = self.cluster.spell(slot.bracket, "", change.text, ())
            self.of(slot.bracket).inserted.setdefault(slot.index, []).append(text)
        else:
            raise CannotRender("this cannot be added to Python code")

    def _remove(self, slot: Slot) -> None:
        if slot.bracket is not None:
            self.of(slot.bracket).removed.update([slot.index, *slot.also])
        elif slot.statement is not None:
            self.statements[slot.statement] = None
        else:
            raise CannotRender("the item cannot be taken away at this place")

    def _rename(self, slot: Slot, name: str) -> None:
        if slot.rename is not None:
            self.raw += slot.rename(name)
        elif slot.key is None:
            raise CannotRender("the item has no name here")
        elif slot.quoted:
            self.raw.append(Edit(slot.key.start, slot.key.end, slot.quoted + name + slot.quoted))
        elif not name.isidentifier():
            raise CannotRender(f"{name} cannot be a keyword")
        else:
            self.raw.append(Edit(slot.key.start, slot.key.end, name))

    def _insert_words(self, change: InsertWords) -> None:
        after, before = self.cluster.slot(change.after), self.cluster.slot(change.before)
        near = after or before
        bracket = near.bracket if near is not None else self.cluster.home
        if bracket is None:
            raise CannotRender("there is no list to add the words to")
        raws = [self.cluster.spell(bracket, "", word, change.holes) for word in change.words]
        if near is not None and near.single:
            self.after.append((near, raws))
            return
        if after is not None:
            index = after.index
        elif before is not None:
            index = before.index - 1
        else:
            index = len(bracket.items) - 1 if self.cluster.home_index is None else self.cluster.home_index
        self.of(bracket).inserted.setdefault(index, []).extend(raws)

    def _insert_pair(self, key: str, value: Any, holes: Sequence[str], after: Slot | None) -> None:
        bracket = self.cluster.home
        index: int | None = self.cluster.home_index
        if after is not None and after.bracket is not None:
            bracket, index = after.bracket, after.index
        elif after is not None and after.statement is not None and self.cluster.statement_form is not None:
            self.written.append((after.statement, self.cluster.statement_form(key, value)))
            return
        if bracket is None:
            raise CannotRender("there is no place to add a setting to")
        raw = self.cluster.spell(bracket, key, value, holes)
        if index is None:
            index = len(bracket.items) - 1
            while index >= 0 and bracket.text.startswith("**", bracket.items[index].start):
                index -= 1
            if index < 0:
                index = len(bracket.items) - 1
        self.of(bracket).inserted.setdefault(index, []).append(raw)

    def render(self) -> list[Edit]:
        """Return edits of the source. Raises CannotRender."""
        edits = list(self.raw)
        edits += self._appended()
        done: set[int] = set()
        while True:
            waiting = [key for key in self.ops if key not in done]
            if not waiting:
                break
            # Inner brackets first: one left empty may take an item of an outer one with it.
            key = max(waiting, key=lambda k: self.ops[k].bracket.open)
            done.add(key)
            ops = self.ops[key]
            everything = len(ops.removed) == len(ops.bracket.items) and not any(ops.inserted.values())
            gone = self.cluster.empty.get(key) if everything and ops.removed else None
            extra = gone(self) if gone is not None else None
            edits += ops.bracket.edits(ops.removed, ops.replaced, ops.inserted) if extra is None else extra
        edits += self._new_statements()
        edits += statement_edits(self.module, list(self.statements))
        edits = _outermost(edits)
        return mapped(self.module, [*edits, *unused_imports(self.module, edits)])

    def _new_statements(self) -> list[Edit]:
        out = []
        for statement, code in self.written:
            if statement in self.statements:
                span = self.module.span(statement)
                del self.statements[statement]
                out.append(Edit(span.start, span.end, code))
                continue
            start, end = line_span(self.module, statement)
            indent = re.match(r"[ \t]*", self.module.text[start:])
            assert indent is not None
            out.append(Edit(end, end, self.module.region.source.newline + indent[0] + code))
        return out

    def _appended(self) -> list[Edit]:
        """Render words that follow (or replace) the one word of an `append` call."""
        out: list[Edit] = []
        for slot, raws in self.after:
            assert slot.bracket is not None and slot.statement is not None
            code = f"{slot.single}append({raws[0]})" if len(raws) == 1 else f"{slot.single}extend([{', '.join(raws)}])"
            ops = self.ops.get(id(slot.bracket))
            if ops is not None and ops.removed:
                ops.removed.clear()
                span = self.module.span(slot.statement)
                out.append(Edit(span.start, span.end, code))
                continue
            start, end = line_span(self.module, slot.statement)
            indent = re.match(r"[ \t]*", self.module.text[start:])
            assert indent is not None
            out.append(Edit(end, end, self.module.region.source.newline + indent[0] + code))
        return out


def mapped(module: Module, edits: Sequence[Edit]) -> list[Edit]:
    """Return edits of the module's text as edits of the source. Raises CannotRender."""
    out = []
    for edit in edits:
        up = module.region.edit(edit.start, edit.end, edit.text)
        if up is None:
            raise CannotRender("the text cannot be written at this place")
        out.append(up)
    return out


def _outermost(edits: Sequence[Edit]) -> list[Edit]:
    """Drop edits inside what another one takes away."""
    out: list[Edit] = []
    for edit in edits:
        if any(
            o is not edit
            and o.start <= edit.start
            and edit.end <= o.end
            and len(o.text) < o.end - o.start
            and (o.start, o.end) != (edit.start, edit.end)
            and (edit.start < edit.end or o.start < edit.start < o.end)
            for o in edits
        ):
            continue
        if edit not in out:
            out.append(edit)
    return out
