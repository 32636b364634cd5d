"""Reviewdog's diagnostic format, with suggestions."""

from __future__ import annotations

import json
from typing import Any

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import Located, after, edits_by_file, located, repository_prefix, sources
from vllm_migrate.text import Edit, Source

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(report: Report, settings: Config) -> str:
    """Return the diagnostics. Columns are bytes of the line from 1, as the format has them."""
    prefix = repository_prefix(report)
    known = sources(report)
    diagnostics = [_diagnostic(place, prefix, known) for place in located(report)]
    whole = {"source": {"name": "vllm-migrate"}, "diagnostics": diagnostics}
    return json.dumps(whole, indent=1) + "\n"


def _diagnostic(place: Located, prefix: str, known: dict[str, Source]) -> dict[str, Any]:
    finding = place.finding
    location: dict[str, Any] = {"path": prefix + finding.path}
    if place.source is not None:
        location["range"] = _range(place.source, finding.span.start, finding.span.end)
    out: dict[str, Any] = {
        "message": finding.message,
        "location": location,
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
    }
    changes = edits_by_file(finding, known)
    # A suggestion is one range of the file the diagnostic is about; a fix of two files has none.
    if len(changes) == 1 and next(iter(changes)).path == finding.path:
        suggestion = _suggestion(*next(iter(changes.items())))
        if suggestion is not None:
            out["suggestions"] = [suggestion]
    return out


def _suggestion(source: Source, edits: list[Edit]) -> dict[str, Any] | None:
    fixed = after(source, edits)
    if fixed is None:
        return None
    start, end = min(e.start for e in edits), max(e.end for e in edits)
    text = fixed.text[start : len(fixed.text) - (len(source.text) - end)]
    return {"range": _range(source, start, end), "text": text}


def _range(source: Source, start: int, end: int) -> dict[str, Any]:
    return {"start": _position(source, start), "end": _position(source, end)}


def _position(source: Source, offset: int) -> dict[str, int]:
    line, column = source.position(min(offset, len(source.text)))
    return {"line": line, "column": len(source.line(line)[: column - 1].encode("utf-8")) + 1}
