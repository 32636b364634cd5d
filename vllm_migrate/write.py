"""Replaces files, atomically or not at all. Nothing else in the project writes one.

New text goes to a file beside the old one, to the disk, and then takes its place in one step: whatever ends the run,
a file is old or new, and whole. Kept are mode, owner, extended attributes and access lists; the time of the change is
that of the change. What cannot be kept is refused. Other names of a file (hard links) keep the old text.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from vllm_migrate.plainfile import read_file

TEMPORARY = (".vllm-migrate-", ".tmp")
"""How the names of unfinished files begin and end: one stays behind where a run is killed while it writes."""
_FORGOTTEN = 3600
"""After how many seconds an unfinished file is nobody's."""
_UNLIMITED = 1 << 40


class WriteError(OSError):
    """A file was left as it is; the message names it and says why."""


def replace(path: Path, before: bytes, after: bytes, *, root: Path | None = None) -> None:
    """Replace the content of a file, keeping its mode and owner.

    Args: before: the bytes the new ones were made from. root: the folder the file must lie in.
    Raises WriteError where the file is a symbolic link or not a regular file, leads out of the root, holds
    other bytes than `before`, or cannot be written; the file is then as it was.
    """
    finish(prepare(path, before, after, root=root), before)


def check(path: Path, before: bytes, *, root: Path | None = None) -> os.stat_result:
    """Raise WriteError where `replace` would refuse a file before it touches it; return its status."""
    _refuse_links(path, root)
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise WriteError(f"{path}: not a regular file, not written")
        if read_file(path, _UNLIMITED, follow=False) != before:
            raise WriteError(f"{path}: changed while it was looked at, not written")
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            raise WriteError(f"{path}: read-only, not written")
    except OSError as error:
        raise _error(path, error) from None
    return status


def prepare(path: Path, before: bytes, after: bytes, *, root: Path | None = None) -> tuple[Path, str]:
    """Write the new content beside a file; returns the file and the name of the new one, for `finish`.

    Raises WriteError as `replace` does.
    """
    status = check(path, before, root=root)
    return path, _written(path, after, status)


def finish(ready: tuple[Path, str], before: bytes) -> None:
    """Put what `prepare` wrote in the place of its file. Raises WriteError; the file is then as it was."""
    path, name = ready
    with _undone(path, [name]):
        # Looked at once more, as late as can be: an editor may have saved in between.
        if path.is_symlink() or read_file(path, _UNLIMITED, follow=False) != before:
            raise WriteError(f"{path}: changed while it was looked at, not written")
        os.replace(name, path)


def replace_all(
    texts: Mapping[Path, tuple[bytes, bytes]], together: Sequence[Collection[Path]], root: Path
) -> dict[Path, str]:
    """Replace several files; returns those that were left as they are, with the reason.

    Args: texts: path to the bytes before and after, in the order to be written. together: sets of files that
    change together or not at all. Every file is looked at before the first is written, all files of a set are on the
    disk before the first of them is renamed, and no signal comes between.
    """
    refused: dict[Path, str] = {}
    for path, (before, _) in texts.items():
        try:
            check(path, before, root=root)
        except WriteError as error:
            refused[path] = str(error)
    with unbroken():
        for group in _groups(texts, together):
            _replace_group(group, texts, root, refused)
        for folder in dict.fromkeys(path.parent for path in texts if path not in refused):
            _settle(folder)
    return refused


def _groups(paths: Iterable[Path], together: Sequence[Collection[Path]]) -> list[list[Path]]:
    """Return the files that depend on each other, group by group; the order is kept."""
    group = {path: [path] for path in paths}
    order = {path: n for n, path in enumerate(group)}
    for linked in together:
        members = [path for path in linked if path in group]
        for other in members[1:]:
            joined = group[members[0]]
            if group[other] is not joined:
                joined += group[other]
                group.update(dict.fromkeys(group[other], joined))
    seen = {id(joined): joined for joined in group.values()}
    return [sorted(joined, key=order.__getitem__) for joined in seen.values()]


def _replace_group(
    group: Sequence[Path], texts: Mapping[Path, tuple[bytes, bytes]], root: Path, refused: dict[Path, str]
) -> None:
    """Replace files that depend on each other: all of them or, as far as it lies with us, none."""
    ready: list[tuple[Path, str]] = []
    done: list[Path] = []
    at = group[0]
    try:
        for at in group:
            if at in refused:
                raise WriteError(refused[at])
            ready.append(prepare(at, *texts[at], root=root))
        for at, name in ready:
            finish((at, name), texts[at][0])
            done.append(at)
    except WriteError as error:
        refused[at] = str(error)
        for _, name in ready:
            _remove(name)
        for path in done:
            before, after = texts[path]
            with contextlib.suppress(WriteError):
                replace(path, after, before, root=root)
        for path in group:
            refused.setdefault(path, f"{path}: a change of it goes with one of another file, not written")


def other_names(paths: Iterable[Path]) -> list[Path]:
    """Return the files that have further names (hard links): those keep the old text when the file is replaced."""
    out = []
    for path in paths:
        with contextlib.suppress(OSError):
            if os.lstat(path).st_nlink > 1:
                out.append(path)
    return out


def create(path: Path, content: bytes) -> None:
    """Write a file that is the tool's own (a baseline), new or replaced. Raises WriteError."""
    try:
        before = read_file(path, _UNLIMITED)
    except FileNotFoundError:
        save(path, content, private=False)
    except OSError as error:
        raise _error(path, error) from None
    else:
        replace(path, before, content)


def save(path: Path, content: bytes, *, private: bool = True) -> None:
    """Write a file of the tool's own, whole or not at all. Raises WriteError.

    private: nobody else may read it, and its folder is made where there is none.
    """
    with _undone(path, []):
        if private:
            path.parent.mkdir(parents=True, exist_ok=True)
    name = _written(path, content, None, 0o600 if private else 0o666)
    with _undone(path, [name]):
        os.replace(name, path)


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


def _written(path: Path, content: bytes, status: os.stat_result | None, mode: int = 0o600) -> str:
    """Write content to a file beside `path`, on the disk when this returns its name.

    status: of the file it will replace, whose owner, mode and attributes it takes. Raises WriteError.
    """
    name = str(path.parent / (TEMPORARY[0] + os.urandom(8).hex() + TEMPORARY[1]))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    made: list[str] = []
    with _undone(path, made), open(os.open(name, flags | getattr(os, "O_CLOEXEC", 0), mode), "wb") as stream:
        made.append(name)
        stream.write(content)
        stream.flush()
        if status is not None:
            _keep_owner(name, path, status)
            os.chmod(name, stat.S_IMODE(status.st_mode))
            _keep_attributes(name, path)
        os.fsync(stream.fileno())
    return name


@contextlib.contextmanager
def _undone(path: Path, made: list[str]) -> Iterator[None]:
    """Remove the files made where something goes wrong, and tell what in a WriteError that names `path`."""
    try:
        yield
    except BaseException as error:
        for name in made:
            _remove(name)
        if isinstance(error, OSError):
            raise _error(path, error) from None
        raise


def _error(path: Path, error: OSError) -> WriteError:
    return error if isinstance(error, WriteError) else WriteError(f"{path}: {error.strerror or error}, not written")


def _remove(name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name)


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


def _keep_attributes(name: str, path: Path) -> None:
    """Give a new file the extended attributes of the one it replaces; access lists are some of them.

    Raises WriteError where one would be lost. Labels that the system gives are its own affair.
    """
    if not hasattr(os, "listxattr"):
        return
    try:
        wanted, there = os.listxattr(path), os.listxattr(name)
    except OSError:
        return
    for attribute in wanted:
        try:
            os.setxattr(name, attribute, os.getxattr(path, attribute))
        except OSError as error:
            if not attribute.startswith(("security.", "trusted.")) and error.errno != errno.ENODATA:
                raise WriteError(f"{path}: its attribute {attribute} would not stay, not written") from None
    # A folder may give what is made in it an access list that the old file does not have.
    for attribute in set(there) - set(wanted):
        if attribute.startswith("system."):
            os.removexattr(name, attribute)


def _settle(folder: Path) -> None:
    """Bring the new names in a folder to the disk, and remove what a run left there that was killed long ago."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            ours = entry.name.startswith(TEMPORARY[0]) and entry.name.endswith(TEMPORARY[1])
            status = entry.stat(follow_symlinks=False) if ours else None
            if status and stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _FORGOTTEN:
                _remove(entry.path)
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
