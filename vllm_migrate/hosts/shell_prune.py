"""Takes out statements nothing is left of, with the `if` or the list that would be left broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from vllm_migrate.hosts.shell_list import Plan, WordList, _runs
from vllm_migrate.hosts.shell_tree import Node
from vllm_migrate.lazy import regex
from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertText,
    InsertVariable,
    InsertWords,
    Item,
    Remove,
    Rename,
    Replace,
    container_of,
)
from vllm_migrate.text import Edit, Region, line_start

if TYPE_CHECKING:
    from vllm_migrate.hosts.shell_script import Script

_TESTS = frozenset(("[", "[[", "test", "command", "grep", "true", "false", ":", "echo", "type", "which", "hash"))
_LINE_TAIL = regex(r"[ \t]*(?:#[^\r\n]*)?(\r?\n|\Z)")
_BLANK = regex(r"[ \t]*\r?\n")


class ScriptContainer:
    """Container of every item of a script."""

    host = "shell"

    def __init__(self, script: Script) -> None:
        self.script = script

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        """Render changes; see model.Container."""
        return render(self.script, changes)


def _home(script: Script | None, change: Change) -> WordList:
    """Return the list a change is made in."""
    container = container_of(change)
    if isinstance(container, WordList):
        return container
    item: Item | None = None
    if isinstance(change, (Remove, Replace, Rename, InsertText)):
        item = change.item
    elif isinstance(change, InsertWords):
        item = change.after or change.before
    elif isinstance(change, InsertVariable):
        item = change.after
    found = script.homes.get(id(item)) if script is not None and item is not None else None
    if found is None:
        raise CannotRender("there is no word beside which to write")
    return found


def render(script: Script | None, changes: Sequence[Change]) -> list[Edit]:
    """Return edits of the source for changes of the lists of a script."""
    grouped: dict[int, tuple[WordList, list[Change]]] = {}
    for change in changes:
        home = _home(script, change)
        grouped.setdefault(id(home), (home, []))[1].append(change)
    plans = {key: (words, words.plan(own)) for key, (words, own) in grouped.items()}
    if script is not None:
        _follow_exports(script, changes, plans)
        _drop_assignments(script, plans)
    out: list[Edit] = []
    gone: list[Node] = []
    for words, plan in plans.values():
        if words.vanishes and words.emptied(plan):
            assert words.node is not None
            gone.append(words.node)
        else:
            out += place(words.region, words.render(plan))
    if gone:
        assert script is not None
        out += place(script.region, prune(script.text, gone))
    return out


def _drop_assignments(script: Script, plans: dict[int, tuple[WordList, Plan]]) -> None:
    """An `X+=(…)` that adds nothing any more goes, as long as the variable is set elsewhere."""
    for bindings in script.bindings.values():
        emptied = [b for b in bindings if id(b.words) in plans and _adds_nothing(*plans[id(b.words)])]
        if len(emptied) == len(bindings):
            emptied = emptied[1:]
        for binding in emptied:
            assert binding.words.parent is not None
            home, index = binding.words.parent
            plans.setdefault(id(home), (home, Plan()))[1].removed.add(index)
            plans[id(binding.words)] = (binding.words, Plan())


def _adds_nothing(words: WordList, plan: Plan) -> bool:
    return words.parent is not None and words.emptied(plan)


def _follow_exports(script: Script, changes: Sequence[Change], plans: dict[int, tuple[WordList, Plan]]) -> None:
    """`X=1` and a later `export X` go together, and get a new name together."""
    removed = {id(c.item) for c in changes if isinstance(c, Remove)}
    renamed = {id(c.item): c.name for c in changes if isinstance(c, Rename)}
    for name, places in script.mentions.items():
        items = script.set_items.get(name, [])
        names = {renamed.get(id(item)) for item in items}
        for words, index in places:
            plan = plans.get(id(words), (words, Plan()))[1]
            if items and all(id(item) in removed for item in items):
                plan.removed.add(index)
            elif len(names) == 1 and (new := names.copy().pop()) is not None:
                plan.respelled.setdefault(index, []).append((0, len(name), new, ()))
            else:
                continue
            plans[id(words)] = (words, plan)


def place(region: Region, edits: Iterable[Edit]) -> list[Edit]:
    """Map edits of a region to the source."""
    out = []
    for edit in edits:
        mapped = _first_lines(region, edit) or region.edit(edit.start, edit.end, edit.text)
        if mapped is None:
            raise CannotRender("the text cannot be changed inside these quotes")
        out.append(mapped)
    return out


def _first_lines(region: Region, edit: Edit) -> Edit | None:
    """Return the edit that deletes a guest's first lines with the indentation of the line after them."""
    if region.parent is None or edit.text or edit.start or not 0 < edit.end < len(region.text):
        return None
    if region.text[edit.end - 1] != "\n":
        return None
    here, after = region.to_parent(0, edit.end), region.to_parent(edit.end, edit.end + 1)
    if here is None or after is None or after.start <= here.end:
        return None
    if line_start(region.parent.text, here.start) == here.start:
        # The region itself takes whole lines.
        return None
    return region.parent.edit(here.start, after.start, "")


def prune(text: str, nodes: Sequence[Node]) -> list[Edit]:
    """Return edits that take commands out of a script."""
    gone: set[int] = {id(node) for node in nodes}
    touched: dict[int, Node] = {}
    for node in nodes:
        _bubble(node, gone, touched)
    out: list[Edit] = []
    for holder in touched.values():
        if id(holder) in gone or any(id(a) in gone for a in holder.ancestors()):
            continue
        if holder.kind == "statement":
            out += _elements(text, holder, gone)
        elif holder.kind == "block":
            out += _statements(text, holder, gone)
        else:
            raise CannotRender("the command is part of a pipeline")
    return out


def _bubble(node: Node, gone: set[int], touched: dict[int, Node]) -> None:
    """Mark what goes together with a node that goes; note the first holder that stays."""
    parent = node.parent
    if parent is None:
        return
    if parent.kind == "statement":
        kept = [child for child in parent.children if id(child) not in gone]
        vain = bool(kept) and id(parent.children[-1]) in gone and "||" not in parent.connectors
        if not kept or (vain and all(_pure(child) for child in kept)):
            gone.add(id(parent))
            touched.pop(id(parent), None)
            _bubble(parent, gone, touched)
        else:
            touched[id(parent)] = parent
        return
    if parent.kind == "block":
        if all(id(child) in gone for child in parent.children) and _drops(parent):
            holder = parent.parent
            assert holder is not None
            gone.add(id(holder))
            touched.pop(id(parent), None)
            _bubble(holder, gone, touched)
        else:
            touched[id(parent)] = parent
        return
    touched[id(parent)] = parent


def _drops(block: Node) -> bool:
    """Tell whether the compound command of an emptied block goes with it."""
    holder = block.parent
    if holder is None or holder.kind != "if" or block.role != "then":
        return False
    roles = [child.role for child in holder.children]
    return roles == ["cond", "then"] and all(_pure(child) for child in holder.children[0].children)


def _pure(node: Node) -> bool:
    """Tell whether a condition does nothing but look."""
    if node.kind in ("statement", "pipeline"):
        return all(_pure(child) for child in node.children)
    if node.kind == "test":
        return True
    return node.kind == "command" and bool(node.words) and node.words[0].text in _TESTS and not node.redirects_out


def _elements(text: str, statement: Node, gone: set[int]) -> list[Edit]:
    children = statement.children
    out: list[Edit] = []
    for first, last in _runs([i for i, child in enumerate(children) if id(child) in gone]):
        connectors = statement.connectors[max(first - 1, 0) : last + 1]
        if any(c != "&&" for c in connectors):
            out.append(Edit(children[first].start, children[last].end, ":"))
        elif last + 1 < len(children):
            out.append(Edit(children[first].start, children[last + 1].start, ""))
        else:
            out.append(Edit(children[first - 1].end, children[last].end, ""))
    return out


def _statements(text: str, block: Node, gone: set[int]) -> list[Edit]:
    statements = block.children
    if all(id(s) in gone for s in statements):
        start, end = statements[0].start, statements[-1].tail
        if block.role == "else":
            line = text.rfind("\n", 0, block.keyword) + 1
            if not text[line : block.keyword].strip():
                tail = _LINE_TAIL.match(text, end)
                return [Edit(line, tail.end() if tail else end, "")]
            return [Edit(block.keyword, block.end, "")]
        if block.role != "root":
            tail_sign = ";" if text[end - 1 : end] == ";" else ""
            return [Edit(start, end, ":" + tail_sign)]
    return [
        _cut(text, statements, first, last)
        for first, last in _runs([i for i, s in enumerate(statements) if id(s) in gone])
    ]


def _cut(text: str, statements: Sequence[Node], first: int, last: int) -> Edit:
    start, end, tail = statements[first].start, statements[last].end, statements[last].tail
    line = text.rfind("\n", 0, start) + 1
    rest = _LINE_TAIL.match(text, tail)
    if not text[line:start].strip(" \t") and rest is not None:
        stop = rest.end()
        if not rest.group(1) and line > 0:
            cut = line - (2 if text.startswith("\r\n", line - 2) and line >= 2 else 1)
            return Edit(cut, stop, "")
        before = text.rfind("\n", 0, max(line - 1, 0)) + 1
        blank_before = line == 0 or not text[before:line].strip()
        blank = _BLANK.match(text, stop)
        if blank_before and blank is not None:
            stop = blank.end()
        return Edit(line, stop, "")
    if last + 1 < len(statements) and (first == 0 or "\n" not in text[end : statements[last + 1].start]):
        return Edit(start, statements[last + 1].start, "")
    if first > 0:
        return Edit(statements[first - 1].end, end, "")
    return Edit(start, tail, "")
