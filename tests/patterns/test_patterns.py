"""No regular expression of the package can keep it busy: each takes time linear in its text, whatever the text."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ambiguity import growth
from collect import Use, modules, uses

from vllm_migrate.globs import path_matches
from vllm_migrate.patterns import Pattern, PatternError

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
EACH_QUOTE_ONCE = {
    # A quote that nothing closes is the last of its kind: the next one would close it.
    r"\\.|(?<!<)(?<!<-)(?:\"(?:\\.|[^\"\\])*\"|'[^']*')",
}


def data(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


TOOLCHAINS = ("other_device", "not_compiled", "source_build")
MADE: dict[str, list[dict[str, Any]]] = {
    # What is put together when it runs, by module: the names it is made of, with values as they may come.
    "catalog.mine_hints": [{"value": "name"}],
    "chart_keys": [{"loop": ["", "$key"]}],
    "distribution": [{"data": data("images.json")}],
    "engine": [{"mark": mark} for mark in (r"^<{7} ", r"^={7}\r?$", r"^>{7} ")],
    "hosts.dockerfile": [{"legacy": True}, {"legacy": False}],
    "hosts.dockerfile_lines": [{"mark": r"\\"}, {"mark": "`"}],
    "hosts.dockerfile_values": [{"escape": "\\"}],
    "hosts.hcl_scan": [{"opened": {"mark": "EOF"}}],
    "hosts.helm_filled": [{"name": "a.b"}],
    "hosts.ini": [{"pattern": SimpleNamespace(pattern=r"^(?P<key>[\w-]+)[ \t]*=[ \t]*(?![ \t])(?:\r?\n)?[^\r\n]*")}],
    "hosts.listing": [{"parts": r"[ \t]*(?:,[ \t]*)?(?:\\[ \t]*)?(?:\#[^\r\n]*)?"}],
    "hosts.makefile": [{"form": r"\{\{\s*name\s*\}\}"}, {"form": r"\$(?:\(name\)|\{name\})"}],
    "hosts.markdown_blocks": [{"fence": "```"}, {"fence": "~~~~"}],
    "hosts.python_statements": [{"name": "os"}],
    "hosts.python_strings": [{"prefix": "option."}],
    "hosts.shell_guest": [{"name": "a\\.yaml"}],
    "hosts.spread": [{"name": "ARGS"}],
    "hosts.yaml_comments": [{"key": "a-b"}],
    "hosts.yaml_containers": [{"name": "TAG"}],
    "launch": [{"data": data("launchers.json")}],
    "hosts.hcl_text": [{"parts": ["\ue000", r"\$\{var\.x\}"]}],
    "rules.build": [{"row": row} for row in data("toolchains.json")["paths"]],
    "rules.source_build": [
        *({"row": row} for row in data("toolchains.json")["distributions"]),
        *({"p": p} for key in TOOLCHAINS for p in data("toolchains.json")[key]),
    ],
    "rules.wheel_moves": [{"wheel": SimpleNamespace(version="0.8.0", channel="cu128")}],
    "versions": [
        {"k": "x86_64"},
        *({"mark": m} for marks in data("images.json")["devices"].values() for m in marks),
    ],
}
TRUSTED = {
    "answers": "the standard library keeps each part of what it makes of `*` for itself",
    "rules.models": "the same",
    "catalog.source": "its callers' patterns are their own",
    "globs": "few places of it repeat, see the test below",
    "schemacheck": "patterns of our own schemas, see the test below",
}
ALL = uses()


def made(use: Use) -> list[Use]:
    out = []
    for names in MADE.get(use.module, ()):
        try:
            pattern = eval(use.text, {**vars(modules()[f"vllm_migrate.{use.module}"]), **names})
        except NameError:
            continue
        out.append(replace(use, pattern=pattern))
    return out


def test_every_pattern_made_at_run_time_is_known() -> None:
    unknown = [u for u in ALL if u.pattern is None and not made(u) and u.module not in TRUSTED]
    assert not unknown
    assert len(ALL) > 600


def test_no_pattern_takes_longer_than_its_text_is_long() -> None:
    every = [u for use in ALL for u in ([use] if use.pattern is not None else made(use))]
    seen = {(u.pattern, u.flags, u.how): u for u in every if u.pattern not in EACH_QUOTE_ONCE}
    slow = [f"{use.where}: {grows}: {use.pattern!r}" for use in seen.values() if (grows := use.growth()).power != 1]
    assert not slow, "\n".join(slow)


def patterns_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "pattern" and isinstance(inner, str):
                yield inner
            elif key == "patternProperties":
                yield from inner
            yield from patterns_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from patterns_of(inner)


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.schema.json")), ids=lambda p: p.name)
def test_schemas_ask_nothing_that_takes_long(path: Path) -> None:
    for pattern in patterns_of(json.loads(path.read_text(encoding="utf-8"))):
        assert growth(pattern).power == 1, pattern


def test_patterns_of_data_are_matched_by_an_engine_that_tries_all_ways_at_once() -> None:
    for path in (SCHEMAS / "migrations").glob("*.json"):
        for entry in json.loads(path.read_text(encoding="utf-8"))["migrations"]:
            for case in entry.get("cases", ()):
                if "pattern" in case.get("when", {}):
                    assert not Pattern(case["when"]["pattern"]).fits("\0")
    for path in (SCHEMAS / "wrappers").glob("*.json"):
        for entry in json.loads(path.read_text(encoding="utf-8"))["wrappers"]:
            for text in (entry.get("variables") or {}).get("beside", {}).values():
                assert not Pattern(text).fits("\0")


@pytest.mark.parametrize(
    ("pattern", "how", "power"),
    [
        (r"(a+)+b", {}, 0),
        (r"(a|a)*b", {}, 0),
        (r"(a*b*)*c", {}, 0),
        (r'"(?:[^"\\]+|\\.)*"', {"search": False}, 0),
        (r"(?:\s|\\\n|--?\S+)+$", {}, 0),
        (r"a*a*b", {"search": False}, 2),
        (r"(.*?),(.*?),(.*?)x", {"search": False}, 3),
        (r"\w+=", {}, 2),
        (r"\s+$", {}, 2),
        (r"#.*$", {}, 2),
        (r"(?m)#.*$", {}, 1),
        (r"\b\w+=", {}, 1),
        (r"(?<!\w)\w+=", {}, 1),
        (r"\w+=", {"search": False}, 1),
        (r"\s*(.*)", {}, 1),
        (r"\s*(?!\s)(.*)x", {"search": False}, 1),
        (r'"(?:[^"\\]|\\.)*"', {"search": False}, 1),
        (r"(?:[ \t\n]|#[^\n]*)*", {"search": False}, 1),
        (r"(?:[ \t\n]|#[^\n]*)*,", {"search": False}, 0),
        (r"(?:[ \t\n]|#[^\n]*(?=\n|\Z))*,", {"search": False}, 1),
        (r"x(?= *y)", {}, 1),
        (r"x(?=\w*y)", {}, 2),
        (r"(?=\w*y)x", {}, 2),
    ],
)
def test_growth_is_told_from_the_pattern(pattern: str, how: dict[str, bool], power: int) -> None:
    assert growth(pattern, **how).power == power


def test_a_path_pattern_with_many_stars_is_no_trap() -> None:
    # Each of these would take Python's engine longer than the world has stood.
    assert not path_matches("*a*a*a*a*a*a*a*a*a*a*b", "a" * 250)
    assert not path_matches("**/a/**/a/**/a/**/a/**/b", "a/" * 500 + "c")
    assert path_matches("*a*a*a*a*a*a*a*a*a*a*b", "a" * 250 + "b")
    assert not fnmatch.fnmatchcase("a" * 5_000, "*a*a*a*a*a*a*b")


@pytest.mark.parametrize(
    ("pattern", "fits", "not_"),
    [
        (r"\d+(?: +\d+)+", ["1 2", "1  22 3"], ["1", "1 2 ", ""]),
        ("vllm|auto|lmi-dist", ["vllm", "auto"], ["vllmauto", ""]),
        (".*vllm.*", ["a vllm b", "vllm"], ["vll", "a\nvllm"]),
        ("(?i)true", ["TRUE"], ["truest"]),
        ("(?s)a.b", ["a\nb"], []),
        ("^a{2,3}b?$", ["aa", "aaab"], ["a", "aaaa"]),
        ("(a|b){2}", ["ab", "ba"], ["a", "aba"]),
        ("[^]x]", ["a"], ["x", "]"]),
        ("(a+)+b", ["ab"], ["a" * 9_000]),
        ("", [""], ["a"]),
    ],
)
def test_all_ways_at_once(pattern: str, fits: list[str], not_: list[str]) -> None:
    assert all(Pattern(pattern).fits(text) for text in fits)
    assert not any(Pattern(pattern).fits(text) for text in not_)
    assert all(re.fullmatch(pattern, text) for text in fits)


@pytest.mark.parametrize(
    "pattern",
    ["(a", "a)", "*a", "a**", "(?=a)", r"\bx", "a{9999}", "(" * 2000 + ")" * 2000, "[a", "a{2,1}", r"(\d)\1", "a^b"],
)
def test_what_is_not_understood_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Pattern(pattern)
