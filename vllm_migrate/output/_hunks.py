"""One fix of a review as a terminal shows it: what was found and why, and beside it what would change."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from vllm_migrate.findings import Choice, Finding, Report
from vllm_migrate.lazy import regex
from vllm_migrate.output._effect import TITLES, effect
from vllm_migrate.output._grouped import site_of
from vllm_migrate.output._launches import launch_name
from vllm_migrate.output._located import after, clickable, locate, sources
from vllm_migrate.output._paint import SEVERITY_STYLES, Paint, plain
from vllm_migrate.output._paint import width as cells
from vllm_migrate.output._unified import Hunk, hunks
from vllm_migrate.output._words import Parts, paired_lines
from vllm_migrate.text import Edit, Source

_WIDEST = 110
_NARROWEST = 56
"""Cells for the reasons to be worth a column of their own."""
_BETWEEN = " │ "
_ESCAPE = regex("\x1b\\[[0-9;]*m")
_STYLES = {"-": "red", "+": "green", " ": "dim"}
_MANY = 8


def page(choice: Choice, report: Report, number: int, total: int, paint: Paint, width: int = 0) -> str:
    """Return one fix for a person to decide on, an empty line after it.

    number: its turn, from 1, of total. width: of the terminal, 0 to ask for it.
    """
    width = width or shutil.get_terminal_size((100, 24)).columns
    diff = _diff(choice, report, paint)
    room = width - max((_cells(line) for line in diff), default=0) - len(_BETWEEN)
    beside = bool(diff) and room >= _NARROWEST
    wide = min(room if beside else width, _WIDEST)
    safe = choice.safety == "safe"
    mark = paint("bold green", "safe") if safe else paint("bold yellow", "unsafe: a person must agree")
    first = choice.findings[0]
    site = site_of(first)
    where = f" in {launch_name(site)}" if site is not None else ""
    head = [paint("blue", "─" * min(width, 2 * _WIDEST)), f"{paint('bold', f'{number} of {total}')}{where}: {mark}"]
    lines: list[str] = []
    reported = {id(f) for f in report.findings()}
    findings = [f for f in choice.findings if id(f) in reported]
    for finding in findings[:_MANY]:
        lines += _finding(finding, report, wide, paint)
    if len(findings) > _MANY:
        lines.append(f"and {len(findings) - _MANY} more that the same change answers")
    for text in dict.fromkeys(f.fix.description for f in choice.findings if f.fix is not None):
        lines += _note("fix", text, wide, paint)
    whys = list(dict.fromkeys(f.fix.why for f in choice.findings if f.fix is not None and f.fix.why))
    for why in whys:
        if not any(other != why and other in why for other in whys):
            lines += _note("a person must decide", why, wide, paint)
    lines = _side_by_side(lines, diff, wide, paint) if beside else lines + diff
    return "\n".join(head + lines) + "\n\n"


def _diff(choice: Choice, report: Report, paint: Paint) -> list[str]:
    known = sources(report)
    by_path: dict[str, list[Edit]] = {}
    for path, edit in dict.fromkeys(choice.edits):
        by_path.setdefault(path, []).append(edit)
    return [
        line
        for path, edits in by_path.items()
        if path in known
        for line in _file(known[path], edits, report, paint)
    ]


def _cells(line: str) -> int:
    """Return how many cells a line takes; a tab counts as eight."""
    return cells(_ESCAPE.sub("", line).replace("\t", " " * 8))


def _side_by_side(left: Sequence[str], right: Sequence[str], wide: int, paint: Paint) -> list[str]:
    """Set the reasons to the left of the hunks."""
    bar = paint("blue", _BETWEEN)
    return [
        f"{one}{' ' * (wide - _cells(one))}{bar}{other}".rstrip()
        for one, other in zip_longest(left, right, fillvalue="")
    ]


def _finding(finding: Finding, report: Report, wide: int, paint: Paint) -> list[str]:
    place = locate(finding, sources(report).get(finding.path))
    label = f"{finding.severity}[{finding.code}]: "
    first, *rest = _wrapped(label + plain(finding.message), wide, "  ")
    told = paint(SEVERITY_STYLES[finding.severity], first[: len(label)].rstrip(": ")) + paint("bold", ":")
    lines = [f"{told} {paint('bold', first[len(label) :])}", *(paint("bold", line) for line in rest)]
    where = f"{clickable(plain(finding.path), report)}:{place.line}:{place.column}"
    lines += [paint("blue", "  --> ") + where]
    way = f"{finding.origin} → {finding.to}" if finding.origin else finding.to
    since = f", gone since {finding.removed_in}" if finding.removed_in else ""
    lines += _note(TITLES[effect(finding)], f"{way}{since}", wide, paint)
    lines += _note("why", finding.reason, wide, paint) if finding.reason else []
    for text in finding.evidence:
        lines += _note("evidence", text, wide, paint)
    return lines


def _note(label: str, text: str, wide: int, paint: Paint) -> list[str]:
    lead = f"  = {label}: "
    first, *rest = _wrapped(lead + plain(" ".join(text.split())), wide, "    ")
    return [f"  {paint('blue', '=')} {paint('bold', label)}: {first[len(lead) :]}", *rest]


def _wrapped(text: str, wide: int, indent: str) -> list[str]:
    return textwrap.wrap(text, wide, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True)


def _file(source: Source, edits: Sequence[Edit], report: Report, paint: Paint) -> list[str]:
    fixed = after(source, list(edits))
    if fixed is None:
        return []
    lines = [paint("bold", clickable(plain(source.path), report))]
    for hunk in hunks(source.raw, fixed.raw):
        lines += _hunk(hunk, paint)
    return lines


def _hunk(hunk: Hunk, paint: Paint) -> list[str]:
    """Draw a hunk with the words marked in which a line differs from what it became."""
    lines = [paint("cyan", hunk[0])]
    for sign, parts in paired_lines(hunk):
        style = _STYLES[sign]
        lines.append(paint(style, sign + " ") + "".join(_part(style, sign, *part, paint) for part in _shown(parts)))
    return lines


def _shown(parts: Parts) -> Parts:
    return [(changed, "\t".join(plain(piece) for piece in text.split("\t"))) for changed, text in parts]


def _part(style: str, sign: str, changed: bool, text: str, paint: Paint) -> str:
    return paint(f"{style} reverse" if changed and sign != " " else style, text)
