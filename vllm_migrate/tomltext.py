"""Reads TOML with what the interpreter brings, or its stand-in before Python 3.11."""

from __future__ import annotations

import sys
from typing import Any

from vllm_migrate.jsonvalue import too_deep
from vllm_migrate.lazy import regex

_MANY_PARTS = regex(r"(?:[\"']?[\w-]{0,80}[\"']?[ \t]{0,9}\.[ \t]{0,9}){80}")
_AT = regex(r" \(at line (\d+), column \d+\)$")
_LONG = regex(r"[0-9_]{4301,}")
_MARK = regex(r'"(?:[^"\\\n]|\\.){0,4000}"|\'[^\'\n]{0,4000}\'|[\[\]{}]')


class TomlError(ValueError):
    """A text is no TOML; `line` says where, None where that is not known."""

    def __init__(self, what: str, line: int | None) -> None:
        super().__init__(what)
        self.line = line


def loads(text: str) -> dict[str, Any]:
    """Return the tables of a text. Raises TomlError, also for what would take the reader too long."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    many = many_parts(text)
    if many is not None:
        raise TomlError("a key of too many parts", _line(text, many))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The parser's message ends with the place: "... (at line 1, column 18)".
        at = _AT.search(str(error))
        what = str(error)[: at.start()] if at is not None else str(error)
        raise TomlError(what, int(at[1]) if at is not None else None) from None
    except RecursionError:
        deep = too_deep(text, _MARK)
        raise TomlError("nested too deeply", _line(text, deep) if deep is not None else None) from None
    except ValueError as error:
        long = _LONG.search(text)
        what = "a number of too many digits" if long is not None else str(error)
        raise TomlError(what, _line(text, long.start()) if long is not None else None) from None


def many_parts(text: str) -> int | None:
    """Return where a key of very many parts stands: the reader's time grows with the square of their number."""
    found = _MANY_PARTS.search(text) if text.count(".") >= 80 else None
    return found.start() if found is not None else None


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
