"""Workflow commands that GitHub shows as annotations."""

from __future__ import annotations

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import located, repository_prefix
from vllm_migrate.output._paint import plain

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, settings: Config) -> str:
    """Return one command a finding; paths are relative to the repository."""
    prefix = repository_prefix(report)
    lines = []
    for place in located(report):
        finding = place.finding
        properties: dict[str, str | int] = {
            "title": f"vllm-migrate {finding.code}",
            "file": prefix + finding.path,
            "line": place.line,
            "endLine": place.end_line,
        }
        if place.line == place.end_line:
            # Columns of a range over several lines are refused.
            properties["col"] = place.column
            properties["endColumn"] = place.end_column
        listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
        text = finding.message + (f"\n{finding.help}" if finding.help else "")
        lines.append(f"::{_LEVELS[finding.severity]} {listed}::{_data(text)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    text = "".join(c if c in "\r\n" else plain(c) for c in text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
