"""Containers for what stands alone: a pin or a name inside a scalar, and keys that are not there yet."""

from __future__ import annotations

from collections.abc import Sequence

from vllm_migrate.hosts import yaml_spell
from vllm_migrate.hosts.listed import SpotContainer
from vllm_migrate.hosts.moved import write_bare
from vllm_migrate.hosts.yaml_edit import Home, Plan
from vllm_migrate.hosts.yaml_homes import SeqHome, new_holes
from vllm_migrate.hosts.yaml_put import outward, put_scalar
from vllm_migrate.hosts.yaml_scalar import ScalarRegion, lift
from vllm_migrate.hosts.yaml_tree import Node
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import (
    HOLE,
    CannotRender,
    Change,
    InsertText,
    InsertVariable,
    InsertWords,
    Pin,
    Remove,
    Replace,
    Variable,
    fill,
)
from vllm_migrate.text import Edit, apply_edits


@dataclass(eq=False)
class NewKey(Home):
    """Takes what a mapping has no key for yet: a list of arguments, or an environment.

    form: "words", "pairs" (a list of name and value), "strings" (a list of NAME=value) or "map".
    interpolates: as in `SeqHome`.
    """

    node: Node
    key: str
    form: str
    names: tuple[str, str] = ("name", "value")
    interpolates: bool = False

    def plan(self, plan: Plan, changes: Sequence[Change]) -> None:
        lines: list[str] = []
        flow = self.node.flow or self.document.only_json
        raws: list[str] = []
        for change in changes:
            if isinstance(change, InsertWords) and self.form == "words":
                for word in change.words:
                    raw = fill(self._text(outward(word, self.interpolates), flow), change.holes)
                    raws.append(raw)
                    lines.append(f"- {raw}")
            elif isinstance(change, InsertVariable):
                first, second = self._text(change.name, flow), self._quoted(change.value, flow)
                if self.form == "map":
                    raws.append(f"{first}: {second}")
                    lines.append(f"{first}: {second}")
                elif self.form == "strings":
                    raw = self._text(f"{change.name}={outward(change.value, self.interpolates)}", flow)
                    raws.append(raw)
                    lines.append(f"- {raw}")
                else:
                    keys = [self._text(n, flow) for n in self.names]
                    raws.append("{" + f"{keys[0]}: {first}, {keys[1]}: {second}" + "}")
                    lines += [f"- {self.names[0]}: {first}", f"  {self.names[1]}: {second}"]
            else:
                raise CannotRender("this cannot be added here")
        after = len(self.node.pairs) - 1
        if flow:
            inner = ", ".join(raws)
            shown = "{" + inner + "}" if self.form == "map" else "[" + inner + "]"
            plan.insert(self.node, after, [f"{self._text(self.key, True)}: {shown}"])
            return
        pad = "  " if self.form == "map" or self._indented() else ""
        plan.insert(self.node, after, [f"{self.key}:", *(pad + line for line in lines)])

    def _text(self, text: str, flow: bool) -> str:
        return yaml_spell.spell_text(text, "", flow=flow, only_json=self.document.only_json)

    def _quoted(self, text: str, flow: bool) -> str:
        style = "" if self.form == "map" else '"'
        return yaml_spell.spell_text(text, style, flow=flow, only_json=self.document.only_json)

    def _indented(self) -> bool:
        """Tell whether lists in this mapping stand deeper than their key."""
        for pair in self.node.pairs:
            if pair.node.kind == "sequence" and not pair.node.flow and pair.node.items and not pair.use.alias:
                column = self.document.column(self.document.begin(pair.node, 0))
                return column > self.document.column(pair.start)
        holder = self.node.holder
        if holder is not None and holder.kind == "sequence" and holder.holder is not None and not holder.flow:
            up = holder.holder
            if up.kind == "mapping" and not up.flow:
                column = self.document.column(self.document.begin(holder, 0))
                return column > self.document.column(up.pairs[holder.uses[0].index].start)
        return True


@dataclass(eq=False)
class SpotHome(Home):
    """A pin or a name inside a scalar: the letters of the span are replaced."""

    node: Node
    region: ScalarRegion
    seq: SeqHome | None = None

    def plan(self, plan: Plan, changes: Sequence[Change]) -> None:
        edits: list[Edit] = []
        for change in changes:
            if self.seq is not None and isinstance(change, (Remove, InsertText)):
                self.seq.plan(plan, [change])
                continue
            if not isinstance(change, Replace):
                raise CannotRender("this can only be given another text")
            item = change.item
            old = getattr(item, "text", getattr(item, "name", None))
            if change.value == old:
                continue
            edits.append(Edit(item.span.start, item.span.end, fill(str(change.value), new_holes(change))))
        if not edits:
            return
        mapped = [lift(self.region, edit, self.document.region) for edit in edits]
        whole = apply_edits(self.region.text, edits)
        loses_type = not self.node.style and yaml_spell.is_text(self.region.text) != yaml_spell.is_text(whole)
        if loses_type:
            put_scalar(self.document, plan, self.node, whole, letters=self.region.spellings)
            return
        for edit in mapped:
            if edit is None:
                raise CannotRender("the text cannot be written at this place")
            plan.put(edit.start, edit.end, edit.text)


_NAMED = regex(r"\$\{\{\s*env\.(?P<env>\w+)\s*\}\}|\$\{(?P<braced>\w+)\}|\$(?P<bare>\w+)")


def move_to_variable(pin: Pin, variables: Sequence[Variable]) -> Pin:
    """Return the pin on the value of the one variable that gives a part of it, or the pin itself.

    Args: variables: what is set around the script that holds the pin.
    """
    named = _NAMED.fullmatch(pin.holes[0]) if len(pin.holes) == 1 and pin.kind != "build-arg" else None
    if named is None:
        return pin
    name = named["env"] or named["braced"] or named["bare"]
    # The innermost setting counts, and it is the last one.
    found = next((v for v in reversed(variables) if v.name == name), None)
    span = found.value_span if found is not None else None
    if found is None or span is None or found.holes or found.region.text[span.start : span.end] != found.value:
        return pin
    before, _, after = pin.text.partition(HOLE)
    moved = Pin(found.region, span, SpotContainer("yaml", found.region, write_bare), kind=pin.kind, text=found.value)
    moved.name, moved.owner = pin.name or name, pin.owner
    moved.prefix, moved.suffix = pin.prefix + before, after + pin.suffix
    moved.locked, moved.guarded = pin.locked or found.locked, pin.guarded
    return moved
