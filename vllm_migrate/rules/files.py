"""Findings about a file itself, and about what the tool could not decide."""

from __future__ import annotations

from vllm_migrate.rules.registry import Rule

RULES = (
    Rule(
        "VM001",
        "unreadable-file",
        "warning",
        "A file that does not parse; what could be read of it was judged.",
        """What it does
Says where a file stops being readable: YAML, JSON or HCL with an error, a shell script with an open quote, Python that
does not compile.
Why it matters
Launches behind that place may have been missed.
Fix safety
There is no fix: mend the file. What could be read of it is judged as usual.
""",
    ),
    Rule(
        "VM002",
        "undecodable-file",
        "warning",
        "A file that is not UTF-8 text.",
        """What it does
Names files that speak of vLLM and are not UTF-8, with a byte order mark or without.
Why it matters
They were not read.
Fix safety
There is no fix: convert the file, or leave it out with `extend-exclude`.
""",
    ),
    Rule(
        "VM003",
        "generated-file",
        "info",
        "A file that says it is generated: change what it is generated from.",
        """What it does
Names a file that says it is generated ("DO NOT EDIT", a lock file, a rendered manifest) where something in it would
have to change.
Why it matters
An edit would be lost. Change what the file is made from, and make it again.
Fix safety
There is no fix: such a file is never written.
""",
    ),
    Rule(
        "VM004",
        "unused-suppression",
        "info",
        "A comment that says a finding is known where nothing is found.",
        """What it does
Names `vllm-migrate: ignore` comments that hide nothing.
Why it matters
The finding they spoke of is gone; left in place they would hide the next one.
Fix safety
There is no fix: take the comment out.
""",
    ),
    Rule(
        "VM508",
        "conflicting-pins",
        "info",
        "Pins at the same distance from a launch name different releases.",
        """What it does
Says that files at the same distance from a launch pin different releases, so that none can be called its own.
Why it matters
Changed meanings and defaults cannot be judged, and no pin is moved.
Fix safety
There is no fix: say which release holds with `from` or `paths` in the configuration, or with `images` what is
inside an image.
""",
    ),
)
