"""The command line. Only this module knows click; what is printed comes from elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vllm_migrate import __version__, cli_complete
from vllm_migrate.cli_words import FileCommand, as_text, given_command

if TYPE_CHECKING:
    from vllm_migrate.config import Config
    from vllm_migrate.progress import Line
    from vllm_migrate.runs import Job

FAILED = 2
_FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "rdjson", "junit", "html", "markdown")

_PATH = click.Path(path_type=Path)
Command = TypeVar("Command", bound=Callable[..., Any])


def _listed(_context: click.Context, _option: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Take an option several times, or once with commas."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_CONFIG = click.option("--config", "config_path", type=_PATH, help="Read this configuration file.")
_SCOPE = _options(
    click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path, allow_dash=True)),
    click.option(
        "--from",
        "from_",
        metavar="VERSION",
        shell_complete=cli_complete.releases,
        help="The release the launches are on, where no pin says so.",
    ),
    click.option(
        "--to",
        multiple=True,
        callback=_listed,
        metavar="VERSION",
        shell_complete=cli_complete.releases,
        help="The release to reach.",
    ),
    click.option(
        "--select",
        multiple=True,
        callback=_listed,
        metavar="CODE",
        shell_complete=cli_complete.selectors,
        help="Only these codes, prefixes or ids.",
    ),
    click.option(
        "--ignore",
        multiple=True,
        callback=_listed,
        metavar="CODE",
        shell_complete=cli_complete.selectors,
        help="Not these codes, prefixes or ids.",
    ),
    _CONFIG,
    click.option("--stdin-filename", type=_PATH, help="What the text given for `-` is called."),
    click.option("--baseline", type=_PATH, help="Do not report the findings this file knows."),
    click.option(
        "--unsafe-fixes/--no-unsafe-fixes", default=None, help="Take fixes a person must agree to as well."
    ),
    click.option(
        "--keep-pins/--no-keep-pins",
        default=None,
        help="Leave image tags, requirements and other pins alone.",
    ),
    click.option(
        "-j", "--jobs", type=click.IntRange(0), metavar="N", help="Accepted, without effect: one process reads."
    ),
)
_RESULT = _options(
    click.option(
        "--output-format", type=click.Choice(_FORMATS), default="text", help="How findings are printed."
    ),
    click.option("--statistics", is_flag=True, help="Print how often each code was found."),
)
_CLEAN = click.option(
    "--require-clean", is_flag=True, help="Write nothing where a file holds changes that Git does not have."
)
_STATUS = _options(
    click.option("--exit-zero", is_flag=True, help="Exit with 0 although something was found."),
    click.option(
        "--fail-on",
        type=click.Choice(("info", "warning", "error")),
        help="Least severity to exit with 1 for.",
    ),
    click.option(
        "--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Colour the text."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print the result only."),
    click.option("-v", "--verbose", is_flag=True, help="Say what was read, and which release each launch is on."),
)


_STATUSES = (
    "First look with `vllm-migrate check --to VERSION`; it writes nothing. Exit status: 0 nothing at or above "
    "--fail-on; 1 findings, for `fix` those that remain; 2 the work could not be done."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_STATUSES)
@click.version_option(__version__, message="vllm-migrate %(version)s")
def cli() -> None:
    """Find what a vLLM release no longer takes, and rewrite it as small diffs."""


@cli.command(cls=FileCommand)
@_SCOPE
@_RESULT
@click.option("--fix", "fixing", is_flag=True, help="Apply fixes: the same as the command `fix`.")
@_CLEAN
@click.option(
    "--diff", "printing", is_flag=True, help="Print the patch instead: the same as the command `diff`."
)
@click.option("--write-baseline", is_flag=True, help="Write every finding to the file of --baseline.")
@click.option("--prune-baseline", is_flag=True, help="Take what is no longer found out of the file of --baseline.")
@_STATUS
def check(fixing: bool, printing: bool, write_baseline: bool, prune_baseline: bool, **given: Any) -> int:
    """Report what is wrong; write nothing.

    `-` reads standard input (a manifest, a rendered chart, a compose file …). What stands after `--` is one
    command line: vllm-migrate check --to 0.33.0 -- vllm serve MODEL --swap-space 4
    """
    from vllm_migrate.runs import run_check, run_diff, run_fix

    if (fixing or printing) + write_baseline + prune_baseline > 1:
        raise click.UsageError("--write-baseline, --prune-baseline and --fix or --diff go one at a time")
    if printing:
        return run_diff(_job(given, one_target=True))
    if fixing:
        return run_fix(_job(given, one_target=True))
    return run_check(_job(given, write_baseline=write_baseline, prune_baseline=prune_baseline))


@cli.command(cls=FileCommand, short_help="Apply safe fixes; report what remains.")
@_SCOPE
@_RESULT
@click.option("--diff", "printing", is_flag=True, help="Print the patch instead of writing.")
@_CLEAN
@_STATUS
def fix(printing: bool, **given: Any) -> int:
    """Apply safe fixes (all with --unsafe-fixes); report what remains."""
    from vllm_migrate.runs import run_diff, run_fix

    job = _job(given, one_target=True)
    return run_diff(job) if printing else run_fix(job)


_PAGE = click.option(
    "--output-format",
    type=click.Choice(("text", "html")),
    default="text",
    help="As text, or as a page in which to pick fixes and take their patch.",
)


@cli.command(cls=FileCommand, short_help="Print the patch `fix` would make.")
@_SCOPE
@_PAGE
@click.option("--split", "folder", type=_PATH, metavar="DIR", help="Write a series of patches for `git am` into DIR.")
@click.option(
    "--split-by", "by", type=click.Choice(("rule", "launch")), help="One patch a rule (the default), or one a launch."
)
@_STATUS
def diff(folder: Path | None, by: str | None, **given: Any) -> int:
    """Print the patch `fix` would make, for `git apply`; with --split, write it as a series of commits.

    The patches of a series apply one after the other, each says why in its message, and together they make the
    same change as the one patch.
    """
    from vllm_migrate.runs import run_diff, run_page

    if folder is None:
        if by is not None:
            raise click.UsageError("--split-by goes with --split DIR")
        run = run_page if given["output_format"] == "html" else run_diff
        return run(_job(given, one_target=True))
    if given["output_format"] == "html":
        raise click.UsageError("--split goes without --output-format html")
    from vllm_migrate.series import run_split

    return run_split(_job(given, one_target=True), folder, by or "rule")


@cli.command(short_help="Walk through the fixes one by one.")
@_SCOPE
@_PAGE
@click.option("--restart", is_flag=True, help="Ask everything again: drop the answers kept from before.")
@_STATUS
def review(restart: bool, **given: Any) -> int:
    """Walk through the fixes, unsafe ones included: accept, skip, edit, explain, quit.

    Each fix is shown with what was found, why, and the evidence. Answers: y accept, n skip, a accept all of this rule,
    e edit in $EDITOR, x explain, b back, q quit. Nothing is written before the end, or before you quit and say so; the
    answers are kept (in the folder of git, else in yours), so that the next `review` goes on where this one stopped.
    """
    from vllm_migrate.review import EditorError, EndOfAnswers, Review
    from vllm_migrate.runs import run_page

    if given["output_format"] == "html":
        return run_page(_job(given, one_target=True))
    if Path("-") in given["paths"]:
        raise click.UsageError("review reads answers from standard input, not a file")
    given["unsafe_fixes"] = True if given["unsafe_fixes"] is None else given["unsafe_fixes"]

    def ask(question: str) -> str:
        try:
            return str(click.prompt(question, default="", show_default=False, prompt_suffix=" ", err=True))
        except (click.Abort, OSError):
            raise EndOfAnswers from None

    def edit(text: str, name: str) -> str | None:
        try:
            return click.edit(text, require_save=True, extension=os.path.splitext(name)[1] or ".txt")
        except (click.ClickException, OSError) as error:
            raise EditorError(getattr(error, "message", None) or str(error)) from None

    return Review(_job(given, one_target=True), ask, edit, restart).run()


@cli.command(short_help="Write a first configuration.")
@click.argument("folder", metavar="[FOLDER]", required=False, type=_PATH)
@click.option("--to", metavar="VERSION", help="The release to reach; the newest known where absent.")
@click.option("--stdout", "printing", is_flag=True, help="Print the file instead of writing it.")
def init(folder: Path | None, to: str | None, printing: bool) -> int:
    """Look at a repository and write its first configuration, with comments."""
    from vllm_migrate import write
    from vllm_migrate.discover import find_root
    from vllm_migrate.engine import run
    from vllm_migrate.progress import silent
    from vllm_migrate.starting import start

    line = _watched()
    root = find_root([folder or Path(".")])
    path, text = start(root, to, lambda top, config: run([top], top, config, line or silent))
    if line is not None:
        line.wipe()
    if printing:
        _out(text)
    else:
        write.create_all(path.parent, {path.name: text.encode()})
        _note([f"wrote {path}"])
    return 0


@cli.command(context_settings={"ignore_unknown_options": True}, short_help="Say why, since when, what instead.")
@click.argument("what", metavar="NAME", shell_complete=cli_complete.names)
@_CONFIG
def explain(what: str, config_path: Path | None) -> int:
    """Say why, since when, what instead, and on what evidence.

    Takes a rule code, the id of a migration, or any name or value of a launch or a client: an option, a keyword, a key,
    a variable, a model class, a parser, a metric, an endpoint, a request field.
    """
    from vllm_migrate.discover import find_root
    from vllm_migrate.explain import explanation

    _out(_readable(explanation(what, _config(find_root(()), config_path))))
    return 0


@cli.command("rules")
@click.option(
    "--output-format", type=click.Choice(("text", "json")), default="text", help="How they are printed."
)
def rules_(output_format: str) -> int:
    """List every rule code."""
    from vllm_migrate.explain import rule_list

    _out(rule_list(output_format))
    return 0


@cli.command(short_help="List releases, or what changed between two.")
@click.argument("first", metavar="[A]", required=False, shell_complete=cli_complete.releases)
@click.argument("second", metavar="[B]", required=False, shell_complete=cli_complete.releases)
@click.option(
    "--output-format",
    type=click.Choice(("text", "json", "markdown")),
    default="text",
    help="How the changes between two releases are printed.",
)
@_CONFIG
def releases(first: str | None, second: str | None, output_format: str, config_path: Path | None) -> int:
    """List the releases the catalog knows; with two, everything that changed between them.

    Each loss comes with what is written about it. The order of the two does not matter: the changes are shown
    from the older to the newer.
    """
    from vllm_migrate.changes import between, known, one
    from vllm_migrate.discover import find_root
    from vllm_migrate.output.releases import render

    if second is None and output_format != "text":
        raise click.UsageError("--output-format goes with two releases")
    config = _config(find_root(()), config_path)
    if first is None:
        _out(known(config))
    elif second is None:
        _out(one(config, first))
    else:
        changes, notice = between(config, first, second)
        _note([notice] if notice else [])
        _out(render(output_format, changes))
    return 0


@cli.command(short_help="Print a schema of --config files for editors.")
@click.argument("version", metavar="VERSION", shell_complete=cli_complete.releases)
@click.option("--object", "name", metavar="NAME", help="Only this config object, by its option or its class.")
@click.option("--list", "listing", is_flag=True, help="List the config objects of the release instead.")
@_CONFIG
def schema(version: str, name: str | None, listing: bool, config_path: Path | None) -> int:
    """Print the JSON Schema of a `vllm serve --config` file, for editors.

    Write it to a file, and name that file in the first line of the configuration:
    `# yaml-language-server: $schema=vllm-0.33.0.schema.json`.
    """
    from vllm_migrate.discover import find_root
    from vllm_migrate.schemas import object_list, schema_text

    if listing and name is not None:
        raise click.UsageError("--list goes without --object")
    config = _config(find_root(()), config_path)
    _out(object_list(config, version) if listing else schema_text(config, version, name))
    return 0


@cli.command(short_help="Print the completion of a shell.")
@click.argument("shell", type=click.Choice(cli_complete.SHELLS))
def completion(shell: str) -> int:
    """Print what a shell reads to complete commands, options, releases, codes and names.

    bash: eval "$(vllm-migrate completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc;
    fish: vllm-migrate completion fish > ~/.config/fish/completions/vllm-migrate.fish
    """
    _out(cli_complete.script(shell, cli, "vllm-migrate"))
    return 0


@cli.group()
def catalog() -> None:
    """Build catalogs of what releases accept."""


@catalog.command("build")
@click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=_PATH)
@click.option("--version", metavar="VERSION", help="The version of the source, where it does not say.")
@click.option("--output", type=_PATH, help="Write a single-release file, for `catalog:` of a configuration.")
def catalog_build(sources: tuple[Path, ...], version: str | None, output: Path | None) -> int:
    """Mine vLLM source trees, archives or wheels; none of their code is run.

    Without --output the releases are added to the catalog this tool reads. What a release lost against the
    one before it and no migration speaks of yet is listed, with the start of one.
    """
    from vllm_migrate.catalog.build import build
    from vllm_migrate.changes import mined
    from vllm_migrate.discover import find_root

    report = build(sources, version=version, output=output)
    _out(mined(report.releases, _config(find_root(()), None)))
    _note([f"wrote {path}" for path in report.written] or ["nothing written: all of it was known"])
    return 0


def _job(
    given: dict[str, Any], *, one_target: bool = False, write_baseline: bool = False, prune_baseline: bool = False
) -> Job:
    """Turn what the command line gave into a job; raises the errors of bad usage and bad configuration."""
    from vllm_migrate.config import with_options
    from vllm_migrate.discover import find_root
    from vllm_migrate.runs import Job

    command: list[str] | None = given_command()
    paths: list[Path] = list(given["paths"]) or [Path("." if command is None else "-")]
    stdin = Path("-") in paths
    if command is not None and (given["paths"] or given["stdin_filename"] is not None):
        raise click.UsageError("a command line after `--` stands alone")
    if stdin and len(paths) > 1:
        raise click.UsageError("`-` stands alone")
    if given["stdin_filename"] is not None and not stdin:
        raise click.UsageError("--stdin-filename goes with the path `-`")
    if one_target and len(given["to"]) > 1:
        raise click.UsageError("one --to here; only `check` takes several")
    named = [given["stdin_filename"] or Path("stdin" if command is None else "command")] if stdin else paths
    root = find_root(named)
    config = with_options(
        _config(root, given["config_path"]),
        from_=given["from_"],
        to=given["to"],
        select=given["select"],
        ignore=given["ignore"],
        fail_on=given["fail_on"],
        unsafe_fixes=given["unsafe_fixes"],
        keep_pins=given["keep_pins"],
        jobs=given["jobs"],
        baseline=given["baseline"] and Path(os.path.abspath(given["baseline"])),
        color=_colored(given["color"]),
        width=_columns(),
        choose=given.get("output_format") == "html",
    )
    if (write_baseline or prune_baseline) and config.baseline is None:
        raise click.UsageError("--write-baseline and --prune-baseline need --baseline FILE")
    if one_target and len(config.to) > 1:
        raise click.UsageError("the configuration names several releases; say which with --to")
    return Job(
        paths=named,
        root=root,
        stdin=None if not stdin else sys.stdin.buffer.read() if command is None else as_text(command),
        unnamed=stdin and given["stdin_filename"] is None,
        command=command is not None,
        config=config,
        output_format=given.get("output_format", "text"),
        statistics=given.get("statistics", False),
        exit_zero=given["exit_zero"],
        quiet=given["quiet"],
        verbose=given["verbose"],
        write_baseline=write_baseline,
        prune_baseline=prune_baseline,
        out=_out,
        note=_note,
        line=_watched(),
        require_clean=given.get("require_clean", False),
    )


def _config(root: Path, given: Path | None) -> Config:
    """Return the settings of the named configuration file, or of the one at the root."""
    from vllm_migrate import config_file
    from vllm_migrate.config import Config

    path = given if given is not None else config_file.find(root)
    return Config() if path is None else config_file.load(path, named=given is not None)


def _colored(when: str) -> bool:
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    """Return how wide text may be: a hundred columns, fewer on a terminal that has fewer."""
    if not sys.stdout.isatty():
        return 100
    import shutil

    return min(shutil.get_terminal_size((100, 24)).columns, 100)


def _watched() -> Line | None:
    """Return what shows progress, where standard error is a terminal that can draw over a line."""
    from vllm_migrate.progress import Line

    return Line(sys.stderr) if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else None


def _readable(text: str) -> str:
    """Return text for people, some of it from data that a repository may bring, without what steers a terminal."""
    from vllm_migrate.output._paint import plain

    return "\n".join("\t".join(map(plain, line.split("\t"))) for line in text.split("\n"))


def _out(text: str) -> None:
    """Write the result as the bytes it is: line ends are part of a patch.

    A patch that goes to a terminal is only looked at.
    """
    if text.startswith("diff --git ") and sys.stdout.isatty():
        text = _readable(text)
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    stream.write(text.encode("utf-8", "surrogateescape"))
    stream.flush()


def _note(lines: Iterable[str]) -> None:
    """Write lines for people; a name with a line break or a terminal's own signs in it steers nothing."""
    from vllm_migrate.output._paint import spoken

    for line in lines:
        click.echo(spoken(line), err=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; no error ends in a traceback."""
    try:
        status = cli.main(
            args=None if arguments is None else list(arguments),
            prog_name="vllm-migrate",
            standalone_mode=False,
        )
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        _note(["interrupted"])
        return 130
    except BrokenPipeError:
        # Whoever reads the result has seen enough; keep the interpreter from complaining at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        _note(_told(error))
        return FAILED
    return status if isinstance(status, int) else 0


def _told(error: Exception) -> Sequence[str]:
    """Return an error in words: its own where it is one of this package's, else a request to report it."""
    if type(error).__module__.startswith("vllm_migrate."):
        first, *more = getattr(error, "lines", ()) or (str(error),)
        return [f"error: {first}", *more]
    if os.environ.get("VLLM_MIGRATE_TRACEBACK"):
        import traceback

        return "".join(traceback.format_exception(error)).splitlines()
    if isinstance(error, OSError) and error.strerror:
        return [f"error: {error.filename}: {error.strerror}" if error.filename else f"error: {error.strerror}"]
    return (
        f"error: something went wrong inside vllm-migrate: {type(error).__name__}: {error}",
        "Please report it; VLLM_MIGRATE_TRACEBACK=1 shows where.",
    )


if __name__ == "__main__":
    sys.exit(main())
