"""Writes what a review accepted: fixes as the engine proves them, and edited ones as the person left them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from vllm_migrate.config import place_key
from vllm_migrate.findings import Choice, Cluster, Report
from vllm_migrate.lazy import dataclass
from vllm_migrate.output._located import after, sources
from vllm_migrate.output._unified import lines_of
from vllm_migrate.plainfile import read_file
from vllm_migrate.review_state import EDIT, Answer
from vllm_migrate.runs import Job, read_report
from vllm_migrate.text import Edit, OverlapError, Source


@dataclass(frozen=True)
class Change:
    """An accepted choice: its place in `Report.choices`, itself, and what was said."""

    index: int
    choice: Choice
    answer: Answer


@dataclass
class Outcome:
    """What came of writing. left: does not go with the others. refused: in files that could not be written.

    notes: why, for people.
    """

    done: list[Change] = field(default_factory=list)
    left: list[Change] = field(default_factory=list)
    refused: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def current(job: Job, path: str) -> bytes | None:
    """Return the bytes of a file of the run as they are now, None where it cannot be read."""
    try:
        return read_file(job.root / path, 1 << 40, follow=False)
    except OSError:
        return None


def write(job: Job, report: Report, changes: Sequence[Change], clusters: Sequence[Cluster]) -> Outcome:
    """Write accepted fixes, each file whole or not at all; a fix of several files in all of them or none.

    report: what the changes were chosen from, of the files as they are.
    """
    from vllm_migrate import write as files

    outcome = Outcome()
    plain = [c for c in changes if c.answer.word != EDIT]
    own = [c for c in changes if c.answer.word == EDIT]
    texts: dict[str, Source] = {}
    good: list[Change] = []
    if plain:
        chosen = frozenset(place_key(f) for change in plain for f in change.choice.findings)
        proved = read_report(job, replace(job.config, fix=True, chosen=chosen), again=True)
        texts = {f.path: f.fixed for f in proved.files if f.fixed is not None}
        applied = {id(fix) for file in proved.files for fix in file.applied}
        there = {place_key(f) for f in proved.findings() if f.fix is not None and id(f.fix) in applied}
        for change in plain:
            lost = [f for f in change.choice.findings if f.fix is not None and place_key(f) not in there]
            if lost:
                outcome.left.append(change)
                outcome.notes.append(
                    f"{lost[0].path}: {lost[0].subject}: the fix no longer applies, left alone"
                    + (f": {lost[0].withheld}" if lost[0].withheld else "")
                )
            else:
                good.append(change)
    known = sources(report)
    proved_texts = dict(texts)
    written = list(good)
    mine: list[Change] = []
    for change in own:
        try:
            texts.update(_with_own([*mine, change], written, proved_texts, known, clusters))
            mine.append(change)
            good.append(change)
        except OverlapError:
            outcome.left.append(change)
            where = change.choice.findings[0].path
            outcome.notes.append(f"{where}: an edited fix meets the lines of another accepted one, left alone")
    ready = {
        job.root / path: (known[path].raw, text.raw)
        for path, text in texts.items()
        if path in known and text.raw != known[path].raw
    }
    together = [{job.root / path for path, _ in _places(change)} for change in good]
    refused = files.replace_all(ready, together, job.root)
    outcome.notes += [f"error: {reason}" for reason in refused.values()]
    for change in good:
        stuck = any(job.root / path in refused for path, _ in _places(change))
        (outcome.refused if stuck else outcome.done).append(change)
    return outcome


def _places(change: Change) -> list[tuple[str, Edit]]:
    if change.answer.word == EDIT:
        return [(path, Edit(start, end, text)) for path, start, end, text in change.answer.edits]
    return change.choice.edits


def _with_own(
    own: Sequence[Change],
    written: Sequence[Change],
    proved: dict[str, Source],
    known: dict[str, Source],
    clusters: Sequence[Cluster],
) -> dict[str, Source]:
    """Return the files of the last of some edited fixes, with it. Raises OverlapError where it meets another one.

    written: what is accepted as it is. proved: the files with that.
    """
    out: dict[str, Source] = {}
    for path in {path for path, _ in _places(own[-1])}:
        edits = joint([c.index for c in written], [c.choice for c in written], clusters, path)
        if path in proved and known[path].with_edits(edits).raw != proved[path].raw:
            # The engine wrote otherwise than the fixes say: the places of the edit are not sure.
            raise OverlapError(path)
        edits += [edit for change in own for p, edit in _places(change) if p == path]
        out[path] = known[path].with_edits(edits)
    return out


def joint(indices: Sequence[int], choices: Sequence[Choice], clusters: Sequence[Cluster], path: str) -> list[Edit]:
    """Return the edits some choices make of a file together."""
    out: list[Edit] = []
    alone = set(indices)
    for cluster in clusters:
        mine = frozenset(cluster.members) & frozenset(indices)
        if cluster.path == path and mine in cluster.together:
            out += cluster.together[mine]
            alone -= mine
    for index, choice in zip(indices, choices, strict=True):
        if index in alone:
            out += [edit for p, edit in choice.edits if p == path]
    return out


def edited(
    job: Job, report: Report, choice: Choice, edit: Callable[[str, str], str | None]
) -> list[tuple[str, int, int, str]]:
    """Let the person rewrite what a fix would write, file by file; returns (path, start, end, text) of each.

    Empty where nothing was edited, or where what was written does not parse and the person was told so.
    """
    known = sources(report)
    by_path: dict[str, list[Edit]] = {}
    for path, one in dict.fromkeys(choice.edits):
        by_path.setdefault(path, []).append(one)
    out: list[tuple[str, int, int, str]] = []
    touched = False
    for path, edits in by_path.items():
        source = known.get(path)
        fixed = after(source, edits) if source is not None else None
        if source is None or fixed is None:
            return []
        start, end, new = _region(source, fixed)
        given = edit(new.replace("\r\n", "\n"), path)
        touched |= given is not None
        if given is not None and not given.strip() and new.strip():
            job.note(["Nothing was left of it: the edit is dropped."])
            return []
        text = new if given is None else given.replace("\r\n", "\n").replace("\n", source.newline)
        out.append((path, start, end, text))
        problem = _problem(job, source, source.with_edits([Edit(start, end, text)]))
        if problem:
            job.note([f"{path}: the edited text does not parse: {problem}"])
            return []
    return out if touched else []


def _region(source: Source, fixed: Source) -> tuple[int, int, str]:
    """Return where the lines that a fix changes begin and end, and what stands there after it."""
    shift = 3 if source.bom else 0
    old, new = lines_of(source.raw[shift:]), lines_of(fixed.raw[shift:])
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = len(b"".join(old[:head]).decode("utf-8"))
    end = start + len(b"".join(old[head : len(old) - tail]).decode("utf-8"))
    return start, end, b"".join(new[head : len(new) - tail]).decode("utf-8")


def _problem(job: Job, before: Source, now: Source) -> str:
    """Return what of an edited file does not parse and did before, "" where all is well."""
    from vllm_migrate import engine

    reader = getattr(engine, "read", None)
    if reader is None:
        return ""
    counts = []
    for source in (before, now):
        file = reader(source.path, source.raw, job.root)
        reading = getattr(file, "reading", None)
        counts.append([p.message for p in reading.problems if p.kind == "syntax"] if reading is not None else [])
    return counts[1][-1] if len(counts[1]) > len(counts[0]) else ""
