"""What is written into a script, bash hands over as it was meant."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from vllm_migrate.hosts import shell_lex
from vllm_migrate.hosts.shell_quote import escape_in, quote, unescape_free
from vllm_migrate.hosts.shell_spell import respell
from vllm_migrate.model import fill

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")

HOLES = ("$X", "${Y}")
SET = "X='x  \"y'; Y='*'; Z=z\n"
TEXTS = [
    "8",
    "a b",
    "it's",
    'say "x"',
    'it\'s "x"',
    '{"a": 1}',
    '{"a": "b\\"c"}',
    "$HOME",
    "`id`",
    "a\\b",
    "a\\",
    "\\'",
    "!x",
    "*?[a]",
    "~",
    "#",
    "a;b&c|d",
    "<>()",
    "a=b",
    "--x=a b",
    "-",
    "a\tb",
    "\u00e9",
    "${X}",
    "'",
    '"',
    "\\",
    "a'b\\c",
    "\\n",
    "x\\$y",
    "a'b!c",
    "\ue000",
    "\ue000\ue001",
    "a \ue000",
    "\ue000's",
    '"\ue000"',
    "$\ue000",
    "\\\ue001 b",
    "--x=\ue000",
]
LINES = ["a\nb", "\n", "a\\\nb", "it's\n$x\\"]


def says(words: list[str], names: str = SET) -> list[str]:
    script = f"{names}f() {{ printf '%s\\001' \"$@\"; printf '\\002'; }}\n" + "".join(f"f {w}\n" for w in words)
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert not ran.stderr, ran.stderr
    return [told.removesuffix("\x01") for told in ran.stdout.split("\x02")[:-1]]


def meant(text: str) -> str:
    return fill(text, ('x  "y', "*"))


@needs_bash
@pytest.mark.parametrize("prefer", ["single", "double"])
def test_quoted_words(prefer: str) -> None:
    texts = [*TEXTS, *LINES]
    assert says([quote(t, HOLES, prefer=prefer) for t in texts]) == [meant(t) for t in texts]


@pytest.mark.parametrize(
    ("text", "prefer", "written"),
    [
        ("a/b:c=1,2%+@-_.", "single", "a/b:c=1,2%+@-_."),
        ("a b", "single", "'a b'"),
        ("a b", "double", '"a b"'),
        ("it's", "single", '"it\'s"'),
        ("it's $5", "single", '"it\'s \\$5"'),
        ('it\'s "x"', "single", '"it\'s \\"x\\""'),
        ('{"a": 1}', "double", '"{\\"a\\": 1}"'),
        ('{"a": "\\n"}', "double", '\'{"a": "\\n"}\''),
        ("a \ue000", "single", '"a $X"'),
        ("8", "double", "8"),
    ],
)
def test_the_fewest_quotes(text: str, prefer: str, written: str) -> None:
    assert quote(text, HOLES, prefer=prefer) == written
    assert unescape_free(text) is (written == text)


@needs_bash
@pytest.mark.parametrize(
    ("kind", "around"), [("double", '"{}"'), ("single", "'{}'"), ("bare", "x{}"), ("ansi", "$'{}'")]
)
def test_text_inside_quotes(kind: str, around: str) -> None:
    texts, written = [], []
    for text in [*TEXTS, *LINES]:
        inside = escape_in(kind, text, HOLES)
        # What the shell would split or expand by itself may stand in no bare word.
        if inside is None or (kind == "bare" and "\ue000" <= max(text) < "\uf900"):
            assert ("\n" in text and kind == "bare") or "\ue000" <= max(text) < "\uf900"
            continue
        texts.append(("x" if kind == "bare" else "") + meant(text))
        written.append(around.format(inside))
    assert says(written) == texts
    assert escape_in("raw", "a 'b'") == "a 'b'" and escape_in("raw", "a\ue000", HOLES) is None


@needs_bash
def test_text_of_here_documents() -> None:
    texts = [t for t in [*TEXTS, *LINES] if t != "E"]
    script = SET + "".join(f"cat <<E; printf '\\002'\n{escape_in('heredoc', t, HOLES)}\nE\n" for t in texts)
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert [told.removesuffix("\n") for told in ran.stdout.split("\x02")[:-1]] == [meant(t) for t in texts]
    assert escape_in("heredoc", "a\\b \\x") == "a\\b \\x", "what needs no escape gets none"


OLD = [
    "a",
    "'a b'",
    '"a b"',
    "a\\ b",
    "$'a\\tb'",
    "--x=a",
    "--x='a b'",
    '--x="a b"',
    "'--x=a b'",
    '"--x=a b"',
    "--x=$X",
    '--x="$X"/y',
    '"$X"',
    "$X",
    '"a $X b"',
    "'a'\"b\"c",
    "pre'mid'post",
    "\"a\"'b'",
    '--"x"=1',
    "${Y}a",
    "''",
    '""',
    "--x=",
    '{"a"}',
    "a'$X'\"$X\"",
]
NEW = [
    "8",
    "a b",
    "a",
    "it's",
    'say "x"',
    "$x",
    "--x=a c",
    "--x=a",
    "--x=it's b",
    "--x=",
    "a\\b",
    "\ue000",
    "a \ue000",
    "--x=\ue000 \ue001",
    "--y=\ue000",
    "premidpost",
    "pre mid post",
    "preMIDpost",
    "abc",
    "a'$X'",
    "",
    "{}",
    "a\tc",
]


@needs_bash
@pytest.mark.parametrize("prefer", ["single", "double"])
@pytest.mark.parametrize("old", OLD)
def test_a_word_that_is_written_anew_says_what_it_shall(old: str, prefer: str) -> None:
    source = f"f {old} z"
    lexeme = shell_lex.split(source)[0][1]
    written, texts = [], []
    for text in NEW:
        made = respell(source, lexeme, text, HOLES, prefer=prefer)
        assert made is not None, text
        written.append(made)
        texts.append(text)
    if {"$X", "${Y}"} & {old, old.removeprefix("--x="), old.removesuffix("a")}:
        # The shell splits it there, as it did.
        assert says(written, "X=x; Y=y\n") == [fill(t, ("x", "y")) for t in texts]
    else:
        assert says(written) == [meant(t) for t in texts]
    own = [hole.spelled for hole in lexeme.holes]
    assert respell(source, lexeme, lexeme.text, own, prefer=prefer) == old


@pytest.mark.parametrize(
    ("old", "text", "written"),
    [
        ("--x='a b'", "--x=a c", "--x='a c'"),
        ('--x="a b"', "--x=a c", '--x="a c"'),
        ("--x=a", "--x=a c", "--x='a c'"),
        ("--x='a b'", "--x=8", "--x='8'"),
        ("--x=a", "--yy=a", "--yy=a"),
        ("'--x=a b'", "--y=a b", "'--y=a b'"),
        ("pre'mid'post", "preMIDpost", "pre'MID'post"),
        ("pre'mid'post", "pre mid post", "pre' mid 'post"),
        ("a\\ b", "a\\ b c", "'a\\ b c'"),
        ('"a $X b"', "a \ue000 c", '"a $X c"'),
        ('"a $X b"', "a b", '"a b"'),
        ("$'a\\tb'", "a\tc", "$'a\\tc'"),
        ('--x="$X"/y', "--x=\ue000/z", '--x="$X"/z'),
        ('"a"', 'say "x"', "'say \"x\"'"),
        ('"$X"', '"\ue000"', '"\\"$X\\""'),
        ("''", "a b", "'a b'"),
        ("'a'", "it's", '"it\'s"'),
        ("--x=", "--x=a b", "--x='a b'"),
        ("--x=a", "--x=", "--x="),
        ("ab'c d'", "ab", "ab"),
    ],
)
def test_a_word_keeps_its_quotes(old: str, text: str, written: str) -> None:
    source = f"f {old} z"
    assert respell(source, shell_lex.split(source)[0][1], text, HOLES) == written
