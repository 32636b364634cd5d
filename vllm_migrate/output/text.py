"""For people: each finding with the lines it is about, why, what to do, and the fix as a small diff."""

from __future__ import annotations

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import Located, after, clickable, edits_by_file, located, sources
from vllm_migrate.output._paint import SEVERITY_STYLES, Paint, plain, width
from vllm_migrate.output._unified import hunks
from vllm_migrate.text import Source

_WIDTH = 100
_NARROW = 24
_LINES = 4
_EVIDENCE = 4
_SIGNS = {"-": "red", "+": "green", " ": "dim"}


def render(report: Report, settings: Config) -> str:
    """Return the findings one after the other, an empty line between two."""
    return "".join(block(place, report, settings) for place in located(report))


def block(place: Located, report: Report, settings: Config) -> str:
    """Return one finding, with the empty line after it."""
    return "\n".join(_finding(place, report, sources(report), Paint(settings.color, settings.width))) + "\n\n"


def _finding(place: Located, report: Report, known: dict[str, Source], paint: Paint) -> list[str]:
    finding = place.finding
    gutter = len(str(place.end_line))
    pad = " " * gutter
    head = paint(SEVERITY_STYLES[finding.severity], f"{finding.severity}[{finding.code}]")
    lines = [f"{head}{paint('bold', ': ' + plain(finding.message))}"]
    where = f"{clickable(plain(finding.path), report)}:{place.line}:{place.column}"
    lines.append(f"{pad}{paint('blue', '-->')} {where}")
    lines += _frame(place, gutter, paint)
    notes: list[tuple[str, str]] = []
    if finding.subject and finding.subject not in finding.message:
        notes.append(("subject", finding.subject))
    if finding.reason:
        notes.append(("why", finding.reason))
    if finding.to:
        notes.append(("release", _releases(place)))
    if finding.replacement:
        notes.append(("instead", finding.replacement))
    notes += [("evidence", text) for text in finding.evidence[:_EVIDENCE]]
    if len(finding.evidence) > _EVIDENCE:
        notes.append(("evidence", f"{len(finding.evidence) - _EVIDENCE} more in the JSON report"))
    notes += [("related", text) for text in finding.related]
    lines += _notes(notes, pad, paint)
    if finding.fix is not None:
        mark = "" if finding.fix.safety == "safe" else " (unsafe)"
        lines += _notes([(f"fix{mark}", finding.fix.description)], pad, paint)
        lines += _small_diff(place, known, gutter, paint)
        if finding.fix.why:
            lines += _notes([("a person must decide", finding.fix.why)], pad, paint)
    if finding.withheld:
        lines += _notes([("no fix offered", finding.withheld)], pad, paint)
    if finding.help:
        lines += _notes([("help", finding.help)], pad, paint)
    return lines


def _releases(place: Located) -> str:
    finding = place.finding
    way = f"{finding.origin} → {finding.to}" if finding.origin else finding.to
    return f"{way}, gone since {finding.removed_in}" if finding.removed_in else way


def _notes(notes: list[tuple[str, str]], pad: str, paint: Paint) -> list[str]:
    import textwrap

    lines: list[str] = []
    for label, text in notes:
        lead = f"{pad} = {label}: "
        wrapped = textwrap.wrap(
            plain(" ".join(text.split())),
            max(paint.columns - len(lead), _NARROW),
            break_long_words=False,
            break_on_hyphens=False,
        )
        first, *rest = wrapped or [""]
        lines.append(f"{pad} {paint('blue', '=')} {paint('bold', label)}: {first}")
        lines += [" " * len(lead) + line for line in rest]
    return lines


def _frame(place: Located, gutter: int, paint: Paint) -> list[str]:
    """Draw the lines of the finding with carets below its span, and the line above for context."""
    if place.source is None:
        return []
    bar = paint("blue", "|")
    wide = _room(paint, gutter)
    lines = [f"{' ' * gutter} {bar}"]
    above = place.source.line(place.line - 1)
    if above.strip():
        lines.append(_code(place.line - 1, above[:wide], gutter, bar, paint))
    last = place.end_line if place.end_column > 1 else max(place.end_line - 1, place.line)
    for number in range(place.line, min(last, place.line + _LINES - 1) + 1):
        text = place.source.line(number)
        start = place.column - 1 if number == place.line else len(text) - len(text.lstrip())
        end = min(place.end_column - 1 if number == place.end_line else len(text), len(text))
        shown, start, end = _clip(text, start, max(end, start + 1), wide)
        lines.append(_code(number, shown, gutter, bar, paint))
        carets = "^" * max(width(plain(shown[start:end])), 1)
        indent = " " * width(plain(shown[:start]))
        lines.append(f"{' ' * gutter} {bar} {indent}{paint(SEVERITY_STYLES[place.finding.severity], carets)}")
    if last >= place.line + _LINES:
        lines.append(f"{' ' * gutter} {bar} … {last - place.line - _LINES + 1} more lines")
    return lines


def _code(number: int, text: str, gutter: int, bar: str, paint: Paint) -> str:
    return f"{paint('blue', str(number).rjust(gutter))} {bar} {plain(text)}".rstrip()


def _room(paint: Paint, gutter: int) -> int:
    """Return how much of a line of code is shown: less than usual only where the terminal has no room for it."""
    return _WIDTH if paint.columns >= _WIDTH else max(paint.columns - gutter - 6, _NARROW)


def _clip(text: str, start: int, end: int, wide: int) -> tuple[str, int, int]:
    """Cut a long line to the part around a span; returns the part and the span in it."""
    if len(text) <= wide:
        return text, start, end
    left = 0 if end <= wide - 2 else max(start - wide // 4, 0)
    right = min(left + wide, len(text))
    shown = ("…" if left else "") + text[left:right] + ("…" if right < len(text) else "")
    shift = left - (1 if left else 0)
    return shown, start - shift, min(end, right) - shift


def _small_diff(place: Located, known: dict[str, Source], gutter: int, paint: Paint) -> list[str]:
    """Draw what the fix changes: the lines taken away and put in their place."""
    lines: list[str] = []
    bar = paint("blue", "|")
    wide = _room(paint, gutter)
    for source, edits in edits_by_file(place.finding, known).items():
        fixed = after(source, edits)
        if fixed is None:
            continue
        if source.path != place.finding.path:
            lines.append(f"{' ' * gutter} {bar} {plain(source.path)}")
        for i, (header, body) in enumerate(hunks(source.raw, fixed.raw, context=0)):
            if i:
                lines.append(f"{' ' * gutter} {bar} ⋮")
            number = int(header.split()[1].lstrip("-").partition(",")[0])
            for sign, raw in body:
                shown = plain(raw.decode("utf-8").rstrip("\r\n"))
                shown = shown if len(shown) <= wide else shown[: wide - 1] + "…"
                label = str(number).rjust(gutter) if sign == "-" else " " * gutter
                number += sign == "-"
                lines.append(f"{paint('blue', label)} {bar} {paint(_SIGNS[sign], f'{sign} {shown}')}")
    return lines
