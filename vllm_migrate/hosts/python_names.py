"""Names of vLLM that a module uses: imports, attributes, keywords, model classes, metrics."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from vllm_migrate.hosts.promql import is_query, metric_names
from vllm_migrate.hosts.python_edit import Cluster, Slot, mapped
from vllm_migrate.hosts.python_fields import read_fields
from vllm_migrate.hosts.python_maps import Maps
from vllm_migrate.hosts.python_region import is_text
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_statements import line_span, statement_edits
from vllm_migrate.hosts.python_text import Literal, literals
from vllm_migrate.launch import launchers
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import CannotRender, Change, Mention, Remove, Replace
from vllm_migrate.text import Edit, Span

_MODEL_CLASS = regex(
    r"[A-Z][A-Za-z0-9_]{0,99}(?:Model|For[A-Z][A-Za-z0-9]{0,99}|LMHead[A-Za-z]{0,99}|Speculator|Embedding)"
)
_FORMAT = regex(r"\{\{|\}\}|\{[^{}]*\}")
_EXPORTED = frozenset({"Gauge", "Counter", "Histogram", "Summary", "Info", "Enum"})


def read_mentions(module: Module, maps: Maps) -> Iterator[Mention]:
    """Yield what rules may know by name. Attributes only where the module imports vLLM."""
    uses = any(n.split(".")[0] == "vllm" for n in [*module.imports.values(), *module.stars])
    yield from read_fields(module, maps)
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            if not node.level and _ours(node.module or ""):
                yield from _from(module, node)
        elif isinstance(node, ast.Import):
            yield from _plain(module, node)
        elif is_text(node):
            yield from _string(module, node)
        elif isinstance(node, ast.Call):
            yield from _keywords(module, maps, node)
        elif isinstance(node, ast.Attribute) and uses and isinstance(node.ctx, ast.Load):
            yield from _attribute(module, node)


def _ours(dotted: str) -> bool:
    return dotted == "vllm" or dotted.startswith("vllm.")


@dataclass(eq=False)
class ImportContainer:
    """The names of one import statement."""

    module: Module
    node: ast.Import | ast.ImportFrom
    host: str = "python"
    spans: dict[int, tuple[Mention, ast.alias | None]] = field(default_factory=dict)

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        names: dict[ast.alias | None, str] = {}
        gone: list[ast.alias] = []
        for change in changes:
            if not isinstance(change, (Replace, Remove)) or id(change.item) not in self.spans:
                raise CannotRender("an import can only be replaced or removed")
            mention, alias = self.spans[id(change.item)]
            if isinstance(change, Remove):
                if alias is None:
                    raise CannotRender("the names imported from the module are not known to be unused")
                gone.append(alias)
            elif change.value != mention.name:
                names[alias] = str(change.value)
        if isinstance(self.node, ast.ImportFrom):
            return mapped(self.module, self._from(self.node, names, gone))
        return mapped(self.module, self._plain(self.node, names, gone))

    def _from(self, node: ast.ImportFrom, names: dict[ast.alias | None, str], gone: list[ast.alias]) -> list[Edit]:
        base = names.pop(None, node.module or "")
        homes: dict[str, list[str]] = {}
        renames: list[Edit] = []
        for alias in node.names:
            if alias in gone:
                continue
            target = names.get(alias)
            home, _, name = target.rpartition(".") if target is not None else (base, "", alias.name)
            if not home:
                raise CannotRender(f"`{target}` names no module to import from")
            shown = name
            if alias.asname:
                shown = name if alias.asname == name else f"{name} as {alias.asname}"
            elif name != alias.name:
                renames += self._renamed(alias.name, name)
            homes.setdefault(home, []).append(shown)
        if not homes:
            return statement_edits(self.module, [node])
        kept = [a for a in node.names if a not in gone and (a not in names or len(homes) == 1)]
        edits: list[Edit] = []
        module_span = self._module_span(node)
        first = next(iter(homes)) if len(homes) == 1 else base
        if first != node.module:
            edits.append(Edit(module_span.start, module_span.end, first))
        if len(homes) == 1:
            for alias, shown in zip(kept, homes[first], strict=True):
                span = self.module.span(alias)
                if self.module.text[span.start : span.end] != shown and shown.split(" ")[0] != alias.name:
                    edits.append(Edit(span.start, span.end, shown))
        others = {h: s for h, s in homes.items() if h != first}
        if others:
            if not kept:
                # Every name moves, to several modules: the first statement takes one of them.
                span = self.module.span(node)
                indent = self._indent(node)
                joint = self.module.region.source.newline + indent
                code = joint.join(f"from {h} import {', '.join(s)}" for h, s in homes.items())
                return [Edit(span.start, span.end, code), *renames]
            edits += self._without([a for a in node.names if a not in kept])
            end = line_span(self.module, node)[1]
            joint = self.module.region.source.newline + self._indent(node)
            edits.append(Edit(end, end, "".join(f"{joint}from {h} import {', '.join(s)}" for h, s in others.items())))
        elif gone:
            edits += self._without(gone)
        return [*edits, *renames]

    def _without(self, aliases: list[ast.alias]) -> list[Edit]:
        """Take names out of `from x import a, b`."""
        from vllm_migrate.hosts.python_commas import Bracket

        node, text = self.node, self.module.text
        spans = [self.module.span(a) for a in node.names]
        match = re.compile(r"\(").search(text, self._import_at(node), spans[0].start)
        start = match.end() if match else spans[0].start
        close = text.find(")", spans[-1].end) if match else spans[-1].end
        commas: list[int | None] = []
        for i, span in enumerate(spans):
            until = spans[i + 1].start if i + 1 < len(spans) else close
            at = re.compile(r"(?:[\s\\]|#[^\r\n]*(?=[\r\n]|\Z))*,").match(text, span.end, until)
            commas.append(at.end() - 1 if at else None)
        bracket = Bracket(text, self.module.region.source.newline, "list", start, close, spans, commas)
        return bracket.edits({i for i, a in enumerate(node.names) if a in aliases}, {}, {})

    def _import_at(self, node: ast.Import | ast.ImportFrom) -> int:
        span = self.module.span(node)
        match = re.compile(r"\bimport\b").search(self.module.text, span.start, span.end)
        return match.end() if match else span.start

    def _indent(self, node: ast.stmt) -> str:
        match = re.match(r"[ \t]*", self.module.text[line_span(self.module, node)[0] :])
        return match[0] if match else ""

    def _module_span(self, node: ast.ImportFrom) -> Span:
        span = self.module.span(node)
        match = re.compile(r"from[\s\\]+([\w.]+)").match(self.module.text, span.start)
        if match is None:
            raise CannotRender("the module's name is spread over several lines")
        return Span(*match.span(1))

    def _renamed(self, old: str, new: str) -> list[Edit]:
        """Return edits that rename every use of an imported name."""
        edits = []
        for node in ast.walk(self.module.tree):
            if isinstance(node, ast.Name) and node.id == old:
                if not isinstance(node.ctx, ast.Load):
                    raise CannotRender(f"`{old}` is also given another value")
                if any(isinstance(a, ast.JoinedStr) for a in self.module.ancestors(node)):
                    raise CannotRender(f"`{old}` is used inside an f-string")
                span = self.module.span(node)
                edits.append(Edit(span.start, span.end, new))
            elif isinstance(node, ast.arg) and node.arg == old:
                raise CannotRender(f"`{old}` is also the name of a parameter")
            elif is_text(node) and isinstance(node, ast.Constant) and node.value == old:
                raise CannotRender(f"`{old}` is also named in a string")
        return edits

    def _plain(self, node: ast.Import, names: dict[ast.alias | None, str], gone: list[ast.alias]) -> list[Edit]:
        edits: list[Edit] = []
        if gone:
            if len(gone) == len(node.names):
                return statement_edits(self.module, [node])
            edits += self._without(gone)
        for alias, name in names.items():
            if alias is None:
                continue
            span = self.module.span(alias)
            edits.append(Edit(span.start, span.start + len(alias.name), name))
            if alias.asname is None:
                edits += self._chains(alias.name, name)
        return edits

    def _chains(self, old: str, new: str) -> list[Edit]:
        """Return edits of `a.b.c` wherever an `import a.b.c` without a name of its own is used."""
        edits = []
        for node in ast.walk(self.module.tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == old:
                if any(isinstance(a, ast.JoinedStr) for a in self.module.ancestors(node)):
                    raise CannotRender(f"`{old}` is used inside an f-string")
                span = self.module.span(node)
                edits.append(Edit(span.start, span.end, new))
        return edits


def _import_mention(
    module: Module, container: ImportContainer, name: str, span: Span, alias: ast.alias | None
) -> Mention:
    mention = Mention(module.region, span, container, kind="import", name=name)
    mention.guarded = module.guard(container.node, imports=True)
    container.spans[id(mention)] = (mention, alias)
    return mention


def _from(module: Module, node: ast.ImportFrom) -> Iterator[Mention]:
    container = ImportContainer(module, node)
    try:
        span = container._module_span(node)
    except CannotRender:
        span = module.span(node)
    yield _import_mention(module, container, node.module or "", span, None)
    for alias in node.names:
        if alias.name != "*":
            place = module.span(alias)
            yield _import_mention(
                module,
                container,
                f"{node.module}.{alias.name}",
                Span(place.start, place.start + len(alias.name)),
                alias,
            )


def _plain(module: Module, node: ast.Import) -> Iterator[Mention]:
    container = ImportContainer(module, node)
    for alias in node.names:
        if _ours(alias.name):
            place = module.span(alias)
            span = Span(place.start, place.start + len(alias.name))
            yield _import_mention(module, container, alias.name, span, alias)


def _spot(module: Module, mention: Mention, span: Span) -> Mention:
    cluster = Cluster(module, lambda bracket, key, value, holes: str(value))
    mention.container = cluster
    cluster.add(
        Slot(
            mention,
            write=lambda change: (
                [] if change.value == mention.name else [Edit(span.start, span.end, str(change.value).split(".")[-1])]
            ),
        )
    )
    return mention


def _string(module: Module, node: ast.AST) -> Iterator[Mention]:
    if isinstance(node, ast.Expr) or module.docstring(node):
        return
    span = module.span(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _MODEL_CLASS.fullmatch(node.value):
        parts = literals(module.text, span.start, span.end)
        if len(parts) == 1:
            yield _part(module, node, "string", Span(parts[0].inner_start, parts[0].inner_end))
    elif "vllm:" in module.text[span.start : span.end]:
        for part in literals(module.text, span.start, span.end):
            yield from _metrics(module, node, part)


def _metrics(module: Module, node: ast.AST, part: Literal) -> Iterator[Mention]:
    """The metrics in one literal that is a query, a name or an answer of the server."""
    text = module.text[part.inner_start : part.inner_end]
    if part.formatted:
        text = _FORMAT.sub(lambda m: {"{{": "{ ", "}}": "} "}.get(m[0], "\ue000" * len(m[0])), text)
    if not part.raw:
        # The same length, so that positions hold.
        text = re.sub(r"\\[nrt]", "\n ", text).replace("\\'", " '").replace('\\"', ' "')
    if not is_query(text):
        return
    kind = "made" if _makes(module, node) else "metric"
    for found in metric_names(text):
        if text.startswith("vllm:", found.start):
            yield _part(module, node, kind, Span(part.inner_start + found.start, part.inner_start + found.end))


def _makes(module: Module, node: ast.AST) -> bool:
    """The program exports a metric of this name itself."""
    call = module.parents.get(node)
    if not isinstance(call, ast.Call) or not call.args or call.args[0] is not node:
        return False
    return module.dotted(call.func).rpartition(".")[2] in _EXPORTED


def _part(module: Module, node: ast.AST, kind: str, span: Span) -> Mention:
    cluster = Cluster(module, _nothing)
    mention = Mention(module.region, span, cluster, kind=kind, name=module.text[span.start : span.end])
    cluster.add(Slot(mention, write=lambda change: [Edit(span.start, span.end, str(change.value))]))
    mention.guarded = module.guard(node)
    return mention


def _nothing(bracket: object, key: str, value: object, holes: Sequence[str]) -> str:
    raise CannotRender("nothing can be added here")


def _keywords(module: Module, maps: Maps, node: ast.Call) -> Iterator[Mention]:
    name = module.dotted(node.func)
    if not _ours(name) or not module.imported(node.func) or name in launchers()["callables"]:
        return
    head, _, last = name.rpartition(".")
    if last[:1].isupper():
        head = "vllm"
    bracket = maps.bracket(node)
    if bracket is None:
        return
    cluster = Cluster(module, _nothing)
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        i = bracket.index(keyword)
        span = Span(bracket.items[i].start, bracket.items[i].start + len(keyword.arg))
        mention = Mention(module.region, span, cluster, kind="call", name=f"{head}.{last}.{keyword.arg}")
        mention.guarded = module.guard(node)
        slot = Slot(mention, bracket=bracket, index=i, key=span)
        slot.write = lambda change, mention=mention, span=span: (
            [] if change.value == mention.name else [Edit(span.start, span.end, str(change.value).split(".")[-1])]
        )
        cluster.add(slot)
        yield mention


def _attribute(module: Module, node: ast.Attribute) -> Iterator[Mention]:
    root: ast.AST = node.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in module.imports and not _ours(module.imports[root.id]):
        return
    end = module.span(node).end
    span = Span(end - len(node.attr), end)
    if module.text[span.start : span.end] != node.attr:
        return
    mention = Mention(module.region, span, Cluster(module, _nothing), kind="attribute", name=node.attr)
    mention.guarded = module.guard(node)
    yield _spot(module, mention, span)
