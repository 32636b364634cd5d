"""What of a YAML text may not mean what it seems to: keys that stand twice, aliases inside what they name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from vllm_migrate.hosts.yaml_edit import Document
from vllm_migrate.hosts.yaml_mask import FILLER
from vllm_migrate.hosts.yaml_tree import Node, Pair
from vllm_migrate.model import Problem, Site


def doubts(document: Document, sites: Sequence[Site]) -> Iterator[Problem]:
    """Yield what is doubtful around the launches of a file."""
    places = sorted(s.place.start for s in sites)
    seen: set[int] = set()
    waiting = [r for r in document.roots if _holds(r, places)]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if _holds(node, places):
            yield from _again(document, node)
        for use in node.children:
            if use.node.style == "*":
                name = document.text[use.start : use.end]
                yield _problem(document, use.start, use.end, f"the alias {name} stands inside what it names")
            elif use.alias:
                continue
            elif use.node.kind != "scalar":
                waiting.append(use.node)


def _holds(node: Node, places: Sequence[int]) -> bool:
    """Tell whether one of some places, in order, lies in a node."""
    at = bisect_left(places, node.start)
    return at < len(places) and places[at] <= node.end


def again(document: Document, node: Node) -> Iterator[tuple[Pair, Pair]]:
    """Yield the first pair and each further one of keys that a mapping holds more than once.

    Keys under different conditions of a template are not there at the same time.
    """
    known: dict[tuple[str, int], Pair] = {}
    for pair in node.pairs:
        name = pair.name
        if not name or name == "<<" or FILLER in name or pair.key.kind != "scalar":
            continue
        first = known.setdefault((name, document.mask.branch(pair.start)), pair)
        if first is not pair:
            yield first, pair


def _again(document: Document, node: Node) -> Iterator[Problem]:
    for first, pair in again(document, node):
        line = document.region.source.position(document.region.nearest_span(first.start, first.start).start)[0]
        text = f"the key `{pair.name}` stands here again (first in line {line}): one of them is lost"
        yield _problem(document, pair.key.start, pair.key.end, text)


def _problem(document: Document, start: int, end: int, text: str) -> Problem:
    place = document.region.nearest_span(start, end)
    return Problem("doubt", text, place.start, place.end)
