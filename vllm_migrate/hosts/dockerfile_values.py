"""Words and values of a Dockerfile: quoting, `$NAME` substitution, and where a value is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import fill, is_hole
from vllm_migrate.text import Piece, Region, Span

REFERENCE = regex(
    r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?:(?P<op>:?[-+?]|[#%/]{1,2})(?P<word>(?:[^{}]|\{[^{}]*\})*))?\})"
)
_VERSION = regex(r"(?<!\d)\d+(?:\.\d+)+")
_CHANNEL = regex(r"cu\d{2,3}\b|rocm\d|/(?:cpu|xpu)\b|nightly")
_PLAIN = regex(r"[^\s\"'\\$]*")


@dataclass(frozen=True)
class Written:
    """A value that is written somewhere: its text and the span of it, wrapping quotes left out.

    exact: the text is the span's own letters, so that a part of one is a part of the other.
    origin: what it is a value of ("ARG", "ENV"); name: of which name.
    """

    text: str
    span: Span
    exact: bool
    origin: str
    name: str
    sink: object = None


@dataclass(frozen=True)
class Segment:
    """A part of an expanded reference: where it is written, or a hole (span None, text the spelling)."""

    text: str
    span: Span | None
    source: Written | None = None
    hole: bool = False


def lex_value(raw: str, escape: str = "\\") -> tuple[str, tuple[str, ...]]:
    """Return the text of a word as Docker reads it, with a hole for each `$NAME`."""
    out: list[str] = []
    holes: list[str] = []
    quote = ""
    at = 0
    while at < len(raw):
        char = raw[at]
        if quote != "'" and char == escape and at + 1 < len(raw):
            following = raw[at + 1]
            if quote == '"' and following not in ('"', "$", escape):
                out.append(char)
            out.append(following)
            at += 2
            continue
        if char in "\"'" and quote in ("", char):
            quote = "" if quote else char
            at += 1
            continue
        match = REFERENCE.match(raw, at) if quote != "'" and char == "$" else None
        if match is not None:
            out.append(chr(0xE000 + len(holes)))
            holes.append(match[0])
            at = match.end()
            continue
        out.append(char)
        at += 1
    return "".join(out), tuple(holes)


def quote_value(text: str, holes: Sequence[str], old: str, escape: str = "\\") -> str | None:
    """Write a value in the quotes of the old one where that is possible, else in the fewest needed."""
    if "\n" in text or "\r" in text:
        return None
    plain = "".join(c for c in text if not is_hole(c))
    if old[:1] == "'" and old[-1:] == "'" and "'" not in text and not holes:
        return f"'{text}'"
    if not (old[:1] in ('"', "'") and old[-1:] == old[:1]) and _PLAIN.fullmatch(plain):
        return fill(text, holes)
    special = re.compile(rf"[\"$]|{re.escape(escape)}(?=[\"$]|{re.escape(escape)}|\Z)")
    return '"' + fill(special.sub(lambda m: escape + m[0], text), holes) + '"'


def inner_span(raw: str, span: Span) -> tuple[Span, bool]:
    """Return a value's span without wrapping quotes, and whether its letters stand for themselves."""
    if len(raw) >= 2 and raw[0] in "\"'" and raw[-1] == raw[0]:
        span, raw = Span(span.start + 1, span.end - 1), raw[1:-1]
    return span, not re.search(r"[\"'\\`]", raw)


def split_words(text: str, escape: str = "\\") -> list[Span]:
    """Split at blanks outside quotes, as `ENV` and `ARG` do."""
    spans: list[Span] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        start, quote = at, ""
        while at < len(text) and (quote or text[at] not in " \t\r\n"):
            char = text[at]
            if char == escape and quote != "'":
                at += 1
            elif char in "\"'" and quote in ("", char):
                quote = "" if quote else char
            at += 1
        spans.append(Span(start, min(at, len(text))))
    return spans


def expand(
    text: str, span: Span | None, scope: Mapping[str, Written], source: Written | None = None, depth: int = 0
) -> list[Segment]:
    """Return the parts of a reference with every known `$NAME` replaced by where its value is written."""
    parts: list[Segment] = []
    at = 0

    def literal(start: int, end: int) -> None:
        if end > start:
            here = None if span is None else Span(span.start + start, span.start + end)
            parts.append(Segment(text[start:end], here, source))

    for match in REFERENCE.finditer(text):
        literal(at, match.start())
        at = match.end()
        value = scope.get(match["bare"] or match["name"])
        op = match["op"] or ""
        if value is not None and depth < 8 and op in ("", "-", ":-", "?", ":?"):
            parts += expand(value.text, value.span if value.exact else None, scope, value, depth + 1)
        elif op in ("-", ":-") and value is None:
            start, end = match.span("word")
            here = None if span is None else Span(span.start + start, span.start + end)
            parts += expand(text[start:end], here, scope, source, depth + 1) if depth < 8 else []
        else:
            parts.append(Segment(match[0], None, source, hole=True))
    literal(at, len(text))
    return parts


def choose(parts: Sequence[Segment], kind: str) -> int | None:
    """Return the index of the part that carries the version (or the channel of an index), or None."""
    wanted = _CHANNEL if kind == "index" else _VERSION
    written = [i for i, p in enumerate(parts) if p.span is not None and not p.hole]
    if kind in ("base", "image"):
        colon = _tag_part(parts)
        named = [i for i in written if wanted.search(_after_name(parts, i))]
        if named:
            return named[0]
        return next((i for i in written if i >= colon), written[-1] if written else None)
    return next((i for i in written if wanted.search(parts[i].text)), None)


def _after_name(parts: Sequence[Segment], i: int) -> str:
    """Return the part's text as far as it lies in the tag of the reference."""
    before = "".join(p.text for p in parts[:i])
    text = parts[i].text
    slash = (before + text).rfind("/")
    colon = (before + text).find(":", slash + 1)
    if colon < 0:
        return ""
    return text[max(0, colon + 1 - len(before)) :]


def _tag_part(parts: Sequence[Segment]) -> int:
    whole = "".join(p.text for p in parts)
    colon = whole.find(":", whole.rfind("/") + 1)
    if colon < 0:
        return len(parts) - 1
    at = 0
    for i, part in enumerate(parts):
        at += len(part.text)
        if at > colon + 1:
            return i
    return len(parts) - 1


_STRING = regex(r'"(?:[^"\\]|\\.)*"')


def json_strings(text: str) -> tuple[list[Span], list[str]] | None:
    """Return spans (quotes included) and texts of a JSON array of strings, or None where it is not one."""
    body = text.strip()
    if not (body.startswith("[") and body.endswith("]")):
        return None
    at = text.index("[") + 1
    spans: list[Span] = []
    texts: list[str] = []
    blank = re.compile(r"\s*")
    while True:
        at = _skip(blank, text, at)
        if text.startswith("]", at) and not spans:
            break
        match = _STRING.match(text, at)
        if match is None:
            return None
        try:
            texts.append(json.loads(match[0]))
        except ValueError:
            return None
        spans.append(Span(match.start(), match.end()))
        at = _skip(blank, text, match.end())
        if text.startswith("]", at):
            break
        if not text.startswith(",", at):
            return None
        at += 1
    return (spans, texts) if not text[at + 1 :].strip() else None


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def json_quote(text: str, holes: Sequence[str], old: str) -> str | None:
    return json.dumps(fill(text, holes), ensure_ascii=False)


def json_inner(text: str, holes: Sequence[str], old: str) -> str | None:
    return json.dumps(fill(text, holes), ensure_ascii=False)[1:-1]


_ESCAPE = regex(r"\\u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})?|\\.")


def json_region(parent: Region, span: Span) -> Region | None:
    """Return the text of a JSON string (its span with the quotes, in the parent's text) as a guest."""
    raw = parent.text[span.start + 1 : span.end - 1]
    pieces: list[Piece] = []
    out: list[str] = []
    at = length = 0

    def piece(start: int, end: int, shown: str, verbatim: bool) -> None:
        nonlocal length
        base = span.start + 1
        pieces.append(Piece(length, length + len(shown), base + start, base + end, verbatim))
        out.append(shown)
        length += len(shown)

    for match in _ESCAPE.finditer(raw):
        if match.start() > at:
            piece(at, match.start(), raw[at : match.start()], True)
        at = match.end()
        try:
            piece(match.start(), at, json.loads(f'"{match[0]}"'), False)
        except ValueError:
            return None
    if at < len(raw) or not pieces:
        piece(at, len(raw), raw[at:], True)

    def escape(new: str, where: int) -> str | None:
        return json_inner(new, (), "")

    return parent.child("".join(out), pieces, escape)
