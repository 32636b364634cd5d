"""Reads files that somebody else may have put there: plain ones, of reasonable size, and nothing else.

A named pipe or a device would keep a run waiting for ever, or never end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_file(path: str | Path, most: int, *, follow: bool = True) -> bytes:
    """Return the bytes of a regular file.

    Args: most: how many bytes it may have. follow: whether a symbolic link in its place is followed.
    Raises OSError with the reason in `strerror`.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    if not follow:
        if os.path.islink(path):
            raise OSError(errno.ELOOP, "a symbolic link", str(path))
        flags |= getattr(os, "O_NOFOLLOW", 0)
    if not stat.S_ISREG(os.stat(path).st_mode):
        # Asked before it is opened: opening alone can do something to a device.
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path)) if os.path.isdir(path) else _odd(path)
    with open(os.open(path, flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise _odd(path)
        size = os.fstat(stream.fileno()).st_size
        # The size may be wrong: some files grow, and those of /proc say nothing of it.
        raw = stream.read(min(size, most) + 1)
        while len(raw) > size and len(raw) <= most and (more := stream.read(1 << 20)):
            raw += more
    if len(raw) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
    return raw


def read_plain(path: str | Path, most: int) -> bytes | None:
    """Return the bytes of a regular file that is no symbolic link; None where that cannot be had."""
    try:
        return read_file(path, most, follow=False)
    except (OSError, ValueError):
        return None


def _odd(path: str | Path) -> OSError:
    return OSError(errno.EINVAL, "not a regular file", str(path))
