"""Spells text for a shell: bare, or in the quotes of the place it goes to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vllm_migrate.lazy import regex
from vllm_migrate.model import is_hole

_SAFE = regex(r"[A-Za-z0-9_@%+=:,./-]+", re.ASCII)
_ESCAPED = regex("[$`\\\\\n\r\ue000-\uf8ff]|\\Z")
"""What a backslash of a here-document would be taken to escape; a hole is spelled with a `$`."""


def unescape_free(text: str) -> bool:
    """Tell whether a word needs no quoting."""
    return _SAFE.fullmatch(text) is not None


def quote(text: str, holes: Sequence[str] = (), *, prefer: str = "single") -> str:
    """Spell a word. holes: what its hole letters stand for. prefer: "single" or "double" quotes.

    >>> quote('{"a": 1}')
    '\\'{"a": 1}\\''
    """
    if not holes and unescape_free(text):
        return text
    if not any(is_hole(c) for c in text):
        if unescape_free(text):
            return text
        if "'" not in text and (prefer == "single" or ('"' in text and "\\" in text)):
            return f"'{text}'"
        if prefer == "single" and not re.search(r"[$`\\!]", text) and '"' not in text:
            return f'"{text}"'
    return '"' + escape_double(text, holes) + '"'


def spelled(letter: str, holes: Sequence[str]) -> str | None:
    """Return how a run-time part is spelled, None for any other letter."""
    return holes[ord(letter) - 0xE000] if is_hole(letter) and ord(letter) - 0xE000 < len(holes) else None


def escape_double(text: str, holes: Sequence[str] = ()) -> str:
    return "".join(spelled(c, holes) or ("\\" + c if c in '\\"$`' else c) for c in text)


def escape_heredoc(text: str, holes: Sequence[str] = ()) -> str:
    out = []
    for i, c in enumerate(text):
        part = spelled(c, holes)
        if part is not None:
            out.append(part)
        elif c in "$`" or (c == "\\" and _ESCAPED.match(text, i + 1)):
            out.append("\\" + c)
        else:
            out.append(c)
    return "".join(out)


def escape_in(quote_kind: str, text: str, holes: Sequence[str] = ()) -> str | None:
    """Write decoded text inside a quoted string of the given kind; None where that cannot be."""
    has_hole = any(is_hole(c) for c in text)
    if quote_kind == "double":
        return escape_double(text, holes)
    if quote_kind == "heredoc":
        return escape_heredoc(text, holes)
    if quote_kind == "single":
        parts = ((c, spelled(c, holes)) for c in text)
        return "".join(f"'\"{part}\"'" if part is not None else c.replace("'", "'\\''") for c, part in parts)
    if quote_kind == "raw":
        return None if has_hole else text
    if quote_kind == "ansi":
        return None if has_hole else text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    if "\n" in text:
        return None
    return "".join(spelled(c, holes) or (c if unescape_free(c) else "\\" + c) for c in text)
