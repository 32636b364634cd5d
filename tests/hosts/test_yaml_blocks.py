"""A template's `if` goes with the lines it held, and never half of it."""

from __future__ import annotations

import pytest
from small_hosts import read
from test_yaml_edit import edited, removing

from vllm_migrate.hosts import yaml
from vllm_migrate.model import CannotRender

HEAD = "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n"
IF, IF_B, ELSE, ELIF, END = "{{- if .a }}", "{{- if .b }}", "{{- else }}", "{{- else if .c }}", "{{- end }}"
WITH, PRINTS = "{{- with .x }}", "{{- toYaml .x | nindent 4 }}"
P, X, Y, Z = "- --p", "- --x", "- --y", "- --z"
BRANCH = "it is all of one branch"


def text_of(*lines: str) -> str:
    return HEAD + "    args:\n" + "".join(f"    {line}\n" for line in lines) + "    tty: true\n"


@pytest.mark.parametrize(
    ("lines", "gone", "left"),
    [
        # All that a block holds goes with it, and all of the blocks around it that hold nothing else.
        ([P, IF, X, END], "x", [P]),
        ([P, WITH, X, END, Y], "x", [P, Y]),
        ([IF, X, END, P], "x", [P]),
        ([P, IF, X, Y, END], "x y", [P]),
        ([P, IF, X, Y, END], "x", [P, IF, Y, END]),
        ([P, IF, IF_B, X, END, END], "x", [P]),
        ([P, IF, IF_B, X, END, Y, END], "x", [P, IF, Y, END]),
        ([P, IF, Y, IF_B, X, END, END], "x", [P, IF, Y, END]),
        # Comments and blank lines are nothing.
        ([P, IF, "# why", X, END], "x", [P]),
        ([P, IF, X, "{{- /* why */}}", "", END], "x", [P]),
        ([P, "{{- /* more */}}", IF, X, END], "x", [P, "{{- /* more */}}"]),
        # What is printed is something.
        ([P, IF, PRINTS, X, END], "x", [P, IF, PRINTS, END]),
        ([P, IF, X, PRINTS, END], "x", [P, IF, PRINTS, END]),
        # A line between two blocks is in none of them.
        ([P, IF, Y, END, X, IF_B, Z, END], "x", [P, IF, Y, END, IF_B, Z, END]),
        ([P, X, IF_B, Z, END], "x", [P, IF_B, Z, END]),
        # The last branch goes alone, all of them together.
        ([P, IF, X, ELSE, Y, END], "y", [P, IF, X, END]),
        ([P, IF, X, ELIF, Y, END], "y", [P, IF, X, END]),
        ([P, IF, X, ELIF, Y, ELSE, Z, END], "z", [P, IF, X, ELIF, Y, END]),
        ([P, IF, X, ELSE, Y, END], "x y", [P]),
        ([P, IF, X, "# or", ELSE, "{{- /* this */}}", Y, END], "x y", [P]),
        # Blocks whose marks share a line are not taken apart.
        ([P, IF + " " + IF_B, X, END, END], "x", [P, IF + " " + IF_B, END, END]),
    ],
)
def test_lines_go_with_the_block_that_held_nothing_else(lines: list[str], gone: str, left: list[str]) -> None:
    after = edited(text_of(*lines), removing(*(f"--{name}" for name in gone.split())))
    assert after == text_of(*left).replace("    \n", "")


@pytest.mark.parametrize(
    ("lines", "gone", "why"),
    [
        # Nothing would be said in a case that said something.
        ([P, IF, X, ELSE, Y, END], "x", BRANCH),
        ([P, IF, X, ELIF, Y, END], "x", BRANCH),
        ([P, IF, X, ELIF, Y, ELSE, Z, END], "y", BRANCH),
        ([P, IF, Z, ELSE, IF_B, X, ELSE, Y, END, END], "x", BRANCH),
        # The key would stay, with a block that holds nothing.
        ([IF, X, END], "x", "would touch a template action"),
        # Lines that begin behind an action are read as one text.
        ([P, "{{ if .a }}- --x{{ end }}", Y], "x", "between the lines of one text"),
    ],
)
def test_half_a_block_does_not_go(lines: list[str], gone: str, why: str) -> None:
    with pytest.raises(CannotRender, match=why):
        edited(text_of(*lines), removing(f"--{gone}"))


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ([PRINTS], "    args:\n"),
        ([WITH, "{{- toYaml . | nindent 4 }}", END], "    args:\n"),
        (["{{- .Values.more }}"], "    args:\n"),
        (["  {{- toYaml .x | nindent 6 }}"], "    args:\n"),
        (["{{- toYaml .x | indent 4 }}"], "    args:\n"),
        (["{{- /* toYaml .x */}}"], ""),
    ],
)
def test_a_list_that_a_template_prints_more_of_keeps_its_key(lines: list[str], key: str) -> None:
    left = HEAD + key + "".join(f"    {line}\n" for line in lines) + "    tty: true\n"
    assert edited(text_of(X, *lines), removing("--x")) == left


@pytest.mark.parametrize(
    "key", ["    {{- toYaml .x | nindent 4 }}\n", "{{- toYaml .x | nindent 2 }}\n", "    {{- .x }}\n", "  {{- .x }}\n"]
)
def test_what_a_template_prints_beside_the_key_is_no_item(key: str) -> None:
    text = HEAD + "    args:\n      - --x\n" + key + "    tty: true\n"
    assert edited(text, removing("--x")) == HEAD + key + "    tty: true\n"


def test_an_action_at_the_left_prints_as_deep_as_it_says() -> None:
    more = "{{- toYaml .x | nindent 6 }}\n    tty: true\n"
    text = HEAD + "    args:\n      - --x\n" + more
    assert edited(text, removing("--x")) == HEAD + "    args:\n" + more


def test_what_a_template_prints_below_another_key_is_no_item() -> None:
    more = "    env:\n      {{- toYaml .e | nindent 6 }}\n  - name: b\n    env:\n      {{- toYaml .e | nindent 6 }}\n"
    assert edited(HEAD + "    args:\n    - --x\n" + more, removing("--x")) == HEAD + more
    alone = "---\na:\n      {{- toYaml .e | nindent 6 }}\n"
    text = "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n    args:\n    - --x\n"
    assert edited(text + alone, removing("--x")) == text.replace("    args:\n    - --x\n", "") + alone


def test_a_text_on_two_lines_with_values_of_the_template() -> None:
    text = HEAD + "    command: [sh, -c]\n    args:\n    - vllm serve {{ .m }}\n      --x --y\n"
    assert edited(text, removing("--x")) == text.replace("\n      --x --y", " --y")


SCRIPT = HEAD + "    command: [sh, -c]\n    args:\n    - {header}\n"


@pytest.mark.parametrize(
    ("header", "lines", "left"),
    [
        ("|", ["vllm serve m \\", IF, "  --x \\", END, "  --y"], ["vllm serve m \\", "  --y"]),
        ("|", ["vllm serve m \\", "  " + IF, "  --x \\", "  " + END, "  --y"], ["vllm serve m \\", "  --y"]),
        ("|", ["vllm serve m \\", IF, IF_B, "--x \\", END, END, "--y"], ["vllm serve m \\", "--y"]),
        ("|", ["vllm serve m \\", IF, "--x \\", "--y \\", END, "--z"], ["vllm serve m \\", IF, "--y \\", END, "--z"]),
        ("|", ["vllm serve m \\", IF, "--x \\", ELSE, "--z \\", END, "--y"], None),
        (">-", ["vllm serve m", IF, "--x", END, "--y"], ["vllm serve m", "--y"]),
        (">-", ["vllm serve m", IF, IF_B, "--x", END, END, "--y"], ["vllm serve m", "--y"]),
        (">-", ["vllm serve m", IF, "--x", ELSE, "--z", END, "--y"], None),
    ],
)
def test_lines_of_a_script_go_with_their_block(header: str, lines: list[str], left: list[str] | None) -> None:
    def text_of(lines: list[str]) -> str:
        return SCRIPT.format(header=header) + "".join(f"      {line}\n" for line in lines)

    text = text_of(lines)
    assert [w.text for w in read(yaml, text, "x.yaml").sites[0].words][:2] == ["m", "--x"]
    if left is None:
        with pytest.raises(CannotRender, match=BRANCH):
            edited(text, removing("--x"))
    else:
        assert edited(text, removing("--x")) == text_of(left)
