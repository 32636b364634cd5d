"""Suppression comments and the baseline file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vllm_migrate import baseline
from vllm_migrate.findings import FileResult, Finding, Report
from vllm_migrate.suppress import read, unused
from vllm_migrate.text import Source, Span


def finding(
    source: Source, needle: str = "--swap-space", code: str = "VM101", migration: str = "swap-space"
) -> Finding:
    start = source.text.index(needle)
    span = Span(start, start + len(needle))
    return Finding(code, "error", "--swap-space", "gone", source.path, span, "0.33.0", migration=migration)


def hidden(text: str, code: str = "VM101", migration: str = "swap-space") -> bool:
    source = Source.of(text)
    return read(source).hides(finding(source, code=code, migration=migration), source)


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve --swap-space 4  # vllm-migrate: ignore[VM101]\n",
        "# vllm-migrate: ignore[VM101]\nvllm serve --swap-space 4\n",
        "vllm serve --swap-space 4 # vllm-migrate: ignore\n",
        "vllm serve --swap-space 4 # vllm-migrate:ignore[VM1]\n",
        "vllm serve --swap-space 4 # vllm-migrate: ignore[VM2, VM101:swap-space]\n",
        "vllm serve --swap-space 4 # vllm-migrate: ignore[swap-space]\n",
        "vllm serve --swap-space 4 # why not; vllm ... # vllm-migrate: ignore[VM101] known\r\n",
        "// vllm-migrate: ignore[VM101]\n--swap-space",
        "; vllm-migrate: ignore[VM101]\n--swap-space",
        "<!-- vllm-migrate: ignore[VM101] -->\n--swap-space",
        "{{/* vllm-migrate: ignore[VM101] */}}\n- --swap-space",
        "{{- /* vllm-migrate: ignore[VM101] */ -}}\n- --swap-space",
        "/* vllm-migrate: ignore[VM101] */ --swap-space",
        "    # vllm-migrate: ignore[VM101]\n\n    - --swap-space=4\n",
        "# vllm-migrate: ignore[VM2]\n# vllm-migrate: ignore[VM101]\n--swap-space",
        "# vllm-migrate: ignore[VM101]\n# another comment\n--swap-space".replace("# another comment\n", ""),
        "# vllm-migrate: ignore-file\n\n\n--swap-space",
        "--swap-space\n\n# vllm-migrate: ignore-file[VM101]",
    ],
)
def test_hides(text: str) -> None:
    assert hidden(text)


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve --swap-space 4\n# vllm-migrate: ignore[VM101]\n",
        "# vllm-migrate: ignore[VM101]\nvllm serve m\nvllm serve --swap-space 4\n",
        "echo  # vllm-migrate: ignore[VM101]\nvllm serve --swap-space 4\n",
        "--swap-space # vllm-migrate: ignore[VM102]\n",
        "--swap-space # vllm-migrate: ignore[VM101:other]\n",
        "--swap-space # vllm-migrate: ignore[]\n",
        "--swap-space # vllm-migrate: ignored\n",
        "--swap-space vllm-migrate: ignore\n",
        "# vllm-migrate: ignore-file[VM2]\n--swap-space",
    ],
)
def test_does_not_hide(text: str) -> None:
    assert not hidden(text)


def test_a_comment_above_a_continued_command_holds_for_all_of_it() -> None:
    above = "# vllm-migrate: ignore[VM101]\n"
    command = "vllm serve m \\\n  --port 80 \\\n  --swap-space 4\n"
    assert hidden(above + command)
    assert not hidden(above + "vllm serve x\n" + command)


def test_comments_that_hide_nothing_are_shown_where_they_stand() -> None:
    lines = [
        "# vllm-migrate: ignore[VM101, VM2] why",
        "vllm serve m  # vllm-migrate: ignore",
        "vllm serve m  # vllm-migrate: ignore[VM3] # vllm-migrate: ignore[VM4]",
        "# vllm-migrate: ignore[]",
        "<!-- vllm-migrate: ignore-file[VM5] -->",
        "",
    ]
    source = Source("a.sh", "\n".join(lines).encode())
    found = unused(source, "a.sh", "0.33.0", {source.text.index("# vllm-migrate: ignore[VM3]")})
    assert [(source.text[f.span.start : f.span.end], f.subject, f.message) for f in found] == [
        (lines[0][:-4], "VM101, VM2", "unused suppression: nothing here is found for VM101, VM2"),
        (lines[1][14:], "ignore", "unused suppression: nothing is found here"),
        ("# vllm-migrate: ignore[VM4]", "VM4", "unused suppression: nothing here is found for VM4"),
        ("<!-- vllm-migrate: ignore-file[VM5]", "VM5", "unused suppression: nothing here is found for VM5"),
    ]
    assert {(f.code, f.severity, f.path, f.to) for f in found} == {("VM004", "info", "a.sh", "0.33.0")}


@pytest.mark.parametrize(
    ("text", "needle", "hides"),
    [
        # What begins on one line and ends on the next belongs to both, and to no third.
        ("# vllm-migrate: ignore\nx: one\n  two\ny\n", "one\n  two", True),
        ("x: one\n  two # vllm-migrate: ignore\ny\n", "one\n  two", True),
        ("x: one\n  two\ny # vllm-migrate: ignore\n", "one\n  two\n", False),
        ("x: one\ny # vllm-migrate: ignore\n", "one\n", False),
        ("a \\\nb \\\nc # vllm-migrate: ignore\nd\n", "b", False),
        ("# vllm-migrate: ignore\na \\\nb \\\nc\nd\n", "d\n", False),
        ("# vllm-migrate: ignore\n# vllm-migrate: ignore[VM2]\n\n\na\nb\n", "a\n", True),
        ("# vllm-migrate: ignore\n# vllm-migrate: ignore[VM2]\n\n\na\nb\n", "b\n", False),
    ],
)
def test_a_comment_holds_for_the_lines_of_a_finding(text: str, needle: str, hides: bool) -> None:
    source = Source.of(text)
    assert read(source).hides(finding(source, needle), source) is hides


def report_of(text: str, count: int = 1) -> Report:
    source = Source("a.sh", text.encode())
    return Report(["0.33.0"], [FileResult("a.sh", source, [finding(source) for _ in range(count)])])


def test_a_baseline_survives_moved_lines(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(baseline.dump(report_of("vllm serve m --swap-space 4\n")))
    moved = Source("a.sh", b"# new\n\n   vllm  serve m --swap-space 4\n")
    assert baseline.load(path).hides(finding(moved), moved)


def test_a_baseline_does_not_hide_another_line_file_or_code(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(baseline.dump(report_of("vllm serve m --swap-space 4\n")))
    known = baseline.load(path)
    other = Source("a.sh", b"vllm serve m --swap-space 8\n")
    assert not known.hides(finding(other), other)
    elsewhere = Source("b.sh", b"vllm serve m --swap-space 4\n")
    assert not known.hides(finding(elsewhere), elsewhere)
    same = Source("a.sh", b"vllm serve m --swap-space 4\n")
    assert not known.hides(finding(same, code="VM102"), same)


def test_a_second_one_alike_is_new(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(baseline.dump(report_of("--swap-space 4\n", 2)))
    source = Source("a.sh", b"--swap-space 4\n")
    known = baseline.load(path)
    assert [known.hides(finding(source), source) for _ in range(3)] == [True, True, False]


def test_the_baseline_file_is_small_and_readable(tmp_path: Path) -> None:
    text = baseline.dump(report_of("--swap-space 4\n", 2))
    data = json.loads(text)
    assert data["findings"] == [
        {
            "path": "a.sh",
            "code": "VM101",
            "subject": "--swap-space",
            "fingerprint": data["findings"][0]["fingerprint"],
            "count": 2,
        }
    ]
    assert len(text.splitlines()) == 6
    assert json.loads(baseline.dump(Report(["0.33.0"]))) == {"version": 1, "findings": []}


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2, "findings": []}', '{"version": 1}'])
def test_a_file_that_is_no_baseline_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(baseline.BaselineError, match=r"known\.json"):
        baseline.load(path)
    with pytest.raises(baseline.BaselineError, match=r"none\.json: No such file"):
        baseline.load(tmp_path / "none.json")
