"""Compares what is said of the values of config objects with what the releases' own parsers say.

    python benchmarks/object_agreement.py --oracle DIR --python VENV/bin/python --sources DIR [--per-key N] [VERSION…]

DIR of --oracle holds `accepts.py`, which runs a release's own parser on command lines; --sources has one unpacked
release a folder. For every JSON option of a release, every key of its config class and of the classes inside,
N values are tried: right ones, others of the wrong type, names that are no choice, unknown keys. Prints for each
release how many were asked about, how many verdicts agree, and each that does not.

Where the oracle works from type hints alone (objects that vLLM turns into a class after parsing), the class
itself is asked about what is left: bounds and validators are not in the hints. What a class refuses after it has
read all types (one key needs another) is counted apart: it is not about a value.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vllm_migrate.catalog import Release, load
from vllm_migrate.catalog.objects import config_objects
from vllm_migrate.refusals import refusals

VERSIONS = (
    "0.6.6", "0.7.3", "0.8.5", "0.9.0", "0.9.2", "0.11.0", "0.13.0", "0.16.0", "0.20.0", "0.24.0", "0.27.1", "0.30.0",
    "0.33.0",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 3, -1, 1.5, 2.0, "1", " 7 ", "2.0", "1.5", "1e2", "nan", "yes", "tRuE", "of", "", "x",
    "auto", "None", [], ["a"], [1], [[1]], [1.5, "b"], {}, {"a": 1}, {"a": "b"}, {"1": [2]}, {"a": {"b": None}},
)  # fmt: skip

PROBE = """
import json, os, sys
_, folder, sources, version, batch = sys.argv
sys.path.insert(0, folder)
import accepts
from dump_parser import find_src
real = os.fdopen(os.dup(1), "w"); os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
oracle = accepts.Oracle(version, find_src(version, [sources]), "cuda")
import vllm.config
from pydantic import ValidationError
for line in open(batch):
    item = json.loads(line)
    try:
        getattr(vllm.config, item["class"])(**item["value"])
        said = "ACCEPT"
    except ValidationError as error:
        own = ("value_error", "assertion_error")
        said = "LATER"
        for e in error.errors():
            said = "REJECT" if e["type"] not in own else "FIELD" if e["loc"] and said == "LATER" else said
    except KeyError as error:
        said = "REJECT"
    except BaseException as error:
        said = "REJECT" if isinstance(error, TypeError) and "unexpected keyword" in str(error) else "LATER"
    print(said, file=real)
real.flush()
os._exit(0)
"""


Case = tuple[str, str, dict[str, Any]]
"""Option, config class and object."""


def cases(release: Release, per_key: int, chance: random.Random) -> Iterator[Case]:
    for option, name in config_objects(release).items():
        for held in objects(release, name, per_key, chance, ()):
            yield option, name, held


def objects(
    release: Release, name: str, per_key: int, chance: random.Random, above: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    known = release.section("configs")
    yield {"no_such_key": 1}
    for key, attrs in release.config_fields(name).items():
        right = [attrs["default"]] if "default" in attrs else []
        choices = list(attrs.get("choices", ()))
        named = chance.sample(choices, min(2, len(choices)))
        named += [f(c) for c in named[:1] if isinstance(c, str) for f in (str.lower, str.upper)]
        for value in [*right, *named, *chance.sample(VALUES, min(per_key, len(VALUES)))]:
            yield {key: value}
        if "_" in key:
            yield {key.replace("_", "-"): chance.choice(VALUES)}
        inner = attrs.get("config")
        if inner in known and inner not in above and attrs.get("init") is not False and len(above) < 3:
            for held in objects(release, inner, per_key, chance, (*above, name)):
                yield {key: held}


def ask(options: argparse.Namespace, version: str, asked: list[Case]) -> list[dict[str, Any]]:
    """Return the oracle's answers, in order."""
    release = load().release(version)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as batch:
        for number, (option, _, held) in enumerate(asked):
            literal = release.section("options")[option].get("type") == "json_or_literal"
            text = repr(held) if literal else json.dumps(held)
            batch.write(json.dumps({"id": number, "argv": ["vllm", "serve", "m", option, text]}) + "\n")
        batch.flush()
        command = [options.python, str(options.oracle / "accepts.py"), version, "--src-root", str(options.sources)]
        done = subprocess.run([*command, "--batch", batch.name], capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def construct(options: argparse.Namespace, version: str, doubtful: list[Case]) -> list[str]:
    """Return what the classes themselves say: ACCEPT, REJECT, FIELD or LATER for a check of one or more keys."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as batch:
        for _, name, held in doubtful:
            batch.write(json.dumps({"class": name, "value": held}) + "\n")
        batch.flush()
        command = [options.python, "-c", PROBE, str(options.oracle), str(options.sources), version, batch.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split()


def later(answer: dict[str, Any]) -> bool:
    """Tell whether an error is of a check that comes after the types of all keys."""
    if answer["stage"] not in ("parse", "engine_args", "subconfig"):
        return True
    error = str(answer.get("error"))
    said = ("Input should be", "Unexpected keyword", "unknown key", "unexpected keyword", "KeyError", "Input is not")
    return not any(words in error for words in said)


def compare(options: argparse.Namespace, version: str) -> tuple[int, int, int, int]:
    release = load().release(version)
    asked = list(cases(release, options.per_key, random.Random(options.seed)))
    answers = ask(options, version, asked)
    if len(answers) != len(asked):
        print(f"{version}: {len(asked)} asked, {len(answers)} answered: {answers[-1:]}")
        return 0, 0, 0, 0
    unlike = []
    beyond = 0
    for case, answer in zip(asked, answers, strict=True):
        found = refusals(release, case[1], case[2])
        refused = answer["verdict"] == "REJECT"
        if refused and not found and later(answer):
            beyond += 1
        elif refused != bool(found):
            unlike.append((case, found, answer))
    verdicts = construct(options, version, [case for case, _, _ in unlike]) if unlike else []
    misses = wrong = 0
    for (case, found, answer), said in zip(unlike, verdicts or ["?"] * len(unlike), strict=True):
        agrees = said in ("REJECT", "FIELD") if found else said == "ACCEPT"
        if agrees and answer["stage"] in (None, "subconfig"):
            continue
        if said in ("FIELD", "LATER") and not found:
            beyond += 1
            continue
        misses, wrong = misses + (not found), wrong + bool(found)
        print(f"  {version} {case[0]} {json.dumps(case[2])}: ours {found or 'nothing'}; theirs {answer['verdict']}"
              f" [{answer['stage']}] {str(answer['error'])[:300]}; class {said}")  # fmt: skip
    return len(asked), misses, wrong, beyond


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True, type=Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--sources", required=True, type=Path)
    parser.add_argument("--per-key", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    options = parser.parse_args()
    totals = [0, 0, 0, 0]
    for version in options.versions:
        counts = compare(options, version)
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        asked, misses, wrong, beyond = counts
        print(f"{version}: {asked} asked, {misses} refused and not seen, {wrong} accepted and called refused; "
              f"{beyond} refused by later checks", flush=True)  # fmt: skip
    asked, misses, wrong, beyond = totals
    judged = asked - beyond
    share = 100 * (judged - misses - wrong) / judged if judged else 0.0
    print(f"all: {asked} asked, {share:.3f} % of {judged} agree, {misses} missed, {wrong} wrongly refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
