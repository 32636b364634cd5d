"""The patch is one that git itself takes, whatever the file's bytes and name are."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vllm_migrate.config import Config
from vllm_migrate.findings import FileResult, Report
from vllm_migrate.output import _unified, render
from vllm_migrate.output._unified import file_diff
from vllm_migrate.text import Source


def git(folder: Path, *arguments: str, given: bytes = b"") -> None:
    done = subprocess.run(["git", *arguments], cwd=folder, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.autocrlf", "false")
    return tmp_path


CASES = {
    "plain": (b"a\nb\nc\n", b"a\nc\n"),
    "no final newline": (b"a\nb\nc", b"a\nB\nc"),
    "last line without newline": (b"a\nb", b"a\nB"),
    "newline kept off": (b"a\nb\nc", b"a\nb"),
    "crlf": (b"a\r\nb\r\nc\r\n", b"a\r\nB x\r\nc\r\n"),
    "mixed ends": (b"a\r\nb\nc\rd\n", b"a\r\nB\nc\rd\n"),
    "byte order mark": (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfA\nb\n"),
    "not ascii": ("größe\nb\n".encode(), "größe\nB ü\n".encode()),
    "form feed and line separator": ("a\x0cb\u2028c\nd\n".encode(), "a\x0cb\u2028c\nD\n".encode()),
    "all gone": (b"a\n", b""),
    "from nothing": (b"", b"a\n"),
    "two hunks": (
        b"".join(b"%d\n" % i for i in range(40)),
        b"".join(b"%d\n" % i for i in range(40) if i not in (3, 30)),
    ),
    "inserted first": (b"a\nb\nc\nd\ne\n", b"new\na\nb\nc\nd\ne\n"),
    "equal lines": (b"x\n" * 30 + b"y\n", b"x\n" * 29 + b"y\n"),
    "looks like a header": (b"-- a\n++ b\n--- x\n", b"-- a\n++ c\n--- x\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_git_applies_it(name: str, repository: Path) -> None:
    before, after = CASES[name]
    (repository / "f.txt").write_bytes(before)
    git(repository, "apply", "-", given=file_diff("f.txt", before, after))
    assert (repository / "f.txt").read_bytes() == after


@pytest.mark.parametrize(
    "name", ["with blank.sh", 'quo"te.sh', "back\\slash", "tab\there", "größe.sh", "a b/c d.sh", "-x"]
)
def test_git_finds_the_file_whatever_it_is_called(name: str, repository: Path) -> None:
    path = repository / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"a\nb\n")
    git(repository, "apply", "-", given=file_diff(name, b"a\nb\n", b"a\nc\n"))
    assert path.read_bytes() == b"a\nc\n"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    old=st.lists(st.sampled_from(["a", "b", "", "a\r", "\u2028"]), max_size=14),
    new=st.lists(st.sampled_from(["a", "b", "", "a\r", "c"]), max_size=14),
    end=st.booleans(),
    new_end=st.booleans(),
    alike=st.booleans(),
)
def test_git_applies_any_change(
    old: list[str], new: list[str], end: bool, new_end: bool, alike: bool, repository: Path, monkeypatch: Any
) -> None:
    # A file with many equal lines is compared another way.
    monkeypatch.setattr(_unified, "_PAIRS", -1 if alike else 10**6)
    before = ("\n".join(old) + ("\n" if end and old else "")).encode()
    after = ("\n".join(new) + ("\n" if new_end and new else "")).encode()
    if before == after:
        return
    (repository / "f").write_bytes(before)
    git(repository, "apply", "-", given=file_diff("f", before, after))
    result = (repository / "f").read_bytes() if (repository / "f").exists() else b""
    assert result == after


@settings(deadline=None)
@given(
    lines=st.lists(st.sampled_from([b"a\n", b"b\n", b"\n"]), min_size=1, max_size=30),
    gone=st.sets(st.integers(0, 29), min_size=1, max_size=4),
    alike=st.booleans(),
)
def test_each_hunk_stands_between_three_lines_that_stay(lines: list[bytes], gone: set[int], alike: bool) -> None:
    after = [line for i, line in enumerate(lines) if i not in gone]
    pairs = _unified._PAIRS
    _unified._PAIRS = -1 if alike else 10**6
    try:
        found = list(_unified.hunks(b"".join(lines), b"".join(after)))
    finally:
        _unified._PAIRS = pairs
    for head, body in found:
        start, _, length = head.split()[1][1:].partition(",")
        first, last = int(start), int(start) + int(length or 1) - 1
        signs = "".join(sign for sign, _ in body)
        assert signs.startswith("   ") or first <= 3, (head, body)
        assert signs.endswith("   ") or last >= len(lines) - 2, (head, body)
        assert signs.endswith(" ") or last >= len(lines), (head, body)


def test_many_equal_lines_take_no_time(repository: Path) -> None:
    lines = [b"a: 1\n", *[b"\n"] * 20_000, b"b: 1\n", *[b"x\n"] * 20_000, b"c: 1\n"]
    after = [line.replace(b"1", b"2") for line in lines if line != b"b: 1\n"]
    (repository / "f").write_bytes(b"".join(lines))
    patch = file_diff("f", b"".join(lines), b"".join(after))
    assert patch.count(b"@@ -") == 3
    git(repository, "apply", "-", given=patch)
    assert (repository / "f").read_bytes() == b"".join(after)


def test_paths_are_relative_to_the_work_tree_so_that_any_folder_will_do(repository: Path) -> None:
    root = repository / "deploy"
    (root / "x").mkdir(parents=True)
    (root / "x" / "run.sh").write_bytes(b"a\nb\n")
    source = Source("x/run.sh", b"a\nb\n")
    report = Report(
        ["0.33.0"], [FileResult("x/run.sh", source, fixed=Source("x/run.sh", b"b\n"))], root=str(root)
    )
    patch = render("diff", report, Config())
    assert patch.splitlines()[:3] == [
        "diff --git a/deploy/x/run.sh b/deploy/x/run.sh",
        "--- a/deploy/x/run.sh",
        "+++ b/deploy/x/run.sh",
    ]
    git(root / "x", "apply", "-", given=patch.encode())
    assert (root / "x" / "run.sh").read_bytes() == b"b\n"


def test_nothing_changed_is_no_patch(report: Report) -> None:
    for file in report.files:
        file.fixed = None
    assert render("diff", report, Config()) == ""
    assert file_diff("a", b"x", b"x") == b""
