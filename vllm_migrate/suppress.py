"""Comments that say a finding is known: `# vllm-migrate: ignore[VM101]` on or above its line.

The comment may be written in any of the forms the formats have (`#`, `//`, `;`, `--`, `/* */`,
`<!-- -->`, `{{/* */}}`); the text is looked at line by line, so no host has to know about it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from vllm_migrate.config import selects
from vllm_migrate.findings import Finding
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.text import Source, Span

_MARK = "vllm-migrate:"
_COMMENT = regex(
    r"(?P<open>\#|//|<!--|\{\{-?\s*/\*|/\*|;|--|%)\s*vllm-migrate:\s*(?P<what>ignore-file|ignore)\b"
    r"(?:\s*\[(?P<which>[^\]\r\n]{0,1000})\])?"
)


@dataclass(frozen=True)
class Comment:
    """One comment that says a finding is known. start, end: its place in the text. selectors: () is everything."""

    start: int
    end: int
    selectors: tuple[str, ...]

    def means(self, finding: Finding) -> bool:
        """Tell whether the comment speaks of a finding's code."""
        return not self.selectors or any(selects(s, finding.code, finding.migration) for s in self.selectors)


@dataclass(frozen=True)
class Suppressions:
    """What the comments of one file say."""

    whole: tuple[Comment, ...] = ()
    lines: dict[int, tuple[Comment, ...]] = field(default_factory=dict)
    """Line (from 1) → the comments that hold for it."""
    first: dict[int, int] = field(default_factory=dict)
    """Line that goes on with a shell command → the command's first line."""

    @property
    def comments(self) -> list[Comment]:
        """All of them, in the order they stand in."""
        found = {c.start: c for c in (*self.whole, *(c for held in self.lines.values() for c in held))}
        return [found[start] for start in sorted(found)]

    def hiding(self, finding: Finding, source: Source) -> list[Comment]:
        """Return the comments that say a finding is known."""
        out = [c for c in self.whole if c.means(finding)]
        if not self.lines:
            return out
        first = source.position(finding.span.start)[0]
        last = source.position(max(finding.span.end - 1, finding.span.start))[0]
        # No comment may stand between the lines of one shell command, so the one above it counts.
        command = self.first.get(first, first)
        here = [c for line in {first, last, command} for c in self.lines.get(line, ())]
        return out + [c for c in here if c.means(finding)]

    def hides(self, finding: Finding, source: Source) -> bool:
        """Tell whether a comment of the file says the finding is known."""
        return bool(self.hiding(finding, source))


def read(source: Source) -> Suppressions:
    """Return what the suppression comments of a file say."""
    if _MARK not in source.text:
        return Suppressions()
    whole: list[Comment] = []
    lines: dict[int, list[Comment]] = {}
    pending: list[Comment] = []
    first: dict[int, int] = {}
    goes_on = False
    for number, begin in enumerate(source.line_starts, 1):
        text = source.line(number)
        if goes_on:
            first[number] = first.get(number - 1, number - 1)
        goes_on = text.rstrip().endswith("\\")
        alone = True
        if _MARK in text:
            for found in _COMMENT.finditer(text):
                which = found.group("which")
                selectors = tuple(part.strip() for part in (which or "").split(",") if part.strip())
                if which is not None and not selectors:
                    continue
                comment = Comment(begin + found.start(), begin + found.end(), selectors)
                if found.group("what") == "ignore-file":
                    whole.append(comment)
                elif text[: found.start()].strip():
                    alone = False
                    lines.setdefault(number, []).append(comment)
                else:
                    pending.append(comment)
                    lines.setdefault(number, []).append(comment)
            if alone:
                continue
        if pending and text.strip():
            lines.setdefault(number, []).extend(pending)
            pending = []
    return Suppressions(tuple(whole), {line: tuple(held) for line, held in lines.items()}, first)


def unused(source: Source, path: str, to: str, used: Collection[int]) -> list[Finding]:
    """Return a note for every comment of a file that hid nothing. used: where those that did start."""
    out = []
    for comment in read(source).comments:
        if comment.start not in used:
            what = ", ".join(comment.selectors)
            message = f"nothing here is found for {what}" if what else "nothing is found here"
            out.append(
                Finding(
                    "VM004",
                    "info",
                    what or "ignore",
                    f"unused suppression: {message}",
                    path,
                    Span(comment.start, comment.end),
                    to,
                    help="Take the comment out.",
                )
            )
    return out
