"""String literals of Python say what Python says they do, and what is written into them is what Python reads."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.hosts.python_text import Literal, Said, literals, quote_of, say, write_inside, write_string
from vllm_migrate.model import fill

TEXTS = st.text(alphabet="ab \"'\\{}\n\t\x07é\u2028", max_size=8)
QUOTES = st.sampled_from(["'", '"', "'''", '"""'])
INSIDES = st.lists(
    st.sampled_from(
        ["a", " ", "é", "{", "}", "\\n", "\\t", "\\\\", "\\'", '\\"', "\\x41", "\\101", "\\7", "\\u00e9", "\\U0001f600",
         "\\N{BULLET}", "\\q", "\\\n", "\\a", "#", "\\0", "\\r", "\\b", "\\f", "\\v"]
    ),
    max_size=6,
).map("".join)  # fmt: skip


def said(source: str) -> Said:
    out = Said()
    for literal in literals(source, 0, len(source)):
        say(source, literal, out)
    return out


def value(source: str) -> str:
    found = ast.literal_eval(source)
    assert isinstance(found, str)
    return found


pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")


@given(INSIDES, QUOTES, st.sampled_from(["", "r", "R", "u"]))
@settings(max_examples=200)
def test_what_a_literal_says(inside: str, quote: str, prefix: str) -> None:
    source = prefix + quote + inside + quote
    if prefix in ("r", "R") and inside.endswith("\\"):
        return
    try:
        wanted = value(source)
    except SyntaxError:
        return
    got = said(source)
    assert got.text == wanted
    # Every letter has its place: letters that stand for themselves stand there.
    assert [p.start for p in got.pieces] == [0, *(p.end for p in got.pieces)][: len(got.pieces)]
    for piece in got.pieces:
        letters, written = got.text[piece.start : piece.end], source[piece.parent_start : piece.parent_end]
        assert letters == (written if piece.verbatim else value(quote + written + quote))


@pytest.mark.parametrize(
    ("source", "text", "holes"),
    [
        ('f"a{b}c"', "a?c", ["{b}"]),
        ('f"a{{b}}{c!r:>4}"', "a{b}?", ["{c!r:>4}"]),
        ("f'{d[\"k\"]} {e}'", "? ?", ['{d["k"]}', "{e}"]),
        ('f"{ {1: 2}[1] }x"', "?x", ["{ {1: 2}[1] }"]),
        ('f"""{f(")")}\n{g}"""', "?\n?", ['{f(")")}', "{g}"]),
        ('rf"\\d{x}"', "\\d?", ["{x}"]),
        ("rf'\\{{a\\{x}'", "\\{a\\?", ["{x}"]),
        ("f'\\{x}\\}}'", "\\?\\}", ["{x}"]),
        ("f'\\N{BULLET}{x}'", "\u2022?", ["{x}"]),
        ("F'{x}'", "?", ["{x}"]),
        ('f"{[a][0]}{(b)}{c[\'}\']}"', "???", ["{[a][0]}", "{(b)}", "{c['}']}"]),
        ("'a' \"b\"", "ab", []),
        ("('a'  # it's\n 'b')", "ab", []),
        ("'a' # no 'b'", "a", []),
        ("'''a'b''c'''", "a'b''c", []),
        ("'a\\\r\nb'", "ab", []),
        ("'\\N{NO SUCH NAME}'", "\ufffd", []),
    ],
)
def test_literals_side_by_side_and_replacement_fields(source: str, text: str, holes: list[str]) -> None:
    got = said(source)
    assert fill(got.text, ["?"] * len(holes)) == text
    assert got.holes == holes


@given(TEXTS, QUOTES, st.sampled_from(["", "r", "f", "rf"]))
@settings(max_examples=200)
def test_what_is_written_inside_is_read(text: str, quote: str, prefix: str) -> None:
    inside = write_inside(text, Literal(prefix, quote, 0, 0, 0, 0), ())
    if inside is None:
        assert "r" in prefix, "only raw strings cannot say everything"
        return
    source = prefix + quote + inside + quote
    if "f" in prefix:
        assert said(source).text == text
        assert eval(source) == text
    else:
        assert value(source) == text


@pytest.mark.parametrize(
    ("text", "prefix", "quote", "inside"),
    [
        ('say "x"', "", '"', 'say \\"x\\"'),
        ('say "x"', "", "'", 'say "x"'),
        ("it's", "", '"', "it's"),
        ("a\nb\t", "", '"', "a\\nb\\t"),
        ("a\nb", "", '"""', "a\nb"),
        ("{a}", "f", '"', "{{a}}"),
        ("{a}", "", '"', "{a}"),
        ("\\d", "r", '"', "\\d"),
        ("\\d", "", '"', "\\\\d"),
        ('"', "r", '"', None),
        ("a\nb", "r", '"', None),
        ("a\nb", "r", '"""', "a\nb"),
        ("a\\", "r", '"', None),
        ("a\\b", "r", '"', "a\\b"),
        ("\ue000", "", '"', None),
        ("\ue000!", "f", '"', "{x}!"),
        ("\ue001", "f", '"', "{y:>4}"),
        ("\ue002", "f", '"', None),
        ("\ue002", "f", "'", '{d["k"]}'),
        ("\ue003", "f", '"', None),
        ("\ue009", "f", '"', None),
    ],
)
def test_each_literal_holds_what_it_can(text: str, prefix: str, quote: str, inside: str | None) -> None:
    holes = ["x", "{y:>4}", 'd["k"]', "f('\\n')"]
    assert write_inside(text, Literal(prefix, quote, 0, 0, 0, 0), holes) == inside


@given(TEXTS, st.sampled_from(["'", '"']))
@settings(max_examples=200)
def test_a_written_string_is_read(text: str, quote: str) -> None:
    written = write_string(text, (), quote)
    assert written is not None
    assert value(written) == text
    assert written[0] == quote or quote in text
    assert quote_of(written) == written[0]


@pytest.mark.parametrize(
    ("text", "holes", "quote", "written"),
    [
        ("a", (), '"', '"a"'),
        ('say "x"', (), '"', "'say \"x\"'"),
        ("it's \"x\"", (), "'", "'it\\'s \"x\"'"),
        ("\ue000", ("size",), '"', "size"),
        ("\ue000", ("{size:>4}",), '"', 'f"{size:>4}"'),
        ("a\ue000", ("size",), '"', 'f"a{size}"'),
        ("{\ue000}", ("size",), '"', 'f"{{{size}}}"'),
        ("\ue000 \ue001", ("a", 'd["k"]'), '"', "f'{a} {d[\"k\"]}'"),
        ('"\ue000', ("d['k']",), '"', 'f"\\"{d[\'k\']}"'),
        ("a\ue000", ("f('\"')",), '"', None),
        ("a\ue000", ("f('\\n')",), '"', None),
        ("a\ue000", ("f(\n1)",), '"', None),
        ("a\ue000", ("",), '"', None),
    ],
)
def test_run_time_parts_become_replacement_fields(
    text: str, holes: tuple[str, ...], quote: str, written: str | None
) -> None:
    assert write_string(text, holes, quote) == written
