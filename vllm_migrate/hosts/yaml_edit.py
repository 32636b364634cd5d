"""Edits of a YAML (or JSON) text: items and keys that go, come, or get new values, as splices.

All changes of one document are planned first, so that a key whose last item goes can go with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

from vllm_migrate.hosts.listing import Listing
from vllm_migrate.hosts.yaml_blocks import branches, prints_items, widened
from vllm_migrate.hosts.yaml_comments import comment_start
from vllm_migrate.hosts.yaml_flow import removals
from vllm_migrate.hosts.yaml_mask import Mask
from vllm_migrate.hosts.yaml_tree import Node, Use, walk
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import CannotRender, Change, container_of
from vllm_migrate.text import Edit, Region, Span, line_end, line_start, next_line, shrink

_DASH_GAP = regex(r"(?:[ \t\r\n]|#[^\r\n]*)*")


@dataclass
class Plan:
    """What shall happen to a document's nodes.

    removed: indices by collection; inserted: by collection and the index they follow (-1: first), each the
    lines of an item or pair; values: new raw text of scalars; keys: new raw text of keys.
    """

    removed: dict[int, set[int]] = field(default_factory=dict)
    inserted: dict[int, dict[int, list[list[str]]]] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)
    spots: list[Edit] = field(default_factory=list)

    def remove(self, collection: Node, index: int) -> None:
        self.nodes[id(collection)] = collection
        self.removed.setdefault(id(collection), set()).add(index)

    def insert(self, collection: Node, after: int, lines: list[str]) -> None:
        self.nodes[id(collection)] = collection
        self.inserted.setdefault(id(collection), {}).setdefault(after, []).append(lines)

    def put(self, start: int, end: int, text: str) -> None:
        self.spots.append(Edit(start, end, text))


@dataclass(eq=False)
class Document:
    """The text of all documents of a file or guest, and what is needed to edit it.

    fragile: names of keys that may not go although nothing is left of their value.
    kept: collections and scalars whose key stays when nothing is left of them, written `[]`, `{}` or `""`:
    what reads them (a chart's template, a loader) may not take a missing key, or would take its own default.
    """

    host: str
    region: Region
    mask: Mask
    roots: list[Node]
    only_json: bool = False
    fragile: frozenset[str] = frozenset({"value"})
    kept: set[int] = field(default_factory=set)
    values: bool = False
    """The values of a chart: a comment that speaks of one key goes with it."""

    @property
    def text(self) -> str:
        return self.region.text

    @property
    def newline(self) -> str:
        return self.region.source.newline

    @cached_property
    def mentions_vllm(self) -> bool:
        text = self.region.source.text
        # The common spellings first: a manifest of megabytes is not copied to tell.
        return any(word in text for word in ("vllm", "vLLM", "VLLM")) or "vllm" in text.lower()

    # -- rendering

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        """Render changes of any of the document's containers. Raises CannotRender."""
        plan = Plan()
        grouped: dict[int, tuple[Home, list[Change]]] = {}
        for change in changes:
            home = container_of(change)
            if not isinstance(home, Home) or home.document is not self:
                raise CannotRender("the item belongs to another container")
            grouped.setdefault(id(home), (home, []))[1].append(change)
        for home, own in grouped.values():
            home.plan(plan, own)
        return self._mapped(self.render(plan))

    def render(self, plan: Plan) -> list[Edit]:
        """Return the edits of the document's text for a plan."""
        self._bubble(plan)
        self._check_anchors(plan)
        out: list[Edit] = []
        for key, node in plan.nodes.items():
            if self._gone(node, plan):
                continue
            removed = plan.removed.get(key, set())
            inserted = {i: list(v) for i, v in plan.inserted.get(key, {}).items()}
            if key in plan.emptied:
                out += self._emptied(node)
            elif node.flow:
                out += self._flow(node, removed, inserted)
            else:
                out += self._block(node, removed, inserted)
        areas = [(e.start, e.end) for e in out if e.end > e.start]
        for spot in plan.spots:
            if not any(a <= spot.start and spot.end <= b for a, b in areas):
                out.append(shrink(self.text, spot))
        return [e for e in out if e.start != e.end or e.text]

    def _mapped(self, edits: Sequence[Edit]) -> list[Edit]:
        out = []
        for edit in edits:
            if self.mask.actions and not self.mask.whole(edit.start, edit.end):
                raise CannotRender("the edit would touch a template action")
            held = self.mask.within(edit.start, edit.end) if edit.text.strip() else []
            if any(self.text[a.start : a.end] not in edit.text for a in held):
                raise CannotRender("the edit would touch a template action")
            if self.mask.actions and "{{" in self._foreign(edit):
                raise CannotRender("the new text would be read as a template action")
            up = self.region.edit(edit.start, edit.end, edit.text)
            if up is None:
                raise CannotRender("the text cannot be written at this place")
            out.append(up)
        return out

    def _foreign(self, edit: Edit) -> str:
        """Return new text without the actions that stood there before."""
        text = edit.text
        for action in self.mask.within(edit.start, edit.end):
            text = text.replace(self.text[action.start : action.end], "")
        return text

    def _gone(self, node: Node, plan: Plan) -> bool:
        """Tell whether a node lies inside what is removed."""
        use = node.uses[0] if node.uses else None
        while use is not None and use.holder is not None:
            if use.index in plan.removed.get(id(use.holder), ()):
                return True
            use = use.holder.uses[0] if use.holder.uses else None
        return False

    def _bubble(self, plan: Plan) -> None:
        """Take away the key or item of every collection that is emptied."""
        waiting = list(plan.nodes.values())
        while waiting:
            node = waiting.pop()
            gone = plan.removed.get(id(node), set())
            if not gone or len(gone) < len(node.children) or any(plan.inserted.get(id(node), {}).values()):
                continue
            if not node.flow and self.mask.actions and self._prints_items(node):
                # A template prints more of it: what goes are the lines.
                continue
            if id(node) in self.kept:
                plan.emptied.add(id(node))
                continue
            use = node.uses[0] if node.uses else None
            if use is None or use.holder is None:
                raise CannotRender("nothing would be left of the document")
            if use.holder.kind == "mapping" and use.holder.pairs[use.index].name in self.fragile:
                raise CannotRender(f"nothing would be left of `{use.holder.pairs[use.index].name}:`")
            plan.remove(use.holder, use.index)
            waiting.append(use.holder)

    def _prints_items(self, node: Node) -> bool:
        after = [root.start for root in self.roots if root.start > node.start]
        return prints_items(self.text, self.mask, node, min(after, default=len(self.text)))

    def _check_anchors(self, plan: Plan) -> None:
        """Refuse to take away an anchor that is used where it stays."""
        for key, indices in plan.removed.items():
            holder = plan.nodes[key]
            for index in indices:
                use = holder.children[index]
                if use.alias:
                    continue
                for node in walk(use.node):
                    if node.anchor and any(u.alias and not self._use_gone(u, plan) for u in node.uses):
                        raise CannotRender(f"the anchor &{node.anchor} is used elsewhere")

    def _use_gone(self, use: Use, plan: Plan) -> bool:
        if use.holder is None:
            return False
        return use.index in plan.removed.get(id(use.holder), ()) or self._gone(use.holder, plan)

    def _emptied(self, node: Node) -> list[Edit]:
        """Write a collection of which nothing is left."""
        nothing = "{}" if node.kind == "mapping" else "[]"
        last = self._end(node, len(node.children) - 1)
        if node.flow:
            return [Edit(node.body, node.end, nothing)]
        use = node.uses[0] if node.uses else None
        if use is None or use.holder is None:
            return [Edit(self.begin(node, 0), last, nothing)]
        key = use.holder.pairs[use.index].key if use.holder.kind == "mapping" else None
        colon = self.text.find(":", key.end) + 1 if key is not None else 0
        if not colon or node.anchor or node.tag or self.line_end(colon) >= self.begin(node, 0):
            raise CannotRender("an empty collection cannot be written here")
        return [Edit(colon, colon, " " + nothing), self._cut(self.next_line(colon), self.next_line(last))]

    # -- flow collections

    def _flow(self, node: Node, removed: set[int], inserted: dict[int, list[list[str]]]) -> list[Edit]:
        spans = [Span(c.start, c.end) for c in (node.items if node.kind == "sequence" else node.pairs)]
        comment = "//" if self.only_json else "#"
        if removed and not inserted and self.mask.actions and _between(self.mask, spans):
            closer = node.end - 1
            return list(removals(self.text, self.mask, spans, node.body + 1, closer, sorted(removed)))
        listing = Listing(self.text, spans, node.body + 1, ",", comment=comment, newline=self.newline)
        raws: dict[int, list[str]] = {}
        for after, payloads in inserted.items():
            if any(len(lines) != 1 for lines in payloads):
                raise CannotRender("a block cannot be written inside a flow collection")
            raws[after] = [lines[0] for lines in payloads]
        return listing.edits(sorted(removed), {}, raws)

    # -- block collections

    def begin(self, node: Node, index: int) -> int:
        """Return where an item's dash or a pair's key stands."""
        if node.kind == "mapping":
            return node.pairs[index].start
        at = node.body if index == 0 else node.items[index - 1].end
        if index:
            previous = node.items[index - 1].node
            if previous.style in ("|", ">"):
                at = self.line_end(at)
        match = _DASH_GAP.match(self.mask.text, at)
        found = match.end() if match else at
        if self.mask.text[found : found + 1] != "-":
            raise CannotRender("the list's markers are not where they should be")
        return found

    def _end(self, node: Node, index: int) -> int:
        return (node.pairs[index] if node.kind == "mapping" else node.items[index]).end

    def line_start(self, offset: int) -> int:
        return line_start(self.text, offset)

    def line_end(self, offset: int) -> int:
        return line_end(self.text, offset)

    def next_line(self, offset: int) -> int:
        return next_line(self.text, offset)

    def column(self, offset: int) -> int:
        return offset - self.line_start(offset)

    def _leads(self, offset: int) -> bool:
        """Tell whether only blanks (of the masked text) stand before an offset on its line."""
        return not self.mask.text[self.line_start(offset) : offset].strip(" \t")

    def _block(self, node: Node, removed: set[int], inserted: dict[int, list[list[str]]]) -> list[Edit]:
        out: list[Edit] = []
        removed = set(removed)
        for after in sorted(inserted):
            slot = after if after in removed else after + 1
            while inserted[after] and slot in removed and slot < len(node.children) and self._alike(node, after, slot):
                # What comes takes the place, and so the line, of what goes.
                removed.discard(slot)
                out.append(self._in_place(node, slot, inserted[after].pop(0)))
                slot += 1
            if slot - 1 > after:
                inserted.setdefault(slot - 1, [])[:0] = inserted[after]
                inserted[after] = []
        out += self._removals(node, removed)
        for after, payloads in inserted.items():
            if payloads:
                out += self._insertion(node, after, payloads, removed)
        return out

    def _alike(self, node: Node, one: int, other: int) -> bool:
        """Tell whether two items stand under the same condition of a template."""
        if not self.mask.actions or one < 0:
            return True
        return self.mask.branch(self.begin(node, one)) == self.mask.branch(self.begin(node, other))

    def _in_place(self, node: Node, index: int, lines: list[str]) -> Edit:
        begin = self.begin(node, index)
        start = begin
        if node.kind == "sequence":
            use = node.items[index]
            start = use.start if use.end > use.start else begin + 1
            if self.text[begin + 1 : start].strip(" "):
                start = begin + 1
        pad = self.newline + " " * (self.column(begin) + (2 if node.kind == "sequence" else 0))
        text = pad.join(lines)
        if start == begin + 1 and node.kind == "sequence":
            text = " " + text
        return Edit(start, max(self._end(node, index), start), text)

    def _removals(self, node: Node, removed: set[int]) -> list[Edit]:
        out: list[Edit] = []
        areas: list[tuple[int, int]] = []
        kept = [i for i in range(len(node.children)) if i not in removed]
        for index in sorted(removed):
            begin, end = self.begin(node, index), self._end(node, index)
            if self._leads(begin):
                areas.append(self._commented(node, index, self.line_start(begin), self.next_line(end)))
                continue
            before = self.text[self.line_start(begin) : begin].rstrip(" ")
            if not before.endswith("-"):
                raise CannotRender("the key stands behind other text")
            if index != 0 or not kept:
                raise CannotRender("the item cannot be taken out here")
            first = self.begin(node, kept[0])
            gap = self.text[self._end(node, kept[0] - 1) : first]
            noted = "#" in self.text[self.line_end(end) : first]
            if not gap.strip() or (all(i in removed for i in range(kept[0])) and not noted):
                out.append(Edit(begin, first, ""))
                return [*out, *self._lines_out([a for a in areas if a[0] > first], removed, node, kept[0])]
            start = self.line_start(begin) + len(self.text[self.line_start(begin) : begin].rstrip(" "))
            out.append(Edit(start, self.line_end(end), ""))
        return [*out, *self._merged(areas)]

    def _commented(self, node: Node, index: int, start: int, end: int) -> tuple[int, int]:
        """Take in the comment above a key of a chart's values."""
        if self.values and node.kind == "mapping":
            start = comment_start(self.text, start, end, node.pairs[index].name)
        return start, end

    def _lines_out(self, areas: list[tuple[int, int]], removed: set[int], node: Node, first: int) -> list[Edit]:
        more = [
            (self.line_start(self.begin(node, i)), self.next_line(self._end(node, i)))
            for i in sorted(removed)
            if i > first
        ]
        return self._merged([*areas, *more])

    def _merged(self, areas: list[tuple[int, int]]) -> list[Edit]:
        runs: list[list[int]] = []
        for start, end in sorted(areas):
            if runs and (runs[-1][1] >= start or branches(self.text, self.mask, runs[-1][1], start)):
                runs[-1][1] = max(runs[-1][1], end)
            else:
                runs.append([start, end])
        return [self._cut(*widened(self.text, self.mask, start, end)) for start, end in runs]

    def _cut(self, start: int, end: int) -> Edit:
        """Take whole lines away, and one of two blank lines that would then meet."""
        text = self.text
        above = text[self.line_start(start - 1) : start] if start else ""
        if start and text[start - 1] == "\n" and text[start - 2 : start - 1] == "\r":
            above = text[self.line_start(start - 2) : start]
        if (start == 0 or not above.strip()) and end < len(text):
            following = text[end : self.line_end(end)]
            if not following.strip():
                end = self.next_line(end)
        if end == len(text) and start > 0 and text[end - 1] not in "\r\n":
            # A text without a final line end keeps being one.
            start -= 2 if text[start - 2 : start] == "\r\n" else 1
        return Edit(start, end, "")

    def _insertion(self, node: Node, after: int, payloads: list[list[str]], removed: set[int]) -> list[Edit]:
        dash = "- " if node.kind == "sequence" else ""
        if not node.children:
            raise CannotRender("there is nothing to add to")
        anchor = max(after, 0)
        begin = self.begin(node, anchor)
        if dash and anchor < len(node.items):
            width = re.match(r"-( +)", self.text[begin:])
            dash = "-" + (width[1] if width and len(width[1]) < 9 else " ")
        column = self.column(begin) if self._leads(begin) else self._column_of(node)
        pad = " " * column
        inner = pad + " " * len(dash)
        blocks = [dash + (self.newline + inner).join(lines) for lines in payloads]
        if after < 0:
            return [Edit(begin, begin, "".join(block + self.newline + pad for block in blocks))]
        place = self.line_end(self._end(node, after))
        return [Edit(place, place, "".join(self.newline + pad + block for block in blocks))]

    def _column_of(self, node: Node) -> int:
        """Return the column of a collection whose first element stands behind a dash."""
        return self.column(self.begin(node, 0))


def _between(mask: Mask, spans: Sequence[Span]) -> bool:
    """Tell whether actions that print nothing stand between the items of a flow collection."""
    inside = [a for a in mask.within(spans[0].start, spans[-1].end) if a.control] if spans else []
    inside += [a for a in (mask.before(spans[0].start)[-1:] + mask.behind(spans[-1].end)[:1]) if a.control]
    return any(not any(s.start <= a.start and a.end <= s.end for s in spans) for a in inside)


@dataclass(eq=False)
class Home:
    """A container of items in a document. Those of one document are one container to who groups changes."""

    document: Document
    host: str = field(init=False)

    def __post_init__(self) -> None:
        self.host = self.document.host

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Home) and other.document is self.document

    def __hash__(self) -> int:
        return id(self.document)

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        """Render changes; see model.Container."""
        return self.document.edits(changes)

    def plan(self, plan: Plan, changes: Sequence[Change]) -> None:
        raise NotImplementedError
