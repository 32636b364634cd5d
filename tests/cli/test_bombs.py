"""Files that say more than they hold, or that no reader can read: told in words, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from standin import Run

STEPS = [(", ".join([f"*{before}"] * 10), after) for before, after in zip("abcdefgh", "bcdefghi", strict=True)]
TENS = "".join(f"{name}: &{name} [{ten}]\n" for ten, name in STEPS)
MERGED = "".join(f"{name}: &{name} {{<<: [{ten}]}}\n" for ten, name in STEPS)
YAML = {
    "aliases": ("a: &a [x, x, x, x, x, x, x, x, x, x]\n" + TENS, ":5: more than 20000 values"),
    "merges": ("a: &a {k: v}\n" + MERGED, "more than 20000 values"),
    "deep": ("\nto: " + "[" * 3_000, ":2: "),
    "deep block": ("".join(" " * i + "a:\n" for i in range(300)), ":31: nested too deeply"),
    "digits": ("\nto: " + "1" * 100_000, ":2: a value of 100000 characters"),
    "itself": ("to: &a [*a]\n", ":1: *a stands inside of what it names"),
    "date": ("to: 2024-99-99\n", "not YAML"),
    "code": ("to: !!python/object/apply:os.system [touch ran]\n", ":1: not YAML"),
    "nul": ("to: \0\n", "not YAML"),
    "large": ("# " + "x" * 2_000_000, "larger than 1 MiB"),
}
TOML = {
    "deep": ("[tool.vllm-migrate]\nto = " + "[" * 3_000, ":2: "),
    "deep and closed": ("[tool.vllm-migrate]\nto = " + "[" * 3_000 + "]" * 3_000, ":2: "),
    "digits": ("[tool.vllm-migrate]\nto = " + "1" * 10_000, ":2: not TOML: a number of too many digits"),
    "parts": ("[tool.vllm-migrate]\n" + "a." * 100_000 + "b = 1\n", ":2: not TOML: a key of too many parts"),
    "quoted parts": ("[tool.vllm-migrate]\n" + '"a" . ' * 10_000 + "b = 1\n", ":2: not TOML: a key of too many parts"),
}
JSON = {
    "deep": ("\n" + "[" * 50_000 + "]" * 50_000, ":2: nested too deeply"),
    "deep objects": ('{"a":' * 50_000 + "1" + "}" * 50_000, ":1: nested too deeply"),
    "digits": ('{"version":\n' + "1" * 10_000 + "}", ":2: a number of too many digits"),
    "bytes": ('{"version":\n"\udcff"}', ":2: not UTF-8 text"),
    "unfinished": ('{"version":\n', ":2: not JSON"),
    "another": ("[1]", ""),
    "nothing": ("null", ""),
    "endless": ('{"version": 1, "findings": [{"fingerprint": "x", "count": 1e999}]}', ""),
}


def tree(here: Path, name: str, text: str) -> None:
    (here / ".git").mkdir()
    (here / "run.sh").write_text("vllm serve m\n")
    (here / name).write_bytes(text.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("what", YAML)
def test_yaml(real: Run, here: Path, what: str) -> None:
    text, told = YAML[what]
    tree(here, ".vllm-migrate.yaml", text)
    done = real("check", ".")
    assert done.status == 2
    assert ".vllm-migrate.yaml" in done.err
    assert told in done.err
    assert "went wrong" not in done.err
    assert not (here / "ran").exists()


@pytest.mark.parametrize("what", TOML)
def test_toml(real: Run, here: Path, what: str) -> None:
    text, told = TOML[what]
    tree(here, "pyproject.toml", text)
    done = real("check", ".")
    assert done.status == 2
    assert f"pyproject.toml{told}" in done.err


@pytest.mark.parametrize("what", JSON)
@pytest.mark.parametrize("key", ["baseline", "migrations", "wrappers", "catalog"])
def test_json(real: Run, here: Path, key: str, what: str) -> None:
    text, told = JSON[what]
    tree(here, "data.json", text)
    (here / ".vllm-migrate.yaml").write_text(f"{key}: data.json\n")
    done = real("check", "--to", "0.33.0", ".")
    assert done.status == 2
    assert f"data.json{told}" in done.err
    assert "went wrong" not in done.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("values.yaml", "# vllm serve\na: &a [x, x, x, x, x, x, x, x, x, x]\n" + TENS),
        ("compose.yaml", "services:\n  a: &a {image: 'vllm/vllm-openai:v0.9.0'}\n" + MERGED),
        ("deploy.yaml", "# vllm serve\na: " + "[" * 50_000),
        ("many.yaml", "# vllm serve\n" + "".join(" " * i + "a:\n" for i in range(500))),
        ("digits.yaml", "# vllm serve\na: " + "1" * 100_000),
        (".pre-commit-config.yaml", "repos: &a\n- {repo: vllm, hooks: *a}\n- &b [*b]\n"),
        ("kustomization.yaml", "# vllm\nresources: &a [a, a]\nb: &b [*a, *a]\nc: [*b, *b]\n"),
        ("uv.toml", "# vllm serve\n" + "a." * 100_000 + "b = 1\n"),
        ("pyproject.toml", "# vllm serve\na = " + "1" * 10_000),
        ("a.json", '{"command": "vllm serve", "a": ' + "[" * 50_000),
        ("b.ipynb", '{"cells": "vllm serve", "a": ' + "[" * 50_000),
        ("c.py", "import vllm\nx = " + "(" * 5_000 + ")" * 5_000),
        ("d.py", "import vllm\nx = " + "-" * 50_000 + "1"),
        ("e.py", "from vllm import LLM\nLLM('m', swap_space=" + "9" * 10_000 + ")"),
        ("f.py", "from vllm import (LLM  " + "# " * 400 + "\n)\n"),
        ("g.sh", "vllm serve m --swap-space " + "9" * 100_000),
        ("h.sh", "vllm serve m " + "$(" * 3_000),
    ],
    ids=lambda value: value if len(value) < 30 else "",
)
def test_files_of_launches(real: Run, here: Path, name: str, text: str) -> None:
    tree(here, name, text)
    done = real("fix", "--to", "0.33.0", "--output-format", "concise", ".")
    assert done.status in (0, 1)
    assert "went wrong" not in done.err
