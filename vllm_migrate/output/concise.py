"""One line a finding: `path:line:col: CODE [*] message`."""

from __future__ import annotations

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import clickable, located
from vllm_migrate.output._paint import SEVERITY_STYLES, Paint, plain, spoken


def render(report: Report, settings: Config) -> str:
    """Return a line a finding; `[*]` marks those `fix` with these options would fix."""
    paint = Paint(settings.color)
    several = len(report.targets) > 1
    lines = []
    for place in located(report):
        finding = place.finding
        where = f"{spoken(clickable(plain(finding.path), report))}:{place.line}:{place.column}"
        code = paint(SEVERITY_STYLES[finding.severity], finding.code)
        star = " [*]" if settings.takes(finding) else ""
        target = f" ({finding.to})" if several else ""
        lines.append(f"{where}: {code}{star} {plain(finding.message)}{target}\n")
    return "".join(lines)
