"""What a template with `if`, `else`, `with` and values prints, for each answer its conditions can get."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

_ACTION = re.compile(r"(?s)\{\{(-?)\s*(.*?)\s*(-?)\}\}")


def renderings(text: str) -> Iterator[tuple[tuple[bool, ...], str]]:
    """Yield the answers to the conditions of a text, in the order of their names, and what it then prints."""
    names = sorted(set(re.findall(r"\{\{-?\s*(?:else )?(?:if|with) (\.\w+)", text)))
    for answers in itertools.product((False, True), repeat=len(names)):
        yield answers, _printed(text, dict(zip(names, answers, strict=True)))


def _printed(text: str, true: dict[str, bool]) -> str:
    out = ""
    # For each block: whether its text is printed now, and whether one of its branches was.
    stack: list[tuple[bool, bool]] = []
    at = 0
    trims = False
    for match in _ACTION.finditer(text):
        piece = text[at : match.start()]
        piece = piece.lstrip() if trims else piece
        piece = piece.rstrip() if match[1] else piece
        shown = all(now for now, _ in stack)
        out += piece if shown else ""
        at, trims = match.end(), bool(match[3])
        word, _, rest = match[2].partition(" ")
        if word in ("if", "with"):
            stack.append((true[rest], true[rest]))
        elif word == "end":
            stack.pop()
        elif word == "else":
            _, done = stack.pop()
            now = not done and (true[rest.removeprefix("if ")] if rest else True)
            stack.append((now, done or now))
        elif shown and not word.startswith("/*"):
            out += "printed"
    assert not stack
    rest = text[at:]
    return out + (rest.lstrip() if trims else rest)
