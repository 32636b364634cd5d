"""Walks a person through the fixes of a run: accept, skip, edit, explain, go back, quit and go on later.

Nothing is written before the end, or before the person quits and says so. Every answer is kept as soon as it is
given, so that a terminal that closes loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from vllm_migrate import review_state as state
from vllm_migrate.findings import Choice, Cluster, Report
from vllm_migrate.lazy import dataclass
from vllm_migrate.output._grouped import choices_of
from vllm_migrate.output._hunks import page
from vllm_migrate.output._paint import Paint
from vllm_migrate.output._summary import number
from vllm_migrate.review_state import ACCEPT, EDIT, SKIP, Answer
from vllm_migrate.review_write import Change, current, edited, write
from vllm_migrate.runs import FAILED, Job, read_report, status

HELP = """\
y  accept: this fix is written at the end
n  skip: leave this place alone
a  accept this one and all that are left of its rule (unsafe ones only where this one is unsafe)
e  edit what the fix would write, in $VISUAL or $EDITOR, and accept that
x  explain the rule: why, since when, what instead, evidence
b  back to the answer before this one
q  quit: the answers are kept, and the next `review` goes on from here
"""
_WORDS = {
    "y": "accept", "n": "skip", "s": "skip", "a": "all", "e": "edit", "x": "explain", "b": "back", "q": "quit",
    "yes": "accept", "no": "skip", "?": "help", "h": "help",
}  # fmt: skip
_ALL = ("accept", "skip", "all", "edit", "explain", "back", "quit", "help")
_EXPLAINED = 3


class EndOfAnswers(Exception):
    """Nobody answers any more: the input ended, or the terminal was closed."""


class EditorError(Exception):
    """The editor failed; the message says how."""


@dataclass
class Review:
    """A walk in progress.

    ask: puts a question and returns the line that answers it, or raises EndOfAnswers. edit: returns a text as the
    person left it, None if unchanged, or raises EditorError; its second argument is the name of the file.
    restart: drop the answers kept from before.
    """

    job: Job
    ask: Callable[[str], str]
    edit: Callable[[str, str], str | None]
    restart: bool = False
    report: Report = field(init=False)
    choices: list[Choice] = field(init=False)
    clusters: list[Cluster] = field(init=False)
    names: dict[int, str] = field(init=False)
    answers: dict[tuple[str, ...], Answer] = field(default_factory=dict)
    past: list[list[tuple[str, ...]]] = field(default_factory=list)
    """Answers in the order they were given, those given at once together."""
    written: int = 0
    failed: bool = False
    _told: bool = False

    def run(self) -> int:
        """Go through the fixes until none is left or the person quits; returns the exit status."""
        self._read(again=False)
        self._recall()
        try:
            while self._walk():
                pass
        except EndOfAnswers:
            kept = f"{number(len(self.answers), 'answer')} kept" if self.answers else "no answer to keep"
            self.job.note(["", f"The answers have ended: {kept}, nothing more is written."])
        left = len(self.report.findings())
        self.job.say([f"{number(self.written, 'fix', 'fixes')} applied, {number(left, 'finding')} left."])
        return FAILED if self.failed else status(self.job, self.report.findings())

    def _read(self, *, again: bool = True) -> None:
        self.report = read_report(self.job, replace(self.job.config, choose=True), again=again)
        choices, self.clusters = choices_of(self.report)
        self.choices = choices
        self.names = state.names_of(self.report)

    def _offered(self) -> list[Choice]:
        return [c for c in self.choices if c.safety == "safe" or self.job.config.unsafe_fixes]

    def _key(self, choice: Choice) -> tuple[str, ...]:
        return state.about(choice, self.names)

    # Answers

    def _recall(self) -> None:
        """Take up the answers from before that still hold."""
        file = state.place(self.job.root)
        if self.restart:
            self._forget()
            return
        kept = {answer.names: answer for answer in state.load(file)}
        found = {self._key(c): c for c in self._offered()}
        held = {names: answer for names, answer in kept.items() if names in found}
        for names, answer in held.items():
            if answer.files == self._hashes(found[names]):
                self.answers[names] = answer
        self.past = [[key] for key in found if key in self.answers]
        if self.answers:
            count = number(len(self.answers), "answer")
            self.job.say([f"Going on with {count} from before; --restart asks everything again."])
        self._tell_dropped([answer for names, answer in held.items() if names not in self.answers])

    def _tell_dropped(self, dropped: list[Answer]) -> None:
        if dropped:
            paths = ", ".join(sorted({path for answer in dropped for path in answer.files}))
            self.job.note([f"{number(len(dropped), 'answer')} no longer hold, since a file has changed: {paths}"])

    def _keep(self) -> None:
        """Write the answers down; told once where that is not possible."""
        from vllm_migrate.write import WriteError, save

        try:
            save(state.place(self.job.root), state.dump(self.answers.values()))
        except WriteError as error:
            if not self._told:
                self.job.note([f"the answers cannot be kept for later: {error}"])
            self._told = True

    def _forget(self) -> None:
        import contextlib

        with contextlib.suppress(OSError):
            state.place(self.job.root).unlink()

    def _hashes(self, choice: Choice) -> dict[str, str]:
        """Return the hashes of the files a choice is about, as they were read."""
        wanted = state.paths(choice)
        return {
            file.path: state.digest(file.source.raw)
            for file in self.report.files
            if file.path in wanted and file.source is not None
        }

    def _answer(self, word: str, chosen: list[Choice], edits: list[tuple[str, int, int, str]] | None = None) -> None:
        keys = [self._key(choice) for choice in chosen]
        for key, choice in zip(keys, chosen, strict=True):
            self.answers[key] = Answer(word, key, self._hashes(choice), edits or [])
        self.past.append(keys)
        self._keep()

    # The walk

    def _walk(self) -> bool:
        """Ask until all is answered or the person quits, then write; returns whether there is more to ask."""
        while True:
            offered = self._offered()
            todo = [c for c in offered if self._key(c) not in self.answers]
            if not todo:
                return self._finish(quitting=False)
            choice = todo[0]
            turn = offered.index(choice) + 1
            self.job.out(page(choice, self.report, turn, len(offered), Paint(self.job.config.color)))
            code = choice.findings[0].code
            word = self._word(f"(y) accept, (n) skip, (a)ll of {code}, (e)dit, e(x)plain, (b)ack, (q)uit, (?)")
            if word == "quit":
                return self._finish(quitting=True)
            if word in ("accept", "all", "edit") and self._changed(choice):
                continue
            self._do(word, choice, todo)

    def _do(self, word: str, choice: Choice, todo: list[Choice]) -> None:
        if word == "accept":
            self._answer(ACCEPT, [choice])
        elif word == "skip":
            self._answer(SKIP, [choice])
        elif word == "all":
            code = choice.findings[0].code
            some = [c for c in todo if c.findings[0].code == code and (c.safety == "safe" or choice.safety == "unsafe")]
            self._answer(ACCEPT, some)
            self.job.say([f"{number(len(some), 'fix', 'fixes')} of {code} accepted."])
        elif word == "edit":
            self._edit(choice)
        elif word == "explain":
            self._explain(choice)
        elif word == "back":
            self._back()
        else:
            self.job.note(HELP.splitlines())

    def _word(self, question: str, words: tuple[str, ...] = _ALL) -> str:
        """Ask until the answer is one of those there are."""
        while True:
            given = self.ask(question).strip().lower()
            word = _WORDS.get(given, given)
            if word in words:
                return word
            self.job.note(HELP.splitlines())

    def _changed(self, choice: Choice) -> bool:
        """Tell whether a file changed since it was shown; it is then read again, and asked about again."""
        now = {path: state.digest(raw) for path in self._hashes(choice) if (raw := current(self.job, path)) is not None}
        if now == self._hashes(choice):
            return False
        self._reread()
        return True

    def _reread(self) -> None:
        """Read the files again; answers about those that changed no longer hold."""
        self._read()
        found = {self._key(c): c for c in self._offered()}
        dropped = [
            answer
            for key, answer in self.answers.items()
            if key not in found or answer.files != self._hashes(found[key])
        ]
        for answer in dropped:
            del self.answers[answer.names]
        self.past = [kept for batch in self.past if (kept := [key for key in batch if key in self.answers])]
        self.job.note(["A file changed under the review: it was read again."])
        self._tell_dropped(dropped)
        self._keep()

    def _back(self) -> None:
        if not self.past:
            self.job.note(["This is the first one."])
            return
        for key in self.past.pop():
            self.answers.pop(key, None)
        self._keep()

    def _edit(self, choice: Choice) -> None:
        try:
            edits = edited(self.job, self.report, choice, self.edit)
        except EditorError as error:
            self.job.note([f"The editor failed ({error}): nothing is changed, the fix is still open."])
            return
        if edits:
            self._answer(EDIT, [choice], edits)
        else:
            self.job.note(["Not edited: the fix is still open."])

    def _explain(self, choice: Choice) -> None:
        from vllm_migrate.explain import UnknownSubject, explanation

        subjects = list(dict.fromkeys(f.migration or f.code for f in choice.findings))
        for subject in subjects[:_EXPLAINED]:
            try:
                self.job.out(explanation(subject, self.job.config) + "\n")
            except UnknownSubject as error:
                self.job.note([str(error)])

    # The end

    def _finish(self, *, quitting: bool) -> bool:
        """Write what was accepted, once the person says so; returns whether there is more to ask."""
        taken = [c for c in self._offered() if self._word_of(c) in (ACCEPT, EDIT)]
        if not taken:
            if not quitting:
                self._forget()
            return False
        files = {path for c in taken for path, _ in c.edits}
        what = f"{number(len(taken), 'accepted fix', 'accepted fixes')} to {number(len(files), 'file')}"
        way = "(y)es, (n)o: keep the answers for later" + ("" if quitting else ", (b)ack")
        question = f"Write {what}? {way}"
        word = self._word(question, ("accept", "skip", "back", "quit"))
        if word == "back" and not quitting:
            self._back()
            return True
        if word != "accept":
            self.job.note(["Nothing is written; the next `review` goes on from here."])
            return False
        if not self._write(taken):
            return True
        return not quitting and not self.failed and any(self._key(c) not in self.answers for c in self._offered())

    def _word_of(self, choice: Choice) -> str:
        answer = self.answers.get(self._key(choice))
        return answer.word if answer is not None else ""

    def _write(self, taken: list[Choice]) -> bool:
        """Write the accepted fixes; returns False where a file changed, so that it is asked about again."""
        stale = [c for c in taken if self._changed_since(c)]
        if stale:
            self._reread()
            return False
        changes = [Change(self.choices.index(c), c, self.answers[self._key(c)]) for c in taken]
        outcome = write(self.job, self.report, changes, self.clusters)
        self.job.note(outcome.notes)
        self.failed |= bool(outcome.refused)
        self.written += len(outcome.done)
        before = list(self.names.values())
        self._read()
        gone = state.gone(before, list(self.names.values()), [c.answer for c in outcome.done])
        found = {self._key(c): c for c in self._offered()}
        kept = [a for a in self.answers.values() if a.word == SKIP]
        # What was edited may still be found, and what does not apply with nothing else never will: both are answered.
        kept += [c.answer for c in outcome.done if c.answer.word == EDIT]
        kept += [] if outcome.done else [c.answer for c in outcome.left]
        self.answers, self.past = {}, []
        for answer in [*kept, *(c.answer for c in outcome.refused)]:
            names = state.moved(answer.names, gone)
            if names in found:
                word = SKIP if answer in kept else answer.word
                # The files that were written have new hashes, and the answer still holds.
                self.answers[names] = Answer(word, names, self._hashes(found[names]), answer.edits)
        if outcome.refused or any(key not in self.answers for key in found):
            self._keep()
        else:
            self._forget()
        return True

    def _changed_since(self, choice: Choice) -> bool:
        now = {path: state.digest(raw) for path in self._hashes(choice) if (raw := current(self.job, path)) is not None}
        return now != self.answers[self._key(choice)].files
