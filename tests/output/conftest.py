"""A report made by hand: one safe fix, one unsafe fix, one finding to mend by hand, one unreadable file."""

from __future__ import annotations

from pathlib import Path

import pytest
from handmade import SCRIPT, edit, finding

from vllm_migrate.findings import FileResult, Finding, Fix, Report
from vllm_migrate.text import Source, Span


@pytest.fixture
def report(tmp_path: Path) -> Report:
    source = Source("run me.sh", SCRIPT.encode())
    first = finding(
        source,
        "--swap-space 4",
        origin="0.17.1",
        removed_in="0.18.0",
        reason="The engine never swaps the cache.",
        help="Delete it.",
        evidence=["0.18.0: the parser refuses it"],
        migration="swap-space",
        fix=Fix("safe", "Remove --swap-space", []),
    )
    assert first.fix is not None
    first.fix.edits = [(source.path, edit(source, "  --swap-space 4 \\\n", ""))]
    second = finding(
        source,
        "--num-lookahead-slots 3",
        code="VM302",
        severity="warning",
        fix=Fix("unsafe", "Use the n-gram method", [], why="Another draft method answers at another speed."),
    )
    assert second.fix is not None
    second.fix.edits = [(source.path, edit(source, "--num-lookahead-slots 3 ", ""))]
    third = finding(
        source,
        "--port 80",
        code="VM109",
        severity="info",
        message="a note: 100%\nsure",
        withheld="did not prove",
    )
    broken = Finding(
        "VM001", "error", "latin.yaml", "latin.yaml: not UTF-8 text", "latin.yaml", Span(0, 0), "0.33.0"
    )
    return Report(
        ["0.33.0"],
        [
            FileResult(
                "run me.sh",
                source,
                [third, second, first],
                1,
                source.with_edits([e for _, e in first.fix.edits]),
            ),
            FileResult("latin.yaml", None, [broken]),
            FileResult("clean.sh", Source("clean.sh", b"vllm serve m\n"), [], 1),
        ],
        walked=9,
        root=str(tmp_path),
        left_out=1,
    )
