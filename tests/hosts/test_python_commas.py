"""Words of Python lists go and come as a careful person would write it."""

from __future__ import annotations

import ast

import pytest
from small_hosts import read, render, word

from vllm_migrate.hosts import python
from vllm_migrate.model import CannotRender, Change, InsertWords, Reading, Remove

HEAD = "import subprocess\nsubprocess.run("


def plan(reading: Reading, what: str) -> list[Change]:
    a, one, b = (word(reading, text) for text in ("--a", "1", "--b"))
    m = word(reading, "m")
    plans: dict[str, list[Change]] = {
        "before a": [InsertWords(a.container, ["--n", "2"], before=a)],
        "before m": [InsertWords(m.container, ["--n"], before=m)],
        "after 1": [InsertWords(one.container, ["--n", "2"], after=one)],
        "after b": [InsertWords(b.container, ["--n", "2"], after=b)],
        "rm a": [Remove(a), Remove(one)],
        "rm b": [Remove(b)],
        "rm all": [Remove(w) for w in reading.sites[0].words],
        "swap a": [Remove(a), Remove(one), InsertWords(one.container, ["--n=2"], after=one)],
        "swap b": [Remove(b), InsertWords(b.container, ["--n", "2", "--o"], after=b)],
    }
    return plans[what]


LEFT = {
    "before a": ["m", "--n", "2", "--a", "1", "--b"],
    "before m": ["--n", "m", "--a", "1", "--b"],
    "after 1": ["m", "--a", "1", "--n", "2", "--b"],
    "after b": ["m", "--a", "1", "--b", "--n", "2"],
    "rm a": ["m", "--b"],
    "rm b": ["m", "--a", "1"],
    "rm all": [],
    "swap a": ["m", "--n=2", "--b"],
    "swap b": ["m", "--a", "1", "--n", "2", "--o"],
}
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "one line": (
        '["vllm", "serve", "m", "--a", "1", "--b"]',
        {
            "before a": '["vllm", "serve", "m", "--n", "2", "--a", "1", "--b"]',
            "before m": '["vllm", "serve", "--n", "m", "--a", "1", "--b"]',
            "after 1": '["vllm", "serve", "m", "--a", "1", "--n", "2", "--b"]',
            "after b": '["vllm", "serve", "m", "--a", "1", "--b", "--n", "2"]',
            "rm a": '["vllm", "serve", "m", "--b"]',
            "rm b": '["vllm", "serve", "m", "--a", "1"]',
            "rm all": '["vllm", "serve"]',
            "swap a": '["vllm", "serve", "m", "--n=2", "--b"]',
            "swap b": '["vllm", "serve", "m", "--a", "1", "--n", "2", "--o"]',
        },
    ),
    "one line, a comma at the end": (
        '["vllm", "serve", "m", "--a", "1", "--b",]',
        {
            "before a": '["vllm", "serve", "m", "--n", "2", "--a", "1", "--b",]',
            "before m": '["vllm", "serve", "--n", "m", "--a", "1", "--b",]',
            "after 1": '["vllm", "serve", "m", "--a", "1", "--n", "2", "--b",]',
            "after b": '["vllm", "serve", "m", "--a", "1", "--b", "--n", "2",]',
            "rm a": '["vllm", "serve", "m", "--b",]',
            "rm b": '["vllm", "serve", "m", "--a", "1",]',
            "rm all": '["vllm", "serve",]',
            "swap a": '["vllm", "serve", "m", "--n=2", "--b",]',
            "swap b": '["vllm", "serve", "m", "--a", "1", "--n", "2", "--o",]',
        },
    ),
    "pairs on lines": (
        """\
[
    "vllm", "serve", "m",
    "--a", "1",
    "--b",
]""",
        {
            "before a": """\
[
    "vllm", "serve", "m",
    "--n", "2",
    "--a", "1",
    "--b",
]""",
            "before m": """\
[
    "vllm", "serve", "--n", "m",
    "--a", "1",
    "--b",
]""",
            "after 1": """\
[
    "vllm", "serve", "m",
    "--a", "1",
    "--n", "2",
    "--b",
]""",
            "after b": """\
[
    "vllm", "serve", "m",
    "--a", "1",
    "--b",
    "--n",
    "2",
]""",
            "rm a": """\
[
    "vllm", "serve", "m",
    "--b",
]""",
            "rm b": """\
[
    "vllm", "serve", "m",
    "--a", "1",
]""",
            "rm all": """\
[
    "vllm", "serve",
]""",
            "swap a": """\
[
    "vllm", "serve", "m",
    "--n=2",
    "--b",
]""",
            "swap b": """\
[
    "vllm", "serve", "m",
    "--a", "1",
    "--n",
    "2",
    "--o",
]""",
        },
    ),
    "a line each, comments": (
        """\
[
    "vllm",
    "serve",
    "m",
    "--a",
    "1",  # one
    "--b"  # b
]""",
        {
            "before a": """\
[
    "vllm",
    "serve",
    "m",
    "--n",
    "2",
    "--a",
    "1",  # one
    "--b"  # b
]""",
            "before m": """\
[
    "vllm",
    "serve",
    "--n",
    "m",
    "--a",
    "1",  # one
    "--b"  # b
]""",
            "after 1": """\
[
    "vllm",
    "serve",
    "m",
    "--a",
    "1",  # one
    "--n",
    "2",
    "--b"  # b
]""",
            "after b": """\
[
    "vllm",
    "serve",
    "m",
    "--a",
    "1",  # one
    "--b",  # b
    "--n",
    "2"
]""",
            "rm a": """\
[
    "vllm",
    "serve",
    "m",
    "--b"  # b
]""",
            "rm b": """\
[
    "vllm",
    "serve",
    "m",
    "--a",
    "1"  # one
]""",
            "rm all": """\
[
    "vllm",
    "serve"
]""",
            "swap a": """\
[
    "vllm",
    "serve",
    "m",
    "--n=2",  # one
    "--b"  # b
]""",
            "swap b": """\
[
    "vllm",
    "serve",
    "m",
    "--a",
    "1",  # one
    "--n",  # b
    "2",
    "--o"
]""",
        },
    ),
    "two lines": (
        """\
["vllm", "serve", "m",
 "--a", "1", "--b"]""",
        {
            "before a": """\
["vllm", "serve", "m",
 "--n", "2",
 "--a", "1", "--b"]""",
            "before m": """\
["vllm", "serve", "--n", "m",
 "--a", "1", "--b"]""",
            "after 1": """\
["vllm", "serve", "m",
 "--a", "1", "--n", "2", "--b"]""",
            "after b": """\
["vllm", "serve", "m",
 "--a", "1", "--b", "--n", "2"]""",
            "rm a": """\
["vllm", "serve", "m",
 "--b"]""",
            "rm b": """\
["vllm", "serve", "m",
 "--a", "1"]""",
            "rm all": '["vllm", "serve"]',
            "swap a": """\
["vllm", "serve", "m",
 "--n=2", "--b"]""",
            "swap b": """\
["vllm", "serve", "m",
 "--a", "1", "--n", "2", "--o"]""",
        },
    ),
    "comment between": (
        """\
[
    "vllm", "serve", "m",
    # about a
    "--a", "1",
    "--b" ]""",
        {
            "before a": """\
[
    "vllm", "serve", "m",
    "--n", "2",
    # about a
    "--a", "1",
    "--b" ]""",
            "before m": """\
[
    "vllm", "serve", "--n", "m",
    # about a
    "--a", "1",
    "--b" ]""",
            "after 1": """\
[
    "vllm", "serve", "m",
    # about a
    "--a", "1",
    "--n", "2",
    "--b" ]""",
            "after b": """\
[
    "vllm", "serve", "m",
    # about a
    "--a", "1",
    "--b", "--n", "2" ]""",
            "rm a": """\
[
    "vllm", "serve", "m",
    # about a
    "--b" ]""",
            "rm b": """\
[
    "vllm", "serve", "m",
    # about a
    "--a", "1" ]""",
            "rm all": """\
[
    "vllm", "serve" ]""",
            "swap a": """\
[
    "vllm", "serve", "m",
    # about a
    "--n=2",
    "--b" ]""",
            "swap b": """\
[
    "vllm", "serve", "m",
    # about a
    "--a", "1",
    "--n", "2", "--o" ]""",
        },
    ),
}


@pytest.mark.parametrize("layout", CASES)
@pytest.mark.parametrize("what", LEFT)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_words_of_a_list(layout: str, what: str, newline: str) -> None:
    before, results = CASES[layout]
    text = f"{HEAD}{before})\n".replace("\n", newline)
    reading = read(python, text, "run.py")
    after = render(reading, text, plan(reading, what))
    assert after.replace("\r\n", "\n") == f"{HEAD}{results[what]})\n"
    assert newline == "\n" or after.count("\n") == after.count("\r\n")
    call = ast.parse(after).body[1].value  # type: ignore[attr-defined]
    assert list(ast.literal_eval(call.args[0])) == ["vllm", "serve", *LEFT[what]]


@pytest.mark.parametrize("words", ['("vllm"), "serve", ("--x")', '"a", "vllm", "serve", "--x"'])
def test_a_tuple_without_brackets_is_left(words: str) -> None:
    text = f"cmd = {words}\nrun(cmd)\n"
    for site in read(python, text, "a.py").sites:
        with pytest.raises(CannotRender):
            render(read(python, text, "a.py"), text, [Remove(w) for w in site.words])


@pytest.mark.parametrize("words", ['(("vllm"), "serve", ("--x"))', '(  # (\n    "vllm", "serve", "m", ("--x"),\n)'])
def test_a_tuple_in_brackets_is_edited(words: str) -> None:
    text = f"cmd = {words}\nrun(cmd)\n"
    reading = read(python, text, "a.py")
    assert render(reading, text, [Remove(word(reading, "--x"))]) == text.replace(', ("--x")', "")
