"""A written list of shell words — a command, an array, a string of words — and edits of it.

Statements that nothing is left of are taken out by `shell_prune`, for all lists of a script together: the
items of all lists of a script name one container.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from vllm_migrate.hosts import shell_quote, shell_spell
from vllm_migrate.hosts.shell_lex import Lexeme
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import (
    CannotRender,
    Change,
    Container,
    InsertText,
    InsertVariable,
    InsertWords,
    Item,
    Remove,
    Rename,
    Replace,
    Word,
    fill,
    is_hole,
)
from vllm_migrate.text import Edit, Region

if TYPE_CHECKING:
    from vllm_migrate.hosts.shell_script import Script
    from vllm_migrate.hosts.shell_tree import Node

_HOLE = regex("[\ue000-\uf8ff]")
_TAILS = {
    "command": regex(r"[ \t]*\\\r?\n"),
    "array": regex(r"[ \t]*(?:\\|#[^\r\n]*)?\r?\n"),
    "string": regex(r"[ \t]*\\?\r?\n"),
}


@dataclass
class Token:
    """One word of a list with its quotes; lexeme is None for what no edit spells (an array, a redirection)."""

    start: int
    end: int
    lexeme: Lexeme | None = None


@dataclass
class Slot:
    """Where an item stands: its token, tokens that go with it, and the decoded letters that are its value.

    `name` are the letters of its name, for items that have one. `another` are the words that go before one more
    package that is installed beside it: none for most installers, None where nothing is.
    """

    index: int
    low: int
    high: int
    also: tuple[int, ...] = ()
    name: tuple[int, int] | None = None
    another: tuple[str, ...] | None = None


@dataclass
class Plan:
    """All that shall happen to one list."""

    removed: set[int] = field(default_factory=set)
    respelled: dict[int, list[tuple[int, int, str, tuple[str, ...]]]] = field(default_factory=dict)
    after: dict[int, list[str]] = field(default_factory=dict)
    before: dict[int, list[str]] = field(default_factory=dict)
    raw: list[Edit] = field(default_factory=list)
    """Edits of the list's region that no token has a part in."""

    @property
    def inserts(self) -> bool:
        return bool(self.after or self.before)


class WordList:
    """Container of a list of words.

    kind: "command" (lines joined by continuations), "array" (parentheses), "string" (words inside a
    quoted string or a plain text), "raw" (a string that is only split at blanks).
    open: where the first word of an empty list would go. prefer: quotes that are easy to write here.
    """

    def __init__(
        self, region: Region, kind: str, tokens: Sequence[Token], open_at: int, *, host: str = "shell"
    ) -> None:
        self.host = host
        self.region = region
        self.kind = kind
        self.tokens = list(tokens)
        self.open = open_at
        self.slots: dict[int, Slot] = {}
        self._held: list[Item] = []
        self.script: Script | None = None
        self.node: Node | None = None
        """The command this list is, or None."""
        self.vanishes = False
        """The command goes when nothing of the list is left."""
        self.parent: tuple[WordList, int] | None = None
        """The token of another list that goes when nothing of this one is left."""
        self.keeps = 0
        """How many leading tokens (`export`, `-x`) do not count as something left."""
        self.idle: set[int] = set()
        """Tokens that only repeat what a variable held before (`A="$A …"`)."""
        self.words: dict[int, Word] = {}
        self.image: int | None = None
        """Token of a container's image, for a list that runs one."""
        self.prefer = "single"
        self.spellings: Mapping[str, str] = {}
        """Outer run-time parts: letter in this text by how the file spells it."""
        self.branch = False
        """The words reach a site only when a condition holds."""

    @property
    def face(self) -> Container:
        """The container the items of this list name: one for all lists of a script."""
        return self.script.container if self.script is not None else self

    def hold(self, item: Item, slot: Slot) -> None:
        """Register an item of this list."""
        self.slots[id(item)] = slot
        self._held.append(item)
        if self.script is not None:
            self.script.homes[id(item)] = self

    def slot(self, item: Item) -> Slot:
        found = self.slots.get(id(item))
        if found is None:
            raise CannotRender("the item is not part of this list")
        return found

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        """Render changes; see model.Container."""
        from vllm_migrate.hosts import shell_prune

        return shell_prune.render(self.script, changes)

    # -- planning

    def plan(self, changes: Sequence[Change]) -> Plan:
        """Sort the changes of this list by token."""
        plan = Plan()
        for change in sorted(changes, key=lambda c: not isinstance(c, Remove)):
            if isinstance(change, Remove):
                slot = self.slot(change.item)
                plan.removed |= {slot.index, *slot.also}
            elif isinstance(change, Replace):
                slot = self.slot(change.item)
                if not isinstance(change.value, str):
                    raise CannotRender("a word can only be given text")
                part = (slot.low, slot.high, change.value, tuple(change.holes))
                parts = plan.respelled.setdefault(slot.index, [])
                if part not in parts:
                    parts.append(part)
            elif isinstance(change, Rename):
                slot = self.slot(change.item)
                if slot.name is None:
                    raise CannotRender("only a variable can be renamed here")
                plan.respelled.setdefault(slot.index, []).append((*slot.name, change.name, ()))
            elif isinstance(change, InsertWords):
                self._plan_words(plan, change)
            elif isinstance(change, InsertVariable):
                self._plan_variable(plan, change)
            elif isinstance(change, InsertText):
                if change.kind != "requirement":
                    raise CannotRender("a build step cannot be added to a command line")
                slot = self.slot(change.item)
                if slot.another is None:
                    raise CannotRender("what names it installs nothing else; install it by hand")
                words = [*slot.another, self._quoted(change.text, ())]
                plan.after.setdefault(slot.index, []).extend(words)
            else:
                raise CannotRender("a command line has no keys")
        plan.respelled = {i: parts for i, parts in plan.respelled.items() if i not in plan.removed}
        return plan

    def _plan_words(self, plan: Plan, change: InsertWords) -> None:
        raws = self._grouped(change.words, change.holes)
        beside = change.before or change.after
        if self.branch and beside is not None and self.slot(beside).index not in plan.removed:
            raise CannotRender("the option would be added only when a condition holds")
        if change.before is not None and id(change.before) in self.slots:
            plan.before.setdefault(self.slot(change.before).index, []).extend(raws)
            return
        index = self.slot(change.after).index if change.after is not None else self.last()
        plan.after.setdefault(index, []).extend(raws)

    def last(self) -> int:
        """Return the index of the last word, redirections aside; -1 for an empty list."""
        for i in range(len(self.tokens) - 1, -1, -1):
            if self.tokens[i].lexeme is not None:
                return i
        return -1

    def _plan_variable(self, plan: Plan, change: InsertVariable) -> None:
        spelled = change.name + "=" + (self._quoted(change.value, ()) if change.value else "")
        after = change.after
        if after is not None and id(after) in self.slots:
            slot = self.slot(after)
            token = self.tokens[slot.index].lexeme
            if slot.also:
                plan.after.setdefault(slot.index, []).append(self._raw(min(slot.also)) + " " + spelled)
                return
            if token is not None and slot.name is not None and slot.name[0] > 0:
                plan.after.setdefault(slot.index, []).append(token.text[: slot.name[0]] + spelled)
                return
            if self.vanishes and self.node is not None:
                plan.raw += self._statement_after(change, spelled)
                return
            plan.after.setdefault(slot.index, []).append(spelled)
            return
        if self.kind != "command" or not self.tokens:
            raise CannotRender("there is no command to set the variable for")
        if self.image is not None:
            plan.before.setdefault(self.image, []).append("-e " + spelled)
            return
        plan.before.setdefault(0, []).append(spelled)

    def _statement_after(self, change: InsertVariable, spelled: str) -> list[Edit]:
        """Write `export NAME=value` on a line of its own after the statement that sets another."""
        assert self.node is not None
        text = self.region.text
        start = text.rfind("\n", 0, self.node.start) + 1
        indent = text[start : self.node.start]
        newline = "\r\n" if "\r\n" in text else "\n"
        head = "".join(self._raw(i) + " " for i in range(self.keeps))
        if not indent.strip():
            return [Edit(self.node.end, self.node.end, f"{newline}{indent}{head}{spelled}")]
        return [Edit(self.node.end, self.node.end, f"; {head}{spelled}")]

    def _raw(self, index: int) -> str:
        token = self.tokens[index]
        return self.region.text[token.start : token.end]

    def _written(self, holes: Sequence[str]) -> list[str]:
        return [self.spellings.get(h, h) for h in holes]

    def _quoted(self, text: str, holes: Sequence[str]) -> str:
        if self.kind == "raw":
            return _split_only(text, self._written(holes))
        if not text:
            return "''" if self.prefer == "single" else '""'
        head, equals, rest = text.partition("=")
        if equals and text.startswith("-") and rest and shell_quote.unescape_free(head):
            return head + "=" + shell_quote.quote(rest, self._written(holes), prefer=self.prefer)
        return shell_quote.quote(text, self._written(holes), prefer=self.prefer)

    def _grouped(self, words: Sequence[str], holes: Sequence[str]) -> list[str]:
        """Spell words, an option with the values that follow it together."""
        out: list[str] = []
        for word in words:
            raw = self._quoted(word, holes)
            if out and not re.match(r"--?[A-Za-z]", word):
                out[-1] += " " + raw
            else:
                out.append(raw)
        return out

    # -- rendering

    def emptied(self, plan: Plan) -> bool:
        """Tell whether the plan leaves nothing of a list that is not worth keeping then."""
        if not (self.vanishes or self.parent) or plan.inserts or not plan.removed:
            return False
        return all(i in plan.removed or i in self.idle for i in range(self.keeps, len(self.tokens)))

    def render(self, plan: Plan) -> list[Edit]:
        """Return edits of the list's region."""
        out = list(plan.raw)
        for index, parts in plan.respelled.items():
            edit = self._respell(index, parts)
            if edit.text != self.region.text[edit.start : edit.end]:
                out.append(edit)
        removed, after, before = set(plan.removed), dict(plan.after), dict(plan.before)
        for first, last in _runs(sorted(removed)):
            raws: list[str] = []
            for i in range(first, last + 1):
                raws += before.pop(i, []) + after.pop(i, [])
            if raws:
                joined = self._join(raws, max(first - 1, 0))
                out.append(Edit(self.tokens[first].start, self.tokens[last].end, joined))
            else:
                out.append(self._remove(first, last))
        for index, raws in before.items():
            at = self.tokens[index].start
            gap = self._gap(index - 1) if index else self._lead()
            out.append(Edit(at, at, "".join(raw + gap for raw in raws)))
        for index, raws in after.items():
            out.append(self._insert(index, raws))
        return out

    def _respell(self, index: int, parts: Sequence[tuple[int, int, str, tuple[str, ...]]]) -> Edit:
        token = self.tokens[index]
        lexeme = token.lexeme
        if lexeme is None:
            raise CannotRender("the word cannot be written anew")
        text = lexeme.text
        holes = [h.spelled for h in lexeme.holes]
        ordered = sorted(parts, reverse=True)
        pairs = itertools.pairwise(ordered)
        if any(later[1] > earlier[0] for earlier, later in pairs):
            raise CannotRender("two changes want the same text to differ")
        for low, high, new, new_holes in ordered:
            if self._says(lexeme, low, high, new, new_holes):
                continue
            shifted = "".join(chr(ord(c) + len(holes)) if is_hole(c) else c for c in new)
            holes += self._written(new_holes)
            text = text[:low] + shifted + text[high:]
        spelled: str | None
        if self.kind == "raw" and text != lexeme.text:
            spelled = _split_only(text, holes)
        else:
            spelled = shell_spell.respell(self.region.text, lexeme, text, holes, prefer=self.prefer)
        if spelled is None:
            raise CannotRender("the new value cannot be quoted at this place")
        return Edit(token.start, token.end, spelled)

    def _says(self, lexeme: Lexeme, low: int, high: int, new: str, holes: Sequence[str]) -> bool:
        """Tell whether a part of a word says this already; two run-time parts may be spelled alike."""
        mine = [lexeme.holes[ord(c) - 0xE000] for c in lexeme.text[low:high] if is_hole(c)]
        theirs = [holes[ord(c) - 0xE000] for c in new if is_hole(c) and ord(c) - 0xE000 < len(holes)]
        places = [self.region.nearest_span(h.start, h.end) for h in mine]
        spelled = [self.region.source.text[p.start : p.end] for p in places]
        return _HOLE.sub("?", lexeme.text[low:high]) == _HOLE.sub("?", new) and spelled == theirs

    def _line_start(self, offset: int) -> int:
        return self.region.text.rfind("\n", 0, offset) + 1

    def _begins_line(self, offset: int) -> bool:
        start = self._line_start(offset)
        return start > 0 and not self.region.text[start:offset].strip(" \t")

    def _remove(self, first: int, last: int) -> Edit:
        text, tokens = self.region.text, self.tokens
        start, end = tokens[first].start, tokens[last].end
        begins = self._begins_line(start)
        tail = _TAILS["string" if self.kind == "raw" else self.kind].match(text, end)
        if begins and tail is not None and not (first == 0 and last == len(tokens) - 1 and self.kind != "array"):
            return Edit(self._line_start(start), tail.end(), "")
        following = tokens[last + 1].start if last + 1 < len(tokens) else None
        if first == 0:
            return Edit(start, end if following is None else following, "")
        before = tokens[first - 1].end
        if begins and following is not None and tokens[last + 1].lexeme is not None:
            return Edit(start, following, "")
        if text[before:start].strip(" \t\r\n\\"):
            return Edit(start, end, "")  # a comment stands between; its line end must stay
        return Edit(before, end, "")

    def _gap(self, index: int) -> str:
        """Return what separates a word put after token `index` from the one before it."""
        tokens = self.tokens
        following = self._break(index + 1) if index + 1 < len(tokens) else None
        if index + 1 < len(tokens) and following is None:
            return " "
        for at in range(index, 0, -1):
            found = self._break(at)
            if found is not None:
                return found
            lexeme = tokens[at].lexeme
            if following is None and lexeme is not None and lexeme.text.startswith("-"):
                return " "  # the last option stands on a line with the one before it
        return following or " "

    def _break(self, index: int) -> str | None:
        """Return the line break before a token, without what else lies there; None when there is none."""
        if index <= 0:
            return None
        between = self.region.text[self.tokens[index - 1].end : self.tokens[index].start]
        at = between.rfind("\n")
        if at < 0:
            return None
        newline = "\r\n" if between[:at].endswith("\r") else "\n"
        slash = " \\" if between[:at].rstrip("\r").endswith("\\") else ""
        return slash + newline + between[at + 1 :]

    def _lead(self) -> str:
        return " "

    def _join(self, raws: Sequence[str], index: int) -> str:
        return self._gap(index).join(raws) if len(raws) > 1 else "".join(raws)

    def _insert(self, index: int, raws: Sequence[str]) -> Edit:
        text = self.region.text
        if index < 0:
            at = self.open
            return Edit(at, at, " ".join(raws))
        gap = self._gap(index)
        at = self.tokens[index].end
        if self.kind == "array" and "\n" in gap:
            rest = re.compile(r"[ \t]*#[^\r\n]*").match(text, at)
            at = rest.end() if rest else at
        return Edit(at, at, "".join(gap + raw for raw in raws))


def _split_only(text: str, holes: Sequence[str]) -> str:
    """Spell a word for a string that an unquoted expansion splits: no quotes help there."""
    if re.search(r"[\s*?\[\\$`]", text) or not text:
        raise CannotRender("a variable that the shell only splits at blanks cannot hold this value")
    return fill(text, holes)


def _runs(indices: Sequence[int]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for i in indices:
        if out and out[-1][1] == i - 1:
            out[-1] = (out[-1][0], i)
        else:
            out.append((i, i))
    return out
