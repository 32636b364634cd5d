"""Somebody else's repository: nothing of it is run, nothing outside it is read, nothing is sent."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from standin import Run

EXAMPLE = Path(__file__).resolve().parents[2] / "fixtures" / "example"
WATCH = """
import os, sys
allowed = os.path.realpath(sys.argv[1])
def hook(event, given):
    words = given[1][:3] if event == "subprocess.Popen" else []
    asks = words in (["git", "config", "--get"], ["git", "-c", "log.showSignature=false"])
    runs = ("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.startfile", "pty.")
    if event.startswith(runs) and not asks:
        raise SystemExit(f"FORBIDDEN {event} {given!r}")
    if event == "open":
        path, mode, flags = given
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and isinstance(path, (str, bytes)):
            where = os.path.realpath(os.fsdecode(path))
            if not where.startswith(allowed + os.sep) and where != os.devnull:
                raise SystemExit(f"FORBIDDEN write of {where}")
sys.dont_write_bytecode = True
from vllm_migrate.cli import main
sys.addaudithook(hook)
sys.exit(main(sys.argv[2:]))
"""
TRAP = """\
import os, socket
from vllm import LLM
os.system("touch ran")
open("ran", "w")
socket.create_connection(("127.0.0.1", 9))
LLM("m", swap_space=4)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--to", "0.33.0", "."],
        ["check", "--to", "0.33.0", "--output-format", "html", "."],
        ["fix", "--to", "0.33.0", "--unsafe-fixes", "."],
        ["diff", "--to", "0.33.0", "--split", "patches", "."],
        ["init", "."],
        ["explain", "VLLM_USE_V1"],
        ["releases", "0.10.0", "0.33.0"],
        ["schema", "0.33.0"],
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_nothing_is_run_sent_or_written_elsewhere(words: list[str], tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(EXAMPLE, work)
    (work / "setup.py").write_text(TRAP)
    (work / ".git" / "hooks").mkdir(parents=True)
    (work / ".git" / "config").write_text("[core]\n\tfsmonitor = touch ran\n[log]\n\tshowSignature = true\n")
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(work), *words], cwd=work, capture_output=True, text=True, check=False
    )
    assert "FORBIDDEN" not in done.stderr
    assert done.returncode in (0, 1), done.stderr
    assert not list(tmp_path.rglob("ran"))


@pytest.mark.parametrize("key", ["baseline", "migrations", "wrappers", "catalog"])
@pytest.mark.parametrize("how", ["up", "absolute", "link"])
def test_a_configuration_that_was_found_names_no_file_outside(real: Run, here: Path, key: str, how: str) -> None:
    secret = here.parent / f"secret-{key}-{how}.json"
    secret.write_text('{"token": "hush"}')
    repository = here / "repository"
    repository.mkdir()
    (repository / ".git").mkdir()
    (repository / "run.sh").write_text("vllm serve m\n")
    name = {"up": f"../../{secret.name}", "absolute": str(secret), "link": "link.json"}[how]
    (repository / "link.json").symlink_to(secret)
    (repository / ".vllm-migrate.yaml").write_text(f"{key}: {name}\n")
    done = real("check", "repository")
    assert done.status == 2
    assert ".vllm-migrate.yaml:1" in done.err
    assert "outside" in done.err
    assert "hush" not in done.err


def test_an_ignore_file_that_leads_outside_is_harmless(real: Run, here: Path) -> None:
    (here / "secret").write_text("run.sh\n")
    repository = here / "repository"
    repository.mkdir()
    (repository / "run.sh").write_text("vllm serve m --swap-space 4\n")
    (repository / ".gitignore").symlink_to(here / "secret")
    assert b"VM101" in real("check", "--to", "0.33.0", "--output-format", "concise", "repository").out
