"""A hook runs on every commit: what a run does not need is not loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import clean_files
import pytest

from vllm_migrate.hosts.claims import CLAIMS, host_name

HEAVY = (
    "asyncio", "importlib.metadata", "jsonschema", "libcst", "multiprocessing", "rich", "tree_sitter",
    "difflib", "textwrap", "hashlib", "tempfile", "subprocess", "random", "logging", "email", "http",
    "socket", "ssl", "urllib.request", "shutil", "zipfile", "tarfile",
)  # fmt: skip
"""What no run loads that finds nothing."""
_PARSER = "ruamel"
_YAML = {"yaml", "helm"}
_ALSO = {"json": {"yaml"}, "ini": {"requirements"}, "notebook": {"python"}, "template": {"shell"}}
"""Host → other hosts it reads with, whatever stands in the file; those of guests come besides."""
_SHELL_INSIDE = {"groovy", "makefile", "markdown"}


def _loaded(folder: Path, *arguments: str) -> set[str]:
    """Return the modules loaded by a run that finds nothing (what `importlib` loads too, unlike `-X importtime`)."""
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); from vllm_migrate.__main__ import run\n"
        "status = run(); print('\\n'.join(sys.modules), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return set(done.stderr.splitlines())


def _of(loaded: set[str], names: tuple[str, ...]) -> list[str]:
    return sorted(m for m in loaded if any(m == n or m.startswith(n + ".") for n in names))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("clean")
    clean_files.write(out)
    return out


@pytest.mark.parametrize(
    "command", [["check"], ["fix"], ["diff"], ["check", "--output-format", "json"]]
)
def test_a_file_without_vllm_loads_no_engine(command: list[str], folder: Path) -> None:
    loaded = _loaded(folder, *command, *clean_files.QUIET)
    assert "click" in loaded and "vllm_migrate.runs" in loaded
    unwanted = (*HEAVY, _PARSER, "packaging", "vllm_migrate.engine", "vllm_migrate.hosts", "vllm_migrate.rules")
    assert _of(loaded, unwanted) == []


@pytest.mark.parametrize("name", clean_files.FILES)
def test_a_clean_file_loads_its_own_host_and_nothing_heavy(name: str, folder: Path) -> None:
    top, _, path = name.partition("/")
    loaded = _loaded(folder / top, "check", "--to", clean_files.TO, path)
    assert _of(loaded, HEAVY) == []
    host = host_name(path, clean_files.FILES[name].partition("\n")[0])
    hosts = {h for h in CLAIMS if f"vllm_migrate.hosts.{h}" in loaded}
    allowed = {host, *_ALSO.get(host, set()), *({"shell"} if host in _SHELL_INSIDE else set())}
    assert host in hosts and hosts <= allowed
    assert (_PARSER in loaded) is (host in _YAML)
