"""Reads JSON data files, our own and those of a repository, and says in words and with the line what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from vllm_migrate.jsonvalue import too_deep
from vllm_migrate.plainfile import read_file

_LARGEST = 256 << 20


def read_json(path: Path, error: type[Exception]) -> Any:
    """Return what a JSON file holds. Raises `error`, naming the file and where known the line."""
    try:
        raw = read_file(path, _LARGEST)
    except OSError as problem:
        raise error(f"{path}: {problem.strerror or problem}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise error(f"{path}:{line}: not UTF-8 text") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise error(f"{path}:{problem.lineno}: not JSON: {problem.msg}") from None
    except RecursionError:
        line = text.count("\n", 0, too_deep(text) or 0) + 1
        raise error(f"{path}:{line}: nested too deeply") from None
    except ValueError:
        # The one thing Python's reader refuses besides bad syntax.
        long = re.search(r"[0-9]{4301,}", text)
        line = text.count("\n", 0, long.start()) + 1 if long is not None else 1
        raise error(f"{path}:{line}: a number of too many digits") from None
