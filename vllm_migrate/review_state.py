"""The answers of a review, kept so that it can go on later. They hold for the files as they were answered for."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from vllm_migrate.findings import Choice, Finding, Report
from vllm_migrate.gitignore import git_folder, git_top
from vllm_migrate.lazy import dataclass

ACCEPT, SKIP, EDIT = "accept", "skip", "edit"
_FORM = 1


@dataclass
class Answer:
    """What a person said to one fix.

    word: ACCEPT, SKIP or EDIT. names: the findings it is about, see `names_of`. files: path → hash of the files it
    is about, as they were. edits: with EDIT, (path, start, end, text) in code points of the file's text.
    """

    word: str
    names: tuple[str, ...]
    files: dict[str, str]
    edits: list[tuple[str, int, int, str]] = field(default_factory=list)


def digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def names_of(report: Report) -> dict[int, str]:
    """Return what each finding is called, by id: what it is about and its turn among equals, not its line."""
    turns: Counter[tuple[str, ...]] = Counter()
    out: dict[int, str] = {}
    for file in sorted(report.files, key=lambda f: f.path):
        for finding in sorted(file.findings, key=lambda f: (f.span, f.code, f.subject, f.to)):
            about = _about(finding)
            out[id(finding)] = json.dumps([*about, turns[about]])
            turns[about] += 1
    return out


def _about(finding: Finding) -> tuple[str, ...]:
    return (finding.path, finding.code, finding.subject, finding.migration, finding.to)


def moved(names: Iterable[str], gone: Sequence[str]) -> tuple[str, ...]:
    """Return the names of findings after others are gone: those of their kind move up."""
    lost = [json.loads(name) for name in gone]
    out = []
    for name in names:
        *about, turn = json.loads(name)
        before = sum(other[:-1] == about and other[-1] < turn for other in lost)
        out.append(json.dumps([*about, turn - before]))
    return tuple(out)


def gone(before: Sequence[str], after: Sequence[str], done: Sequence[Answer]) -> list[str]:
    """Return the names of findings that are gone after some answers were written.

    An edited fix may have left its finding there: it counts as gone where fewer are found.
    """
    out = [name for answer in done if answer.word == ACCEPT for name in answer.names]
    for name in (name for answer in done if answer.word == EDIT for name in answer.names):
        if _count(name, before) - _count(name, after) > _count(name, out):
            out.append(name)
    return out


def _count(name: str, names: Iterable[str]) -> int:
    about = json.loads(name)[:-1]
    return sum(json.loads(other)[:-1] == about for other in names)


def place(root: Path) -> Path:
    """Return the file for the answers about a root: in its repository's git folder, else the user's own."""
    top = git_top(root)
    name = f"review-{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.json"
    folder = git_folder(top) if top is not None else None
    return (folder if folder is not None else _user_folder()) / "vllm-migrate" / name


def _user_folder() -> Path:
    given = os.environ.get("XDG_STATE_HOME")
    if given:
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / ".local" / "state"


def load(file: Path) -> list[Answer]:
    """Return the answers kept in a file; none where there is no such file, or it is of another form."""
    try:
        data = json.loads(file.read_bytes())
        if data["version"] != _FORM:
            return []
        return [_answer(raw) for raw in data["answers"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _answer(raw: dict[str, Any]) -> Answer:
    edits = [(str(p), int(a), int(b), str(t)) for p, a, b, t in raw.get("edits", ())]
    if raw["word"] not in (ACCEPT, SKIP, EDIT):
        raise ValueError(raw["word"])
    return Answer(raw["word"], tuple(map(str, raw["names"])), dict(raw["files"]), edits)


def dump(answers: Iterable[Answer]) -> bytes:
    """Return answers as `load` reads them."""
    rows = [{"word": a.word, "names": a.names, "files": a.files, "edits": a.edits} for a in answers]
    return (json.dumps({"version": _FORM, "answers": rows}, indent=1) + "\n").encode()


def about(choice: Choice, names: dict[int, str]) -> tuple[str, ...]:
    """Return the names of the findings a choice answers, in order."""
    return tuple(sorted(names[id(f)] for f in choice.findings if id(f) in names))


def paths(choice: Choice) -> set[str]:
    return {path for path, _ in choice.edits} | {f.path for f in choice.findings}
