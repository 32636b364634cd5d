"""`diff --split`: a migration as a series of patches for `git am`."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

from vllm_migrate.lazy import regex
from vllm_migrate.output._mail import Author, messages
from vllm_migrate.output._summary import left_out, number
from vllm_migrate.runs import Job, read_report, status

NEUTRAL = ("vllm-migrate", "vllm-migrate@localhost")
_NO_DATE = 946684800
_OURS = regex(r"\d{4}-.*\.patch\Z")


class SeriesError(ValueError):
    """The folder for the patches cannot be used; the message names it and says why."""


def run_split(job: Job, folder: Path, by: str) -> int:
    """Write one patch a rule, or one a launch, into a folder; returns the exit status of what was found.

    by: "rule" or "launch". Raises SeriesError for a folder that holds patches already.
    """
    from vllm_migrate import write

    _usable(folder)
    report = read_report(job, replace(job.config, fix=True, split=by))
    contents = messages(report, author(job.root))
    written = write.create_all(folder, contents) if contents else []
    job.out("".join(f"{path}\n" for path in written))
    if written:
        job.say([f"{number(len(written), 'patch', 'patches')} in {folder}: `git am` takes them in this order."])
    else:
        job.say(["No fix to write, so no patch."])
    job.say(left_out(report))
    return status(job, report.findings())


def _usable(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise SeriesError(f"{folder}: not a folder")
    try:
        old = sorted(name for name in os.listdir(folder) if _OURS.match(name))
    except OSError as error:
        raise SeriesError(f"{folder}: {error.strerror}") from None
    if old:
        raise SeriesError(f"{folder}: holds patches already ({old[0]}): give an empty folder, or remove them first")


def author(root: Path) -> Author:
    """Return who git says is working at a place, else nobody in particular, and a date that stays.

    The date is SOURCE_DATE_EPOCH where it is set, else that of the last commit, so that the same files give the
    same patches.
    """
    name = _git(root, "config", "--get", "user.name")
    email = _git(root, "config", "--get", "user.email")
    date = ""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not epoch.isdecimal():
        # A repository's settings can have signatures shown, and name the program that checks them.
        date = _git(root, "-c", "log.showSignature=false", "log", "-1", "--format=%cD", "HEAD")
    if not date:
        from email.utils import formatdate

        date = formatdate(int(epoch) if epoch.isdecimal() else _NO_DATE)
    known = bool(name and email)
    clean = [re.sub(r"[\r\n<>]", "", text) for text in ((name, email) if known else NEUTRAL)]
    return Author(clean[0], clean[1], date)


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints, "" where it fails or is not there."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
