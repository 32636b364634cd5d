"""What the page's program works on: the edits there are, and the lines around them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from vllm_migrate.findings import Choice, Cluster, Report
from vllm_migrate.output._located import repository_prefix, sources
from vllm_migrate.output._unified import head_of
from vllm_migrate.text import Edit, Source

_CONTEXT = 3


def embedded(
    report: Report,
    choices: Sequence[Choice],
    clusters: Sequence[Cluster],
    ticked: Collection[int],
    launches: list[list[tuple[str, int | None]]],
    name: str,
) -> str:
    """Return the data as JSON that can stand inside a script element.

    Offsets count UTF-16 units in one part of a file: lines around edits, with the number of the first one.
    launches: the findings of each as (effect, choice). name: what the patch file is called.
    """
    known, prefix = sources(report), repository_prefix(report)
    edits: dict[str, list[Edit]] = {}
    for choice in choices:
        for path, edit in choice.edits:
            edits.setdefault(path, []).append(edit)
    for cluster in clusters:
        for together in cluster.together.values():
            edits.setdefault(cluster.path, []).extend(together)
    files = {path: _File(known[path], mine) for path, mine in sorted(edits.items()) if path in known}
    number = {path: i for i, path in enumerate(files)}
    data: dict[str, Any] = {
        "name": name,
        "ticked": sorted(ticked),
        "launches": launches,
        "files": [
            {"head": head_of(prefix + path).decode("utf-8"), "parts": file.parts} for path, file in files.items()
        ],
        "choices": [
            [[number[path], *files[path].placed(edit)] for path, edit in dict.fromkeys(choice.edits) if path in number]
            for choice in choices
        ],
        "clusters": [
            {
                "file": number[cluster.path],
                "members": list(cluster.members),
                "together": {
                    " ".join(map(str, sorted(some))): [files[cluster.path].placed(e) for e in dict.fromkeys(mine)]
                    for some, mine in cluster.together.items()
                },
            }
            for cluster in clusters
            if cluster.path in number
        ],
    }
    # Inside a script element only `<` could end it, or start a comment.
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


class _File:
    """The parts of a file that its edits can change, with the lines a patch shows around them."""

    def __init__(self, source: Source, edits: Iterable[Edit]) -> None:
        self.shift = 1 if source.bom else 0
        text = "\ufeff" * self.shift + source.text
        # Lines as git counts them: `\n` alone ends one.
        starts = [0]
        at = text.find("\n")
        while 0 <= at < len(text) - 1:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        self.bounds: list[tuple[int, int]] = []
        self.parts: list[tuple[int, str]] = []
        self._texts: list[str] = []
        for first, last in _windows(starts, [(e.start + self.shift, e.end + self.shift) for e in edits]):
            end = starts[last + 1] if last + 1 < len(starts) else len(text)
            self.bounds.append((starts[first], end))
            self._texts.append(text[starts[first] : end])
            self.parts.append((first + 1, text[starts[first] : end]))

    def placed(self, edit: Edit) -> list[Any]:
        """Return an edit as [part, start, end, text]."""
        start, end = edit.start + self.shift, edit.end + self.shift
        part = next(i for i, (a, b) in enumerate(self.bounds) if a <= start and end <= b)
        text = self._texts[part]
        return [part, _units(text, start - self.bounds[part][0]), _units(text, end - self.bounds[part][0]), edit.text]


def _units(text: str, offset: int) -> int:
    return offset if text.isascii() else len(text[:offset].encode("utf-16-le")) // 2


def _windows(starts: Sequence[int], spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of lines (from 0, both ends counted) around some spans."""
    import bisect

    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first = max(bisect.bisect_right(starts, start) - 1 - _CONTEXT, 0)
        last = min(bisect.bisect_right(starts, end) - 1 + _CONTEXT, len(starts) - 1)
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out
