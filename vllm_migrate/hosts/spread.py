"""Pieces of a command line that variables hold: written out where a launch expands them, else launches of their own.

What a host or a guest could follow itself (a script's own variables, a makefile's) is written out already.
"""

from __future__ import annotations

import re
from functools import lru_cache

from vllm_migrate.hosts import read_words
from vllm_migrate.launch import launchers
from vllm_migrate.lazy import regex
from vllm_migrate.model import Reading, Site, Variable, Word
from vllm_migrate.text import Piece, Source, Span
from vllm_migrate.wrappers import line_names

_EXPANDED = regex(r"\$(?:\{(?P<curly>\w+)\}|\((?P<round>\w+)\)|(?P<plain>\w+))")
_WHERE_SET = regex(r"\$\{(?P<name>\w+):?\+[\"']?(?P<option>--[a-z][\w-]*(?:=[\w./:-]+)?)[\"']?\}")
_OPTIONS = regex(r"\s*--?[A-Za-z]")
_GENERAL = regex(r"(?:\w+_)?(?:ARGS|ARGUMENTS|FLAGS|OPTS|OPTIONS|PARAMS)")


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    return re.compile(launchers()["line_pattern"])


def is_line_name(name: str) -> bool:
    """Tell whether a variable is called like a piece of vLLM's command line."""
    return name in line_names() or _pattern().fullmatch(name) is not None


def holds_line(variable: Variable) -> bool:
    """Tell whether a variable is called like a piece of vLLM's command line, and holds options."""
    return _named(variable) and bool(_OPTIONS.match(variable.value or ""))


def _named(variable: Variable) -> bool:
    if is_line_name(variable.name):
        return True
    path = variable.region.source.path.lower()
    return variable.container.host == "envfile" and "vllm" in path and _GENERAL.fullmatch(variable.name) is not None


def spread(reading: Reading, source: Source) -> None:
    """Write out the variables that launches expand, and add the launches that other variables hold pieces of."""
    known: dict[int, list[Word]] = {}
    spread_in: dict[int, tuple[Variable, int]] = {}
    for site in reading.sites:
        words: list[Word] = []
        for word in site.words:
            variable = _expanded(word, site)
            if variable is None:
                words.append(_where_set(word))
            else:
                words += _words(variable, known)
                count = spread_in.get(id(variable), (variable, 0))[1]
                spread_in[id(variable)] = variable, count + 1
        site.words = words
    for variable, count in spread_in.values():
        name = re.escape(variable.name)
        uses = len(re.findall(rf"\$(?:\{{{name}\}}|\({name}\)|{name}\b)", source.text))
        if uses > count:
            for word in known[id(variable)]:
                word.locked = word.locked or f"{variable.name} is used elsewhere too"
    held = set(spread_in) | _add_lines(reading, known)
    # A variable that is read as words is no environment of its own.
    for site in reading.sites:
        site.variables = [v for v in site.variables if id(v) not in held]
    reading.variables = [v for v in reading.variables if id(v) not in held]


def _where_set(word: Word) -> Word:
    """Return the option that a word is where a variable is set (`${X:+--option}`), any other word as it is."""
    found = _WHERE_SET.fullmatch(word.holes[0]) if len(word.text) == 1 and len(word.holes) == 1 else None
    if found is None or word.region.text[word.span.start : word.span.start + 1] in ("'", '"'):
        # In quotes it is an empty word where the variable is not set.
        return word
    made = Word(word.region, word.span, word.container, text=found["option"], branch=word.branch)
    made.locked = word.locked or f"it is given only where {found['name']} is set"
    return made


def _expanded(word: Word, site: Site) -> Variable | None:
    """Return the variable that a word of a launch stands for, where it holds options."""
    if not word.splits or len(word.text) != 1 or len(word.holes) != 1 or word.locked:
        return None
    named = _EXPANDED.fullmatch(word.holes[0])
    name = (named["curly"] or named["round"] or named["plain"]) if named is not None else ""
    found = [v for v in site.variables if v.name == name]
    if len(found) != 1 or found[0].value is None:
        return None
    empty = not found[0].value.strip()
    return found[0] if empty or _OPTIONS.match(found[0].value) else None


def _words(variable: Variable, known: dict[int, list[Word]]) -> list[Word]:
    """Return the words of a variable's value; always the same ones."""
    if id(variable) in known:
        return known[id(variable)]
    text = variable.region.text
    span = variable.value_span
    if span is None:
        cut = text.find("=", variable.span.start, variable.span.end) + 1
        span = Span(cut or variable.span.start, variable.span.end)
    raw = text[span.start : span.end]
    start = span.start + raw.find("=") + 1 if raw.startswith(variable.name + "=") else span.start
    end = span.end
    if text[start:end].endswith(('"', "'")) and text[start:end].count(text[end - 1]) % 2:
        # The quote before it stands further left.
        end -= 1
    while end - start > 1 and text[start] == text[end - 1] and text[start] in "\"'":
        start, end = start + 1, end - 1
    value = variable.spelled()
    if text[start:end] == value:
        words = read_words(variable.region.slice(start, end), variable.container.host)
    else:
        # Escapes stand between the text and the words: they are read, and left alone.
        region = variable.region.child(value, [Piece(0, len(value), span.start, span.end, False)])
        words = read_words(region, variable.container.host)
        for word in words:
            word.locked = f"{variable.name} holds it with escapes"
    for word in words:
        word.locked, word.guarded = word.locked or variable.locked, word.guarded or variable.guarded
    known[id(variable)] = words
    return words


def _add_lines(reading: Reading, known: dict[int, list[Word]]) -> set[int]:
    """Add a launch for each variable that holds a piece of a command line no launch here shows; return their ids."""
    added: set[int] = set()
    shown = {(w.place.start, w.place.end) for s in reading.sites for w in s.words}
    variables = {id(v): v for v in (*(v for s in reading.sites for v in s.variables), *reading.variables)}
    for variable in variables.values():
        if id(variable) in known or not _named(variable):
            continue
        if variable.value is not None and not variable.value.strip():
            added.add(id(variable))
        if not holds_line(variable):
            continue
        words = _words(variable, known)
        if not words or any((w.place.start, w.place.end) in shown for w in words):
            continue
        owners = [s.owner for s in reading.sites if variable in s.variables]
        site = Site("values", variable.container.host, words[0].region, words[0].span, words)
        site.owner, site.open, site.hollow = (owners[0] if owners else ""), True, True
        reading.sites.append(site)
        added.add(id(variable))
    return added
