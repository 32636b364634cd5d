"""Launches that a template's actions put together word by word: `$args = append $args "--x"`, `printf "… --x %d"`.

Nothing inside an action is ever rewritten; an action whose words all go may go, with the block around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from vllm_migrate.hosts import Context
from vllm_migrate.hosts import yaml_names as names
from vllm_migrate.hosts.helm_chart import chart_mentions_vllm
from vllm_migrate.hosts.helm_expr import Made, assignment, variables_of, words_of
from vllm_migrate.hosts.yaml_blocks import widened
from vllm_migrate.hosts.yaml_mask import Action, Mask
from vllm_migrate.launch import find_launch
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import CannotRender, Change, Reading, Remove, Site, Word
from vllm_migrate.text import Edit, Region, Span, line_end, line_start, next_line

_OPTION = regex(r"--[A-Za-z]")
_BUILDS = regex(r"\b(?:append|prepend|list|printf|concat|mustAppend)\b")
_JOINTS = frozenset(("&&", "||", ";", "|", "&"))
_PRINT = regex(r"\{\{-?\s*(?!\s)(.*?)-?\}\}", re.S)


@dataclass
class _Action:
    """One action that makes words. adds: it only adds to what its variable holds."""

    place: Action
    adds: bool
    words: list[Word] = field(default_factory=list)


@dataclass(eq=False)
class ActionHome:
    """The actions of a template that make words; see model.Container."""

    region: Region
    mask: Mask
    host: str = "helm"
    held: dict[int, _Action] = field(default_factory=dict)

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        gone: set[int] = set()
        touched: dict[int, _Action] = {}
        for change in changes:
            if not isinstance(change, Remove):
                raise CannotRender("inside a template action")
            gone.add(id(change.item))
            action = self.held[id(change.item)]
            touched[action.place.start] = action
        for action in touched.values():
            if not action.adds or any(id(w) not in gone for w in action.words):
                raise CannotRender("the template action says more than what goes")
        return [self._mapped(edit) for edit in self._cuts([touched[at].place for at in sorted(touched)])]

    def _cuts(self, places: Sequence[Action]) -> Iterator[Edit]:
        text = self.region.text
        runs: list[list[int]] = []
        for place in places:
            low, high = line_start(text, place.start), next_line(text, place.end)
            if text[low : place.start].strip() or text[place.end : line_end(text, place.end)].strip():
                yield Edit(place.start, place.end, "")
            elif runs and not text[runs[-1][1] : low].strip():
                runs[-1][1] = high
            else:
                runs.append([low, high])
        for low, high in runs:
            start, end = widened(text, self.mask, low, high)
            yield Edit(start, end, "")

    def _mapped(self, edit: Edit) -> Edit:
        if not self.mask.whole(edit.start, edit.end):
            raise CannotRender("the edit would touch a template action")
        up = self.region.edit(edit.start, edit.end, edit.text)
        if up is None:
            raise CannotRender("the text cannot be written at this place")
        return up


@dataclass
class _Scope:
    """The variables of one named template, or of a whole file, and what became of them."""

    known: dict[str, list[Made]] = field(default_factory=dict)
    done: list[list[Made]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


def read_built(region: Region, mask: Mask, context: Context, bodies: Sequence[tuple[str, int, int]]) -> Reading:
    """Return the launches that actions put together. bodies: name, start and end of each part read by itself."""
    out = Reading()
    if not _BUILDS.search(region.text) or not chart_mentions_vllm(context):
        return out
    home = ActionHome(region, mask)
    for name, start, end in bodies:
        if not names.other_program(name):
            _body(region, mask, home, mask.within(start, end), out)
    return out


def _body(region: Region, mask: Mask, home: ActionHome, actions: Sequence[Action], out: Reading) -> None:
    text = region.text
    scope, makers = _Scope(), dict[Span, Action]()
    adding: set[int] = set()
    for action in actions:
        raw = text[action.start : action.end]
        if not action.word.endswith("=") and (action.control or not action.alone):
            continue
        found = assignment(raw)
        if found is not None:
            variable, at, expression = found
            used = variables_of(expression)
            made = words_of(expression, action.start + at, scope.known)
            scope.used |= used - {variable}
            if variable in used:
                adding.add(action.start)
            elif variable in scope.known:
                scope.done.append(scope.known.pop(variable))
            if made is None:
                scope.known.pop(variable, None)
            else:
                scope.known[variable] = made
        else:
            shown = _PRINT.fullmatch(raw)
            made = words_of(shown[1].rstrip(), action.start + shown.start(1), {}) if shown is not None else None
            scope.done += [made] if made is not None else []
        for word in made or ():
            makers.setdefault(word.span, action)
    scope.done += [words for variable, words in scope.known.items() if variable not in scope.used]
    for words in scope.done:
        launch = _launched(words)
        if launch:
            _site(region, mask, home, launch, makers, adding, out)


def _launched(words: Sequence[Made]) -> list[Made]:
    """Return the words of the one command among them that gives options, [] where none does."""
    commands: list[list[Made]] = [[]]
    for word in words:
        if word.text in _JOINTS:
            commands.append([])
        else:
            commands[-1].append(word)
    started = [c for c in commands if find_launch([w.text for w in c]) is not None]
    if started:
        return started[0]
    return commands[0] if len(commands) == 1 and any(_OPTION.match(w.text) for w in words) else []


def _site(
    region: Region,
    mask: Mask,
    home: ActionHome,
    words: Sequence[Made],
    makers: dict[Span, Action],
    adding: set[int],
    out: Reading,
) -> None:
    held: list[Word] = []
    for made in words:
        word = Word(region, made.span, home, text=made.text, holes=made.holes, splits=made.splits)
        action = makers[made.span]
        word.branch = mask.branch(action.start)
        same = home.held.get(action.start) or _Action(action, action.start in adding)
        home.held[action.start] = same
        same.words.append(word)
        home.held[id(word)] = same
        held.append(word)
    first = min(w.span.start for w in held)
    last = max(w.span.end for w in held)
    site = Site("values", "helm", region, Span(first, max(last, first)), held)
    texts = [w.text for w in held]
    launch = find_launch(texts)
    if launch is not None:
        site.entry_point, site.words = launch.entry_point, launch.passed(held, texts)
        launch.mark(site)
    site.hollow, site.open = launch is None, True
    site.owner = f"helm:{first}"
    out.sites.append(site)
