"""Containers of a YAML document: what a change of their items means for the nodes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import field

from vllm_migrate.hosts import yaml_spell
from vllm_migrate.hosts.yaml_edit import Home, Plan
from vllm_migrate.hosts.yaml_put import (
    outward,
    pair_lines,
    put_key,
    put_scalar,
    put_value,
    sample_style,
)
from vllm_migrate.hosts.yaml_scalar import ScalarRegion, lift
from vllm_migrate.hosts.yaml_tree import Node, Pair
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import (
    CannotRender,
    Change,
    Entry,
    InsertEntry,
    InsertText,
    InsertVariable,
    InsertWords,
    Item,
    Pin,
    Remove,
    Rename,
    Replace,
    Variable,
    Word,
    fill,
    is_hole,
)
from vllm_migrate.text import Edit, Region, apply_edits

_OPTION = regex(r"--?[A-Za-z]")


def new_holes(change: Replace) -> tuple[str, ...]:
    """Return the spellings that the letters of a new text stand for."""
    held: tuple[str, ...] = getattr(change.item, "holes", ())
    return change.holes or held


@dataclass(eq=False)
class SeqHome(Home):
    """A list of scalars: words of a command line, `NAME=value` strings, or requirements.

    interpolates: the format reads `$` in a scalar, so that a literal one is written `$$`.
    """

    node: Node
    interpolates: bool = False
    slots: dict[int, int] = field(default_factory=dict)
    held: list[Item] = field(default_factory=list)
    strings: dict[int, StringHome] = field(default_factory=dict)
    """Items that hold several words."""
    printed: set[int] = field(default_factory=set)
    """Words that stand inside a template action."""

    def hold(self, item: Item, index: int) -> None:
        self.slots[id(item)] = index
        self.held.append(item)

    def index(self, item: Item) -> int:
        found = self.slots.get(id(item))
        if found is None:
            raise CannotRender("the item is not part of this list")
        return found

    def plan(self, plan: Plan, changes: Sequence[Change]) -> None:
        renewed: dict[int, dict[str, Rename | Replace]] = {}
        for change in changes:
            if isinstance(change, Remove):
                plan.remove(self.node, self.index(change.item))
            elif isinstance(change, Rename) and isinstance(change.item, Variable):
                renewed.setdefault(self.index(change.item), {})["name"] = change
            elif isinstance(change, Replace) and isinstance(change.item, Variable):
                renewed.setdefault(self.index(change.item), {})["value"] = change
            elif isinstance(change, Replace):
                self._replace(plan, change)
            elif isinstance(change, InsertWords):
                self._insert_words(plan, change)
            elif isinstance(change, InsertVariable):
                after = self._after(change.after)
                plan.insert(self.node, after, [self._spelled(f"{change.name}={change.value}", ())])
            elif isinstance(change, InsertText) and change.kind == "requirement":
                plan.insert(self.node, self.index(change.item), [self._spelled(change.text, ())])
            else:
                raise CannotRender("this cannot be written in a list")
        for index, parts in renewed.items():
            self._renew(plan, index, parts)

    def _scalar(self, index: int) -> Node:
        use = self.node.items[index]
        if use.node.kind != "scalar":
            raise CannotRender("the item is not a scalar")
        return use.node

    def _replace(self, plan: Plan, change: Replace) -> None:
        item = change.item
        index = self.index(item)
        holes = new_holes(change)
        if not isinstance(item, (Word, Pin)) or not isinstance(change.value, str):
            raise CannotRender("a list item can only be given text")
        if change.value == item.text and holes == item.holes:
            return
        if id(item) in self.printed:
            raise CannotRender("inside a template action")
        node = self._scalar(index)
        self._put(plan, node, change.value, holes)

    def _put(self, plan: Plan, node: Node, text: str, holes: Sequence[str]) -> None:
        text = outward(text, self.interpolates)
        put_scalar(self.document, plan, node, text, letters=holes)

    def _renew(self, plan: Plan, index: int, parts: dict[str, Rename | Replace]) -> None:
        item = next(iter(parts.values())).item
        assert isinstance(item, Variable)
        value = parts.get("value")
        name = parts.get("name")
        text = item.value if not isinstance(value, Replace) else str(value.value)
        holes = item.holes if not isinstance(value, Replace) else new_holes(value)
        if text is None:
            raise CannotRender("the value is not given here")
        if name is None and text == item.value and holes == item.holes:
            return
        new_name = name.name if isinstance(name, Rename) else item.name
        self._put(plan, self._scalar(index), f"{new_name}={text}", holes)

    def _after(self, item: Item | None) -> int:
        if item is None:
            return len(self.node.items) - 1
        return self.index(item)

    def _spelled(self, text: str, holes: Sequence[str]) -> str:
        document = self.document
        style = sample_style(self.node)
        flow = self.node.flow
        escapes = any(u.node.style == '"' and "\\" in document.text[u.start : u.end] for u in self.node.items)
        raw = yaml_spell.spell_text(
            outward(text, self.interpolates), style, flow=flow, only_json=document.only_json, escapes=escapes
        )
        if raw[:1] not in ("'", '"') and holes and not yaml_spell.plain_safe(fill(raw, holes), flow=flow):
            raw = yaml_spell.spell_text(outward(text, self.interpolates), '"', flow=flow, only_json=document.only_json)
        return fill(raw, holes)

    def _insert_words(self, plan: Plan, change: InsertWords) -> None:
        after = len(self.node.items) - 1
        if change.before is not None and id(change.before) in self.slots:
            after = self.index(change.before) - 1
        elif change.after is not None and id(change.after) in self.slots:
            after = self.index(change.after)
        for text in self._grouped(change.words, change.holes):
            plan.insert(self.node, after, [text])

    def _grouped(self, words: Sequence[str], holes: Sequence[str]) -> list[str]:
        """Spell words as items: one each, or an option with its value where the list has it so."""
        if len(self.strings) * 2 <= sum(1 for w in self.held if isinstance(w, Word) and _OPTION.match(w.text)):
            return [self._spelled(word, holes) for word in words]
        texts: list[str] = []
        for word in words:
            quoted = word if any(is_hole(c) for c in word) else shlex.quote(word)
            if texts and not _OPTION.match(word):
                texts[-1] += " " + quoted
            else:
                texts.append(quoted)
        return [self._spelled(text, holes) for text in texts]


@dataclass(eq=False)
class StringHome(Home):
    """One scalar that holds several words. inner plans the words of the string; owner holds the scalar."""

    node: Node
    region: ScalarRegion
    inner: object
    seq: SeqHome | None = None
    pair: Pair | None = None

    def plan(self, plan: Plan, changes: Sequence[Change]) -> None:
        from vllm_migrate.hosts.shell_list import WordList

        words = self.inner
        assert isinstance(words, WordList)
        if self._parted():
            raise CannotRender("template actions stand between the lines of one text")
        own = words.plan(changes)
        if own.removed and not own.inserts and len(own.removed) == len(words.tokens):
            self._vanish(plan)
            return
        local = words.render(own)
        mapped = [lift(words.region, edit, self.document.region) for edit in local]
        if any(edit is None for edit in mapped):
            self._anew(plan, words.region, local)
            return
        for edit in mapped:
            assert edit is not None
            plan.put(edit.start, edit.end, edit.text)

    def _parted(self) -> bool:
        """Tell whether lines of the text may be items of their own, behind a template action (`{{ if .x }}- --y`)."""
        start, end = self.node.body, self.node.end
        if self.node.style or "\n" not in self.document.text[start:end]:
            return False
        return any(a.control and not a.alone for a in self.document.mask.within(start, end))

    def _anew(self, plan: Plan, region: Region, local: Sequence[Edit]) -> None:
        """Quote the whole scalar where the new text does not fit its style."""
        if self.node.style in ("|", ">") or "\n" in self.document.text[self.node.body : self.node.end]:
            raise CannotRender("the value cannot be written in this scalar")
        if region is not self.region:
            lifted = [lift(region, edit, self.region) for edit in local]
            if any(edit is None for edit in lifted):
                raise CannotRender("the value cannot be written in this scalar")
            local = [edit for edit in lifted if edit is not None]
        text = apply_edits(self.region.text, local)
        put_scalar(self.document, plan, self.node, text, letters=self.region.spellings)

    def _vanish(self, plan: Plan) -> None:
        if id(self.node) in self.document.kept:
            put_scalar(self.document, plan, self.node, "")
            return
        use = self.node.uses[0]
        if use.holder is None:
            raise CannotRender("nothing would be left of the document")
        if use.holder.kind == "mapping" and use.holder.pairs[use.index].name in self.document.fragile:
            raise CannotRender("nothing would be left of the value")
        plan.remove(use.holder, use.index)


@dataclass(eq=False)
class MapHome(Home):
    """A mapping: entries of an engine's configuration, or variables of an environment."""

    node: Node
    quoted: bool = False
    interpolates: bool = False

    def plan(self, plan: Plan, changes: Sequence[Change]) -> None:
        removed = {id(c.item) for c in changes if isinstance(c, Remove)}
        for change in changes:
            if isinstance(change, Remove):
                plan.remove(self.node, self._index(change.item))
            elif isinstance(change, (Replace, Rename)):
                if id(change.item) in removed:
                    continue
                pair = self.node.pairs[self._index(change.item)]
                if isinstance(change, Rename):
                    put_key(self.document, plan, pair, change.name)
                else:
                    self._replace(plan, pair, change)
            elif isinstance(change, InsertEntry):
                after = len(self.node.pairs) - 1 if change.after is None else self._index(change.after)
                plan.insert(self.node, after, pair_lines(self.document, self.node, change.key, change.value))
            elif isinstance(change, InsertVariable):
                after = len(self.node.pairs) - 1 if change.after is None else self._index(change.after)
                value = outward(change.value, self.interpolates)
                plan.insert(self.node, after, pair_lines(self.document, self.node, change.name, value))
            else:
                raise CannotRender("this cannot be written in a mapping")

    def _index(self, item: Item) -> int:
        span = item.key_span if isinstance(item, Entry) else item.span
        for index, pair in enumerate(self.node.pairs):
            if span is not None and pair.key.start == span.start:
                return index
        raise CannotRender("the item is not part of this mapping")

    def _replace(self, plan: Plan, pair: Pair, change: Replace) -> None:
        item = change.item
        if isinstance(item, Variable):
            holes = new_holes(change)
            if change.value == item.value and holes == item.holes:
                return
            if item.value is None:
                raise CannotRender("the value is not given here")
            put_scalar(self.document, plan, pair.node, outward(str(change.value), self.interpolates), letters=holes)
            return
        assert isinstance(item, Entry)
        if pair.use.alias and not (type(item.value) is type(change.value) and item.value == change.value):
            raise CannotRender("the value stands elsewhere, behind an alias")
        put_value(self.document, plan, pair.node, item.value, change.value)


@dataclass(eq=False)
class NameValueHome(Home):
    """A list of `{name, value}` mappings. capital: the keys are `Name` and `Value`."""

    node: Node
    slots: dict[int, int] = field(default_factory=dict)
    held: list[Item] = field(default_factory=list)

    def hold(self, item: Item, index: int) -> None:
        self.slots[id(item)] = index
        self.held.append(item)

    def _index(self, item: Item) -> int:
        found = self.slots.get(id(item))
        if found is None:
            raise CannotRender("the variable is not part of this list")
        return found

    def plan(self, plan: Plan, changes: Sequence[Change]) -> None:
        removed = {id(c.item) for c in changes if isinstance(c, Remove)}
        for change in changes:
            if isinstance(change, Remove):
                plan.remove(self.node, self._index(change.item))
            elif isinstance(change, (Rename, Replace)):
                if id(change.item) in removed:
                    continue
                item, mapping = change.item, self.node.items[self._index(change.item)].node
                assert isinstance(item, Variable)
                if isinstance(change, Rename):
                    name = mapping.get("name", "Name")
                    assert name is not None
                    put_scalar(self.document, plan, name, change.name)
                    continue
                value = mapping.get("value", "Value")
                if change.value == item.value and new_holes(change) == item.holes:
                    continue
                if value is None:
                    raise CannotRender("the value is not given here")
                if value.kind == "scalar":
                    put_scalar(self.document, plan, value, str(change.value), letters=new_holes(change))
            elif isinstance(change, InsertVariable):
                after = len(self.node.items) - 1 if change.after is None else self._index(change.after)
                plan.insert(self.node, after, self._lines(change.name, change.value, after))
            else:
                raise CannotRender("this cannot be written in a list of variables")

    def _lines(self, name: str, value: str, near: int) -> list[str]:
        sample = self.node.items[near].node if 0 <= near < len(self.node.items) else None
        names = ("name", "value")
        if sample is not None and sample.kind == "mapping" and sample.find("Name") is not None:
            names = ("Name", "Value")
        json = self.document.only_json
        flow = json or self.node.flow or (sample is not None and sample.flow)
        key_style, value_style = "", '"'
        if sample is not None and sample.kind == "mapping":
            old_name, old_value = sample.get(names[0]), sample.get(names[1])
            key_style = old_name.style if old_name is not None and old_name.style in ("'", '"') else ""
            if old_value is not None and old_value.style in ("", "'", '"'):
                value_style = old_value.style
        first = yaml_spell.spell_text(name, key_style, flow=flow, only_json=json)
        second = yaml_spell.spell_text(value, value_style, flow=flow, only_json=json)
        if flow:
            keys = [f'"{n}"' if json else n for n in names]
            return ["{" + f"{keys[0]}: {first}, {keys[1]}: {second}" + "}"]
        return [f"{names[0]}: {first}", f"{names[1]}: {second}"]
