"""Launches inside notebooks, documents and other texts: what is read after an edit is what was planned."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_hosts import check_identity, items, read, render

from vllm_migrate.hosts import Context, host_for, markdown, notebook, terraform
from vllm_migrate.hosts.shell_quote import quote
from vllm_migrate.model import Change, InsertEntry, InsertWords, Remove, Rename, Replace
from vllm_migrate.text import Region, Source

TEXTS = ["--x", "4", "a b", 'say "hi"', "it's", "100%", '{"a": [1]}', "ü", "back\\slash"]
VALUES: list[Any] = [4, 0.5, True, "half", 'say "hi"', "ü\u2028", None]


def notebook_of(source: str, listed: bool, indent: int | None, escaped: bool) -> str:
    cells = [
        {"cell_type": "code", "outputs": [{"text": [source]}], "source": ["import os\n", "x = 1"]},
        {"cell_type": "code", "source": source.splitlines(keepends=True) if listed else source},
        {"cell_type": "code", "source": []},
        {"cell_type": "code", "source": ["y = 'é'\n"]},
    ]
    return json.dumps({"cells": cells, "metadata": {}}, indent=indent, ensure_ascii=escaped) + "\n"


def outside(text: str) -> Any:
    """Return a notebook without the source of its second cell."""
    data = json.loads(text)
    data["cells"][1]["source"] = None
    return data


SHAPES = {"listed": st.booleans(), "indent": st.sampled_from([None, 1, 2]), "escaped": st.booleans()}


def command_of(words: list[str], breaks: list[bool]) -> str:
    spelled = [str(quote(w)) for w in words]
    return "vllm serve m" + "".join((" \\\n    " if b else " ") + w for w, b in zip(spelled, breaks, strict=False))


BREAKS = st.lists(st.booleans(), min_size=6, max_size=6)
WORDS = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6)


def change_words(host: ModuleType, text: str, path: str, words: list[str], data: st.DataObject) -> str:
    """Draw changes of the only launch, make them, check what is read then; return the new text."""
    found = read(host, text, path)
    check_identity(found, text)
    (site,) = found.sites
    assert [w.text for w in site.words] == ["m", *words]
    changes: list[Change] = []
    expected = ["m"]
    for word in site.words[1:]:
        what = data.draw(st.sampled_from(["keep", "keep", "remove", "replace"]))
        if what == "remove":
            changes.append(Remove(word))
            continue
        new = data.draw(st.sampled_from(TEXTS)) if what == "replace" else word.text
        changes += [Replace(word, new)] if what == "replace" else []
        expected.append(new)
    if data.draw(st.booleans()):
        assert site.word_home is not None
        changes.append(InsertWords(site.word_home, ["--new", "v 1"]))
        expected += ["--new", "v 1"]
    after = render(found, text, changes)
    again = read(host, after, path)
    assert not again.problems
    assert [w.text for w in again.sites[0].words] == expected
    return after


@settings(max_examples=150, deadline=None)
@given(WORDS, BREAKS, st.fixed_dictionaries(SHAPES), st.sampled_from(["%%bash\n", "!"]), st.booleans(), st.data())
def test_commands_of_notebooks(
    words: list[str], breaks: list[bool], shape: dict[str, Any], magic: str, more: bool, data: st.DataObject
) -> None:
    source = magic + command_of(words, breaks) + ("\necho done\n" if more and magic != "!" else "")
    text = notebook_of(source, **shape)
    after = change_words(notebook, text, "a.ipynb", words, data)
    assert outside(after) == outside(text)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=5),
    st.booleans(),
    st.fixed_dictionaries(SHAPES),
    st.booleans(),
    st.data(),
)
def test_calls_of_notebooks(
    values: list[Any], spread: bool, shape: dict[str, Any], apart: bool, data: st.DataObject
) -> None:
    pairs = [f"k{i}={v!r}" for i, v in enumerate(values)]
    inside = "".join(f"\n    {p}," for p in pairs) + "\n" if spread else ", ".join(pairs)
    call = f"kw = dict({inside})\nllm = LLM('m', **kw)" if apart else f"llm = LLM({inside})"
    text = notebook_of(f"%matplotlib inline\nfrom vllm import LLM\n!ls\n{call}", **shape)
    found = read(notebook, text, "a.ipynb")
    (site,) = found.sites
    entries = [e for e in site.entries if e.key.startswith("k")]
    assert [e.value for e in entries] == values
    changes: list[Change] = []
    expected: dict[str, Any] = {}
    for entry in entries:
        what = data.draw(st.sampled_from(["keep", "remove", "replace"]))
        if what == "remove":
            changes.append(Remove(entry))
            continue
        value = data.draw(st.sampled_from(VALUES)) if what == "replace" else entry.value
        changes += [Replace(entry, value)] if what == "replace" else []
        expected[entry.key] = value
    if data.draw(st.booleans()):
        home = entries[0].container if apart else site.entry_home
        assert home is not None
        changes.append(InsertEntry(home, "k_new", "v"))
        expected["k_new"] = "v"
    after = render(found, text, changes)
    again = read(notebook, after, "a.ipynb")
    assert not again.problems and notebook.verify(Source.of(after)) is None
    assert {e.key: e.value for e in again.sites[0].entries if e.key.startswith("k")} == expected
    assert outside(after) == outside(text)


@pytest.mark.parametrize("lead", ["", "   ", "> ", "1. ", "\t"])
@settings(max_examples=60, deadline=None)
@given(WORDS, BREAKS, st.sampled_from(["", "$ "]), st.booleans(), st.data())
def test_commands_of_documents(
    lead: str, words: list[str], breaks: list[bool], prompt: str, crlf: bool, data: st.DataObject
) -> None:
    prefix = "   " if lead == "1. " else lead
    body = f"{prompt}export A=1\n{prompt}{command_of(words, breaks)}"
    lines = [f"{lead}```bash", *(prefix + line for line in body.split("\n")), f"{prefix}```", "", "vllm after"]
    text = "\n".join(["# vllm", "", *lines, ""])
    text = text.replace("\n", "\r\n") if crlf else text
    after = change_words(markdown, text, "README.md", words, data)
    assert ("\n" not in after.replace("\r\n", "")) is crlf
    shown = after.replace("\r\n", "\n").split("\n")
    head, tail = 4, 4
    assert shown[:head] == ["# vllm", "", f"{lead}```bash", f"{prefix}{prompt}export A=1"]
    assert shown[-tail:] == [f"{prefix}```", "", "vllm after", ""]
    assert all(line.startswith(prefix) for line in shown[head:-tail])


def hcl(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@settings(max_examples=150, deadline=None)
@given(
    WORDS,
    st.lists(st.sampled_from(["", "\n      ", " # note\n      ", "\n      // note\n      "]), min_size=7, max_size=7),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_lists_of_terraform(words: list[str], gaps: list[str], comma: bool, crlf: bool, data: st.DataObject) -> None:
    items = ",".join(gap + hcl(w) for w, gap in zip(["m", *words], gaps, strict=False))
    text = (
        'resource "a" "vllm" {\n  container {\n    command = ["vllm", "serve"]\n    args = ['
        + items
        + ("," if comma else "")
        + "\n    ]\n    port = 1\n  }\n}\n"
    )
    text = text.replace("\n", "\r\n") if crlf else text
    after = change_words(terraform, text, "main.tf", words, data)
    assert ("\n" not in after.replace("\r\n", "")) is crlf
    assert after.replace("\r\n", "\n").endswith("]\n    port = 1\n  }\n}\n")


@settings(max_examples=100, deadline=None)
@given(WORDS, BREAKS, st.sampled_from(["", "-"]), st.booleans(), st.data())
def test_scripts_of_terraform(words: list[str], breaks: list[bool], dash: str, crlf: bool, data: st.DataObject) -> None:
    lines = ["#!/bin/sh", "%{ if var.x ~}", *command_of(words, breaks).split("\n"), "%{ endif ~}", "echo ${var.y}"]
    indent = "    " if dash else ""
    text = f"user_data = <<{dash}EOT\n" + "".join(f"{indent}{line}\n" for line in lines) + f"{indent}EOT\n"
    text = text.replace("\n", "\r\n") if crlf else text
    after = change_words(terraform, text, "main.tf", words, data)
    assert ("\n" not in after.replace("\r\n", "")) is crlf
    for line in (lines[0], lines[1], lines[-2], lines[-1], "EOT"):
        assert f"{indent}{line}\n" in after.replace("\r\n", "\n")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["1", "a b", 'q"q', "", "ü"]), min_size=1, max_size=4),
    st.sampled_from(["blocks", "map", "object", "objects", "strings"]),
    st.booleans(),
    st.data(),
)
def test_environments_of_terraform(values: list[str], shape: str, crlf: bool, data: st.DataObject) -> None:
    pairs = [(f"V{i}", hcl(v)) for i, v in enumerate(values)]
    if shape == "blocks":
        env = "".join(f'    env {{\n      name  = "{n}"\n      value = {v}\n    }}\n' for n, v in pairs)
    elif shape == "map":
        env = "    env {\n" + "".join(f"      {n} = {v}\n" for n, v in pairs) + "    }\n"
    elif shape == "object":
        env = "    environment = { " + ", ".join(f"{n} = {v}" for n, v in pairs) + " }\n"
    elif shape == "objects":
        env = "    environment = [" + ", ".join(f'{{ name = "{n}", value = {v} }}' for n, v in pairs) + "]\n"
    else:
        env = "    env = [" + ", ".join(hcl(f"{n}={json.loads(v)}") for n, v in pairs) + "]\n"
    image = 'image = "vllm/vllm-openai:v0.9.0"'
    text = f'x "vllm" {{\n  container {{\n    {image}\n{env}    args = ["--model", "m"]\n  }}\n}}\n'
    text = text.replace("\n", "\r\n") if crlf else text
    found = read(terraform, text, "main.tf")
    (site,) = found.sites
    assert [(v.name, v.value) for v in site.variables] == [(f"V{i}", v) for i, v in enumerate(values)]
    check_identity(found, text)
    changes: list[Change] = []
    expected: list[tuple[str, str | None]] = []
    for variable in site.variables:
        what = data.draw(st.sampled_from(["keep", "remove", "replace", "rename"]))
        if what == "remove":
            changes.append(Remove(variable))
            continue
        changes += [Replace(variable, "n ${x}")] if what == "replace" else []
        changes += [Rename(variable, variable.name + "_NEW")] if what == "rename" else []
        expected.append(
            (variable.name + ("_NEW" if what == "rename" else ""), "n ${x}" if what == "replace" else variable.value)
        )
    after = render(found, text, changes)
    again = read(terraform, after, "main.tf")
    assert [(v.name, v.value) for v in again.sites[0].variables] == expected
    assert ("\n" not in after.replace("\r\n", "")) is crlf
    assert "[]" not in after and "{}" not in after.replace(" ", "").replace("\r\n", "").replace("\n", "")


SAMPLES = {
    "a.ipynb": notebook_of("%%bash\nvllm serve m \\\n  --a '1'\n%env VLLM_X=1\n!vllm serve {m[0]} --b", True, 1, True),
    "README.md": "<!-- vllm -->\n> ```bash\n> $ vllm serve <m> \\\n>  --a 1\n> ```\n\n1. x\n"
    "\n\n   ~~~yaml\n   args: [--a]\n   ~~~\n",
    "guide.rst": ".. code-block:: python\n   :linenos:\n\n   from vllm import LLM\n   LLM('m')\n\nend\n",
    "main.tf": 'x "y" {\n  a = <<-E\n    vllm serve ${m} --a %{ if x }"\n  E\n'
    '  args = concat(["a\\n", 1], var.x) // c\n}\n',
    "boot.sh.tftpl": "vllm serve ${m} --a $${X}\n%{ if y }\n",
}


@pytest.mark.parametrize("path", SAMPLES)
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_text_is_too_odd(path: str, data: st.DataObject) -> None:
    text = SAMPLES[path]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 8)))
        text = (
            text[:start]
            + data.draw(st.sampled_from(["", '"', "\n", "\\", "${", "}", "[", "```", "%", "\r", "ü"]))
            + text[end:]
        )
    host = host_for(path, "")
    assert host is not None
    found = host.read(Region.whole(Source.of(text, path)), Context(path))
    for item in items(found):
        assert 0 <= item.place.start <= item.place.end <= len(text)
