"""Renders changes as edits and proves them: the edited text must read exactly as planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from vllm_migrate.carried import Carrier, carrying, resolved
from vllm_migrate.model import (
    CannotRender,
    Change,
    Container,
    InsertEntry,
    InsertText,
    InsertVariable,
    InsertWords,
    Item,
    Reading,
    Remove,
    Rename,
    Replace,
    Site,
    container_of,
    is_hole,
)
from vllm_migrate.text import Edit, OverlapError, Source, Span, spans_after


class NotProved(Exception):
    """The edited text does not read as planned; the message says what differs."""


def unique(changes: Iterable[Change]) -> list[Change]:
    """Return the changes without repetitions: launches that share text ask for the same thing."""
    seen: set[tuple[Any, ...]] = set()
    out: list[Change] = []
    for change in changes:
        key = signature(change)
        if key not in seen:
            seen.add(key)
            out.append(change)
    return out


def signature(change: Change) -> tuple[Any, ...]:
    """Return what makes two changes the same."""
    if isinstance(change, Remove):
        return ("remove", id(change.item))
    if isinstance(change, Replace):
        return ("replace", id(change.item), repr(change.value))
    if isinstance(change, Rename):
        return ("rename", id(change.item), change.name)
    if isinstance(change, InsertWords):
        return ("words", id(change.container), tuple(change.words), id(change.after), id(change.before))
    if isinstance(change, InsertEntry):
        return ("entry", id(change.container), change.key, repr(change.value))
    if isinstance(change, InsertVariable):
        return ("variable", id(change.container), change.name, change.value)
    return ("text", id(change.item), change.kind, change.text)


def item_of(change: Change) -> Item | None:
    """Return the item a change edits; None for an insertion."""
    return change.item if isinstance(change, (Remove, Replace, Rename)) else None


def render(changes: Sequence[Change]) -> list[Edit]:
    """Return the edits of all changes of one file. Raises CannotRender."""
    groups: dict[int, tuple[Container, list[Change]]] = {}
    for change in unique(resolved(unique(changes))):
        container = container_of(change)
        groups.setdefault(id(container), (container, []))[1].append(change)
    edits: list[Edit] = []
    for container, mine in groups.values():
        edits += container.edits(mine)
    return edits


def prove(
    source: Source,
    before: Reading,
    changes: Sequence[Change],
    read: Callable[[Source], Reading],
    verify: Callable[[Source, Sequence[Span]], str | None] | None,
) -> tuple[Source, Reading]:
    """Return the edited source and its reading.

    Raises CannotRender or NotProved where the changes cannot be written or do not read as planned.
    """
    try:
        edits = render(changes)
        after = source.with_edits(edits)
    except OverlapError as error:
        raise CannotRender(str(error)) from None
    if after.text == source.text:
        raise NotProved("the changes change nothing")
    reading = read(after)
    for kind in ("syntax", "doubt"):
        old = Counter(p.message for p in before.problems if p.kind == kind)
        new = Counter(p.message for p in reading.problems if p.kind == kind)
        if sum(new.values()) > sum(old.values()):
            raise NotProved(f"the edited text would not parse: {next(iter(new - old), 'syntax error')}")
    if verify is not None:
        message = verify(after, spans_after(edits))
        if message:
            raise NotProved(f"the edited text would not parse: {message}")
    planned = unique(changes)
    _compare(before, reading, unique([*planned, *resolved(planned)]))
    return after, reading


def _pinned(before: Reading, replaced: dict[int, Replace]) -> frozenset[str]:
    """Return the names of variables whose text a replaced pin is part of."""
    places = [p.place for p in before.pins if id(p) in replaced]
    variables = [v for s in before.sites for v in s.variables] + before.variables
    return frozenset(v.name for v in variables if any(v.place.touches(p) for p in places)) if places else frozenset()


def _plain(text: str) -> str:
    return "".join("\ue000" if is_hole(c) else c for c in text)


def _compare(before: Reading, after: Reading, changes: Sequence[Change]) -> None:
    removed = {id(c.item) for c in changes if isinstance(c, Remove)}
    replaced = {id(c.item): c for c in changes if isinstance(c, Replace)}
    renamed = {id(c.item): c.name for c in changes if isinstance(c, Rename)}
    beside: dict[int, list[InsertWords]] = {}
    for change in changes:
        if isinstance(change, InsertWords):
            for word in {id(change.before): change.before, id(change.after): change.after}.values():
                beside.setdefault(id(word), []).append(change)
    loose = [c for c in changes if isinstance(c, InsertWords) and c.before is None and c.after is None]
    entries = [c for c in changes if isinstance(c, InsertEntry)]
    variables = [c for c in changes if isinstance(c, InsertVariable)]
    # A variable may be a pin at the same time (`CC=gcc-11`): the pins are compared for it.
    pinned = _pinned(before, replaced)
    for old, new in _matched(before.sites, after.sites, removed, changes):
        if old.entry_point != new.entry_point:
            raise NotProved("a launch would start another program")
        wanted = _words(old, removed, replaced, beside, loose)
        got = [_plain(w.text) for w in new.words]
        if wanted != got:
            raise NotProved(f"the command line would read {_first(wanted, got)}")
        _same(_entries(old, removed, replaced, renamed, entries), _entries(new, set(), {}, {}, ()), "arguments")
        _same(
            _variables(old.variables, removed, replaced, renamed, _added(old, variables), pinned),
            _variables(new.variables, set(), {}, {}, (), pinned),
            "environment",
        )
    added = [c for c in changes if isinstance(c, InsertText)]
    _pins(before, after, removed, replaced, bool(added))
    _mentions(before, after, removed, replaced)
    _same(
        _variables(before.variables, removed, replaced, renamed, (), pinned),
        _variables(after.variables, set(), {}, {}, (), pinned),
        "environment",
        extra=True,
    )


def _matched(
    before: Sequence[Site], after: Sequence[Site], removed: set[int], changes: Sequence[Change]
) -> list[tuple[Site, Site]]:
    """Return old and new sites side by side; one that is made of arguments that all went may be gone."""
    out: list[tuple[Site, Site]] = []
    going = len(before) - len(after)
    for site in before:
        here = after[len(out)] if len(out) < len(after) else None
        if going > 0 and _emptied(site, removed, changes) and (here is None or here.words or here.entries):
            going -= 1
        elif here is not None:
            out.append((site, here))
    if going or len(out) != len(after):
        raise NotProved(f"the edited text has {len(after)} launches instead of {len(after) + going}")
    return out


def _emptied(site: Site, removed: set[int], changes: Sequence[Change]) -> bool:
    """Tell whether a site that is made of its arguments loses all of them, and nothing else of it changes."""
    arguments = [*site.words, *site.entries]
    homes = {id(i.container) for i in arguments} | {id(site.word_home), id(site.entry_home)}
    inserts = [c for c in changes if isinstance(c, (InsertWords, InsertEntry))]
    if not site.hollow or any(id(c.container) in homes for c in inserts):
        return False
    kept = {id(v) for v in site.variables} - carrying(site.entries)
    touched = any(id(item_of(c)) in kept for c in changes)
    return not touched and all(id(i) in removed for i in arguments)


def _words(
    site: Site,
    removed: set[int],
    replaced: dict[int, Replace],
    beside: Mapping[int, Sequence[InsertWords]],
    loose: Sequence[InsertWords],
) -> list[str]:
    out: list[str] = []
    for word in site.words:
        inserts = beside.get(id(word), ())
        for change in inserts:
            if change.before is word:
                out += [_plain(t) for t in change.words]
        if id(word) not in removed:
            change_ = replaced.get(id(word))
            out.append(_plain(change_.value if change_ is not None else word.text))
        for change in inserts:
            if change.after is word:
                out += [_plain(t) for t in change.words]
    for change in loose:
        if change.container is site.word_home:
            out += [_plain(t) for t in change.words]
    return out


def _first(wanted: Sequence[str], got: Sequence[str]) -> str:
    for a, b in zip(wanted, got, strict=False):
        if a != b:
            return f"{b!r} instead of {a!r}"
    return f"{len(got)} words instead of {len(wanted)}"


def _entries(
    site: Site,
    removed: set[int],
    replaced: dict[int, Replace],
    renamed: dict[int, str],
    inserts: Sequence[InsertEntry],
) -> Counter[tuple[str, str]]:
    out: Counter[tuple[str, str]] = Counter()
    for entry in site.entries:
        if id(entry) in removed:
            continue
        value = replaced[id(entry)].value if id(entry) in replaced else entry.value
        out[(_key(entry.container, renamed.get(id(entry), entry.key)), _canonical(value))] += 1
    homes = {id(e.container) for e in site.entries} | {id(site.entry_home)}
    for change in inserts:
        if id(change.container) in homes:
            out[(_key(change.container, change.key), _canonical(change.value))] += 1
    return out


def _key(container: Container, key: str) -> str:
    return container.same_key(key) if isinstance(container, Carrier) else key


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: repr(member[0]))
        return "{" + ",".join(f"{k!r}:{_canonical(v)}" for k, v in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_canonical(v) for v in value) + "]"
    if isinstance(value, str):
        return repr(_plain(value))
    return repr(value)


def _added(site: Site, inserts: Sequence[InsertVariable]) -> list[InsertVariable]:
    """Return the variables added where this site sees them: beside one it sees, else where its own go."""
    homes = {id(v.container) for v in site.variables} | {id(site.variable_home)}
    seen = {id(v) for v in site.variables}
    return [c for c in inserts if (id(c.container) in homes if c.after is None else id(c.after) in seen)]


def _variables(
    variables: Sequence[Any],
    removed: set[int],
    replaced: dict[int, Replace],
    renamed: dict[int, str],
    added: Sequence[InsertVariable],
    passed: frozenset[str] = frozenset(),
) -> Counter[tuple[str, str]]:
    out: Counter[tuple[str, str]] = Counter()
    for variable in variables:
        if id(variable) in removed or variable.name in passed:
            continue
        value = replaced[id(variable)].value if id(variable) in replaced else variable.value
        out[(renamed.get(id(variable), variable.name), _plain(value) if value is not None else "")] += 1
    for change in added:
        out[(change.name, _plain(change.value))] += 1
    return out


def _same(wanted: Counter[tuple[str, str]], got: Counter[tuple[str, str]], what: str, *, extra: bool = False) -> None:
    lost = wanted - got
    more = Counter() if extra else got - wanted
    if lost or more:
        name = next(iter(lost or more))[0]
        raise NotProved(f"the {what} would differ at {name}")


def _pins(
    before: Reading, after: Reading, removed: set[int], replaced: dict[int, Replace], added: bool
) -> None:
    # A text that several references are made of (an ARG) changes in all of them.
    texts = {p.place: replaced[id(p)].value for p in before.pins if id(p) in replaced}
    kept = [p for p in before.pins if id(p) not in removed]
    wanted = Counter((p.kind, p.prefix + _plain(texts.get(p.place, p.text)) + p.suffix) for p in kept)
    got = Counter((p.kind, p.prefix + _plain(p.text) + p.suffix) for p in after.pins)
    if wanted == got or (added and not wanted - got):
        return
    # A changed text may be part of another pin's prefix too: compare the parts alone.
    loose = Counter((p.kind, _plain(texts.get(p.place, p.text))) for p in kept)
    found = Counter((p.kind, _plain(p.text)) for p in after.pins)
    if loose - found or (not added and found - loose):
        name = next(iter((loose - found) or (found - loose)))
        raise NotProved(f"the pins would differ at {name[1]}")


def _mentions(before: Reading, after: Reading, removed: set[int], replaced: dict[int, Replace]) -> None:
    touched = [m for m in before.mentions if id(m) in replaced or id(m) in removed]
    if not touched:
        return
    names = {m.name for m in after.mentions}
    for mention in touched:
        change = replaced.get(id(mention))
        if change is not None and change.value not in names and mention.name in names:
            raise NotProved(f"{mention.name} would still be there")
