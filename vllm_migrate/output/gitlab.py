"""A Code Quality report for GitLab."""

from __future__ import annotations

import json
from collections import Counter

from vllm_migrate.baseline import fingerprint
from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import located, repository_prefix

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report, settings: Config) -> str:
    """Return the list of issues; fingerprints stay the same when lines move."""
    prefix = repository_prefix(report)
    seen: Counter[str] = Counter()
    issues = []
    for place in located(report):
        finding = place.finding
        print_ = fingerprint(finding, place.source)
        seen[print_] += 1
        issues.append(
            {
                "type": "issue",
                "check_name": finding.code,
                "description": f"{finding.code}: {finding.message}",
                # GitLab drops an issue whose fingerprint another one has.
                "fingerprint": print_ if seen[print_] == 1 else f"{print_}-{seen[print_]}",
                "severity": _SEVERITIES[finding.severity],
                "location": {
                    "path": prefix + finding.path,
                    "lines": {"begin": place.line, "end": place.end_line},
                },
            }
        )
    return json.dumps(issues, indent=1) + "\n"
