"""Reads dictionaries and keyword arguments: engine arguments and environments.

One text is one item: a dictionary that two calls unpack gives both the same entries.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Literal

from vllm_migrate.hosts.python_commas import Bracket, bracket_of
from vllm_migrate.hosts.python_edit import Cluster, Plan, Slot
from vllm_migrate.hosts.python_flow import Build, Event, Flow
from vllm_migrate.hosts.python_region import says
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_text import quote_of, spelled_string
from vllm_migrate.hosts.python_values import is_dict_call, value_edits, value_of, write_value
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import CannotRender, Entry, Item, Replace, Variable
from vllm_migrate.text import Edit, Span

Kind = Literal["entry", "variable"]
MOST = 200
"""Variables that are looked through for one value: those made twice of the one before grow without end."""
_BENIGN = frozenset({"print", "len", "repr", "str", "pprint", "sorted", "isinstance", "bool", "type", "id"})
_LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception", "log"})


@dataclass
class Found:
    """What a mapping holds. open: it has parts the file does not show. inherits: it begins with the
    process's own environment. builds: variables it was read from."""

    items: list[Item] = field(default_factory=list)
    open: bool = False
    inherits: bool = False
    builds: list[Build] = field(default_factory=list)

    def join(self, other: Found) -> None:
        self.items += [i for i in other.items if i not in self.items]
        self.open = self.open or other.open
        self.inherits = self.inherits or other.inherits
        self.builds += [b for b in other.builds if b not in self.builds]


class Maps:
    """Reads the mappings of one module; keeps the items it has made."""

    def __init__(self, module: Module, flow: Flow) -> None:
        self.module = module
        self.flow = flow
        self.used: set[ast.expr] = set()
        self.given: set[Item] = set()
        """Variables handed to a launch with `env=`."""
        self.builds: dict[Build, Found] = {}
        self._items: dict[tuple[ast.AST, Kind], Item] = {}
        self._clusters: dict[tuple[object, Kind], Cluster] = {}
        self._brackets: dict[ast.AST, Bracket | None] = {}
        self._busy: set[Build] = set()
        self._steps = 0

    @cached_property
    def quote(self) -> str:
        """The quote that new strings get where no other is near."""
        return preferred_quote(self.module)

    def bracket(self, node: ast.Call | ast.Dict | ast.List | ast.Tuple) -> Bracket | None:
        if node not in self._brackets:
            self._brackets[node] = bracket_of(self.module, node)
        return self._brackets[node]

    def cluster(self, key: object, kind: Kind) -> Cluster:
        if (key, kind) not in self._clusters:
            self._clusters[key, kind] = Cluster(self.module, self.spell)
        return self._clusters[key, kind]

    def read(self, node: ast.expr, kind: Kind, cluster: Cluster | None = None) -> Found:
        """Return what an expression holds as a mapping; `cluster` takes items written in place."""
        cluster = cluster or self.cluster(node, kind)
        found = Found()
        if isinstance(node, ast.Dict):
            bracket = self.bracket(node)
            assert bracket is not None
            if cluster.home is None:
                cluster.home = bracket
            for i, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
                if key is None:
                    found.join(self._nested(value, kind, cluster, bracket, i))
                elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                    span = self.module.span(key)
                    quoted = quote_of(self.module.text[span.start : span.end]) or '"'
                    slot = Slot(_UNSET, bracket=bracket, index=i, key=span, quoted=quoted)
                    found.items.append(self._item(value, key.value, kind, cluster, slot, bracket.items[i]))
                else:
                    found.open = True
        elif isinstance(node, ast.Call):
            self._read_call(node, kind, cluster, found)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            self._read_name(node, kind, found)
        elif isinstance(node, ast.IfExp):
            found.join(self.read(node.body, kind, cluster))
            found.join(self.read(node.orelse, kind, cluster))
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                found.join(self.read(value, kind, cluster))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            found.join(self.read(node.left, kind, cluster))
            found.join(self.read(node.right, kind, cluster))
        elif not (isinstance(node, ast.Constant) and node.value is None):
            found.open = True
        return found

    def _nested(self, node: ast.expr, kind: Kind, cluster: Cluster, outer: Bracket, i: int) -> Found:
        """Read `**node`, the item i of a bracket; emptied, it goes with its stars."""

        def gone(plan: Plan) -> list[Edit]:
            plan.of(outer).removed.add(i)
            return []

        for inner_node in only_dicts(node):
            inner = self.bracket(inner_node)
            if inner is not None:
                cluster.empty.setdefault(id(inner), gone)
        return self.read(node, kind, cluster)

    def _read_call(self, node: ast.Call, kind: Kind, cluster: Cluster, found: Found) -> None:
        func = node.func
        if is_dict_call(node):
            for argument in node.args:
                found.join(self.read(argument, kind, cluster))
            found.join(self.keywords(node, kind, cluster))
            if cluster.home is None:
                cluster.home = self.bracket(node)
        elif isinstance(func, ast.Attribute) and func.attr == "copy" and not node.args:
            found.join(self.read(func.value, kind, cluster))
        elif self.module.dotted(func) in ("copy.copy", "copy.deepcopy") and node.args:
            found.join(self.read(node.args[0], kind, cluster))
        else:
            found.open = True

    def keywords(self, node: ast.Call, kind: Kind, cluster: Cluster) -> Found:
        """Return what the keyword arguments of a call hold."""
        found = Found()
        bracket = self.bracket(node)
        if bracket is None:
            return Found(open=True)
        for keyword in node.keywords:
            i = bracket.index(keyword)
            if keyword.arg is None:
                found.join(self._nested(keyword.value, kind, cluster, bracket, i))
                continue
            start = bracket.items[i].start
            slot = Slot(_UNSET, bracket=bracket, index=i, key=Span(start, start + len(keyword.arg)))
            found.items.append(self._item(keyword.value, keyword.arg, kind, cluster, slot, bracket.items[i]))
        return found

    def positional(self, node: ast.Call, key: str, cluster: Cluster) -> Entry | None:
        """Return the first positional argument as an entry with the given key."""
        bracket = self.bracket(node)
        if bracket is None or not node.args or isinstance(node.args[0], ast.Starred):
            return None
        i = bracket.index(node.args[0])
        slot = Slot(_UNSET, bracket=bracket if len(node.args) == 1 else None, index=i)
        item = self._item(node.args[0], key, "entry", cluster, slot, bracket.items[i])
        assert isinstance(item, Entry)
        return item

    def _read_name(self, node: ast.expr, kind: Kind, found: Found) -> None:
        if kind == "variable" and self.module.dotted(node) == "os.environ":
            found.inherits = True
            return
        self.used.add(node)
        reach = self.flow.reach(node)
        if not reach:
            found.open = True
        for build, events in reach:
            found.builds.append(build)
            part = self.build(build, events, kind)
            found.join(part)

    def build(self, build: Build, events: Sequence[Event], kind: Kind) -> Found:
        """Return what a variable's value holds after some of its events."""
        if build in self._busy:
            return Found(open=True)
        self._steps = self._steps + 1 if self._busy else 0
        if self._steps > MOST:
            return Found(open=True)
        self._busy.add(build)
        cluster = self.cluster(build, kind)
        quote = self.quote
        cluster.statement_form = lambda key, value: (
            f"{build.name}[{write_value(key, quote)}] = {write_value(value, quote)}"
        )
        found = Found(open=True) if build.origin is None else self.read(build.origin, kind, cluster)
        for event in events:
            self.event(event, kind, cluster, found)
        self._busy.discard(build)
        self.builds.setdefault(build, Found()).join(found)
        return found

    def event(self, event: Event, kind: Kind, cluster: Cluster, found: Found) -> None:
        """Add what one statement adds to a mapping."""
        s, call = event.statement, event.call

        def gone(plan: Plan) -> list[Edit]:
            plan.statements[s] = None
            return []

        if event.kind == "item" and isinstance(s, ast.Assign):
            target = s.targets[0]
            assert isinstance(target, ast.Subscript)
            found.items += self._assigned(target.slice, s.value, kind, cluster, s, found)
        elif event.kind == "setdefault" and call is not None and len(call.args) == 2:
            found.items += self._assigned(call.args[0], call.args[1], kind, cluster, s, found)
        elif event.kind == "update" and call is not None:
            for argument in call.args:
                if isinstance(argument, (ast.Dict, ast.Call)) and not call.keywords:
                    inner = self.bracket(argument)
                    if inner is not None:
                        cluster.empty[id(inner)] = gone
                found.join(self.read(argument, kind, cluster))
            if call.keywords:
                outer = self.bracket(call)
                if outer is not None and not call.args:
                    cluster.empty[id(outer)] = gone
                found.join(self.keywords(call, kind, cluster))
        elif event.kind == "aug" and isinstance(s, ast.AugAssign) and isinstance(s.op, ast.BitOr):
            if isinstance(s.value, (ast.Dict, ast.Call)):
                inner = self.bracket(s.value)
                if inner is not None:
                    cluster.empty[id(inner)] = gone
            found.join(self.read(s.value, kind, cluster))
        else:
            found.open = True

    def _assigned(
        self, key: ast.expr, value: ast.expr, kind: Kind, cluster: Cluster, s: ast.stmt, found: Found
    ) -> list[Item]:
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            found.open = True
            return []
        span = self.module.span(key)
        quoted = quote_of(self.module.text[span.start : span.end]) or '"'
        slot = Slot(_UNSET, statement=s, key=span, quoted=quoted)
        item = self._item(value, key.value, kind, cluster, slot, self.module.span(s))
        return [item] if item not in found.items else []

    def named_list(self, node: ast.List | ast.Tuple) -> list[Item]:
        """Return the variables of a list of `{"name": …, "value": …}` dictionaries."""
        bracket = self.bracket(node)
        if bracket is None:
            return []
        out: list[Item] = []
        cluster = self.cluster(node, "variable")
        for index, element in enumerate(node.elts):
            if not isinstance(element, ast.Dict):
                continue
            pairs = zip(element.keys, element.values, strict=True)
            held = {k.value: v for k, v in pairs if isinstance(k, ast.Constant)}
            name, value = held.get("name"), held.get("value")
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and value is not None:
                slot = Slot(_UNSET, bracket=bracket, index=index, key=self.module.span(name), quoted=self.quote)
                out.append(self._item(value, name.value, "variable", cluster, slot, self.module.span(element)))
        return out

    def statement(self, s: ast.stmt, key: ast.expr, value: ast.expr, cluster: Cluster) -> Item | None:
        """Return the environment variable that a statement sets."""
        items = self._assigned(key, value, "variable", cluster, s, Found())
        return items[0] if items else None

    def _item(self, value: ast.expr, key: str, kind: Kind, cluster: Cluster, slot: Slot, span: Span) -> Item:
        known = self._items.get((value, kind))
        if known is not None:
            return known
        where = self.module.span(value)
        item: Item
        if kind == "entry":
            item = Entry(
                self.module.region,
                span,
                cluster,
                key=key,
                value=value_of(self.module, value),
                key_span=slot.key,
                value_span=where,
            )
            slot.write = lambda change: value_edits(self.module, value, change.value, self._near(slot))
        else:
            said = says(self.module, value)
            text: str | None = said.text
            if isinstance(value, ast.Constant) and not isinstance(value.value, str):
                text = None if value.value is None else str(value.value)
                said.holes = []
            item = Variable(
                self.module.region,
                span,
                cluster,
                name=key,
                value=text,
                holes=tuple(said.holes),
                scope="process",
                value_span=where,
            )
            slot.write = lambda change: self._write_text(change, value)
        item.guarded = self.module.guard(value)
        slot.item = item
        cluster.add(slot)
        self._items[value, kind] = item
        return item

    def _near(self, slot: Slot) -> str:
        if slot.quoted:
            return slot.quoted
        return bracket_quote(slot.bracket, self.quote) if slot.bracket is not None else self.quote

    def _write_text(self, change: Replace, node: ast.expr) -> list[Edit]:
        item = change.item
        assert isinstance(item, Variable)
        holes = change.holes or item.holes
        if change.value == item.value and holes == item.holes:
            return []
        span = self.module.span(node)
        raw = self.module.text[span.start : span.end]
        return [Edit(span.start, span.end, spelled_string(str(change.value), holes, quote_of(raw) or self.quote))]

    def spell(self, bracket: Bracket, key: str, value: Any, holes: Sequence[str]) -> str:
        """Write a new item for a bracket. Raises CannotRender."""
        quote = bracket_quote(bracket, self.quote)
        if bracket.kind == "call":
            if not key.isidentifier():
                raise CannotRender(f"{key} cannot be a keyword")
            return f"{key}={write_value(value, quote)}"
        return f"{write_value(key, quote)}: {write_value(value, quote)}"

    def lock_others(self) -> None:
        """Lock the items of variables that something else than the calls read here uses too."""
        for build, found in self.builds.items():
            for use in build.uses:
                if use in self.used:
                    continue
                key = self._key_use(use)
                if key is None and self._benign(use):
                    continue
                code = " ".join(self._use_text(use).split())
                for item in found.items:
                    name = item.key if isinstance(item, Entry) else getattr(item, "name", "")
                    if not item.locked and (key is None or key == name):
                        item.locked = f"also used by `{code}`"

    def _key_use(self, use: ast.expr) -> str | None:
        """Return the key that a use is about (`x["key"]`, `x.pop("key")`, `"key" in x`), or None."""
        parent = self.module.parents.get(use)
        key: ast.AST | None = None
        if isinstance(parent, ast.Subscript) and parent.value is use:
            key = parent.slice
        elif isinstance(parent, ast.Attribute) and parent.attr in ("pop", "get"):
            call = self.module.parents.get(parent)
            key = call.args[0] if isinstance(call, ast.Call) and call.args else None
        elif isinstance(parent, ast.Compare) and isinstance(parent.ops[0], (ast.In, ast.NotIn)):
            key = parent.left
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value
        return None

    def _benign(self, use: ast.expr) -> bool:
        for a in self.module.ancestors(use):
            if isinstance(a, ast.Call):
                func = a.func
                if isinstance(func, ast.Name):
                    return func.id in _BENIGN
                return isinstance(func, ast.Attribute) and func.attr in _LOG_METHODS
            if isinstance(a, ast.JoinedStr):
                continue
            if isinstance(a, ast.stmt):
                return isinstance(a, ast.Assert)
        return False

    def _use_text(self, use: ast.expr) -> str:
        best: ast.AST = use
        for a in self.module.ancestors(use):
            if isinstance(a, ast.stmt):
                best = a if isinstance(a, (ast.Return, ast.Assign)) and best is use else best
                break
            best = a
            if isinstance(a, (ast.Call, ast.Subscript)):
                break
        text = self.module.raw(best)
        return text if len(text) <= 60 else text[:57] + "…"


_UNSET: Any = None


def only_dicts(node: ast.expr) -> list[ast.Dict | ast.Call]:
    """Return the dictionary that is all an expression can give: itself, or the one arm of a condition
    whose other arm is empty."""
    if isinstance(node, (ast.Dict, ast.Call)):
        return [node]
    if isinstance(node, ast.IfExp):
        for arm, other in ((node.body, node.orelse), (node.orelse, node.body)):
            if isinstance(other, ast.Dict) and not other.keys and isinstance(arm, (ast.Dict, ast.Call)):
                return [arm]
    return []


def preferred_quote(module: Module) -> str:
    """Return the quote most strings of a module have."""
    counts = Counter(re.findall(r"(?<![\w'\"])[rRfF]?(['\"])(?=[^'\"\n])", module.text))
    return "'" if counts["'"] > counts['"'] else '"'


def bracket_quote(bracket: Bracket, default: str) -> str:
    """Return the quote the items of a bracket are written with."""
    for span in bracket.items:
        found = quote_of(bracket.text[span.start : span.end])
        if not found:
            match = re.search(r"=\s*[rRfF]?(['\"])", bracket.text[span.start : span.end])
            found = match[1] if match else ""
        if found:
            return found
    return default
