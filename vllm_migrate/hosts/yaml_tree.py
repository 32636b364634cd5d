"""YAML text as a tree of nodes with exact positions.

The tree is built from parser events: the C parser where it takes the text, else the pure one. A node that is
used in several places (an anchor) is one object; each place is a `Use`.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from vllm_migrate.hosts.bearing import Pieces, bearing, joined
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.text import Span

_MAX_DEPTH = 150
_LARGEST = 8 << 20
"""Letters of a document, beyond which it is no file that somebody writes: its tree would take gigabytes."""
_PROPERTY = regex(r"[&!][^\s,\[\]{}]*")
_GAP = regex(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_SEPARATOR = regex(r"(?m)^---(?=\s|$)")
_SCHEMA = regex(r"(?m)^apiVersion: [\"']?apiextensions\.k8s\.io/")
_SCHEMA_KIND = regex(r"(?m)^kind: [\"']?CustomResourceDefinition\b")
_NAMED = regex(
    r"(?m)^[ \t]*metadata:[ \t]*\r?\n(?:[ \t][^\n]*\n){0,12}?[ \t]+name:[ \t]*[\"']?([\w./-]+)"
    r"|(?<![^\s\[{,])[&*]([\w-]+)"
)
_TERM = regex(r"\w[\w./-]*")


@dataclass(eq=False)
class Use:
    """One place where a node stands: an item of a list, a key's value, or an alias to a node elsewhere.

    start, end: of what is written here (`*name` for an alias). holder, index: the collection it is part of.
    """

    node: Node
    start: int
    end: int
    alias: bool = False
    holder: Node | None = None
    index: int = 0


@dataclass(eq=False)
class Pair:
    """A key of a mapping and its value."""

    key: Node
    use: Use

    @property
    def name(self) -> str:
        return self.key.text

    @property
    def node(self) -> Node:
        return self.use.node

    @property
    def start(self) -> int:
        return self.key.start

    @property
    def end(self) -> int:
        return max(self.use.end, self.key.end)


@dataclass(eq=False)
class Node:
    """A value. kind: "scalar", "sequence" or "mapping".

    start: with anchor and tag; body: without them; end: of the last letter (of a block scalar: of its last
    line that is not blank). style: of a scalar "", "'", '"', "|" or ">"; of a collection "block" or "flow".
    tag: as resolved by the parser, "" where none is written. text: a scalar's value.
    """

    kind: str
    start: int
    body: int
    end: int
    style: str = ""
    tag: str = ""
    text: str = ""
    anchor: str = ""
    items: list[Use] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    """The defining place first, then the aliases."""
    known: dict[str, tuple[int, Pair]] | None = None
    """Name → the first pair in force and its rank, once asked for."""
    merges: dict[int, list[Pair]] = field(default_factory=dict)
    """Merges above the node → its pairs in force there, once asked for: merges of merges are many."""

    @property
    def children(self) -> list[Use]:
        return self.items if self.kind == "sequence" else [p.use for p in self.pairs]

    @property
    def flow(self) -> bool:
        return self.style == "flow"

    @property
    def holder(self) -> Node | None:
        """The collection that holds the place where the node is written."""
        return self.uses[0].holder if self.uses else None

    def find(self, *names: str) -> Pair | None:
        """Return the pair whose key is one of the names (merged mappings are looked through), or None."""
        known = self.known
        if known is None:
            known = self.known = {}
            for rank, pair in enumerate(self.merged()):
                known.setdefault(pair.key.text, (rank, pair))
        found = [known[name] for name in names if name in known]
        if not found:
            return None
        return min(found, key=lambda one: one[0])[1] if len(found) > 1 else found[0][1]

    def get(self, *names: str) -> Node | None:
        """Return the value under one of the names, or None."""
        pair = self.find(*names)
        return pair.node if pair is not None else None

    def scalar(self, *names: str) -> str:
        """Return the text of a scalar under one of the names, or ""."""
        node = self.get(*names)
        return node.text if node is not None and node.kind == "scalar" else ""

    def merged(self, depth: int = 0) -> list[Pair]:
        """Return the pairs in force: own ones, then those of `<<` that they do not override."""
        if self.kind != "mapping":
            return []
        if not any(p.key.text == "<<" and not p.key.style for p in self.pairs):
            return self.pairs
        if depth in self.merges:
            return self.merges[depth]
        own = [p for p in self.pairs if p.key.text != "<<" or p.key.style]
        seen = {p.key.text for p in own}
        for pair in self.pairs:
            if pair.key.text != "<<" or pair.key.style or depth > 8:
                continue
            sources = [pair.node] if pair.node.kind == "mapping" else [u.node for u in pair.node.items]
            for source in dict.fromkeys(sources):
                for inherited in source.merged(depth + 1):
                    if inherited.key.text not in seen:
                        seen.add(inherited.key.text)
                        own.append(inherited)
        self.merges[depth] = own
        return own


@dataclass
class Tree:
    """What parsing gave: the documents' top nodes, and errors as (message, offset)."""

    roots: list[Node] = field(default_factory=list)
    errors: list[tuple[str, int]] = field(default_factory=list)


class _ReaderError(Exception):
    """The library that reads YAML failed by an error of its own."""


class _Failed(Exception):
    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def quiet_documents(text: str) -> list[Span]:
    """Return the documents that have no bearing on a launch.

    A schema that defines a kind of resource can be most of a manifest of megabytes, and it starts, sets and
    pins nothing. Other documents count when they share a name with one that speaks of vLLM.
    """
    starts = array("I", (m.start() for m in _SEPARATOR.finditer(text)))
    if not starts or starts[0]:
        starts.insert(0, 0)
    starts.append(len(text))
    spans = Pieces(starts)
    schemas = _SCHEMA.search(text) is not None and [
        _SCHEMA.search(text, start, end) is not None and _SCHEMA_KIND.search(text, start, end) is not None
        for start, end in spans
    ]
    if not schemas:
        kept = bearing(text, spans, None, lambda _, part: _names(part), term=_TERM) if len(spans) > 1 else [True]
        return joined(spans, kept)
    looked_at = [(start, start if schema else end) for (start, end), schema in zip(spans, schemas, strict=True)]
    return joined(spans, bearing(text, looked_at, None, lambda _, part: _names(part), term=_TERM))


def _names(text: str) -> list[str]:
    """Return the names of what a document describes: others refer to it by them."""
    return [found for pair in _NAMED.findall(text) for found in pair if found]


def parse(text: str, quiet: Sequence[Span] = ()) -> Tree:
    """Return the tree of all documents. A document that does not parse is an error, the others stay.

    quiet: whole documents that are passed over.
    """
    tree = Tree()
    at = 0
    for part in [*quiet, Span(len(text), len(text))]:
        if at < part.start:
            _parse_run(tree, text, at, part.start)
        at = part.end
    return tree


def _parse_run(tree: Tree, text: str, low: int, high: int) -> None:
    """Add the documents of a part of the text."""
    run = text if (low, high) == (0, len(text)) else text[low:high]
    starts = [m.start() for m in _SEPARATOR.finditer(run)]
    bounds = sorted({0, *starts, len(run)})
    largest = max(itertools.pairwise(bounds), key=lambda b: b[1] - b[0], default=(0, 0))
    if largest[1] - largest[0] > _LARGEST:
        tree.errors.append((f"a document of {(largest[1] - largest[0]) >> 20} MiB is not read", low + largest[0]))
        return
    try:
        tree.roots += _documents(run, low)
        return
    except _Failed as failed:
        first = failed
    if starts in ([], [0]):
        tree.errors.append((first.message, low + first.offset))
        return
    for start, end in itertools.pairwise(bounds):
        try:
            tree.roots += _documents(run[start:end], low + start)
        except _Failed as failed:
            tree.errors.append((failed.message, low + start + failed.offset))


def parse_part(text: str, start: int, end: int) -> list[Node]:
    """Return the top nodes of a part of a text, at their places in the whole; none where it does not parse."""
    # The part keeps its first line's indentation.
    line = text.rfind("\n", 0, start) + 1
    try:
        return _documents(" " * (start - line) + text[start:end], line)
    except _Failed:
        return []


def _documents(text: str, base: int) -> list[Node]:
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.loader import SafeLoader

    first: _Failed | None = None
    for loader in (_c_loader(), SafeLoader):
        if loader is None:
            continue
        try:
            return _Builder(text, base).build(loader(text))
        except YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            message = str(getattr(error, "problem", None) or error).split("\n", 1)[0]
            offset = getattr(mark, "index", getattr(error, "position", 0)) or 0
            first = first or _Failed(message, min(offset, len(text)))
        except _ReaderError as error:
            first = first or _Failed(str(error) or "not YAML", 0)
    assert first is not None
    raise first


def _events(loader: Any) -> Iterator[Any]:
    """Yield the events of a loader. Raises YAMLError, and _ReaderError where the loader itself fails."""
    from ruamel.yaml.error import YAMLError

    while True:
        try:
            if not loader.check_event():
                return
            event = loader.get_event()
        except YAMLError:
            raise
        except (ValueError, IndexError, AssertionError, RecursionError, AttributeError) as error:
            raise _ReaderError(str(error)) from None
        yield event


def _c_loader() -> Any:
    try:
        from ruamel.yaml.cyaml import CSafeLoader
    except ImportError:
        return None
    return CSafeLoader


class _Builder:
    """Makes nodes of events."""

    def __init__(self, text: str, base: int) -> None:
        self.text = text
        self.base = base
        self.roots: list[Node] = []
        self.stack: list[Node] = []
        self.keys: list[Node | None] = []
        self.anchors: dict[str, Node] = {}

    def build(self, loader: Any) -> list[Node]:
        for event in _events(loader):
            name = type(event).__name__
            if name == "ScalarEvent":
                self._scalar(event)
            elif name in ("MappingStartEvent", "SequenceStartEvent"):
                self._open("mapping" if name == "MappingStartEvent" else "sequence", event)
            elif name in ("MappingEndEvent", "SequenceEndEvent"):
                self._close(event)
            elif name == "AliasEvent":
                self._alias(event)
            elif name == "DocumentStartEvent":
                self.anchors = {}
        return self.roots

    def _body(self, start: int, event: Any) -> int:
        if not event.anchor and event.tag is None:
            return start
        at = start
        while True:
            match = _PROPERTY.match(self.text, at)
            if match is None:
                return at
            gap = _GAP.match(self.text, match.end())
            at = gap.end() if gap else match.end()

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        style = event.style or ""
        if style not in ("'", '"', "|", ">"):
            style = ""
        body = min(self._body(start, event), end) if end > start else start
        if style in ("|", ">"):
            end = self._block_end(body, end)
        elif not style and start == end and self.keys and self.keys[-1] is not None:
            # The pure parser puts an empty value at the next token; it belongs behind its colon.
            colon = self.text.find(":", self.keys[-1].end - self.base)
            if 0 <= colon < start:
                start = body = end = colon + 1
        value = event.value if isinstance(event.value, str) else str(event.value)
        self._add(Node("scalar", start, body, end, style, _tag(event), value, event.anchor or ""))

    def _block_end(self, body: int, end: int) -> int:
        """Return where the last line of a block scalar ends (for `|+`: its trailing blank lines too)."""
        header_end = self.text.find("\n", body)
        if header_end < 0:
            return len(self.text[body:end].rstrip()) + body
        keep = "+" in self.text[body:header_end].split("#", 1)[0]
        if keep:
            return max(end - 1 - (self.text[end - 2 : end] == "\r\n"), body) if self.text[end - 1] == "\n" else end
        return body + len(self.text[body:end].rstrip())

    def _open(self, kind: str, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        node = Node(kind, start, self._body(start, event), end, tag=_tag(event), anchor=event.anchor or "")
        node.style = "flow" if event.flow_style else "block"
        if len(self.stack) >= _MAX_DEPTH:
            raise _Failed("nested too deeply", start)
        self._add(node)
        self.stack.append(node)
        self.keys.append(None)

    def _close(self, event: Any) -> None:
        node = self.stack.pop()
        self.keys.pop()
        if node.flow:
            node.end = event.end_mark.index + self.base
        elif node.children:
            last = node.pairs[-1].end if node.kind == "mapping" else node.items[-1].end
            node.end = max(last, node.start)
        else:
            node.end = node.body
        for use in node.uses:
            use.end = node.end

    def _alias(self, event: Any) -> None:
        start, end = event.start_mark.index + self.base, event.end_mark.index + self.base
        node = self.anchors.get(event.anchor)
        if node is None or any(node is open_node for open_node in self.stack):
            node = Node("scalar", start, start, end, style="*", text="")
            self._place(Use(node, start, end))
            return
        self._place(Use(node, start, end, alias=True))

    def _add(self, node: Node) -> None:
        node.start += self.base
        node.body += self.base
        node.end += self.base
        if node.anchor:
            self.anchors[node.anchor] = node
        self._place(Use(node, node.start, node.end))

    def _place(self, use: Use) -> None:
        use.node.uses.append(use)
        if not self.stack:
            self.roots.append(use.node)
            return
        holder = self.stack[-1]
        use.holder = holder
        if holder.kind == "sequence":
            use.index = len(holder.items)
            holder.items.append(use)
            return
        key = self.keys[-1]
        if key is None:
            self.keys[-1] = use.node
            return
        use.index = len(holder.pairs)
        holder.pairs.append(Pair(key, use))
        self.keys[-1] = None


def _tag(event: Any) -> str:
    tag = getattr(event, "tag", None)
    return "" if tag is None else str(tag)


def walk(node: Node) -> Iterator[Node]:
    """Yield every node written at or below a node, each once; aliases are not followed."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        stack += [use.node for use in reversed(here.children) if not use.alias]
