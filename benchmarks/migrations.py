"""Migrates random valid command lines with all fixes, and asks the target's own parser about the result.

    python benchmarks/migrations.py --oracle DIR --python VENV/bin/python --sources DIR [--count N] [--pairs A:B …]

Without --pairs: every release of the catalog to the next one, and three long ways. Lines the old release's own parser
refuses are left out. Of the others it prints how many the tool calls clean after all fixes, and how many of those
the target takes, with each one it refuses.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

from asking import Verdict, add_options, asked
from lines import Line, Maker

from vllm_migrate import catalog
from vllm_migrate.config import Config
from vllm_migrate.engine import run_text

LONG = (("0.6.6", "0.33.0"), ("0.10.0", "0.33.0"), ("0.23.0", "0.33.0"))
_CHUNK = 60


@dataclass
class Way:
    """One pair of releases.

    after: the words of each line after the fixes, None for one that is not clean. was, now: what the parser of the
    old release says of each line, and that of the new one of what became of it.
    """

    old: str
    new: str
    before: list[Line] = field(default_factory=list)
    after: list[list[str] | None] = field(default_factory=list)
    was: list[Verdict] = field(default_factory=list)
    now: list[Verdict | None] = field(default_factory=list)


def migrate(way: Way) -> None:
    """Fill in what the tool makes of the lines: those with an error left are not clean."""
    for start in range(0, len(way.before), _CHUNK):
        part = way.before[start : start + _CHUNK]
        text = "".join(shlex.join(line.argv()) + "\n" for line in part)
        config = Config(from_=way.old, to=(way.new,), fix=True, unsafe_fixes=True)
        (file,) = run_text("lines.sh", text.encode(), Path("/"), config).files
        source = file.fixed or file.source
        assert source is not None
        lines = source.text.splitlines()
        if len(lines) != len(part):
            raise SystemExit(f"{way.old} to {way.new}: {len(part)} lines became {len(lines)}")
        errors: dict[int, str] = {}
        again = run_text("lines.sh", source.text.encode(), Path("/"), Config(from_=way.old, to=(way.new,)))
        for finding in again.findings():
            if finding.severity == "error":
                errors.setdefault(source.text.count("\n", 0, finding.span.start), f"{finding.code} {finding.subject}")
        way.after += [None if i in errors else shlex.split(line) for i, line in enumerate(lines)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--show", type=int, default=20, help="refused lines printed a pair")
    parser.add_argument("--pairs", nargs="*", default=[], metavar="OLD:NEW")
    options = parser.parse_args()
    known = catalog.load()
    pairs = [tuple(pair.split(":")) for pair in options.pairs]
    pairs = pairs or [*zip(known.releases, known.releases[1:], strict=False), *LONG]
    ways = [Way(old, new) for old, new in pairs]
    bad = False
    for version in (v for v in known.releases if any(v in pair for pair in pairs)):
        # One start of a release's parser for all that is asked of it.
        mine = [way for way in ways if way.old == version]
        for way in mine:
            maker = Maker(known, way.old, options.seed)
            for number in range(options.count):
                maker.random.seed(f"{way.old}/{options.seed}/valid/{number}")
                way.before.append(maker.valid())
            migrate(way)
        come = [way for way in ways if way.new == version and way.before]
        lines = [line.argv() for way in mine for line in way.before]
        lines += [words for way in come for words in way.after if words is not None]
        verdicts = dict(zip(map(shlex.join, lines), asked(lines, version, options), strict=True))
        for way in mine:
            way.was = [verdicts[shlex.join(line.argv())] for line in way.before]
        for way in come:
            way.now = [None if words is None else verdicts[shlex.join(words)] for words in way.after]
            bad |= _report(way, options)
    return 1 if bad else 0


def _report(way: Way, options: argparse.Namespace) -> bool:
    valid = [i for i, v in enumerate(way.was) if v["verdict"] == "ACCEPT"]
    clean = [(i, words, verdict) for i in valid if (words := way.after[i]) and (verdict := way.now[i])]
    refused = [(i, words, verdict) for i, words, verdict in clean if verdict["verdict"] != "ACCEPT"]
    changed = sum(words != way.before[i].argv() for i, words, _ in clean)
    share = 100 * (1 - len(refused) / max(1, len(clean)))
    print(
        f"{way.old} to {way.new}: {len(valid)} valid lines, {len(clean)} clean after all fixes ({changed} rewritten), "
        f"{share:.2f} % of them taken",
        flush=True,
    )
    for i, words, verdict in refused[: options.show]:
        print(f"  {shlex.join(way.before[i].argv())}\n  became {shlex.join(words)}")
        print(f"    {verdict.get('error', '')[:300]}")
    return share < 99


if __name__ == "__main__":
    sys.exit(main())
