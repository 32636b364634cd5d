"""Changes of settings and variables in Python code: the module, run before and after, says what they did."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest
from python_helpers import changed

from vllm_migrate.model import (
    CannotRender,
    Change,
    Entry,
    InsertEntry,
    InsertText,
    InsertVariable,
    InsertWords,
    Item,
    Reading,
    Remove,
    Rename,
    Replace,
    Variable,
)

HEAD = "import os\nfrom vllm import LLM\n"
SETTINGS = [
    'LLM("m", y=1, x=4)\n',
    'LLM("m", x=4, y=1)\n',
    'LLM(\n    "m",\n    x=4,  # why\n    y=1,\n)\n',
    'kw = {"y": 1, "x": 4}\nLLM("m", **kw)\n',
    'kw = {"x": 4}\nLLM("m", **kw)\n',
    'kw = dict(x=4)\nLLM("m", **kw)\n',
    'kw = {}\nkw["x"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif a:\n    kw["x"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif a:\n    kw["x"] = 4\nelse:\n    kw["z"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nkw.update(x=4)\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nkw.update({"x": 4})\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nkw |= {"x": 4}\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nkw.setdefault("x", 4)\nLLM("m", **kw)\n',
    'kw = {"y": 1, **({"x": 4} if a else {})}\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif b:\n    kw["y"] = 2\nelse:\n    kw["x"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif b:\n    kw["y"] = 2\nelse:\n    kw["x"] = 4\n    kw["z"] = 5\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif b:\n    kw["y"] = 2\nelif a:\n    kw["x"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif b:\n    kw["y"] = 2\nelif a:\n    kw["x"] = 4\nelse:\n    kw["z"] = 5\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif a:\n    if not b:\n        kw["x"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif (c := a):\n    kw["x"] = 4\nLLM("m", y=c)\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nfor c in [1]:\n    kw["x"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\ntry:\n    kw["x"] = 4\nexcept KeyError:\n    raise\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif a: kw["x"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nif a: kw["z"] = 5; kw["x"] = 4\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nkw["x"] = 4; kw["z"] = 5\nLLM("m", **kw)\n',
    'kw = {"y": 1}\nkw["z"] = 5; kw["x"] = 4  # why\nLLM("m", **kw)\n',
]
VARIABLES = [
    'os.environ["x"] = "4"\nLLM("m")\n',
    'os.environ["x"] = str(4)\nLLM("m")\n',
    'os.environ.setdefault("x", "4")\nLLM("m")\n',
    'os.environ.update(x="4", y="1")\nLLM("m")\n',
    'os.environ.update({"x": "4"})\nLLM("m")\n',
    'os.environ["y"] = "1"; os.environ["x"] = "4"\nLLM("m")\n',
    'if a:\n    os.environ["x"] = "4"\nLLM("m")\n',
]
Expected = Callable[[dict[str, Any]], dict[str, Any]]


def without(held: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in held.items() if key != "x"}


EFFECTS: dict[str, Expected] = {
    "remove": without,
    "rename": lambda held: {**without(held), "n": held["x"]},
    "replace": lambda held: {**held, "x": "it's"},
    "both": lambda held: {**without(held), "n": "it's"},
    "insert": lambda held: {**held, "n": "2"},
    "swap": lambda held: {**without(held), "n": "2"},
    # What goes is not written anew.
    "twice": without,
}


def plan(item: Item, what: str) -> list[Change]:
    assert isinstance(item, (Entry, Variable)) and item.container is not None
    insert: Change = (
        InsertEntry(item.container, "n", "2", after=item)
        if isinstance(item, Entry)
        else InsertVariable(item.container, "n", "2", after=item)
    )
    plans: dict[str, list[Change]] = {
        "remove": [Remove(item)],
        "rename": [Rename(item, "n")],
        "replace": [Replace(item, "it's")],
        "both": [Rename(item, "n"), Replace(item, "it's")],
        "insert": [insert],
        "swap": [Remove(item), insert],
        "twice": [Replace(item, "7"), Remove(item)],
    }
    return plans[what]


def ran(text: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings and the environment that a module starts its engine with."""
    got: list[tuple[dict[str, Any], dict[str, str]]] = []
    import os

    module: Any = ModuleType("vllm")
    module.LLM = lambda *args, **settings: got.append((settings, dict(os.environ)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "vllm", module)
        patch.setattr(os, "environ", {})
        exec(compile(text, "a.py", "exec"), {"a": True, "b": False})
    return got[-1]


@pytest.mark.parametrize("what", EFFECTS)
@pytest.mark.parametrize("text", SETTINGS)
def test_settings(text: str, what: str) -> None:
    text = HEAD + text
    after = changed(text, lambda r: plan(next(e for s in r.sites for e in s.entries if e.key == "x"), what))
    assert ran(after)[0] == EFFECTS[what](ran(text)[0])
    assert "\n\n" not in after
    if what not in ("remove", "swap", "twice"):
        assert after.count("# why") == text.count("# why")


@pytest.mark.parametrize("what", EFFECTS)
@pytest.mark.parametrize("text", VARIABLES)
def test_variables(text: str, what: str) -> None:
    text = HEAD + text

    def made(reading: Reading) -> list[Change]:
        found = [*reading.variables, *(v for s in reading.sites for v in s.variables)]
        return plan(next(v for v in found if v.name == "x"), what)

    after = changed(text, made)
    assert ran(after)[1] == EFFECTS[what](ran(text)[1])
    assert ("import os" in after) == ("os." in after.partition("LLM")[2])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('LLM("m", **kw)', 'LLM("m", n=[1, "a"], **kw)'),
        ("LLM(**kw)", 'LLM(**kw, n=[1, "a"])'),
        ("LLM(**kw, **kx)", 'LLM(**kw, **kx, n=[1, "a"])'),
        ('LLM("m", x=4, **kw)', 'LLM("m", x=4, n=[1, "a"], **kw)'),
        ('LLM("m",\n    **kw,\n)', 'LLM("m",\n    n=[1, "a"],\n    **kw,\n)'),
        ('LLM("m", x=4)', 'LLM("m", x=4, n=[1, "a"])'),
        ('LLM(\n    "m",\n    x=4,  # c\n)', 'LLM(\n    "m",\n    x=4,  # c\n    n=[1, "a"],\n)'),
        ('LLM(\n    "m",\n    x=4  # c\n)', 'LLM(\n    "m",\n    x=4,  # c\n    n=[1, "a"]\n)'),
        ("LLM(*a)", 'LLM(*a, n=[1, "a"])'),
        ("LLM()", 'LLM(n=[1, "a"])'),
    ],
)
def test_a_new_setting_stands_last_but_before_what_is_spread(before: str, after: str) -> None:
    def made(reading: Reading) -> Sequence[Change]:
        home = reading.sites[0].entry_home
        assert home is not None
        return [InsertEntry(home, "n", [1, "a"])]

    assert changed(HEAD + before + "\n", made) == HEAD + after + "\n"


@pytest.mark.parametrize(
    ("text", "change", "why"),
    [
        ('LLM("m", x=4)\n', lambda e: Rename(e, "y-z"), "y-z cannot be a keyword"),
        ('kw = dict(x=4)\nLLM("m", **kw)\n', lambda e: Rename(e, "y-z"), "y-z cannot be a keyword"),
        ('LLM("m", x=4)\n', lambda e: InsertText(e, "step", "RUN x"), "cannot be added to Python code"),
        ('LLM("m", x=4)\n', lambda e: InsertText(e, "requirement", "x"), None),
        ('kw = {}\nkw["x"] = 4\nLLM("m", **kw)\n', lambda e: InsertWords(e.container, ["--x"], after=e), None),
    ],
)
def test_what_cannot_be_written_in_python(text: str, change: Any, why: str | None) -> None:
    with pytest.raises(CannotRender, match=why):
        changed(HEAD + text, lambda r: [change(next(e for e in r.sites[0].entries if e.key == "x"))])


def test_an_import_goes_with_its_last_use_and_no_other() -> None:
    text = 'import json\nimport os\nfrom vllm import LLM\nos.environ["x"] = "4"\nLLM("m")\n'

    def made(reading: Reading) -> list[Change]:
        return [Remove(next(v for s in reading.sites for v in s.variables if v.name == "x"))]

    assert changed(text, made) == 'import json\nfrom vllm import LLM\nLLM("m")\n'
