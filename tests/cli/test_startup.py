"""Most runs of a hook look at files that say nothing of vLLM: those must be fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "asyncio", "importlib.metadata", "jsonschema", "libcst", "multiprocessing", "rich", "ruamel",
    "tree_sitter", "difflib", "packaging",
)  # fmt: skip


@pytest.mark.parametrize(
    "command", [["check"], ["fix"], ["diff"], ["check", "--output-format", "json"]]
)
def test_a_file_without_vllm_loads_nothing_heavy(command: list[str], tmp_path: Path) -> None:
    pytest.importorskip("vllm_migrate.engine")
    (tmp_path / "a.py").write_text("print(1)\n")
    (tmp_path / "b.yaml").write_text("a: 1\n")
    root = Path(__file__).parents[2]
    program = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from vllm_migrate.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program, *command, "a.py", "b.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = [
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    ]
    assert "click" in loaded
    assert [name for name in loaded if any(name == h or name.startswith(h + ".") for h in HEAVY)] == []
