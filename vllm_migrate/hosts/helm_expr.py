"""Words of a command that a template's actions put together: `list`, `append`, `concat`, `printf`, `join`.

Only what is written out is read: a literal gives its words, anything else a run-time part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import HOLE
from vllm_migrate.text import Span

_TOKEN = regex(r"\"(?P<text>(?:[^\"\\\n]|\\.)*)\"|`(?P<raw>[^`]*)`|(?P<mark>[()|])|(?P<name>[^\s()|\"`]+)")
_FORMAT = regex(r"%%|%[-+#0 ]*(?:[1-9]\d*)?(?:\.\d+)?[a-zA-Z]")
_SET = regex(r"\{\{-?\s*(\$\w+)\s*:?=\s*(?!\s)(.*?)-?\}\}", re.S)
_PRINT = regex(r"\{\{-?\s*(?!\s)(.*?)-?\}\}", re.S)
_PASSES = frozenset(("toString", "quote", "squote", "trim", "toStrings", "compact", "uniq"))
"""What prints the words it is given, one by one."""


@dataclass(frozen=True)
class Made:
    """One word that an action makes. text: with a letter for each run-time part; span: the literal it stands in."""

    text: str
    holes: tuple[str, ...]
    span: Span
    splits: bool = False


@dataclass(frozen=True)
class _Expr:
    """A call with its arguments, a literal, a variable or anything else, by `kind`."""

    kind: str
    span: Span
    name: str = ""
    arguments: tuple[_Expr, ...] = ()


def assignment(raw: str) -> tuple[str, int, str] | None:
    """Return the variable that an action sets, and where its expression starts and how it reads."""
    found = _SET.fullmatch(raw)
    return (found[1], found.start(2), found[2].rstrip()) if found is not None else None


def printed(raw: str, start: int) -> Made | None:
    """Return the one word that an action prints, None where it holds no text or may print several."""
    shown = _PRINT.fullmatch(raw)
    made = words_of(shown[1].rstrip(), start + shown.start(1), {}) if shown is not None else None
    return made[0] if made is not None and len(made) == 1 and not made[0].splits else None


def variables_of(expression: str) -> set[str]:
    """Return the variables that an expression names."""
    return set(re.findall(r"\$\w+", re.sub(r"\"(?:[^\"\\\n]|\\.){0,2000}\"|`[^`]{0,2000}`", "", expression)))


def words_of(text: str, start: int, known: Mapping[str, Sequence[Made]]) -> list[Made] | None:
    """Return the words an expression gives, None where none of them is written out.

    start: where the expression stands in the whole text. known: the words that variables hold.
    """
    try:
        tokens = list(_tokens(text, start))
        expr, rest = _pipeline(tokens, 0)
    except (ValueError, IndexError, RecursionError):
        return None
    if rest != len(tokens):
        return None
    return _listed(expr, text, start, known)


def _tokens(text: str, start: int) -> Iterator[tuple[str, str, Span]]:
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError("no expression")
        kind = str(match.lastgroup)
        yield kind, match[kind], Span(start + match.start(), start + match.end())
        at = match.end()


def _pipeline(tokens: Sequence[tuple[str, str, Span]], at: int) -> tuple[_Expr, int]:
    made, at = _command(tokens, at)
    while at < len(tokens) and tokens[at][1] == "|" and tokens[at][0] == "mark":
        call, at = _command(tokens, at + 1)
        name = call.name if call.kind in ("call", "other") else ""
        made = _Expr("call", Span(made.span.start, call.span.end), name, (*call.arguments, made))
    return made, at


def _command(tokens: Sequence[tuple[str, str, Span]], at: int) -> tuple[_Expr, int]:
    parts: list[_Expr] = []
    first = tokens[at][2].start
    while at < len(tokens):
        kind, text, span = tokens[at]
        if kind == "mark" and text in "|)":
            break
        if kind == "mark":
            inner, at = _pipeline(tokens, at + 1)
            if at >= len(tokens) or tokens[at][1] != ")":
                raise ValueError("no closing bracket")
            parts.append(_Expr(inner.kind, Span(span.start, tokens[at][2].end), inner.name, inner.arguments))
        elif kind in ("text", "raw"):
            parts.append(_Expr("literal", span, text))
        elif text.startswith("$") and "." not in text:
            parts.append(_Expr("variable", span, text))
        else:
            parts.append(_Expr("other", span, text))
        at += 1
    if not parts:
        raise ValueError("nothing to call")
    if len(parts) == 1:
        return parts[0], at
    return _Expr("call", Span(first, parts[-1].span.end), parts[0].name, tuple(parts[1:])), at


def _listed(expr: _Expr, text: str, start: int, known: Mapping[str, Sequence[Made]]) -> list[Made] | None:
    """Return the words of an expression that is a list or a text of several words."""
    if expr.kind == "variable":
        held = known.get(expr.name)
        return list(held) if held is not None else None
    if expr.kind != "call":
        return _text(expr.name, expr.span, (), text, start, known) if expr.kind == "literal" else None
    given = expr.arguments
    if expr.name == "list":
        return [_one(a, text, start) for a in given]
    if expr.name in ("append", "prepend", "mustAppend", "mustPrepend") and len(given) == 2:
        base = _listed(given[0], text, start, known)
        one = _one(given[1], text, start)
        if base is None and one.text.startswith(HOLE):
            return None
        return [*(base or ()), one] if expr.name.endswith("ppend") else [one, *(base or ())]
    if expr.name == "concat":
        parts = [_listed(a, text, start, known) for a in given]
        if all(p is None for p in parts):
            return None
        return [w for a, p in zip(given, parts, strict=True) for w in (p if p is not None else [_rest(a, text, start)])]
    if expr.name == "join" and len(given) == 2:
        return _listed(given[1], text, start, known)
    if expr.name in _PASSES and given:
        return _listed(given[-1], text, start, known)
    if expr.name == "printf" and given and given[0].kind == "literal":
        return _text(given[0].name, given[0].span, given[1:], text, start, known)
    return None


def _raw(expr: _Expr, text: str, start: int) -> str:
    return text[expr.span.start - start : expr.span.end - start]


def _rest(expr: _Expr, text: str, start: int) -> Made:
    return Made(HOLE, ("{{ " + _raw(expr, text, start) + " }}",), expr.span, splits=True)


def _one(expr: _Expr, text: str, start: int) -> Made:
    """Return the one word that an item of a list is."""
    while expr.kind == "call" and expr.name in _PASSES and expr.arguments:
        expr = expr.arguments[-1]
    if expr.kind == "literal":
        return Made(_plain(expr.name), (), expr.span)
    if expr.kind == "call" and expr.name == "printf" and expr.arguments and expr.arguments[0].kind == "literal":
        shown, holes = _filled(expr.arguments[0].name, [_raw(a, text, start) for a in expr.arguments[1:]])
        return Made(shown, holes, expr.arguments[0].span)
    return Made(HOLE, ("{{ " + _raw(expr, text, start) + " }}",), expr.span)


def _plain(raw: str) -> str:
    return re.sub(r"\\(.)", r"\1", raw)


def _filled(form: str, given: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    holes: list[str] = []
    order = iter(given)

    def hole(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        holes.append("{{ " + next(order, match[0]) + " }}")
        return chr(ord(HOLE) + len(holes) - 1)

    return _plain(_FORMAT.sub(hole, form)), tuple(holes)


def _text(
    form: str, span: Span, given: Sequence[_Expr], text: str, start: int, known: Mapping[str, Sequence[Made]]
) -> list[Made] | None:
    """Return the words of a text, the words of a variable it starts with or takes in among them."""
    out: list[Made] = []
    order = iter(given)
    for piece in form.split():
        marks = [m[0] for m in _FORMAT.finditer(piece) if m[0] != "%%"]
        filled = [next(order, None) for _ in marks]
        first = filled[0] if filled else None
        if piece == "%s" and first is not None and first.kind == "variable" and first.name in known:
            out += known[first.name]
            continue
        shown, holes = _filled(piece, [_raw(a, text, start) for a in filled if a is not None])
        out.append(Made(shown, holes, span, splits=piece == "%s" and first is not None))
    return out or None
