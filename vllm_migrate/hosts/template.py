"""Scripts, units and build files that a template engine fills in (`start.sh.j2`, `vllm.service.j2`, `Dockerfile.tmpl`).

What prints stands for a run-time part of the text; what only steers is not seen, and no edit runs over it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from vllm_migrate.hosts import Context, read_guest
from vllm_migrate.hosts.claims import filled_host, without_filling
from vllm_migrate.hosts.shown import LinesRegion, Names
from vllm_migrate.lazy import regex
from vllm_migrate.model import Item, Reading, Site
from vllm_migrate.text import Piece, Region, Span, line_start

NAME = "template"

_ACTION = regex(r"\{\{.{0,1000}?\}\}|\{%.{0,1000}?%\}")
_LEAD = regex(r"(?:[\s;&|({]|exec\b|nohup\b|sudo\b|[A-Za-z_]\w*=\S*(?!\S))*")
_STARTS = regex(r"\bvllm serve\b|vllm\.entrypoints\.")


def read(region: Region, context: Context) -> Reading:
    """Return what the text starts and pins once it is filled in; a file of macros is read as the commands it writes."""
    from vllm_migrate.hosts.yaml_mask import mask

    head = region.text.partition("\n")[0]
    host = filled_host(context.path, head)
    if not host and not _STARTS.search(region.text):
        return Reading()
    masked = mask(region.text)
    guest = _filled(region, [(a.start, a.end, a.control, a.alone) for a in masked.actions])
    out = read_guest(host or "shell", guest, replace(context, path=without_filling(context.path)))
    if not host:
        # Macros hold pieces of many texts: only the launches among them are sure.
        out = Reading(sites=[s for s in out.sites if s.region is guest and _LEAD.fullmatch(_before(region, s))])
    held: list[Item] = [*out.pins, *out.variables]
    for site in out.sites:
        held += [*site.words, *site.entries, *site.variables, *site.pins]
    for item in held:
        place = item.place
        item.branch = masked.branch(place.start)
        # A word over an `else` would be read as what both branches print.
        mixed = any(a.word in ("else", "elif") for a in masked.within(place.start, place.end))
        if mixed or not masked.whole(place.start, place.end):
            item.locked = item.locked or "inside a template action"
    return out


def _before(region: Region, site: Site) -> str:
    """Return what stands before a launch on its line of the template."""
    up = site.region.to_parent(site.span.start, site.span.start)
    return "-" if up is None else _ACTION.sub(" ", region.text[line_start(region.text, up.start) : up.start])


def _filled(region: Region, actions: list[tuple[int, int, bool, bool]]) -> Region:
    """Return the text with a name for each part that is printed, and without what steers."""
    text = region.text
    names = Names()
    pieces: list[Piece] = []
    out: list[str] = []
    hidden: list[Span] = []
    at = length = 0

    def add(shown: str, start: int, end: int, verbatim: bool) -> None:
        nonlocal length
        if shown:
            pieces.append(Piece(length, length + len(shown), start, end, verbatim))
            out.append(shown)
            length += len(shown)

    for start, end, control, alone in actions:
        low, high = start, end
        if text[start + 2 : start + 3] == "-":
            low -= len(text[:start]) - len(text[:start].rstrip())
        if text[end - 3 : end - 2] == "-":
            high += len(text[end:]) - len(text[end:].lstrip())
        if control and alone and low == start:
            # Its line is none of the text.
            low = text.rfind("\n", 0, start) + 1
            stop = re.compile(r"[ \t]*(?:\r\n|\r|\n|\Z)").match(text, high)
            high = stop.end() if stop is not None else high
        low = max(low, at)
        add(text[at:low], at, low, True)
        if not control:
            add(names.shown(text[start:end]), low, max(high, low), False)
        if control or (low, high) != (start, end):
            hidden.append(Span(low, high))
        at = max(high, low)
    add(text[at:], at, len(text), True)
    made = LinesRegion(region.source, "".join(out), region, pieces or (Piece(0, 0, 0, 0),))
    made.hidden, made.names = [h for h in hidden if h.end > h.start], names
    return made
