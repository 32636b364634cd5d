"""What rules say and what the engine reports: findings, fixes, and the report over a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from vllm_migrate.lazy import dataclass

if TYPE_CHECKING:
    from vllm_migrate.model import Change, Site
    from vllm_migrate.text import Edit, Source, Span

Severity = Literal["error", "warning", "info"]
Safety = Literal["safe", "unsafe"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(eq=False)
class Fix:
    """Changes applied together or not at all.

    needs: facts of the catalog the result relies on, as (section, name), e.g. ("options", "--device-ids");
    a pinned release that lacks one ties the fix to the move of the pin. why: what a person must decide
    (unsafe only). edits: filled by the engine after proof: (path, edit) pairs. path: the file the changes
    are in, "" where it is the finding's.
    """

    safety: Safety
    description: str
    changes: list[Change]
    why: str = ""
    needs: list[tuple[str, str]] = field(default_factory=list)
    edits: list[tuple[str, Edit]] = field(default_factory=list)
    path: str = ""


@dataclass(eq=False)
class Finding:
    """One thing the target release refuses, ignores or treats differently.

    subject: canonical spelling on its surface. span: code points of the file's text.
    withheld: why a fix that exists is not offered. migration: id of the data entry, accepted after the code.
    """

    code: str
    severity: Severity
    subject: str
    message: str
    path: str
    span: Span
    to: str
    origin: str | None = None
    site: Site | None = None
    removed_in: str | None = None
    replacement: str | None = None
    reason: str = ""
    help: str = ""
    evidence: Sequence[str] = ()
    migration: str = ""
    related: list[str] = field(default_factory=list)
    fix: Fix | None = None
    withheld: str = ""
    governs: list[Site] = field(default_factory=list)
    """The launches that run what a pin names, where the finding is about a pin."""


@dataclass
class FileResult:
    """One file of a run: its source, its findings, and its text after the chosen fixes."""

    path: str
    source: Source | None
    findings: list[Finding] = field(default_factory=list)
    sites: int = 0
    host: str = ""
    fixed: Source | None = None
    """The file after the fixes chosen by the command's options; None when nothing changes."""
    applied: list[Fix] = field(default_factory=list)


@dataclass(eq=False)
class Choice:
    """Fixes that a person takes together or not at all. edits: (path, edit) pairs that make them alone."""

    findings: list[Finding]
    safety: Safety
    edits: list[tuple[str, Edit]] = field(default_factory=list)


@dataclass(eq=False)
class Cluster:
    """Choices that write a file otherwise together than each for itself (the last comma, an emptied key).

    members: their places in `Report.choices`. together: what several of them make of the file together, where it is
    not what each makes.
    """

    path: str
    members: tuple[int, ...]
    together: dict[frozenset[int], list[Edit]] = field(default_factory=dict)


@dataclass(eq=False)
class Step:
    """Fixes that stand by themselves: those of one rule, or of one launch.

    key: the code, or "path:number of the launch" ("path" for what belongs to no launch). findings: what they
    answer. places: line of each finding when its round began, by id. texts: path → the file before and after.
    """

    key: str
    findings: list[Finding]
    places: dict[int, int] = field(default_factory=dict)
    texts: dict[str, tuple[Source, Source]] = field(default_factory=dict)


@dataclass(frozen=True)
class Standing:
    """Which release a launch is on. line: from 1. version: None where nothing says. images: those it names."""

    path: str
    line: int
    version: str | None
    images: tuple[str, ...] = ()


@dataclass
class Report:
    """The whole run. `files` holds only files that were read; `walked` counts all that were looked at."""

    targets: list[str]
    files: list[FileResult] = field(default_factory=list)
    walked: int = 0
    notices: list[str] = field(default_factory=list)
    root: str = ""
    left_out: int = 0
    """Fixes that exist but are unsafe and were not asked for."""
    withheld: int = 0
    suppressed: int = 0
    evidence: list[str] = field(default_factory=list)
    """What says which release each launch is on."""
    skipped: dict[str, list[str]] = field(default_factory=dict)
    """Reason → what was not looked into for it."""
    unread: list[str] = field(default_factory=list)
    """Files that speak of vLLM in a format nothing here reads."""
    standings: list[Standing] = field(default_factory=list)
    written: dict[str, list[str]] = field(default_factory=dict)
    """Path → what the fixes just written there did."""
    steps: list[Step] = field(default_factory=list)
    """With `split`: what leads from the files to their `fixed` texts, one after the other."""
    choices: list[Choice] = field(default_factory=list)
    """With `choose`: what a person can take of the fixes there are, each by itself."""
    clusters: list[Cluster] = field(default_factory=list)

    def findings(self) -> list[Finding]:
        return [f for file in self.files for f in file.findings]

    @property
    def sites(self) -> int:
        return sum(file.sites for file in self.files)
