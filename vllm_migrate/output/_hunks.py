"""One fix of a review as a terminal shows it: what was found and why, and beside it what would change."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

from vllm_migrate.findings import Choice, Finding, Report
from vllm_migrate.output._effect import TITLES, effect
from vllm_migrate.output._grouped import site_of
from vllm_migrate.output._launches import launch_name
from vllm_migrate.output._located import after, clickable, locate, sources
from vllm_migrate.output._paint import SEVERITY_STYLES, Paint, plain
from vllm_migrate.output._unified import Hunk, hunks
from vllm_migrate.output._words import Parts, paired_lines
from vllm_migrate.text import Edit, Source

_WIDEST = 110
_STYLES = {"-": "red", "+": "green", " ": "dim"}
_MANY = 8


def page(choice: Choice, report: Report, number: int, total: int, paint: Paint, width: int = 0) -> str:
    """Return one fix for a person to decide on, an empty line after it.

    number: its turn, from 1, of total. width: of the terminal, 0 to ask for it.
    """
    wide = min(width or shutil.get_terminal_size((100, 24)).columns, _WIDEST)
    safe = choice.safety == "safe"
    mark = paint("bold green", "safe") if safe else paint("bold yellow", "unsafe: a person must agree")
    first = choice.findings[0]
    site = site_of(first)
    where = f" in {launch_name(site)}" if site is not None else ""
    lines = [paint("blue", "─" * wide), f"{paint('bold', f'{number} of {total}')}{where}: {mark}"]
    for finding in choice.findings[:_MANY]:
        lines += _finding(finding, report, wide, paint)
    if len(choice.findings) > _MANY:
        lines.append(f"and {len(choice.findings) - _MANY} more that the same change answers")
    for text in dict.fromkeys(f.fix.description for f in choice.findings if f.fix is not None):
        lines += _note("fix", text, wide, paint)
    whys = list(dict.fromkeys(f.fix.why for f in choice.findings if f.fix is not None and f.fix.why))
    for why in whys:
        if not any(other != why and other in why for other in whys):
            lines += _note("a person must decide", why, wide, paint)
    known = sources(report)
    by_path: dict[str, list[Edit]] = {}
    for path, edit in dict.fromkeys(choice.edits):
        by_path.setdefault(path, []).append(edit)
    for path, edits in by_path.items():
        if path in known:
            lines += _file(known[path], edits, report, paint)
    return "\n".join(lines) + "\n\n"


def _finding(finding: Finding, report: Report, wide: int, paint: Paint) -> list[str]:
    place = locate(finding, sources(report).get(finding.path))
    head = paint(SEVERITY_STYLES[finding.severity], f"{finding.severity}[{finding.code}]")
    lines = [f"{head}{paint('bold', ': ' + plain(finding.message))}"]
    lines.append(f"  {paint('blue', '-->')} {clickable(plain(finding.path), report)}:{place.line}:{place.column}")
    way = f"{finding.origin} → {finding.to}" if finding.origin else f"→ {finding.to}"
    since = f", gone since {finding.removed_in}" if finding.removed_in else ""
    lines += _note(TITLES[effect(finding)], f"{way}{since}", wide, paint)
    lines += _note("why", finding.reason, wide, paint) if finding.reason else []
    for text in finding.evidence:
        lines += _note("evidence", text, wide, paint)
    return lines


def _note(label: str, text: str, wide: int, paint: Paint) -> list[str]:
    lead = f"  = {label}: "
    wrapped = textwrap.wrap(
        plain(" ".join(text.split())), max(wide - 4, 20), initial_indent=" " * (len(lead) - 4),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    first, *rest = wrapped or [""]
    return [f"  {paint('blue', '=')} {paint('bold', label)}: {first.lstrip()}", *("    " + line for line in rest)]


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
