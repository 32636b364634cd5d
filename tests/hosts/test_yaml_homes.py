"""What comes into lists and mappings of YAML and JSON is written like what stands there."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from small_hosts import read, render, word

from vllm_migrate.hosts import json as json_host
from vllm_migrate.hosts import yaml
from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertEntry,
    InsertText,
    InsertVariable,
    InsertWords,
    Reading,
    Remove,
    Rename,
    Replace,
    Variable,
)

Plan = Callable[[Reading], Sequence[Change]]
HOLES = ("{{ .v }}",)


def edited(text: str, plan: Plan) -> str:
    host: Any = json_host if text.startswith("{") else yaml
    reading = read(host, text, "x.json" if host is json_host else "x.yaml")
    return render(reading, text, plan(reading))


def last(*new: str, holes: tuple[str, ...] = ()) -> Plan:
    return lambda r: [InsertWords(r.sites[0].word_home, list(new), holes=holes)]  # type: ignore[arg-type]


def before(old: str, *new: str) -> Plan:
    return lambda r: [InsertWords(word(r, old).container, list(new), before=word(r, old))]


def swapped(reading: Reading) -> list[Change]:
    p, q = word(reading, "--p"), word(reading, "--q")
    return [Remove(p), Remove(q), InsertWords(p.container, ["--n", "1"], after=p)]


ARGS = "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n    args:%s\n    tty: true\n"
BLOCK = "\n    - --p\n    - >-\n      4%s"
LINES = "\n    - --p\n    - |-\n      4%s"
FOLDED = '\n    - --p\n    - "a\\\n      b"%s'
PAIRS = "\n  - --a 1\n  - --b c"
VALUES = "engine: vllm\nextraArgs:%s\n"


@pytest.mark.parametrize(
    ("around", "items", "plan", "after"),
    [
        # One item for each option with its value, where the others are so.
        (VALUES, PAIRS, last("--x", "a b", "--y"), PAIRS + "\n  - --x 'a b'\n  - --y"),
        (VALUES, PAIRS, last("--x", "\ue000", holes=HOLES), PAIRS + "\n  - --x {{ .v }}"),
        (VALUES, " [--a 1, --b c]", last("--x", "4", "--y"), " [--a 1, --b c, --x 4, --y]"),
        (VALUES, " [--a 1, --b c]", last("--x", "\ue000", holes=HOLES), ' [--a 1, --b c, "--x {{ .v }}"]'),
        (VALUES, "\n  - '--a 1'\n  - \"--b c\"", last("--x"), '\n  - \'--a 1\'\n  - "--b c"\n  - "--x"'),
        (VALUES, "\n  - --a=1\n  - --b", last("--x", "4"), '\n  - --a=1\n  - --b\n  - --x\n  - "4"'),
        # An action is quoted where it would not be text.
        (ARGS, " [--p, --q]", last("--x=\ue000", "\ue000", holes=HOLES), ' [--p, --q, "--x={{ .v }}", "{{ .v }}"]'),
        (ARGS, " ['--p', '--q']", last("--x=\ue000", holes=HOLES), " ['--p', '--q', '--x={{ .v }}']"),
        (
            ARGS,
            "\n    - --p",
            last("--x=\ue000", "\ue000", holes=HOLES),
            '\n    - --p\n    - --x={{ .v }}\n    - "{{ .v }}"',
        ),
        (ARGS, "\n    - --p", last("--x=\ue000", holes=("{{ .v }}: y",)), '\n    - --p\n    - "--x={{ .v }}: y"'),
        # Before others.
        (ARGS, " [--p, --q]", before("--p", "--x", "1"), ' [--x, "1", --p, --q]'),
        (ARGS, " [--p, --q]", before("--q", "--x", "1"), ' [--p, --x, "1", --q]'),
        (ARGS, "\n    - --p\n    - --q", before("--p", "--x", "1"), '\n    - --x\n    - "1"\n    - --p\n    - --q'),
        (ARGS, "\n    -   --p\n    -   --q", before("--q", "--x"), "\n    -   --p\n    -   --x\n    -   --q"),
        # In the place of what goes.
        (ARGS, "\n    - --p # c\n    - --q # d\n    - --r", swapped, '\n    - --n # c\n    - "1" # d\n    - --r'),
        (ARGS, "\n    - --p # c\n    - --q # d", swapped, '\n    - --n # c\n    - "1" # d'),
        (ARGS, " [--p, --q, --r]", swapped, ' [--n, "1", --r]'),
        # Behind an item of several lines.
        (ARGS, BLOCK % "\n    - --q", before("--q", "--x"), BLOCK % "\n    - --x\n    - --q"),
        (ARGS, LINES % "\n    - --q", before("--q", "--x"), LINES % "\n    - --x\n    - --q"),
        (ARGS, FOLDED % "\n    - --q", before("--q", "--x"), FOLDED % "\n    - --x\n    - --q"),
        (
            ARGS,
            "\n    - --p # c\n\n    # d\n    - --q",
            before("--q", "--x"),
            "\n    - --p # c\n    - --x\n\n    # d\n    - --q",
        ),
    ],
)
def test_words_come(around: str, items: str, plan: Plan, after: str) -> None:
    assert edited(around % items, plan) == around % after


@pytest.mark.parametrize(
    "change",
    [
        lambda w: Replace(w, 3),
        lambda w: Rename(w, "--x"),
        lambda w: InsertEntry(w.container, "x", 1),
        lambda w: InsertText(w, "step", "RUN x"),
    ],
)
def test_a_list_takes_only_words(change: Any) -> None:
    with pytest.raises(CannotRender):
        edited(ARGS % " [--p]", lambda r: [change(word(r, "--p"))])


def first(reading: Reading) -> Variable:
    return reading.sites[0].variables[0]


def added(value: str, *, after: bool = True) -> Plan:
    return lambda r: [InsertVariable(first(r).container, "N", value, after=first(r) if after else None)]


TASK = '{"containerDefinitions": [{"image": "vllm/vllm-openai:v1", "command": ["--x"], "environment": [%s]}]}\n'
BIG = (
    '{"Resources": {"T": {"Properties": {"ContainerDefinitions": '
    '[{"Image": "vllm/vllm-openai:v1", "Command": ["--x"], "Environment": [%s]}]}}}}\n'
)
STACK = (
    "Resources:\n  T:\n    Properties:\n      ContainerDefinitions:\n      - Image: vllm/vllm-openai:v1\n"
    "        Command: [--x]\n        Environment:%s\n"
)
POD = (
    "y: &y {name: Q, value: '1'}\nz: &z '7'\nkind: Pod\nspec:\n"
    "  containers:\n  - image: vllm/vllm-openai:v1\n    env:%s\n"
)


@pytest.mark.parametrize(
    ("around", "items", "plan", "after"),
    [
        (
            TASK,
            '{"name": "A", "value": "1"}',
            added('a"b'),
            '{"name": "A", "value": "1"}, {"name": "N", "value": "a\\"b"}',
        ),
        (TASK, '{"name": "A", "value": "1"}', lambda r: [Rename(first(r), "N")], '{"name": "N", "value": "1"}'),
        (TASK, '{"name": "A", "value": "1"}', lambda r: [Replace(first(r), "2")], '{"name": "A", "value": "2"}'),
        (BIG, '{"Name": "A", "Value": "1"}', added("x"), '{"Name": "A", "Value": "1"}, {"Name": "N", "Value": "x"}'),
        (BIG, '{"Name": "A", "Value": "1"}', lambda r: [Rename(first(r), "N")], '{"Name": "N", "Value": "1"}'),
        (
            STACK,
            "\n        - Name: A\n          Value: '1'",
            added("4"),
            "\n        - Name: A\n          Value: '1'\n        - Name: N\n          Value: '4'",
        ),
        (
            STACK,
            "\n        - {Name: A, Value: 1}",
            added("4"),
            '\n        - {Name: A, Value: 1}\n        - {Name: N, Value: "4"}',
        ),
        (
            STACK,
            "\n        - {Name: A, Value: 1}",
            added("x", after=False),
            "\n        - {Name: A, Value: 1}\n        - {Name: N, Value: x}",
        ),
        (
            STACK,
            "\n        - Name: A\n          Value: !Ref X",
            lambda r: [Rename(first(r), "N")],
            "\n        - Name: N\n          Value: !Ref X",
        ),
        (
            POD,
            "\n    - name: A\n      value:",
            added("4"),
            '\n    - name: A\n      value:\n    - name: N\n      value: "4"',
        ),
        (POD, "\n    - name: A\n      value:", lambda r: [Replace(first(r), "2")], '\n    - name: A\n      value: "2"'),
        (POD, "\n    - name: A", added("x"), '\n    - name: A\n    - name: N\n      value: "x"'),
        (
            POD,
            "\n    - name: A\n      value: *z",
            added("4"),
            "\n    - name: A\n      value: *z\n    - name: N\n      value: '4'",
        ),
        (
            POD,
            "\n    - &x {name: A, value: 'b'}",
            added("4"),
            "\n    - &x {name: A, value: 'b'}\n    - {name: N, value: '4'}",
        ),
        (
            POD,
            "\n    - name: A\n      value: 1\n    - *y",
            added("4", after=False),
            "\n    - name: A\n      value: 1\n    - *y\n    - {name: N, value: '4'}",
        ),
        (
            POD,
            "\n    - name: A\n      value: |\n        b\n",
            added("c"),
            '\n    - name: A\n      value: |\n        b\n    - name: N\n      value: "c"\n',
        ),
    ],
)
def test_variables_come_and_change(around: str, items: str, plan: Plan, after: str) -> None:
    text = around % items
    assert edited(text, plan) == around % after
    if text.startswith("{"):
        json.loads(around % after)


@pytest.mark.parametrize(
    ("old", "new"), [("- A=${X}", "- A=${Y}"), ("A: ${X}", 'A: "${Y}"'), ("A: '${X}'", "A: '${Y}'")]
)
def test_another_run_time_part(old: str, new: str) -> None:
    text = "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --x\n    environment:\n      "
    assert edited(text + old + "\n", lambda r: [Replace(first(r), "\ue000", ("${Y}",))]) == text + new + "\n"


def test_what_is_not_given_here_is_not_written() -> None:
    text = POD % "\n    - name: A"
    with pytest.raises(CannotRender, match="the value is not given here"):
        edited(text, lambda r: [Replace(first(r), "2")])
    with pytest.raises(CannotRender, match="cannot be written in a list of variables"):
        edited(text, lambda r: [InsertWords(first(r).container, ["--x"])])
    other = read(yaml, text, "x.yaml")
    with pytest.raises(CannotRender, match="belongs to another container"):
        home = first(read(yaml, text, "x.yaml")).container
        home.edits([Remove(first(other))])
