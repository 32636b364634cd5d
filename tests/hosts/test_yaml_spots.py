"""Keys that a container has not got yet, and pins inside a scalar or behind the name of a variable."""

from __future__ import annotations

import json
from typing import Any

import pytest
from small_hosts import read, render

from vllm_migrate.hosts import json as json_host
from vllm_migrate.hosts import yaml
from vllm_migrate.model import CannotRender, Change, InsertText, InsertVariable, InsertWords, Pin, Reading, Replace

IMAGE = "image: vllm/vllm-openai:v1"
# What comes stands at the `@`.
COMPOSE = f"services:\n  a:\n    {IMAGE}@\n"
COMPOSE_FLOW = f"services:\n  a: {{{IMAGE}, tty: true@}}\n"
POD = f"kind: Pod\nspec:\n  containers:\n  - {IMAGE}@\n"
DEEP_POD = f"kind: Pod\nspec:\n  containers:\n    - {IMAGE}@\n"
PORTS_POD = f"kind: Pod\nspec:\n  containers:\n    - {IMAGE}\n      ports:\n      - {{containerPort: 1}}@\n"
FLOW_LIST_POD = f"kind: Pod\nspec:\n  containers:\n  - {IMAGE}\n    command: [vllm, serve]@\n"
ALIAS_POD = f"x: &p\n- a\nkind: Pod\nspec:\n  containers:\n    - {IMAGE}\n      ports: *p@\n"
FLOW_POD = f"kind: Pod\nspec:\n  containers: [{{{IMAGE}@}}]\n"
MODEL = "kind: Model\nspec:\n  engine: VLLM\n  url: hf://m\n  args:\n    - --x@\n"
FLOW_MODEL = "kind: Model\nspec: {engine: VLLM, url: 'hf://m', args: [--x]@}\n"
TASK = f"containerDefinitions:\n  - {IMAGE}\n    command: [--x]@\n"
BIG_TASK = "ContainerDefinitions:\n- Image: vllm/vllm-openai:v1\n  Command: [--x]@\n"
JSON_TASK = '{"containerDefinitions": [{"image": "vllm/vllm-openai:v1", "command": ["--x"]@}]}\n'
JSON_POD = '{"kind": "Pod", "spec": {"containers": [{"image": "vllm/vllm-openai:v1"@}]}}\n'

WORDS = ["--x", "4", "a,b", "a$b"]
VALUE = "a,$b"
CASES: list[tuple[str, str, str]] = [
    (COMPOSE, "words", '\n    command:\n      - --x\n      - "4"\n      - a,b\n      - a$$b'),
    (COMPOSE, "variable", "\n    environment:\n      - A=a,$$b"),
    (COMPOSE_FLOW, "words", ', command: [--x, "4", "a,b", a$$b]'),
    (COMPOSE_FLOW, "variable", ', environment: ["A=a,$$b"]'),
    (POD, "words", '\n    args:\n    - --x\n    - "4"\n    - a,b\n    - a$b'),
    (POD, "variable", '\n    env:\n    - name: A\n      value: "a,$b"'),
    (DEEP_POD, "words", '\n      args:\n        - --x\n        - "4"\n        - a,b\n        - a$b'),
    (DEEP_POD, "variable", '\n      env:\n        - name: A\n          value: "a,$b"'),
    (PORTS_POD, "variable", '\n      env:\n      - name: A\n        value: "a,$b"'),
    (FLOW_LIST_POD, "variable", '\n    env:\n    - name: A\n      value: "a,$b"'),
    (ALIAS_POD, "variable", '\n      env:\n        - name: A\n          value: "a,$b"'),
    (FLOW_POD, "words", ', args: [--x, "4", "a,b", a$b]'),
    (FLOW_POD, "variable", ', env: [{name: A, value: "a,$b"}]'),
    (MODEL, "variable", "\n  env:\n    A: a,$b"),
    (FLOW_MODEL, "variable", ', env: {A: "a,$b"}'),
    (TASK, "variable", '\n    environment:\n      - name: A\n        value: "a,$b"'),
    (BIG_TASK, "variable", '\n  Environment:\n  - Name: A\n    Value: "a,$b"'),
    (JSON_TASK, "variable", ', "environment": [{"name": "A", "value": "a,$b"}]'),
    (JSON_POD, "words", ', "args": ["--x", "4", "a,b", "a$b"]'),
]


def plan(reading: Reading, what: str) -> list[Change]:
    site = reading.sites[0]
    if what == "words":
        assert site.word_home is not None
        return [InsertWords(site.word_home, WORDS)]
    assert site.variable_home is not None
    return [InsertVariable(site.variable_home, "A", VALUE)]


@pytest.mark.parametrize(("marked", "what", "added"), CASES)
def test_a_container_gets_a_key_it_had_not(marked: str, what: str, added: str) -> None:
    host: Any = json_host if marked.startswith("{") else yaml
    path = "t.json" if marked.startswith("{") else "x.yaml"
    text = marked.replace("@", "")
    reading = read(host, text, path)
    after = render(reading, text, plan(reading, what))
    assert after == marked.replace("@", added)
    (site,) = read(host, after, path).sites
    if what == "words":
        assert [w.text for w in site.words][-4:] == WORDS
    else:
        assert {v.name: v.value for v in site.variables} == {"A": VALUE}
    if host is json_host:
        json.loads(after)


@pytest.mark.parametrize(
    ("marked", "added"),
    [
        (POD, '\n    env:\n    - name: A\n      value: "1"\n    - name: B\n      value: "2"'),
        (MODEL, '\n  env:\n    A: "1"\n    B: "2"'),
        (COMPOSE, "\n    environment:\n      - A=1\n      - B=2"),
    ],
)
def test_several_variables_come_in_order(marked: str, added: str) -> None:
    text = marked.replace("@", "")
    reading = read(yaml, text, "x.yaml")
    home = reading.sites[0].variable_home
    assert home is not None
    after = render(reading, text, [InsertVariable(home, "A", "1"), InsertVariable(home, "B", "2")])
    assert after == marked.replace("@", added)


def test_an_environment_takes_no_words() -> None:
    text = POD.replace("@", "")
    reading = read(yaml, text, "x.yaml")
    home = reading.sites[0].variable_home
    assert home is not None
    with pytest.raises(CannotRender, match="cannot be added here"):
        render(reading, text, [InsertWords(home, ["--x"])])


# -- pins inside a scalar


def by_text(reading: Reading, text: str) -> Pin:
    return next(p for p in reading.pins if p.text == text)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("{repository: a/vllm, tag: v1}", "v1", "1.0", '{repository: a/vllm, tag: "1.0"}'),
        ("{repository: a/vllm, tag: 1.0}", "1.0", "v2", "{repository: a/vllm, tag: v2}"),
        ("{repository: a/vllm, tag: v1}", "v1", "a,b", None),
        ("{repository: a/vllm, tag: 'v1'}", "v1", "1.0", "{repository: a/vllm, tag: '1.0'}"),
        ('{repository: a/vllm, tag: "1.0"}', "1.0", "v2", '{repository: a/vllm, tag: "v2"}'),
        ("\n  repository: a/vllm\n  tag: v1 # why", "v1", "1.0", '\n  repository: a/vllm\n  tag: "1.0" # why'),
        ("\n  repository: a/vllm\n  tag: v1 # why", "v1", "v1", "\n  repository: a/vllm\n  tag: v1 # why"),
        (" a/vllm:v1", "a/vllm:v1", "a/vllm:v2", " a/vllm:v2"),
    ],
)
def test_a_tag_stays_text(before: str, old: str, new: str, after: str | None) -> None:
    text = f"image: {before.lstrip(' ')}\nreplicas: 1\n".replace("image: \n", "image:\n")
    reading = read(yaml, text, "values.yaml")
    change = Replace(by_text(reading, old), new)
    if after is None:
        with pytest.raises(CannotRender, match="cannot be written at this place"):
            render(reading, text, [change])
        return
    wanted = f"image: {after.lstrip(' ')}\nreplicas: 1\n".replace("image: \n", "image:\n")
    assert render(reading, text, [change]) == wanted


def test_a_pin_takes_nothing_but_another_text() -> None:
    text = "image: a/vllm:v1\n"
    reading = read(yaml, text, "values.yaml")
    with pytest.raises(CannotRender, match="only be given another text"):
        render(reading, text, [InsertText(reading.pins[0], "requirement", "x")])


# -- pins behind a variable

WORKFLOW = """\
on: push
env:
  V: 0.9.0
  W: "0.11.0"
  X: ${{ inputs.x }}
  D: "https://h/vllm/cu129"
jobs:
  a:
    env:
      V: v0.11.0
    steps:
      - run: %s
"""


@pytest.mark.parametrize(
    ("command", "old", "new", "changed"),
    [
        ("pip install vllm==${{ env.W }}", "0.11.0", "0.33.0", ('"0.11.0"', '"0.33.0"')),
        ("pip install vllm==${{env.W}}", "0.11.0", "0.33.0", ('"0.11.0"', '"0.33.0"')),
        ("pip install vllm==${W}", "0.11.0", "0.33.0", ('"0.11.0"', '"0.33.0"')),
        ("pip install vllm==$W", "0.11.0", "0.33.0", ('"0.11.0"', '"0.33.0"')),
        ("docker run vllm/vllm-openai:$V", "v0.11.0", "v0.33.0", ("V: v0.11.0", "V: v0.33.0")),
        ("docker run vllm/vllm-openai:$W-cu129", "0.11.0", "0.33.0", ('"0.11.0"', '"0.33.0"')),
        ("pip install vllm==$W.$V", None, "", ("", "")),
        ("pip install vllm==$X", None, "", ("", "")),
        ("pip install vllm==$Y", None, "", ("", "")),
    ],
)
def test_a_version_is_changed_where_the_variable_is_set(
    command: str, old: str | None, new: str, changed: tuple[str, str]
) -> None:
    text = WORKFLOW % command
    reading = read(yaml, text, ".github/workflows/a.yml")
    (pin,) = [p for p in reading.pins if p.kind in ("image", "requirement")]
    if old is None:
        assert pin.holes
        return
    assert (pin.text, pin.holes) == (old, ())
    assert pin.whole in (f"vllm=={old}", f"vllm/vllm-openai:{old}", f"vllm/vllm-openai:{old}-cu129")
    assert render(reading, text, [Replace(pin, new)]) == text.replace(*changed)
    with pytest.raises(CannotRender):
        render(reading, text, [Replace(pin, "a b")])
