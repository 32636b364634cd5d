"""New text and new values for nodes of a YAML document, put into the plan of its edits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from vllm_migrate.hosts import yaml_spell
from vllm_migrate.hosts.yaml_edit import Document, Plan
from vllm_migrate.hosts.yaml_tree import Node, Pair, walk
from vllm_migrate.model import CannotRender, fill


def put_scalar(
    document: Document, plan: Plan, node: Node, text: str, *, letters: Sequence[str] = (), loose: bool = False
) -> None:
    """Plan new text for a scalar, in its own style where that can hold it.

    letters: spellings of the hole letters in the text.
    """
    flow = in_flow(node)

    def filled(raw: str) -> str:
        return fill(raw, letters)

    if node.style in ("|", ">"):
        raw = _block_raw(document, node, text)
        if raw is not None:
            plan.put(*raw[:2], filled(raw[2]))
            return
    style = node.style if node.style in ("'", '"') else ""
    escapes = "\\" in document.text[node.body : node.end]
    only_json = document.only_json
    raw_text = yaml_spell.spell_text(text, style, flow=flow, only_json=only_json, loose=loose, escapes=escapes)
    if raw_text[:1] not in ("'", '"') and letters and not yaml_spell.plain_safe(filled(raw_text), flow=flow):
        raw_text = yaml_spell.spell_text(text, '"', flow=flow, only_json=document.only_json)
    raw_text = filled(raw_text)
    if not node.text and node.start == node.end:
        raw_text = " " + raw_text
    plan.put(node.body, node.end, raw_text)


def _block_raw(document: Document, node: Node, text: str) -> tuple[int, int, str] | None:
    """Return span and text of a block scalar's lines for new text, or None where its header forbids it."""
    header = re.compile(r"[|>]([-+0-9]*)(?![-+0-9])[^\r\n]*(?:\r\n|\n|\r)").match(document.text, node.body)
    if header is None or "+" in header[1] or re.search(r"\d", header[1]):
        return None
    strips = "-" in header[1]
    if strips == text.endswith("\n") or (not strips and text.endswith("\n\n")):
        return None
    body = text.removesuffix("\n")
    if not body or body[0] in " \n\t" or (node.style == ">" and "\n" in body) or yaml_spell.has_control(body):
        return None
    first = document.text[header.end() : node.end]
    indent = first[: len(first) - len(first.lstrip(" "))]
    lines = [indent + line if line else "" for line in body.split("\n")]
    return header.end(), node.end, document.newline.join(lines)


def outward(text: str, interpolates: bool) -> str:
    """Write a literal `$` as `$$` where the format reads one as the start of a name."""
    return text.replace("$", "$$") if interpolates else text


def in_flow(node: Node) -> bool:
    """Tell whether a node stands inside a flow collection."""
    holder = node.holder
    return holder is not None and holder.flow


def put_value(document: Document, plan: Plan, node: Node, old: Any, new: Any) -> None:
    """Plan a new Python value for a node, changing no more of its text than needed."""
    if _same(old, new):
        return
    if isinstance(new, dict) and new and isinstance(old, dict) and node.kind == "mapping" and node.pairs:
        _put_mapping(document, plan, node, old, new)
        return
    if isinstance(new, list) and new and isinstance(old, list) and node.kind == "sequence" and node.items:
        _put_sequence(document, plan, node, old, new)
        return
    if node.kind == "scalar" and isinstance(new, str) and (isinstance(old, str) or node.style == ""):
        put_scalar(document, plan, node, new)
        return
    like = document.text[node.body : node.end]
    flow = in_flow(node)
    if node.kind == "scalar":
        raw = yaml_spell.spell_value(new, flow=flow, only_json=document.only_json, like=like)
        plan.put(node.body, node.end, raw if node.end > node.body else " " + raw)
        return
    raw = yaml_spell.spell_value(new, flow=flow or node.flow, only_json=document.only_json)
    if node.flow:
        plan.put(node.body, node.end, raw)
        return
    # A block becomes a one-line value behind its key.
    holder = node.holder
    if holder is None or holder.kind != "mapping":
        raise CannotRender("the nested value cannot be written anew here")
    key = holder.pairs[node.uses[0].index].key
    behind = document.mask.text.find(":", key.end) + 1
    note = re.compile(r"[ \t]*#").match(document.text, behind)
    if note is not None:
        # A comment behind the key stays.
        plan.put(behind, behind, " " + raw)
        behind, raw = document.line_end(behind), ""
    plan.put(behind, node.end, " " + raw if raw else "")


def _put_mapping(document: Document, plan: Plan, node: Node, old: dict[str, Any], new: dict[str, Any]) -> None:
    if any(p.name == "<<" for p in node.pairs):
        raise CannotRender("the mapping merges another one")
    added = [k for k in new if k not in old]
    last = len(node.pairs) - 1
    for index, pair in enumerate(node.pairs):
        if pair.name in new:
            if pair.name not in old:
                continue
            if pair.use.alias and old[pair.name] != new[pair.name]:
                raise CannotRender("the value stands elsewhere, behind an alias")
            put_value(document, plan, pair.node, old[pair.name], new[pair.name])
        elif added:
            # A new key takes the place of one that goes: a rename stays one small change.
            fresh = added.pop(0)
            put_key(document, plan, pair, fresh)
            if pair.use.alias and old.get(pair.name) != new[fresh]:
                raise CannotRender("the value stands elsewhere, behind an alias")
            put_value(document, plan, pair.node, old.get(pair.name), new[fresh])
        else:
            plan.remove(node, index)
    for fresh in added:
        plan.insert(node, last, pair_lines(document, node, fresh, new[fresh]))


def _put_sequence(document: Document, plan: Plan, node: Node, old: list[Any], new: list[Any]) -> None:
    head = 0
    while head < min(len(old), len(new)) and _same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and _same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    gone = list(range(head, len(old) - tail))
    fresh = list(new[head : len(new) - tail])
    for index in gone:
        if fresh:
            put_value(document, plan, node.items[index].node, old[index], fresh.pop(0))
        else:
            plan.remove(node, index)
    place = gone[-1] if gone else head - 1
    for value in fresh:
        if node.flow or document.only_json:
            raw = yaml_spell.spell_value(value, sample_style(node), flow=True, only_json=document.only_json)
            plan.insert(node, place, [raw])
        else:
            lines = yaml_spell.block_lines(value, 2) if isinstance(value, dict) else None
            plan.insert(node, place, lines or [yaml_spell.spell_value(value, sample_style(node), flow=False)])


def _same(a: Any, b: Any) -> bool:
    """Compare values and all types in them: 1 is not true."""
    return type(a) is type(b) and repr(a) == repr(b)


def put_key(document: Document, plan: Plan, pair: Pair, name: str) -> None:
    """Plan a new name for a key."""
    style = pair.key.style if pair.key.style in ("'", '"') else ""
    raw = yaml_spell.spell_text(name, style, flow=in_flow(pair.node), only_json=document.only_json)
    plan.put(pair.key.body, pair.key.end, raw)


def pair_lines(document: Document, node: Node, key: str, value: Any) -> list[str]:
    """Return the lines of a new pair of a mapping, spelled like its neighbours."""
    if node.flow or document.only_json:
        style = '"' if document.only_json or (node.pairs and node.pairs[-1].key.style == '"') else ""
        name = yaml_spell.spell_text(key, style, flow=True, only_json=document.only_json)
        return [
            f"{name}: " + yaml_spell.spell_value(value, sample_style(node), flow=True, only_json=document.only_json)
        ]
    return yaml_spell.keyed_lines(key, value, indent_step(document), sample_style(node))


def sample_style(node: Node) -> str:
    """Return the quotes that most scalars of a collection have, "" for none."""
    scalars = [u.node for u in node.children if u.node.style in ("", "'", '"')]
    styles = [scalar.style for scalar in scalars]
    texts = [scalar.style for scalar in scalars if scalar.text and yaml_spell.is_text(scalar.text)]
    chosen = texts or styles
    return max(sorted(set(chosen)), key=chosen.count) if chosen else ""


def indent_step(document: Document) -> int:
    """Return how much deeper nested mappings stand in this document: 2 where it has none."""
    for root in document.roots:
        for node in walk(root):
            if node.kind == "mapping" and not node.flow and node.pairs and node.holder is not None:
                holder = node.holder
                if holder.kind == "mapping" and not holder.flow:
                    step = document.column(node.pairs[0].start) - document.column(holder.pairs[0].start)
                    if 0 < step <= 8:
                        return step
    return 2
