"""What Git's index says of files, read without running Git: a repository's settings can make Git run programs.

The format is described in Git's own gitformat-index(5); versions 2 to 4 are read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from vllm_migrate.gitignore import git_common, git_folder
from vllm_migrate.plainfile import read_file, read_plain

_STAT, _SHA1, _SHA256 = 40, 20, 32
_LARGEST = 1 << 30
_EXTENDED, _NAME = 0x4000, 0x0FFF


def changed(top: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the files whose content Git's index does not hold: changed since, or not known to it.

    Args: top: the folder that holds `.git`. An index that cannot be read holds nothing.
    """
    held = index(top) or {}
    return [path for path in paths if not _same(held, top, path)]


def index(top: Path) -> dict[str, bytes] | None:
    """Return the object name of each path of the index; None where there is none that can be read."""
    folder = git_folder(top)
    try:
        raw = read_file(folder / "index", _LARGEST) if folder is not None else b""
        return _entries(raw, _SHA256 if folder is not None and _is_sha256(folder) else _SHA1)
    except (OSError, ValueError, IndexError):
        return None


def _is_sha256(folder: Path) -> bool:
    raw = read_plain(git_common(folder) / "config", _LARGEST)
    text = (raw or b"").decode("utf-8", "replace")
    return re.search(r"(?im)^[ \t]*objectformat[ \t]*=[ \t]*sha256[ \t]*\r?$", text) is not None


def _entries(raw: bytes, width: int) -> dict[str, bytes]:
    """Return path → object name. Raises ValueError or IndexError for what is no index."""
    version, count = int.from_bytes(raw[4:8], "big"), int.from_bytes(raw[8:12], "big")
    if raw[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index")
    out: dict[str, bytes] = {}
    at, before = 12, b""
    for _ in range(count):
        start = at
        name = raw[at + _STAT : at + _STAT + width]
        flags = int.from_bytes(raw[at + _STAT + width : at + _STAT + width + 2], "big")
        at += _STAT + width + 2 + (2 if flags & _EXTENDED else 0)
        if version == 4:
            drop, at = _offset(raw, at)
            end = raw.index(b"\0", at)
            before = before[: len(before) - drop] + raw[at:end]
            at = end + 1
        else:
            end = raw.index(b"\0", at) if flags & _NAME == _NAME else at + (flags & _NAME)
            before = raw[at:end]
            # Entries are padded with one to eight NULs to a multiple of eight bytes.
            at = start + ((end - start) // 8 + 1) * 8
        if at > len(raw):
            raise ValueError("the index ends early")
        out[before.decode("utf-8", "surrogateescape")] = name
    return out


def _offset(raw: bytes, at: int) -> tuple[int, int]:
    """Read a number of variable width as Git's pack format writes offsets; returns it and what comes after."""
    byte = raw[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = raw[at]
        value = ((value + 1) << 7) | (byte & 127)
    return value, at + 1


def _same(held: dict[str, bytes], top: Path, path: Path) -> bool:
    try:
        name = held.get(path.relative_to(top).as_posix())
        raw = read_file(path, _LARGEST)
    except (OSError, ValueError):
        return False
    if name is None:
        return False
    texts = [raw, raw.replace(b"\r\n", b"\n")] if b"\r\n" in raw else [raw]
    make = hashlib.sha256 if len(name) == _SHA256 else hashlib.sha1
    return any(make(b"blob %d\0" % len(text) + text).digest() == name for text in texts)
