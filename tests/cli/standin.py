"""An engine that knows one thing, for tests of the command line: `--swap-space N` goes, `--risky` may."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vllm_migrate import baseline, suppress
from vllm_migrate.config import Config
from vllm_migrate.discover import Walk
from vllm_migrate.findings import FileResult, Finding, Fix, Report
from vllm_migrate.text import Edit, Source, Span, UndecodableError


@dataclass(frozen=True)
class Ran:
    status: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()


Run = Callable[..., Ran]


_KINDS = (
    (re.compile(r" --swap-space \d+"), "VM101", "error", "safe"),
    (re.compile(r" --risky"), "VM301", "warning", "unsafe"),
    (re.compile(r" --note"), "VM109", "info", None),
)


def run_walk(walk: Walk, files: Iterable[tuple[str, bytes]], paths: Sequence[Path]) -> Report:
    known = baseline.load(walk.config.baseline)
    read = [_file(name, raw, walk.config, known) for name, raw in files]
    return _report(read, walk.root, walk.config, walk.looked_at)


def run_text(name: str, raw: bytes, root: Path, settings: Config, host: object = None) -> Report:
    return _report([_file(name, raw, settings, baseline.load(settings.baseline))], root, settings, 1)


def _report(files: list[FileResult], root: Path, settings: Config, walked: int) -> Report:
    left_out = sum(
        f.fix is not None and f.fix.safety == "unsafe" and not settings.unsafe_fixes
        for file in files
        for f in file.findings
    )
    notices = [] if settings.to else ["no release given; taking 0.33.0, the newest known"]
    targets = list(settings.to) or ["0.33.0"]
    return Report(targets, files, walked, notices, str(root), left_out)


def _file(name: str, raw: bytes, settings: Config, known: baseline.Baseline) -> FileResult:
    try:
        source = Source(name, raw)
    except UndecodableError as error:
        broken = Finding("VM001", "error", name, str(error), name, Span(0, 0), "0.33.0")
        return FileResult(name, None, [broken])
    result = FileResult(name, source, sites=source.text.count("vllm serve"))
    hidden = suppress.read(source)
    edits = []
    for pattern, code, severity, safety in _KINDS:
        for match in pattern.finditer(source.text):
            span = Span(match.start() + 1, match.end())
            subject = match.group().split()[0]
            finding = Finding(code, severity, subject, f"{subject} is gone", name, span, "0.33.0")  # type: ignore[arg-type]
            if safety:
                edit = Edit(match.start(), match.end(), "")
                finding.fix = Fix(safety, f"Remove {subject}", [], edits=[(name, edit)])  # type: ignore[arg-type]
            if (
                not settings.reports(code, "", name)
                or hidden.hides(finding, source)
                or known.hides(finding, source)
            ):
                continue
            result.findings.append(finding)
            if finding.fix and settings.fix and settings.takes(finding):
                result.applied.append(finding.fix)
                edits.append(edit)
    if edits:
        result.fixed = source.with_edits(edits)
    return result
