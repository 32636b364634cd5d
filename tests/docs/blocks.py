"""Takes the fenced blocks out of a Markdown page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
_OPEN = re.compile(r"^(\s*)(`{3,})(\S*)[ ]?(.*)$")


@dataclass(frozen=True)
class Block:
    """A block: its language, the words after it, its text, the heading it stands under and its line."""

    language: str
    words: tuple[str, ...]
    text: str
    heading: str
    line: int

    def given(self, name: str) -> str | None:
        """Return what `name=…` among the words says."""
        return next((w.partition("=")[2] for w in self.words if w.startswith(f"{name}=")), None)


def blocks(path: Path) -> list[Block]:
    """Return the blocks of a page in their order."""
    out: list[Block] = []
    heading = ""
    lines = path.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = _OPEN.match(lines[at])
        at += 1
        if opened is None:
            heading = lines[at - 1].lstrip("# ") if lines[at - 1].startswith("#") else heading
            continue
        start = at
        while lines[at].strip() != opened[2]:
            at += 1
        body = "".join(line.removeprefix(opened[1]) + "\n" for line in lines[start:at])
        out.append(Block(opened[3], tuple(opened[4].split()), body, heading, start))
        at += 1
    return out
