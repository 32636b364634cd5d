"""Asks releases' own parsers about command lines, and keeps what they said."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

Verdict = dict[str, str]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the parsers are."""
    parser.add_argument("--oracle", required=True, type=Path, help="folder with accepts.py")
    parser.add_argument("--python", required=True, help="the interpreter of the parsers' environment")
    parser.add_argument("--sources", required=True, help="folder with one source tree a release")
    parser.add_argument("--together", type=int, default=25, help="lines asked in one process")
    parser.add_argument("--keep", type=Path, help="folder for the verdicts; a line is asked about once")
    parser.add_argument("--seed", type=int, default=1)


def asked(
    lines: Sequence[Sequence[str]], version: str, options: argparse.Namespace, *, deep: bool = False
) -> list[Verdict]:
    """Return what a release's parser says of each line, asking only about those not known yet.

    deep: what it says when the engine's configuration is made as well.
    """
    kept = options.keep / f"{version}{'.deep' if deep else ''}.json" if options.keep else None
    known: dict[str, Verdict] = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    new = {shlex.join(line): line for line in lines}
    new = {text: line for text, line in new.items() if text not in known}
    if new:
        known |= dict(zip(new, _ask(list(new.values()), version, options, deep), strict=True))
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(known))
    return [known[shlex.join(line)] for line in lines]


def _ask(lines: Sequence[Sequence[str]], version: str, options: argparse.Namespace, deep: bool) -> list[Verdict]:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as batch:
        for i, line in enumerate(lines):
            batch.write(json.dumps({"id": i, "argv": list(line)}) + "\n")
    script = str(Path(__file__).with_name("verdicts.py"))
    command = [options.python, script, str(options.oracle), version, options.sources, batch.name]
    command += ["1", "deep"] if deep else [str(options.together)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    Path(batch.name).unlink()
    out = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    if len(out) != len(lines):
        raise SystemExit(f"{version}: {len(out)} verdicts for {len(lines)} lines: {done.stderr[-400:]}")
    return [{k: v for k, v in verdict.items() if k in ("verdict", "stage", "error")} for verdict in out]
