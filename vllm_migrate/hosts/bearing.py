"""Tells which pieces of a long text have a bearing on a launch.

Most of a long file has nothing to do with the launch in it, and reading closely takes its time. A host cuts
the text where one thing certainly ends and the next begins (statements, documents, build steps). A piece
bears on a launch when it holds a word of the data's trigger list or one the host looks for, or when
it shares a name with a piece that does: it makes what the other uses, or uses what the other makes.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, overload

from vllm_migrate import wrappers
from vllm_migrate.lazy import regex
from vllm_migrate.speaks import Names
from vllm_migrate.text import Region, Span

LONG = 1_500
"""Letters of a text below which nothing is gained by looking at its pieces first."""
_MANY = 20_000
"""Pieces of a text, of which the names are no longer all held at once."""
_SOME = 20
"""Names that are looked for one by one; of more of them the names in all pieces are listed instead."""
_HOPS = 2
"""How often those that use what was reached are taken in."""
_WORD = regex(r"[^\W\d]\w*")
_BLACK = regex(r"[^\r\n]+")


_names: Callable[[], frozenset[str]] = frozenset


def look_for(names: Callable[[], frozenset[str]]) -> None:
    """Say which names in programs the data knows something of: a piece that holds one has a bearing.

    names: asked only when a long program is read.
    """
    global _names
    _names = names


def looked_for() -> frozenset[str]:
    """Return the names that `look_for` was told of."""
    return _names()


class Telling(NamedTuple):
    """A pattern that is looked for in the lines that hold one of some words: a match always does, on its first line."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]

    def places(self, text: str) -> Iterator[int]:
        """Yield where the pattern is found, line after line for one word, then for the next."""
        for word in self.words:
            at = text.find(word)
            while at >= 0:
                start = text.rfind("\n", 0, at) + 1
                end = text.find("\n", at) + 1 or len(text)
                found = self.pattern.search(text, start, end)
                if found is not None:
                    yield found.start()
                at = text.find(word, end)


def marks(text: str, seeds: Names | None, also: Telling | None = None) -> list[int]:
    """Return where in a text something stands that makes a piece count by itself, in order.

    Args: as those of `bearing`; words of the data's trigger list count always.
    """
    found: list[int] = []
    for trigger in wrappers.spoken():
        at = text.find(trigger)
        while at >= 0:
            found.append(at)
            at = text.find(trigger, at + 1)
    if seeds is not None:
        found += seeds.places(text)
    if also is not None:
        found += also.places(text)
    found.sort()
    return found


def bearing(
    text: str,
    spans: Sequence[tuple[int, int]],
    seeds: Names | None,
    makes: Callable[[int, str], Collection[str]],
    also: Telling | None = None,
    term: re.Pattern[str] = _WORD,
) -> list[bool]:
    """Return for each piece of a text whether it has a bearing on a launch.

    Args: spans: of the pieces, in order; what lies between two belongs to neither. seeds: names that make a
    piece count by themselves. makes: the names that a piece (its number, its text) gives a value to. also:
    found in a piece that counts by itself. term: what counts as one name.
    """
    kept = _holding(spans, marks(text, seeds, also))
    if all(kept) or not any(kept):
        return kept
    if len(spans) > _MANY:
        return _linked(text, spans, kept, makes, term)
    made = [set().union(*map(term.findall, makes(i, text[a:b]))) for i, (a, b) in enumerate(spans)]
    makers: dict[str, list[int]] = {}
    for i, own in enumerate(made):
        for name in own:
            makers.setdefault(name, []).append(i)
    known: dict[int, set[str]] = {}

    def words(i: int) -> set[str]:
        if i not in known:
            known[i] = makers.keys() & term.findall(text[slice(*spans[i])])
        return known[i]

    reached = bears = _makers({i for i, here in enumerate(kept) if here}, words, makers)
    for _ in range(_HOPS):
        names = {name for i in reached for name in made[i]}
        fresh = {i for i in _naming(text, spans, names) if i not in bears and not names.isdisjoint(words(i))}
        # What uses something is judged by what it makes of it, not by who else uses the user.
        reached = _makers(fresh, words, makers) - bears
        bears = bears | reached
    return [i in bears for i in range(len(spans))]


def _naming(text: str, spans: Sequence[tuple[int, int]], names: Collection[str]) -> Iterable[int]:
    """Return the pieces that may hold one of some names, all of them where the names are many."""
    if len(names) > _SOME:
        return range(len(spans))
    starts = [start for start, _ in spans]
    found: set[int] = set()
    for name in names:
        at = text.find(name)
        while at >= 0:
            i = bisect_right(starts, at) - 1
            found.add(max(i, 0))
            # One of a piece is enough.
            at = text.find(name, max(at + 1, starts[i + 1] if i + 1 < len(starts) else len(text)))
    return found


def _holding(spans: Sequence[tuple[int, int]], places: Sequence[int]) -> list[bool]:
    """Return for each span whether one of the places lies in it. places: in order."""
    return [holds(places, start, end) for start, end in spans]


def holds(places: Sequence[int], start: int, end: int) -> bool:
    """Tell whether one of some places lies between two offsets. places: in order."""
    at = bisect_left(places, start)
    return at < len(places) and places[at] < end


def _linked(
    text: str,
    spans: Sequence[tuple[int, int]],
    kept: list[bool],
    makes: Callable[[int, str], Collection[str]],
    term: re.Pattern[str],
) -> list[bool]:
    """Return the pieces and those that share a name with one; of a million pieces no names are remembered."""
    made: set[str] = set()
    used: set[str] = set()
    for i, (start, end) in enumerate(spans):
        if kept[i]:
            part = text[start:end]
            made.update(word for name in makes(i, part) for word in term.findall(name))
            used.update(term.findall(part))
    return [
        kept[i]
        or not made.isdisjoint(term.findall(text[start:end]))
        or not used.isdisjoint(word for name in makes(i, text[start:end]) for word in term.findall(name))
        for i, (start, end) in enumerate(spans)
    ]


def _makers(start: set[int], words: Callable[[int], set[str]], makers: dict[str, list[int]]) -> set[int]:
    """Return the pieces and all that give their names a value, at any remove."""
    found = set(start)
    waiting = list(start)
    names: set[str] = set()
    while waiting:
        for name in words(waiting.pop()) - names:
            names.add(name)
            fresh = set(makers[name]) - found
            found |= fresh
            waiting += fresh
    return found


def quiet_parts(name: str, region: Region, find: Callable[[str], list[Span]]) -> list[Span]:
    """Return the parts of a region's text that have no bearing on a launch, in order.

    Of a file they are found once: what no edit touches stays without a bearing when others are edited.

    Args: name: of the format. find: looks for them in a text.
    """
    if region.parent is not None:
        return find(region.text) if len(region.text) >= LONG else []
    known = region.source.quiet
    if name not in known:
        known[name] = find(region.text) if len(region.text) >= LONG else []
    return known[name]


class Pieces(Sequence[tuple[int, int]]):
    """Pieces of a text, each of which ends where the next begins. bounds: where they begin, then the text's end."""

    def __init__(self, bounds: Sequence[int]) -> None:
        self._bounds = array("I", bounds)

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, i: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, i: slice) -> list[tuple[int, int]]: ...
    def __getitem__(self, i: int | slice) -> tuple[int, int] | list[tuple[int, int]]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self._bounds[i], self._bounds[i + 1]


def joined(spans: Iterable[tuple[int, int]], kept: Sequence[bool]) -> list[Span]:
    """Return the pieces that are not kept, those that follow one another as one."""
    out: list[Span] = []
    for (start, end), here in zip(spans, kept, strict=True):
        if here or start == end:
            continue
        if out and out[-1].end == start:
            out[-1] = Span(out[-1].start, end)
        else:
            out.append(Span(start, end))
    return out


def blanked(text: str, parts: Sequence[Span]) -> str:
    """Return the text with blanks for some parts; every offset and line stays."""
    if not parts:
        return text
    out: list[str] = []
    at = 0
    for part in parts:
        out += [text[at : part.start], _blanks(text[part.start : part.end])]
        at = part.end
    out.append(text[at:])
    return "".join(out)


def _blanks(text: str) -> str:
    if "\r" in text:
        return _BLACK.sub(lambda m: " " * len(m[0]), text)
    return "\n".join([" " * len(line) for line in text.split("\n")])
