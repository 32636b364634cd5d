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


def escape_double(text: str, holes: Sequence[str] = ()) -> str:
    out = []
    for c in text:
        if is_hole(c) and ord(c) - 0xE000 < len(holes):
            out.append(holes[ord(c) - 0xE000])
        else:
            out.append("\\" + c if c in '\\"$`' else c)
    return "".join(out)


def escape_heredoc(text: str, holes: Sequence[str] = ()) -> str:
    out = []
    for i, c in enumerate(text):
        if is_hole(c) and ord(c) - 0xE000 < len(holes):
            out.append(holes[ord(c) - 0xE000])
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
        parts = []
        for c in text:
            if is_hole(c) and ord(c) - 0xE000 < len(holes):
                parts.append("'\"" + holes[ord(c) - 0xE000] + "\"'")
            else:
                parts.append("'\\''" if c == "'" else c)
        return "".join(parts)
    if quote_kind == "raw":
        return None if has_hole else text
    if quote_kind == "ansi":
        return None if has_hole else text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    out = []
    for c in text:
        if is_hole(c) and ord(c) - 0xE000 < len(holes):
            out.append(holes[ord(c) - 0xE000])
        elif c == "\n":
            return None
        else:
            out.append(c if unescape_free(c) else "\\" + c)
    return "".join(out)
