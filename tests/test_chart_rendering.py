"""Charts among the fixtures, rendered before and after their fixes: what rendered still does, and differs as meant."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("helm_python", reason="helm-python-sdk, which renders charts, is not installed")

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
CHARTS = sorted(p.parent for p in FIXTURES.glob("*/*/before/**/Chart.yaml"))


def _program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chart_rendering", ROOT / "benchmarks" / "chart_rendering.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("chart", CHARTS, ids=lambda c: "/".join(c.relative_to(FIXTURES).parts[:2]))
def test_a_fixed_chart_renders_as_its_rendering_is_fixed(chart: Path, tmp_path: Path) -> None:
    program = _program()
    case = FIXTURES.joinpath(*chart.relative_to(FIXTURES).parts[:2])
    inside = chart.relative_to(case / "before").as_posix()
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(case / "before", before)
    shutil.copytree(case / "before", after)
    if (case / "after").exists():
        shutil.copytree(case / "after", after, dirs_exist_ok=True)
    rendered = 0
    sets = [""] + [p for p in program.values_files(before, inside) if p != f"{inside}/values.yaml"]
    for name in sets:
        old = program.render(before / inside, (before / name).read_text() if name else "")
        if isinstance(old, str):
            continue
        rendered += 1
        new = program.render(after / inside, (after / name).read_text() if name else "")
        assert not isinstance(new, str), f"{name}: {new}"
        for path in new:
            assert program.parsed_all(new[path]) is not None, f"{name}: {path} renders to no YAML"
    assert rendered or case.name.endswith("-broken"), "the chart of a fixture should render"
