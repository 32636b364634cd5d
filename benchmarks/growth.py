"""Asks of every format whether the time it takes grows faster than the length of its files.

    python benchmarks/growth.py [--host shell …] [--only WORD] [--largest 200000] [--seconds 8]

A file of each format is given a run of one token (open brackets, quotes, backslashes, `{{`, lines with a launch …)
whose length doubles until it takes `--seconds`; what is printed is each run whose time grew with a power of its
length above 1.4, worst first, and what failed. Exit status 1 when there is one.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "fuzz"), str(HERE.parent)]

TEMPLATES: dict[str, dict[str, str]] = {
    "shell": {
        "word": "vllm serve m --swap-space 4 @\n",
        "line": "vllm serve m --swap-space 4\n@\n",
        "value": "X=@\nvllm serve m --swap-space 4 $X\n",
        "quoted": 'vllm serve m --swap-space 4 "@"\n',
        "json": "vllm serve m --swap-space 4 --compilation-config '@'\n",
    },
    "python": {
        "line": "from vllm import LLM\n@\nLLM('m', swap_space=4)\n",
        "call": "from vllm import LLM\nLLM('m', swap_space=4, x=@)\n",
        "string": "import os\nos.system('vllm serve m --swap-space 4 @')\n",
        "long": 'X = """\nvllm serve m --swap-space 4\n@\n"""\n',
        "list": "import subprocess\nsubprocess.run(['vllm', 'serve', 'm', '--swap-space', '4', @])\n",
    },
    "yaml": {
        "line": "command: vllm serve m --swap-space 4\n@\n",
        "item": "image: vllm/vllm-openai:v0.9.0\nargs:\n- --swap-space\n- '4'\n- @\n",
        "flow": "image: vllm/vllm-openai:v0.9.0\nargs: ['--swap-space', '4', @]\n",
        "block": "command:\n- bash\n- -c\n- |\n  vllm serve m --swap-space 4\n  @\n",
        "value": "command: vllm serve m --swap-space 4 @\n",
        "quoted": 'command: "vllm serve m --swap-space 4 @"\n',
        "comment": "command: vllm serve m --swap-space 4 # @\n",
    },
    "dockerfile": {
        "line": "FROM vllm/vllm-openai:v0.9.0\n@\nCMD vllm serve m --swap-space 4\n",
        "run": "FROM x\nRUN vllm serve m --swap-space 4 @\n",
        "env": "FROM x\nENV X=@\nCMD vllm serve m --swap-space 4\n",
        "exec": 'FROM x\nCMD ["vllm", "serve", "m", "--swap-space", "4", "@"]\n',
        "heredoc": "FROM x\nRUN <<E\nvllm serve m --swap-space 4\n@\nE\n",
    },
    "requirements": {
        "line": "vllm==0.9.0\n@\n",
        "word": "vllm==0.9.0 @\n",
    },
    "toml": {
        "line": '[project]\ndependencies = ["vllm==0.9.0"]\n@\n',
        "item": '[project]\ndependencies = ["vllm==0.9.0", @]\n',
        "string": '[project]\ndependencies = ["vllm==0.9.0", "@"]\n',
    },
    "helm": {
        "line": "image: vllm/vllm-openai:v0.9.0\ncommand: vllm serve m --swap-space 4\n@\n",
        "value": "image: {{ .Values.x }}\ncommand: vllm serve m --swap-space 4 @\n",
        "item": "image: vllm/vllm-openai:v0.9.0\nargs:\n- --swap-space\n- '4'\n{{ if .x }}\n- @\n{{ end }}\n",
    },
    "json": {
        "item": '{"name": "x", "image": "vllm/vllm-openai:v0.9.0", "args": ["--swap-space", "4", "@"]}',
        "line": '{"name": "x", "image": "vllm/vllm-openai:v0.9.0", "args": ["--swap-space", "4", "@"]}\n@\n',
        "raw": '{"name": "x", "image": "vllm/vllm-openai:v0.9.0", "args": ["--swap-space", "4", @]}',
    },
    "terraform": {
        "line": 'x "y" {\n  image = "vllm/vllm-openai:v0.9.0"\n  command = "vllm serve m --swap-space 4"\n@\n}\n',
        "value": 'x = "vllm serve m --swap-space 4 @"\n',
        "heredoc": "x = <<E\nvllm serve m --swap-space 4\n@\nE\n",
        "raw": 'x = "vllm serve m --swap-space 4"\ny = @\n',
    },
    "groovy": {
        "line": "sh 'vllm serve m --swap-space 4'\n@\n",
        "string": "sh 'vllm serve m --swap-space 4 @'\n",
        "long": 'sh """\nvllm serve m --swap-space 4\n@\n"""\n',
    },
    "ini": {
        "line": "[Service]\nExecStart=/usr/bin/vllm serve m --swap-space 4\n@\n",
        "value": "[Service]\nExecStart=/usr/bin/vllm serve m --swap-space 4 @\n",
        "env": "[Service]\nEnvironment=@\nExecStart=/usr/bin/vllm serve m --swap-space 4\n",
    },
    "envfile": {
        "line": "VLLM_USE_V1=1\n@\n",
        "value": "VLLM_USE_V1=1\nVLLM_ARGS=--swap-space 4 @\n",
    },
    "makefile": {
        "line": "@\nserve:\n\tvllm serve m --swap-space 4\n",
        "recipe": "serve:\n\tvllm serve m --swap-space 4 @\n",
        "variable": "X := @\nserve:\n\tvllm serve m --swap-space 4 $(X)\n",
    },
    "lockfile": {
        "line": '{"default": {"vllm": {"version": "==0.9.0"}, "@": {}}}',
    },
    "template": {
        "line": "vllm serve m --swap-space 4\n@\n",
        "word": "vllm serve m --swap-space 4 @\n",
        "block": "{% if x %}\nvllm serve m --swap-space 4 @\n{% endif %}\n",
    },
    "markdown": {
        "line": "```bash\nvllm serve m --swap-space 4\n```\n@\n",
        "block": "```bash\nvllm serve m --swap-space 4\n@\n```\n",
        "word": "```bash\nvllm serve m --swap-space 4 @\n```\n",
    },
    "notebook": {
        "cell": '{"cells": [{"cell_type": "code", "source": ["!vllm serve m --swap-space 4 @"]}]}',
        "cells": '{"cells": [{"cell_type": "code", "source": ["!vllm serve m --swap-space 4\\n", "@"]}]}',
    },
}
"""Host → name of a place → a file of it; `@` is where the run stands."""

NAMES = {
    "shell": "a.sh", "python": "a.py", "yaml": "a.yaml", "dockerfile": "Dockerfile", "requirements": "requirements.txt",
    "toml": "pyproject.toml", "helm": "chart/templates/a.yaml", "json": "a.json", "terraform": "a.tf",
    "groovy": "Jenkinsfile", "ini": "a.service", "envfile": ".env", "makefile": "Makefile",
    "lockfile": "Pipfile.lock", "template": "a.sh.j2", "markdown": "a.md", "notebook": "a.ipynb",
}  # fmt: skip

UNITS = (
    "a", "a ", " ", "\t", "é", "\\", '"', "'", "`", "$", "(", ")", "[", "]", "{", "}", "<", ">", "|", "&", ";", "#",
    "*", "?", "!", "%", "=", ",", ":", "-", "--", "/", "~", "@@", "\n", "\r", "\r\n", "\\\n", "\\\r\n", "\u2028",
    "\x0b", "\x85", " \n", "\t\n", "$(", "${", "${X:-", "$((", "<(", "((", "[[", "{{", "{{ ", "}}", "{{-", "{%",
    "{#", "%{", "${{", "<<E\n", "<<E ", "{{ if x }}", "{% if x %}", "%{ if x }", "{{ x }}", "{{ end }}",
    "{% endif %}", "/*", "*/", "//", "<!--", "-->", "```\n", "```", "~~~\n", "> ", "- ", "- a\n", "- - ", "? ",
    ": ", "a: ", "a:\n", "a: b\n", "&a ", "*a ", "&a [", "[*a,", "a,", "'a',", '"a",', '["', '{"a":', '{"a": [',
    "a=1,", "x=", "x=1 ", "X=1\n", "export X=1\n", "--a 1 ", "--a=1 ", "--a \\\n", "$X ", '"$@" ', "$X$X", "a;",
    "a|", "a&&", "a\n", "if x; then\n", "if x:\n", "fi\n", "for x in y; do\n", "case x in\n", "f() {\n", "vllm ",
    "vllm serve m\n", "vllm serve m --swap-space 4\n", "vllm serve m; ", "vllm==0.9.0\n", "vllm==0.9.0 ",
    "image: vllm/vllm-openai:v0.9.0\n", "vllm/vllm-openai:v0.9.0 ",
    "python -m vllm.entrypoints.openai.api_server\n", "bash -c '", "eval ", "sudo ", "env ", "exec ", "ARG X\n",
    "ENV X=1\n", "ENV X=$X\n", "RUN a\n", "FROM x\n", "COPY a b\n", "RUN vllm serve m --swap-space 4\n", "[x]\n",
    "[[x]]\n", "x = 1\n", "x = [\n", "x = {\n", "x = (", "x {\n", "}\n", "def f():\n", "f(", "f(a)\n", "a.", "a + ",
    "a if b else ", "not ", "lambda: ", "'a' ", "f'{x}' ", "-r a\n", "--hash=sha256:0 ", ";x=='y' ", "~=1,",
    "include x\n", "define x\n", "$(X) ", "$(shell x)", "X = $(X)\n", "CUDA_VISIBLE_DEVICES=0 ", "VLLM_USE_V1=1\n",
    "# vllm-migrate: ignore\n", "# vllm-migrate: ignore[VM101] ", "<<<<<<< a\n", "0", "1.", "9", "1e", "\\u0041",
    "\\x41", "\\n", "%s", "%%", "%h ", "\U0001f999",
)  # fmt: skip


def run_of(unit: str, size: int, numbered: bool) -> str:
    """Return a run of a token; numbered: with every name in it its own, where there is one."""
    count = max(1, size // len(unit))
    if not numbered:
        return unit * count
    return "".join(unit.replace("X", f"X{i}").replace("a", f"a{i}").replace("x", f"x{i}") for i in range(count))


def measured(raw: bytes, name: str, root: Path) -> tuple[float, str]:
    """Return the seconds of the processor that a file takes, and what went wrong."""
    from properties import ALL, Limits, examine

    # The collector would look through what all cases before have left.
    gc.collect()
    gc.disable()
    began = time.process_time()
    faults = examine({name: raw}, root, ALL, limits=Limits(base=1e9, hang=60), deep=False)
    taken = time.process_time() - began
    gc.enable()
    wrong = "; ".join(f"{f.kind} {f.where}: {f.what.splitlines()[0][:80]}" for f in faults)
    return taken, wrong


def cases(hosts: list[str], only: str) -> Iterator[tuple[str, str, str, bool]]:
    for host in hosts:
        for place in TEMPLATES[host]:
            for unit in UNITS:
                for numbered in (False, True) if any(c in unit for c in "Xax") else (False,):
                    label = f"{host} {place} {unit!r}{' numbered' if numbered else ''}"
                    if only in label:
                        yield host, place, unit, numbered


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", nargs="*", default=sorted(TEMPLATES))
    parser.add_argument("--only", default="")
    parser.add_argument("--largest", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=8.0)
    arguments = parser.parse_args()
    bad: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for host, place, unit, numbered in cases(arguments.host, arguments.only):
            label = f"{host} {place} {unit!r}{' numbered' if numbered else ''}"
            template, name = TEMPLATES[host][place], NAMES[host]
            times: list[tuple[int, float]] = []
            size = 2_500
            while size <= arguments.largest:
                raw = template.replace("@", run_of(unit, size, numbered), 1).encode()
                taken, wrong = measured(raw, name, Path(folder))
                times.append((size, taken))
                if wrong:
                    print(f"{label}, {size} bytes: {wrong}", flush=True)
                    bad.append((9.0, label))
                    break
                if taken > arguments.seconds:
                    break
                # Small ones only say that the next may be tried: most are done at once.
                size = size * 8 if taken < 0.12 and size * 8 <= arguments.largest else size * 2
            power = 0.0
            if len(times) > 1 and times[-1][1] > 0.3:
                (n0, t0), (n1, t1) = times[-2:]
                power = math.log(max(t1 - 0.03, 1e-3) / max(t0 - 0.03, 1e-3)) / math.log(n1 / n0)
            if power > 1.4 or times[-1][1] > arguments.seconds:
                shown = " ".join(f"{n // 1000}k:{t:.2f}" for n, t in times)
                print(f"{label}: power {power:.1f} ({shown})", flush=True)
                bad.append((power, label))
    print(f"{len(bad)} runs grow too fast or fail")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
