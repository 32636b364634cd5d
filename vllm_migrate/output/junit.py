"""JUnit XML: one suite a file, one case a finding."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.lazy import regex
from vllm_migrate.output._located import Located, located_in
from vllm_migrate.output._paint import plain

# What XML 1.0 has no way to write, and what steers who shows it.
_ILLEGAL = regex("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u007f-\u009f\u2028-\u202e\u2066-\u2069]")


def render(report: Report, settings: Config) -> str:
    """Return the report; a finding below `--fail-on` is a case that passed, with a note."""
    suites = []
    tests = failures = 0
    for file in sorted(report.files, key=lambda f: f.path):
        places = list(located_in(file))
        cases = [_case(place, settings) for place in places]
        cases = cases or [f"  <testcase name={_attribute(file.path)}/>\n"]
        failed = sum(settings.fails(place.finding.severity) for place in places)
        suites.append(
            f' <testsuite name={_attribute(file.path)} tests="{len(cases)}" failures="{failed}" errors="0">\n'
            f"{''.join(cases)} </testsuite>\n"
        )
        tests += len(cases)
        failures += failed
    head = f'<testsuites name="vllm-migrate" tests="{tests}" failures="{failures}" errors="0">\n'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}{"".join(suites)}</testsuites>\n'


def _case(place: Located, settings: Config) -> str:
    finding = place.finding
    name = _attribute(f"{finding.code} {finding.subject}")
    start = f'  <testcase name={name} classname={_attribute(finding.path)} line="{place.line}">\n'
    body = f"{plain(finding.path)}:{place.line}:{place.column}: {finding.severity}: {finding.message}"
    if finding.help:
        body += f"\n{finding.help}"
    if settings.fails(finding.severity):
        message = _attribute(finding.message)
        inner = f'   <failure message={message} type="{finding.severity}">{_text(body)}</failure>\n'
    else:
        inner = f"   <system-out>{_text(body)}</system-out>\n"
    return f"{start}{inner}  </testcase>\n"


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)


def _text(text: str) -> str:
    return escape(_clean(text))


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))
