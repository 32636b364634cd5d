"""The summary for the body of a pull request."""

from __future__ import annotations

import re
from dataclasses import replace

from vllm_migrate.config import Config
from vllm_migrate.findings import Finding, Fix, Report
from vllm_migrate.output import render
from vllm_migrate.output.markdown import code, text
from vllm_migrate.text import Span

PATH = "a|b`c/<img src=x>.sh"


def finding(severity: str = "error", code: str = "VM101", **given: object) -> Finding:
    made = Finding(code, "error", "--a", "--a was *removed* by @team in #12", PATH, Span(0, 1), "0.33.0", **given)  # type: ignore[arg-type]
    return replace(made, severity=severity)  # type: ignore[arg-type]


def shown(report: Report, *findings: Finding) -> str:
    from vllm_migrate.findings import FileResult
    from vllm_migrate.text import Source

    report.files = [FileResult(PATH, Source(PATH, b"vllm serve m\n"), list(findings), sites=1)] if findings else []
    return render("markdown", report, Config())


def test_nothing_in_it_is_taken_for_markup_or_a_mention() -> None:
    said = shown(Report(["0.33.0"]), finding())
    assert "@team" not in said.replace("\\@team", "")
    assert "#12" not in said.replace("\\#12", "")
    assert "`` a|b`c/<img src=x>.sh:1 ``" in said
    outside = re.sub(r"(`+) .*? \1", "", said)
    assert "<img" not in outside


def test_it_counts_by_what_a_launch_would_feel() -> None:
    unsafe = Fix("unsafe", "do it", [], why="mind the driver")
    said = shown(
        Report(["0.33.0"]),
        finding(fix=Fix("safe", "take it out", [])),
        finding(fix=unsafe),
        replace(finding(fix=unsafe), span=Span(2, 3)),
        finding("warning", "VM201", help="Delete it."),
    )
    assert "| breaks at start | 3 | 1 | 2 | 0 |" in said
    assert "| silently ignored | 1 | 0 | 0 | 1 |" in said
    assert said.count("mind the driver") == 1, "a reason is given once"
    assert "Delete it." in said


def test_what_was_written_comes_first() -> None:
    report = Report(["0.33.0"], written={PATH: ["remove --a", "remove --a", "rename b"]})
    assert "remove --a (2 times); rename b" in shown(report)
    assert "Nothing is left to do." in shown(report)


def test_code_spans_hold_any_backticks() -> None:
    assert code("a``b") == "``` a``b ```"
    assert text("a\n\n# b") == r"a \# b"
