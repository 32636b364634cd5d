"""Replaces files, atomically or not at all. Nothing else in the project writes one."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path


class WriteError(OSError):
    """A file was left as it is; the message names it and says why."""


def replace(path: Path, before: bytes, after: bytes, *, root: Path | None = None) -> None:
    """Replace the content of a file, keeping its mode and owner.

    Args: before: the bytes the new ones were made from. root: the folder the file must lie in.
    Raises WriteError where the file is a symbolic link or not a regular file, leads out of the root, holds
    other bytes than `before`, or cannot be written; the file is then as it was.
    """
    status = check(path, before, root=root)
    try:
        _swap(path, before, after, status)
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(f"{path}: {error.strerror or error}, not written") from None


def check(path: Path, before: bytes, *, root: Path | None = None) -> os.stat_result:
    """Raise WriteError where `replace` would refuse a file before it touches it; return its status."""
    _refuse_links(path, root)
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise WriteError(f"{path}: not a regular file, not written")
        if path.read_bytes() != before:
            raise WriteError(f"{path}: changed while it was looked at, not written")
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            raise WriteError(f"{path}: read-only, not written")
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(f"{path}: {error.strerror or error}, not written") from None
    return status


def replace_all(
    texts: Mapping[Path, tuple[bytes, bytes]], together: Sequence[Collection[Path]], root: Path
) -> dict[Path, str]:
    """Replace several files; returns those that were left as they are, with the reason.

    Args: texts: path to the bytes before and after. together: sets of files that change together or not
    at all. Every file is looked at before the first is written, and no signal comes between.
    """
    refused: dict[Path, str] = {}
    for path, (before, _) in texts.items():
        try:
            check(path, before, root=root)
        except WriteError as error:
            refused[path] = str(error)
    growing = bool(refused)
    while growing:
        held = {p for group in together if any(p in refused for p in group) for p in group if p in texts}
        growing = not held <= refused.keys()
        for path in sorted(held - refused.keys()):
            refused[path] = f"{path}: a change of it goes with one of another file, not written"
    with unbroken():
        for path, (before, after) in texts.items():
            if path not in refused:
                try:
                    replace(path, before, after, root=root)
                except WriteError as error:
                    refused[path] = str(error)
    return refused


def create(path: Path, content: bytes) -> None:
    """Write a file that is the tool's own (a baseline), new or replaced. Raises WriteError."""
    try:
        before = path.read_bytes()
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise WriteError(f"{path}: {error.strerror}, not written") from None
    if before is not None:
        replace(path, before, content)
        return
    try:
        with open(path, "xb") as stream:
            stream.write(content)
    except OSError as error:
        raise WriteError(f"{path}: {error.strerror}, not written") from None


def save(path: Path, content: bytes) -> None:
    """Write a file of the tool's own notes, whole or not at all; its folder is made. Raises WriteError."""
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(name, path)
    except OSError as error:
        if name:
            with contextlib.suppress(OSError):
                os.unlink(name)
        raise WriteError(f"{path}: {error.strerror or error}, not written") from None


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """Let no signal that ends the process come between: it is delivered afterwards."""
    import signal

    came: list[int] = []
    names = [n for n in ("SIGHUP", "SIGINT", "SIGTERM") if hasattr(signal, n)]
    before: dict[int, object] = {}
    with contextlib.suppress(ValueError):
        # Only the main thread may ask for signals.
        for name in names:
            number = getattr(signal, name)
            before[number] = signal.signal(number, lambda got, _frame: came.append(got))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
    for number in came:
        signal.raise_signal(number)


def create_all(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files that are the tool's own into a folder, made where it is not there; all of them or none.

    Returns their paths. Raises WriteError; a file that is there already is never replaced.
    """
    written: list[Path] = []
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = folder / name
            with open(path, "xb") as stream:
                written.append(path)
                stream.write(content)
    except OSError as error:
        with contextlib.suppress(OSError):
            for path in written:
                path.unlink()
            for path in made:
                path.rmdir()
        raise WriteError(f"{error.filename or folder}: {error.strerror or error}, not written") from None
    return written


def _refuse_links(path: Path, root: Path | None) -> None:
    if path.is_symlink():
        raise WriteError(f"{path}: a symbolic link, not written")
    if root is not None:
        base = root.resolve()
        if base not in path.resolve().parents:
            raise WriteError(f"{path}: lies outside {base}, not written")


def _swap(path: Path, before: bytes, after: bytes, status: os.stat_result) -> None:
    """Write a new file beside the old one and rename it over it."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
        _keep_owner(name, path, status)
        os.chmod(name, stat.S_IMODE(status.st_mode))
        # Looked at once more, as late as can be: an editor may have saved in between.
        if path.is_symlink() or path.read_bytes() != before:
            raise WriteError(f"{path}: changed while it was looked at, not written")
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _keep_owner(name: str, path: Path, status: os.stat_result) -> None:
    if not hasattr(os, "chown"):
        return
    mine = os.stat(name)
    if (mine.st_uid, mine.st_gid) == (status.st_uid, status.st_gid):
        return
    try:
        os.chown(name, status.st_uid, status.st_gid)
    except PermissionError:
        raise WriteError(f"{path}: owned by another user and would not stay so, not written") from None
