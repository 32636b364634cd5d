"""Asks a release's own parser about many command lines; runs in the oracle's environment, not this project's.

    VENV/bin/python benchmarks/verdicts.py ORACLE VERSION SOURCES FILE.jsonl [TOGETHER [deep]]

Prints one JSON object a line of the file ({"id", "argv", "env"?}). The release's code changes its own defaults now
and then, so a child process is forked for every TOGETHER lines (25); with 1 each line has a process of its own. With
"deep" the engine's configuration is made too.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys


def answered(oracle, lines):
    """Return the verdicts of some lines, made in a child process; fewer when one of them kills it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "w") as stream:
            for line in lines:
                try:
                    with contextlib.redirect_stdout(sys.stderr):
                        verdict = oracle.run(line["argv"], line.get("env"))
                except BaseException as error:
                    verdict = {"verdict": "ERROR", "stage": "oracle", "error": repr(error)[:300]}
                stream.write(json.dumps({"id": line["id"], **verdict}, default=repr) + "\n")
                stream.flush()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        out = [json.loads(text) for text in stream if text.endswith("\n")]
    os.waitpid(child, 0)
    return out


def main():
    folder, version, sources, path = sys.argv[1:5]
    together = int(sys.argv[5]) if len(sys.argv) > 5 else 25
    sys.path.insert(0, folder)
    from accepts import Oracle
    from dump_parser import find_src, src_roots

    result = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    deep = sys.argv[6:] == ["deep"]
    if deep:
        os.environ.setdefault("ORACLE_TRITON", "1")
    oracle = Oracle(version, find_src(version, src_roots([sources])), os.environ.get("ORACLE_PLATFORM", "cuda"), deep)
    with open(path) as file:
        lines = [json.loads(text) for text in file if text.strip()]
    gc.collect()
    gc.freeze()
    while lines:
        done = answered(oracle, lines[:together])
        if not done:
            done = [{"id": lines[0]["id"], "verdict": "ERROR", "stage": "oracle", "error": "child died"}]
        for verdict in done:
            result.write(json.dumps(verdict) + "\n")
        lines = lines[len(done) :]
    result.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
