"""What git leaves out of a tree: `.gitignore` files and `.git/info/exclude`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from vllm_migrate.lazy import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


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
    try:
        text = git.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return None
    folder = top / text.removeprefix("gitdir:").strip()
    return folder if text.startswith("gitdir:") and folder.is_dir() else None


def git_common(folder: Path) -> Path:
    """Return what the work trees of one repository share: settings, objects. folder: of one of them."""
    try:
        return folder / (folder / "commondir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return folder


def _exclude_file(top: Path) -> Path | None:
    """Return `info/exclude` of the repository whose work tree begins at `top`."""
    git = git_folder(top)
    path = git_common(git) / "info" / "exclude" if git is not None else None
    return path if path is not None and path.is_file() else None


def relative(path: str, folder: str) -> str:
    """Return an absolute path relative to a folder above it, with forward slashes."""
    return path[len(folder.rstrip(os.sep)) + 1 :].replace(os.sep, "/")


@dataclass(frozen=True)
class Ignores:
    """The patterns in force in one folder: those of the folder itself after those of all above it.

    `folder` is absolute. A chain: the deepest file that says anything about a name decides.
    """

    folder: str
    spec: GitIgnoreSpec
    above: Ignores | None

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Tell whether git would leave an absolute path out; folders above it are taken as wanted."""
        level: Ignores | None = self
        while level is not None:
            name = relative(path, level.folder)
            verdict = level.spec.check_file(name + "/" if is_folder else name).include
            if verdict is not None:
                return verdict
            level = level.above
        return False


def add(above: Ignores | None, folder: str, file: str) -> Ignores | None:
    """Return the chain with one more ignore file, whose patterns are relative to `folder`.

    A symbolic link in the place of one is not followed, as Git does not.
    """
    if os.path.islink(file):
        return above
    try:
        with open(file, encoding="utf-8-sig", errors="surrogateescape") as stream:
            lines = [line for line in stream.read().splitlines() if line.strip() and not line.startswith("#")]
    except OSError:
        return above
    if not lines:
        return above
    # Imported only where an ignore file says something: most of a short run's time would go into it.
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except ValueError:
        # git passes over a pattern it cannot read; keep those that can be.
        spec = GitIgnoreSpec.from_lines([line for line in lines if _readable(line)])
    return Ignores(folder, spec, above)


def _readable(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


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
