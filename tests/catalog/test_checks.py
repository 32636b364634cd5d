"""Conditions of the checks after parsing: what they come to, and how they are mined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vllm_migrate.catalog import load
from vllm_migrate.catalog.checks import evaluate, names_in
from vllm_migrate.catalog.converters import UNKNOWN
from vllm_migrate.catalog.mine_checks import mine_checks
from vllm_migrate.catalog.source import Tree

SOURCE = '''
def validate_parsed_serve_args(args):
    if hasattr(args, "subparser") and args.subparser != "serve":
        return
    other(args.chat_template)
    if args.first and not args.second:
        raise TypeError("first needs second")
    if ENV.there or args.third:
        raise ValueError("depends on the machine")
    size = args.size
    if getattr(args, "many", False):
        check_many(args)
    if size is not None and size % 2 != 0:
        raise ValueError("size is odd")
    if args.text:
        raise ValueError(f"put together {args.text}")

def check_many(args):
    if args.count not in (None, 1):
        raise ValueError("one only")
    if not args.known:
        return
    if args.low <= args.port <= args.high:
        raise ValueError("overlaps")
'''


@pytest.fixture
def mined(tmp_path: Path) -> dict[str, Any]:
    folder = tmp_path / "vllm" / "entrypoints" / "openai"
    folder.mkdir(parents=True)
    (tmp_path / "vllm" / "__init__.py").write_text("")
    (folder / "cli_args.py").write_text(SOURCE)
    return mine_checks(Tree(tmp_path))


def test_only_what_the_values_decide_is_mined(mined: dict[str, Any]) -> None:
    assert list(mined) == ["first needs second", "one only", "overlaps", "size is odd", "put together …"]


@pytest.mark.parametrize(
    ("message", "values", "refused"),
    [
        ("first needs second", {"first": True, "second": None}, True),
        ("first needs second", {"first": True, "second": "x"}, False),
        ("first needs second", {"first": UNKNOWN, "second": None}, UNKNOWN),
        ("one only", {"many": True, "count": 2}, True),
        ("one only", {"count": 2}, False),
        ("overlaps", {"many": True, "known": True, "low": 1, "port": 2, "high": 3}, True),
        ("overlaps", {"many": True, "known": False, "low": 1, "port": 2, "high": 3}, False),
        ("size is odd", {"size": 3}, True),
        ("size is odd", {"size": None}, False),
        ("size is odd", {"size": "x"}, UNKNOWN),
    ],
)
def test_conditions(mined: dict[str, Any], message: str, values: dict[str, Any], refused: object) -> None:
    assert evaluate(mined[message]["when"], values) is refused


def test_names(mined: dict[str, Any]) -> None:
    assert names_in(mined["overlaps"]["when"]) == ["many", "known", "low", "port", "high"]


def test_every_check_of_the_catalog_speaks_of_options() -> None:
    catalog = load()
    for version in ("0.8.5", "0.11.0", "0.33.0"):
        release = catalog.release(version)
        names = {a.get("dest") or n.lstrip("-").replace("-", "_") for n, a in release.section("options").items()}
        for message, attrs in release.section("checks").items():
            assert set(names_in(attrs["when"])) <= names | {"grpc"}, message
