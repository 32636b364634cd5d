"""Runs the tool over a folder of repositories and says what it found and what a run broke.

    python benchmarks/corpus.py CORPUS [--to 0.33.0] [--only NAME…] [--reports FOLDER] [--json OUT]

CORPUS holds one repository a folder. Each is copied, the copy is made a repository of its own, and then:
`check`; `diff --unsafe-fixes`, which `git apply` must take; a second `diff`, which must be empty; every changed
file that parsed before must still parse, by a parser that is not this package's; no changed file says that it is
generated; and every argument and variable of every launch, replaced by itself, leaves the file as it is, while
what stands at its span reads as what the tool took it for (see `spans.py`). Nothing is written to CORPUS.

Prints a table, then each fault with its place; exit status 1 when there is one.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
TIMEOUT = 600
"""Seconds a command may take for one repository."""

_GENERATED = re.compile(r"do not (edit|modify)|@generated|auto-?generated|generated (by|from|automatically)", re.I)
_OPENS = re.compile(r"\{\{-?\s*(if|range|with|define|block)\b")
_CLOSES = re.compile(r"\{\{-?\s*end\b")


@dataclass
class Result:
    """What one repository gave. seconds: of the first `check`; by_code: findings by code and severity."""

    name: str
    files: int = 0
    sites: int = 0
    seconds: float = 0.0
    findings: int = 0
    severities: dict[str, int] = field(default_factory=dict)
    by_code: dict[str, int] = field(default_factory=dict)
    fixable: int = 0
    changed: int = 0
    parsed: int = 0
    spans: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def tool(command: list[str], folder: Path, result: Result) -> bytes | None:
    """Return what a command of the tool prints in a folder; what must not happen becomes a fault."""
    line = [sys.executable, "-m", "vllm_migrate", *command]
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        result.faults.append(f"{command[0]}: no end after {TIMEOUT} s")
        return None
    said = done.stderr.decode(errors="replace")
    if "Traceback" in said or done.returncode not in (0, 1):
        result.faults.append(f"{command[0]}: exit status {done.returncode}: {said.strip()[-400:]}")
        return None
    return done.stdout


def problem(path: Path, text: str) -> str | None:
    """Return why a text of this name does not parse, "" where it does, None where no parser here reads it."""
    name = path.name.lower()
    try:
        if "{{" in text and name.endswith((".yaml", ".yml", ".tpl", ".txt")):
            opens, closes = len(_OPENS.findall(text)), len(_CLOSES.findall(text))
            return "" if opens == closes else f"{opens} blocks of actions open, {closes} close"
        if name.endswith(".py"):
            ast.parse(text)
        elif name.endswith((".yaml", ".yml")):
            import yaml

            list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        elif name.endswith((".json", ".ipynb")):
            json.loads(text)
        elif name.endswith(".toml"):
            import tomllib

            tomllib.loads(text)
        elif name.endswith((".sh", ".bash", ".slurm", ".sbatch")) or re.match(r"#!.*\b(ba|da)?sh\b", text):
            done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
            return done.stderr.strip()[:200] if done.returncode else ""
        else:
            return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def says_generated(text: str) -> bool:
    """Tell whether one of the first comment lines says that a program wrote the file."""
    head = [line for line in text.splitlines()[:15] if line.lstrip().startswith(("#", "//", "{{/*", "<!--", "*"))]
    return any(_GENERATED.search(line) for line in head)


def _named(patch: bytes) -> list[str]:
    """Return the files of a patch; a name with blanks ends with a tab."""
    return [name.rstrip("\t\r") for name in re.findall(r"^\+\+\+ b/(.*)$", patch.decode(), re.M)]


def run_fixes(folder: Path, original: Path, to: str, result: Result) -> None:
    patch = tool(["diff", "--unsafe-fixes", "--to", to, "."], folder, result)
    if not patch:
        return
    done = subprocess.run(["git", "apply", "-"], input=patch, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        result.faults.append(f"git apply: {done.stderr.decode()[:300]}")
        return
    names = _named(patch)
    result.changed = len(names)
    for name in names:
        before = (original / name).read_bytes().decode("utf-8-sig")
        after = (folder / name).read_bytes().decode("utf-8-sig")
        if says_generated(before):
            result.faults.append(f"{name}: says that it is generated, and was changed")
        if problem(Path(name), before) != "":
            continue
        result.parsed += 1
        broken = problem(Path(name), after)
        if broken:
            result.faults.append(f"{name}: no longer parses: {broken}")
    again = tool(["diff", "--unsafe-fixes", "--to", to, "."], folder, result)
    if again:
        result.faults.append(f"second diff is not empty: {', '.join(_named(again)[:5])}")


def run_spans(folder: Path, result: Result) -> None:
    line = [sys.executable, str(HERE / "spans.py"), str(folder)]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        result.faults.append(f"spans: no end after {TIMEOUT} s")
        return
    if done.returncode:
        result.faults.append(f"spans: {done.stderr.strip()[-300:]}")
        return
    answer = json.loads(done.stdout)
    result.spans = answer["counts"]
    result.faults += answer["faults"]


def one(repository: Path, to: str, reports: Path | None) -> Result:
    """Return what one repository gives."""
    result = Result(repository.name)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / repository.name
        shutil.copytree(repository, folder, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        start = time.monotonic()
        printed = tool(["check", "--to", to, "--output-format", "json", "."], folder, result)
        result.seconds = round(time.monotonic() - start, 1)
        if printed is not None:
            report = json.loads(printed)
            if reports is not None:
                (reports / f"{repository.name}.json").write_bytes(printed)
            result.files, result.sites = report["summary"]["files"], report["summary"]["sites"]
            result.fixable, result.findings = report["summary"]["fixable"], len(report["findings"])
            result.severities = dict(Counter(f["severity"] for f in report["findings"]))
            result.by_code = dict(sorted(Counter(f"{f['code']} {f['severity']}" for f in report["findings"]).items()))
        run_fixes(folder, repository, to, result)
        run_spans(repository, result)
    return result


def table(results: list[Result]) -> str:
    """Return a Markdown table of the results, with a last line of sums."""
    head = "| repository | files read | launches | errors | warnings | infos | fixable | files changed | seconds |"
    lines = [head, "| --- |" + " ---: |" * 8]
    total = Result("**all**")
    for r in results:
        for name in ("files", "sites", "fixable", "changed"):
            setattr(total, name, getattr(total, name) + getattr(r, name))
        total.seconds = round(total.seconds + r.seconds, 1)
        total.severities = dict(Counter(total.severities) + Counter(r.severities))
    for r in [*results, total]:
        kinds = " | ".join(str(r.severities.get(s, 0)) for s in ("error", "warning", "info"))
        lines.append(f"| {r.name} | {r.files} | {r.sites} | {kinds} | {r.fixable} | {r.changed} | {r.seconds} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--to", default="0.33.0")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--reports", type=Path, help="folder for the JSON report of each repository")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    if options.reports is not None:
        options.reports.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for repository in sorted(p for p in options.corpus.iterdir() if p.is_dir()):
        if options.only and repository.name not in options.only:
            continue
        results.append(one(repository, options.to, options.reports))
        last = results[-1]
        print(f"{last.name}: {last.findings} findings, {last.seconds} s, {len(last.faults)} faults", file=sys.stderr)
        if options.json is not None:
            options.json.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    print(table(results))
    codes = sum((Counter(r.by_code) for r in results), Counter())
    print("\n| code | severity | findings |\n| --- | --- | ---: |")
    for name, count in sorted(codes.items()):
        print(f"| {name.replace(' ', ' | ')} | {count} |")
    spans = sum((Counter(r.spans) for r in results), Counter())
    print("\n" + ", ".join(f"{name}: {count}" for name, count in sorted(spans.items())))
    print(f"{sum(r.parsed for r in results)} of {sum(r.changed for r in results)} changed files read by another parser")
    faults = [f"{r.name}: {fault}" for r in results for fault in r.faults]
    print(f"{len(faults)} faults", *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
