from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from small_hosts import check_identity, pins, read, render, word, words

from vllm_migrate.hosts import host, lockfile, makefile
from vllm_migrate.model import CannotRender, Remove, Replace

needs_shell = pytest.mark.skipif(host("shell") is None, reason="the shell host is not there")

MAKE = """\
VLLM_VERSION ?= 0.17.1
MODEL := Qwen/Qwen3-8B  # small

.PHONY: serve
serve: install
\t@echo "starting $(MODEL)"
\t@VLLM_USE_V1=1 vllm serve $(MODEL) \\
\t  --swap-space 4 \\
\t  --api-key $$KEY

install:
\tpip install vllm==$(VLLM_VERSION)
"""

JUST = """\
version := "0.17.1"

install:
    pip install vllm=={{version}}

serve model="m":
    @vllm serve {{ model }} --swap-space 4 --port 1
"""


@needs_shell
def test_recipes() -> None:
    found = read(makefile, MAKE, "Makefile")
    assert words(found)[1:] == ["--swap-space", "4", "--api-key", "$KEY"]
    assert pins(found) == ["vllm==0.17.1"]
    check_identity(found, MAKE)
    after = render(
        found,
        MAKE,
        [
            Remove(word(found, "--swap-space")),
            Remove(word(found, "4")),
            Remove(found.sites[0].variables[0]),
            Replace(found.pins[0], "0.33.0"),
        ],
    )
    assert after == (
        MAKE.replace("\t  --swap-space 4 \\\n", "").replace("VLLM_USE_V1=1 ", "").replace("?= 0.17.1", "?= 0.33.0")
    )


@needs_shell
def test_just() -> None:
    found = read(makefile, JUST, "justfile")
    assert words(found)[1:] == ["--swap-space", "4", "--port", "1"] and pins(found) == ["vllm==0.17.1"]
    check_identity(found, JUST)
    after = render(found, JUST, [Remove(word(found, "--swap-space")), Remove(word(found, "4"))])
    assert after == JUST.replace(" --swap-space 4", "")


@needs_shell
def test_a_new_value_is_escaped_for_make() -> None:
    found = read(makefile, MAKE, "Makefile")
    after = render(found, MAKE, [Replace(word(found, "4"), "$5")])
    assert "$$5" in after and word(read(makefile, after, "Makefile"), "$5")


VALUES = ["8", "a b", "it's", 'say "x"', "$5", "$(X)", "a\\b", '{"a": 1}', "a#b", "100%", "a;b", ""]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not there")
@pytest.mark.parametrize(
    "text",
    [
        "all:\n\tvllm serve m --x 4\n",
        "all:\n\tvllm serve m --x '4 5'\n",
        'all:\n\tvllm serve m --x "4 5"\n',
        "ARGS = --x 4\nall:\n\tvllm serve m $(ARGS)\n",
    ],
)
def test_make_hands_over_what_was_written(text: str, tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text("#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done; echo\n")
    program.chmod(0o755)
    item = read(makefile, text, "Makefile").sites[0].words[-1]
    values, recipes, variables = [], ["all:"], []
    for i, value in enumerate(VALUES):
        try:
            after = render(read(makefile, text, "Makefile"), text, [Replace(item, value)])
        except CannotRender:
            assert "#" in value and "ARGS" in text, "make takes it for a comment in a variable alone"
            continue
        values.append(value)
        head, recipe = after.split("all:\n")
        variables.append(head.replace("ARGS", f"A{i}"))
        recipes.append(recipe.replace("$(ARGS)", f"$(A{i})").rstrip("\n"))
    (tmp_path / "Makefile").write_text("".join(variables) + "\n".join(recipes) + "\n")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(["make", "-s"], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert ran.stdout.splitlines() == [f"<serve><m><--x><{value}>" for value in values], ran.stderr


def test_pipfile_lock() -> None:
    text = '{"default": {"vllm": {"hashes": ["sha256:ab"], "version": "==0.11.0"}, "x": {"editable": true}}}'
    found = read(lockfile, text, "Pipfile.lock")
    assert pins(found) == ["vllm==0.11.0"] and "regenerate" in found.pins[0].locked
