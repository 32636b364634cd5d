"""Compares what `vllm-migrate` calls rejected with what each release's own parser rejects.

    python benchmarks/parser_agreement.py --oracle DIR --python VENV/bin/python --sources DIR [--count N] VERSION…

For each release N command lines are made from a seed, a quarter of them valid, the others broken in every way of
`lines.py`. The tool reads them as a shell script (`check --to VERSION`): a line with an error is called rejected.
Prints the share of agreement a release, and every disagreement. A line the parser takes and the tool calls rejected is
asked about again with the engine's configuration made, since that is where a release refuses some names.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from pathlib import Path

from asking import add_options, asked
from lines import Line, Maker

from vllm_migrate import catalog, migrations
from vllm_migrate.catalog import Catalog
from vllm_migrate.config import Config
from vllm_migrate.engine import File, read
from vllm_migrate.findings import Finding
from vllm_migrate.judging import Data, judge

VERSIONS = (
    "0.6.0", "0.6.6", "0.8.2", "0.8.5", "0.9.2", "0.10.1", "0.11.0", "0.12.0", "0.16.0", "0.23.0", "0.28.0", "0.33.0",
)  # fmt: skip
_CHUNK = 400


def judged(lines: list[Line], version: str, data: Data) -> list[list[Finding]]:
    """Return the errors the tool reports for each line. Fixes are not planned: they decide nothing here."""
    out: list[list[Finding]] = []
    for start in range(0, len(lines), _CHUNK):
        part = lines[start : start + _CHUNK]
        text = "".join(shlex.join(line.argv()) + "\n" for line in part)
        file = read("lines.sh", text.encode(), Path("/"))
        assert isinstance(file, File)
        found = judge(file.path, file.source, file.reading, data, version, lambda _folder: ()).findings
        errors: list[list[Finding]] = [[] for _ in part]
        for finding in found:
            if finding.severity == "error":
                errors[text.count("\n", 0, finding.span.start)].append(finding)
        out += errors
    return out


def made(known: Catalog, version: str, count: int, seed: int) -> list[Line]:
    maker = Maker(known, version, seed)
    return [maker.line(i) for i in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--show", type=int, default=40, help="disagreements printed a release")
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    options = parser.parse_args()
    total, agreed, wrong = 0, 0, 0
    data = Data(catalog.load(), migrations.load(), Config())
    for version in options.versions:
        lines = made(data.catalog, version, options.count, options.seed)
        verdicts, errors = asked([line.argv() for line in lines], version, options), judged(lines, version, data)
        bad = [
            (line, verdict, found)
            for line, verdict, found in zip(lines, verdicts, errors, strict=True)
            if verdict["verdict"] != "ERROR" and (verdict["verdict"] == "REJECT") != bool(found)
        ]
        doubted = [b for b in bad if b[1]["verdict"] == "ACCEPT"]
        deep = asked([line.argv() for line, _, _ in doubted], version, options, deep=True) if doubted else []
        later = {id(b[0]) for b, v in zip(doubted, deep, strict=True) if v["verdict"] == "REJECT"}
        bad = [b for b in bad if id(b[0]) not in later]
        counted = sum(v["verdict"] != "ERROR" for v in verdicts)
        rejected = sum(v["verdict"] == "REJECT" for v in verdicts)
        called = [b for b in bad if b[1]["verdict"] == "ACCEPT"]
        total, agreed, wrong = total + counted, agreed + counted - len(bad), wrong + len(called)
        share = 100 * (1 - len(bad) / max(1, counted))
        print(
            f"{version}: {counted} lines, {rejected} rejected by the parser, {share:.2f} % agreement; "
            f"{len(later)} refused only when the engine's configuration is made; "
            f"{len(bad)} differ, {len(called)} of them valid lines called rejected; "
            f"{dict(Counter(b[0].how for b in bad))}",
            flush=True,
        )
        for line, verdict, found in bad[: options.show]:
            said = verdict.get("error") or "accepted"
            print(f"  {line.how}: {shlex.join(line.argv())}\n    parser: [{verdict.get('stage')}] {said[:300]}")
            print("    tool:   " + ("; ".join(f"{f.code} {f.message}" for f in found) or "nothing"))
    print(f"all: {total} lines, {100 * agreed / max(1, total):.3f} % agreement, {wrong} valid lines called rejected")
    return 0 if total and agreed / total >= 0.999 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
