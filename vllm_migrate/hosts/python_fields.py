"""Fields of requests that a program sends to a server, and of the answers it reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from vllm_migrate.hosts.python_edit import Cluster, Slot
from vllm_migrate.hosts.python_maps import Maps
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_text import literals
from vllm_migrate.hosts.python_words import BODIES
from vllm_migrate.lazy import regex
from vllm_migrate.model import CannotRender, Mention, Replace
from vllm_migrate.text import Edit, Span

_SENDS = frozenset({"post", "request", "stream", "put", "async_post"})
_ANSWER = regex(r"(?i)(?:message|delta|msg|choice|chunk|resp(?:onse)?|answer|output|result|completion)s?$")
_PATH = regex(r"(?<![/:])(/[a-z][\w/-]{0,300})$")


def read_fields(module: Module, maps: Maps) -> Iterator[Mention]:
    """Yield the keys of bodies a client sends, and what is read of a message it gets."""
    for node in module.nodes:
        if isinstance(node, ast.keyword) and node.arg in BODIES:
            yield from _body(module, maps, node.value, "")
        elif isinstance(node, ast.Call):
            yield from _sent(module, maps, node)
            yield from _asked(module, node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _is_answer(node.value):
            end = module.span(node).end
            span = Span(end - len(node.attr), end)
            if "_" in node.attr and module.text[span.start : span.end] == node.attr:
                yield _named(module, node, span)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_answer(node.value):
            yield from _text(module, node.slice)


def _sent(module: Module, maps: Maps, call: ast.Call) -> Iterator[Mention]:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _SENDS:
        return
    address = next((a for a in [*call.args, *(k.value for k in call.keywords if k.arg == "url")]), None)
    path = _path(address)
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg in ("data", "content", "body") and isinstance(value, ast.Call) and value.args:
            value = value.args[0] if module.dotted(value.func).endswith("dumps") else value
        elif keyword.arg != "json":
            continue
        yield from _body(module, maps, value, path)


def _path(address: ast.expr | None) -> str:
    """Return the endpoint that an address ends with, "" where the file does not show it."""
    if address is None:
        return ""
    texts = [n.value for n in ast.walk(address) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    found = _PATH.search(re.sub(r"^https?://[^/]*", "", texts[-1])) if texts else None
    return found[1] if found is not None else ""


def _body(module: Module, maps: Maps, node: ast.expr, path: str) -> Iterator[Mention]:
    """The keys of a dictionary, written here or in a variable."""
    if isinstance(node, ast.Dict):
        yield from _keys(module, maps, node, path)
        return
    if not isinstance(node, ast.Name):
        return
    for build, events in maps.flow.reach(node):
        if isinstance(build.origin, ast.Dict):
            for mention in _keys(module, maps, build.origin, path):
                if len(build.uses) > 1:
                    mention.locked = mention.locked or f"{build.name} is used elsewhere too"
                yield mention
        for event in events:
            statement = event.statement
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if event.kind == "item" and isinstance(target, ast.Subscript):
                for mention in _text(module, target.slice):
                    mention.of, mention.group = path, build.origin
                    mention.locked = "a person must say where the value belongs"
                    yield mention


def _keys(module: Module, maps: Maps, node: ast.Dict, path: str) -> Iterator[Mention]:
    bracket = maps.bracket(node)
    if bracket is None:
        return
    cluster = Cluster(module, _nothing)
    for i, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            continue
        outer = module.span(key)
        parts = literals(module.text, outer.start, outer.end)
        if len(parts) != 1:
            continue
        span = Span(parts[0].inner_start, parts[0].inner_end)
        mention = Mention(module.region, span, cluster, kind="field", name=key.value)
        mention.guarded = module.guard(key)
        mention.of, mention.group, mention.nests = path, node, True
        slot = Slot(mention, bracket=bracket, index=i)
        slot.write = lambda change, span=span, value=value, quote=parts[0].quote: _written(
            module, change, span, value, quote
        )
        cluster.add(slot)
        yield mention
        if isinstance(value, ast.Dict):
            if key.value in BODIES:
                yield from _keys(module, maps, value, path)
            for inner in _keys(module, maps, value, path):
                inner.name, inner.locked = f"{key.value}.{inner.name}", "it is part of another field"
                yield inner


def _written(module: Module, change: Replace, key: Span, value: ast.expr, quote: str) -> list[Edit]:
    """`"a": x` as `"b": x`, or as `"b": {"c": x}` where the new name is `b.c`."""
    name, _, inner = str(change.value).partition(".")
    edits = [Edit(key.start, key.end, name)]
    if inner:
        span = module.span(value)
        edits += [Edit(span.start, span.start, f"{{{quote}{inner}{quote}: "), Edit(span.end, span.end, "}")]
    return edits


def _asked(module: Module, call: ast.Call) -> Iterator[Mention]:
    """`message.get("x")`, `getattr(message, "x", None)`, `hasattr(message, "x")`."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "get" and call.args and _is_answer(func.value):
        yield from _text(module, call.args[0])
    elif isinstance(func, ast.Name) and func.id in ("getattr", "hasattr") and len(call.args) > 1:
        yield from _text(module, call.args[1]) if _is_answer(call.args[0]) else ()


def _is_answer(node: ast.expr) -> bool:
    """Tell whether an expression is called like a part of an answer."""
    while isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return _ANSWER.search(node.slice.value) is not None
        node = node.value
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return _ANSWER.search(name) is not None


def _text(module: Module, node: ast.expr) -> Iterator[Mention]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        span = module.span(node)
        parts = literals(module.text, span.start, span.end)
        if len(parts) == 1 and module.text[parts[0].inner_start : parts[0].inner_end] == node.value:
            yield _named(module, node, Span(parts[0].inner_start, parts[0].inner_end))


def _named(module: Module, node: ast.AST, span: Span) -> Mention:
    cluster = Cluster(module, _nothing)
    name = module.text[span.start : span.end]
    mention = Mention(module.region, span, cluster, kind="field", name=name)
    cluster.add(Slot(mention, write=lambda change: [Edit(span.start, span.end, str(change.value))]))
    mention.guarded = module.guard(node)
    return mention


def _nothing(bracket: object, key: str, value: object, holes: Sequence[str]) -> str:
    raise CannotRender("nothing can be added here")
