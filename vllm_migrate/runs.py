"""What the commands `check`, `fix` and `diff` do, once the command line has been read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vllm_migrate.config import Config, ConfigError
from vllm_migrate.findings import Finding, Report
from vllm_migrate.lazy import dataclass

if TYPE_CHECKING:
    from vllm_migrate.hosts import Host
    from vllm_migrate.progress import Line

CLEAN, FOUND, FAILED = 0, 1, 2


_NAMED = 5
"""File names one line of a notice holds."""


class NotClean(ValueError):
    """Files to be written hold changes that Git does not have."""


class NoLaunch(ValueError):
    """A command line given to be checked starts no vLLM."""


@dataclass(frozen=True)
class Job:
    """One run. paths: what to look at; stdin: the text that stands for the only path, if it was `-` or a command
    line. unnamed: nobody said what that text is called. command: it is a command line.

    out: writes the result; note: writes lines for people to standard error. line: shows progress to a terminal.
    require_clean: write nothing into files that hold changes Git does not have.
    """

    paths: Sequence[Path]
    root: Path
    stdin: bytes | None
    config: Config
    output_format: str
    statistics: bool
    exit_zero: bool
    quiet: bool
    verbose: bool
    write_baseline: bool
    prune_baseline: bool
    unnamed: bool
    command: bool
    out: Callable[[str], None]
    note: Callable[[Iterable[str]], None]
    line: Line | None = None
    require_clean: bool = False

    def progress(self, what: str, done: int, total: int) -> None:
        """Show how far the run is, where somebody watches."""
        if self.line is not None and not self.quiet:
            self.line(what, done, total)

    def wipe(self) -> None:
        if self.line is not None:
            self.line.wipe()

    def say(self, lines: Iterable[str]) -> None:
        if not self.quiet:
            self.note(lines)


def run_check(job: Job) -> int:
    """Report; returns the exit status."""
    from vllm_migrate.output._summary import checked

    if job.write_baseline:
        return _write_baseline(job)
    if job.prune_baseline:
        return _prune_baseline(job)
    report = read_report(job, job.config)
    _print(job, report)
    if job.output_format in ("text", "concise"):
        job.say(checked(report, job.config))
    return status(job, report.findings())


def run_diff(job: Job) -> int:
    """Print the patch; returns the exit status of what was found."""
    from vllm_migrate.output import diff
    from vllm_migrate.output._summary import left_out

    report = read_report(job, replace(job.config, fix=True))
    job.out(diff.render(report, job.config))
    job.say(left_out(report))
    return status(job, report.findings())


def run_page(job: Job) -> int:
    """Print the page in which a person picks fixes; returns the exit status of what was found."""
    report = read_report(job, job.config)
    _print(job, report)
    return status(job, report.findings())


def run_fix(job: Job) -> int:
    """Write the chosen fixes and report what remains; returns the exit status."""
    from vllm_migrate.output._summary import fixed, left_out

    report = read_report(job, replace(job.config, fix=True))
    if job.stdin is not None:
        return _fix_text(job, report)
    failed = write_fixes(job, report)
    written = any(file.fixed is not None for file in report.files)
    job.say(fixed(report))
    # Read again what was written: what remains is what `check` finds now, at the lines it stands at now.
    rest = read_report(job, job.config, again=True) if written else report
    rest.written = {
        file.path: [fix.description for fix in file.applied] for file in report.files if file.fixed is not None
    }
    _print(job, rest)
    job.say(left_out(replace(rest, left_out=report.left_out, withheld=report.withheld)))
    return FAILED if failed else status(job, rest.findings())


def _unkept(job: Job, paths: list[Path]) -> list[str]:
    """Return the files whose present content Git could not bring back. Raises NotClean without a work tree."""
    from vllm_migrate.gitignore import git_top
    from vllm_migrate.gitindex import changed

    tops: dict[Path | None, list[Path]] = {}
    for path in paths:
        # A submodule keeps an index of its own.
        tops.setdefault(git_top(path.parent), []).append(path)
    if None in tops and job.require_clean:
        raise NotClean(f"nothing written: {job.root} is no work tree of Git")
    found = [p for top, inside in tops.items() if top is not None for p in changed(top, inside)]
    return [relative_name(path, job.root) for path in sorted(found)]


def _is_read_by_others(path: str) -> bool:
    """Tell whether a file only gives values that others use.

    It is written after them: where a run is killed in between, what is left over is a value that nothing uses.
    """
    return "templates" not in path.split("/") and path.endswith((".yaml", ".yml", ".env", ".tfvars"))


def write_fixes(job: Job, report: Report) -> bool:
    """Write the files a report holds new text for; returns whether one could not be written.

    What was not written is taken out of the report.
    """
    texts = {
        job.root / file.path: (file.source.raw, file.fixed.raw)
        for file in sorted(report.files, key=lambda f: (_is_read_by_others(f.path), f.path))
        if file.source is not None and file.fixed is not None
    }
    if not texts:
        return False
    from vllm_migrate import write
    from vllm_migrate.output._summary import some

    unkept = _unkept(job, list(texts))
    if unkept and job.require_clean:
        raise NotClean(f"nothing written: Git does not have {some(unkept, _NAMED)} as they are")
    if unkept:
        job.say([f"Git does not have {some(unkept, _NAMED)} as they are: these fixes are written into other changes"])
    together = [{job.root / path for path, _ in fix.edits} for file in report.files for fix in file.applied]
    linked = write.other_names(texts)
    refused = write.replace_all(texts, together, job.root)
    linked = [path for path in linked if path not in refused]
    if linked:
        names = some([relative_name(path, job.root) for path in linked], _NAMED)
        job.say([f"other names (hard links) of {names} keep the old text"])
    job.note([f"error: {reason}" for reason in refused.values()])
    for file in report.files:
        if job.root / file.path in refused:
            file.fixed, file.applied = None, []
    return bool(refused)


def _fix_text(job: Job, report: Report) -> int:
    """Print the text after the fixes; what remains goes to standard error."""
    from vllm_migrate import output

    assert job.stdin is not None
    result = next((file.fixed for file in report.files if file.fixed is not None), None)
    after = result.raw if result is not None else job.stdin
    job.out(after.decode("utf-8", "surrogateescape"))
    rest = read_report(replace(job, stdin=after), job.config, again=True)
    job.say(output.render(job.output_format, rest, job.config).splitlines())
    return status(job, rest.findings())


def read_report(job: Job, config: Config, *, again: bool = False) -> Report:
    """Run the engine over the job's paths. Notices are told once."""
    if not again:
        job.say(check_settings(config))
    if job.stdin is not None:
        from vllm_migrate.engine import run_text

        name = relative_name(job.paths[0], job.root)
        report = run_text(name, job.stdin, job.root, config, _host(job) if job.unnamed else None)
        if job.command and not again and not any(file.sites for file in report.files):
            raise NoLaunch(f"nothing known here starts vLLM in: {job.stdin.decode('utf-8', 'replace').strip()}")
    else:
        report = _walk(job, config)
        job.wipe()
    if not again:
        job.say(report.notices)
        if job.verbose:
            from vllm_migrate.output._summary import looked_at

            job.note([f"root: {job.root}", f"configuration: {config.file or 'none'}"])
            job.note(looked_at(report))
            job.note(report.evidence)
    return report


def _walk(job: Job, config: Config) -> Report:
    """Check the files below the job's paths; the engine is loaded once one of them speaks of vLLM."""
    from itertools import chain, islice

    from vllm_migrate.discover import Walk

    walk = Walk(job.root, config, progress=job.progress)
    files = walk.files(job.paths)
    # The bytes of a file are held by nobody but who reads them.
    first = list(islice(files, 1))
    if first:
        from vllm_migrate.engine import run_walk

        return run_walk(walk, chain(map(first.pop, (0,)), files), job.paths)
    report = Report(list(config.to), root=str(walk.root), walked=walk.looked_at)
    report.notices, report.skipped = walk.notices, walk.skipped
    return report


def _host(job: Job) -> Host | None:
    """Return the host of a text without a name."""
    from vllm_migrate.hosts.guess import guess

    assert job.stdin is not None
    found = guess(job.stdin.decode("utf-8", "replace"))
    if found is not None and job.verbose and not job.command:
        job.note([f"standard input is read as {found.NAME}; --stdin-filename says otherwise"])
    return found


def relative_name(path: Path, root: Path) -> str:
    """Return a path relative to the root with forward slashes; as it is where it lies outside."""
    from vllm_migrate.discover import absolute

    full = absolute(path)
    return full.relative_to(root).as_posix() if root in full.parents else path.as_posix()


def _print(job: Job, report: Report) -> None:
    from vllm_migrate import output

    if not job.statistics:
        job.out(output.render(job.output_format, report, job.config))
        return
    from vllm_migrate.output import _summary

    if job.output_format == "json":
        import json

        from vllm_migrate.output.json import data

        job.out(json.dumps({**data(report), "statistics": _summary.statistics(report)}, indent=1) + "\n")
    else:
        job.out(_summary.statistics_table(report))


def status(job: Job, findings: Iterable[Finding]) -> int:
    if job.exit_zero:
        return CLEAN
    return FOUND if any(job.config.fails(f.severity) for f in findings) else CLEAN


def _write_baseline(job: Job) -> int:
    from vllm_migrate import baseline, write
    from vllm_migrate.output._summary import number

    assert job.config.baseline is not None
    report = read_report(job, replace(job.config, baseline=None))
    write.create(job.config.baseline, baseline.dump(report).encode())
    job.say([f"{job.config.baseline}: knows {number(len(report.findings()), 'finding')} now"])
    return CLEAN


def _prune_baseline(job: Job) -> int:
    from vllm_migrate import baseline, write
    from vllm_migrate.discover import absolute
    from vllm_migrate.output._summary import number

    path = job.config.baseline
    assert path is not None
    report = read_report(job, replace(job.config, baseline=None))
    looked = [absolute(p) for p in job.paths]
    text, gone = baseline.pruned(
        path, report, lambda name: any(p == job.root / name or p in (job.root / name).parents for p in looked)
    )
    if gone:
        write.create(path, text.encode())
    job.say([f"{path}: {number(gone, 'finding')} no longer found, taken out"])
    return CLEAN


def check_settings(config: Config) -> list[str]:
    """Return notices about releases that are read as another one.

    Raises an error for releases the catalog cannot answer for, and for selectors that select nothing.
    """
    told = []
    targets = [*config.to, *(r.to for r in config.paths.values() if r.to)]
    if targets:
        from vllm_migrate.catalog import load
        from vllm_migrate.versions_key import key

        catalog = load(config.catalog)
        for version in targets:
            used = catalog.release(version).version
            if key(version) != key(used):
                told.append(f"vLLM {version} is not in the catalog: judged against {used}, the nearest")
    for origin in [config.from_, *(r.from_ for r in config.paths.values())]:
        if origin is not None:
            _version(origin)
    in_files = [selector for many in config.per_file_ignores.values() for selector in many]
    selectors = [*config.select, *config.ignore, *in_files]
    if selectors:
        _check_selectors(config, selectors)
    return told


def _version(text: str) -> None:
    from vllm_migrate.versions_key import key

    try:
        key(text)
    except ValueError as error:
        raise ConfigError(f"from: {error}") from None


def _check_selectors(config: Config, selectors: Iterable[str]) -> None:
    from vllm_migrate.migrations import load
    from vllm_migrate.rules.registry import rules

    codes = set(rules())
    entries = {entry.id: entry for entry in load(config.migrations).all}
    codes |= {entry.code for entry in entries.values()}
    for selector in selectors:
        head, colon, tail = selector.partition(":")
        code = head.upper() == "ALL" or any(known.startswith(head.upper()) for known in codes)
        if not (code and tail in entries if colon else code or selector in entries):
            raise ConfigError(
                f"{selector!r} is neither a rule code, the beginning of one, nor a migration id"
            )
