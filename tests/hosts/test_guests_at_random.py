"""Launches inside notebooks, documents and other texts: what is read after an edit is what was planned."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_hosts import check_identity, read, render

from vllm_migrate.hosts import markdown, notebook
from vllm_migrate.hosts.shell_quote import quote
from vllm_migrate.model import Change, InsertEntry, InsertWords, Remove, Replace

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
    assert not again.problems and notebook.verify(after) is None
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
