"""Finds the root and the files that may speak of vLLM."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

from vllm_migrate import config_file
from vllm_migrate.config import Config
from vllm_migrate.gitignore import Ignores, add, chain_above, relative
from vllm_migrate.globs import path_matches
from vllm_migrate.lazy import dataclass
from vllm_migrate.plainfile import read_file
from vllm_migrate.progress import Step, silent
from vllm_migrate.speaks import Speaks

SKIPPED_FOLDERS = frozenset(
    (
        ".git", ".hg", ".svn", ".bzr", ".jj", ".sl", ".direnv", ".eggs", ".tox", ".nox", ".venv", "venv",
        ".pyenv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints",
        ".cache", ".terraform", ".terragrunt-cache", "__pycache__", "__pypackages__", "node_modules",
        "bower_components", "site-packages", "vendor",
    )
)
"""Folders of tools, caches and vendored code. A path named on the command line is read all the same."""

_BINARY = frozenset(
    (
        ".safetensors", ".bin", ".pt", ".pth", ".onnx", ".gguf", ".npy", ".npz", ".pkl", ".parquet", ".arrow",
        ".h5", ".so", ".o", ".a", ".dll", ".dylib", ".exe", ".class", ".jar", ".pyc", ".pyo", ".whl", ".egg",
        ".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".tar", ".rar", ".png", ".jpg", ".jpeg", ".gif",
        ".webp", ".ico", ".bmp", ".tif", ".tiff", ".pdf", ".mp3", ".mp4", ".wav", ".ogg", ".webm", ".mov",
        ".avi", ".woff", ".woff2", ".ttf", ".otf", ".eot", ".db", ".sqlite", ".sqlite3", ".iso", ".img",
    )
)
_NAME = attrgetter("name")
_HEAD = 1 << 16
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_UNFINISHED = ".vllm-migrate-"
"""What the writing leaves behind where it is killed begins like this."""
_LARGEST = 16 << 20
_DEEPEST = 200


class PathError(ValueError):
    """A path named on the command line cannot be read; the message names it."""


def absolute(path: Path) -> Path:
    """Return the path with links above its last part followed, and its own last part as it is."""
    here = Path(os.path.abspath(path))
    return here.parent.resolve() / here.name if here.name else here


def find_root(paths: Sequence[Path], cwd: Path | None = None) -> Path:
    """Return the root for a run over `paths`: paths of reports are relative to it.

    It is the nearest folder at or above all of the paths that holds a configuration or `.git`, else the
    working directory, or the folder common to all paths where they lie outside it. Raises ConfigError
    for a `pyproject.toml` that does not parse.
    """
    here = (cwd or Path.cwd()).resolve()
    starts = [absolute(here / path) for path in paths] or [here]
    try:
        common = Path(os.path.commonpath([str(p if p.is_dir() else p.parent) for p in starts])).resolve()
    except ValueError:
        raise PathError("the paths have no folder in common") from None
    for folder in (common, *common.parents):
        if (folder / ".git").exists() or config_file.find(folder) is not None:
            return folder
    return here if here == common or here in common.parents else common


def triggers(config: Config) -> tuple[bytes, ...]:
    """Return the byte strings one of which a file must hold to be read, the user's wrappers included."""
    from vllm_migrate import wrappers

    wrappers.use(config.wrappers)
    return tuple(t.encode() for t in wrappers.spoken())


@dataclass
class Walk:
    """A walk over files below a root.

    looked_at: files seen, read or not. notices: what could not be read, and named paths left out.
    """

    root: Path
    config: Config
    looked_at: int = 0
    notices: list[str] = field(default_factory=list)
    progress: Step = silent
    skipped: dict[str, list[str]] = field(default_factory=dict)
    """Reason → names of what was not read for it. Of files that only say nothing of vLLM, those a path named."""

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        self._prefix = str(self.root)
        self._speaks = Speaks(triggers(self.config))
        self._buffer = bytearray(_HEAD)
        self._view = memoryview(self._buffer)
        self._found = b""
        self._seen: set[str] | None = None
        self._excluded = (*(self.config.exclude or ()), *self.config.extend_exclude)
        self._skipped = SKIPPED_FOLDERS if self.config.exclude is None else frozenset({".git"})

    def name(self, path: str) -> str:
        """Return an absolute path relative to the root, with forward slashes; "" for the root."""
        if path == self._prefix:
            return ""
        return relative(path, self._prefix)

    def files(self, paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
        """Yield name and bytes of every file below the paths that holds a trigger, in order of name.

        Raises PathError for a path that does not exist or cannot be read.
        """
        if len(paths) > 1:
            self._seen = set()
        for path in paths:
            yield from self._start(path)

    def _start(self, path: Path) -> Iterator[tuple[str, bytes]]:
        here = absolute(path)
        try:
            if here.is_symlink():
                here = here.resolve(strict=True)
                if not self._inside(here):
                    self.notices.append(f"{path}: a symbolic link out of the tree, not followed")
                    return
            mode = here.stat().st_mode
        except (OSError, RuntimeError) as error:
            raise PathError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        name = self.name(str(here))
        if name and self._excludes(name):
            self.notices.append(f"{path}: left out, the configuration excludes it")
            return
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            # A pipe or a device may never end.
            raise PathError(f"{path}: not a regular file")
        if stat.S_ISDIR(mode):
            if not os.access(here, os.R_OK | os.X_OK):
                raise PathError(f"{path}: Permission denied")
            yield from self._folder(str(here), chain_above(here))
        else:
            try:
                found = self._speaks_of_it(str(here), named=True)
            except OSError as error:
                raise PathError(f"{path}: {error.strerror}") from None
            if found:
                yield name, self._taken()

    def _skip(self, name: str, reason: str) -> None:
        self.skipped.setdefault(reason, []).append(name)

    def _inside(self, path: Path) -> bool:
        return path == self.root or self.root in path.parents

    def _excludes(self, name: str) -> bool:
        return any(path_matches(pattern, name) for pattern in self._excluded)

    def _folder(self, folder: str, ignores: Ignores | None) -> Iterator[tuple[str, bytes]]:
        if folder.count(os.sep) - self._prefix.count(os.sep) > _DEEPEST:
            self.notices.append(f"{self.name(folder)}: left out, {_DEEPEST} folders deep")
            return
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=_NAME)
        except OSError as error:
            self.notices.append(f"{self.name(folder)}: {error.strerror}")
            return
        names = {entry.name for entry in entries}
        if "pyvenv.cfg" in names:
            self._skip(self.name(folder) + "/", "a virtual environment")
            return
        if ".gitignore" in names:
            ignores = add(ignores, folder, os.path.join(folder, ".gitignore"))
        for entry in entries:
            try:
                if entry.is_symlink():
                    # What it leads to in the tree is found by itself; what lies outside is not ours.
                    self._skip(self.name(entry.path), "a symbolic link")
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if self._enters(entry, ignores):
                        yield from self._folder(entry.path, ignores)
                elif entry.is_file(follow_symlinks=False):
                    # Asked last: few files get this far, and matching patterns is slow.
                    if not self._speaks_of_it(entry.path, named=False) or entry.name.startswith(_UNFINISHED):
                        continue
                    name = self.name(entry.path)
                    if self._excludes(name):
                        self._skip(name, "excluded by the configuration")
                    elif ignores is not None and ignores.ignores(entry.path, False):
                        self._skip(name, "ignored by Git")
                    else:
                        yield name, self._taken()
            except OSError as error:
                self.notices.append(f"{self.name(entry.path)}: {error.strerror}")

    def _enters(self, entry: os.DirEntry[str], ignores: Ignores | None) -> bool:
        reason = ""
        if entry.name in self._skipped:
            reason = "a folder of tools or vendored code"
        elif self._excluded and self._excludes(self.name(entry.path)):
            reason = "excluded by the configuration"
        elif ignores is not None and ignores.ignores(entry.path, True):
            reason = "ignored by Git"
        if reason and entry.name != ".git":
            self._skip(self.name(entry.path) + "/", reason)
        return not reason

    def _taken(self) -> bytes:
        """Return the bytes that were found and forget them: they can be hundreds of megabytes."""
        found, self._found = self._found, b""
        return found

    def _speaks_of_it(self, path: str, *, named: bool) -> bool:
        """Tell whether a file is text that holds a trigger, the first time it is met; keeps its bytes."""
        if self._seen is not None:
            if path in self._seen:
                return False
            self._seen.add(path)
        self.looked_at += 1
        if not self.looked_at % 100:
            self.progress("looking at files", self.looked_at, 0)
        if not named and path[path.rfind(".") :].lower() in _BINARY:
            return False
        stream = os.open(path, _READ)
        try:
            # One buffer for all files: memory that is touched for the first time costs more than the reading.
            got = _into(stream, self._buffer)
            if self._buffer.find(0, 0, got) >= 0:
                if named:
                    self._skip(self.name(path), "not text")
                return False
            raw = self._view[:got] if got < _HEAD else self._whole(path, stream, named)
        finally:
            os.close(stream)
        if raw is None:
            return False
        if self._speaks(raw):
            self._found = bytes(raw)
            return True
        if named:
            self._skip(self.name(path), "says nothing of vLLM")
        return False

    def _whole(self, path: str, stream: int, named: bool) -> bytes | None:
        """Return all of a file that is longer than its head; None where it is too long to be read unnamed."""
        size = os.fstat(stream).st_size
        if size > _LARGEST and not named:
            self.notices.append(f"{self.name(path)}: left out, {size >> 20} MiB; name it to have it read")
            return None
        os.lseek(stream, 0, os.SEEK_SET)
        with open(stream, "rb", closefd=False, buffering=0) as whole:
            # No more than was there: a file may grow while it is read.
            return whole.read(size) or b""


def _into(stream: int, buffer: bytearray) -> int:
    """Read the first bytes of a file into a buffer and return how many they are."""
    if hasattr(os, "readv"):
        return os.readv(stream, (buffer,))
    raw = os.read(stream, len(buffer))
    buffer[: len(raw)] = raw
    return len(raw)


@lru_cache(maxsize=4)
def _real(root: Path) -> str:
    return os.path.realpath(root)


def _inside(root: Path, name: str) -> str:
    """Return where a name below a root leads, links followed. Raises OSError where it leads nowhere, or outside."""
    base = _real(root)
    path = os.path.realpath(os.path.join(base, name), strict=True)
    if path != base and not path.startswith(base.rstrip(os.sep) + os.sep):
        raise OSError(f"{name} is outside")
    return path


def read_inside(root: Path, name: str) -> bytes | None:
    """Return the bytes of a file another one links to, or None.

    Args: name: relative to the root. None where there is no such regular file, where it lies outside the
    root (a symbolic link may lead there), or where it cannot be read.
    """
    try:
        return read_file(Path(_inside(root, name)), _LARGEST)
    except (OSError, ValueError):
        return None


def names_inside(root: Path, name: str) -> list[str]:
    """Return the names in a folder, sorted; none where it is no folder, or lies outside the root."""
    try:
        return sorted(os.listdir(_inside(root, name)))
    except (OSError, ValueError):
        return []


def walk(paths: Sequence[Path], root: Path, config: Config) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the files below the paths that may speak of vLLM; see `Walk.files`."""
    yield from Walk(root, config).files(paths)
