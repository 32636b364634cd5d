"""Recipes of makefiles and justfiles: each is a shell guest; variables may carry a pin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from vllm_migrate.hosts import Context, read_shell, read_words
from vllm_migrate.hosts.dockerfile_values import Written
from vllm_migrate.hosts.listed import mapped, whole_lines
from vllm_migrate.hosts.moved import move_pin
from vllm_migrate.launch import launchers
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import HOLE, CannotRender, Change, Reading, Remove, Rename, Replace, Variable, Word
from vllm_migrate.text import Edit, Piece, Region, Span

NAME = "makefile"

_ASSIGN = regex(
    r"^(?:export[ ]+|override[ ]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*(?P<op>::?:?|\?|\+)?=[ \t]*", re.M
)
_MAKE = regex(r"\$(?:\$|\((?P<round>(?:[^()]|\([^()]*\))*)\)|\{(?P<curly>[^{}]*)\}|[@<^?*+%|])")
_JUST = regex(r"\{\{(?!\{)\s*(?!\s)(?P<name>.{0,1000}?)\}\}")
_NAMED = regex(r"[A-Za-z_]\w*")
_LONE = regex(_MAKE.pattern + "|" + _JUST.pattern)


def read(region: Region, context: Context) -> Reading:
    """Return what the recipes of the file start and pin."""
    out = Reading()
    text = region.text
    name = context.path.rsplit("/", 1)[-1].lower()
    just = "just" in name
    scope = _variables(text, just)
    known = {key: value.text for key, value in scope.items()}
    lists = _option_lists(region, just)
    exported = _exported(region, just)
    for start, end in _recipe_just(text) if just else _recipe_make(text):
        raw = text[start:end]
        if not any(t in raw for t in launchers()["triggers"]) and not re.search(r"\$[({]|\{\{", raw):
            continue
        guest = _guest(region, start, end, just)
        reading = read_shell(guest, Context(context.path, known, context.owner, "", context.sibling_reader))
        moved = {id(pin): move_pin(pin, scope, region, NAME) for pin in reading.pins}
        reading.pins = [moved[id(pin)] for pin in reading.pins]
        for site in reading.sites:
            site.pins = [moved.get(id(pin)) or move_pin(pin, scope, region, NAME) for pin in site.pins]
            site.words = list(_spelled_out(site.words, lists))
        out.extend(reading)
    for variable in exported:
        for site in out.sites:
            # A container gets none of them.
            inside = any(p.kind == "image" for p in site.pins)
            if not inside and all(v.name != variable.name for v in site.variables):
                site.variables.append(variable)
        if not any(variable in site.variables for site in out.sites):
            out.variables.append(variable)
    _lock_shared(text, lists, out, just)
    return out


def _spelled_out(words: list[Word], lists: dict[str, list[Word]]) -> Iterator[Word]:
    """Yield the words of a launch, those of a variable that holds options in its place."""
    for word in words:
        name = _LONE.fullmatch(word.spelled()) if word.text == HOLE and not word.locked else None
        held = lists.get((name["round"] or name["curly"] or name["name"] or "").strip()) if name is not None else None
        if held is None:
            yield word
        else:
            yield from held


def _lock_shared(text: str, lists: dict[str, list[Word]], out: Reading, just: bool) -> None:
    """Lock the words of variables that something else than the launches read here uses too."""
    for name, words in lists.items():
        plain = re.escape(name)
        form = rf"\{{\{{\s*{plain}\s*\}}\}}" if just else rf"\$(?:\({plain}\)|\{{{plain}\}})"
        uses = len(re.findall(form, text))
        mine = sum(1 for s in out.sites if any(w is words[0] for w in s.words))
        if uses != mine:
            for word in words:
                word.locked = word.locked or f"{name} is used elsewhere too"


def _option_lists(region: Region, just: bool) -> dict[str, list[Word]]:
    """Return the words of the variables that hold options."""
    found: dict[str, list[Word]] = {}
    twice: set[str] = set()
    text = region.text
    for match in _ASSIGN.finditer(text):
        name = match["name"]
        twice |= {name} & found.keys()
        start = end = match.end()
        while True:
            stop = re.compile(r"[^\r\n]*").match(text, end)
            end = stop.end() if stop is not None else end
            after = re.compile(r"\r\n|\r|\n").match(text, end)
            if just or after is None or text[end - 1 : end] != "\\":
                break
            end = after.end()
        value = text[start:end]
        if just:
            if not re.fullmatch(r"\"[^\"\\]*\"|'[^']*'", value.rstrip()):
                continue
            start, end = start + 1, start + len(value.rstrip()) - 1
            value = text[start:end]
        if match["op"] == "+":
            twice.add(name)
        if re.match(r"(?:\\\r?\n|[ \t])*--?[A-Za-z]", value) and "#" not in value:
            found[name] = read_words(_guest(region, start, end, just, value=True), NAME)
    return {k: v for k, v in found.items() if k not in twice and v}


def _exported(region: Region, just: bool) -> list[Variable]:
    """Return what `export NAME = value` puts into the environment of every recipe."""
    home = _Exports(NAME, region)
    out: list[Variable] = []
    for match in re.finditer(_ASSIGN.pattern + r"(?P<value>[^\r\n]*)", region.text, re.M):
        raw = match["value"].split("#", 1)[0].rstrip() if not just else match["value"].rstrip()
        if not match[0].startswith("export") or raw.endswith("\\"):
            continue
        start = match.start("value")
        variable = Variable(region, Span(match.start(), start + len(raw)), home, name=match["name"], scope="file")
        if just and re.fullmatch(r"\"[^\"\\]*\"|'[^']*'", raw):
            variable.value, variable.value_span = raw[1:-1], Span(start + 1, start + len(raw) - 1)
        elif not just and "$" not in raw:
            variable.value, variable.value_span = raw, Span(start, start + len(raw))
        else:
            variable.value, variable.holes = HOLE, (raw,)
        home.names[id(variable)] = Span(match.start("name"), match.end("name"))
        out.append(variable)
    return out


@dataclass
class _Exports:
    """Exported variables, a line each."""

    host: str
    region: Region
    names: dict[int, Span] = field(default_factory=dict)

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        out: list[Edit] = []
        for change in changes:
            item = change.item if isinstance(change, (Remove, Rename, Replace)) else None
            if not isinstance(item, Variable):
                raise CannotRender("this cannot be added to exported variables")
            if isinstance(change, Remove):
                out.append(whole_lines(self.region.text, item.span.start, item.span.end))
            elif isinstance(change, Rename):
                span = self.names[id(item)]
                out.append(Edit(span.start, span.end, change.name))
            elif isinstance(change, Replace) and change.value != item.value:
                if item.value_span is None or re.search(r"[\s\"'#$\\]", str(change.value)):
                    raise CannotRender("the value cannot be written at this place")
                out.append(Edit(item.value_span.start, item.value_span.end, str(change.value)))
        return mapped(self.region, out)


def _variables(text: str, just: bool) -> dict[str, Written]:
    """Return the plain one-line values; a name that is given twice or added to has no known value."""
    found: dict[str, Written] = {}
    spoiled: set[str] = set()
    for match in _ASSIGN.finditer(text):
        name = match["name"]
        if name in found or match["op"] == "+":
            spoiled.add(name)
        end = re.compile(r"[^\r\n]*").match(text, match.end())
        value = end[0] if end else ""
        if not just:
            value = value.split("#", 1)[0]
        value = value.rstrip()
        start = match.end()
        if just:
            if not re.fullmatch(r"\"[^\"\\]*\"|'[^']*'", value):
                continue
            start, value = start + 1, value[1:-1]
        if value.endswith("\\"):
            continue
        shown = re.sub(r"\$\(([A-Za-z_]\w*)\)", r"${\1}", value)
        exact = shown == value
        found[name] = Written(shown, Span(start, start + len(value)), exact, "variable", name)
    return {k: v for k, v in found.items() if k not in spoiled}


def _lines(text: str) -> Iterator[tuple[int, int, int]]:
    for match in re.finditer(r"([^\r\n]*)(\r\n|\r|\n|\Z)", text):
        if match[0]:
            yield match.start(), match.end(1), match.end()


def _recipe_make(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each recipe line, continued lines included."""
    begin: int | None = None
    for start, end, after in _lines(text):
        if begin is None:
            if not text.startswith("\t", start) or not text[start:end].strip():
                continue
            begin = start
        if text[start:end].endswith("\\") and after < len(text):
            continue
        lead = re.compile(r"[\t ]*[@+-]*[ \t]*").match(text, begin)
        yield (lead.end() if lead else begin), end
        begin = None


def _recipe_just(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each recipe line; of a recipe with a `#!` line, of all its lines at once."""
    begin: int | None = None
    script: tuple[int, int] | None = None
    for start, end, after in _lines(text):
        indented = text[start : start + 1] in (" ", "\t")
        if script is not None:
            if indented or not text[start:end].strip():
                script = (script[0], end)
                continue
            yield script
            script = None
        if not indented or not text[start:end].strip():
            begin = None
            continue
        if begin is None:
            begin = start
            if text[start:end].lstrip().startswith("#!"):
                script, begin = (start, end), None
                continue
        if text[start:end].endswith("\\") and after < len(text):
            continue
        lead = re.compile(r"[ \t]*[@-]*").match(text, begin)
        yield (lead.end() if lead else begin), end
        begin = None
    if script is not None:
        yield script


def _guest(region: Region, start: int, end: int, just: bool, *, value: bool = False) -> Region:
    """Return a recipe as shell text: `$(NAME)` and `{{NAME}}` read as `${NAME}`, `$$` as `$`.

    value: the text is a variable's value, where make takes `#` for the start of a comment.
    """
    text = region.text
    pieces: list[Piece] = []
    out: list[str] = []
    spelled: dict[str, str] = {}
    at = 0

    def piece(shown: str, begin: int, stop: int, verbatim: bool) -> None:
        nonlocal at
        if shown:
            pieces.append(Piece(at, at + len(shown), begin, stop, verbatim))
            out.append(shown)
            at += len(shown)

    indent = re.compile(r"(?<=\n)[ \t]+") if just else re.compile(r"(?<=\n)\t")
    taken = set(re.findall(r"\$\$\{?([A-Za-z_]\w*)", text[start:end]))
    marks: list[tuple[int, int, re.Match[str] | None]]
    marks = [(m.start(), m.end(), m) for m in (_JUST if just else _MAKE).finditer(text, start, end)]
    marks += [(m.start(), m.end(), None) for m in indent.finditer(text, start, end)] if not just else []
    here = start
    for begin, stop, match in sorted(marks, key=lambda m: m[:2]):
        if begin < here:
            continue
        piece(text[here:begin], here, begin, True)
        here = stop
        if match is None:
            continue
        if match[0] == "$$":
            piece("$", begin, stop, False)
            continue
        inside = match["name"].rstrip() if just else match["round"] or match["curly"] or ""
        name = inside if _NAMED.fullmatch(inside) and inside not in taken else f"_part_{len(spelled)}"
        spelled.setdefault("${" + name + "}", match[0])
        piece("${" + name + "}", begin, stop, False)
    piece(text[here:end], here, end, True)

    def escape(new: str, where: int) -> str | None:
        if value and not just and "#" in new:
            return None
        parts = re.split(r"(\$\{[A-Za-z_]\w*\})", new)
        return "".join(spelled[p] if p in spelled else p if just else p.replace("$", "$$") for p in parts)

    return region.child("".join(out), pieces, escape)
