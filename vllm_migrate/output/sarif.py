"""SARIF 2.1.0, as code scanning services take it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from vllm_migrate import __version__
from vllm_migrate.baseline import fingerprint
from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import Located, edits_by_file, located, repository_prefix, sources
from vllm_migrate.text import Source

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report, settings: Config) -> str:
    """Return one run; columns count code points."""
    prefix = repository_prefix(report)
    known = sources(report)
    places = list(located(report))
    codes = sorted({place.finding.code for place in places})
    driver = {"name": "vllm-migrate", "version": __version__, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(place, codes, prefix, known) for place in places],
    }
    whole = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, indent=1) + "\n"


def _rule(code: str) -> dict[str, Any]:
    from vllm_migrate.rules.registry import rules

    rule = rules().get(code)
    if rule is None:
        return {"id": code}
    out: dict[str, Any] = {
        "id": code,
        "name": rule.slug,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    if rule.docs:
        out["help"] = {"text": rule.docs}
    return out


def _result(place: Located, codes: list[str], prefix: str, known: dict[str, Source]) -> dict[str, Any]:
    finding = place.finding
    physical: dict[str, Any] = {"artifactLocation": _artifact(prefix + finding.path)}
    if place.source is not None:
        physical["region"] = {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        }
    text = finding.message + (f"\n{finding.help}" if finding.help else "")
    out: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {"vllmMigrate/v1": fingerprint(finding, place.source)},
        "properties": {"subject": finding.subject, "from": finding.origin, "to": finding.to},
    }
    changes = edits_by_file(finding, known)
    if finding.fix is not None and changes:
        out["fixes"] = [
            {
                "description": {"text": finding.fix.description},
                "artifactChanges": [
                    {
                        "artifactLocation": _artifact(prefix + source.path),
                        "replacements": [_replacement(source, e.start, e.end, e.text) for e in sorted(edits)],
                    }
                    for source, edits in changes.items()
                ],
            }
        ]
    return out


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path, errors="surrogateescape")}


def _replacement(source: Source, start: int, end: int, text: str) -> dict[str, Any]:
    line, column = source.position(start)
    end_line, end_column = source.position(end)
    region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    return {"deletedRegion": region, "insertedContent": {"text": text}}
