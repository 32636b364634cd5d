"""The first configuration of a repository, written after looking at what is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from vllm_migrate.config import Config, ConfigError
from vllm_migrate.findings import Report, Standing
from vllm_migrate.output._summary import number

_MOST = 8
_MANY = 20

_HEAD = """\
# Settings of vllm-migrate for this repository. `vllm-migrate check` reads this file and says where a key or value
# is wrong.

"""
_TAIL = """\
# What a comment in a file cannot say: codes, prefixes of codes or migration ids, by path.
# per-file-ignores:
#   "docs/**": [VM1]

# Path patterns not to read, besides caches and vendored code.
# extend-exclude: [attic/]

# The least severity that fails a run: info, warning (when this is absent) or error.
# fail-on: error

# Leave image tags, requirements and other pins to whoever moves them now (a bot, a release job).
# keep-pins: true

# `report` leaves CUDA_VISIBLE_DEVICES in place and only says what took its place.
# device-ids: report

# Programs of your own that pass options on to vLLM; the form is that of schemas/wrappers/.
# wrappers: [tools/vllm-wrappers.json]
"""


def start(root: Path, to: str | None, run: Callable[[Path, Config], Report]) -> tuple[Path, str]:
    """Return where the first configuration of a repository belongs, and its text.

    Args: to: the release to reach, None for the newest known. run: checks everything below a folder.
    Raises ConfigError where there is a configuration already.
    """
    from vllm_migrate import config_file
    from vllm_migrate.catalog import load

    found = config_file.find(root)
    if found is not None:
        raise ConfigError(f"{found}: there is a configuration already")
    catalog = load(())
    version = catalog.release(to).version if to is not None else catalog.latest
    return root / config_file.YAML_NAME, configuration(run(root, Config(to=(version,))), version)


def configuration(report: Report, to: str) -> str:
    """Return the text of a first configuration file. report: of a check of the whole repository."""
    parts = [_HEAD, _releases(report.standings, to), _paths(report.standings), _images(report.standings)]
    parts += [_baseline(report), _markdown(report), _TAIL]
    return "".join(parts)


def _releases(standings: list[Standing], to: str) -> str:
    counts = Counter(s.version for s in standings)
    known = sorted(((v, n) for v, n in counts.items() if v is not None), key=lambda p: (-p[1], p[0]))
    said = [f"{count} on {version}" for version, count in known[:_MOST]]
    said += ["some on other releases"] if len(known) > _MOST else []
    said += [f"{counts[None]} on a release nothing says"] if counts[None] else []
    files = len({s.path for s in standings})
    found = f"{number(len(standings), 'launch', 'launches')} in {number(files, 'file')}"
    about = _comment(f"Found {found}" + (": " + ", ".join(said) if said else "") + ".")
    return (
        f"{about}# The release to reach. Without it each launch is judged against the release pinned for it.\n"
        f"to: {to}\n\n"
    )


def _paths(standings: list[Standing]) -> str:
    """Offer `paths:` for launches of which nothing says the release."""
    folders = Counter(s.path.rpartition("/")[0] for s in standings if s.version is None and not s.images)
    if not folders:
        return (
            '# Releases that hold below a path only.\n# paths:\n#   "staging/**": {to: 0.33.0}\n\n'
        )
    lines = ["# Nothing says which release these are on; with `from` changed defaults can be named too.\n# paths:\n"]
    for folder, count in folders.most_common(_MOST):
        pattern = _quoted(f"{folder}/*" if folder else "*")
        lines.append(f"#   {pattern}: {{from: X.Y.Z}}  # {number(count, 'launch', 'launches')}\n")
    return "".join(lines) + "\n"


def _images(standings: list[Standing]) -> str:
    """Offer `images:` for those that do not say which vLLM they hold."""
    silent: dict[str, Standing] = {}
    for standing in standings:
        if standing.version is None:
            for image in standing.images:
                silent.setdefault(image, standing)
    if not silent:
        return (
            "# What private images hold.\n# images:\n"
            "#   registry.example.com/llm/*: {version: 0.24.0, device: cuda}\n\n"
        )
    lines = ["# These images do not say which vLLM they hold: write it down and take the marks away.\n# images:\n"]
    for image, standing in list(silent.items())[:_MOST]:
        lines.append(f"#   {_quoted(image)}: X.Y.Z  # {standing.path}:{standing.line}\n")
    return "".join(lines) + "\n"


def _baseline(report: Report) -> str:
    failing = sum(f.severity != "info" for f in report.findings())
    if failing < _MANY:
        return ""
    about = number(failing, "error or warning", "errors and warnings")
    return (
        f"# {about} today. To fail on new ones only, write them down with\n"
        + "#   vllm-migrate check --baseline .vllm-migrate-baseline.json --write-baseline\n"
        + "# and name the file here.\n# baseline: .vllm-migrate-baseline.json\n\n"
    )


def _markdown(report: Report) -> str:
    ends = (".md", ".mdx", ".rst", ".markdown")
    shown = sum(1 for f in report.files if f.path.lower().endswith(ends) and f.findings)
    if not shown:
        return ""
    return (
        f"# Examples in {number(shown, 'document')} show what the target refuses; `fix` rewrites them as well.\n"
        "# markdown: fix\n\n"
    )


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def _comment(text: str) -> str:
    import textwrap

    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 110)) if text else ""


