"""Comments that say a finding is known: `# vllm-migrate: ignore[VM101]` on or above its line.

The comment may be written in any of the forms the formats have (`#`, `//`, `;`, `--`, `/* */`,
`<!-- -->`, `{{/* */}}`); the text is looked at line by line, so no host has to know about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from vllm_migrate.config import selects
from vllm_migrate.findings import Finding
from vllm_migrate.text import Source

_MARK = "vllm-migrate:"
_COMMENT = re.compile(
    r"(?P<open>\#|//|<!--|\{\{-?\s*/\*|/\*|;|--|%)\s*vllm-migrate:\s*(?P<what>ignore-file|ignore)\b"
    r"(?:\s*\[(?P<which>[^\]\r\n]*)\])?"
)
_CONTINUES = re.compile(r"\\\s*$")


@dataclass(frozen=True)
class Suppressions:
    """What the comments of one file say. An empty tuple of selectors means everything."""

    whole: tuple[tuple[str, ...], ...] = ()
    lines: dict[int, tuple[tuple[str, ...], ...]] | None = None
    """Line (from 1) → selectors of the comments that hold for it."""

    def hides(self, finding: Finding, source: Source) -> bool:
        """Tell whether a comment of the file says the finding is known."""
        if any(_means(selectors, finding) for selectors in self.whole):
            return True
        if not self.lines:
            return False
        first = command = source.position(finding.span.start)[0]
        last = source.position(max(finding.span.end - 1, finding.span.start))[0]
        # No comment may stand between the lines of one shell command, so the one above it counts.
        while command > 1 and _CONTINUES.search(source.line(command - 1)):
            command -= 1
        here = [selectors for line in {first, last, command} for selectors in self.lines.get(line, ())]
        return any(_means(selectors, finding) for selectors in here)


def _means(selectors: tuple[str, ...], finding: Finding) -> bool:
    return not selectors or any(selects(s, finding.code, finding.migration) for s in selectors)


def read(source: Source) -> Suppressions:
    """Return what the suppression comments of a file say."""
    if _MARK not in source.text:
        return Suppressions()
    whole: list[tuple[str, ...]] = []
    lines: dict[int, list[tuple[str, ...]]] = {}
    pending: list[tuple[str, ...]] = []
    for number in range(1, len(source.line_starts) + 1):
        text = source.line(number)
        alone = True
        if _MARK in text:
            for comment in _COMMENT.finditer(text):
                which = comment.group("which")
                selectors = tuple(part.strip() for part in (which or "").split(",") if part.strip())
                if which is not None and not selectors:
                    continue
                if comment.group("what") == "ignore-file":
                    whole.append(selectors)
                elif text[: comment.start()].strip():
                    alone = False
                    lines.setdefault(number, []).append(selectors)
                else:
                    pending.append(selectors)
                    lines.setdefault(number, []).append(selectors)
            if alone:
                continue
        if pending and text.strip():
            lines.setdefault(number, []).extend(pending)
            pending = []
    return Suppressions(tuple(whole), {line: tuple(found) for line, found in lines.items()})
