"""Walks a person through the fixes of a run, one by one: accept, skip, edit, explain, quit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from vllm_migrate.config import place_key
from vllm_migrate.findings import Finding, Report
from vllm_migrate.output._located import Located, after, edits_by_file, located, sources
from vllm_migrate.output._summary import number
from vllm_migrate.output._unified import lines_of
from vllm_migrate.output.text import block
from vllm_migrate.runs import FAILED, Job, read_report, status, write_fixes
from vllm_migrate.text import Source

QUESTION = "Apply this fix? (a)ccept, (s)kip, (e)dit, e(x)plain, (q)uit"
ANSWERS = ("a", "s", "e", "x", "q")


@dataclass
class Review:
    """A walk in progress. ask: returns one of ANSWERS. edit: returns the text as edited, None if unchanged."""

    job: Job
    ask: Callable[[], str]
    edit: Callable[[str], str | None]
    done: set[tuple[str, ...]] = field(default_factory=set)
    written: int = 0
    failed: bool = False

    def run(self) -> int:
        """Go through the fixes until none is left or the person quits; returns the exit status."""
        report = read_report(self.job, self.job.config)
        while True:
            found = self._next(report)
            if found is None:
                break
            key, place = found
            self.job.out(block(place, report, self.job.config))
            answer = self.ask()
            if answer == "q":
                break
            if answer == "x":
                self._explain(place.finding)
                continue
            before = self.written
            if answer == "a":
                self._accept(place.finding)
            elif answer == "e":
                self._edit(place, sources(report))
            # What was edited, skipped or refused is not asked about again, though it may still be found.
            if answer != "a" or self.written == before:
                self.done.add(key)
            if self.written != before:
                report = read_report(self.job, self.job.config, again=True)
        left = len(report.findings())
        self.job.say([f"{number(self.written, 'fix', 'fixes')} applied, {number(left, 'finding')} left."])
        return FAILED if self.failed else status(self.job, report.findings())

    def _next(self, report: Report) -> tuple[tuple[str, ...], Located] | None:
        """Return the first finding with a fix that has not been dealt with.

        A finding is known again after others were applied by what it is about and its turn among equals,
        not by its line, which may have moved or changed.
        """
        turns: Counter[tuple[str, ...]] = Counter()
        for place in located(report):
            finding = place.finding
            about = (finding.path, finding.code, finding.subject, finding.migration)
            key = (*about, str(turns[about]))
            turns[about] += 1
            if self.job.config.takes(finding) and key not in self.done:
                return key, place
        return None

    def _accept(self, finding: Finding) -> None:
        chosen = replace(self.job.config, fix=True, chosen=frozenset({place_key(finding)}))
        report = read_report(self.job, chosen, again=True)
        self.failed |= write_fixes(self.job, report)
        if any(file.fixed is not None for file in report.files):
            self.written += 1
        else:
            self.job.note(["This fix cannot be applied by itself; `fix` may apply it with others."])

    def _edit(self, place: Located, known: dict[str, Source]) -> None:
        """Let the person rewrite the lines the fix would write."""
        from vllm_migrate import write

        changes = edits_by_file(place.finding, known)
        if len(changes) != 1:
            self.job.note(["Only a fix of one file can be edited here."])
            return
        source, edits = next(iter(changes.items()))
        fixed = after(source, edits)
        if fixed is None:
            return
        head, tail, lines = _changed(source, fixed)
        given = b"".join(lines).decode("utf-8").replace("\r\n", "\n")
        edited = self.edit(given)
        if edited is None:
            return
        middle = edited.replace("\r\n", "\n").replace("\n", source.newline).encode("utf-8")
        try:
            write.replace(self.job.root / source.path, source.raw, head + middle + tail, root=self.job.root)
        except write.WriteError as error:
            self.job.note([f"error: {error}"])
            self.failed = True
            return
        self.written += 1

    def _explain(self, finding: Finding) -> None:
        from vllm_migrate.explain import UnknownSubject, explanation

        try:
            self.job.out(explanation(finding.migration or finding.code, self.job.config) + "\n")
        except UnknownSubject as error:
            self.job.note([str(error)])


def _changed(source: Source, fixed: Source) -> tuple[bytes, bytes, list[bytes]]:
    """Return what stays before and after a change, and the new lines between."""
    old, new = lines_of(source.raw), lines_of(fixed.raw)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return b"".join(old[:head]), b"".join(old[len(old) - tail :]), new[head : len(new) - tail]
