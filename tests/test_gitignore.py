"""Ignore files are read as Git reads them; Git itself is asked."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from vllm_migrate.gitignore import Ignores, add

LINES = [
    "*.log", "/top", "build/", "!keep.log", "a/b", "a/*", "a/**", "**/z", "a/**/c", "**/b/**", "x?y", "[ab]c", "[!a]c",
    "[a-c]*", r"\#hash", "#comment", r"\!bang", "trail ", r"kept\ ", "***", "**", "*/", "/*", "!a/b/c", "[]a]x", "[a",
    "a\\", "[[:digit:]]*", "a**b", "/a/*/c*", "*.*.*.*.*", "foo/***/b", "é*", "", "   ", "dir/.*", "!/**/",
    r"a\*b", "[^]x]", "[z-a]", "[[:no:]]",
]  # fmt: skip
NAMES = [
    "a.log", "keep.log", "top", "x/top", "build", "a", "a/b", "a/b/c", "a/c", "z", "q/z", "b", "b/b", "xzy", "x/y",
    "ac", "bc", "cc", "#hash", "#comment", "!bang", "trail", "trail ", "kept", "kept ", "]x", "ax", "1a", "ab",
    "axxb", "a/q/c1", "1.2.3.4.5", "foo/b", "foo/x/b", "é1", "dir/.x", "a*b", "a\\", "[a", "xx",
]  # fmt: skip


def git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    return subprocess.run(["git", *words], cwd=folder, input=given, capture_output=True, check=False).stdout


def told(folder: Path, names: list[str]) -> dict[str, bool]:
    """Return name → whether a line says that it is left out, of those names any line speaks of."""
    given = b"\0".join(n.encode() for n in names)
    raw = git(folder, "check-ignore", "-z", "-v", "-n", "--no-index", "--stdin", given=given)
    parts = raw.decode().split("\0")
    rows = [parts[i : i + 4] for i in range(0, len(parts) - 1, 4)]
    return {row[3]: not row[2].startswith("!") for row in rows if row[2]}


def ours(chain: Ignores | None, folder: Path, name: str) -> bool:
    """Tell whether a name or a folder above it is left out."""
    parts = name.split("/")
    for n in range(1, len(parts) + 1):
        path = folder / "/".join(parts[:n])
        if chain is not None and chain.ignores(str(path), n < len(parts) or path.is_dir()):
            return True
    return False


@pytest.mark.parametrize("seed", range(16))
def test_as_git_does(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    lines = rng.sample(LINES, rng.randint(1, 6)) if seed else LINES
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_bytes(("\r\n" if seed % 3 == 1 else "\n").join(lines).encode() + b"\n")
    for name in NAMES:
        path = tmp_path / name
        if not path.exists() and not any(p.is_file() for p in path.parents if p != tmp_path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
    (tmp_path / "build").unlink()
    (tmp_path / "build").mkdir()
    names = [n for n in NAMES if (tmp_path / n).exists()]
    chain = add(None, str(tmp_path), str(tmp_path / ".gitignore"))
    theirs = told(tmp_path, names)
    assert {n: ours(chain, tmp_path, n) for n in names} == {n: theirs.get(n, False) for n in names}, lines


def test_many_stars_are_no_trap(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*a*a*a*b\n**/x/**/x/**/x/**/x/**/y\n")
    chain = add(None, str(tmp_path), str(tmp_path / ".gitignore"))
    assert chain is not None
    assert not chain.ignores(str(tmp_path / ("a" * 250)), False)
    assert not chain.ignores(f"{tmp_path}/{'x/' * 800}z", False)
    assert chain.ignores(str(tmp_path / ("a" * 20 + "b")), False)
