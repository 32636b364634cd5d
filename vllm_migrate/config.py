"""The settings of a run: the configuration file merged with the command line.

A configuration is the table `[tool.vllm-migrate]` of `pyproject.toml` or the file `.vllm-migrate.yaml`,
at the root. What may stand in it is `schemas/config.schema.json`; `config_file` reads and checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, cast

from vllm_migrate.findings import SEVERITIES, Finding, Severity
from vllm_migrate.globs import name_matches, path_matches
from vllm_migrate.lazy import dataclass


class ConfigError(ValueError):
    """A configuration cannot be used; the message names the file, the line and the key. lines: of the message."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True)
class ImageFact:
    """What a private image holds. device: "cuda", "rocm", "cpu", "xpu", "tpu", or "" where not said."""

    version: str
    device: str = ""


@dataclass(frozen=True)
class PathReleases:
    """The releases that hold below a path; None where the pattern says nothing."""

    from_: str | None = None
    to: str | None = None


@dataclass(frozen=True)
class Speculator:
    """What replaces a removed speculator for one target model."""

    method: str
    model: str | None = None


@dataclass(frozen=True)
class Config:
    """Everything a run is told, besides the paths.

    to: the releases to reach, several for a rolling upgrade; empty where pins decide. select: empty
    means everything. exclude: None means the built-in list. jobs: accepted, not used yet. fix:
    whether fixes are chosen into `FileResult.fixed`. File names are absolute.
    speculative_replacement: a method, or glob of target model → Speculator.
    """

    from_: str | None = None
    to: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    fail_on: Severity = "warning"
    keep_pins: bool = False
    unsafe_fixes: bool = False
    fix: bool = False
    jobs: int = 0
    baseline: Path | None = None
    device_ids: str = "rewrite"
    speculative_replacement: str | Mapping[str, Speculator] = "ngram"
    migrations: tuple[Path, ...] = ()
    wrappers: tuple[Path, ...] = ()
    catalog: tuple[Path, ...] = ()
    images: Mapping[str, ImageFact] = field(default_factory=dict)
    paths: Mapping[str, PathReleases] = field(default_factory=dict)
    markdown: str = "report"
    chosen: frozenset[str] | None = None
    """With `fix`: the places (see `place_key`) whose fixes alone are taken; None means all that `takes` allows."""
    split: str = ""
    """With `fix`: "rule" or "launch" asks for `Report.steps`, one for each."""
    choose: bool = False
    """Whether `Report.choices` is asked for."""
    color: bool = False
    width: int = 100
    """Whether text for people carries terminal colours."""
    file: Path | None = None
    """The configuration file, None where there is none."""

    def reports(self, code: str, migration: str, path: str) -> bool:
        """Tell whether `select`, `ignore` and `per-file-ignores` let a finding through."""
        if self.select and not any(selects(s, code, migration) for s in self.select):
            return False
        if any(selects(s, code, migration) for s in self.ignore):
            return False
        return not any(
            path_matches(pattern, path) and any(selects(s, code, migration) for s in selectors)
            for pattern, selectors in self.per_file_ignores.items()
        )

    def takes(self, finding: Finding) -> bool:
        """Tell whether the fix of a finding is to be chosen: it is safe, or unsafe ones are asked for."""
        if finding.fix is None or (finding.fix.safety != "safe" and not self.unsafe_fixes):
            return False
        return self.chosen is None or place_key(finding) in self.chosen

    def releases_at(self, path: str) -> tuple[str | None, tuple[str, ...]]:
        """Return `from` and `to` for a file; the last pattern of `paths` that matches wins."""
        from_, to = self.from_, self.to
        for pattern, releases in self.paths.items():
            if path_matches(pattern, path):
                from_ = releases.from_ or from_
                to = (releases.to,) if releases.to else to
        return from_, to

    def image(self, reference: str) -> ImageFact | None:
        """Return what the configuration says about an image reference, or None.

        A name or pattern may be written with or without the tag; an exact one goes before a pattern.
        """
        name = _without_tag(reference)
        for text in (reference, name):
            if text in self.images:
                return self.images[text]
        for pattern, fact in self.images.items():
            if name_matches(pattern, reference) or name_matches(pattern, name):
                return fact
        return None

    def speculator_for(self, model: str | None) -> Speculator | None:
        """Return what replaces a removed speculator of a target model; None where a mapping lacks it."""
        if isinstance(self.speculative_replacement, str):
            return Speculator(self.speculative_replacement)
        for pattern, choice in self.speculative_replacement.items():
            if model is not None and (model == pattern or name_matches(pattern, model)):
                return choice
        return None

    def fails(self, severity: Severity) -> bool:
        """Tell whether a finding of this severity makes the exit status 1."""
        return SEVERITIES.index(severity) >= SEVERITIES.index(self.fail_on)


Settings = Config


def place_key(finding: Finding) -> str:
    """Return what names one finding in one state of its file."""
    return f"{finding.path}:{finding.span.start}:{finding.span.end}:{finding.code}:{finding.subject}"


def selects(selector: str, code: str, migration: str = "") -> bool:
    """Tell whether a selector means a finding.

    A selector is `ALL`, a code or a prefix of one (`VM1`), a migration id, or `CODE:id`.
    """
    head, colon, tail = selector.partition(":")
    if colon:
        return code.startswith(head.upper()) and tail == migration
    return selector.upper() == "ALL" or code.startswith(selector.upper()) or selector == migration


def _without_tag(reference: str) -> str:
    reference = reference.partition("@")[0]
    head, slash, last = reference.rpartition("/")
    return head + slash + last.partition(":")[0]


def from_mapping(data: Mapping[str, Any], base: Path, file: Path | None = None) -> Config:
    """Return the settings a checked configuration stands for.

    Args: data: the table, already found valid. base: the folder its file names are relative to.
    """

    def texts(key: str) -> tuple[str, ...]:
        value = data.get(key, ())
        return (value,) if isinstance(value, str) else tuple(value)

    def files(key: str) -> tuple[Path, ...]:
        return tuple(base / name for name in texts(key))

    replacement = data.get("speculative-replacement", "ngram")
    return Config(
        from_=data.get("from"),
        to=texts("to"),
        select=texts("select"),
        ignore=texts("ignore"),
        per_file_ignores={
            pattern: (value,) if isinstance(value, str) else tuple(value)
            for pattern, value in data.get("per-file-ignores", {}).items()
        },
        exclude=texts("exclude") if "exclude" in data else None,
        extend_exclude=texts("extend-exclude"),
        fail_on=cast(Severity, data.get("fail-on", "warning")),
        keep_pins=data.get("keep-pins", False),
        unsafe_fixes=data.get("unsafe-fixes", False),
        baseline=base / data["baseline"] if "baseline" in data else None,
        device_ids=data.get("device-ids", "rewrite"),
        speculative_replacement=replacement
        if isinstance(replacement, str)
        else {glob: Speculator(v["method"], v.get("model")) for glob, v in replacement.items()},
        migrations=files("migrations"),
        wrappers=files("wrappers"),
        catalog=files("catalog"),
        images={
            name: ImageFact(v) if isinstance(v, str) else ImageFact(v["version"], v.get("device", ""))
            for name, v in data.get("images", {}).items()
        },
        paths={glob: PathReleases(v.get("from"), v.get("to")) for glob, v in data.get("paths", {}).items()},
        markdown=data.get("markdown", "report"),
        file=file,
    )


def with_options(
    config: Config,
    *,
    from_: str | None = None,
    to: Sequence[str] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    **others: Any,
) -> Config:
    """Return the settings after the command line; an option that was not given (None) changes nothing.

    `from_`, `to` and `select` replace those of the file, per-path ones included; `ignore` adds to it.
    """
    changes: dict[str, Any] = {key: value for key, value in others.items() if value is not None}
    if from_ is not None:
        changes["from_"] = from_
    if to:
        changes["to"] = tuple(to)
    if from_ is not None or to:
        changes["paths"] = {
            glob: PathReleases(None if from_ is not None else r.from_, None if to else r.to)
            for glob, r in config.paths.items()
        }
    if select:
        changes["select"] = tuple(select)
    if ignore:
        changes["ignore"] = (*config.ignore, *ignore)
    return replace(config, **changes)
