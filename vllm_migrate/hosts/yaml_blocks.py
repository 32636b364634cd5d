"""Blocks of template actions around text that goes: the whole block goes, never half of it."""

from __future__ import annotations

import re

from vllm_migrate.hosts.yaml_mask import Mask
from vllm_migrate.hosts.yaml_tree import Node, Use
from vllm_migrate.model import CannotRender
from vllm_migrate.text import line_start, next_line

ELSE = ("else", "elif")


def quiet(text: str, mask: Mask, start: int, end: int) -> bool:
    """Tell whether only blanks and comments stand between two places, between which no other actions are."""
    at, rest = start, ""
    for action in mask.within(start, end):
        rest, at = rest + text[at : action.start], action.end
    rest += text[at:end]
    return not re.sub(r"(?m)^[ \t]*#[^\r\n]*", "", rest).strip()


def branches(text: str, mask: Mask, start: int, end: int) -> bool:
    """Tell whether nothing but `else` stands between two places: both branches go."""
    actions = [a for a in mask.within(start, end) if a.word != "/*"] if mask.actions else []
    if len(actions) != 1 or actions[0].word not in ELSE or not actions[0].alone:
        return False
    return quiet(text, mask, start, actions[0].start) and quiet(text, mask, actions[0].end, end)


def widened(text: str, mask: Mask, start: int, end: int) -> tuple[int, int]:
    """Take in the lines of a template's `if` and `end` that nothing is left between.

    Raises CannotRender where nothing would be left of one branch of several.
    """
    while start > 0 and mask.actions:
        above = next((a for a in reversed(mask.before(start)) if a.word != "/*"), None)
        below = next((a for a in mask.behind(end) if a.word != "/*"), None)
        if above is None or below is None or not (above.alone and below.alone):
            break
        if not (quiet(text, mask, above.end, start) and quiet(text, mask, end, below.start)):
            break
        first, last = above.word, below.word
        if last in ELSE and (above.step == 1 or first in ELSE):
            raise CannotRender("it is all of one branch of a template action that has others: decide by hand")
        if below.step != -1 or not (above.step == 1 or first in ELSE):
            break
        # The last branch of several may go alone.
        low = line_start(text, above.start)
        high = next_line(text, below.end) if above.step == 1 else line_start(text, below.start)
        if not mask.whole(low, high):
            break
        start, end = low, high
        if above.step != 1:
            break
    return start, end


def narrowed(mask: Mask, start: int, end: int) -> tuple[int, int]:
    """Take in the `if` and `end` right beside a part of a line that is all of their block.

    Raises CannotRender where nothing would be left of one branch of several.
    """
    while True:
        above = next((a for a in reversed(mask.before(start)) if a.end == start and a.control), None)
        below = next((a for a in mask.behind(end) if a.start == end and a.control), None)
        if above is None or below is None:
            return start, end
        if above.word in ELSE or below.word in ELSE:
            raise CannotRender("it is all of one branch of a template action that has others: decide by hand")
        if above.step != 1 or below.step != -1:
            return start, end
        start, end = above.start, below.end


def prints_items(text: str, mask: Mask, node: Node, end: int) -> bool:
    """Tell whether an action prints items or keys of a block collection, beside those that stand there.

    end: where the document ends that holds it.
    """
    use = node.uses[0] if node.uses else None
    if use is None or use.holder is None or use.holder.kind != "mapping":
        return False
    key = use.holder.pairs[use.index].key
    column = key.start - line_start(text, key.start)
    dash = node.body - line_start(text, node.body)
    for action in mask.within(key.end, _next_start(use, end)):
        if not action.alone or action.control or action.start < key.end:
            continue
        raw = text[action.start : action.end]
        indent = re.search(r"n?indent\s+(\d+)", raw)
        depth = int(indent[1]) if indent is not None else action.start - line_start(text, action.start)
        if depth > column or (depth == column == dash and node.kind == "sequence"):
            return True
    return False


def _next_start(use: Use, end: int) -> int:
    """Return where the next item or key behind a place starts."""
    here: Use | None = use
    while here is not None and here.holder is not None:
        holder = here.holder
        if here.index + 1 < len(holder.children):
            after = here.index + 1
            return holder.pairs[after].start if holder.kind == "mapping" else holder.items[after].start
        here = holder.uses[0] if holder.uses else None
    return end
