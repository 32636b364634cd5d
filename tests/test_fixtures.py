"""Every fixture: its findings, its patch, and what must hold for any patch.

A case is a folder `fixtures/<CODE>-<slug>/<case>/` with `before/`, `after/` (absent: nothing changes) and
`case.json`: {"to": …, "from": …, "unsafe_fixes": …, "config": {…}, "findings": ["path:line CODE subject", …],
"severities": ["path:line CODE severity", …]}, these for the findings whose severity is not their rule's.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from vllm_migrate.config import Config, from_mapping, with_options
from vllm_migrate.engine import run
from vllm_migrate.findings import Report
from vllm_migrate.output import diff
from vllm_migrate.rules.registry import rules

FIXTURES = Path(__file__).parent.parent / "fixtures"
CASES = sorted(p.parent for p in FIXTURES.glob("*/*/case.json"))


def settings(case: Path) -> Config:
    spec = json.loads((case / "case.json").read_text(encoding="utf-8"))
    config = from_mapping(spec.get("config", {}), case)
    to = spec.get("to", "0.33.0")
    return with_options(
        replace(config, fix=True, unsafe_fixes=spec.get("unsafe_fixes", False), keep_pins=spec.get("keep_pins", False)),
        from_=spec.get("from"),
        to=[] if to is None else [to] if isinstance(to, str) else to,
    )


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def fresh(source: dict[str, bytes], folder: Path) -> Path:
    for name, raw in source.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
    (folder / ".git").mkdir(exist_ok=True)
    return folder


def check(folder: Path, case: Path) -> Report:
    return run([folder], folder, settings(case))


def fixed(report: Report, before: dict[str, bytes]) -> dict[str, bytes]:
    after = dict(before)
    for file in report.files:
        if file.fixed is not None:
            after[file.path] = file.fixed.raw
    return after


def test_there_are_fixtures() -> None:
    assert len(CASES) > 20


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}/{c.name}")
def test_case(case: Path, tmp_path: Path) -> None:
    spec = json.loads((case / "case.json").read_text(encoding="utf-8"))
    before = tree(case / "before")
    wanted = {**before, **(tree(case / "after") if (case / "after").is_dir() else {})}
    work = fresh(before, tmp_path / "work")
    report = check(work, case)
    found, others = [], []
    for file in report.files:
        for finding in file.findings:
            assert file.source is not None
            place = f"{finding.path}:{file.source.position(finding.span.start)[0]} {finding.code}"
            found.append(f"{place} {finding.subject}")
            if finding.severity != rules()[finding.code].severity:
                others.append(f"{place} {finding.severity}")
    assert sorted(found) == sorted(spec["findings"])
    assert sorted(others) == sorted(spec.get("severities", []))
    after = fixed(report, before)
    for name in wanted:
        assert after[name].decode() == wanted[name].decode(), name
    again = check(fresh(after, tmp_path / "again"), case)
    assert [f.path for f in again.files if f.fixed is not None] == []


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}/{c.name}")
def test_git_takes_the_patch(case: Path, tmp_path: Path) -> None:
    before = tree(case / "before")
    work = fresh(before, tmp_path / "work")
    report = check(work, case)
    patch = diff.render(report, settings(case))
    if not patch:
        return
    shutil.rmtree(work / ".git")
    subprocess.run(["git", "init", "-q", "."], cwd=work, check=True)
    subprocess.run(["git", "apply", "-"], cwd=work, input=patch.encode("utf-8", "surrogateescape"), check=True)
    shutil.rmtree(work / ".git")
    assert tree(work) == fixed(report, before)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}/{c.name}")
@pytest.mark.parametrize("variant", ["crlf", "bom", "no-final-newline"])
def test_line_ends_survive(case: Path, variant: str, tmp_path: Path) -> None:
    def vary(raw: bytes) -> bytes:
        if variant == "crlf":
            return raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        if variant == "bom":
            return b"\xef\xbb\xbf" + raw.removeprefix(b"\xef\xbb\xbf")
        return raw.rstrip(b"\n")

    plain = tree(case / "before")
    # A shell does not take CRLF or a byte order mark before `#!`; what counts is that they are left alone.
    before = {n: vary(r) for n, r in plain.items()}
    report = check(fresh(before, tmp_path / "work"), case)
    after = fixed(report, before)
    expected = fixed(check(fresh(plain, tmp_path / "plain"), case), plain)
    for name in before:
        assert after[name] == vary(expected[name]), name


def test_every_fixture_folder_is_a_rule() -> None:
    names = {f"{rule.code}-{rule.slug}" for rule in rules().values()}
    folders = {p.name for p in FIXTURES.iterdir() if p.is_dir() and p.name.startswith("VM")}
    assert folders <= names
