"""Markdown that shows text as it stands: prose, names as code, blocks, tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(
    r"""(?P<url>https?://[^\s,;)]*[\w/])
    | '?\{.*\}'?                                 # an object
    | "[\w.-]+"(?::\ "[\w.-]+")?                 # a key or a value in quotes
    | --?[A-Za-z][\w.-]*\w(?:=[\w.]*\w)?         # an option
    | /[a-z][\w/{}-]+                            # a path of the server
    | [\w.]+(?:/[\w.-]*\w)+(?::\d+)?            # a file
    | \.?[A-Za-z]\w*(?:[._]\w+)+(?:\(\)|=(?:[\w.]*\w)?)? # a name with dots or underscores
    | \w+\(\)""",
    re.VERBOSE,
)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~])")


def prose(text: str) -> str:
    """Return text as Markdown that shows it as it stands, names of options and files set as code."""
    out = []
    for index, part in enumerate(" ".join(text.split()).split("`")):
        if index % 2:
            out.append(f"`{part}`")
            continue
        at = 0
        for found in _CODE.finditer(part):
            before = part[at : found.start()]
            if before[-1:].isalnum():
                continue
            shown = f"<{found.group()}>" if found["url"] else code(found.group())
            out += [_SPECIAL.sub(r"\\\1", before), shown]
            at = found.end()
        out.append(_SPECIAL.sub(r"\\\1", part[at:]))
    return "".join(out)


def code(text: str) -> str:
    """Return a name as code, in a table too."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def fence(language: str, text: str) -> str:
    """Return a block of code whose text may hold fences itself."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{text.rstrip(chr(10))}\n{mark}\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("\n", " ") for cell in line) + " |\n" for line in lines)
