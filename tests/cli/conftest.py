"""Runs the command line in a folder of its own, in this process or as a process."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import standin
from standin import Ran, Run

from vllm_migrate.cli import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("NO_COLOR", "FORCE_COLOR", "VLLM_MIGRATE_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _caller(monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> Run:
    def call(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capture.readouterr()
        status = main(arguments)
        out, err = capture.readouterr()
        return Ran(status, out, err.decode())

    return call


@pytest.fixture
def run(here: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """The command line with an engine that knows one thing."""
    monkeypatch.setitem(sys.modules, "vllm_migrate.engine", standin)
    monkeypatch.setattr("vllm_migrate.runs.check_settings", lambda config: [])
    return _caller(monkeypatch, capfdbinary)


@pytest.fixture
def real(here: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """The command line with the engine itself."""
    return _caller(monkeypatch, capfdbinary)
