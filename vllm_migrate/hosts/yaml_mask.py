"""Template actions inside YAML: what stands in for them so that the rest can be parsed.

A line made only of actions becomes blanks; any other action becomes as many letters of a kind no file has.
The masked text has the length of the original, so that every offset of one is an offset of the other.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field

FILLER = "\uf8ff"
ODD = {0x85: 0xA0, 0x2028: 0xA0, 0x2029: 0xA0}
"""Letters that old YAML takes for line ends and today's does not, and what stands in for them."""

_ACTION = re.compile(
    r"\$?\{\{-?\s*/\*.*?\*/\s*-?\}\}"
    r"|\$?\{\{(?:\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`|[^}\"`]|\}(?!\})|[\"`])*?\}\}",
    re.S,
)
_JINJA = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.S)
_WORD = re.compile(r"\$?\{[{%][-+~]?\s*(/\*|[A-Za-z_]\w*|\$\w*\s*:?=)?")
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


@dataclass
class Mask:
    """The masked text and the actions in order."""

    text: str
    actions: list[Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [a.start for a in self.actions]

    def within(self, start: int, end: int) -> list[Action]:
        """Return the actions that touch a span."""
        if not self.actions:
            return []
        first = max(bisect.bisect_right(self._starts, start) - 1, 0)
        last = bisect.bisect_left(self._starts, end)
        return [a for a in self.actions[first:last] if a.end > start]

    def whole(self, start: int, end: int) -> bool:
        """Tell whether a span cuts no action and what it opens it also closes."""
        depth = 0
        for action in self.within(start, end):
            if action.start < start or action.end > end:
                return False
            depth += action.step
            if depth < 0:
                return False
        return depth == 0


def mask(text: str) -> Mask:
    """Return the text with its actions masked; unchanged where there are none."""
    if "{{" not in text and "{%" not in text:
        return Mask(text.translate(ODD))
    matches = list(_ACTION.finditer(text))
    if "{%" in text:
        matches += _JINJA.finditer(text)
        matches.sort(key=lambda m: m.start())
    out = list(text)
    actions: list[Action] = []
    end = 0
    kept: list[re.Match[str]] = []
    for match in matches:
        if match.start() >= end:
            kept.append(match)
            end = match.end()
    blocks = _block_scalars(text)
    at = 0
    while at < len(kept):
        # Actions whose lines touch are judged together.
        group = [kept[at]]
        while at + len(group) < len(kept) and "\n" not in text[group[-1].end() : kept[at + len(group)].start()]:
            group.append(kept[at + len(group)])
        at += len(group)
        line = text.rfind("\n", 0, group[0].start()) + 1
        stop = text.find("\n", group[-1].end())
        stop = len(text) if stop < 0 else stop
        inside = any(low <= line < high for low, high in blocks)
        _mask_lines(text, line, stop, group, out, actions, inside)
    return Mask("".join(out).translate(ODD), actions)


def _mask_lines(
    text: str,
    line: int,
    stop: int,
    group: list[re.Match[str]],
    out: list[str],
    actions: list[Action],
    inside: bool,
) -> None:
    rest, at = "", line
    for match in group:
        rest += text[at : match.start()]
        at = match.end()
    rest += text[at:stop]
    alone = not rest.strip()
    if inside:
        # A line of a block scalar stays one: blanks alone could be deeper than the block.
        blank: set[int] = set()
    else:
        blank = {id(m) for m in group} if alone else _at_ends(text, line, stop, group)
    for match in group:
        word = _WORD.match(match[0])
        first = (word[1] or "") if word else ""
        control = first in _CONTROL or first.endswith("=") or match[0].startswith("{#")
        step = 1 if first in _OPENING else -1 if first.startswith("end") else 0
        actions.append(Action(match.start(), match.end(), control, alone, step))
        spaces = id(match) in blank
        for i in range(match.start(), match.end()):
            if spaces:
                out[i] = text[i] if text[i] in "\r\n" else " "
            else:
                out[i] = FILLER


def _block_scalars(text: str) -> list[tuple[int, int]]:
    """Return the spans of the lines that lie in block scalars, as far as indentation tells."""
    out: list[tuple[int, int]] = []
    depth: int | None = None
    start = end = 0
    for match in re.finditer(r"([ ]*)([^\r\n]*)(?:\r\n|\n|\r|\Z)", text):
        if not match[0]:
            break
        if depth is not None:
            if not match[2].strip():
                continue
            if len(match[1]) > depth:
                end = match.end()
                continue
            if _ACTION.fullmatch(match[2].strip()):
                continue
            out.append((start, end))
            depth = None
        if _HEADER.search(match[2]):
            depth, start, end = len(match[1]), match.end(), match.end()
    if depth is not None:
        out.append((start, end))
    return out


_HEADER = re.compile(r"(?:[:-]\s+|[:-]\s+[!&]\S+\s+)[|>][-+0-9]*\s*(?:\s#.*)?$")


def _at_ends(text: str, line: int, stop: int, group: list[re.Match[str]]) -> set[int]:
    """Return the control actions at the start or the end of a line that holds other text."""
    blank: set[int] = set()

    def control(match: re.Match[str]) -> bool:
        word = _WORD.match(match[0])
        return word is not None and ((word[1] or "") in _CONTROL or match[0].startswith("{#"))

    at = line
    for match in group:
        if text[at : match.start()].strip() or not control(match):
            break
        blank.add(id(match))
        at = match.end()
    at = stop
    for match in reversed(group):
        if text[match.end() : at].strip() or not control(match):
            break
        blank.add(id(match))
        at = match.start()
    return blank
