"""A file of findings that are known and not reported, for taking the tool up on an old repository.

A finding is recognised by its file, code, subject and the text of its line, not by the line's number, so
that it is still known after lines above it have moved. Two alike in one file count as two.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path
from typing import Any

from vllm_migrate.datafile import read_json
from vllm_migrate.findings import Finding, Report
from vllm_migrate.lazy import dataclass
from vllm_migrate.text import Source

_VERSION = 1
_NEAR = 1000
"""Letters on each side of a finding that tell it, where its line is longer than that."""


class BaselineError(ValueError):
    """A baseline file cannot be used; the message names it."""


def fingerprint(finding: Finding, source: Source | None) -> str:
    """Return what a finding is recognised by: 16 hex digits over file, code, subject and line text."""
    import hashlib

    line = _line(source, finding.span.start) if source is not None else ""
    parts = (finding.path, finding.code, finding.migration, finding.subject, " ".join(line.split()))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _line(source: Source, at: int) -> str:
    """Return the text of the line of an offset; of a very long one, what stands near."""
    number, column = source.position(at)
    start = at - column + 1
    starts = source.line_starts
    end = starts[number] if number < len(starts) else len(source.text)
    if end - start > 2 * _NEAR:
        return source.text[max(start, at - _NEAR) : min(end, at + _NEAR)]
    return source.line(number)


@dataclass
class Baseline:
    """The known findings of a file, and how many of each have been met in this run."""

    known: Counter[str] = field(default_factory=Counter)
    _met: Counter[tuple[str, str]] = field(default_factory=Counter)

    def hides(self, finding: Finding, source: Source | None) -> bool:
        """Tell whether a finding is known. Each call counts as one meeting of it."""
        if not self.known:
            return False
        print_ = fingerprint(finding, source)
        # Each target of a rolling upgrade reports the same finding once.
        met = (print_, finding.to)
        if self._met[met] >= self.known[print_]:
            return False
        self._met[met] += 1
        return True


def load(path: Path | None) -> Baseline:
    """Return the baseline of a file; an empty one for None. Raises BaselineError."""
    if path is None:
        return Baseline()
    return Baseline(Counter({e["fingerprint"]: e["count"] for e in _entries(path)}))


def _entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a baseline file, each with its fingerprint and count. Raises BaselineError."""
    try:
        data = read_json(path, BaselineError)
        if data["version"] != _VERSION:
            raise BaselineError(f"{path}: baseline version {data['version']!r} is not known")
        return [
            {**e, "fingerprint": e["fingerprint"], "count": int(e.get("count", 1))} for e in data["findings"]
        ]
    except BaselineError:
        if not path.exists():
            raise BaselineError(f"{path}: No such file or directory; --write-baseline writes one") from None
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise BaselineError(f"{path}: not a baseline file; write one with --write-baseline") from None


def dump(report: Report) -> str:
    """Return the text of a baseline file that knows every finding of a report."""
    counts = _counted(report)
    entries: dict[str, dict[str, Any]] = {}
    for file in report.files:
        for finding in file.findings:
            print_ = fingerprint(finding, file.source)
            entries[print_] = {
                "path": finding.path,
                "code": finding.code,
                "subject": finding.subject,
                "fingerprint": print_,
            }
    for print_, entry in entries.items():
        entry["count"] = counts[print_]
    return _text(entries.values())


def pruned(path: Path, report: Report, covers: Callable[[str], bool]) -> tuple[str, int]:
    """Return the text of a baseline without what a report no longer finds, and how many findings went.

    Nothing is added. covers: tells of an entry's path whether the run looked there. Raises BaselineError.
    """
    now = _counted(report)
    kept, gone = [], 0
    for entry in _entries(path):
        count = entry["count"]
        left = min(count, now[entry["fingerprint"]]) if covers(str(entry.get("path", ""))) else count
        gone += count - left
        if left:
            kept.append({**entry, "count": left})
    return _text(kept), gone


def _counted(report: Report) -> Counter[str]:
    """Return how often each finding is met; what several targets of a rolling upgrade report counts once."""
    found = Counter((fingerprint(f, file.source), f.to) for file in report.files for f in file.findings)
    out: Counter[str] = Counter()
    for (print_, _), count in found.items():
        out[print_] = max(out[print_], count)
    return out


def _text(entries: Iterable[dict[str, Any]]) -> str:
    for entry in entries:
        if entry["count"] == 1:
            del entry["count"]
    ordered = sorted(entries, key=lambda e: (e["path"], e["code"], e["subject"], e["fingerprint"]))
    lines = ",\n".join("  " + json.dumps(entry) for entry in ordered)
    body = f"[\n{lines}\n ]" if ordered else "[]"
    return f'{{\n "version": {_VERSION},\n "findings": {body}\n}}\n'
