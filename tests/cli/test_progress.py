"""The line that shows how far a long run is."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

from vllm_migrate.progress import Line


def test_a_short_run_draws_nothing() -> None:
    stream = io.StringIO()
    line = Line(stream, clock=iter([0.0, 0.2, 0.9]).__next__)
    line("looking at files", 100, 0)
    line("looking at files", 200, 0)
    line.wipe()
    assert stream.getvalue() == ""


def test_a_long_run_draws_over_one_line_and_wipes_it() -> None:
    stream = io.StringIO()
    line = Line(stream, clock=iter([0.0, 1.5, 1.55, 2.0]).__next__)
    for done in (100, 200, 300):
        line("judging files", done, 400)
    line.wipe()
    drawn = stream.getvalue()
    assert "\n" not in drawn
    assert "100 of 400" in drawn
    assert "200 of 400" not in drawn, "not more than ten times a second"
    assert "300 of 400" in drawn
    assert drawn.endswith("\r\x1b[K")


def test_nothing_is_drawn_into_a_pipe_or_on_a_dumb_terminal(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("vllm serve m\n")
    words = [sys.executable, "-m", "vllm_migrate", "check", "--to", "0.33.0", "."]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert "\x1b" not in done.stdout + done.stderr
    ours, theirs = pty.openpty()
    subprocess.run(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "dumb"})
    os.close(theirs)
    assert b"\x1b" not in os.read(ours, 4096)
    os.close(ours)
