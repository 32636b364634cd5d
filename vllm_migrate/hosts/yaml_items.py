"""Words, variables, entries and pins of YAML nodes. A node gives one object, however often it is used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from vllm_migrate.hosts import read_words, yaml_spell
from vllm_migrate.hosts.helm_expr import printed
from vllm_migrate.hosts.yaml_assemble import scalar_region
from vllm_migrate.hosts.yaml_branches import branches_of
from vllm_migrate.hosts.yaml_edit import Document, Home
from vllm_migrate.hosts.yaml_homes import MapHome, NameValueHome, SeqHome, StringHome
from vllm_migrate.hosts.yaml_mask import FILLER, legible
from vllm_migrate.hosts.yaml_put import in_flow
from vllm_migrate.hosts.yaml_scalar import ScalarRegion, dollar_region
from vllm_migrate.hosts.yaml_tree import Node, Pair, Use
from vllm_migrate.lazy import regex
from vllm_migrate.model import Dynamic, Entry, Item, Variable, Word
from vllm_migrate.text import Piece, Region, Span

_COMPOSE = regex(r"\$\$|\$\{(?:[^{}]|\{[^{}]*\})*\}|\$[A-Za-z_]\w*")
_KUBERNETES = regex(r"\$\$|\$\([A-Za-z_][\w.-]*\)")
_SEVERAL = regex(
    r"--?[A-Za-z][\w.-]*[ \t\n]+\S|--[A-Za-z][\w.-]*=(?:[^\s{\[\"']\S*|\"[^\"]*\"|'[^']*'|\{\S*)\s+--?[A-Za-z]"
)
_BARE = regex(r"--[A-Za-z][\w.-]*")
_ONE = regex(
    r"\{\{-?\s*[$.][\w.$]*(?:\s*\|\s*(?:s?quote|int|int64|float64|toString|trim|lower|default\s+[\w.$\"-]+))*\s*-?\}\}"
)
_LARGEST = 20_000
"""Values of one key that are looked at; aliases of aliases make more of them than fit anywhere."""
PRIVATE = regex("[\ue000-\uf8ff]+")


class Items:
    """Makes items of a document's nodes. mode: "compose" or "kubernetes", how scalars are interpolated."""

    def __init__(self, document: Document, locked: str = "") -> None:
        self.document = document
        self.locked = locked
        self.mode = "kubernetes"
        self.made: dict[tuple[Any, ...], Any] = {}
        self.regions: dict[int, ScalarRegion] = {}
        self.reached: dict[int, set[int]] = {}
        self.nodes: list[tuple[Item, Node]] = []
        self.exclusive: dict[int, bool] = {}
        self.merged: dict[int, int] = {}
        """id of a mapping whose merges are touched → merges above it."""
        self.private = PRIVATE.search(document.text) is not None

    # -- text

    def region_of(self, node: Node) -> ScalarRegion:
        """Return the text of a scalar as a guest region."""
        found = self.regions.get(id(node))
        if found is None:
            document = self.document
            found = scalar_region(document.region, node, document.mask, flow=in_flow(node))
            exact = found.text if node.style not in ("|", ">") else found.text.rstrip("\n")
            value = node.text if node.style not in ("|", ">") else node.text.rstrip("\n")
            if not found.hidden and legible(PRIVATE.sub("x", exact)) != legible(PRIVATE.sub("x", value)):
                start = node.body
                found.text = node.text
                found.pieces = (Piece(0, len(node.text), start, node.end, False),)
            self.regions[id(node)] = found
        return found

    def script_region(self, node: Node) -> Region:
        """Return a scalar's text as the program that is given it sees it."""
        region = self.region_of(node)
        if self.mode != "compose" or "$" not in region.text:
            return region
        key = ("dollar", id(node))
        if key not in self.made:
            self.made[key] = dollar_region(region)
        found: Region = self.made[key]
        return found

    def text_of(self, node: Node) -> tuple[str, tuple[str, ...]]:
        """Return a scalar's text with a letter for each run-time part, and their spellings."""
        if _computed(node):
            return chr(0xE000), (self.document.text[node.start : node.end],)
        if not re.search("[$\xa0\uf8ff]", node.text) and not self.document.mask.actions:
            return node.text, ()
        region = self.region_of(node)
        shown = region.text
        if node.style in ("|", ">") and not node.text.endswith("\n"):
            shown = shown.rstrip("\n")
        return self.interpolated(shown, region.spellings)

    def interpolated(self, text: str, spellings: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
        """Return text with the format's own `${X}` and `$(X)` as holes as well."""
        holes = list(spellings)
        pattern = _COMPOSE if self.mode == "compose" else _KUBERNETES
        if "$" not in text:
            return text, tuple(holes)

        def hole(match: re.Match[str]) -> str:
            if match[0] == "$$":
                return "$"
            holes.append(match[0])
            return chr(0xE000 + len(holes) - 1)

        return pattern.sub(hole, text), tuple(holes)

    def inner(self, node: Node) -> Span:
        """Return the span of a scalar's letters, quotes left out."""
        if node.style in ("'", '"') and node.end - node.body >= 2:
            return Span(node.body + 1, node.end - 1)
        if node.style in ("|", ">"):
            region = self.region_of(node)
            if region.pieces:
                return Span(region.pieces[0].parent_start, node.end)
        return Span(node.body, node.end)

    def place_of(self, use: Use) -> Span:
        return Span(use.start, use.end) if use.alias else self.inner(use.node)

    def keep(self, item: Item, node: Node) -> None:
        """Note which node an item is made of, and lock what must not be edited."""
        item.locked = item.locked or self.locked
        item.branch = self.document.mask.branch(node.start) if self.document.mask.actions else -1
        self.nodes.append((item, node))
        text = self.document.text
        if not item.locked and node.kind == "scalar" and node.end > node.start:
            span = Span(node.start, node.end)
            if self.document.mask.actions and not self.document.mask.whole(span.start, span.end):
                item.locked = "inside a template action"
            elif self.private and not self.document.mask.actions and PRIVATE.search(text, span.start, span.end):
                item.locked = "holds letters of a private-use area"

    # -- sharing

    def touch(self, use: Use) -> None:
        """Note that a site reads a node through this place."""
        if use.node.anchor and len(use.node.uses) > 1:
            self.reached.setdefault(id(use.node), set()).add(id(use))

    def touch_pair(self, pair: Pair | None) -> None:
        """Note that a site reads all of a key's value, a list or a mapping."""
        if pair is None:
            return
        self.touch(pair.use)
        for use in pair.node.items:
            self.touch(use)
        self.touch_merges(pair.node)

    def only(self, variable: Variable, only: bool) -> None:
        """Note whether a process is the only one to see a variable; every user must say so."""
        variable.only = only and self.exclusive.get(id(variable), True)
        self.exclusive[id(variable)] = variable.only

    def touch_merges(self, node: Node, depth: int = 0) -> None:
        """Touch what `<<` brings into a mapping; merges of merges are many, so each is looked through once."""
        if self.merged.get(id(node), 9) <= depth:
            return
        self.merged[id(node)] = depth
        for pair in node.pairs:
            if pair.name == "<<" and depth < 8:
                sources = [pair.use] if pair.node.kind == "mapping" else pair.node.items
                self.touch(pair.use)
                for source in sources:
                    self.touch(source)
                    self.touch_merges(source.node, depth + 1)

    def lock_shared(self) -> None:
        """Lock every item whose text also reaches what is no site."""
        for item, node in self.nodes:
            use = node.uses[0] if node.uses else None
            while use is not None and not item.locked:
                here = use.node
                if here.anchor and len(here.uses) > 1:
                    reached = self.reached.get(id(here), set())
                    missed = [u for u in here.uses if id(u) not in reached and not (not u.alias and _template(u))]
                    if missed and reached:
                        item.locked = f"also used by {_path(missed[0])}"
                    elif missed and len(missed) > 1:
                        item.locked = f"also used by {_path(missed[-1])}"
                use = use.holder.uses[0] if use.holder is not None and use.holder.uses else None

    # -- words

    def home(self, node: Node) -> SeqHome:
        key = ("seq", id(node))
        if key not in self.made:
            self.made[key] = SeqHome(self.document, node, self.mode == "compose")
        home: SeqHome = self.made[key]
        return home

    def list_words(self, node: Node, *, split: bool = True) -> tuple[list[Word], bool]:
        """Return the words of a list, and whether it has parts that are no words.

        split: items that hold an option and its value (`--a 1`) give several words.
        """
        words: list[Word] = []
        open_ended = False
        home = self.home(node)
        for index, use in enumerate(node.items):
            if use.node.kind != "scalar" or use.node.style == "*":
                open_ended = True
                continue
            if split and _SEVERAL.match(use.node.text) and not use.alias and self.splittable(use.node):
                string, shared = self.string_words(use.node)
                if string:
                    home.strings[index] = shared
                    shared.seq = home
                    words += string
                    continue
            cases = self._cases(use, home, index)
            if cases:
                words += cases
                continue
            words.append(self.word(use, home, index))
            if index and words[-1].splits and self._one_value(node, index):
                words[-1].splits = False
        return words, open_ended

    def _cases(self, use: Use, home: SeqHome, index: int) -> list[Word]:
        """Return the words that an item's actions hold: each of several things it may be, or what it prints."""
        node, mask = use.node, self.document.mask
        if use.alias or not mask.actions or FILLER not in node.text or node.style in ("|", ">"):
            return []
        key = ("cases", id(use))
        if key not in self.made:
            made = self._printed(use, home, index)
            found = branches_of(self.document.text, mask, self.inner(node))
            # A value that is one of several is one value.
            for case in found if all(c.text.startswith("-") for c in found) else ():
                word = Word(self.document.region, case.span, home, text=case.text, holes=case.holes)
                word.locked, word.branch = self.locked or "inside a template action", case.start
                home.hold(word, index)
                made.append(word)
            self.made[key] = made
        cases: list[Word] = self.made[key]
        return cases

    def _printed(self, use: Use, home: SeqHome, index: int) -> list[Word]:
        """Return the word of an item that is one action which prints a text it holds: `- {{ printf "--x=%s" … }}`."""
        inner, text = self.inner(use.node), self.document.text
        actions = self.document.mask.within(inner.start, inner.end)
        if len(actions) != 1 or (actions[0].start, actions[0].end) != (inner.start, inner.end) or actions[0].control:
            return []
        found = printed(text[inner.start : inner.end], inner.start)
        if found is None or not found.text.startswith("--"):
            return []
        word = Word(self.document.region, inner, home, text=found.text, holes=found.holes)
        self.keep(word, use.node)
        home.hold(word, index)
        home.printed.add(id(word))
        return [word]

    def _one_value(self, node: Node, index: int) -> bool:
        """Tell whether an item that is all template action is the one value of the option before it."""
        before, here = node.items[index - 1], node.items[index]
        text = self.document.text
        return (
            _BARE.fullmatch(before.node.text) is not None
            and not here.alias
            and _ONE.fullmatch(text[here.start : here.end]) is not None
            and not self.document.mask.within(before.end, here.start)
        )

    def splittable(self, node: Node) -> bool:
        """Tell whether an item's text is several words, and not one option with blanks in its value."""
        head, _blank, rest = node.text.partition(" ")
        if "=" in head:
            opened = re.search(r"=\s*[\"'{\[]", node.text)
            quoted = opened is not None and re.compile(r"\s").search(node.text, opened.end()) is not None
            return bool(re.search(r"\s--?[A-Za-z]", node.text)) and not quoted
        return bool(rest.strip()) or "\n" in node.text.strip()

    def word(self, use: Use, home: SeqHome, index: int) -> Word:
        key = ("word", id(use))
        if key not in self.made:
            text, holes = self.text_of(use.node)
            made = Word(self.document.region, self.place_of(use), home, text=text, holes=holes)
            lone = len(text) == 1 and bool(holes) and holes[0].startswith("{{")
            # In quotes it is one item, whatever it prints.
            made.splits = lone and (use.alias or use.node.style not in ("'", '"'))
            if use.alias:
                made.locked = "stands elsewhere, behind an alias"
            self.keep(made, use.node if not use.alias else home.node)
            home.hold(made, index)
            self.made[key] = made
        word: Word = self.made[key]
        return word

    def string_words(self, node: Node) -> tuple[list[Word], StringHome]:
        """Return the words of one scalar, split as a shell does."""
        key = ("string", id(node))
        if key not in self.made:
            region = self.region_of(node)
            words = read_words(self.script_region(node), self.document.host)
            inner = words[0].container if words else None
            home = StringHome(self.document, node, region, inner)
            for word in words:
                word.container = home
                self.keep(word, node)
            self.made[key] = (words, home)
        found: tuple[list[Word], StringHome] = self.made[key]
        return found

    def line_of(self, variable: Variable) -> list[Word] | None:
        """Return the words of a variable's value where it is a piece of a command line, else None."""
        if variable.value is None or not variable.value.lstrip().startswith("--"):
            return None
        node = next((n for item, n in self.nodes if item is variable), None)
        if node is None or node.kind != "scalar" or node.text.startswith(variable.name + "="):
            return None
        return self.string_words(node)[0] or None

    # -- environment

    def environment(self, pair: Pair) -> tuple[list[Variable], Home | None]:
        """Return the variables of an `env:` or `environment:` in any of its forms, and their container."""
        node = pair.node
        key = ("env", id(node))
        if key not in self.made:
            self.made[key] = self._environment(node)
        found: tuple[list[Variable], Home | None] = self.made[key]
        return found

    def _environment(self, node: Node) -> tuple[list[Variable], Home | None]:
        region = self.document.region
        out: list[Variable] = []
        if node.kind == "mapping":
            own = MapHome(self.document, node, interpolates=self.mode == "compose")
            for pair in node.merged():
                if not re.fullmatch(r"[A-Za-z_][\w.]*", pair.name):
                    continue
                holder = pair.use.holder
                assert holder is not None
                home = own if holder is node else self._map_home(holder)
                variable = self._variable(pair, home)
                out.append(variable)
            return out, own if out or not node.pairs else None
        if node.kind != "sequence" or not node.items:
            return out, None
        if any(u.node.kind == "mapping" for u in node.items):
            named = NameValueHome(self.document, node)
            for index, use in enumerate(node.items):
                name = use.node.get("name", "Name")
                if use.node.kind != "mapping" or name is None or not name.text or FILLER in name.text:
                    continue
                value = use.node.get("value", "Value")
                made = Variable(region, Span(use.start, use.end), named, name=name.text)
                if value is not None and value.kind == "scalar":
                    made.value, made.holes = self.text_of(value)
                    made.value_span = self.inner(value)
                    self.keep(made, value)
                elif value is None and use.node.find("valueFrom", "ValueFrom") is None:
                    made.value = ""
                    self.keep(made, use.node)
                else:
                    self.keep(made, use.node)
                if use.alias:
                    made.locked = made.locked or "stands elsewhere, behind an alias"
                named.hold(made, index)
                out.append(made)
            return out, named
        strings = self.home(node)
        for index, use in enumerate(node.items):
            if use.node.kind != "scalar":
                continue
            text, holes = self.text_of(use.node)
            name_text, equals, value_text = text.partition("=")
            if not re.fullmatch(r"[A-Za-z_]\w*", name_text):
                continue
            made = Variable(region, Span(use.start, use.end), strings, name=name_text)
            if equals:
                made.value, made.holes = value_text, holes
                start = self.inner(use.node).start + len(name_text) + 1
                made.value_span = Span(min(start, use.end), max(self.inner(use.node).end, min(start, use.end)))
            self.keep(made, use.node)
            strings.hold(made, index)
            out.append(made)
        return out, strings

    def _map_home(self, node: Node) -> MapHome:
        key = ("map", id(node))
        if key not in self.made:
            self.made[key] = MapHome(self.document, node, interpolates=self.mode == "compose")
        home: MapHome = self.made[key]
        return home

    def _variable(self, pair: Pair, home: MapHome) -> Variable:
        key = ("variable", id(pair))
        if key not in self.made:
            made = Variable(self.document.region, Span(pair.start, pair.end), home, name=pair.name)
            node = pair.node
            if node.kind == "scalar" and (node.end > node.start or node.style):
                made.value, made.holes = self.text_of(node)
                made.value_span = self.inner(node)
            self.keep(made, node)
            if pair.use.alias:
                made.locked = made.locked or "stands elsewhere, behind an alias"
            self.made[key] = made
        variable: Variable = self.made[key]
        return variable

    # -- entries

    def entries(self, node: Node, skip: Sequence[Pair] = ()) -> list[Entry]:
        """Return the keys of a mapping as entries with their Python values."""
        self.touch_merges(node)
        out = []
        for pair in node.merged():
            if any(pair is p for p in skip) or FILLER in pair.name:
                continue
            out.append(self._entry(pair))
        return out

    def _entry(self, pair: Pair) -> Entry:
        key = ("entry", id(pair))
        if key not in self.made:
            holder = pair.use.holder
            assert holder is not None
            made = Entry(
                self.document.region,
                Span(pair.start, pair.end),
                self._map_home(holder),
                key=pair.name,
                value=self.value(pair.node),
                key_span=Span(pair.key.start, pair.key.end),
                value_span=Span(pair.use.start, pair.use.end),
            )
            self.keep(made, pair.node)
            if pair.use.alias:
                made.locked = made.locked or "stands elsewhere, behind an alias"
            if self.document.mask.actions and not self.document.mask.whole(pair.start, pair.end):
                made.locked = made.locked or "inside a template action"
            self.made[key] = made
        entry: Entry = self.made[key]
        return entry

    def _size(self, node: Node) -> int:
        """Return how many values a node holds with its aliases written out, at most a little over the largest."""
        key = ("size", id(node))
        if key not in self.made:
            self.made[key] = _LARGEST + 1
            total = 1
            for use in node.children if node.kind != "scalar" else ():
                total += self._size(use.node)
                if total > _LARGEST:
                    break
            self.made[key] = total
        size: int = self.made[key]
        return size

    def value(self, node: Node, depth: int = 0) -> Any:
        """Return the Python value of a node; what only a run can tell is Dynamic."""
        document = self.document
        raw = document.text[node.start : node.end]
        if depth > 40 or node.style == "*" or (depth == 0 and node.kind != "scalar" and self._size(node) > _LARGEST):
            return Dynamic(raw)
        if node.kind == "mapping":
            return {p.name: self.value(p.node, depth + 1) for p in node.merged()}
        if node.kind == "sequence":
            return [self.value(u.node, depth + 1) for u in node.items]
        if FILLER in node.text or document.mask.within(node.start, node.end):
            return Dynamic(raw)
        if _computed(node):
            return Dynamic(raw)
        if node.style or node.tag.endswith(":str"):
            return node.text
        if self.mode == "compose" and "$" in node.text:
            return Dynamic(raw)
        return yaml_spell.resolve(node.text)


def _computed(node: Node) -> bool:
    """Tell whether a tag of no YAML type makes something else of a scalar (`!Ref`, `!ENV`)."""
    return bool(node.tag) and node.tag.rsplit(":", 1)[-1] not in ("str", "int", "float", "bool", "null")


def _template(use: Use) -> bool:
    """Tell whether a place is only there for others to refer to (`x-…:`, `.hidden:`, `_anchors:`)."""
    top: Use | None = use
    while top is not None and top.holder is not None:
        holder = top.holder
        if holder.kind == "mapping":
            name = holder.pairs[top.index].name
            root = not holder.uses or holder.uses[0].holder is None
            if root and (name.startswith(("x-", ".", "_")) or name.lower() in _SHELVES):
                return True
        top = holder.uses[0] if holder.uses else None
    return False


_SHELVES = frozenset(("anchors", "definitions", "aliases", "templates", "defaults"))


def _path(use: Use) -> str:
    names: list[str] = []
    here: Use | None = use
    while here is not None and here.holder is not None:
        holder = here.holder
        names.append(holder.pairs[here.index].name if holder.kind == "mapping" else f"[{here.index}]")
        here = holder.uses[0] if holder.uses else None
    return ".".join(reversed(names)) or "another place"
