"""Reads the files of a release from an unpacked tree, a source archive or a wheel; extracts nothing."""

from __future__ import annotations

import ast
import gzip
import re
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from vllm_migrate.lazy import regex
from vllm_migrate.plainfile import read_file

_FILE_LIMIT = 8 * 1024 * 1024
_TOTAL_LIMIT = 512 * 1024 * 1024
_COUNT_LIMIT = 100_000
_HEADER_LIMIT = 1 << 20
#: What the miner can use: the package's modules and what describes a build.
_WANTED = regex(
    r"(vllm/.+\.py|requirements[^/]*\.txt|requirements/.+\.txt|docker/.+|Dockerfile[^/]*"
    r"|CMakeLists\.txt|pyproject\.toml|setup\.py|PKG-INFO|[^/]+\.dist-info/METADATA)"
)


_VERSIONED = regex(r"(?:vllm[-_])?v?(\d+\.\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc)\d+)?)")


class MineError(Exception):
    """A source cannot be mined; the text says which file and why."""


class _Bounded:
    """What a packed file holds, up to a limit: a small one may unpack to any size."""

    def __init__(self, stream: gzip.GzipFile, path: Path) -> None:
        self._stream, self._path, self._left = stream, path, _TOTAL_LIMIT

    def read(self, size: int) -> bytes:
        raw = self._stream.read(size)
        self._left -= len(raw)
        if self._left < 0:
            raise MineError(f"{self._path}: holds more than {_TOTAL_LIMIT >> 20} MiB")
        return raw


class _Header(tarfile.TarInfo):
    """A header of a tar archive; one whose name or attributes would fill the memory is refused."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        made = super().frombuf(buf, encoding, errors)
        if made.type not in tarfile.REGULAR_TYPES and made.size > _HEADER_LIMIT:
            raise MineError(f"a header of {made.size} bytes in the archive")
        return made


class Tree:
    """The files of one release by their path from its root (`vllm/envs.py`).

    kind: "tree", "sdist" or "wheel". Raises MineError for what is none of these or too large.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._texts: dict[str, str] = {}
        self._parsed: dict[str, ast.Module] = {}
        if path.is_dir():
            self.kind = "tree"
            self._root = _find_root(path)
            self._names = set(_walk(self._root))
        elif path.exists() and not path.is_file():
            raise MineError(f"{path}: neither a folder nor a file")
        elif path.is_file() and path.stat().st_size > _TOTAL_LIMIT:
            raise MineError(f"{path}: larger than {_TOTAL_LIMIT >> 20} MiB")
        elif path.name.endswith((".tar.gz", ".tgz")):
            self.kind = "sdist"
            self._names = set(self._read_tar(path))
        elif path.name.endswith((".whl", ".zip")):
            self.kind = "wheel"
            self._names = set(self._read_zip(path))
        elif not path.exists():
            raise MineError(f"{path}: no such file or folder")
        else:
            raise MineError(f"{path}: neither a folder, a .tar.gz source archive nor a wheel")
        if not self.has("vllm/__init__.py"):
            raise MineError(f"{path}: no vllm/__init__.py in it; is this a vLLM source tree?")

    def has(self, name: str) -> bool:
        return name in self._names

    def names(self, pattern: str) -> list[str]:
        """Return the paths that a regular expression matches from their start to their end."""
        wanted = re.compile(pattern)
        return sorted(n for n in self._names if wanted.fullmatch(n))

    def read(self, name: str) -> str:
        """Return a file's text ("" for one that is not there). Raises MineError for one that is too large."""
        if name not in self._texts:
            if self.kind != "tree" or name not in self._names:
                return ""
            file = self._root / name
            try:
                self._texts[name] = read_file(file, _FILE_LIMIT).decode("utf-8", "replace")
            except OSError as error:
                raise MineError(f"{file}: {error.strerror or error}") from error
        return self._texts[name]

    def parse(self, name: str) -> ast.Module:
        """Return a file's syntax tree. Raises MineError where it is no Python this Python can read."""
        if name not in self._parsed:
            try:
                self._parsed[name] = ast.parse(self.read(name))
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                line = getattr(error, "lineno", None)
                where = f" (line {line})" if line else ""
                reason = getattr(error, "msg", None) or str(error) or "nested too deep"
                raise MineError(f"{self.path}: {name}: {reason}{where}") from error
        return self._parsed[name]

    def _read_tar(self, path: Path) -> list[str]:
        names: list[str] = []
        try:
            # Read from front to back: what is passed over counts too, and a size that is a lie changes nothing.
            with gzip.open(path) as packed:
                bounded = _Bounded(packed, path)
                with tarfile.open(fileobj=bounded, mode="r|", tarinfo=_Header) as archive:  # type: ignore[call-overload]
                    for count, member in enumerate(archive):
                        if count > _COUNT_LIMIT:
                            raise MineError(f"{path}: more than {_COUNT_LIMIT} files")
                        name = _inner(member.name)
                        if not member.isfile() or name is None:
                            continue  # links and devices of an archive are never followed
                        names.append(name)
                        if not _WANTED.fullmatch(name):
                            continue
                        if member.size > _FILE_LIMIT:
                            raise MineError(f"{path}: {member.name}: too large")
                        stream = archive.extractfile(member)
                        data = stream.read(_FILE_LIMIT + 1) if stream is not None else b""
                        self._texts[name] = data.decode("utf-8", errors="replace")
                while bounded.read(1 << 16):
                    pass  # the sum that tells whether it is whole stands at the end
        except MineError:
            raise
        except Exception as error:  # each part of an archive is damaged in its own way
            raise MineError(f"{path}: not a readable archive: {error or type(error).__name__}") from error
        return names

    def _read_zip(self, path: Path) -> list[str]:
        names: list[str] = []
        total = 0
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
                if len(members) > _COUNT_LIMIT:
                    raise MineError(f"{path}: more than {_COUNT_LIMIT} files")
                for member in members:
                    name = member.filename
                    if member.is_dir() or not _plain(name) or (member.external_attr >> 28) == 0xA:
                        continue
                    names.append(name)
                    if not _WANTED.fullmatch(name):
                        continue
                    with archive.open(member) as stream:
                        data = stream.read(_FILE_LIMIT + 1)
                    total += len(data)
                    if len(data) > _FILE_LIMIT or total > _TOTAL_LIMIT:
                        raise MineError(f"{path}: {name}: too large")
                    self._texts[name] = data.decode("utf-8", errors="replace")
        except MineError:
            raise
        except Exception as error:  # each part of an archive is damaged in its own way
            raise MineError(f"{path}: not a readable archive: {error or type(error).__name__}") from error
        return names

    def version(self) -> str | None:
        """Return the version the source says it is, or None."""
        if self.kind == "tree":
            named = _VERSIONED.fullmatch(self.path.resolve().name)
            if named:  # an sdist's _version.py can tell a development version
                return named[1]
        for name in self.names(r"PKG-INFO|[^/]+\.dist-info/METADATA"):
            found = re.search(r"^Version: (\S+)$", self.read(name), re.MULTILINE)
            if found:
                return found[1]
        found = re.search(r"""^(?:__version__ = )?version = ['"]([^'"]+)['"]""", self.read("vllm/_version.py"), re.M)
        if found:
            return found[1]
        for text in (self.path.name, self.path.resolve().name):
            found = re.search(r"v?(\d{1,9}\.\d{1,9}\.\d{1,9}(?:\.\d{1,9})?(?:\.?(?:post|rc|dev)\d+)?)", text)
            if found:
                return found[1]
        found = re.search(r"""^__version__ = ['"]([^'"]+)['"]""", self.read("vllm/version.py"), re.MULTILINE)
        return found[1] if found else None


def _find_root(path: Path) -> Path:
    """Accept the root itself, or a folder whose only content is the root."""
    if (path / "vllm" / "__init__.py").is_file():
        return path
    inner = [p for p in path.iterdir() if p.is_dir() and not p.is_symlink()]
    if len(inner) == 1 and (inner[0] / "vllm" / "__init__.py").is_file():
        return inner[0]
    return path


def _walk(root: Path) -> list[str]:
    names: list[str] = []
    todo = [root / name for name in ("vllm", "requirements", "docker")]
    todo += root.glob("vllm-*.dist-info")
    names += [p.name for p in root.iterdir() if p.is_file() and not p.is_symlink()]
    while todo:
        folder = todo.pop()
        if folder.is_symlink() or not folder.is_dir():
            continue
        for entry in folder.iterdir():
            if entry.is_symlink() or entry.name == "__pycache__":
                continue
            if entry.is_dir():
                todo.append(entry)
            elif entry.is_file():
                names.append(entry.relative_to(root).as_posix())
        if len(names) > _COUNT_LIMIT:
            raise MineError(f"{root}: more than {_COUNT_LIMIT} files")
    return names


def _plain(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and ".." not in parts and not name.startswith("/")


def _inner(name: str) -> str | None:
    """Return a member's path below the archive's one top folder, None where it has none or leaves it."""
    if not _plain(name):
        return None
    _, slash, rest = name.removeprefix("./").partition("/")
    return rest if slash and rest else None
