"""Findings about a file itself, and about what the tool could not decide."""

from __future__ import annotations

from vllm_migrate.rules.registry import Rule

RULES = (
    Rule("VM001", "unreadable-file", "warning", "A file that does not parse; what could be read of it was judged."),
    Rule("VM002", "undecodable-file", "warning", "A file that is not UTF-8 text."),
    Rule("VM003", "generated-file", "info", "A file that says it is generated: change what it is generated from."),
    Rule("VM004", "unused-suppression", "info", "A comment that says a finding is known where nothing is found."),
    Rule("VM508", "conflicting-pins", "info", "Pins at the same distance from a launch name different releases."),
)
