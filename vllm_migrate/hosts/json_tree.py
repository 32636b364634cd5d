"""JSON text as the tree of nodes that the YAML host works on.

Comments and trailing commas are taken as well, since many tools' JSON files have them.
"""

from __future__ import annotations

import json
import re

from vllm_migrate.hosts.yaml_tree import Node, Pair, Tree, Use
from vllm_migrate.lazy import regex

_GAP = regex(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.S)
_STRING = regex(r'"((?:[^"\\\x00-\x1f]|\\.)*)"')
_BARE = regex(r"-?[0-9][0-9.eE+-]*|true|false|null")
_MAX_DEPTH = 150


class _Bad(Exception):
    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def parse(text: str) -> Tree:
    """Return the tree of a JSON text, or of the lines of a text with one value on each."""
    tree = Tree()
    at = _gap(text, 0)
    try:
        while at < len(text):
            node, at = _value(text, at, 0)
            node.uses.append(Use(node, node.start, node.end))
            tree.roots.append(node)
            at = _gap(text, at)
    except _Bad as bad:
        tree.errors.append((bad.message, bad.offset))
    return tree


def _gap(text: str, at: int) -> int:
    match = _GAP.match(text, at)
    return match.end() if match else at


def _string(text: str, at: int) -> Node:
    match = _STRING.match(text, at)
    if match is None:
        raise _Bad("a string is not closed", at)
    try:
        value = match[1] if "\\" not in match[1] else json.loads(match[0])
    except ValueError:
        raise _Bad("a bad escape in a string", at) from None
    return Node("scalar", at, at, match.end(), '"', text=value)


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > _MAX_DEPTH:
        raise _Bad("nested too deeply", at)
    char = text[at : at + 1]
    if char == '"':
        node = _string(text, at)
        return node, node.end
    if char not in ("{", "["):
        match = _BARE.match(text, at)
        if match is None:
            raise _Bad("no JSON value", at)
        return Node("scalar", at, at, match.end(), text=match[0]), match.end()
    node = Node("mapping" if char == "{" else "sequence", at, at, at, "flow")
    close = "}" if char == "{" else "]"
    at = _gap(text, at + 1)
    while not text.startswith(close, at):
        if at >= len(text):
            raise _Bad("a bracket is not closed", node.start)
        key: Node | None = None
        if char == "{":
            key = _string(text, at)
            at = _gap(text, key.end)
            if not text.startswith(":", at):
                raise _Bad("no colon after a key", at)
            at = _gap(text, at + 1)
        child, after = _value(text, at, depth + 1)
        use = Use(child, child.start, child.end, holder=node)
        child.uses.append(use)
        if key is not None:
            key.uses.append(Use(key, key.start, key.end, holder=node))
            use.index = len(node.pairs)
            node.pairs.append(Pair(key, use))
        else:
            use.index = len(node.items)
            node.items.append(use)
        at = _gap(text, after)
        if text.startswith(",", at):
            at = _gap(text, at + 1)
        elif not text.startswith(close, at):
            raise _Bad("no comma between two values", at)
    node.end = at + 1
    for use in node.uses:
        use.end = node.end
    return node, node.end
