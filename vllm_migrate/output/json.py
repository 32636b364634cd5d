"""The report for programs; its form is `schemas/report.schema.json`."""

from __future__ import annotations

import json
from typing import Any

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.model import Site
from vllm_migrate.output._located import Located, counts, located, sources
from vllm_migrate.text import Source


def render(report: Report, settings: Config) -> str:
    """Return the report as JSON. Offsets of edits are bytes of the file on disk, ends exclusive."""
    return json.dumps(data(report), indent=1, ensure_ascii=True) + "\n"


def data(report: Report) -> dict[str, Any]:
    """Return the report as plain values."""
    known = sources(report)
    return {
        "version": 1,
        "target": _target(report),
        "targets": list(report.targets),
        "summary": counts(report),
        "findings": [_finding(place, known) for place in located(report)],
    }


def _target(report: Report) -> str | None:
    """Return the release to reach: the last one asked for, else the newest that pins led to."""
    if report.targets:
        return report.targets[-1]
    from vllm_migrate.versions_key import key

    return max((f.to for f in report.findings() if f.to), key=key, default=None)


def _finding(place: Located, known: dict[str, Source]) -> dict[str, Any]:
    finding, site = place.finding, place.finding.site
    return {
        "code": finding.code,
        "severity": finding.severity,
        "subject": finding.subject,
        "message": finding.message,
        "path": finding.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "from": finding.origin,
        "to": finding.to,
        "removed_in": finding.removed_in,
        "replacement": finding.replacement,
        "migration": finding.migration or None,
        "reason": finding.reason,
        "help": finding.help,
        "evidence": list(finding.evidence),
        "site": _site(site) if site else None,
        "related": list(finding.related),
        "withheld": finding.withheld or None,
        "fix": _fix(place, known),
    }


def _site(site: Site) -> dict[str, Any]:
    out = {"entry_point": site.entry_point, "host": site.host}
    return {**out, "wrapper": site.wrapper} if site.wrapper else out


def _fix(place: Located, known: dict[str, Source]) -> dict[str, Any] | None:
    fix = place.finding.fix
    if fix is None:
        return None
    edits = [
        {
            "path": path,
            "start": known[path].byte_offset(edit.start),
            "end": known[path].byte_offset(edit.end),
            "text": edit.text,
        }
        for path, edit in sorted(dict.fromkeys(fix.edits))
        if path in known
    ]
    return {"safety": fix.safety, "description": fix.description, "why": fix.why or None, "edits": edits}
