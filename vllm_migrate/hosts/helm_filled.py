"""What a text of a template says with the chart's own values: names and images, no more."""

from __future__ import annotations

import re
from functools import lru_cache

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.yaml_tree import Node, parse
from vllm_migrate.lazy import regex

_ACTION = regex(r"\{\{-?\s*(?!\s)(.{0,1000}?)-?\}\}", re.S)
_VALUE = regex(r"\$?\.(Values|Chart)((?:\.[A-Za-z_]\w*)+)$")
_INCLUDE = regex(r"include\s+\"([^\"]+)\"\s+[$.]\w*$")
_END = regex(r"\{\{-?\s*end\s*-?\}\}")
_FORMAT = regex(r"%[sdv]")
_PASSES = frozenset(("quote", "squote", "toString", "trim", "lower"))


def filled(text: str, context: Context, depth: int = 0) -> str:
    """Return a text with each action that the chart's own values settle written out; others stay."""
    if "{{" not in text or depth > 3 or "/templates/" not in f"/{context.path}":
        return text

    def said(match: re.Match[str]) -> str:
        found = _printed(match[1], context, depth)
        return found if found is not None else match[0]

    return _ACTION.sub(said, text)


def _printed(expression: str, context: Context, depth: int) -> str | None:
    first, *pipes = [part.strip() for part in expression.split("|")]
    found = _operand(first, context, depth)
    for pipe in pipes:
        word, _, rest = pipe.partition(" ")
        if word == "default":
            found = found or _operand(rest.strip(), context, depth)
        elif word not in _PASSES:
            return None
    return found or None


def _operand(text: str, context: Context, depth: int) -> str | None:
    text = text.removeprefix("(").removesuffix(")").strip() if text.startswith("(") else text
    if re.fullmatch(r"\"[^\"\\]*\"", text):
        return text[1:-1]
    value = _VALUE.match(text)
    if value is not None:
        name = "values.yaml" if value[1] == "Values" else "Chart.yaml"
        keys = value[2][1:].split(".")
        if value[1] == "Chart":
            keys = [keys[0][:1].lower() + keys[0][1:]]
        return _scalar(context, name, keys)
    fallback = re.match(r"(?:default|coalesce)\s+(\S+)\s+(\S+)$", text)
    if fallback is not None:
        order = (2, 1) if text.startswith("default") else (1, 2)
        return next((s for i in order if (s := _operand(fallback[i], context, depth))), None)
    form = re.match(r"printf\s+\"([^\"\\]*)\"((?:\s+\S+)*)$", text)
    if form is not None:
        given = [_operand(part, context, depth) for part in form[2].split()]
        if None in given or len(given) != len(_FORMAT.findall(form[1])):
            return None
        order_ = iter(given)
        return _FORMAT.sub(lambda _: next(order_) or "", form[1])
    named = _INCLUDE.match(text)
    return _template(named[1], context, depth) if named is not None else None


def _up(context: Context) -> str:
    return "../" * (context.path.split("templates/")[-1].count("/") + 1)


def _scalar(context: Context, name: str, keys: list[str]) -> str | None:
    reader = context.sibling_reader
    text = (reader(_up(context) + name) or "") if reader is not None else ""
    node = _root(text) if text and "{{" not in text else None
    for key in keys:
        node = node.get(key) if node is not None and node.kind == "mapping" else None
    return node.text if node is not None and node.kind == "scalar" else None


@lru_cache(maxsize=32)
def _root(text: str) -> Node | None:
    tree = parse(text)
    return tree.roots[0] if len(tree.roots) == 1 and not tree.errors else None


def _template(name: str, context: Context, depth: int) -> str | None:
    """Return what a named template prints, where that is one line."""
    reader, names = context.sibling_reader, context.sibling_names
    if reader is None or names is None:
        return None
    folder = "../" * context.path.split("templates/")[-1].count("/")
    define = re.compile(r"\{\{-?\s*define\s+\"" + re.escape(name) + r"\"\s*-?\}\}")
    for file in names(folder or ".")[:60]:
        text = (reader(folder + file) or "") if file.endswith(".tpl") else ""
        found = define.search(text) if name in text else None
        end = _END.search(text, found.end()) if found is not None else None
        if found is not None and end is not None:
            shown = filled(text[found.end() : end.start()].strip(), context, depth + 1)
            return shown if "{{" not in shown and "\n" not in shown else None
    return None
