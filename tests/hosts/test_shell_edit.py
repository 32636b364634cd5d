"""Edits of shell scripts: what a careful person would write, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_migrate.hosts import Context, shell
from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertVariable,
    InsertWords,
    Reading,
    Remove,
    Rename,
    Replace,
    Site,
    Variable,
    Word,
    container_of,
)
from vllm_migrate.text import Region, Source


def read(text: str) -> Reading:
    return shell.read(Region.whole(Source.of(text, "run.sh")), Context("run.sh"))


def apply(text: str, changes: Sequence[Change]) -> str:
    groups: dict[object, list[Change]] = {}
    for change in changes:
        groups.setdefault(container_of(change), []).append(change)
    edits = [edit for container, own in groups.items() for edit in container.edits(own)]  # type: ignore[attr-defined]
    result = Source.of(text, "run.sh").with_edits(edits).text
    if shutil.which("bash"):
        checked = subprocess.run(["bash", "-n"], input=result.replace("\r\n", "\n"), capture_output=True, text=True)
        assert checked.returncode == 0, result + checked.stderr
    return result


def words(site: Site) -> list[str]:
    return [word.spelled() for word in site.words]


def option(site: Site, name: str, values: int = 1) -> list[Word]:
    at = next(i for i, w in enumerate(site.words) if w.text == name or w.text.startswith(name + "="))
    return site.words[at : at + 1 + (0 if "=" in site.words[at].text else values)]


def remove(text: str, *names: str, values: int = 1) -> str:
    site = read(text).sites[0]
    doomed = [word for name in names for word in option(site, name, values)]
    before = words(site)
    after = apply(text, [Remove(word) for word in doomed])
    left = [w for w, word in zip(before, site.words, strict=True) if word not in doomed]
    assert words(read(after).sites[0]) == left
    return after


REMOVALS = {
    "middle line": (
        "vllm serve m \\\n  --a 1 \\\n  --gone 4 \\\n  --b 2\n",
        "vllm serve m \\\n  --a 1 \\\n  --b 2\n",
    ),
    "last line": ("vllm serve m \\\n  --a 1 \\\n  --gone 4\necho x\n", "vllm serve m \\\n  --a 1\necho x\n"),
    "last line, no final newline": ("vllm serve m \\\n  --gone 4", "vllm serve m"),
    "last before a redirection": (
        "vllm serve m \\\n  --gone 4 > log 2>&1 &\n",
        "vllm serve m > log 2>&1 &\n",
    ),
    "last before a pipe on the next line": (
        "vllm serve m \\\n  --gone 4 \\\n  | tee log\n",
        "vllm serve m \\\n  | tee log\n",
    ),
    "before a redirection on the next line": (
        "vllm serve m \\\n  --gone 4 \\\n  >> log\n",
        "vllm serve m \\\n  >> log\n",
    ),
    "one line": ("vllm serve m --gone 4 --b 2\n", "vllm serve m --b 2\n"),
    "one line, last": ("vllm serve m --b 2 --gone 4 & echo\n", "vllm serve m --b 2 & echo\n"),
    "shares its line, first": (
        "vllm serve m \\\n  --gone 4 --a 1 \\\n  --b 2\n",
        "vllm serve m \\\n  --a 1 \\\n  --b 2\n",
    ),
    "shares its line, last": (
        "vllm serve m \\\n  --a 1 --gone 4 \\\n  --b 2\n",
        "vllm serve m \\\n  --a 1 \\\n  --b 2\n",
    ),
    "value on the next line": (
        "vllm serve m \\\n  --gone \\\n  4 \\\n  --b 2\n",
        "vllm serve m \\\n  --b 2\n",
    ),
    "aligned continuations": (
        "vllm serve m       \\\n    --gone 4       \\\n    --b 2          \\\n    --c\n",
        "vllm serve m       \\\n    --b 2          \\\n    --c\n",
    ),
    "comment in backquotes": (
        "vllm serve m \\\n  `# memory` \\\n  --gone 4 \\\n  --b 2\n",
        "vllm serve m \\\n  `# memory` \\\n  --b 2\n",
    ),
    "equals": ("vllm serve m --gone=4 --b 2\n", "vllm serve m --b 2\n"),
    "CRLF": (
        "vllm serve m \\\r\n  --a 1 \\\r\n  --gone 4 \\\r\n  --b 2\r\n",
        "vllm serve m \\\r\n  --a 1 \\\r\n  --b 2\r\n",
    ),
    "CRLF, last": ("vllm serve m \\\r\n  --gone 4\r\n", "vllm serve m\r\n"),
    "array": (
        'A=(\n  --a 1 # one\n  --gone 4 # memory\n  --b 2\n)\nvllm serve m "${A[@]}"\n',
        'A=(\n  --a 1 # one\n  --b 2\n)\nvllm serve m "${A[@]}"\n',
    ),
    "array, last line": (
        'A=(\n  --a 1 # one\n  --gone 4\n)\nvllm serve m "${A[@]}"\n',
        'A=(\n  --a 1 # one\n)\nvllm serve m "${A[@]}"\n',
    ),
    "array, bracket on the last line": (
        'A=(--a 1\n   --gone 4)\nvllm serve m "${A[@]}"\n',
        'A=(--a 1)\nvllm serve m "${A[@]}"\n',
    ),
    "array, one line, first": ('A=(--gone 4 --b)\nvllm serve m "${A[@]}"\n', 'A=(--b)\nvllm serve m "${A[@]}"\n'),
    "array, all of it": ('A=(--gone 4)\nvllm serve m "${A[@]}"\n', 'A=()\nvllm serve m "${A[@]}"\n'),
    "command array": ('C=(vllm serve m --gone 4)\nexec "${C[@]}"\n', 'C=(vllm serve m)\nexec "${C[@]}"\n'),
    "appended": (
        'A=(--a 1)\nA+=(--gone 4)\nvllm serve m "${A[@]}"\n',
        'A=(--a 1)\nvllm serve m "${A[@]}"\n',
    ),
    "only statement of an if": (
        'A=(--a 1)\n\nif [ -n "$S" ]; then\n  A+=(--gone 4)\nfi\n\nvllm serve m "${A[@]}"\n',
        'A=(--a 1)\n\nvllm serve m "${A[@]}"\n',
    ),
    "only statement of an if with an else": (
        'A=()\nif [ -n "$S" ]; then\n  A+=(--gone 4)\nelse\n  A+=(--b)\nfi\nvllm serve m "${A[@]}"\n',
        'A=()\nif [ -n "$S" ]; then\n  :\nelse\n  A+=(--b)\nfi\nvllm serve m "${A[@]}"\n',
    ),
    "only statement of an else": (
        'A=()\nif [ -n "$S" ]; then\n  A+=(--b)\nelse\n  A+=(--gone 4)\nfi\nvllm serve m "${A[@]}"\n',
        'A=()\nif [ -n "$S" ]; then\n  A+=(--b)\nfi\nvllm serve m "${A[@]}"\n',
    ),
    "if on one line": (
        'A=()\nif [ -n "$S" ]; then A+=(--gone 4); fi\nvllm serve m "${A[@]}"\n',
        'A=()\nvllm serve m "${A[@]}"\n',
    ),
    "if that does something to decide": (
        'A=()\nif start_db; then\n  A+=(--gone 4)\nfi\nvllm serve m "${A[@]}"\n',
        'A=()\nif start_db; then\n  :\nfi\nvllm serve m "${A[@]}"\n',
    ),
    "nested ifs": (
        'A=()\nif [ a ]; then\n  if [ b ]; then\n    A+=(--gone 4)\n  fi\nfi\nvllm serve m "${A[@]}"\n',
        'A=()\nvllm serve m "${A[@]}"\n',
    ),
    "test and append": (
        'A=()\n[ -n "$S" ] && A+=(--gone 4)\nvllm serve m "${A[@]}"\n',
        'A=()\nvllm serve m "${A[@]}"\n',
    ),
    "loop body": (
        'A=()\nfor x in 1; do\n  A+=(--gone 4)\ndone\nvllm serve m "${A[@]}"\n',
        'A=()\nfor x in 1; do\n  :\ndone\nvllm serve m "${A[@]}"\n',
    ),
    "string": ('ARGS="--a 1 --gone 4 --b"\nvllm serve m $ARGS\n', 'ARGS="--a 1 --b"\nvllm serve m $ARGS\n'),
    "string, first": ("ARGS='--gone 4 --b'\nvllm serve m $ARGS\n", "ARGS='--b'\nvllm serve m $ARGS\n"),
    "string, all of it": ('ARGS="--gone 4"\nvllm serve m $ARGS\n', 'ARGS=""\nvllm serve m $ARGS\n'),
    "string over continued lines": (
        'ARGS="--a 1 \\\n  --gone 4 \\\n  --b"\nvllm serve m $ARGS\n',
        'ARGS="--a 1 \\\n  --b"\nvllm serve m $ARGS\n',
    ),
    "string over lines": (
        'ARGS="\n--a 1\n--gone 4\n--b\n"\nvllm serve m $ARGS\n',
        'ARGS="\n--a 1\n--b\n"\nvllm serve m $ARGS\n',
    ),
    "string that grows": (
        'ARGS="--a 1"\nARGS="$ARGS --gone 4"\nvllm serve m $ARGS\n',
        'ARGS="--a 1"\nvllm serve m $ARGS\n',
    ),
    "string appended": ('ARGS="--a 1"\nARGS+=" --gone 4"\nvllm serve m $ARGS\n', 'ARGS="--a 1"\nvllm serve m $ARGS\n'),
    "command string": ('C="vllm serve m --gone 4 --b"\neval "$C"\n', 'C="vllm serve m --b"\neval "$C"\n'),
    "single-quoted script": (
        "bash -c 'exec vllm serve m --gone 4 --b'\n",
        "bash -c 'exec vllm serve m --b'\n",
    ),
    "double-quoted script over lines": (
        'bash -lc "cd /x\nvllm serve $M \\\n  --gone 4 \\\n  --b"\n',
        'bash -lc "cd /x\nvllm serve $M \\\n  --b"\n',
    ),
    "here-document script": (
        "cat > r.sh <<EOF\nvllm serve $M \\\n  --gone \\$X \\\n  --b\nEOF\n",
        "cat > r.sh <<EOF\nvllm serve $M \\\n  --b\nEOF\n",
    ),
    "here-document with tabs": (
        "bash <<-'EOF'\n\tvllm serve m \\\n\t  --gone 4 \\\n\t  --b\n\tEOF\n",
        "bash <<-'EOF'\n\tvllm serve m \\\n\t  --b\n\tEOF\n",
    ),
    "container run": (
        "docker run --gpus all \\\n  vllm/vllm-openai:v0.11.0 \\\n  --model m \\\n  --gone 4\n",
        "docker run --gpus all \\\n  vllm/vllm-openai:v0.11.0 \\\n  --model m\n",
    ),
    "substitution": ("P=$(vllm serve m --gone 4 & echo $!)\n", "P=$(vllm serve m & echo $!)\n"),
    "function": ('f() {\n  vllm serve "$@"\n}\nf m --gone 4 --b\n', 'f() {\n  vllm serve "$@"\n}\nf m --b\n'),
    "case": (
        'case $x in\n  a) A+=(--gone 4) ;;\n  *) A+=(--b) ;;\nesac\nvllm serve m "${A[@]}"\n',
        'case $x in\n  a) : ;;\n  *) A+=(--b) ;;\nesac\nvllm serve m "${A[@]}"\n',
    ),
}


@pytest.mark.parametrize("name", REMOVALS)
def test_remove(name: str) -> None:
    before, after = REMOVALS[name]
    assert remove(before, "--gone") == after


@pytest.mark.parametrize("name", REMOVALS)
def test_crlf_files_keep_their_line_ends(name: str) -> None:
    before, after = (text.replace("\r\n", "\n").replace("\n", "\r\n") for text in REMOVALS[name])
    assert remove(before, "--gone") == after


def test_remove_several_neighbours() -> None:
    text = "vllm serve m \\\n  --a 1 \\\n  --b 2 \\\n  --c 3\n"
    assert remove(text, "--b", "--c") == "vllm serve m \\\n  --a 1\n"
    assert remove(text, "--a", "--b", "--c") == "vllm serve m\n"
    assert remove(text, "--a", "--c") == "vllm serve m \\\n  --b 2\n"


def test_two_lists_that_empty_one_if() -> None:
    text = 'A=()\nif [ "$X" ]; then\n  A+=(--a 1)\n  A+=(--b 2)\nfi\nvllm serve m "${A[@]}"\n'
    assert remove(text, "--a", "--b") == 'A=()\nvllm serve m "${A[@]}"\n'
    assert remove(text, "--a") == 'A=()\nif [ "$X" ]; then\n  A+=(--b 2)\nfi\nvllm serve m "${A[@]}"\n'


REPLACEMENTS = [
    ("vllm serve m --x 4\n", "8", "vllm serve m --x 8\n"),
    ("vllm serve m --x '4'\n", "8", "vllm serve m --x '8'\n"),
    ('vllm serve m --x "4"\n', "8", 'vllm serve m --x "8"\n'),
    ("vllm serve m --x 4\n", '{"a": 1}', "vllm serve m --x '{\"a\": 1}'\n"),
    ("vllm serve m --x '{\"a\": 1}'\n", '{"a": 2, "b": 3}', 'vllm serve m --x \'{"a": 2, "b": 3}\'\n'),
    ('vllm serve m --x "{\\"a\\": 1}"\n', '{"a": 2, "b": 3}', 'vllm serve m --x "{\\"a\\": 2, \\"b\\": 3}"\n'),
    ("vllm serve m --x 4\n", "it's", 'vllm serve m --x "it\'s"\n'),
    ("vllm serve m --x 'a b'\n", "it's", 'vllm serve m --x "it\'s"\n'),
    ("bash -c 'vllm serve m --x 4'\n", '{"a": 1}', 'bash -c \'vllm serve m --x "{\\"a\\": 1}"\'\n'),
    ('bash -c "vllm serve m --x 4"\n', '{"a": 1}', 'bash -c "vllm serve m --x \'{\\"a\\": 1}\'"\n'),
    ("cat > r.sh <<EOF\nvllm serve m --x 4\nEOF\n", "a$b", "cat > r.sh <<EOF\nvllm serve m --x 'a\\$b'\nEOF\n"),
]


REPLACEMENTS += [
    (f"vllm serve m --x{gap}{old}\n", new, f"vllm serve m --x{gap}{spelled}\n")
    for gap in (" ", "=")
    for old, new, spelled in [
        ("'a b'", "8", "'8'"),
        ("'a b'", "$5", "'$5'"),
        ('"a b"', "c d", '"c d"'),
        ('"a b"', 'it\'s "x" $', '"it\'s \\"x\\" \\$"'),
        ('"{\\"a\\": 1}"', "a\\b", '"a\\\\b"'),
        ("a\\ b\\ c", "a b d", "a\\ b\\ d"),
        ("abc\\ d", "xbc d", "xbc\\ d"),
        ("$'a\\tb'", "it's", "$'it\\'s'"),
        ("$'a\\tb'", "a\\b", "$'a\\\\b'"),
        ("$'a\\tb'", "a\nb", "$'a\\nb'"),
        ("4", "a;b", "'a;b'"),
        ("4", "a\nb", "'a\nb'"),
        ('"a"b"c"', "axc", '"a"x"c"'),
        ('"ab""cd"', "abXcd", '"abX""cd"'),
        ("'a''b'", "a;b", "'a;''b'"),
        ('pre"m d"po', "c d", "'c d'"),
    ]
]
REPLACEMENTS += [
    ('vllm serve m --x "a b"\n', 'say "x"', "vllm serve m --x 'say \"x\"'\n"),
    ('vllm serve m --x "a b"\n', "a\\b", "vllm serve m --x 'a\\b'\n"),
    ("vllm serve m --x 4\n", "", "vllm serve m --x ''\n"),
    ("vllm serve m --x=4\n", "", "vllm serve m --x=\n"),
    ('vllm serve m --x "4"\n', "", 'vllm serve m --x ""\n'),
    ("A=(--x '4')\nvllm serve m \"${A[@]}\"\n", "it's", "A=(--x \"it's\")\nvllm serve m \"${A[@]}\"\n"),
    ('bash -c "vllm serve m --x \'4 5\'"\n', "4 6", 'bash -c "vllm serve m --x \'4 6\'"\n'),
    ("bash -c 'vllm serve m --x 4'\n", "it's", "bash -c 'vllm serve m --x \"it'\\''s\"'\n"),
    ('bash -c "vllm serve m --x 4"\n', "it's", 'bash -c "vllm serve m --x \\"it\'s\\""\n'),
    ('bash -c "vllm serve m --x 4"\n', "$5", 'bash -c "vllm serve m --x \'\\$5\'"\n'),
    ("cat > r.sh <<'EOF'\nvllm serve m --x 4\nEOF\n", "a$b", "cat > r.sh <<'EOF'\nvllm serve m --x 'a$b'\nEOF\n"),
    ("cat > r.sh <<EOF\nvllm serve m --x 4\nEOF\n", "a`b", "cat > r.sh <<EOF\nvllm serve m --x 'a\\`b'\nEOF\n"),
    ("cat > r.sh <<EOF\nvllm serve m --x 4\nEOF\n", "a\\b", "cat > r.sh <<EOF\nvllm serve m --x 'a\\b'\nEOF\n"),
    ('ARGS="--x 4"\neval "vllm serve m $ARGS"\n', "a b", 'ARGS="--x \'a b\'"\neval "vllm serve m $ARGS"\n'),
]


@pytest.mark.parametrize(("before", "value", "after"), REPLACEMENTS)
def test_replace_keeps_the_quoting(before: str, value: str, after: str) -> None:
    word = option(read(before).sites[0], "--x")[-1]
    value = f"--x={value}" if word.text.startswith("--x=") else value
    result = apply(before, [Replace(word, value)])
    assert result == after
    assert option(read(result).sites[0], "--x")[-1].text == value


@pytest.mark.parametrize(
    ("before", "value", "holes", "after"),
    [
        ('"/m/$N"', "/n/\ue000", "$N", '"/n/$N"'),
        ('"a $N b"', "a \ue000 c", "$N", '"a $N c"'),
        ("a$N", "b c\ue000", "$N", '"b c$N"'),
        ("'a b'", "a \ue000", "$N", '"a $N"'),
        ("$'a\\tb'", "a \ue000", "$N", '"a $N"'),
        ("4", "\ue000", "$N", '"$N"'),
        ("${N:-4}", "\ue000k", "${N:-4}", "${N:-4}k"),
        ('"{\\"a\\": $N}"', '{"a": \ue000, "b": 1}', "$N", '"{\\"a\\": $N, \\"b\\": 1}"'),
        ("'{\"a\": '$N'}'", '{"a": \ue000, "b": 1}', "$N", "'{\"a\": '$N', \"b\": 1}'"),
        ("'{\"a\": '\"$N\"', \"c\": 2}'", '{"a": \ue000}', "$N", "'{\"a\": '\"$N\"'}'"),
        ('"$(cat f)"', "\ue000.1", "$(cat f)", '"$(cat f).1"'),
    ],
)
def test_replace_keeps_run_time_parts_and_their_quotes(before: str, value: str, holes: str, after: str) -> None:
    text = f"vllm serve m --x {before}\n"
    result = apply(text, [Replace(option(read(text).sites[0], "--x")[-1], value, (holes,))])
    assert result == f"vllm serve m --x {after}\n"


@pytest.mark.parametrize("value", ["a b", "it*", "a?", "[1]", "", "$5", "a\\b"])
def test_what_the_shell_only_splits_holds_no_word_that_needs_quotes(value: str) -> None:
    for text in ("ARGS='--x 4 --b'\nvllm serve m $ARGS\n", 'CMD="vllm serve m --x 4"\n$CMD\n'):
        word = option(read(text).sites[0], "--x")[-1]
        assert apply(text, [Replace(word, "8")]) == text.replace("4", "8")
        with pytest.raises(CannotRender, match="only splits at blanks"):
            apply(text, [Replace(word, value)])
        with pytest.raises(CannotRender, match="only splits at blanks"):
            apply(text, [InsertWords(word.container, ["--new", value], after=word)])


def test_replace_of_a_glued_value_keeps_the_option_bare() -> None:
    word = option(read("vllm serve m --x='a b'\n").sites[0], "--x")[0]
    assert apply("vllm serve m --x='a b'\n", [Replace(word, "--x=c d")]) == "vllm serve m --x='c d'\n"
    word = option(read("vllm serve m --x=4\n").sites[0], "--x")[0]
    assert apply("vllm serve m --x=4\n", [Replace(word, '--y={"a": 4}')]) == "vllm serve m --y='{\"a\": 4}'\n"


def test_replace_with_a_run_time_part() -> None:
    text = "vllm serve m --n $N --x '{}'\n"
    word = option(read(text).sites[0], "--x")[-1]
    result = apply(text, [Replace(word, '{"n": \ue000}', ("$N",))])
    assert result == 'vllm serve m --n $N --x "{\\"n\\": $N}"\n'
    assert words(read(result).sites[0])[-1] == '{"n": $N}'


def test_replace_keeps_an_outer_run_time_part() -> None:
    text = 'bash -c "vllm serve m --n $N --x 1"\n'
    word = option(read(text).sites[0], "--x")[-1]
    result = apply(text, [Replace(word, '{"n": \ue000}', ("$N",))])
    assert words(read(result).sites[0]) == ["m", "--n", "$N", "--x", '{"n": $N}']


def insert(text: str, new: Sequence[str], after: str | None = None) -> str:
    site = read(text).sites[0]
    assert site.word_home is not None
    place = option(site, after)[-1] if after else None
    container = place.container if place is not None else site.word_home
    return apply(text, [InsertWords(container, new, after=place)])


INSERTIONS = [
    ("vllm serve m --a 1\n", None, "vllm serve m --a 1 --new 2\n"),
    ("vllm serve m --a 1 > log &\n", None, "vllm serve m --a 1 --new 2 > log &\n"),
    ("vllm serve m \\\n  --a 1 \\\n  --b 2\n", None, "vllm serve m \\\n  --a 1 \\\n  --b 2 \\\n  --new 2\n"),
    ("vllm serve m \\\n  --a 1 \\\n  --b 2\n", "--a", "vllm serve m \\\n  --a 1 \\\n  --new 2 \\\n  --b 2\n"),
    ("vllm serve m \\\r\n  --a 1\r\n", None, "vllm serve m \\\r\n  --a 1 \\\r\n  --new 2\r\n"),
    ("vllm serve m \\\n  --a 1 --b 2\n", None, "vllm serve m \\\n  --a 1 --b 2 --new 2\n"),
    (
        'A=(\n  --a 1 # one\n  --b 2\n)\nvllm serve "${A[@]}"\n',
        "--a",
        'A=(\n  --a 1 # one\n  --new 2\n  --b 2\n)\nvllm serve "${A[@]}"\n',
    ),
    ('ARGS="--a 1 --b 2"\nvllm serve $ARGS\n', "--a", 'ARGS="--a 1 --new 2 --b 2"\nvllm serve $ARGS\n'),
    ("bash -c 'vllm serve m --a 1'\n", "--a", "bash -c 'vllm serve m --a 1 --new 2'\n"),
    ("vllm serve\n", None, "vllm serve --new 2\n"),
]


@pytest.mark.parametrize(("before", "after", "expected"), INSERTIONS)
def test_insert(before: str, after: str | None, expected: str) -> None:
    assert insert(before, ["--new", "2"], after) == expected


BESIDE = [
    (
        'A=(--a 1 --b 2)\nvllm serve "${A[@]}"\n',
        "before",
        "--a",
        'A=(--n 1 --o --a 1 --b 2)\nvllm serve "${A[@]}"\n',
    ),
    (
        'A=(--a 1 --b 2)\nvllm serve "${A[@]}"\n',
        "before",
        "--b",
        'A=(--a 1 --n 1 --o --b 2)\nvllm serve "${A[@]}"\n',
    ),
    (
        'A=(--a 1 --b 2)\nvllm serve "${A[@]}"\n',
        "after",
        "--b",
        'A=(--a 1 --b 2 --n 1 --o)\nvllm serve "${A[@]}"\n',
    ),
    (
        'A=(--a 1 --b 2)\nvllm serve "${A[@]}"\n',
        "after",
        "--a",
        'A=(--a 1 --n 1 --o --b 2)\nvllm serve "${A[@]}"\n',
    ),
    (
        'A=(\n  --a 1\n  --b 2\n)\nvllm serve "${A[@]}"\n',
        "before",
        "--a",
        'A=(\n  --n 1 --o --a 1\n  --b 2\n)\nvllm serve "${A[@]}"\n',
    ),
    (
        'A=(\n  --a 1\n  --b 2\n)\nvllm serve "${A[@]}"\n',
        "before",
        "--b",
        'A=(\n  --a 1\n  --n 1\n  --o\n  --b 2\n)\nvllm serve "${A[@]}"\n',
    ),
    (
        'A=(\n  --a 1\n  --b 2\n)\nvllm serve "${A[@]}"\n',
        "after",
        "--b",
        'A=(\n  --a 1\n  --b 2\n  --n 1\n  --o\n)\nvllm serve "${A[@]}"\n',
    ),
    (
        'A=(\n  --a 1\n  --b 2\n)\nvllm serve "${A[@]}"\n',
        "after",
        "--a",
        'A=(\n  --a 1\n  --n 1\n  --o\n  --b 2\n)\nvllm serve "${A[@]}"\n',
    ),
    ("vllm serve m --a 1 --b 2\n", "before", "--a", "vllm serve m --n 1 --o --a 1 --b 2\n"),
    ("vllm serve m --a 1 --b 2\n", "before", "--b", "vllm serve m --a 1 --n 1 --o --b 2\n"),
    ("vllm serve m --a 1 --b 2\n", "after", "--b", "vllm serve m --a 1 --b 2 --n 1 --o\n"),
    ("vllm serve m --a 1 --b 2\n", "after", "--a", "vllm serve m --a 1 --n 1 --o --b 2\n"),
    (
        "vllm serve m \\\n  --a 1 \\\n  --b 2\n",
        "before",
        "--a",
        "vllm serve m \\\n  --n 1 \\\n  --o \\\n  --a 1 \\\n  --b 2\n",
    ),
    (
        "vllm serve m \\\n  --a 1 \\\n  --b 2\n",
        "before",
        "--b",
        "vllm serve m \\\n  --a 1 \\\n  --n 1 \\\n  --o \\\n  --b 2\n",
    ),
    (
        "vllm serve m \\\n  --a 1 \\\n  --b 2\n",
        "after",
        "--b",
        "vllm serve m \\\n  --a 1 \\\n  --b 2 \\\n  --n 1 \\\n  --o\n",
    ),
    (
        "vllm serve m \\\n  --a 1 \\\n  --b 2\n",
        "after",
        "--a",
        "vllm serve m \\\n  --a 1 \\\n  --n 1 \\\n  --o \\\n  --b 2\n",
    ),
    (
        'ARGS="--a 1 --b 2"\nvllm serve $ARGS\n',
        "before",
        "--a",
        'ARGS="--n 1 --o --a 1 --b 2"\nvllm serve $ARGS\n',
    ),
    (
        'ARGS="--a 1 --b 2"\nvllm serve $ARGS\n',
        "before",
        "--b",
        'ARGS="--a 1 --n 1 --o --b 2"\nvllm serve $ARGS\n',
    ),
    (
        'ARGS="--a 1 --b 2"\nvllm serve $ARGS\n',
        "after",
        "--b",
        'ARGS="--a 1 --b 2 --n 1 --o"\nvllm serve $ARGS\n',
    ),
    (
        'ARGS="--a 1 --b 2"\nvllm serve $ARGS\n',
        "after",
        "--a",
        'ARGS="--a 1 --n 1 --o --b 2"\nvllm serve $ARGS\n',
    ),
]


@pytest.mark.parametrize(("text", "side", "name", "expected"), BESIDE)
def test_words_go_beside_others(text: str, side: str, name: str, expected: str) -> None:
    pair = option(read(text).sites[0], name)
    place = {"before": pair[0]} if side == "before" else {"after": pair[-1]}
    assert apply(text, [InsertWords(pair[0].container, ["--n", "1", "--o"], **place)]) == expected


def test_inserted_options_take_the_place_of_what_they_replace() -> None:
    text = "vllm serve m \\\n  --old 1 \\\n  --b 2\n"
    site = read(text).sites[0]
    old = option(site, "--old")
    changes = [
        Remove(old[0]),
        Remove(old[1]),
        InsertWords(old[0].container, ["--new", '{"a": 1}', "--more"], after=old[1]),
    ]
    assert apply(text, changes) == "vllm serve m \\\n  --new '{\"a\": 1}' \\\n  --more \\\n  --b 2\n"


def variable(text: str, name: str) -> Variable:
    return next(v for s in read(text).sites for v in s.variables if v.name == name)


VARIABLES = [
    ("X=1 vllm serve m\n", "vllm serve m\n"),
    ("A=1 X=1 vllm serve m\n", "A=1 vllm serve m\n"),
    ("X=1 \\\nA=2 \\\nvllm serve m\n", "A=2 \\\nvllm serve m\n"),
    ("export X=1\nvllm serve m\n", "vllm serve m\n"),
    ("export A=1 X=1\nvllm serve m\n", "export A=1\nvllm serve m\n"),
    ("export X=1 A=1\nvllm serve m\n", "export A=1\nvllm serve m\n"),
    ("export X=1; vllm serve m\n", "vllm serve m\n"),
    ("export X=1 && vllm serve m\n", "vllm serve m\n"),
    ("cd /a && export X=1 && vllm serve m\n", "cd /a && vllm serve m\n"),
    ("X=1\nexport X\nvllm serve m\n", "vllm serve m\n"),
    ("X=1\nexport A X\nvllm serve m\n", "export A\nvllm serve m\n"),
    ("set -a\nX=1\nset +a\nvllm serve m\n", "set -a\nset +a\nvllm serve m\n"),
    ("if [ a ]; then\n  export X=1\nfi\nvllm serve m\n", "vllm serve m\n"),
    ("env X=1 A=2 vllm serve m\n", "env A=2 vllm serve m\n"),
    (
        "docker run -e X=1 -e A=1 vllm/vllm-openai:v0.11.0 --model m\n",
        "docker run -e A=1 vllm/vllm-openai:v0.11.0 --model m\n",
    ),
    (
        "docker run \\\n  -e X=1 \\\n  --env=A=1 \\\n  vllm/vllm-openai:v0.11.0\n",
        "docker run \\\n  --env=A=1 \\\n  vllm/vllm-openai:v0.11.0\n",
    ),
    ("docker run --env=X=1 vllm/vllm-openai:v0.11.0\n", "docker run vllm/vllm-openai:v0.11.0\n"),
    ("bash -c 'export X=1; vllm serve m'\n", "bash -c 'vllm serve m'\n"),
    ("cd /a; export X=1; vllm serve m\n", "cd /a; vllm serve m\n"),
    ("cd /a; export X=1\nvllm serve m\n", "cd /a\nvllm serve m\n"),
    ("export X=1; cd /a\nvllm serve m\n", "cd /a\nvllm serve m\n"),
    ("cd /a && export X=1\nvllm serve m\n", "cd /a\nvllm serve m\n"),
    ("export X=1 && cd /a && vllm serve m\n", "cd /a && vllm serve m\n"),
    ("cd /a || export X=1\nvllm serve m\n", "cd /a || :\nvllm serve m\n"),
    ("export X=1 || cd /a\nvllm serve m\n", ": || cd /a\nvllm serve m\n"),
    ("cd /a && export X=1 || exit 1\nvllm serve m\n", "cd /a && : || exit 1\nvllm serve m\n"),
    ("cd /a && export X=1 && cd /b\nvllm serve m\n", "cd /a && cd /b\nvllm serve m\n"),
    ("cd /a\n\nexport X=1\n\nvllm serve m\n", "cd /a\n\nvllm serve m\n"),
    ("cd /a\n\n# about X\nexport X=1\n\nvllm serve m\n", "cd /a\n\n# about X\n\nvllm serve m\n"),
    ("cd /a\n\nexport X=1\nvllm serve m\n", "cd /a\n\nvllm serve m\n"),
    ("export X=1\n\nvllm serve m\n", "vllm serve m\n"),
    ("export X=1 # why\nvllm serve m\n", "vllm serve m\n"),
    ("  export X=1 \n  vllm serve m\n", "  vllm serve m\n"),
    ("bash -c '\n  export X=1\n  vllm serve m\n'\n", "bash -c '\n  vllm serve m\n'\n"),
    ("bash -c 'export X=1\n  vllm serve m\n'\n", "bash -c '  vllm serve m\n'\n"),
    ("bash <<'EOF'\nexport X=1\nvllm serve m\nEOF\n", "bash <<'EOF'\nvllm serve m\nEOF\n"),
    (
        "if [ a ]; then\n  export X=1\n  cd /b\nfi\nvllm serve m\n",
        "if [ a ]; then\n  cd /b\nfi\nvllm serve m\n",
    ),
    ("if [ a ]; then export X=1; cd /b; fi\nvllm serve m\n", "if [ a ]; then cd /b; fi\nvllm serve m\n"),
    ("if [ a ]; then cd /b; export X=1; fi\nvllm serve m\n", "if [ a ]; then cd /b; fi\nvllm serve m\n"),
    (
        "if [ a ]; then\n  export X=1\nelif [ b ]; then\n  cd /a\nfi\nvllm serve m\n",
        "if [ a ]; then\n  :\nelif [ b ]; then\n  cd /a\nfi\nvllm serve m\n",
    ),
    (
        "if [ a ]; then\n  cd /x\nelif [ b ]; then\n  export X=1\nfi\nvllm serve m\n",
        "if [ a ]; then\n  cd /x\nelif [ b ]; then\n  :\nfi\nvllm serve m\n",
    ),
    ("while true; do export X=1; done\nvllm serve m\n", "while true; do :; done\nvllm serve m\n"),
    ("{ export X=1; }\nvllm serve m\n", "{ :; }\nvllm serve m\n"),
    ("{ export X=1; cd /a; }\nvllm serve m\n", "{ cd /a; }\nvllm serve m\n"),
    ("(export X=1; vllm serve m)\n", "(vllm serve m)\n"),
    ("( export X=1\n  vllm serve m )\n", "( vllm serve m )\n"),
    ("f() {\n  export X=1\n}\nf\nvllm serve m\n", "f() {\n  :\n}\nf\nvllm serve m\n"),
    ("f() { export X=1; vllm serve m; }\nf\n", "f() { vllm serve m; }\nf\n"),
    ("export X=1 A=2 B=3\nvllm serve m\n", "export A=2 B=3\nvllm serve m\n"),
    ("export A=2 \\\n  X=1 \\\n  B=3\nvllm serve m\n", "export A=2 \\\n  B=3\nvllm serve m\n"),
    ("declare -x X=1\nvllm serve m\n", "vllm serve m\n"),
    ("X=1; export X; vllm serve m\n", "vllm serve m\n"),
    ("X=1\nY=2\nexport X Y\nvllm serve m\n", "Y=2\nexport Y\nvllm serve m\n"),
    ("test -n a && export X=1\nvllm serve m\n", "vllm serve m\n"),
    ("[ a ] && [ b ] && export X=1\nvllm serve m\n", "vllm serve m\n"),
    ("[ a ] && start && export X=1\nvllm serve m\n", "[ a ] && start\nvllm serve m\n"),
    ("cd /a\nexport X=1; cd /b\nvllm serve m\n", "cd /a\ncd /b\nvllm serve m\n"),
    ("cd /a; cd /b; export X=1; cd /c\nvllm serve m\n", "cd /a; cd /b; cd /c\nvllm serve m\n"),
    ("case a in\n  b) export X=1;;\nesac\nvllm serve m\n", "case a in\n  b) :;;\nesac\nvllm serve m\n"),
    ("env X=1 vllm serve m\n", "env vllm serve m\n"),
    ("env -i X=1 A=2 vllm serve m\n", "env -i A=2 vllm serve m\n"),
    ("sudo X=1 vllm serve m\n", "sudo vllm serve m\n"),
    ("nohup env X=1 vllm serve m &\n", "nohup env vllm serve m &\n"),
    (
        "docker run --env X=1 --env A=2 vllm/vllm-openai:v0.11.0\n",
        "docker run --env A=2 vllm/vllm-openai:v0.11.0\n",
    ),
    ("export X=1\r\nvllm serve m\r\n", "vllm serve m\r\n"),
    ("cd /a\r\n\r\nexport X=1\r\n\r\nvllm serve m\r\n", "cd /a\r\n\r\nvllm serve m\r\n"),
    ("export X=1;\nvllm serve m\n", "vllm serve m\n"),
    ("export X=1 &&\n  vllm serve m\n", "vllm serve m\n"),
    ("cd /a &&\n  export X=1 &&\n  vllm serve m\n", "cd /a &&\n  vllm serve m\n"),
    ("cd /a \\\n  && export X=1 \\\n  && vllm serve m\n", "cd /a \\\n  && vllm serve m\n"),
]


@pytest.mark.parametrize(("before", "after"), VARIABLES)
def test_remove_variable(before: str, after: str) -> None:
    result = apply(before, [Remove(variable(before, "X"))])
    assert result == after
    assert all(v.name != "X" for s in read(result).sites for v in s.variables)


def test_change_variables() -> None:
    text = "export X=1\nvllm serve m\n"
    assert apply(text, [Replace(variable(text, "X"), "a b")]) == "export X='a b'\nvllm serve m\n"
    assert apply(text, [Rename(variable(text, "X"), "Y")]) == "export Y=1\nvllm serve m\n"
    text = 'docker run -e "X=1" vllm/vllm-openai:v0.11.0\n'
    x = variable(text, "X")
    both: list[Change] = [Replace(x, "2"), Rename(x, "Y")]
    assert apply(text, both) == 'docker run -e "Y=2" vllm/vllm-openai:v0.11.0\n'


ADDED = [
    (
        "docker run -e A=1 vllm/vllm-openai:v0.11.0\n",
        "1",
        "docker run -e A=1 -e N=1 vllm/vllm-openai:v0.11.0\n",
    ),
    (
        "docker run -e A=1 vllm/vllm-openai:v0.11.0\n",
        "a b",
        "docker run -e A=1 -e N='a b' vllm/vllm-openai:v0.11.0\n",
    ),
    (
        "docker run --env=A=1 vllm/vllm-openai:v0.11.0\n",
        "1",
        "docker run --env=A=1 --env=N=1 vllm/vllm-openai:v0.11.0\n",
    ),
    (
        "docker run --env=A=1 vllm/vllm-openai:v0.11.0\n",
        "a b",
        "docker run --env=A=1 --env=N='a b' vllm/vllm-openai:v0.11.0\n",
    ),
    (
        "docker run \\\n  -e A=1 \\\n  -e B=2 \\\n  vllm/vllm-openai:v0.11.0\n",
        "1",
        "docker run \\\n  -e A=1 \\\n  -e N=1 \\\n  -e B=2 \\\n  vllm/vllm-openai:v0.11.0\n",
    ),
    (
        "docker run \\\n  -e A=1 \\\n  -e B=2 \\\n  vllm/vllm-openai:v0.11.0\n",
        "a b",
        "docker run \\\n  -e A=1 \\\n  -e N='a b' \\\n  -e B=2 \\\n  vllm/vllm-openai:v0.11.0\n",
    ),
    ("export A=1\r\nvllm serve m\r\n", "1", "export A=1\r\nexport N=1\r\nvllm serve m\r\n"),
    ("  cd /a; export A=1; vllm serve m\n", "1", "  cd /a; export A=1; export N=1; vllm serve m\n"),
    ("A=1 vllm serve m\n", "1", "A=1 N=1 vllm serve m\n"),
    ("env A=1 vllm serve m\n", "1", "env A=1 N=1 vllm serve m\n"),
    ("export A=1 B=2\nvllm serve m\n", "1", "export A=1 B=2\nexport N=1\nvllm serve m\n"),
    ("declare -x A=1\nvllm serve m\n", "1", "declare -x A=1\ndeclare -x N=1\nvllm serve m\n"),
    (
        "if [ a ]; then\n  export A=1\nfi\nvllm serve m\n",
        "1",
        "if [ a ]; then\n  export A=1\n  export N=1\nfi\nvllm serve m\n",
    ),
    ("export A=1 && vllm serve m\n", "1", "export A=1\nexport N=1 && vllm serve m\n"),
    (
        "docker run -e 'A=1' vllm/vllm-openai:v0.11.0\n",
        "1",
        "docker run -e 'A=1' -e N=1 vllm/vllm-openai:v0.11.0\n",
    ),
    (
        "docker run -e 'A=1' vllm/vllm-openai:v0.11.0\n",
        "a b",
        "docker run -e 'A=1' -e N='a b' vllm/vllm-openai:v0.11.0\n",
    ),
    (
        "docker run -e A=1 vllm/vllm-openai:v0.11.0\n",
        "",
        "docker run -e A=1 -e N= vllm/vllm-openai:v0.11.0\n",
    ),
]


@pytest.mark.parametrize(("before", "value", "after"), ADDED)
def test_a_new_variable_is_set_like_the_one_beside_it(before: str, value: str, after: str) -> None:
    a = variable(before, "A")
    assert apply(before, [InsertVariable(a.container, "N", value, after=a)]) == after
    assert variable(after, "N").value == value


def test_add_variables() -> None:
    text = "  export X=1\nvllm serve m\n"
    x = variable(text, "X")
    assert apply(text, [InsertVariable(x.container, "N", "1", after=x)]) == "  export X=1\n  export N=1\nvllm serve m\n"
    text = "exec vllm serve m\n"
    home = read(text).sites[0].variable_home
    assert home is not None
    assert apply(text, [InsertVariable(home, "N", "1")]) == "N=1 exec vllm serve m\n"
    text = "docker run --gpus all vllm/vllm-openai:v0.11.0\n"
    home = read(text).sites[0].variable_home
    assert home is not None
    assert apply(text, [InsertVariable(home, "N", "1")]) == "docker run --gpus all -e N=1 vllm/vllm-openai:v0.11.0\n"


PINS = [
    ("pip install 'vllm==0.8.0' torch\n", "vllm==0.8.0", "vllm==0.12.0", "pip install 'vllm==0.12.0' torch\n"),
    ("docker run a/vllm:v0.8.0 --model m\n", None, "a/vllm:v0.12.0", "docker run a/vllm:v0.12.0 --model m\n"),
    ("I=${I:-a/vllm:v0.8.0}\ndocker run $I\n", None, "a/vllm:v0.12.0", "I=${I:-a/vllm:v0.12.0}\ndocker run $I\n"),
    ('V="0.8.0"\npip install "vllm==$V"\n', "0.8.0", "0.12.0", 'V="0.12.0"\npip install "vllm==$V"\n'),
    ("export CC=gcc-11\n", "gcc-11", "gcc-13", "export CC=gcc-13\n"),
    ("cmake -DCMAKE_CXX_STANDARD=17 .\n", "17", "20", "cmake -DCMAKE_CXX_STANDARD=20 .\n"),
    ("docker build --build-arg V=1 .\n", "V=1", "V=2", "docker build --build-arg V=2 .\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "old", "new", "after"), PINS)
def test_move_pin(before: str, old: str | None, new: str, after: str) -> None:
    pin = next(p for p in read(before).pins if old is None or p.text == old)
    assert apply(before, [Replace(pin, new)]) == after


SAMPLES = (
    [text for pair in REMOVALS.values() for text in pair]
    + [b for b, *_ in VARIABLES + PINS]
    + [b for b, *_ in REPLACEMENTS]
)


@given(st.sampled_from(SAMPLES), st.booleans())
@settings(max_examples=200, deadline=None)
def test_writing_back_what_was_read_changes_nothing(text: str, crlf: bool) -> None:
    if crlf:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    reading = read(text)
    changes: list[Change] = [Replace(w, w.text, w.holes) for s in reading.sites for w in s.words]
    changes += [Replace(v, v.value, v.holes) for s in reading.sites for v in s.variables if v.value is not None]
    changes += [Replace(p, p.text, p.holes) for p in reading.pins]
    for change in changes:
        assert apply_quietly(text, [change]) == text
    assert apply_quietly(text, changes) == text


def apply_quietly(text: str, changes: Sequence[Change]) -> str:
    edits = [e for c in changes for e in container_of(c).edits([c])]
    return Source.of(text).with_edits(edits).text


@given(st.sampled_from([s for s in SAMPLES if "docker" not in s]), st.data())
@settings(max_examples=200, deadline=None)
def test_any_words_can_go(text: str, data: st.DataObject) -> None:
    site = read(text).sites[0] if read(text).sites else None
    if site is None or not site.words:
        return
    doomed = data.draw(st.sets(st.sampled_from(range(len(site.words)))))
    if any(site.words[i].splits for i in doomed):
        return
    result = apply(text, [Remove(site.words[i]) for i in doomed])
    left = [w.spelled() for i, w in enumerate(site.words) if i not in doomed]
    assert words(read(result).sites[0]) == left
    assert not read(result).problems


@given(
    st.text(alphabet="ab \"'\\$`{}[]:,=-\té!*", min_size=1, max_size=12), st.sampled_from(SAMPLES[:4] + SAMPLES[60:])
)
@settings(max_examples=200, deadline=None)
def test_any_value_can_be_written(value: str, text: str) -> None:
    reading = read(text)
    if not reading.sites or not reading.sites[0].words:
        return
    word = reading.sites[0].words[-1]
    if not word.literal:
        return
    try:
        result = apply(text, [Replace(word, value)])
    except CannotRender:
        return
    assert read(result).sites[0].words[-1].text == value


def _mangle(text: str, cut: int, extra: str) -> str:
    at = cut % (len(text) + 1)
    return text[:at] + extra + text[at + 1 :]


@given(
    st.sampled_from(SAMPLES),
    st.integers(0, 400),
    st.sampled_from(["", "'", '"', "(", ")", "$(", "${", "`", "\\", "\n", "<<X", "fi", "\x00", "{"]),
)
@settings(max_examples=300, deadline=None)
def test_broken_scripts_are_read_without_an_exception(text: str, cut: int, extra: str) -> None:
    reading = read(_mangle(text, cut, extra))
    for site in reading.sites:
        for word in site.words:
            assert 0 <= word.place.start <= word.place.end


@pytest.mark.parametrize(
    "text",
    [
        'CMD="vllm serve $M --seed 1 --served-model-name $M"\neval "$CMD"\n',
        'eval "exec vllm serve $M --seed 1 --port {{ if .P }}{{ .P }}{{ end }} --api-key {{ .P }}{{ end }}"\n',
    ],
)
def test_words_that_say_the_same_again_change_nothing(text: str) -> None:
    site = read(text).sites[0]
    assert len(site.words) > 4
    for word in site.words:
        assert apply(text, [Replace(word, word.text, word.holes)]) == text


RUN = [
    "vllm serve m --x 4\n",
    "vllm serve m --x '4 5'\n",
    'vllm serve m --x "4 5"\n',
    "vllm serve m --x 4\\ 5\n",
    "vllm serve m --x $'4\\t5'\n",
    "vllm serve m --x=4\n",
    "vllm serve m --x='4 5'\n",
    'vllm serve m --x pre"4 5"post\n',
    'A=(--x 4)\nvllm serve m "${A[@]}"\n',
    'A=()\nA+=(--x "4 5")\nvllm serve m "${A[@]}"\n',
    "ARGS='--x 4'\nvllm serve m $ARGS\n",
    'ARGS="--x 4"\nARGS="$ARGS --y"\nvllm serve m $ARGS\n',
    'ARGS="--x 4"\neval "vllm serve m $ARGS"\n',
    "CMD='vllm serve m --x 4'\neval $CMD\n",
    'CMD="vllm serve m --x 4"\n$CMD\n',
    'CMD="vllm serve m --x 4"\nbash -c "$CMD"\n',
    "bash -c 'vllm serve m --x 4'\n",
    'bash -c "vllm serve m --x 4"\n',
    "bash -c 'vllm serve m --x \"4 5\"'\n",
    "bash -c \"vllm serve m --x '4 5'\"\n",
    "bash -c \"bash -c 'vllm serve m --x 4'\"\n",
    "bash <<EOF\nvllm serve m --x 4\nEOF\n",
    "bash <<'EOF'\nvllm serve m --x '4 5'\nEOF\n",
    "bash <<EOF\nvllm serve m --x '4 5'\nEOF\n",
    'echo "$(vllm serve m --x 4)"\n',
    'f() {\n  vllm serve "$@"\n}\nf m --x 4\n',
]
HANDED = ["8", "a b", "it's", 'say "x"', "$5", "a\\b", '{"a": 1}', "#a", "a;b", "", "$(X)", "=", "'\"", "a\\", "*", "~",
          "{a,b}", "`x`", "[x]"]  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")
@pytest.mark.parametrize("text", RUN)
def test_bash_hands_over_what_was_written(text: str, tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    program.write_text("#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done; echo\n")
    program.chmod(0o755)
    scripts, wanted = [], []
    for value in HANDED:
        word = next(w for w in read(text).sites[0].words if "4" in w.text)
        head = "--x=" if word.text.startswith("--x=") else ""
        try:
            edits = word.container.edits([Replace(word, head + value)])
        except CannotRender:
            continue
        scripts.append(Source.of(text).with_edits(edits).text)
        wanted.append(f"<serve><m><{head or '--x><'}{value}>")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", "".join(scripts)], env={**os.environ, "PATH": path}, capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.stdout.replace("<--y>", "").splitlines() == wanted, ran.stderr
    assert wanted
