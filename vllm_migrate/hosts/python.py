"""Python: `LLM(...)`, engine arguments, argument lists of a subprocess, shell commands in strings."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.bearing import blanked
from vllm_migrate.hosts.python_bearing import first_line, tree_of
from vllm_migrate.hosts.python_calls import read_calls
from vllm_migrate.hosts.python_certain import mark_conditional
from vllm_migrate.hosts.python_commands import read_lists
from vllm_migrate.hosts.python_env import (
    attach,
    given_environment,
    given_options,
    inherits_nothing,
    loose_environments,
    read_environment,
    sink_calls,
)
from vllm_migrate.hosts.python_flow import Build, Flow
from vllm_migrate.hosts.python_joined import read_joins
from vllm_migrate.hosts.python_lists import Lists
from vllm_migrate.hosts.python_maps import Maps
from vllm_migrate.hosts.python_names import read_mentions
from vllm_migrate.hosts.python_pins import Pins
from vllm_migrate.hosts.python_source import Module, parse
from vllm_migrate.hosts.python_spliced import filled_in, said_by
from vllm_migrate.hosts.python_strings import Told, read_joined, read_strings
from vllm_migrate.model import Item, Pin, Problem, Reading, Site, Word
from vllm_migrate.text import Region, Source, Span, line_starts

NAME = "python"


def verify(source: Source, changed: Sequence[Span] = ()) -> str | None:
    """Return why libcst cannot read a module's text, or None where it can.

    Args: changed: where the text was changed; only the top statements there are read then.
    """
    import libcst

    for first, part in _touched(source, changed):
        try:
            libcst.parse_module(part)
        except libcst.ParserSyntaxError as error:
            return f"line {first + error.raw_line}: {error.message}"
        except (RecursionError, ValueError) as error:
            return str(error) or type(error).__name__
    return None


def _touched(source: Source, changed: Sequence[Span]) -> list[tuple[int, str]]:
    """Return the lines before, and the text, of each part that must be read to know that a change is sound."""
    text = source.text
    if not changed:
        return [(0, text)]
    try:
        body = tree_of(blanked(text, source.quiet.get(NAME, ()))).body
    except SyntaxError:
        return [(0, text)]
    starts = line_starts(text)
    lines = sorted(bisect_right(starts, place) for span in changed for place in (span.start, span.end))
    bounds: list[tuple[int, int]] = []
    for statement in body:
        first, last = first_line(statement), statement.end_lineno or statement.lineno
        if bounds and first <= bounds[-1][1]:
            # `a; b`: several statements of one line.
            bounds[-1] = (bounds[-1][0], max(last, bounds[-1][1]))
        else:
            bounds.append((first, last))
    starts.append(len(text))
    return [
        (first - 1, text[starts[first - 1] : starts[min(last, len(starts) - 1)]])
        for first, last in bounds
        if bisect_right(lines, last) > bisect_left(lines, first)
    ]


def read(region: Region, context: Context) -> Reading:
    """Return the launches, pins and names of a module. A module that does not parse gives a problem."""
    reading = Reading()
    try:
        module = parse(region)
    except SyntaxError as error:
        reading.problems.append(_problem(region, error))
        return reading
    maps = Maps(module, Flow(module))
    lists = Lists(module, maps)
    sites: list[tuple[Site, ast.AST]] = list(read_calls(module, maps))
    sinks: set[ast.AST] = set()
    apart: set[int] = set()
    built: set[Build] = set()
    skip: set[ast.AST] = set()
    joined = read_joins(module, maps)
    lists.skip.update(j.node for j in joined)
    lists.skip.update(j.build for j in joined if j.build is not None)
    skip.update(g.expression for j in joined for g in j.given)
    for site, node, build in read_lists(module, lists):
        calls = sink_calls(module, node, build)
        sinks.update(calls)
        if build is not None:
            built.add(build)
        given_environment(module, maps, site, calls)
        if inherits_nothing(calls):
            apart.add(id(site))
        sites.append((site, node))
    skip.update(lists.texts())
    told_by = [*read_joined(module, joined, context), *read_strings(module, maps.flow, context, skip)]
    for told in told_by:
        _splice(lists, told)
        calls = sink_calls(module, told.node, told.build)
        for site in told.sites:
            sinks.update(calls)
            given_environment(module, maps, site, calls)
            if inherits_nothing(calls):
                apart.add(id(site))
            sites.append((site, told.node))
        reading.extend(told.reading)
    inner = set(map(id, reading.sites))
    reading.sites += [s for s, _ in sites if id(s) not in inner]
    process = read_environment(module, maps)
    reading.variables += attach(module, maps, process, sites, sinks, apart)
    mark_conditional(module, sites)
    known = {id(v) for s in reading.sites for v in s.variables}
    reading.sites += given_options(module, maps)
    loose = [v for v in loose_environments(module, maps) if id(v) not in known]
    reading.variables += loose
    maps.lock_others()
    lists.lock_others(built)
    _pins(module, maps, reading)
    reading.mentions += read_mentions(module, maps)
    for site in reading.sites:
        site.owner = site.owner or context.owner
    reading.sites.sort(key=lambda s: s.place)
    return reading


def _splice(lists: Lists, told: Told) -> None:
    """Write out the texts and lists of options that fill in a text with launches."""
    nodes = filled_in(told.region)
    for site in told.sites:
        words: list[Word] = []
        for word in site.words:
            lone = len(word.text) == 1 and len(word.holes) == 1 and word.span.end - word.span.start == 1
            node = nodes.get(said_by(word.holes[0])) if lone else None
            held = lists.held(node) if node is not None else None
            words += [word] if held is None else held
            site.open = site.open or any(w.splits for w in held or ())
        site.words = words


def _pins(module: Module, maps: Maps, reading: Reading) -> None:
    places: set[tuple[Span, str]] = set()
    inner: list[Item] = [*reading.pins, *(p for s in reading.sites for p in s.pins)]
    for pin in inner:
        places.add((pin.place, getattr(pin, "kind", "")))
    for site in reading.sites:
        reading.pins += [p for p in site.pins if p not in reading.pins]
    taken = [place for place, _ in places]
    for pin in Pins(module, maps).read():
        if isinstance(pin, Pin) and not any(_within(t, pin.place) for t in taken):
            reading.pins.append(pin)


def _within(a: Span, b: Span) -> bool:
    return b.start <= a.start and a.end <= b.end


def _problem(region: Region, error: SyntaxError) -> Problem:
    line = error.lineno or 1
    starts = line_starts(region.text)
    offset = starts[min(line, len(starts)) - 1] + max((error.offset or 1) - 1, 0)
    offset = min(offset, len(region.text))
    place = region.nearest_span(offset, offset)
    return Problem("syntax", f"not valid Python: {error.msg}", place.start, place.end)
