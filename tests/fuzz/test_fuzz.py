"""Files made odd: whatever stands in them, what `properties.py` says holds. `benchmarks/fuzz.py` runs it for hours."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from random import Random

import mutations
import properties
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
KEPT = sorted((Path(__file__).parent / "kept").iterdir())
LARGEST = 1500
"""Letters of a fixture that is made odd here."""


@lru_cache(maxsize=1)
def pools() -> dict[str, list[tuple[str, bytes]]]:
    """Return the short files of the fixtures by the host that reads them."""
    out: dict[str, list[tuple[str, bytes]]] = {}
    for folder in sorted(FIXTURES.glob("*/*/before")):
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.stat().st_size <= LARGEST):
            name, raw = path.relative_to(folder).as_posix(), path.read_bytes()
            host = properties.host_of(name, raw)
            if host:
                out.setdefault(host, []).append((name, raw))
    return out


HOSTS = (
    "dockerfile", "envfile", "groovy", "helm", "ini", "json", "makefile", "markdown", "notebook", "python",
    "requirements", "shell", "template", "terraform", "toml", "yaml",
)  # fmt: skip


def test_every_format_has_something_to_start_from() -> None:
    assert set(HOSTS) <= set(pools())


@pytest.mark.parametrize("host", HOSTS)
@settings(max_examples=6, deadline=None)
@given(st.data())
def test_files_made_odd(host: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    name, raw = data.draw(st.sampled_from(pools()[host]))
    rng = Random(data.draw(st.integers(0, 2**32)))
    odd = mutations.mutate(rng, raw, [other for _, other in pools()[host]])
    config = data.draw(st.sampled_from(properties.SETTINGS))
    root = tmp_path_factory.mktemp("root")
    assert properties.examine({name: odd}, root, config, limits=properties.Limits(base=60.0), deep=False) == [], odd


@pytest.mark.parametrize("host", HOSTS)
@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_bytes(host: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    name, raw = data.draw(st.sampled_from(pools()[host]))
    part = st.one_of(
        st.binary(max_size=12),
        st.sampled_from([*mutations.ODD_BYTES, *(n.encode() for n in mutations.NEWLINES)]),
        st.sampled_from([t.encode() for t in mutations.TOKENS]),
        st.integers(0, len(raw)).flatmap(lambda i: st.just(raw[i : i + 40])),
    )
    odd = b"".join(data.draw(st.lists(part, max_size=12)))
    root = tmp_path_factory.mktemp("root")
    assert properties.examine({name: odd}, root, limits=properties.Limits(base=60.0), deep=False) == [], odd


@pytest.mark.parametrize("path", KEPT, ids=lambda p: p.name)
def test_what_once_broke(path: Path, tmp_path: Path) -> None:
    """Files of `kept/` are what `benchmarks/fuzz.py` found, made small: a line of JSON, then the bytes."""
    head, _, body = path.read_bytes().partition(b"\n")
    spec = json.loads(head)
    files: dict[str, bytes] = {}
    for name, length in spec["files"].items():
        files[name], body = body[:length], body[length:]
    config = properties.SETTINGS[spec["settings"]]
    assert properties.examine(files, tmp_path, config, limits=properties.Limits(base=10.0)) == []
