"""Recipes of makefiles and justfiles: each is a shell guest; variables may carry a pin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vllm_migrate.hosts import Context, read_shell
from vllm_migrate.hosts.dockerfile_values import Written
from vllm_migrate.hosts.moved import move_pin
from vllm_migrate.launch import launchers
from vllm_migrate.model import Reading
from vllm_migrate.text import Piece, Region, Span

NAME = "makefile"

_ASSIGN = re.compile(
    r"^(?:export[ ]+|override[ ]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*(?P<op>::?:?|\?|\+)?=[ \t]*", re.M
)
_MAKE = re.compile(r"\$(?:\$|\((?P<round>(?:[^()]|\([^()]*\))*)\)|\{(?P<curly>[^{}]*)\}|[@<^?*+%|])")
_JUST = re.compile(r"\{\{(?!\{)\s*(?P<name>.*?)\s*\}\}")
_NAMED = re.compile(r"[A-Za-z_]\w*")


def claims(path: str, head: str) -> bool:
    name = path.rsplit("/", 1)[-1].lower()
    if name in ("gnumakefile", "justfile", ".justfile") or name.endswith((".mk", ".just")):
        return True
    return name == "makefile" or name.startswith("makefile.")


def read(region: Region, context: Context) -> Reading:
    """Return what the recipes of the file start and pin."""
    out = Reading()
    text = region.text
    name = context.path.rsplit("/", 1)[-1].lower()
    just = "just" in name
    scope = _variables(text, just)
    known = {key: value.text for key, value in scope.items()}
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
        out.extend(reading)
    return out


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


def _guest(region: Region, start: int, end: int, just: bool) -> Region:
    """Return a recipe as shell text: `$(NAME)` and `{{NAME}}` read as `${NAME}`, `$$` as `$`."""
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
        inside = match["name"] if just else match["round"] or match["curly"] or ""
        name = inside if _NAMED.fullmatch(inside) and inside not in taken else f"_part_{len(spelled)}"
        spelled.setdefault("${" + name + "}", match[0])
        piece("${" + name + "}", begin, stop, False)
    piece(text[here:end], here, end, True)

    def escape(new: str, where: int) -> str | None:
        parts = re.split(r"(\$\{[A-Za-z_]\w*\})", new)
        return "".join(spelled[p] if p in spelled else p if just else p.replace("$", "$$") for p in parts)

    return region.child("".join(out), pieces, escape)
