"""Template actions inside YAML: what stands in for them so that the rest can be parsed.

A line made only of actions becomes blanks; any other action becomes as many letters of a kind no file has.
The masked text has the length of the original, so that every offset of one is an offset of the other.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import field, replace

from vllm_migrate.hosts.yaml_flow import between_items
from vllm_migrate.lazy import dataclass, regex

FILLER = "\uf8ff"
ODD = {0x85: 0xA0, 0x2028: 0xA0, 0x2029: 0xA0}
"""Letters that old YAML takes for line ends and today's does not, and what stands in for them."""

_ODD = regex("[\x85\u2028\u2029]")
_OPEN = regex(r"\$?\{\{")
_COMMENT = regex(r"-?\s*/\*")
_FIELD = regex(r"(?<![{$])\{[A-Za-z_]\w*\}(?!\})")
_CLOSE = regex(r"\}\}|\{\{|\\.|\"(?:[^\"\\\n]|\\.){0,4000}\"|`[^`]{0,4000}`")
_JINJA = regex(r"\{[%#]")
_REMARK = regex(r"(?<!\$)\{#")
_WORD = regex(r"\$?\{[{%][-+~]?\s*(/\*|[A-Za-z_]\w*|\$\w*\s*:?=)?")
_CONTROL = frozenset(
    (
        "/*",
        "if",
        "else",
        "elif",
        "end",
        "range",
        "with",
        "define",
        "block",
        "break",
        "continue",
        "for",
        "endif",
        "endfor",
        "set",
        "macro",
        "endmacro",
        "extends",
        "import",
        "from",
        "raw",
        "endraw",
        "endblock",
        "filter",
        "endfilter",
        "call",
        "endcall",
    )
)
_OPENING = frozenset(("if", "range", "with", "define", "block", "for", "macro", "raw", "filter", "call"))


@dataclass(frozen=True)
class Action:
    """One action. control: it prints nothing itself. alone: its line holds nothing but actions."""

    start: int
    end: int
    control: bool
    alone: bool
    step: int = 0
    """1 for what opens a block, -1 for what closes one."""
    word: str = ""
    silent: bool = False
    """It prints nothing, and parts no word: a blank stands beside it and beside all else of its block."""


@dataclass
class Mask:
    """The masked text and the actions in order. parsed: the text for the parser, where lines that a block
    scalar takes for too deep are empty ones.
    """

    text: str
    actions: list[Action] = field(default_factory=list)
    parsed: str = ""

    def __post_init__(self) -> None:
        self.parsed = self.parsed or self.text
        self._starts = [a.start for a in self.actions]
        self._blocks = _blocks(self.actions)
        self._whole: dict[tuple[int, int], bool] = {}

    def branch(self, offset: int) -> int:
        """Return where the innermost block or branch around an offset starts, -1 outside of all.

        What a named template (`define`) holds is there whenever the template is.
        """
        at = bisect.bisect_right(self._starts, offset) - 1
        return self._blocks[at] if at >= 0 else -1

    def within(self, start: int, end: int) -> list[Action]:
        """Return the actions that touch a span."""
        if not self.actions:
            return []
        first = max(bisect.bisect_right(self._starts, start) - 1, 0)
        last = bisect.bisect_left(self._starts, end)
        return [a for a in self.actions[first:last] if a.end > start]

    def before(self, offset: int) -> list[Action]:
        """Return the last actions that end before an offset."""
        at = bisect.bisect_left(self._starts, offset)
        return [a for a in self.actions[max(at - 9, 0) : at] if a.end <= offset]

    def behind(self, offset: int) -> list[Action]:
        """Return the next actions that start behind an offset."""
        at = bisect.bisect_left(self._starts, offset)
        return self.actions[at : at + 9]

    def faults(self) -> Iterator[tuple[int, int, str]]:
        """Yield where the actions do not balance: start, end, and what is wrong there."""
        open_: list[Action] = []
        for action in self.actions:
            if action.word == "{{":
                yield action.start, action.start + 2, "a template action is opened here and not closed"
            elif action.step == 1:
                open_.append(action)
            elif action.step == -1 and not open_:
                yield action.start, action.end, "this `end` closes nothing"
            elif action.step == -1:
                open_.pop()
            elif action.word == "else" and not open_:
                yield action.start, action.end, "this `else` stands outside of any `if`"
        for action in open_:
            yield action.start, action.end, f"this `{action.word}` is never closed"

    def whole(self, start: int, end: int) -> bool:
        """Tell whether a span cuts no action and what it opens it also closes."""
        known = self._whole.get((start, end))
        if known is None:
            known = self._whole[start, end] = self._balances(start, end)
        return known

    def _balances(self, start: int, end: int) -> bool:
        depth = 0
        for action in self.within(start, end):
            if action.start < start or action.end > end:
                return False
            depth += action.step
            if depth < 0:
                return False
        return depth == 0


def _blocks(actions: list[Action]) -> list[int]:
    """Return for each action where the innermost block starts in which the text behind it lies."""
    out: list[int] = []
    stack: list[int] = []
    for action in actions:
        if action.step == 1:
            stack.append(action.start if action.word not in ("define", "block") else -1)
        elif action.step == -1 and stack:
            stack.pop()
        elif action.word in ("else", "elif") and stack:
            stack[-1] = action.start
        out.append(next((s for s in reversed(stack) if s >= 0), -1))
    return out


def mask(text: str, *, fields: bool = False) -> Mask:
    """Return the text with its actions masked; unchanged where there are none.

    fields: `{name}` is filled in too, as programs do that keep their templates in files; not where there are
    other actions.
    """
    if "{{" not in text and "{%" not in text:
        if not fields or _FIELD.search(text) is None:
            return Mask(legible(text))
        matches = [m.span() for m in _FIELD.finditer(text)]
    else:
        matches = _actions(text)
    if "{%" in text or _REMARK.search(text) is not None:
        matches += _jinja(text)
        matches.sort()
    out = list(text)
    actions: list[Action] = []
    end = 0
    kept: list[tuple[int, int]] = []
    for span in matches:
        if span[0] >= end:
            kept.append(span)
            end = span[1]
    flow = _flow(text, kept)
    blocks, shallow = _block_scalars(text)
    begins = [low for low, _ in blocks]
    at = 0
    while at < len(kept):
        # Actions whose lines touch are judged together.
        group = [kept[at]]
        while at + len(group) < len(kept) and "\n" not in text[group[-1][1] : kept[at + len(group)][0]]:
            group.append(kept[at + len(group)])
        at += len(group)
        line = text.rfind("\n", 0, group[0][0]) + 1
        stop = text.find("\n", group[-1][1])
        stop = len(text) if stop < 0 else stop
        at_block = bisect.bisect_right(begins, line) - 1
        inside = at_block >= 0 and line < blocks[at_block][1]
        _mask_lines(text, line, stop, group, out, actions, inside, flow)
    actions = _silenced(text, actions)
    masked = legible("".join(out))
    for low, high in shallow:
        if not masked[low:high].strip():
            out[low:high] = ["\n"] * (high - low)
    return Mask(masked, actions, legible("".join(out)))


def legible(text: str) -> str:
    """Return the text with stand-ins for the letters of `ODD`."""
    return text.translate(ODD) if _ODD.search(text) is not None else text


def _actions(text: str) -> list[tuple[int, int]]:
    """Return the spans of all `{{ … }}`; text in quotes inside one may hold braces."""
    found: list[tuple[int, int]] = []
    at = closed = 0
    while True:
        opening = _OPEN.search(text, at)
        if opening is None:
            return found
        inside = opening.end()
        if _COMMENT.match(text, inside):
            closed = text.find("*/", inside) if closed >= 0 else -1
            inside = max(closed, inside)
        mark = next((m for m in _CLOSE.finditer(text, inside) if m[0] in ("}}", "{{")), None)
        if mark is not None and mark[0] == "}}":
            end = mark.end()
        else:
            # An action that is not closed: what stands on its line is all that is sure of it.
            end = text.find("\n", opening.end())
            end = len(text) if end < 0 else end - (text[end - 1] == "\r")
            other = text.find("{{", opening.end(), end)
            end = other if other >= 0 else end
        found.append((opening.start(), end))
        at = end


def _jinja(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of all `{% … %}` and `{# … #}`; what is not closed is none."""
    at = 0
    ends: dict[str, int] = {}
    while (opening := _JINJA.search(text, at)) is not None:
        close = opening[0][1] + "}"
        # Once nothing closes any more, the rest is not gone through again for each that opens.
        if ends.get(close, 0) >= 0:
            ends[close] = text.find(close, opening.end())
        at = opening.end()
        if ends[close] >= 0:
            at = ends[close] + 2
            yield opening.start(), at


def _control(text: str, span: tuple[int, int]) -> tuple[bool, str]:
    """Tell whether an action prints nothing itself, and its first word."""
    if _FIELD.match(text, *span):
        return False, ""
    if text[span[1] - 2 : span[1]] not in ("}}", "%}", "#}"):
        return False, "{{"
    word = _WORD.match(text, *span)
    first = (word[1] or "") if word else ""
    return first in _CONTROL or first.endswith("=") or text.startswith("{#", span[0]), first


def _mask_lines(
    text: str,
    line: int,
    stop: int,
    group: list[tuple[int, int]],
    out: list[str],
    actions: list[Action],
    inside: bool,
    flow: set[tuple[int, int]],
) -> None:
    rest, at = "", line
    for start, end in group:
        rest += text[at:start]
        at = end
    rest += text[at:stop]
    alone = not rest.strip()
    blank: set[tuple[int, int]] = set()
    # A line of a block scalar stays one: blanks alone could be deeper than the block.
    if not inside:
        blank = set(group) if alone else flow.intersection(group) | _at_ends(text, line, stop, group)
    for span in group:
        control, first = _control(text, span)
        step = _step(first)
        actions.append(Action(*span, control, alone, step, first))
        for i in range(*span):
            if span in blank:
                out[i] = text[i] if text[i] in "\r\n" else " "
            else:
                out[i] = FILLER


def _silenced(text: str, actions: list[Action]) -> list[Action]:
    """Return the actions, those marked that a text of several words can be read without."""
    silent: set[int] = set()
    stack: list[list[int]] = []
    for number, action in enumerate(actions):
        if not action.control:
            continue
        if action.step == 1:
            stack.append([number])
        elif action.step == -1 and stack:
            block = [*stack.pop(), number]
            if all(_apart(text, actions[n]) for n in block):
                silent.update(block)
        elif action.word in ("else", "elif") and stack:
            stack[-1].append(number)
        elif action.step == 0 and _apart(text, action):
            silent.add(number)
    return [replace(a, silent=n in silent) for n, a in enumerate(actions)]


def _apart(text: str, action: Action) -> bool:
    before, after = text[max(action.start - 1, 0) : action.start], text[action.end : action.end + 1]
    return (before or "x") in " \t\r\n" or (after or "x") in " \t\r\n"


def _step(first: str) -> int:
    return 1 if first in _OPENING else -1 if first.startswith("end") else 0


def _flow(text: str, spans: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the actions between the items of flow collections."""
    kinds: dict[tuple[int, int], tuple[int, bool]] = {}
    for span in spans:
        control, first = _control(text, span)
        kinds[span] = (_step(first), control)
    if not any(control for _, control in kinds.values()):
        return set()
    return between_items(text, kinds, FILLER)


_HEADER = regex(r"(?m)[:-]\s+(?:[!&]\S{1,200}\s+)?[|>][-+0-9]*(?:\s+#.*|\s*)$")


def _block_scalars(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the spans of the lines of block scalars, as far as indentation tells.

    The second list are lines of actions among them that stand too far left to be part of the scalar.
    """
    out: list[tuple[int, int]] = []
    shallow: list[tuple[int, int]] = []
    depth: int | None = None
    waiting: list[tuple[int, int]] = []
    for match in re.finditer(r"([ ]*)([^\r\n]*)(?:\r\n|\n|\r|\Z)", text):
        if not match[0]:
            break
        shown = match[2].strip()
        if depth is not None:
            if not shown:
                continue
            if len(match[1]) > depth:
                out.append(match.span())
                shallow += waiting
                waiting = []
                continue
            if shown.startswith(("{{", "{%")) and shown.endswith(("}}", "%}")):
                waiting.append((match.start(), match.end(2)))
                continue
            depth, waiting = None, []
        if _HEADER.search(match[2]):
            depth = len(match[1])
    return out, shallow


def _at_ends(text: str, line: int, stop: int, group: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the control actions at the start or the end of a line that holds other text.

    Of a block that the line holds all of, each action must be one of them: else it is part of the text.
    """
    blank: set[tuple[int, int]] = set()
    at = line
    for span in group:
        if text[at : span[0]].strip() or not _control(text, span)[0]:
            break
        blank.add(span)
        at = span[1]
    at = stop
    for span in reversed(group):
        if text[span[1] : at].strip() or not _control(text, span)[0]:
            break
        blank.add(span)
        at = span[0]
    stack: list[list[tuple[int, int]]] = []
    for span in group:
        control, first = _control(text, span)
        step = _step(first)
        if step == 1:
            stack.append([span])
        elif stack and control and (step == -1 or first in ("else", "elif")):
            stack[-1].append(span)
            if step == -1 and not blank.issuperset(block := stack.pop()):
                blank.difference_update(block)
    return blank
