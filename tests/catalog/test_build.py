"""Merging mined releases into a history, and writing one alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import FILES, write_tree

from vllm_migrate.catalog import SECTIONS, CatalogError, load
from vllm_migrate.catalog.build import MineError, build

ARGS = FILES["vllm/engine/arg_utils.py"]


def _release(folder: Path, version: str, extra: str = "", without: str = "") -> Path:
    """A release with one more option, or one fewer."""
    text = ARGS.replace(
        "        return parser\n", f"        {extra}\n        return parser\n" if extra else "        return parser\n"
    )
    if without:
        text = "\n".join(line for line in text.splitlines() if f'"{without}"' not in line) + "\n"
    return write_tree(folder / version, {"vllm/engine/arg_utils.py": text})


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    new = 'group.add_argument("--new-thing")'
    return [
        _release(tmp_path, "0.40.0"),
        _release(tmp_path, "0.41.0", new),
        _release(tmp_path, "0.42.0", new, without="--old-thing"),
    ]


def _texts(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*.json")}


def test_a_history_grows_release_by_release(sources: list[Path], tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    report = build(sources, into=into)
    assert [(r.version, r.previous) for r in report.releases] == [
        ("0.40.0", None),
        ("0.41.0", "0.40.0"),
        ("0.42.0", "0.41.0"),
    ]
    assert [(r.kind, r.name) for r in report.releases[2].removed] == [("option", "--old-thing")]
    assert report.releases[1].removed == ()
    assert report.releases[0].counts["options"] == 12
    catalog = load(folder=into)
    assert catalog.lifetime("options", "--new-thing") == [("0.41.0", None)]
    assert catalog.removed_in("options", "--old-thing") == "0.42.0"
    assert catalog.release("0.41.0").option("--old-th").option == "--old-thing"
    assert catalog.release("0.42.0").facts["cuda"] == "12.9.1"


def test_the_order_of_building_does_not_matter(sources: list[Path], tmp_path: Path) -> None:
    build(sources, into=tmp_path / "a")
    for source in (sources[2], sources[0], sources[1]):
        build([source], into=tmp_path / "b")
    assert _texts(tmp_path / "a") == _texts(tmp_path / "b")


def test_building_again_writes_nothing(sources: list[Path], tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    assert len(build(sources, into=into).written) == len(SECTIONS) + len(sources) + 1
    assert build([sources[1]], into=into).written == []


def test_one_more_release_changes_few_lines(sources: list[Path], tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    build(sources[:2], into=into)
    before = _texts(into)
    report = build(sources[2:], into=into)
    assert {p.name for p in report.written} == {"options.json", "releases.json", "0.42.0.json"}
    after = _texts(into)
    changed = set(after["options.json"].splitlines()) - set(before["options.json"].splitlines())
    assert len(changed) == 1 and "--old-thing" in changed.pop()


def test_a_failure_leaves_the_history_as_it_was(sources: list[Path], tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    build(sources[:1], into=into)
    before = _texts(into)
    broken = write_tree(tmp_path / "0.43.0", {"vllm/envs.py": ""})
    with pytest.raises(MineError, match="variables"):
        build([sources[1], broken], into=into)
    assert _texts(into) == before


def test_an_unwritable_folder_is_reported_and_nothing_is_left(sources: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogError, match="file"):
        build(sources[:1], into=tmp_path / "file" / "catalog")
    output = tmp_path / "taken"
    output.mkdir()
    with pytest.raises((CatalogError, OSError)):
        build(sources[:1], output=output, into=tmp_path / "none")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_a_damaged_history_is_named(sources: list[Path], tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    build(sources[:1], into=into)
    (into / "options.json").write_text("{")
    with pytest.raises(CatalogError, match=r"options\.json"):
        build(sources[1:], into=into)


def test_one_release_alone_can_be_loaded(sources: list[Path], tmp_path: Path) -> None:
    into, output = tmp_path / "catalog", tmp_path / "own.json"
    build(sources[:2], into=into)
    before = _texts(into)
    report = build([sources[2]], version="0.42.0.dev1", output=output, into=into)
    assert report.written == [output]
    assert [(r.kind, r.name) for r in report.releases[0].removed] == [("option", "--old-thing")]
    assert _texts(into) == before
    catalog = load([output], folder=into)
    assert catalog.latest == "0.42.0.dev1"
    assert catalog.removed_in("options", "--old-thing") == "0.42.0.dev1"
    assert catalog.release("0.42.0.dev1").facts["python"] == ">=3.10,<3.14"


def test_version_and_output_take_one_source(sources: list[Path], tmp_path: Path) -> None:
    with pytest.raises(MineError, match="one source"):
        build(sources, version="0.42.0", into=tmp_path / "c")
    with pytest.raises(MineError, match="one source"):
        build(sources, output=tmp_path / "o.json", into=tmp_path / "c")
    with pytest.raises(MineError, match="nothing to mine"):
        build([], into=tmp_path / "c")


def test_a_build_does_not_depend_on_the_hash_seed(sources: list[Path], tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from vllm_migrate.catalog.build import build\n"
    script += "build([Path(sys.argv[1])], into=Path(sys.argv[2]))"
    root = Path(__file__).resolve().parents[2]
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        command = [sys.executable, "-c", script, str(sources[0]), str(tmp_path / seed)]
        subprocess.run(command, check=True, env=environment)
    assert _texts(tmp_path / "1") == _texts(tmp_path / "2") == _texts(tmp_path / "3")


def test_one_line_an_entry(sources: list[Path], tmp_path: Path) -> None:
    into = tmp_path / "catalog"
    build(sources, into=into)
    for path in into.rglob("*.json"):
        data = json.loads(path.read_text())
        held = data.get("entries", data.get("releases", data.get("release")))
        assert len(path.read_text().splitlines()) == 2 + len(held) or held == {}
