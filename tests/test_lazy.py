"""What is made at first use behaves as what is made at once."""

from __future__ import annotations

import ast
import dataclasses
import re
from dataclasses import field
from pathlib import Path

import pytest

from vllm_migrate.lazy import dataclass, regex


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    wrong = regex("(")
    with pytest.raises(re.error):
        wrong.match("x")


def test_a_pattern_has_the_methods_of_a_pattern() -> None:
    word = regex(r"(?P<first>[a-z])\w*", re.I)
    assert word.fullmatch("Abc") is not None
    assert [m["first"] for m in word.finditer("one Two")] == ["o", "T"]
    assert word.sub("-", "one two") == "- -"
    assert word.groups == 1 and word.pattern == r"(?P<first>[a-z])\w*"
    assert regex(rb"\d+").findall(b"1 22") == [b"1", b"22"]


@dataclass(frozen=True)
class Base:
    name: str
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Derived(Base):
    count: int = field(default=0, kw_only=True)


@dataclass(frozen=True, order=True)
class Place:
    __slots__ = ("line", "note")

    line: int
    note: str


@dataclass
class Loose:
    line: int
    seen: list[Loose] = field(default_factory=list, compare=False)
    hidden: str = field(default="", repr=False)


@dataclass(eq=False)
class Waiting:
    name: str = ""

    def __post_init__(self) -> None:
        self.name += "!"


def test_a_data_class_is_as_the_standard_library_makes_it() -> None:
    one = Derived("a", count=2)
    assert one == Derived("a", [], count=2) and one != Derived("b", count=2)
    assert repr(one) == "Derived(name='a', tags=[], count=2)"
    assert [f.name for f in dataclasses.fields(one)] == ["name", "tags", "count"]
    assert dataclasses.replace(one, count=3).count == 3
    assert Base("a").tags is not Base("a").tags and one != Base("a")
    with pytest.raises(TypeError):
        Base()  # type: ignore[call-arg]


def test_what_does_not_change_has_a_hash_and_an_order() -> None:
    places = {Place(2, "a"), Place(1, "b"), Place(2, "a")}
    assert sorted(places) == [Place(1, "b"), Place(2, "a")]
    assert Place(1, "b") <= Place(1, "b") < Place(1, "c") and Place(2, "a") > Place(1, "b") >= Place(1, "b")
    assert not hasattr(Place(1, "b"), "__dict__")
    with pytest.raises(TypeError):
        assert Place(1, "b") < 3  # type: ignore[operator]


def test_what_changes_has_none() -> None:
    loose = Loose(1)
    loose.seen.append(loose)
    assert loose == Loose(1) and loose != Loose(1, hidden="x")
    assert repr(loose) == "Loose(line=1, seen=[...])"
    with pytest.raises(TypeError):
        hash(loose)


def test_a_data_class_waits_for_its_first_instance() -> None:
    assert not dataclasses.is_dataclass(Waiting)
    first, second = Waiting("a"), Waiting("a")
    assert first.name == "a!" and first != second
    assert dataclasses.is_dataclass(Waiting)


def _at_import(node: ast.AST) -> list[ast.AST]:
    """Return the nodes that run when a module is imported."""
    out = [node]
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda)):
            out += _at_import(child)
    return out


_AT_ONCE = {"interp_values.py"}
"""Modules that ask a class for its fields before it has an instance."""


def test_data_classes_wait_in_every_module() -> None:
    found = []
    for path in sorted((Path(__file__).parents[1] / "vllm_migrate").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "dataclasses" and path.name != "lazy.py":
                found += [path.name for alias in node.names if alias.name == "dataclass"]
    assert set(found) == _AT_ONCE


def test_no_module_compiles_a_pattern_when_it_is_imported() -> None:
    found = []
    for path in sorted((Path(__file__).parents[1] / "vllm_migrate").rglob("*.py")):
        for node in _at_import(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
                found.append(f"{path.name}:{node.lineno}")
    assert found == []
