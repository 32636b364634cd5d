"""Names and contents that try to steer a terminal, a build server, a browser or a parser, in every output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from standin import Run

from vllm_migrate.output import FORMATS

NAMES = [
    b"a\nb.sh", b"esc\x1b[31m.sh", "bidi\u202e\u2066x.sh".encode(), b"q\"uo te\t'.sh", b"<b>&\"'.sh", b"`|*_[x](y).sh",
    b"\xff\xfe.sh", b"::error::x.sh", b"%0A%25.sh", b"c1\xc2\x9b31m.sh", "sep\u2028.sh".encode(), b"back\\slash.sh",
    b"]]>.sh", b"a:b,c=d.sh", b"\r\n::warning::x.sh", b"-dash.sh",
]  # fmt: skip
VALUE = "\x1b]8;;http://evil\x07\u202e<script>alert(1)</script>|`x`]]>\u009b31m%0A::error::x"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture
def hostile(here: Path) -> Path:
    (here / ".git").mkdir()
    for name in NAMES:
        with open(os.fsencode(here) + b"/" + name, "w", encoding="utf-8") as stream:
            stream.write(f'#!/bin/sh\nvllm serve m --swap-space 4 --kv-cache-dtype "{VALUE}" --no-such="x" # {VALUE}\n')
    return here


@pytest.mark.parametrize("form", FORMATS)
def test_no_output_is_steered(real: Run, hostile: Path, form: str) -> None:
    done = real("check", "--to", "0.33.0", "--output-format", form, ".")
    assert done.status == 1
    out = done.out.decode("utf-8")
    assert not STEERS.findall(out)
    assert not STEERS.findall(done.err)
    if form == "github":
        assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in out.splitlines())
        assert len(out.splitlines()) == 2 * len(NAMES)
    elif form in ("json", "sarif", "gitlab", "rdjson"):
        json.loads(out)
    elif form == "junit":
        assert len(ET.fromstring(out).findall("testsuite")) == len(NAMES)
    elif form == "html":
        assert "<script>alert" not in out
    elif form == "markdown":
        assert not re.search(r"(?m)^.*(?<!\\)<script", re.sub(r"(`+) ?.*? ?\1", "", out))
    else:
        assert not re.search(r"(?m)^\s*::", out)
    assert not re.search(r"(?m)^\s*::", done.err)


def test_a_patch_of_any_names_is_taken_by_git(real: Run, hostile: Path) -> None:
    patch = real("diff", "--to", "0.33.0", ".").out
    assert patch.count(b"diff --git") == len(NAMES)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=hostile, check=True)
    for name in NAMES:
        with open(os.fsencode(hostile) + b"/" + name, "rb") as stream:
            assert b"swap-space" not in stream.read()


def test_what_is_told_of_writing_is_not_steered(real: Run, hostile: Path) -> None:
    done = real("fix", "-v", "--to", "0.33.0", ".")
    assert not STEERS.findall(done.err)
    assert not re.search(r"(?m)^\s*::", done.err)


def test_a_patch_on_a_terminal_is_not_steered(real: Run, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    out = real("diff", "--to", "0.33.0", "--color", "never", ".").out.decode("utf-8")
    assert "--swap-space" in out
    assert not STEERS.findall(out)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("wrappers", '{"\\u001b[31m\\n::error::x": 1}'),
        ("migrations", '{"\\u001b[31m\\n::error::x": 1}'),
        ("baseline", '{"version": "\\u001b[2J\\n::error::x"}'),
        ("catalog", '{"format": "\\u001b[2J\\n::error::x"}'),
        ("\"\\e[31m\\n::error::x\"", "{}"),
        ("images: {\"\\e\\n::error::x\": 5, a: b, c", "{}"),
    ],
)
def test_a_message_about_data_is_not_steered(real: Run, hostile: Path, key: str, text: str) -> None:
    (hostile / "data.json").write_text(text)
    end = "}" if "{" in key else ""
    (hostile / ".vllm-migrate.yaml").write_text(f"{key}: data.json{end}\n")
    done = real("check", ".")
    assert done.status == 2
    assert not STEERS.findall(done.err)
    assert not re.search(r"(?m)^\s*::", done.err)
