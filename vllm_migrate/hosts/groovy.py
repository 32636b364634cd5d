"""Jenkins pipelines: what their `sh` steps run, the environment around them, and the images they run in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from vllm_migrate.hosts import Context, read_shell
from vllm_migrate.hosts.listed import SpotContainer, mapped, whole_lines
from vllm_migrate.hosts.shown import Names
from vllm_migrate.launch import is_server_image, launchers
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import CannotRender, Change, Pin, Reading, Remove, Rename, Replace, Variable, fill, is_hole
from vllm_migrate.text import Edit, Piece, Region, Span, line_end, line_start

NAME = "groovy"

_TOKEN = regex(r"//[^\r\n]*|/\*.*?(?:\*/|\Z)|'''|\"\"\"|'|\"|[{}]", re.S)
_HOLE = regex(r"\$\{(?:[^{}]|\{[^{}]*\})*\}|\$[A-Za-z_][\w.]*")
_ESCAPE = regex(r"\\(?:u+[0-9a-fA-F]{4}|\r?\n|.)", re.S)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_RUNS = regex(
    r"(?:^|[^\w.])sh[ \t]*(?:\([ \t]*)?(?:\w{1,60}[ \t]*:[^,\r\n]{0,200},[ \t]*){0,9}(?:script[ \t]*:[ \t]*)?$"
)
_SETS = regex(r"(?:^|[\n;{])[ \t]*(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*$")

_EMPTY = regex(r"\benvironment\s*\{\s*\}")
_REFERENCE = regex(r"[\w.-]+(?:[:/][\w.-]+)*:[\w.-]+(?:@sha256:[0-9a-f]+)?")


@dataclass
class Literal:
    """A string: start and end with its quotes, the inside without them; block: the word before its innermost `{`."""

    start: int
    end: int
    quote: str
    block: str

    @property
    def inside(self) -> Span:
        return Span(self.start + len(self.quote), self.end - len(self.quote))


@dataclass
class Environment:
    """`NAME = 'value'` lines of an `environment` block."""

    host: str
    region: Region
    names: dict[int, Span] = field(default_factory=dict)

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        out: list[Edit] = []
        for change in changes:
            item = change.item if isinstance(change, (Remove, Rename, Replace)) else None
            if not isinstance(item, Variable) or item.value_span is None:
                raise CannotRender("this cannot be added to a pipeline's environment")
            if isinstance(change, Remove):
                out.append(whole_lines(self.region.text, item.span.start, item.span.end))
            elif isinstance(change, Rename):
                span = self.names[id(item)]
                out.append(Edit(span.start, span.end, change.name))
            elif isinstance(change, Replace) and change.value != item.value:
                quote = self.region.text[item.value_span.start - 1]
                new = _written(str(change.value), quote, change.holes or item.holes)
                out.append(Edit(item.value_span.start, item.value_span.end, new))
        return mapped(self.region, self._without_empty_blocks(out))

    def _without_empty_blocks(self, edits: list[Edit]) -> list[Edit]:
        """Take whole blocks that nothing would be left of: a pipeline with an empty one is refused."""
        text = self.region.text
        left = list(text)
        for edit in edits:
            if not edit.text:
                left[edit.start : edit.end] = " " * (edit.end - edit.start)
        for match in _EMPTY.finditer("".join(left)):
            if any(not e.text and match.start() < e.start and e.end <= match.end() for e in edits):
                edits = [e for e in edits if not match.start() < e.start < match.end()]
                alone = not text[line_start(text, match.start()) : match.start()].strip()
                alone = alone and not text[match.end() : line_end(text, match.end())].strip()
                whole = Edit(match.start(), match.end(), "")
                edits.append(whole_lines(text, match.start(), match.end()) if alone else whole)
        return edits


def read(region: Region, context: Context) -> Reading:
    """Return what the steps of a pipeline start, set and pin. Strings that no step runs are passed over."""
    out = Reading()
    text = region.text
    home = Environment(NAME, region)
    around: list[Variable] = []
    for literal in _literals(text):
        before = text[max(0, literal.start - 200) : literal.start]
        raw = text[literal.inside.start : literal.inside.end]
        if _RUNS.search(before):
            if any(t in raw for t in launchers()["triggers"]) or "pip" in raw:
                reading = read_shell(_script(region, literal), context)
                reading.problems = []
                out.extend(reading)
            continue
        sets = _SETS.search(before) if literal.block == "environment" else None
        if sets is not None and len(literal.quote) == 1:
            value, holes = _value(raw, literal.quote)
            name = Span(
                literal.start - len(before) + sets.start("name"), literal.start - len(before) + sets.end("name")
            )
            variable = Variable(
                region, Span(name.start, literal.end), home, name=sets["name"], value=value, holes=holes
            )
            variable.value_span, variable.scope = literal.inside, "file"
            home.names[id(variable)] = name
            around.append(variable)
        if len(literal.quote) == 1 and _REFERENCE.fullmatch(_HOLE.sub("x", raw) if literal.quote == '"' else raw):
            reference = _value(raw, literal.quote)
            if is_server_image(raw):
                pin = Pin(region, literal.inside, SpotContainer(NAME, region), kind="image", text=reference[0])
                pin.holes, pin.owner = reference[1], context.owner
                pin.locked = "has a digest" if "@sha256:" in raw else ""
                out.pins.append(pin)
    for variable in around:
        for site in out.sites:
            if all(v.name != variable.name for v in site.variables) and not any(p.kind == "image" for p in site.pins):
                site.variables.append(variable)
    out.variables += [v for v in around if not any(v is w for s in out.sites for w in s.variables)]
    return out


def _literals(text: str) -> Iterator[Literal]:
    """Yield the strings of a program; one that is not closed ends the search."""
    blocks: list[str] = []
    at = 0
    while True:
        match = _TOKEN.search(text, at)
        if match is None:
            return
        token = match[0]
        at = match.end()
        if token == "{":
            word = re.search(
                r"(?<!\w)(\w+)[ \t]*(?:\([^()\r\n]*\)[ \t]*)?$", text[max(0, match.start() - 120) : match.start()]
            )
            blocks.append(word[1] if word is not None else "")
        elif token == "}":
            blocks = blocks[:-1]
        elif token[0] in "'\"":
            end = _close(text, at, token)
            if end is None:
                return
            yield Literal(match.start(), end, token, blocks[-1] if blocks else "")
            at = end


def _close(text: str, at: int, quote: str) -> int | None:
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        elif len(quote) == 1 and text[at] in "\r\n":
            return None
        else:
            hole = _HOLE.match(text, at) if quote[0] == '"' and text[at] == "$" else None
            at = hole.end() if hole is not None else at + 1
    return None


def _parts(text: str, start: int, end: int, quote: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield (shown, start, end, kind) of a string's inside; kind: "text", "escape" or "hole"."""
    here = at = start
    while at < end:
        escape = _ESCAPE.match(text, at, end) if text[at] == "\\" else None
        hole = _HOLE.match(text, at, end) if quote[0] == '"' and text[at] == "$" else None
        found = escape or hole
        if found is None:
            at += 1
            continue
        if at > here:
            yield text[here:at], here, at, "text"
        here = found.end()
        if escape is not None:
            code = escape[0][1:]
            shown = (
                chr(int(code.lstrip("u"), 16)) if len(code) > 4 else _LETTERS.get(code, "" if "\n" in code else code)
            )
            yield shown, at, here, "escape"
        else:
            yield "", at, here, "hole"
        at = here
    if end > here:
        yield text[here:end], here, end, "text"


def _value(raw: str, quote: str) -> tuple[str, tuple[str, ...]]:
    out: list[str] = []
    holes: list[str] = []
    for shown, start, end, kind in _parts(raw, 0, len(raw), quote):
        if kind == "hole":
            out.append(chr(0xE000 + len(holes)))
            holes.append(raw[start:end])
        else:
            out.append(shown)
    return "".join(out), tuple(holes)


def _written(text: str, quote: str, holes: Sequence[str] = ()) -> str:
    out = text.replace("\\", "\\\\")
    out = out.replace(quote, "\\" + quote)
    if len(quote) == 1:
        out = out.replace("\n", "\\n").replace("\r", "\\r")
    if quote[0] == '"':
        out = out.replace("$", "\\$")
    return fill(out, holes) if any(is_hole(c) for c in out) else out


def _script(region: Region, literal: Literal) -> Region:
    """Return the text of a step as a shell script; what Groovy fills in is shown as a shell variable."""
    names = Names()
    pieces: list[Piece] = []
    out: list[str] = []
    at = 0
    for shown, start, end, kind in _parts(region.text, literal.inside.start, literal.inside.end, literal.quote):
        text = names.shown(region.text[start:end]) if kind == "hole" else shown
        if kind == "text" and "\r" in text:
            # A guest has plain line ends.
            here = start
            for line in re.finditer(r"[^\r]+|\r\n|\r", text):
                plain = line[0] if line[0][0] != "\r" else "\n"
                pieces.append(Piece(at, at + len(plain), here, here + len(line[0]), line[0][0] != "\r"))
                out.append(plain)
                at, here = at + len(plain), here + len(line[0])
            continue
        if text:
            pieces.append(Piece(at, at + len(text), start, end, kind == "text"))
            out.append(text)
            at += len(text)
    pieces = pieces or [Piece(0, 0, literal.inside.start, literal.inside.start)]
    newline = region.source.newline

    def escape(new: str, where: int) -> str | None:
        written = names.written(new.replace("\r\n", "\n"), lambda t: _written(t, literal.quote))
        return written if written is None or newline == "\n" else written.replace("\n", newline)

    return region.child("".join(out), pieces, escape)
