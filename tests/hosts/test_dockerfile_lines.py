from __future__ import annotations

import pytest
from dockerfile_parse import DockerfileParser
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.hosts.dockerfile_lines import read_instructions, slice_of
from vllm_migrate.text import Region, Source

SAMPLES = [
    "FROM a:1\n",
    'from a:1 as b\nrun x && \\\n    y\ncmd ["x"]',
    "# comment\n\nFROM a:1\n  # indented\n\nENV A=1 \\\n    B=2\n",
    "FROM a\nRUN one \\\n  # inside\n  two \\\n  three\nRUN four\n",
    "FROM a\nRUN one \\  \n  two\n",
    'FROM a\nCMD ["x", \\\n  "y"]\nEXPOSE 80',
    "FROM a\r\nRUN one \\\r\n    two\r\nENV A=1\r\n",
    'FROM a\nLABEL a="x # not a comment" \\\n      b=c\n',
    "FROM a\nRUN echo 'a\\\nb'\n",
    "ARG V=1\nFROM a:${V}\nONBUILD RUN x\n",
]


def oracle(text: str, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, int]]:
    folder = tmp_path_factory.mktemp("d")
    path = folder / "Dockerfile"
    path.write_bytes(text.encode())
    found = DockerfileParser(str(folder), env_replace=False).structure
    return [(i["instruction"], i["value"], i["startline"]) for i in found if i["instruction"] != "COMMENT"]


def ours(text: str) -> list[tuple[str, str, int]]:
    lines = Source.of(text)
    out = []
    for i in read_instructions(text):
        keyword, value = i.keyword, "".join(text[slice_of(s)] for s in i.joined)
        if i.onbuild:
            keyword, value = "ONBUILD", f"{i.keyword} {value}"
        out.append((keyword, " ".join(value.split()), lines.position(i.start)[0] - 1))
    return out


@pytest.mark.parametrize("text", SAMPLES)
def test_reads_what_another_parser_reads(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert ours(text) == [(k, " ".join(v.split()), n) for k, v, n in oracle(text, tmp_path_factory)]


WORD = st.sampled_from(["a", "--b=c", "x.sh", "&&", '"q r"', "1:2", "/p", "=", "${V}"])
GLUE = st.sampled_from([" ", " \\\n", " \\\n    ", " \\\n  # note\n  "])
LINE = st.builds(
    lambda keyword, first, rest: keyword + " " + first + "".join(g + w for g, w in rest),
    st.sampled_from(["FROM", "RUN", "ENV", "CMD", "LABEL", "COPY", "USER"]),
    WORD,
    st.lists(st.tuples(GLUE, WORD), max_size=5),
)
FILE = st.lists(st.one_of(LINE, st.sampled_from(["", "# note", "  # note"])), min_size=1, max_size=8)


@settings(max_examples=150, deadline=None)
@given(FILE, st.booleans())
def test_reads_what_another_parser_reads_at_random(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], final: bool
) -> None:
    text = "\n".join(lines) + ("\n" if final else "")
    assert ours(text) == [(k, " ".join(v.split()), n) for k, v, n in oracle(text, tmp_path_factory)]


def test_heredocs_end_at_their_word() -> None:
    text = "RUN <<EOF\na\n# not a comment\nEOF\nCOPY <<-'ONE' <<TWO /x/\n\tb\n\tONE\nc\nTWO\nCMD [\"d\"]\n"
    run, copy, cmd = read_instructions(text)
    assert [text[slice_of(h.body)] for h in run.heredocs] == ["a\n# not a comment\n"]
    assert [(h.name, h.expand, h.strip_tabs) for h in copy.heredocs] == [
        ("ONE", False, True),
        ("TWO", True, False),
    ]
    assert [text[slice_of(h.body)] for h in copy.heredocs] == ["\tb\n", "c\n"]
    assert (cmd.keyword, text[cmd.args : cmd.end]) == ("CMD", '["d"]')


def test_shift_and_quoted_arrows_are_no_heredocs() -> None:
    text = 'RUN echo "a <<EOF b" && echo $((1 << 2))\nUSER x\n'
    assert [i.keyword for i in read_instructions(text)] == ["RUN", "USER"]


def test_escape_directive_changes_the_continuation() -> None:
    text = "# escape=`\nFROM a\nRUN dir C:\\ `\n  x\nUSER y\n"
    run = read_instructions(text)[1]
    assert run.logical(Region.whole(Source.of(text))).text == "dir C:\\   x"
    script = run.script(Region.whole(Source.of(text)))
    assert script.text == "dir C:\\ \\\n  x"
    edit = script.edit(8, len(script.text), "\\\n  y")
    assert edit is not None and edit.text == "`\n  y"


def test_script_hides_comments_and_blank_lines_but_keeps_offsets() -> None:
    text = "RUN one \\\n  # note\n\n  two\n"
    script = read_instructions(text)[0].script(Region.whole(Source.of(text)))
    assert script.text == "one \\\n  two"
    at = script.text.index("two")
    span = script.span(at, at + 3)
    assert span is not None and text[slice_of(span)] == "two"


def test_blank_lines_do_not_end_a_continuation() -> None:
    # as BuildKit reads it, with a warning; the parser above stops there
    assert ours("RUN one \\\n\n  two\nUSER x\n") == [("RUN", "one two", 0), ("USER", "x", 3)]
