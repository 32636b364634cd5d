"""What a finding means for whoever starts the launch: in five words rather than fifty codes."""

from __future__ import annotations

from typing import Literal

from vllm_migrate.findings import Finding

Effect = Literal["breaks", "ignored", "differs", "unread", "note"]

TITLES: dict[Effect, str] = {
    "breaks": "breaks at start",
    "ignored": "silently ignored",
    "differs": "behaves differently",
    "unread": "not judged",
    "note": "nothing breaks",
}

_IGNORED = frozenset(("VM201", "VM202", "VM401", "VM403", "VM603"))
_DIFFERS = frozenset(("VM109", "VM111", "VM205", "VM303", "VM304"))


def effect(finding: Finding) -> Effect:
    """Return what the target release does with what a finding is about."""
    if finding.code.startswith("VM00"):
        return "unread" if finding.severity != "info" else "note"
    if finding.severity == "error":
        return "breaks"
    if finding.severity == "info":
        return "differs" if finding.code in _DIFFERS else "note"
    # An option that is only a warning is dropped by what passes options on.
    dropped = finding.code.startswith("VM10") and finding.site is not None and finding.site.ignores
    return "ignored" if dropped or finding.code in _IGNORED else "differs"
