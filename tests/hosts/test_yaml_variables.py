"""Environment variables of compose files and manifests, in each way to write them."""

from __future__ import annotations

from typing import Any

import pytest
from small_hosts import read, render

from vllm_migrate.hosts import yaml
from vllm_migrate.model import CannotRender, Change, InsertVariable, Reading, Remove, Rename, Replace

COMPOSE = "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: [--x]\n    environment:%s\n    tty: true\n"
POD = (
    "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v1\n    args: [--x]\n    env:%s\n    tty: true\n"
)


def plan(reading: Reading, what: str) -> list[Change]:
    a = next(v for v in reading.sites[0].variables if v.name == "A")
    home = reading.sites[0].variable_home
    assert home is not None
    plans: dict[str, list[Change]] = {
        "rename": [Rename(a, "N")],
        "=x y": [Replace(a, "x y")],
        "+v": [InsertVariable(a.container, "N", "v", after=a)],
        "last": [InsertVariable(home, "N", "4")],
        "remove": [Remove(a)],
        "both": [Rename(a, "N"), Replace(a, "7")],
    }
    return plans[what]


def loaded(text: str) -> dict[str, Any]:
    """Return the variables as a program that loads the file gets them."""
    from ruamel.yaml import YAML

    document = YAML(typ="safe").load(text)
    if "services" in document:
        assert document["services"]["a"]["tty"] is True
        held = document["services"]["a"].get("environment", {})
        return dict(held) if isinstance(held, dict) else dict(one.split("=") for one in held)
    (container,) = document["spec"]["containers"]
    assert container["tty"] is True
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container.get("env", ())}


# None: nothing is left of it, and the key goes.
CASES = [
    (COMPOSE, "\n      - A=1\n      - B=2", "rename", "\n      - N=1\n      - B=2"),
    (COMPOSE, "\n      - A=1\n      - B=2", "=x y", "\n      - A=x y\n      - B=2"),
    (COMPOSE, "\n      - A=1\n      - B=2", "+v", "\n      - A=1\n      - N=v\n      - B=2"),
    (COMPOSE, "\n      - A=1\n      - B=2", "last", "\n      - A=1\n      - B=2\n      - N=4"),
    (COMPOSE, "\n      - A=1\n      - B=2", "remove", "\n      - B=2"),
    (COMPOSE, "\n      - A=1\n      - B=2", "both", "\n      - N=7\n      - B=2"),
    (COMPOSE, "\n      A: 1\n      B: '2'", "rename", "\n      N: 1\n      B: '2'"),
    (COMPOSE, "\n      A: 1\n      B: '2'", "=x y", "\n      A: x y\n      B: '2'"),
    (COMPOSE, "\n      A: 1\n      B: '2'", "+v", "\n      A: 1\n      N: v\n      B: '2'"),
    (COMPOSE, "\n      A: 1\n      B: '2'", "last", '\n      A: 1\n      B: \'2\'\n      N: "4"'),
    (COMPOSE, "\n      A: 1\n      B: '2'", "remove", "\n      B: '2'"),
    (COMPOSE, "\n      A: 1\n      B: '2'", "both", '\n      N: "7"\n      B: \'2\''),
    (COMPOSE, ' ["A=1", "B=2"]', "rename", ' ["N=1", "B=2"]'),
    (COMPOSE, ' ["A=1", "B=2"]', "=x y", ' ["A=x y", "B=2"]'),
    (COMPOSE, ' ["A=1", "B=2"]', "+v", ' ["A=1", "N=v", "B=2"]'),
    (COMPOSE, ' ["A=1", "B=2"]', "last", ' ["A=1", "B=2", "N=4"]'),
    (COMPOSE, ' ["A=1", "B=2"]', "remove", ' ["B=2"]'),
    (COMPOSE, ' ["A=1", "B=2"]', "both", ' ["N=7", "B=2"]'),
    (COMPOSE, "\n      - 'A=1'", "rename", "\n      - 'N=1'"),
    (COMPOSE, "\n      - 'A=1'", "=x y", "\n      - 'A=x y'"),
    (COMPOSE, "\n      - 'A=1'", "+v", "\n      - 'A=1'\n      - 'N=v'"),
    (COMPOSE, "\n      - 'A=1'", "last", "\n      - 'A=1'\n      - 'N=4'"),
    (COMPOSE, "\n      - 'A=1'", "remove", None),
    (COMPOSE, "\n      - 'A=1'", "both", "\n      - 'N=7'"),
    (COMPOSE, " {A: 1}", "rename", " {N: 1}"),
    (COMPOSE, " {A: 1}", "=x y", " {A: x y}"),
    (COMPOSE, " {A: 1}", "+v", " {A: 1, N: v}"),
    (COMPOSE, " {A: 1}", "last", ' {A: 1, N: "4"}'),
    (COMPOSE, " {A: 1}", "remove", None),
    (COMPOSE, " {A: 1}", "both", ' {N: "7"}'),
    (
        POD,
        '\n    - name: A\n      value: "1"\n    - name: B\n      value: "2"',
        "rename",
        '\n    - name: N\n      value: "1"\n    - name: B\n      value: "2"',
    ),
    (
        POD,
        '\n    - name: A\n      value: "1"\n    - name: B\n      value: "2"',
        "=x y",
        '\n    - name: A\n      value: "x y"\n    - name: B\n      value: "2"',
    ),
    (
        POD,
        '\n    - name: A\n      value: "1"\n    - name: B\n      value: "2"',
        "+v",
        '\n    - name: A\n      value: "1"\n    - name: N\n      value: "v"\n    - name: B\n      value: "2"',
    ),
    (
        POD,
        '\n    - name: A\n      value: "1"\n    - name: B\n      value: "2"',
        "last",
        '\n    - name: A\n      value: "1"\n    - name: B\n      value: "2"\n    - name: N\n      value: "4"',
    ),
    (
        POD,
        '\n    - name: A\n      value: "1"\n    - name: B\n      value: "2"',
        "remove",
        '\n    - name: B\n      value: "2"',
    ),
    (
        POD,
        '\n    - name: A\n      value: "1"\n    - name: B\n      value: "2"',
        "both",
        '\n    - name: N\n      value: "7"\n    - name: B\n      value: "2"',
    ),
    (POD, "\n    - name: A\n      value: one", "rename", "\n    - name: N\n      value: one"),
    (POD, "\n    - name: A\n      value: one", "=x y", "\n    - name: A\n      value: x y"),
    (
        POD,
        "\n    - name: A\n      value: one",
        "+v",
        "\n    - name: A\n      value: one\n    - name: N\n      value: v",
    ),
    (
        POD,
        "\n    - name: A\n      value: one",
        "last",
        '\n    - name: A\n      value: one\n    - name: N\n      value: "4"',
    ),
    (POD, "\n    - name: A\n      value: one", "remove", None),
    (POD, "\n    - name: A\n      value: one", "both", '\n    - name: N\n      value: "7"'),
    (POD, '\n    - name: "A"\n      value: \'x\'', "rename", '\n    - name: "N"\n      value: \'x\''),
    (POD, '\n    - name: "A"\n      value: \'x\'', "=x y", '\n    - name: "A"\n      value: \'x y\''),
    (
        POD,
        '\n    - name: "A"\n      value: \'x\'',
        "+v",
        '\n    - name: "A"\n      value: \'x\'\n    - name: "N"\n      value: \'v\'',
    ),
    (
        POD,
        '\n    - name: "A"\n      value: \'x\'',
        "last",
        '\n    - name: "A"\n      value: \'x\'\n    - name: "N"\n      value: \'4\'',
    ),
    (POD, '\n    - name: "A"\n      value: \'x\'', "remove", None),
    (POD, '\n    - name: "A"\n      value: \'x\'', "both", '\n    - name: "N"\n      value: \'7\''),
    (
        POD,
        ' [{name: A, value: "1"}, {name: B, value: "2"}]',
        "rename",
        ' [{name: N, value: "1"}, {name: B, value: "2"}]',
    ),
    (
        POD,
        ' [{name: A, value: "1"}, {name: B, value: "2"}]',
        "=x y",
        ' [{name: A, value: "x y"}, {name: B, value: "2"}]',
    ),
    (
        POD,
        ' [{name: A, value: "1"}, {name: B, value: "2"}]',
        "+v",
        ' [{name: A, value: "1"}, {name: N, value: "v"}, {name: B, value: "2"}]',
    ),
    (
        POD,
        ' [{name: A, value: "1"}, {name: B, value: "2"}]',
        "last",
        ' [{name: A, value: "1"}, {name: B, value: "2"}, {name: N, value: "4"}]',
    ),
    (POD, ' [{name: A, value: "1"}, {name: B, value: "2"}]', "remove", ' [{name: B, value: "2"}]'),
    (
        POD,
        ' [{name: A, value: "1"}, {name: B, value: "2"}]',
        "both",
        ' [{name: N, value: "7"}, {name: B, value: "2"}]',
    ),
    (
        POD,
        '\n    - value: "1"\n      name: A\n    - {name: B, value: \'2\'}',
        "rename",
        '\n    - value: "1"\n      name: N\n    - {name: B, value: \'2\'}',
    ),
    (
        POD,
        '\n    - value: "1"\n      name: A\n    - {name: B, value: \'2\'}',
        "=x y",
        '\n    - value: "x y"\n      name: A\n    - {name: B, value: \'2\'}',
    ),
    (
        POD,
        '\n    - value: "1"\n      name: A\n    - {name: B, value: \'2\'}',
        "+v",
        '\n    - value: "1"\n      name: A\n    - name: N\n      value: "v"\n    - {name: B, value: \'2\'}',
    ),
    (
        POD,
        '\n    - value: "1"\n      name: A\n    - {name: B, value: \'2\'}',
        "last",
        '\n    - value: "1"\n      name: A\n    - {name: B, value: \'2\'}\n    - {name: N, value: \'4\'}',
    ),
    (
        POD,
        '\n    - value: "1"\n      name: A\n    - {name: B, value: \'2\'}',
        "remove",
        "\n    - {name: B, value: '2'}",
    ),
    (
        POD,
        '\n    - value: "1"\n      name: A\n    - {name: B, value: \'2\'}',
        "both",
        '\n    - value: "7"\n      name: N\n    - {name: B, value: \'2\'}',
    ),
    (
        POD,
        "\n    - name: A\n      value: |\n        x",
        "rename",
        "\n    - name: N\n      value: |\n        x",
    ),
    (POD, "\n    - name: A\n      value: |\n        x", "=x y", "\n    - name: A\n      value: x y"),
    (
        POD,
        "\n    - name: A\n      value: |\n        x",
        "+v",
        '\n    - name: A\n      value: |\n        x\n    - name: N\n      value: "v"',
    ),
    (
        POD,
        "\n    - name: A\n      value: |\n        x",
        "last",
        '\n    - name: A\n      value: |\n        x\n    - name: N\n      value: "4"',
    ),
    (POD, "\n    - name: A\n      value: |\n        x", "remove", None),
    (POD, "\n    - name: A\n      value: |\n        x", "both", '\n    - name: N\n      value: "7"'),
    (POD, "\n    - {name: A, value: '1'}", "rename", "\n    - {name: N, value: '1'}"),
    (POD, "\n    - {name: A, value: '1'}", "=x y", "\n    - {name: A, value: 'x y'}"),
    (
        POD,
        "\n    - {name: A, value: '1'}",
        "+v",
        "\n    - {name: A, value: '1'}\n    - {name: N, value: 'v'}",
    ),
    (
        POD,
        "\n    - {name: A, value: '1'}",
        "last",
        "\n    - {name: A, value: '1'}\n    - {name: N, value: '4'}",
    ),
    (POD, "\n    - {name: A, value: '1'}", "remove", None),
    (POD, "\n    - {name: A, value: '1'}", "both", "\n    - {name: N, value: '7'}"),
    (
        POD,
        "\n    - name: A\n      valueFrom: {fieldRef: {fieldPath: x}}",
        "rename",
        "\n    - name: N\n      valueFrom: {fieldRef: {fieldPath: x}}",
    ),
    (
        POD,
        "\n    - name: A\n      valueFrom: {fieldRef: {fieldPath: x}}",
        "+v",
        '\n    - name: A\n      valueFrom: {fieldRef: {fieldPath: x}}\n    - name: N\n      value: "v"',
    ),
    (
        POD,
        "\n    - name: A\n      valueFrom: {fieldRef: {fieldPath: x}}",
        "last",
        '\n    - name: A\n      valueFrom: {fieldRef: {fieldPath: x}}\n    - name: N\n      value: "4"',
    ),
    (POD, "\n    - name: A\n      valueFrom: {fieldRef: {fieldPath: x}}", "remove", None),
]


@pytest.mark.parametrize(("around", "before", "what", "after"), CASES)
def test_variables_change(around: str, before: str, what: str, after: str | None) -> None:
    text = around % before
    result = render(reading := read(yaml, text, "x.yaml"), text, plan(reading, what))
    key = "    environment:" if around == COMPOSE else "    env:"
    wanted = around % after if after is not None else around.replace(f"{key}%s\n", "")
    assert result == wanted
    old, new = loaded(text), loaded(result)
    kept = {name: value for name, value in old.items() if name != "A"}
    a = old["A"]
    assert new == {
        "rename": {**kept, "N": a},
        "=x y": {**kept, "A": "x y"},
        "+v": {**kept, "A": a, "N": "v"},
        "last": {**kept, "A": a, "N": "4"},
        "remove": kept,
        "both": {**kept, "N": "7"},
    }[what]


def test_a_value_that_comes_from_elsewhere_is_not_written() -> None:
    text = POD % "\n    - name: A\n      valueFrom: {fieldRef: {fieldPath: x}}"
    for what in ("=x y", "both"):
        with pytest.raises(CannotRender, match="the value is not given here"):
            render(reading := read(yaml, text, "x.yaml"), text, plan(reading, what))
