"""What git leaves out of a tree: `.gitignore` files and `.git/info/exclude`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from vllm_migrate.globs import Matcher, char_set, matcher
from vllm_migrate.lazy import dataclass
from vllm_migrate.plainfile import read_plain

_LARGEST = 1 << 20


def git_top(folder: Path) -> Path | None:
    """Return the nearest folder at or above `folder` that holds `.git`, or None."""
    for here in (folder, *folder.parents):
        if (here / ".git").exists():
            return here
    return None


def git_folder(top: Path) -> Path | None:
    """Return where Git keeps the index of the work tree that begins at `top`; None where that cannot be read."""
    git = top / ".git"
    if git.is_dir():
        return git
    # A linked work tree or a submodule: the file names the folder that stands in.
    raw = read_plain(git, _LARGEST)
    if raw is None:
        return None
    text = raw.decode("utf-8", "surrogateescape").strip()
    folder = top / text.removeprefix("gitdir:").strip()
    return folder if text.startswith("gitdir:") and folder.is_dir() else None


def git_common(folder: Path) -> Path:
    """Return what the work trees of one repository share: settings, objects. folder: of one of them."""
    raw = read_plain(folder / "commondir", _LARGEST)
    return folder if raw is None else folder / raw.decode("utf-8", "surrogateescape").strip()


def _exclude_file(top: Path) -> Path | None:
    """Return `info/exclude` of the repository whose work tree begins at `top`."""
    git = git_folder(top)
    path = git_common(git) / "info" / "exclude" if git is not None else None
    return path if path is not None and path.is_file() else None


def relative(path: str, folder: str) -> str:
    """Return an absolute path relative to a folder above it, with forward slashes."""
    return path[len(folder.rstrip(os.sep)) + 1 :].replace(os.sep, "/")


@dataclass(frozen=True)
class Rule:
    """One line of an ignore file. literal: the name itself, where the pattern is one; else fits says it.

    named: the pattern is for the last name of a path, wherever it lies. wanted: what matches is not left out.
    """

    literal: str
    fits: Callable[[str], bool] | None
    named: bool
    folders: bool
    wanted: bool

    def matches(self, name: str, is_folder: bool) -> bool:
        if self.folders and not is_folder:
            return False
        if self.named:
            name = name.rpartition("/")[2]
        return name == self.literal if self.fits is None else self.fits(name)


@dataclass(frozen=True)
class Ignores:
    """The patterns in force in one folder: those of the folder itself after those of all above it.

    `folder` is absolute. A chain: the deepest file that says anything about a name decides. rules: the last first.
    """

    folder: str
    rules: tuple[Rule, ...]
    above: Ignores | None

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Tell whether git would leave an absolute path out; folders above it are taken as wanted."""
        level: Ignores | None = self
        while level is not None:
            name = relative(path, level.folder)
            for rule in level.rules:
                if rule.matches(name, is_folder):
                    return not rule.wanted
            level = level.above
        return False


def add(above: Ignores | None, folder: str, file: str) -> Ignores | None:
    """Return the chain with one more ignore file, whose patterns are relative to `folder`.

    What is not a plain file of reasonable size is not read; a symbolic link in its place is not followed, as Git
    does not.
    """
    raw = read_plain(file, _LARGEST)
    if raw is None:
        return above
    text = raw.decode("utf-8-sig", "surrogateescape")
    rules = [rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r"))) is not None]
    return Ignores(folder, tuple(reversed(rules)), above) if rules else above


def _rule(line: str) -> Rule | None:
    """Return what a line says, as gitignore(5) has it; None for a comment and for what is no pattern."""
    body = line.rstrip(" ")
    if len(body) < len(line) and (len(body) - len(body.rstrip("\\"))) % 2:
        body += " "
    if not body or body.startswith("#"):
        return None
    wanted = body.startswith("!")
    body = body[wanted:]
    folders = body.endswith("/")
    body = body.removesuffix("/")
    named = "/" not in body
    body = body.removeprefix("/")
    if not body:
        return None
    if not any(c in body for c in "*?[\\"):
        return Rule(body, None, named, folders, wanted)
    try:
        return Rule("", _matcher(body, named).fits, named, folders, wanted)
    except ValueError:
        # Git passes over a pattern it cannot read.
        return None


def _matcher(body: str, named: bool) -> Matcher:
    """Return what matches a pattern. Raises ValueError for one that is none."""
    out: list[str] = []
    repeats = i = 0
    while i < len(body):
        char = body[i]
        if char == "*":
            end = i
            while body[end : end + 1] == "*":
                end += 1
            whole = end - i > 1 and (i == 0 or body[i - 1] == "/") and body[end : end + 1] in ("", "/") and not named
            repeats += 1
            if whole and body[end : end + 1] == "/":
                # Any folders, or none: the slash goes with them.
                out.append("(?:.*/)?")
                end += 1
            else:
                out.append(".*" if whole else "[^/]*")
            i = end
        elif char == "?":
            out.append("[^/]")
            i += 1
        elif char == "[":
            found = char_set(body, i)
            if found is None:
                raise ValueError("a set is not closed")
            out.append(found[0])
            i = found[1]
        else:
            if char == "\\":
                i += 1
                if i == len(body):
                    raise ValueError("nothing behind the backslash")
            out.append(re.escape(body[i]))
            i += 1
    return matcher("(?s)" + "".join(out), repeats)


def chain_above(folder: Path) -> Ignores | None:
    """Return what the repository says about `folder` from above it: `info/exclude` and parents' files.

    The folder's own `.gitignore` is left to the walk. Empty where `folder` lies in no repository.
    """
    top = git_top(folder)
    if top is None:
        return None
    chain: Ignores | None = None
    exclude = _exclude_file(top)
    if exclude is not None:
        chain = add(chain, str(top), str(exclude))
    if folder == top:
        return chain
    parents = [p for p in reversed(folder.parents) if p == top or top in p.parents]
    for parent in parents:
        if (parent / ".gitignore").is_file():
            chain = add(chain, str(parent), str(parent / ".gitignore"))
    return chain
