"""Items of lists and whole lines of the small formats: what goes leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest
from small_hosts import items, read, render

from vllm_migrate.hosts import dockerfile, ini, toml
from vllm_migrate.hosts.listed import whole_lines
from vllm_migrate.model import (
    CannotRender,
    Change,
    InsertEntry,
    InsertText,
    InsertWords,
    Reading,
    Remove,
    Rename,
    Replace,
)
from vllm_migrate.text import apply_edits


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a\nX\nb\n", "a\nb\n"),
        ("X\nb\n", "b\n"),
        ("a\nX\n", "a\n"),
        ("a\nX", "a"),
        ("X", ""),
        ("X\n", ""),
        # One of two blank lines that would meet goes too, and one at the start.
        ("a\n\nX\n\nb\n", "a\n\nb\n"),
        ("a\n \nX\n\t\nb\n", "a\n \nb\n"),
        ("X\n\nb\n", "b\n"),
        ("a\n\nX\nb\n", "a\n\nb\n"),
        ("a\nX\n\nb\n", "a\n\nb\n"),
        ("a\n\nX\n", "a\n\n"),
        ("a\n\nX", "a\n"),
    ],
)
def test_lines_go_with_their_line_end(text: str, after: str) -> None:
    for newline in ("\n", "\r\n", "\r"):
        whole, wanted = text.replace("\n", newline), after.replace("\n", newline)
        for part in ("X", "X1" + newline + "  X2"):
            here = whole.replace("X", part)
            start = here.index("X")
            assert apply_edits(here, [whole_lines(here, start, start + len(part))]) == wanted


Plan = Callable[[dict[str, Any]], Sequence[Change]]


def named(reading: Reading) -> dict[str, Any]:
    """Return the items by their name, or by their text; a container by `home`."""
    found: dict[str, Any] = {getattr(i, "name", "") or getattr(i, "text", ""): i for i in items(reading)}
    found["home"] = reading.sites[0].word_home if reading.sites else None
    return found


UNIT = "[Service]\nExecStart=/bin/vllm serve %s\n"
PROJECT = "[project]\ndependencies = [%s]\n"


@pytest.mark.parametrize(
    ("host", "text", "plan", "after"),
    [
        # Run-time parts stay as they are written, or become others.
        (ini, UNIT % "m --x=${A}", lambda i: [Replace(i["--x=\ue000"], "--y=\ue000")], UNIT % "m --y=${A}"),
        (ini, UNIT % "m --x=${A}", lambda i: [Replace(i["--x=\ue000"], "--x=\ue000", ("${B}",))], UNIT % "m --x=${B}"),
        (ini, UNIT % "m --x=${A}", lambda i: [Replace(i["--x=\ue000"], "--x=\ue000", ("${A}",))], UNIT % "m --x=${A}"),
        (dockerfile, "FROM a\nENV A=$B/x C=1\n", lambda i: [Replace(i["A"], "\ue000/y")], "FROM a\nENV A=$B/y C=1\n"),
        (dockerfile, "FROM a\nENV A=$B/x\n", lambda i: [Replace(i["A"], "\ue000/x", ("$D",))], "FROM a\nENV A=$D/x\n"),
        (dockerfile, "FROM a\nENV A=$B/x\n", lambda i: [Rename(i["A"], "N")], "FROM a\nENV N=$B/x\n"),
        # What comes first, between and last.
        (ini, UNIT % "m --x", lambda i: [InsertWords(i["home"], ["--n", "1"], before=i["m"])], UNIT % "--n 1 m --x"),
        (ini, UNIT % "m --x", lambda i: [InsertWords(i["home"], ["--n", "1"], before=i["--x"])], UNIT % "m --n 1 --x"),
        (ini, UNIT % "m --x", lambda i: [InsertWords(i["home"], ["--n", "1"], after=i["m"])], UNIT % "m --n 1 --x"),
        (ini, UNIT % "m --x", lambda i: [InsertWords(i["home"], ["--n", "1"])], UNIT % "m --x --n 1"),
        # A part of an item that goes is not written anew.
        (
            toml,
            PROJECT % '"vllm==1", "ray"',
            lambda i: [Replace(i["vllm"], "vllm==2"), Remove(i["vllm"])],
            PROJECT % '"ray"',
        ),
        (
            toml,
            PROJECT % '"vllm==1", "ray"',
            lambda i: [Replace(i["vllm"], "vllm==2"), Remove(i["ray"])],
            PROJECT % '"vllm==2"',
        ),
        (
            toml,
            PROJECT % '"a", "b"',
            lambda i: [Remove(i["a"]), Remove(i["b"]), InsertText(i["a"], "requirement", "c")],
            PROJECT % '"c"',
        ),
    ],
)
def test_items_change(host: ModuleType, text: str, plan: Plan, after: str) -> None:
    name = {ini: "a.service", toml: "pyproject.toml", dockerfile: "Dockerfile"}[host]
    reading = read(host, text, name)
    assert render(reading, text, plan(named(reading))) == after


@pytest.mark.parametrize(
    ("host", "text", "plan", "why"),
    [
        (toml, PROJECT % '"a"', lambda i: [Remove(i["a"])], "nothing would be left of the list"),
        (toml, PROJECT % '"a"', lambda i: [Rename(i["a"], "b")], "only a variable has a name here"),
        (ini, UNIT % "m --x", lambda i: [InsertEntry(i["home"], "a", 1)], "cannot be added to this list"),
        (ini, UNIT % "m --x", lambda i: [Replace(i["--x"], "a\nb")], "cannot be written in this format"),
        (dockerfile, "FROM a\nENV A=1\n", lambda i: [Replace(i["A"], "a\rb")], "cannot be written in this format"),
    ],
)
def test_what_a_list_does_not_take(host: ModuleType, text: str, plan: Plan, why: str) -> None:
    name = {ini: "a.service", toml: "pyproject.toml", dockerfile: "Dockerfile"}[host]
    reading = read(host, text, name)
    with pytest.raises(CannotRender, match=why):
        render(reading, text, plan(named(reading)))


def test_an_item_of_another_reading_is_no_member() -> None:
    for host, text, name in [(ini, UNIT % "m --x", "a.service"), (toml, PROJECT % '"a", "b"', "pyproject.toml")]:
        here, other = read(host, text, name), read(host, text, name)
        one, two = items(here)[-1], items(other)[-1]
        assert one.container is not None
        with pytest.raises(CannotRender, match="not part of this list"):
            one.container.edits([Remove(two)])
