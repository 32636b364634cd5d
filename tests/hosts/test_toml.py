from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_hosts import check_identity, pins, read, render, word, words

from vllm_migrate.hosts import host, toml
from vllm_migrate.hosts.toml_scan import Node, lock_packages, scan
from vllm_migrate.model import InsertText, InsertWords, Pin, Reading, Remove, Replace

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

needs_shell = pytest.mark.skipif(host("shell") is None, reason="the shell host is not there")

PROJECT = """\
[project]
name = "x"
requires-python = ">=3.9"
dependencies = [
    "vllm==0.17.1",  # the engine
    "transformers<5",
    "numpy"
]

[project.optional-dependencies]
gpu = ["vllm[audio]>=0.11", 'ray']

[dependency-groups]
dev = ["pytest", {include-group = "gpu"}]

[tool.uv.sources]
vllm = { git = "https://h/vllm.git", tag = "v0.11.0" }

[[tool.uv.index]]
name = "pytorch"
url = "https://download.pytorch.org/whl/cu129"

[tool.poetry.dependencies]
python = "^3.10"
vllm = "0.11.0"
torch = {version = "^2.4", extras = ["a"]}
"""


def by_text(reading: Reading, text: str) -> Pin:
    return next(p for p in reading.pins if p.text == text)


def test_what_a_project_pins() -> None:
    found = read(toml, PROJECT, "pyproject.toml")
    assert [(p.kind, p.name, p.whole) for p in found.pins] == [
        ("python", "python", ">=3.9"),
        ("requirement", "vllm", "vllm==0.17.1"),
        ("requirement", "transformers", "transformers<5"),
        ("requirement", "numpy", "numpy"),
        ("requirement", "vllm", "vllm[audio]>=0.11"),
        ("requirement", "ray", "ray"),
        ("git", "vllm", "https://h/vllm.git@v0.11.0"),
        ("index", "", "https://download.pytorch.org/whl/cu129"),
        ("python", "python", "^3.10"),
        ("requirement", "vllm", "vllm==0.11.0"),
        ("requirement", "torch", "torch^2.4"),
    ]
    check_identity(found, PROJECT)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_changes(newline: str) -> None:
    text = PROJECT.replace("\n", newline)
    found = read(toml, text, "pyproject.toml")
    after = render(
        found,
        text,
        [
            Replace(by_text(found, "vllm==0.17.1"), "vllm==0.33.0"),
            Remove(by_text(found, "transformers<5")),
            InsertText(by_text(found, "numpy"), "requirement", "arctic-inference"),
            InsertText(by_text(found, "0.11.0"), "requirement", "vllm-bnb-plugin[x]>=1"),
            Replace(by_text(found, "v0.11.0"), "v0.33.0"),
        ],
    )
    expected = (
        PROJECT.replace("==0.17.1", "==0.33.0")
        .replace('    "transformers<5",\n', "")
        .replace('    "numpy"\n', '    "numpy",\n    "arctic-inference"\n')
        .replace('"v0.11.0"', '"v0.33.0"')
        .replace('vllm = "0.11.0"\n', 'vllm = "0.11.0"\nvllm-bnb-plugin = {extras = ["x"], version = ">=1"}\n')
    )
    assert after == expected.replace("\n", newline)


def test_pipfile_and_uv_toml() -> None:
    text = (
        '[[source]]\nurl = "https://pypi.org/simple"\n'
        '[packages]\nvllm = "==0.11.0"\n[requires]\npython_version = "3.11"\n'
    )
    assert pins(read(toml, text, "Pipfile")) == ["https://pypi.org/simple", "vllm==0.11.0", "3.11"]
    assert pins(read(toml, 'extra-index-url = ["https://x/cu129"]\n', "uv.toml")) == ["https://x/cu129"]
    assert pins(read(toml, '[dependencies]\nserde = "1.0"\n', "Cargo.toml")) == []


def test_lock_files_are_locked() -> None:
    text = '[[package]]\nname = "vllm"\nversion = "0.11.0"\n\n[[package]]\nname = "ray"\nversion = "2.40"\n'
    found = read(toml, text, "uv.lock")
    assert pins(found) == ["vllm==0.11.0", "ray==2.40"]
    assert all("uv lock" in p.locked for p in found.pins)


KEYS = ("name", "version")
LOCK = """\
# generated
version = 1
markers = [
    "python_version >= '3.13'",
]

[manifest]
overrides = [{ name = "h11", specifier = ">=0.16" }]

[[package]]
name = "vllm"
version = "0.11.0"
source = { registry = "https://x/simple" }
description = "says \\"name\\" # no comment"
dependencies = [
    { name = "ray", extra = ["cgraph"], marker = "sys_platform != 'darwin'" },
]

[package.optional-dependencies]
name = "not a package"

[[package]]
name = "ray"
version = "2.40"
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lock_files_are_read_by_line_as_by_the_whole_parser(newline: str) -> None:
    text = LOCK.replace("\n", newline)
    quick = lock_packages(text)
    assert quick == [e for e in scan(text) if e.path[0] == "package" and len(e.path) == 3 and e.path[2] in KEYS]
    assert quick is not None and [e.node.value(text) for e in quick] == ["vllm", "0.11.0", "ray", "2.40"]


@pytest.mark.parametrize("line", ["<<<<<<< HEAD", 'text = """', "name = 'vllm'", 'version = "1" # why', 'name = "open'])
def test_lines_no_tool_writes_into_a_lock_file_need_the_whole_parser(line: str) -> None:
    assert lock_packages(LOCK + line + "\n") is None


def test_a_lock_file_with_a_conflict_is_no_toml() -> None:
    found = read(toml, LOCK + "<<<<<<< HEAD\n", "uv.lock")
    assert [p.kind for p in found.problems] == ["syntax"]


def test_syntax_errors_are_reported_with_their_place() -> None:
    found = read(toml, '[project]\nname = "x\n', "pyproject.toml")
    (problem,) = found.problems
    assert problem.kind == "syntax" and problem.offset >= 10 and found.pins == []


COMMAND = """\
[tool.x]
cmd = [
  "vllm", "serve", "m",
  "--swap-space", "4",
  "--speculative-config", '{"method": "ngram"}',
]
"""


def test_launch_in_a_list() -> None:
    found = read(toml, COMMAND, "pyproject.toml")
    assert words(found) == ["m", "--swap-space", "4", "--speculative-config", '{"method": "ngram"}']
    check_identity(found, COMMAND)
    home = found.sites[0].word_home
    assert home is not None
    after = render(
        found,
        COMMAND,
        [
            Remove(word(found, "--swap-space")),
            Remove(word(found, "4")),
            Replace(word(found, '{"method": "ngram"}'), '{"method": "suffix"}'),
            InsertWords(home, ["--device-ids", "0,1"]),
        ],
    )
    assert after == COMMAND.replace('  "--swap-space", "4",\n', "").replace("ngram", "suffix").replace(
        "\n]", '\n  "--device-ids", "0,1",\n]'
    )


def test_lists_that_start_nothing() -> None:
    text = '[tool.x]\ninclude = ["vllm", "server"]\ncmd = ["echo", "vllm", "serve"]\ndescription = "vllm serve x"\n'
    assert read(toml, text, "pyproject.toml").sites == []


@needs_shell
def test_commands_of_tools_are_shell() -> None:
    text = '[tool.pixi.tasks]\nserve = "vllm serve m --swap-space 4"\nhelp = "vllm serve n"\n'
    found = read(toml, text, "pyproject.toml")
    assert [words(found, i) for i in range(len(found.sites))] == [["m", "--swap-space", "4"]]
    assert render(found, text, [Remove(w) for w in found.sites[0].words[1:]]) == text.replace(" --swap-space 4", "")


def tree(entries: list[Any], text: str) -> dict[str, Any]:
    """Build the document again from the scan, scalars as they are spelled."""
    root: dict[str, Any] = {}

    def value(node: Node) -> Any:
        if node.kind == "array":
            return [value(i) for i in node.items]
        if node.kind == "table":
            out: dict[str, Any] = {}
            for entry in node.entries:
                out[str(entry.path[-1])] = value(entry.node)
            return out
        shown = node.value(text)
        return shown if node.kind == "string" else tomllib.loads(f"x = {shown}")["x"]

    for entry in entries:
        here: Any = root
        for part, following in zip(entry.path, [*entry.path[1:], None], strict=True):
            if following is None:
                here[part] = value(entry.node)
                continue
            fresh: Any = [] if isinstance(following, int) else {}
            if isinstance(here, list):
                if part == len(here):
                    here.append(fresh)
                here = here[part]
            else:
                here = here.setdefault(part, fresh)
    return root


STRINGS = st.sampled_from(
    ['"a"', "'b\\'", '"q\\"\\u00e9\\n"', '"""x\n  "" y\\\n   z"""', "'''\nl ' l'''", '""""q""""', '"# no"']
)
SCALARS = st.sampled_from(["1", "1.5", "true", "-0x1F".replace("-", ""), "1979-05-27 07:32:00Z", "inf"])
BLANK = st.sampled_from(["", " ", "\n  ", " # c ]\n"])
VALUES = st.recursive(
    STRINGS | SCALARS,
    lambda v: (
        st.builds(
            lambda items, b, end: "[" + b + ("," + b).join(items) + ("," if end and items else "") + b + "]",
            st.lists(v, max_size=3),
            BLANK,
            st.booleans(),
        )
        | st.builds(
            lambda items: "{" + ", ".join(f"k{i} = {v}" for i, v in enumerate(items)) + "}",
            st.lists(v, max_size=2),
        )
    ),
    max_leaves=6,
)


@given(
    st.lists(
        st.tuples(VALUES, st.sampled_from(["", "[t{i}]\n", "[[a]]\n", "# c\n", '["q.x"."y{i}"]\n'])),
        max_size=6,
    )
)
def test_the_scan_reads_what_the_parser_reads(parts: list[tuple[str, str]]) -> None:
    text = "".join(f"{header.format(i=i)}key{i} = {value}  # end\n" for i, (value, header) in enumerate(parts))
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert tree(scan(text), text) == expected
