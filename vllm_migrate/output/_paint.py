"""Colours for people, and text made safe to print."""

from __future__ import annotations

from vllm_migrate.lazy import dataclass

_CODES = {
    "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36", "bold": "1", "dim": "2", "reverse": "7",
}  # fmt: skip
SEVERITY_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}


@dataclass(frozen=True)
class Paint:
    """Puts text in colour, or leaves it as it is. columns: how wide what is drawn may be."""

    on: bool
    columns: int = 100

    def __call__(self, style: str, text: str) -> str:
        if not self.on or not text:
            return text
        return f"\x1b[{';'.join(_CODES[word] for word in style.split())}m{text}\x1b[0m"


def plain(text: str) -> str:
    """Return one line of text without what could steer a terminal; tabs and line ends become a blank.

    One letter stays one letter, so that columns still count.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def spoken(text: str) -> str:
    """Return a line of text that is plain, and that no build server takes for a command (`::error::`)."""
    text = plain(text)
    return f"./{text.lstrip()}" if text.lstrip().startswith("::") else text


def width(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
