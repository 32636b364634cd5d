"""The text of Python strings as a guest: one literal, several side by side, or a string that grows.

Parts are literals and bare expressions (`"a " + b`, `cmd += f" --x {y}"`). What lies between two parts (a
line end, `+`, a comma, another statement) is not seen by the guest; a change that takes a whole part away
takes that with it, and a change across two parts leaves each its own quotes.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import field, replace

from vllm_migrate.hosts.python_commas import Bracket
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_statements import statement_edit
from vllm_migrate.hosts.python_text import Literal, Said, literals, say, write_inside
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import fill
from vllm_migrate.text import Edit, Region, Span, apply_edits, line_start, shrink


@dataclass(frozen=True)
class Given:
    """An expression whose text is joined to others.

    statement: set when the expression is all that a statement adds, so that the statement goes with it.
    bracket, index: where it is an item of a list that is joined.
    """

    expression: ast.expr
    statement: ast.stmt | None = None
    bracket: Bracket | None = None
    index: int = 0


@dataclass
class Part:
    """A literal, or an expression (literal None), and where it lies in guest and parent.

    group: number of the expression it is part of; parts of one group stand side by side.
    """

    literal: Literal | None
    start: int
    end: int
    span: Span
    group: int
    given: Given


class StringRegion(Region):
    """A guest whose edits know about the parts it is written in."""

    module: Module
    parts: list[Part]
    holes: list[str]

    joint: str = ""

    def _part(self, offset: int, *, at_end: bool) -> int:
        """Return the part an offset begins (or ends) in; between two parts, the one on that side."""
        filled = [i for i, p in enumerate(self.parts) if p.start < p.end] or [0]
        if at_end:
            return next((i for i in reversed(filled) if self.parts[i].start < offset), filled[0])
        return next((i for i in filled if self.parts[i].end > offset), filled[-1])

    def to_parent(self, start: int, end: int) -> Span | None:
        """Return the parent's span, or None where it lies in more than one part."""
        if start == end and not self.text:
            literal = self.parts[0].literal if self.parts else None
            return Span(literal.inner_start, literal.inner_start) if literal else None
        if end > start and self._part(start, at_end=False) != self._part(end, at_end=True):
            return None
        return super().to_parent(start, end)

    def nearest_span(self, start: int, end: int) -> Span:
        if end > start:
            first, last = self._part(start, at_end=False), self._part(end, at_end=True)
            if first != last:
                a = super().nearest_span(start, self.parts[first].end)
                return Span(a.start, super().nearest_span(self.parts[last].start, end).end)
        return super().nearest_span(start, end)

    def edit(self, start: int, end: int, new: str) -> Edit | None:
        """Return the edit of the source; see `Region.edit`."""
        here = self._edit(start, end, new)
        if here is None or self.parent is None:
            return here
        return self.parent.edit(here.start, here.end, here.text)

    def _edit(self, start: int, end: int, new: str) -> Edit | None:
        if new and start < end:
            first, last = self._part(start, at_end=False), self._part(end, at_end=True)
            if first != last or self.parts[first].literal is None:
                # What stays the same at the ends need not be written again, and bare expressions cannot be.
                less = shrink(self.text, Edit(start, end, new))
                start, end, new = less.start, less.end, less.text
                if start == end and not new:
                    spot = super().nearest_span(start, start)
                    return Edit(spot.start, spot.start, "")
        if not new and start < end:
            return self._delete(start, end)
        if not self.text or start == end:
            place = self.to_parent(start, end)
            if place is None or not self.parts:
                return None
            part = self.parts[self._part(start, at_end=start > 0 and self.text[start - 1] != "\n")]
            if self.joint and start > part.end:
                # Right behind a joint: at the start of the next item.
                part = next((p for p in self.parts if p.start == start), part)
                place = Span(part.literal.inner_start, part.literal.inner_start) if part.literal else place
            written = write_inside(new, part.literal, self.holes) if part.literal else None
            return None if written is None else Edit(place.start, place.end, written)
        return self._across(start, end, new)

    def _delete(self, start: int, end: int) -> Edit | None:
        """Delete a run; of equal deletions the one that takes whole parts or stays in one is chosen."""
        if start == 0 and end == len(self.text):
            return self._across(start, end, "")
        choices = [(start, end)]
        text = self.text
        s, e = start, end
        while e < len(text) and text[s] == text[e] and text[s].isspace():
            s, e = s + 1, e + 1
            choices.append((s, e))
        s, e = start, end
        while s and text[s - 1] == text[e - 1] and text[s - 1].isspace():
            s, e = s - 1, e - 1
            choices.append((s, e))
        if self.joint:
            choices = list(dict.fromkeys([*choices, *(self._trimmed(*c) for c in choices)]))
            for s, e in choices:
                found = self._elements(s, e)
                if found is not None:
                    return found
        ranked = sorted(choices, key=lambda c: self._awkward(*c))
        for s, e in ranked:
            found = self._whole(s, e) or self._across(s, e, "")
            if found is not None:
                return found
        return None

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Return a run without the joints at its ends, where another blank stands beside them."""
        text, joint = self.text, self.joint
        opens = start == 0 or text[start - 1].isspace()
        closes = end == len(text) or text[end].isspace()
        for part in self.parts:
            if closes and start == part.end and text.startswith(joint, start):
                start += len(joint)
            if opens and end == part.start:
                end -= len(joint)
        return (start, end) if start < end else (end, end)

    def _elements(self, start: int, end: int) -> Edit | None:
        """Return the edit that takes whole items of a joined list away, with their commas."""
        groups = {p.group for p in self.parts if p.start < end and start < p.end}
        mine = [p for p in self.parts if p.group in groups]
        if not mine or mine[0].start != start or mine[-1].end != end:
            return None
        given = list(dict.fromkeys(p.given for p in mine))
        statements = {g.statement for g in given}
        bracket = given[0].bracket
        if bracket is None or any(g.bracket is not bracket for g in given):
            return None
        if len(given) == len(bracket.items):
            statement = given[0].statement
            return statement_edit(self.module, statement) if statement and len(statements) == 1 else None
        return _one(self.module.text, bracket.edits({g.index for g in given}, {}, {}))

    def _awkward(self, start: int, end: int) -> int:
        first, last = self._part(start, at_end=False), self._part(end, at_end=True)
        a, b = self.parts[first], self.parts[last]
        if start < a.start or end > b.end:
            return 9
        opens, closes = start == a.start, end == b.end
        if opens and closes:
            return 0 if self._whole(start, end) is not None else 5
        if first == last:
            return 1
        return 2 if opens or closes else 3

    def _whole(self, start: int, end: int) -> Edit | None:
        """Return the edit that takes the parts of a run away with what holds them."""
        first, last = self._part(start, at_end=False), self._part(end, at_end=True)
        parts = self.parts
        if parts[first].start != start or parts[last].end != end or parts[first].group != parts[last].group:
            return None
        group = [i for i, p in enumerate(parts) if p.group == parts[first].group]
        if group[0] == first and group[-1] == last:
            statement = parts[first].given.statement
            return statement_edit(self.module, statement) if statement is not None else None
        if self._parenthesis(first, last):
            return None
        text = self.module.text
        run = _parenthesized(text, Span(parts[first].span.start, parts[last].span.end))
        # What stands between the run and its neighbours: a sign, line ends, comments, parentheses of others.
        above = text[parts[first - 1].span.end : run.start] if first > group[0] else None
        below = text[run.end : parts[last + 1].span.start] if last < group[-1] else None
        line = line_start(text, run.start)
        stop = run.end
        while stop < len(text) and text[stop] in " \t":
            stop += 1
        literal = parts[first].literal is not None and parts[last].literal is not None
        joined = literal and "+" not in (below if below is not None else above or "")
        if joined and not text[line : run.start].strip() and text[stop : stop + 1] in ("\r", "\n"):
            stop += 2 if text.startswith("\r\n", stop) else 1
            return Edit(line, stop, "")
        if below is not None and ")" not in below and not ("(" in below and "#" in below):
            return Edit(run.start, run.end + len(below.partition("(")[0]), "")
        if above is not None and "(" not in above and not (")" in above and "#" in above):
            return Edit(run.start - len(above.rpartition(")")[2]), run.end, "")
        return None

    def _across(self, start: int, end: int, new: str) -> Edit | None:
        first, last = self._part(start, at_end=False), self._part(end, at_end=True)
        a, b = self.parts[first], self.parts[last]
        if start < a.start or end > b.end:
            return None
        if a.group == b.group and self._parenthesis(first, last):
            return None
        if a.literal is None or b.literal is None:
            return self._with_holes(start, end, new, first, last)
        written = write_inside(new, a.literal, self.holes)
        if written is None:
            return None
        if first == last:
            up = super().to_parent(start, end)
            if up is None or not self._says(a, start, end, new, Edit(up.start, up.end, written)):
                return None
            return Edit(up.start, up.end, written)
        if a.group != b.group and last - first > 1:
            return None
        up_start, up_end = self._up(start, at_end=False), self._up(end, at_end=True)
        if up_start is None or up_end is None:
            return None
        blank = (self.text[:start] + new)[-1:].isspace() or self.text[end : end + 1].isspace()
        if self.joint and a.group != b.group and (self.joint.strip(" ") or not blank):
            # Two lines become one: their texts move into one literal, for the joint would part them.
            merges = a.literal.style == b.literal.style
            return Edit(up_start, up_end, written) if merges else None
        text = self.module.text
        if (start > a.start or written) and _holds_quote(text, a.literal, up_start, written):
            return None
        if end == b.end and (start > a.start or written) and b.group == a.group:
            # All of the last part goes: what follows the first part's closing quote goes too.
            return Edit(up_start, b.span.end, written + a.literal.quote)
        if start == a.start and not written and a.group == b.group:
            return Edit(a.span.start, up_end, text[b.span.start : b.literal.inner_start])
        glue = text[self.parts[last - 1].span.end : b.literal.inner_start]
        return Edit(up_start, up_end, written + a.literal.quote + glue)

    def _parenthesis(self, first: int, last: int) -> bool:
        """Tell whether a parenthesis opens or closes between two parts of an expression."""
        spans = [p.span for p in self.parts[first : last + 1]]
        gaps = [self.module.text[a.end : b.start] for a, b in itertools.pairwise(spans)]
        return any("(" in gap or ")" in gap for gap in gaps)

    def _says(self, part: Part, start: int, end: int, new: str, edit: Edit) -> bool:
        """Tell whether a literal is one still after an edit inside it, and says what it should.

        A backslash that comes to stand before the quote, or a digit behind an octal escape, would not.
        """
        literal, text = part.literal, self.module.text
        assert literal is not None
        written = text[literal.start : edit.start] + edit.text + text[edit.end : literal.end]
        if "\\" not in written:
            return True
        found = literals(written, 0, len(written))
        if len(found) != 1 or found[0].end != len(written):
            return False
        said = Said()
        say(written, replace(found[0], prefix=literal.prefix), said)
        wanted = self.text[part.start : start] + new + self.text[end : part.end]
        return fill(said.text, said.holes) == fill(wanted, self.holes)

    def _with_holes(self, start: int, end: int, new: str, first: int, last: int) -> Edit | None:
        """Handle a run that begins or ends with a bare expression of a `+` chain."""
        a, b = self.parts[first], self.parts[last]
        if a.group != b.group or new:
            return None
        if b.literal is None and a.literal is not None:
            up_start = self._up(start, at_end=False)
            if up_start is None or _holds_quote(self.module.text, a.literal, up_start, ""):
                return None
            return Edit(up_start, b.span.end, a.literal.quote)
        if a.literal is None and b.literal is not None:
            up_end = self._up(end, at_end=True)
            text = self.module.text
            if up_end is None:
                return None
            return Edit(a.span.start, up_end, text[b.span.start : b.literal.inner_start])
        return None


def _holds_quote(text: str, literal: Literal, end: int, more: str) -> bool:
    """Tell whether a raw literal that is cut at an offset, and then gets more, would not end at its quote."""
    inside = text[literal.inner_start : end] + more
    return literal.raw and (len(inside) - len(inside.rstrip("\\"))) % 2 == 1


@dataclass
class _Collected:
    said: Said = field(default_factory=Said)
    parts: list[Part] = field(default_factory=list)


def _one(text: str, edits: Sequence[Edit]) -> Edit | None:
    """Return edits as one that spans them all."""
    if not edits:
        return None
    start, end = min(e.start for e in edits), max(e.end for e in edits)
    moved = [Edit(e.start - start, e.end - start, e.text) for e in edits]
    return Edit(start, end, apply_edits(text[start:end], moved))


def string_region(module: Module, given: Sequence[Given], joint: str = "") -> StringRegion | None:
    """Return what string expressions say together as a guest of the module's region.

    Args: given: the expressions in the order they are joined. joint: text that is put between two of them.
    Returns None where nothing of it is text.
    """
    got = _Collected()
    for i, one in enumerate(given):
        if joint and i:
            got.said.add(joint, got.parts[-1].span.end, module.span(one.expression).start, False)
        _collect(module, one.expression, got, i, one)
    if not any(p.literal for p in got.parts) or len(got.said.holes) > 6000:
        return None
    region = StringRegion(module.region.source, got.said.text, module.region, got.said.pieces)
    region.module, region.parts, region.holes, region.joint = module, got.parts, got.said.holes, joint
    return region


def _collect(module: Module, node: ast.expr, got: _Collected, group: int, given: Given) -> None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and has_text(node):
        _collect(module, node.left, got, group, given)
        _collect(module, node.right, got, group, given)
        return
    span = module.span(node)
    template = node if node in module.templates else format_template(node)
    if is_text(node) or template is not None:
        inner = module.span(template) if template is not None else span
        for literal in literals(module.text, inner.start, inner.end):
            if template is not None:
                literal = replace(literal, prefix=literal.prefix + "f")
            start = len(got.said.text)
            say(module.text, literal, got.said)
            place = Span(literal.start, literal.end)
            got.parts.append(Part(literal, start, len(got.said.text), place, group, given))
        return
    spelled = module.text[span.start : span.end]
    if isinstance(module.parents.get(node), ast.BinOp):
        span = _parenthesized(module.text, span)
    start = len(got.said.text)
    got.said.hole(spelled, span.start, span.end)
    got.parts.append(Part(None, start, start + 1, span, group, given))


def _parenthesized(text: str, span: Span) -> Span:
    """Return the span of an operand with the parentheses around it."""
    while True:
        before, behind = text[max(span.start - 99, 0) : span.start].rstrip(), text[span.end : span.end + 99]
        if not before.endswith("(") or not behind.lstrip().startswith(")"):
            return span
        start = text.rindex("(", 0, span.start)
        span = Span(start, text.index(")", span.end) + 1)


def is_text(node: ast.AST) -> bool:
    """Tell whether a node is a string literal of text, formatted or not."""
    if isinstance(node, ast.JoinedStr):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def has_text(node: ast.AST) -> bool:
    """Tell whether an expression is a text literal or a sum with one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return has_text(node.left) or has_text(node.right)
    return is_text(node) or format_template(node) is not None


def format_template(node: ast.AST) -> ast.expr | None:
    """Return the literal of `"…".format(…)`, or None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        value = node.func.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value
    return None


def says(module: Module, node: ast.expr) -> Said:
    """Return text, holes and pieces of one string expression; other expressions are holes."""
    got = _Collected()
    _collect(module, node, got, 0, Given(node))
    return got.said
