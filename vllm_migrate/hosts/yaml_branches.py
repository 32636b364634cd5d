"""List items that are all one template action with branches: `- {{ if … }}--a{{ else }}--b{{ end }}`."""

from __future__ import annotations

from vllm_migrate.hosts.yaml_mask import Action, Mask
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import HOLE
from vllm_migrate.text import Span


@dataclass(frozen=True)
class Branch:
    """What an item prints in one case. text: with a letter for each action that prints; holes: their spellings."""

    span: Span
    text: str
    holes: tuple[str, ...]
    start: int
    """Where the action stands that opens the branch."""


def branches_of(text: str, mask: Mask, span: Span) -> list[Branch]:
    """Return what an item may print, [] for one that is more or less than one block of a template."""
    actions = mask.within(span.start, span.end)
    if len(actions) < 2 or actions[0].start != span.start or actions[-1].end != span.end:
        return []
    out: list[Branch] = []
    depth, opening = 0, actions[0]
    held: list[int] = []
    for number, action in enumerate(actions):
        depth += action.step
        if depth > 1 or (depth == 0 and number + 1 < len(actions)):
            return []
        if not action.control:
            held.append(number)
        elif number:
            inside = Span(opening.end, action.start)
            if inside.start < inside.end:
                out.append(_branch(text, inside, [actions[n] for n in held], opening.start))
            opening, held = action, []
    if depth or actions[0].word not in ("if", "with"):
        return []
    return [b for b in out if b.text.strip()]


def _branch(text: str, inside: Span, printing: list[Action], opening: int) -> Branch:
    shown, at = "", inside.start
    holes: list[str] = []
    for action in printing:
        shown += text[at : action.start] + chr(ord(HOLE) + len(holes))
        holes.append(text[action.start : action.end])
        at = action.end
    shown += text[at : inside.end]
    return Branch(inside, shown, tuple(holes), opening)
