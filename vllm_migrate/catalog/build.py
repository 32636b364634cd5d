"""Builds catalog files: mines sources and merges them into the history, or writes one release alone."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from vllm_migrate.catalog.history import SECTIONS, Entries, Facts, at, insert, sort_versions
from vllm_migrate.catalog.mine import Mined, mine
from vllm_migrate.catalog.query import FORMAT, CatalogError, Snapshot, read_json, release_file
from vllm_migrate.catalog.removals import Removal, between
from vllm_migrate.catalog.source import MineError
from vllm_migrate.lazy import dataclass
from vllm_migrate.paths import schemas_dir

__all__ = ["BuildReport", "MineError", "MinedRelease", "build"]

@dataclass(frozen=True)
class MinedRelease:
    """What one source gave.

    counts: entries per section. notes: what the source does not tell. previous: the release before it in
    the history, None for the first. removed: what that release has and this one lacks.
    """

    version: str
    source: Path
    counts: dict[str, int]
    notes: tuple[str, ...]
    previous: str | None
    removed: tuple[Removal, ...] = ()


@dataclass
class BuildReport:
    """What `build` did. written: the files, in order; empty where they held the same already."""

    releases: list[MinedRelease] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)


def build(
    paths: Sequence[Path],
    version: str | None = None,
    output: Path | None = None,
    into: Path | None = None,
) -> BuildReport:
    """Mine sources and write what they say.

    paths: unpacked trees, source archives or wheels. version: what the one source is, where it does not
    say. output: write this one release alone to a file (`catalog:` of the configuration loads it) instead
    of merging into a history. into: the history's folder (default: the shipped one). A release may lie
    before, between or after the known ones; building it again changes nothing. Nothing is written unless
    every source was mined. Raises MineError, and CatalogError for a history that cannot be read.
    """
    if not paths:
        raise MineError("nothing to mine: give a vLLM source tree, a source archive or a wheel")
    if len(paths) > 1 and (version is not None or output is not None):
        raise MineError("--version and --output take one source at a time")
    folder = into or schemas_dir() / "catalog"
    history = _History(folder)
    report = BuildReport()
    for path in paths:
        mined = mine(path, version)
        report.releases.append(history.compare(mined))
        if output is not None:
            _replace({output: single_release(mined)}, report)
        else:
            history.add(mined)
    if output is None:
        _replace(history.files(), report)
    return report


class _History:
    """The files of a history folder, in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.releases: dict[str, dict[str, Any]] = {}
        self.sections: dict[str, Entries] = {name: {} for name in SECTIONS}
        index = folder / "releases.json"
        if not index.exists():
            return
        self.releases = {v: read_json(release_file(folder, v))["release"] for v in read_json(index)["releases"]}
        for name in SECTIONS:
            path = folder / f"{name}.json"
            self.sections[name] = read_json(path)["entries"] if path.exists() else {}

    def facts(self, section: str, version: str) -> Facts:
        order = {v: i for i, v in enumerate(self.releases)}
        return at(self.sections[section], order, order[version])

    def compare(self, mined: Mined) -> MinedRelease:
        order = sort_versions({*self.releases, mined.version})
        position = order.index(mined.version)
        previous = order[position - 1] if position else None
        removed: list[Removal] = []
        if previous is not None:
            before = Snapshot(previous, {section: self.facts(section, previous) for section in SECTIONS})
            removed = between(before, Snapshot(mined.version, mined.sections))
        counts = {name: len(facts) for name, facts in mined.sections.items()}
        return MinedRelease(mined.version, mined.source, counts, tuple(mined.notes), previous, tuple(removed))

    def add(self, mined: Mined) -> None:
        order = list(self.releases)
        for name in SECTIONS:
            facts = mined.sections[name]
            self.sections[name], order = insert(self.sections[name], list(self.releases), mined.version, facts)
        self.releases[mined.version] = mined.release
        self.releases = {v: self.releases[v] for v in order}

    def files(self) -> dict[Path, str]:
        """Return path -> text: one line an entry, so that the next release is a small diff."""
        lines = ",\n".join(_line(version) for version in self.releases)
        out = {self.folder / "releases.json": f'{{"format": {FORMAT}, "releases": [\n{lines}\n]}}\n'}
        for version, facts in self.releases.items():
            lines = ",\n".join(f"{_line(k)}: {_line(v)}" for k, v in facts.items())
            out[release_file(self.folder, version)] = f'{{"format": {FORMAT}, "release": {{\n{lines}\n}}}}\n'
        for name, entries in self.sections.items():
            lines = ",\n".join(f"{_line(k)}: {_line(entries[k])}" for k in sorted(entries))
            head = f'{{"format": {FORMAT}, "section": {_line(name)}, "entries": {{'
            out[self.folder / f"{name}.json"] = f"{head}\n{lines}\n}}}}\n" if entries else f"{head}}}}}\n"
        return out


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def single_release(mined: Mined) -> str:
    """Return the text of a single-release file."""
    sections: list[str] = []
    for name, facts in mined.sections.items():
        lines = ",\n".join(f"{_line(k)}: {_line(facts[k])}" for k in sorted(facts))
        sections.append(f"{_line(name)}: {{\n{lines}\n}}" if facts else f"{_line(name)}: {{}}")
    head = f'{{"format": {FORMAT}, "version": {_line(mined.version)}, "release": {_line(mined.release)}'
    return head + ', "sections": {\n' + ",\n".join(sections) + "\n}}\n"


def _replace(files: dict[Path, str], report: BuildReport) -> None:
    """Write files beside their targets first, and move them into place only when all are complete."""
    ready: list[tuple[Path, Path]] = []
    try:
        for path, text in files.items():
            data = text.encode("utf-8")
            if path.exists() and path.read_bytes() == data:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            ready.append((Path(name), path))
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.chmod(name, 0o644)
        for temporary, path in ready:
            os.replace(temporary, path)
            report.written.append(path)
    except OSError as error:
        raise CatalogError(f"{error.filename or 'catalog'}: {error.strerror or error}") from error
    finally:
        for temporary, _ in ready:
            temporary.unlink(missing_ok=True)
