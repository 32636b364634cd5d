"""Texts inside the words of a script, and lists of words: what an edit may touch there."""

from __future__ import annotations

import pytest
from small_hosts import check_identity, read, render, word, words

from vllm_migrate.hosts import shell
from vllm_migrate.model import CannotRender, InsertWords, Remove, Replace


@pytest.mark.parametrize(
    ("text", "gone", "after"),
    [
        ("bash -c 'vllm serve m --a 1 --b'\n", "--a 1", "bash -c 'vllm serve m --b'\n"),
        ('bash -c "vllm serve m --a 1 --b \\$X"\n', "--a 1", 'bash -c "vllm serve m --b \\$X"\n'),
        ("bash -c 'vllm serve m --a '1' --b'\n", "--a 1", None),
        ("bash -c 'vllm serve m --a '\"$X\"' --b'\n", "--b", "bash -c 'vllm serve m --a '\"$X\"''\n"),
        ("bash -c 'vllm serve m --a '\"$X\"' --b 2'\n", "2", "bash -c 'vllm serve m --a '\"$X\"' --b'\n"),
        ("bash -c vllm\\ serve\\ m\\ --a\n", "--a", "bash -c vllm\\ serve\\ m\n"),
        ("bash -c $'vllm serve m\\t--a 1'\n", "--a 1", "bash -c $'vllm serve m'\n"),
        ("C='vllm serve m --a 1 --b'\n$C\n", "--a 1", "C='vllm serve m --b'\n$C\n"),
        ('C="vllm serve m --a 1 --b $X"\neval $C\n', "--a 1", 'C="vllm serve m --b $X"\neval $C\n'),
        ("C='x'\" --a 1 --b\"\nvllm serve m $C\n", "--a 1", "C='x'\" --b\"\nvllm serve m $C\n"),
        ("cat <<EOF | bash\nvllm serve m --a 1 \\$X\nEOF\n", "--a 1", "cat <<EOF | bash\nvllm serve m \\$X\nEOF\n"),
        (
            "bash <<-'EOF'\n\tvllm serve m \\\n\t  --a 1 \\\n\t  --b\n\tEOF\n",
            "--a 1",
            "bash <<-'EOF'\n\tvllm serve m \\\n\t  --b\n\tEOF\n",
        ),
    ],
)
def test_options_inside_a_word(text: str, gone: str, after: str | None) -> None:
    found = read(shell, text, "run.sh")
    check_identity(found, text)
    changes = [Remove(word(found, w)) for w in gone.split()]
    if after is None:
        with pytest.raises(CannotRender):
            render(found, text, changes)
    else:
        assert render(found, text, changes) == after


@pytest.mark.parametrize(
    ("text", "value", "after"),
    [
        ("bash -c 'vllm serve m --a 1'\n", "it's", "bash -c 'vllm serve m --a \"it'\\''s\"'\n"),
        ('bash -c "vllm serve m --a 1"\n', "$Y", "bash -c \"vllm serve m --a '\\$Y'\"\n"),
        ("bash -c 'vllm serve m --a '1' --b'\n", "2", "bash -c 'vllm serve m --a '2' --b'\n"),
        ("bash -c 'vllm serve m --a '1' --b'\n", "a b", "bash -c 'vllm serve m --a '\\\"a\\ b\\\"' --b'\n"),
        ("bash <<EOF\nvllm serve m --a 1\nEOF\n", "$Y \\", "bash <<EOF\nvllm serve m --a '\\$Y \\'\nEOF\n"),
        ("bash <<'EOF'\nvllm serve m --a 1\nEOF\n", "$Y", "bash <<'EOF'\nvllm serve m --a '$Y'\nEOF\n"),
        ("C='--a 1 --b'\nvllm serve m $C\n", "2", "C='--a 2 --b'\nvllm serve m $C\n"),
    ],
)
def test_values_inside_a_word(text: str, value: str, after: str) -> None:
    found = read(shell, text, "run.sh")
    assert render(found, text, [Replace(word(found, "1"), value)]) == after
    assert value in words(read(shell, after, "run.sh"))


def test_what_the_shell_splits_keeps_its_run_time_parts() -> None:
    text = 'O="--a=$X/$Y --b"\nvllm serve m $O\n'
    found = read(shell, text, "run.sh")
    item = found.sites[0].words[1]
    assert render(found, text, [Replace(item, "--c=\ue001:\ue000", item.holes)]) == text.replace(
        "--a=$X/$Y", "--c=$Y:$X"
    )
    for value in ("--c=\ue000 1", "--c=*\ue000", "--c='\ue000'"):
        if "'" in value:
            assert "--c='$X'" in render(found, text, [Replace(item, value, item.holes)])
        else:
            with pytest.raises(CannotRender):
                render(found, text, [Replace(item, value, item.holes)])


@pytest.mark.parametrize(
    ("text", "beside", "added", "after"),
    [
        (
            'A=(\n  --a 1\n  --b # why\n)\nvllm serve m "${A[@]}"\n',
            "1",
            ["--n"],
            'A=(\n  --a 1\n  --n\n  --b # why\n)\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(\n  --a 1 # why\n  --b\n)\nvllm serve m "${A[@]}"\n',
            "1",
            ["--n", "2"],
            'A=(\n  --a 1 # why\n  --n 2\n  --b\n)\nvllm serve m "${A[@]}"\n',
        ),
        ("vllm serve m --a 1\n", "1", ["--n=x y", "x=y z", "a=b-"], "vllm serve m --a 1 --n='x y' 'x=y z' a=b-\n"),
        ("vllm serve m \\\n  --a 1 # why\n", "1", ["--n"], "vllm serve m \\\n  --a 1 \\\n  --n # why\n"),
        ("vllm serve m --a 1\n", "1", ["--n", "2", "--o", "-p"], "vllm serve m --a 1 --n 2 --o -p\n"),
        ("vllm serve m --a 1\n", "1", ["-n=x y"], "vllm serve m --a 1 -n='x y'\n"),
        ("vllm serve m --a 1\n", "1", ["--n", ""], "vllm serve m --a 1 --n ''\n"),
        ("vllm serve m \\\n  --a \\\n  1 > log\n", "1", ["--n"], "vllm serve m \\\n  --a \\\n  1 --n > log\n"),
    ],
)
def test_words_are_added_as_their_neighbours_stand(text: str, beside: str, added: list[str], after: str) -> None:
    found = read(shell, text, "run.sh")
    item = word(found, beside)
    assert render(found, text, [InsertWords(item.container, added, after=item)]) == after


@pytest.mark.parametrize(
    ("text", "gone", "after"),
    [
        (
            'A=(--x)\nif [ -n "$Y" ]; then\n  A+=(--a)\nfi\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\nif tool; then\n  A+=(--a)\nfi\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\nif tool; then\n  :\nfi\nvllm serve m "${A[@]}"\n',
        ),
        ('A=(--x)\n[ -n "$Y" ] && A+=(--a)\nvllm serve m "${A[@]}"\n', ["--a"], 'A=(--x)\nvllm serve m "${A[@]}"\n'),
        ('A=(--x)\ntool && A+=(--a)\nvllm serve m "${A[@]}"\n', ["--a"], 'A=(--x)\ntool\nvllm serve m "${A[@]}"\n'),
        (
            'A=(--x)\nif tool; then A+=(--a); fi\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\nif tool; then :; fi\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\nif [ 1 ]; then\n  A+=(--b)\nelse A+=(--a); fi\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\nif [ 1 ]; then\n  A+=(--b)\n fi\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\n\nA+=(--a)\n\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\n\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\ntrue\nA+=(--a)\n\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\ntrue\n\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\nA+=(--a) && tool\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\ntool\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\nx || y && A+=(--a)\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\nx || y\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\nx && tool && A+=(--a)\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\nx && tool\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\nx && A+=(--a) && tool\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\nx && tool\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\n[ -n "$Y" ] || A+=(--a)\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\n[ -n "$Y" ] || :\nvllm serve m "${A[@]}"\n',
        ),
        ('A=(--x)\nA+=(--a); B=1\nvllm serve m "${A[@]}"\n', ["--a"], 'A=(--x)\nB=1\nvllm serve m "${A[@]}"\n'),
        ('A=(--x)\nB=1; A+=(--a)\nvllm serve m "${A[@]}"\n', ["--a"], 'A=(--x)\nB=1\nvllm serve m "${A[@]}"\n'),
        (
            'A=(--x)\nif [ 1 ]; then\n  A+=(--b)\nelse\n  A+=(--a)\nfi\nvllm serve m "${A[@]}"\n',
            ["--a"],
            'A=(--x)\nif [ 1 ]; then\n  A+=(--b)\nfi\nvllm serve m "${A[@]}"\n',
        ),
        (
            'A=(--x)\n\n# why\nA+=(--a)\n\nA+=(--b)\nvllm serve m "${A[@]}"\n',
            ["--a", "--b"],
            'A=(--x)\n\n# why\nvllm serve m "${A[@]}"\n',
        ),
        (
            "bash -c '\n  A=(--x)\n  A+=(--a)\n  vllm serve m \"${A[@]}\"\n'\n",
            ["--a"],
            "bash -c '\n  A=(--x)\n  vllm serve m \"${A[@]}\"\n'\n",
        ),
        (
            "bash -c 'A+=(--a)\n  vllm serve m \"${A[@]}\"\n'\n",
            ["--a"],
            "bash -c 'A+=()\n  vllm serve m \"${A[@]}\"\n'\n",
        ),
        ('A=(--a)\nvllm serve m "${A[@]}"\n', ["--a"], 'A=()\nvllm serve m "${A[@]}"\n'),
    ],
)
def test_statements_that_nothing_is_left_of(text: str, gone: list[str], after: str) -> None:
    found = read(shell, text, "run.sh")
    assert render(found, text, [Remove(word(found, w)) for w in gone]) == after


def test_two_changes_of_one_word_must_agree() -> None:
    text = "vllm serve m --a 1\n"
    found = read(shell, text, "run.sh")
    item = word(found, "1")
    assert render(found, text, [Replace(item, "2"), Replace(item, "2")]) == "vllm serve m --a 2\n"
    with pytest.raises(CannotRender):
        render(found, text, [Replace(item, "2"), Replace(item, "3")])
