from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from small_hosts import check_identity, pins, read, render, word, words

from vllm_migrate.hosts import host, lockfile, makefile
from vllm_migrate.model import CannotRender, Remove, Rename, Replace

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


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ("TAG := v0.9.0\nall:\n\tdocker run vllm/vllm-openai:$(TAG) --model m\n", "Makefile", "v0.33.0"),
        ("TAG = v0.9.0  # why \nall:\n\tdocker run vllm/vllm-openai:${TAG} --model m\n", "Makefile", "v0.33.0"),
        ("export TAG ?= v0.9.0\r\nall:\r\n\tdocker run vllm/vllm-openai:$(TAG) --model m\r\n", "Makefile", "v0.33.0"),
        ('tag := "v0.9.0" \nall:\n  docker run vllm/vllm-openai:{{ tag }} --model m\n', "justfile", "v0.33.0"),
        ("tag := 'v0.9.0'\nall:\n  docker run vllm/vllm-openai:{{tag}} --model m\n", "Justfile", "v0.33.0"),
    ],
)
def test_the_version_of_an_image_is_where_its_variable_is_given(text: str, path: str, after: str) -> None:
    found = read(makefile, text, path)
    (site,) = found.sites
    (pin,) = site.pins
    assert found.pins == [pin] and pin.whole == "vllm/vllm-openai:v0.9.0"
    assert render(found, text, [Replace(pin, after)]) == text.replace("v0.9.0", after)


@pytest.mark.parametrize(
    ("head", "path"),
    [
        ("TAG = v0.9.0\nTAG = v0.8.0\n", "Makefile"),
        ("TAG = v0.9.0\nTAG += -x\n", "Makefile"),
        ("TAG = v0.9.0\\\n  -x\n", "Makefile"),
        ("tag := f()\n", "justfile"),
        ("tag := 'a' + 'b'\n", "justfile"),
    ],
)
def test_a_variable_that_is_not_sure_gives_no_version(head: str, path: str) -> None:
    recipe = (
        "docker run vllm/vllm-openai:$(TAG) --model m"
        if path == "Makefile"
        else "docker run vllm/vllm-openai:{{tag}} --model m"
    )
    found = read(makefile, f"{head}all:\n\t{recipe}\n", path)
    assert "v0.9.0" not in "".join(p.whole for p in found.pins) and found.sites[0].pins[0].holes


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("A = --x 4 --y\nall:\n\tvllm serve m $(A)\n", "Makefile", ["m", "--x", "4", "--y"]),
        ("A = \\\n  --x 4 \\\n  --y\nall:\n\tvllm serve m ${A} --z\n", "Makefile", ["m", "--x", "4", "--y", "--z"]),
        ("A = --x 4 # why\nall:\n\tvllm serve m $(A)\n", "Makefile", ["m", "${A}"]),
        ("A = --x 4\nA += --y\nall:\n\tvllm serve m $(A)\n", "Makefile", ["m", "${A}"]),
        ("A = x\nA += --y\nall:\n\tvllm serve m $(A)\n", "Makefile", ["m", "${A}"]),
        ("A = x 4\nall:\n\tvllm serve m $(A)\n", "Makefile", ["m", "${A}"]),
        ("a := f()\nb := '--x 4'  \nall:\n  vllm serve m {{ b }}\n", "justfile", ["m", "--x", "4"]),
        ('b := "--x 4"\nall:\n  @vllm serve m {{b}}\n', "justfile", ["m", "--x", "4"]),
        ("b := '--x' + '4'\nall:\n  vllm serve m {{b}}\n", "justfile", ["m", "${b}"]),
    ],
)
def test_options_of_a_variable(text: str, path: str, said: list[str]) -> None:
    found = read(makefile, text, path)
    assert words(found) == said
    check_identity(found, text)
    if "--x" in said:
        gone = [word(found, "--x"), word(found, "4")]
        assert not any(w.locked for w in gone)
        after = render(found, text, [Remove(w) for w in gone])
        assert words(read(makefile, after, path)) == [w for w in said if w not in ("--x", "4")] or "--" not in after


def test_options_that_something_else_uses_stay() -> None:
    text = "A = --x 4\nall:\n\tvllm serve m $(A)\nother:\n\techo $(A)\n"
    assert [w.locked for w in read(makefile, text, "Makefile").sites[0].words] == ["", *["A is used elsewhere too"] * 2]


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("vllm serve $(or $(A),\\\n\t$(B)) --x $$Y", ["${_part_0}", "--x", "$Y"]),
        ("vllm serve $(M) \\\n\t\t--x $(M)/$$Y \\\n\t--z", ["${M}", "--x", "${M}/$Y", "--z"]),
        ("vllm serve m --x $$Y --z $$Z $(M)", ["m", "--x", "$Y", "--z", "$Z", "${M}"]),
        ("-@ vllm serve m", ["m"]),
        ("+vllm serve m", ["m"]),
        ("vllm serve m $@ $< $${@}", ["m", "${_part_0}", "${_part_1}", "${@}"]),
    ],
)
def test_recipes_keep_what_make_fills_in(recipe: str, said: list[str]) -> None:
    text = f"all:\n\t{recipe}\nother:\n\techo\n"
    found = read(makefile, text, "Makefile")
    assert words(found) == said
    check_identity(found, text)
    for item in found.sites[0].words:
        # Whatever it says already stays as make reads it.
        assert render(found, text, [Replace(item, "x" + item.text, item.holes)]).replace("x", "") == text.replace(
            "x", ""
        )


@pytest.mark.parametrize(
    ("text", "path"),
    [("all:\n\tvllm serve m --x=$(A)/$$Z\n", "Makefile"), ("all:\n  vllm serve m --x={{ A }}/$Z\n", "justfile")],
)
def test_a_word_keeps_what_is_filled_in(text: str, path: str) -> None:
    found = read(makefile, text, path)
    item = found.sites[0].words[-1]
    assert render(found, text, [Replace(item, item.text.replace("--x", "--yy"), item.holes)]) == text.replace(
        "--x", "--yy"
    )


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("    vllm serve m \\\n      --x\n", ["m", "--x"]),
        ("\t-@vllm serve m\n", ["m"]),
        ("    #!/usr/bin/env bash\n    set -e\n\n    vllm serve m \\\n      --x\n", ["m", "--x"]),
        ("    echo\n    vllm serve m", ["m"]),
        ("    #!/bin/sh\n    A=--x\n    vllm serve m $A", ["m", "--x"]),
    ],
)
@pytest.mark.parametrize("after", ["", "\nother:\n    echo\n", "x := '1'\n"])
def test_recipes_of_just(recipe: str, said: list[str], after: str) -> None:
    text = f"serve a:\n{recipe}" + ("\n" if after and not recipe.endswith("\n") else "") + after
    assert words(read(makefile, text, "justfile")) == said


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("export A = 1  # why # why", "Makefile", "1"),
        ("export A := $(B)", "Makefile", None),
        ("export A := '1' ", "justfile", "1"),
        ("export A := b + '1'", "justfile", None),
        ('export A := "$X"', "justfile", "$X"),
    ],
)
def test_exported_values(line: str, path: str, value: str | None) -> None:
    text = f"{line}\nall:\n\tvllm serve m\nbox:\n\tdocker run vllm/vllm-openai:v0.9.0 --model m\n"
    found = read(makefile, text, path)
    first, boxed = found.sites
    (variable,) = first.variables
    assert boxed.variables == [] and variable.name == "A"
    if value is None:
        assert variable.holes
        with pytest.raises(CannotRender):
            render(found, text, [Replace(variable, "2")])
    else:
        assert variable.value == value
        assert render(found, text, [Replace(variable, "2")]) == text.replace(value, "2", 1)
    assert render(found, text, [Rename(variable, "B_A"), Remove(variable)][:1]) == text.replace(
        "export A", "export B_A"
    )
