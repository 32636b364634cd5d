"""Findings with the places people and tools want: lines, columns, bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from vllm_migrate.findings import FileResult, Finding, Report
from vllm_migrate.gitignore import git_top
from vllm_migrate.lazy import dataclass
from vllm_migrate.text import Edit, OverlapError, Source


@dataclass(frozen=True)
class Located:
    """A finding and where it is: lines and columns from 1, in code points, the end exclusive."""

    finding: Finding
    source: Source | None
    line: int
    column: int
    end_line: int
    end_column: int


def locate(finding: Finding, source: Source | None) -> Located:
    """Return a finding with its place; the file's beginning where its text could not be read."""
    if source is None:
        return Located(finding, None, 1, 1, 1, 1)
    start = source.position(min(finding.span.start, len(source.text)))
    end = source.position(min(max(finding.span.end, finding.span.start), len(source.text)))
    return Located(finding, source, *start, *end)


def located(report: Report) -> Iterator[Located]:
    """Yield every finding of a report with its place, by path, then place, then code."""
    for file in sorted(report.files, key=lambda f: f.path):
        yield from located_in(file)


def located_in(file: FileResult) -> Iterator[Located]:
    """Yield the findings of one file with their places, in order."""
    for finding in sorted(file.findings, key=lambda f: (f.span, f.code, f.subject, f.to)):
        yield locate(finding, file.source)


def sources(report: Report) -> dict[str, Source]:
    """Return the sources of a report's files by path."""
    return {file.path: file.source for file in report.files if file.source is not None}


def edits_by_file(finding: Finding, known: dict[str, Source]) -> dict[Source, list[Edit]]:
    """Return the edits of a finding's fix by the file they are for; files not in the report are left out."""
    found: dict[Source, list[Edit]] = {}
    for path, edit in finding.fix.edits if finding.fix is not None else ():
        if path in known:
            found.setdefault(known[path], []).append(edit)
    return found


def after(source: Source, edits: list[Edit]) -> Source | None:
    """Return a source after the edits of one fix, None where they do not fit it."""
    try:
        return source.with_edits(edits)
    except OverlapError:
        return None


def repository_prefix(report: Report) -> str:
    """Return what stands before a report's paths to make them relative to the git work tree: "" or "a/b/"."""
    root = Path(report.root) if report.root else Path.cwd()
    top = git_top(root.resolve())
    if top is None:
        return ""
    inside = root.resolve().relative_to(top).as_posix()
    return "" if inside == "." else inside + "/"


def clickable(path: str, report: Report) -> str:
    """Return a path as a terminal in the working directory can open it."""
    if not report.root:
        return path
    here = os.getcwd()
    if here == report.root:
        return path
    full = os.path.join(report.root, path)
    inside = here.startswith(report.root.rstrip(os.sep) + os.sep)
    return os.path.relpath(full, here) if inside or full.startswith(here.rstrip(os.sep) + os.sep) else full


def counts(report: Report) -> dict[str, int]:
    """Return the numbers of a run: files, sites, errors, warnings, infos, fixable."""
    findings = report.findings()
    number = {"files": len(report.files), "sites": report.sites}
    for severity in ("error", "warning", "info"):
        number[severity + "s"] = sum(f.severity == severity for f in findings)
    number["fixable"] = sum(f.fix is not None for f in findings)
    return number
