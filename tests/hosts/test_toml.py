from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_hosts import check_identity, pins, read, render, word, words

from vllm_migrate.hosts import host, toml
from vllm_migrate.hosts.toml_scan import Node, lock_packages, scan
from vllm_migrate.model import CannotRender, InsertText, InsertWords, Pin, Reading, Remove, Replace

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


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "pyproject.toml",
            "[project]\ndependencies = [\"v @ git+https://h/v.git@v1\", \"???\", '''ray==2''']\n"
            '[project.optional-dependencies]\na = ["r \\u003e 1"]\n',
            [("git", "v @ git+https://h/v.git@v1"), ("requirement", "ray==2"), ("requirement", "r > 1")],
        ),
        ("pyproject.toml", '[project]\ndependencies = ["vllm==1", 3]\n', []),
        (
            "pyproject.toml",
            "[tool.poetry.group.dev.dependencies]\n"
            'v = {git = "https://h/v.git", rev = "abc"}\nr = {url = "https://h/r-1.whl"}\n'
            'f = {file = "x.whl"}\nc = {version = "1.2", extras = ["x"]}\nd = ">=1.0"\ne = {path = "."}\n'
            'g = {git = "https://h/v.git", branch = "z"}\n',
            [
                ("git", "https://h/v.git@abc"),
                ("url", "https://h/r-1.whl"),
                ("url", "x.whl"),
                ("requirement", "c==1.2"),
                ("requirement", "d>=1.0"),
                ("git", "https://h/v.git@z"),
            ],
        ),
        ("pyproject.toml", '[packages]\nvllm = "==1"\n', []),
        (
            "Pipfile",
            '[dev-packages]\nvllm = "==1"\n[requires]\npython_version = "3.11"\n',
            [("requirement", "vllm==1"), ("python", "3.11")],
        ),
        ("pixi.toml", '[feature.x.pypi-dependencies]\nvllm = { version = "==1" }\n', [("requirement", "vllm==1")]),
        (
            "pyproject.toml",
            '[tool.uv]\nextra-index-url = ["https://b", "https://c"]\ntorch-backend = "cu129"\n'
            'constraint-dependencies = ["v<1"]\n'
            '[tool.uv.pip]\npython-version = "3.11"\n[tool.uv.sources]\nv = {url = "https://h/v.whl"}\n'
            'r = [{git = "https://h/r.git", branch = "main"}, {index = "x"}]\n',
            [
                ("index", "https://b"),
                ("index", "https://c"),
                ("index", "cu129"),
                ("requirement", "v<1"),
                ("python", "3.11"),
                ("url", "https://h/v.whl"),
                ("git", "https://h/r.git@main"),
            ],
        ),
        (
            "uv.toml",
            'dev-dependencies = ["vllm==1"]\n[pip]\nindex-url = "https://a"\n',
            [("requirement", "vllm==1"), ("index", "https://a")],
        ),
        (
            "pylock.gpu.toml",
            '[[packages]]\nname = "vllm"\nversion = "1"\n[[tool]]\nname = "y"\nversion = "2"\n',
            [("requirement", "vllm==1")],
        ),
        ("Cargo.toml", '[dependencies]\nvllm = "vllm serve m --x"\n', []),
    ],
)
def test_where_versions_stand(name: str, text: str, found: list[tuple[str, str]]) -> None:
    reading = read(toml, text, name)
    assert [(p.kind, p.whole) for p in reading.pins] == found
    check_identity(reading, text)


def test_what_is_said_of_pins() -> None:
    text = (
        '[project]\ndependencies = ["v @ git+https://h/v.git", "r \\u003e 1"]\n'
        '[project.optional-dependencies]\na = ["ray"]\n'
    )
    assert [(p.locked, p.conditional) for p in read(toml, text, "pyproject.toml").pins] == [
        ("no ref is given", False),
        ("written with escapes", False),
        ("", True),
    ]


@pytest.mark.parametrize(
    ("text", "launches"),
    [
        ('[tool.x]\nrun = "vllm serve m --x"\n', [["m", "--x"]]),
        ('[tool.x]\nrun = ["vllm serve n --y", "echo", "vllm serve o"]\n', [["n", "--y"], ["o"]]),
        ('[tool.x]\nrun = ["vllm", "serve", "o"]\n', [["o"]]),
        ('[tool.x]\nrun = ["vllm", 3]\nname = "vllm serve p"\nhelp = ["vllm", "serve", "q"]\n', []),
        ('[tool.bentoml.a]\ncli_args = ["--x", "1"]\n', [["--x", "1"]]),
        ('[tool.bentoml.a]\ncli_args = ["x", "1"]\n[tool.other]\ncli_args = ["--x", "1"]\n', []),
        ('[project.scripts]\nrun = "vllm serve m --x"\n', []),
        ('[a]\nimage = "vllm/vllm-openai"\narguments = ["--model", "m"]\n', [["--model", "m"]]),
        ('[a]\ncmd = "vllm"\nargs = ["serve", "m"]\n', [["m"]]),
        ('[a]\nprogram = "python"\nargs = ["-m", "vllm.entrypoints.openai.api_server", "--x"]\n', [["--x"]]),
        ('[a]\ncommand = "python -m x"\nargs = ["serve", "m"]\n', []),
        ('[a]\nimage = "redis:7"\nargs = ["--x"]\n[b]\nimage = "vllm/vllm-openai:v1"\nargs = ["--x", 3]\n', []),
        ('[a]\nimage = "vllm/vllm-openai:v1"\nargs = []\n[b]\nimage = ["vllm/vllm-openai:v1"]\nargs = ["--x"]\n', []),
    ],
)
def test_where_launches_stand(text: str, launches: list[list[str]]) -> None:
    reading = read(toml, text, "x.toml")
    assert [words(reading, i) for i in range(len(reading.sites))] == launches
    check_identity(reading, text)


def test_variables_reach_the_launches_below_their_table() -> None:
    text = (
        'VLLM_A = "0"\n[env]\nVLLM_B = "1"\nlower = "x"\nVLLM_b = "x"\nVLLM_N = 3\n'
        '[a]\nimage = "vllm/vllm-openai:v1"\nargs = ["--x"]\n[a.env]\nVLLM_C = "2"\n'
        '[a.b]\nimage = "vllm/vllm-openai:v2"\nargs = ["--y"]\n[a.b.vars]\nVLLM_D = "3"\n[c.env]\nVLLM_E = "4"\n'
    )
    reading = read(toml, text, "x.toml")
    assert [[(v.name, v.value, v.scope, v.only) for v in s.variables] for s in reading.sites] == [
        [("VLLM_B", "1", "file", False), ("VLLM_C", "2", "process", False)],
        [("VLLM_B", "1", "file", False), ("VLLM_C", "2", "process", False), ("VLLM_D", "3", "process", True)],
    ]
    assert [v.name for v in reading.variables] == ["VLLM_E"]
    assert [p.text for p in reading.pins] == ["vllm/vllm-openai:v1", "vllm/vllm-openai:v2"]


@pytest.mark.parametrize("command", ['"vllm serve m"', '["vllm serve m"]', '["vllm", "serve", "m"]'])
def test_variables_reach_a_command_beside_their_table(command: str) -> None:
    text = f'[tool.x]\nrun = {command}\n[tool.x.env]\nVLLM_A = "1"\n[tool.y.env]\nVLLM_B = "2"\n'
    (site,) = read(toml, text, "x.toml").sites
    assert [(v.name, v.only) for v in site.variables] == [("VLLM_A", True)]


POETRY = '[tool.poetry.dependencies]\n  vllm = "0.11.0" # why\nz = "1"\n'
MIXED = "[project]\ndependencies = [\"ray\", 'vllm==1 ; a == \"b\"', '''z==1''']\n"


def named(name: str) -> Any:
    return lambda reading: next(p for p in reading.pins if p.name == name)


@pytest.mark.parametrize(
    ("text", "new", "line"),
    [
        (POETRY, "x", '  x = "*"'),
        (POETRY, "x>=1", '  x = ">=1"'),
        (POETRY, "x==1", '  x = "1"'),
        (POETRY, "x==1,<2", '  x = "==1,<2"'),
        (POETRY, "x[a, b]==1", '  x = {extras = ["a", "b"], version = "1"}'),
        (POETRY, "zope.event>1", '  "zope.event" = ">1"'),
        (POETRY, "x @ https://h/x.whl", None),
        (POETRY, "x>=1 ; python_version > '3'", None),
        ('tool.poetry.dependencies.vllm = "0.11.0"\n', "x", 'tool.poetry.dependencies.x = "*"'),
        ("[tool.poetry.dependencies]\n\"vllm\" = '0.11.0'\n", "x", 'x = "*"'),
        ('[tool.poetry.dependencies]\nvllm = {version = "0.11.0"}\n', "x", None),
    ],
)
def test_a_further_package_is_a_further_key(text: str, new: str, line: str | None) -> None:
    reading = read(toml, text, "pyproject.toml")
    change = InsertText(named("vllm")(reading), "requirement", new)
    if line is None:
        with pytest.raises(CannotRender):
            render(reading, text, [change])
        return
    first = next(one for one in text.splitlines() if "vllm" in one)
    after = render(reading, text, [change])
    assert after == text.replace(first, f"{first}\n{line}")
    tomllib.loads(after)


@pytest.mark.parametrize(
    ("text", "name", "new", "after"),
    [
        (POETRY, "vllm", "0.33.0", POETRY.replace("0.11.0", "0.33.0")),
        (POETRY, "vllm", 'a"b\\', POETRY.replace("0.11.0", 'a\\"b\\\\')),
        (POETRY.replace('"0.11.0"', "'0.11.0'"), "vllm", "it's", None),
        (MIXED, "vllm", 'vllm==2 ; a == "b"', MIXED.replace("vllm==1", "vllm==2")),
        (MIXED, "vllm", "vllm==2 ; a == 'b'", None),
        (MIXED, "ray", 'ray ; a == "b"', MIXED.replace('"ray"', '"ray ; a == \\"b\\""')),
        (MIXED, "z", "z==2 ; a == 'b' or a == \"c\"", MIXED.replace("z==1", "z==2 ; a == 'b' or a == \"c\"")),
    ],
)
def test_a_version_is_written_in_the_quotes_it_has(text: str, name: str, new: str, after: str | None) -> None:
    reading = read(toml, text, "pyproject.toml")
    change = Replace(named(name)(reading), new)
    if after is None:
        with pytest.raises(CannotRender, match="cannot be written in this format"):
            render(reading, text, [change])
    else:
        assert render(reading, text, [change]) == after
        tomllib.loads(after)


@pytest.mark.parametrize(
    ("text", "name", "after"),
    [
        (POETRY, "vllm", '[tool.poetry.dependencies]\nz = "1"\n'),
        ('[packages]\nvllm = "*"\n\n[x]\n', "vllm", "[packages]\n\n[x]\n"),
        ('[tool.poetry.dependencies]\nvllm = {version = "1"}\n', "vllm", None),
        ('[tool.uv]\ntorch-backend = "cu129"\n', "", None),
    ],
)
def test_a_package_goes_with_its_line(text: str, name: str, after: str | None) -> None:
    reading = read(toml, text, "Pipfile" if text.startswith("[packages]") else "pyproject.toml")
    change = Remove(named(name)(reading))
    if after is None:
        with pytest.raises(CannotRender, match="only a line of its own"):
            render(reading, text, [change])
    else:
        assert render(reading, text, [change]) == after


LIST = "[tool.x]\ncmd = ['vllm', 'serve', 'm', '--x']\n"
TEXTS = "[tool.x]\ncmd = [\"vllm\", \"serve\", 'm', '''--x''']\n"


@pytest.mark.parametrize(
    ("text", "change", "after"),
    [
        (LIST, lambda m, x: [Replace(x, "--y")], LIST.replace("--x", "--y")),
        (LIST, lambda m, x: [Replace(x, "it's")], LIST.replace("'--x'", '"it\'s"')),
        (
            LIST,
            lambda m, x: [InsertWords(m.container, ["--z", "a'b"], after=m)],
            LIST.replace("'m',", "'m', '--z', \"a'b\","),
        ),
        (LIST, lambda m, x: [Remove(m), Remove(x)], "[tool.x]\ncmd = ['vllm', 'serve']\n"),
        (TEXTS, lambda m, x: [Replace(x, "--y")], TEXTS.replace("'''--x'''", "'--y'")),
        (TEXTS, lambda m, x: [Replace(m, "n")], TEXTS.replace("'m'", "'n'")),
        (TEXTS, lambda m, x: [InsertWords(m.container, ["--z"])], TEXTS.replace("''']", "''', \"--z\"]")),
    ],
)
def test_words_of_a_list(text: str, change: Any, after: str) -> None:
    reading = read(toml, text, "x.toml")
    assert render(reading, text, change(word(reading, "m"), word(reading, "--x"))) == after
    tomllib.loads(after)


def test_an_image_without_arguments_keeps_an_empty_list() -> None:
    text = '[a]\nimage = "vllm/vllm-openai:v1"\nargs = ["--x"]\n'
    reading = read(toml, text, "x.toml")
    assert render(reading, text, [Remove(word(reading, "--x"))]) == text.replace('"--x"', "")


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("a = 1\nb = \n", 10),
        ('a = 1\r\nb = "x\r\n', 13),
        ("a = 1\na = 2\n", 12),
        ('x = """\n', 8),
        ("a = 0" + "1" * 5000, None),
    ],
)
def test_where_a_document_is_no_toml(text: str, offset: int | None) -> None:
    (problem,) = read(toml, text, "x.toml").problems
    assert problem.kind == "syntax" and (offset is None or problem.offset in (offset, offset - 1))
