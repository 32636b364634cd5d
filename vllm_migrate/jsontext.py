"""Edits of JSON text that leave everything else as it is written."""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import Any

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import is_hole
from vllm_migrate.text import Edit, apply_edits

_FILLED = regex(r"[^\s,\]}\"]+")
_SPACE = regex(r"[ \t\r\n]*")


@dataclass
class Node:
    """A JSON value and where it stands. Members of an object: (key, key start, value node)."""

    start: int
    end: int
    value: Any
    members: list[tuple[str, int, int, Node]] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)


_DECODER = json.JSONDecoder()
_MAX_DEPTH = 100


def parse(text: str) -> Node:
    """Return the node of JSON text, run-time parts in place of values or in strings taken as they stand.

    Raises ValueError where it is not JSON (or nested beyond 100).
    """
    node = _value(text, _skip(text, 0), 0)
    if _skip(text, node.end) != len(text):
        raise ValueError(f"more text after the JSON value at {node.end}")
    return node


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    char = text[at : at + 1]
    if char == "{":
        node = Node(at, at, {})
        at = _skip(text, at + 1)
        while text[at : at + 1] != "}":
            if text[at : at + 1] != '"':
                raise ValueError(f"no key at {at}")
            key, key_end = _DECODER.raw_decode(text, at)
            colon = _skip(text, key_end)
            if text[colon : colon + 1] != ":":
                raise ValueError(f"no colon at {colon}")
            child = _value(text, _skip(text, colon + 1), depth + 1)
            node.members.append((key, at, key_end, child))
            node.value[key] = child.value
            at = _skip(text, child.end)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
                if text[at : at + 1] == "}":
                    raise ValueError(f"trailing comma at {at}")
            elif text[at : at + 1] != "}":
                raise ValueError(f"no comma at {at}")
        node.end = at + 1
        return node
    if char == "[":
        node = Node(at, at, [])
        at = _skip(text, at + 1)
        while text[at : at + 1] != "]":
            child = _value(text, at, depth + 1)
            node.items.append(child)
            node.value.append(child.value)
            at = _skip(text, child.end)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
            elif text[at : at + 1] != "]":
                raise ValueError(f"no comma at {at}")
        node.end = at + 1
        return node
    if is_hole(char):
        # What a run puts in is one value, or several with commas: nothing of it is known, so it stays as it is.
        found = _FILLED.match(text, at)
        assert found is not None
        return Node(at, found.end(), found[0])
    value, end = _DECODER.raw_decode(text, at)
    return Node(at, end, value)


class Filled(ValueError):
    """A value that is only known at run time would have to be written somewhere else."""


def rewrite(text: str, new: Any) -> str:
    """Return the JSON text with the value `new`, changing no more of it than needed.

    Run-time parts (private-use letters) stay where they are or go; Filled is raised where one would have to move.

    Members that stay keep their spelling and place; a removed member takes its comma; new members come in
    the place of removed ones where there are enough of these, or the value has them there, else last; spacing
    follows the text's own.
    """
    node = parse(text)
    return apply_edits(text, _edits(text, node, new))


def _edits(text: str, node: Node, new: Any) -> list[Edit]:
    if json.dumps(node.value, sort_keys=True) == json.dumps(new, sort_keys=True):
        # Not `==`: True equals 1, but is not the same JSON.
        return []
    if isinstance(new, dict) and node.members and new:
        return _object_edits(text, node, new)
    return [Edit(node.start, node.end, dumps_like(text, new))]


def _object_edits(text: str, node: Node, new: dict[str, Any]) -> list[Edit]:
    edits: list[Edit] = []
    old_keys = [m[0] for m in node.members]
    added = [k for k in new if k not in old_keys]
    renames = len(added) <= sum(1 for k in old_keys if k not in new)
    order = list(new)
    kept: list[int] = []
    for i, (name, key_start, key_end, child) in enumerate(node.members):
        if name in new:
            kept.append(i)
            edits += _edits(text, child, new[name])
        elif added and (renames or _comes_here(added[0], old_keys[i + 1 :], order)):
            # A new member takes the place of the one that goes: a rename stays one small change.
            fresh = added.pop(0)
            kept.append(i)
            edits.append(Edit(key_start, key_end, json.dumps(fresh)))
            edits += _edits(text, child, new[fresh])
    edits += _removals(node, kept)
    if added:
        gap, colon = _spacing(text, node)
        last = node.members[kept[-1]][3].end
        written = "".join(f",{gap}{json.dumps(k)}:{colon}{dumps_like(text, new[k])}" for k in added)
        edits.append(Edit(last, last, written))
    return edits


def _comes_here(fresh: str, following: list[str], order: list[str]) -> bool:
    """Tell whether the new value puts a member before the next one that stays."""
    after = next((k for k in following if k in order), None)
    return after is None or order.index(fresh) < order.index(after)


def _removals(node: Node, kept: list[int]) -> list[Edit]:
    """Edits that take away the members not kept; at least one is kept."""
    edits = []
    members = node.members
    first = kept[0]
    if first > 0:
        edits.append(Edit(members[0][1], members[first][1], ""))
    for a, b in zip(kept, [*kept[1:], len(members)], strict=True):
        if b - a > 1:
            edits.append(Edit(members[a][3].end, members[b - 1][3].end, ""))
    return edits


def _spacing(text: str, node: Node) -> tuple[str, str]:
    """Return what stands between a comma and the next key, and after a colon, in this object."""
    members = node.members
    _, _, key_end, child = members[0]
    colon = text[key_end : child.start].partition(":")[2]
    if len(members) > 1:
        gap = text[members[0][3].end : members[1][1]].partition(",")[2]
    else:
        between = text[node.start + 1 : members[0][1]]
        gap = between if "\n" in between else (" " if colon else "")
    return gap, colon


def dumps_like(text: str, value: Any) -> str:
    """Return JSON for a value, spaced as `text` is: compact where it puts no blank after `:` or `,`."""
    if any(is_hole(c) for c in json.dumps(value, ensure_ascii=False)):
        raise Filled("a part of the value is only known at run time")
    compact = re.search(r'"\s*:\s', text) is None and re.search(r'[:,]["\d{\[tfn]', text) is not None
    separators = (",", ":") if compact else (", ", ": ")
    return json.dumps(value, separators=separators, ensure_ascii=False)
