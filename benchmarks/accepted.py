"""Asks a release's own parser about every launch that fixes rewrote, below the folders given.

    python benchmarks/accepted.py --to 0.33.0 --oracle DIR --python VENV/bin/python --sources DIR FOLDER…

Only launches whose arguments are all literal are asked about. Prints how many there are, and each one
that the parser refuses, with its own words. Nothing is written to the folders.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from vllm_migrate.arguments import COMMAND_LINES, KEYWORDS, has_dynamic
from vllm_migrate.config import Config
from vllm_migrate.engine import read, read_source, run
from vllm_migrate.model import Site


def command_line(site: Site) -> list[str] | None:
    """Return the words of a launch, None where a part of it is only known at run time."""
    if site.open:
        return None
    if site.entry_point in ("serve", "api_server"):
        if any(not w.literal for w in site.words):
            return None
        module = ["python", "-m", "vllm.entrypoints.openai.api_server"]
        head = ["vllm", "serve"] if site.entry_point == "serve" else module
        return [*head, *(w.text for w in site.words)]
    if site.entry_point in KEYWORDS:
        words = ["vllm", "serve"]
        for entry in site.entries:
            if has_dynamic(entry.value):
                return None
            option = "--" + entry.key.replace("_", "-")
            if entry.key == "model":
                words.insert(2, str(entry.value))
            elif entry.value is True:
                words.append(option)
            elif entry.value is False:
                words.append("--no-" + option[2:])
            elif isinstance(entry.value, (dict, list)) and entry.key != "device_ids":
                words += [option, json.dumps(entry.value)]
            elif entry.key == "device_ids":
                words += [option, ",".join(map(str, entry.value))]
            elif entry.value is not None:
                words += [option, str(entry.value)]
        return words
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", default="0.33.0")
    parser.add_argument("--oracle", required=True, type=Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--sources", required=True)
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    lines: dict[str, str] = {}
    rewritten = 0
    for folder in options.folders:
        report = run([folder], folder, Config(to=(options.to,), fix=True, unsafe_fixes=True))
        for file in report.files:
            if file.fixed is None or file.source is None:
                continue
            before = read(file.path, file.source.raw, folder.resolve())
            if before is None or not hasattr(before, "host"):
                continue
            after = read_source(file.fixed, before.host, folder.resolve())
            for old, new in zip(before.reading.sites, after.sites, strict=True):
                if new.entry_point not in COMMAND_LINES | KEYWORDS:
                    continue
                was, now = command_line(old), command_line(new)
                if now is None or was == now:
                    continue
                rewritten += 1
                lines.setdefault(json.dumps(now), f"{folder.name}/{file.path}")
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as batch:
        for i, line in enumerate(lines):
            batch.write(json.dumps({"id": str(i), "argv": json.loads(line)}) + "\n")
    script = str(options.oracle / "accepts.py")
    command = [options.python, script, options.to, "--src-root", options.sources, "--batch", batch.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    refused = 0
    names = list(lines.items())
    for text in done.stdout.splitlines():
        if text.startswith("{"):
            verdict = json.loads(text)
            if verdict.get("verdict", verdict.get("result")) != "ACCEPT":
                refused += 1
                line, where = names[int(verdict["id"])]
                print(f"{where}: {' '.join(json.loads(line))}\n    {text[:300]}")
    print(f"{rewritten} literal launches rewritten, {len(lines)} different, {refused} refused by {options.to}")
    if done.returncode not in (0, 1) or (lines and not done.stdout):
        print(done.stderr[-800:], file=sys.stderr)
        return 2
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
