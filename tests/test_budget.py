"""A file that takes too long, or breaks a reader or a rule, is told of; the other files are done all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vllm_migrate import budget, engine
from vllm_migrate.config import Config
from vllm_migrate.hosts import host
from vllm_migrate.judging import Judged

LAUNCH = b"vllm serve m --swap-space 4\n"


def told(report: Any) -> dict[str, list[str]]:
    return {f.path: [f"{x.code} {x.message}" for x in f.findings] for f in report.files}


def busy(*_arguments: Any, **_named: Any) -> Any:
    while True:
        sum(range(100))


def broken(*_arguments: Any, **_named: Any) -> Any:
    raise KeyError("x")


def deep(*_arguments: Any, **_named: Any) -> Any:
    return deep()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.sh", "b.sh"):
        (tmp_path / name).write_bytes(LAUNCH)
    # What is loaded once is loaded before time is short.
    engine.run([tmp_path], tmp_path, Config(to=("0.33.0",), fix=True))
    monkeypatch.setattr(budget, "SECONDS", 0.3)
    return tmp_path


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (busy, "takes too long to be {}"),
        (broken, "could not be {} (KeyError: 'x')"),
        (deep, "nested too deeply to be {}"),
    ],
)
def test_one_file_keeps_no_other(fault: Any, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = host("shell")
    assert shell is not None
    read, judge = shell.read, engine.judge
    monkeypatch.setattr(shell, "read", lambda region, c: (fault if c.path == "a.sh" else read)(region, c))
    found = told(engine.run([folder], folder, Config(to=("0.33.0",))))
    assert found["a.sh"] == ["VM001 " + message.format("read")]
    assert found["b.sh"][0].startswith("VM101 --swap-space")
    monkeypatch.setattr(shell, "read", read)

    def odd(path: str, source: Any, reading: Any, *rest: Any) -> Judged:
        return fault() if path == "a.sh" and reading.sites else judge(path, source, reading, *rest)

    monkeypatch.setattr(engine, "judge", odd)
    found = told(engine.run([folder], folder, Config(to=("0.33.0",))))
    assert found["a.sh"] == ["VM001 " + message.format("judged")]
    assert found["b.sh"][0].startswith("VM101 --swap-space")


def test_a_fix_that_takes_too_long_to_prove_is_withheld(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_migrate import units

    monkeypatch.setattr(units, "prove", busy)
    report = engine.run([folder], folder, Config(to=("0.33.0",), fix=True))
    findings = report.findings()
    assert {f.withheld for f in findings if f.code == "VM101"} == {
        "the rewrite could not be proved: takes too long to be proved"
    }
    assert not any(f.fixed for f in report.files)


def test_time_of_an_inner_limit_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "SECONDS", 5.0)
    with budget.Limited(0):
        monkeypatch.setattr(budget, "SECONDS", 0.02)
        with pytest.raises(budget.TooLong), budget.Limited(0):
            busy()
        assert sum(range(1000)) == 499500


def test_what_is_no_command_line_is_told_of_in_a_few_lines(tmp_path: Path) -> None:
    config = Config(to=("0.33.0",))
    long = engine.run_text("run.sh", b"vllm serve m " + b"a " * 30_000, tmp_path, config)
    assert [f.message for f in long.findings()] == ["a command of more than 20,000 words: the script is not read"]
    stray = engine.run_text("run.sh", b"vllm serve m " + b"a " * 500, tmp_path, config).findings()
    told = [f for f in stray if f.severity == "error"]
    assert 1 < len(told) <= 52
    assert any("more words behind it are refused as well" in note for f in told for note in f.related)
    garbage = engine.run_text("run.sh", b"vllm serve m\n" + b"( x ) )\n" * 500, tmp_path, config).findings()
    assert 1 < len([f for f in garbage if f.code == "VM001"]) <= 21
