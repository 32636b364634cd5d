"""Findings and edits made by hand."""

from __future__ import annotations

from vllm_migrate.findings import Finding
from vllm_migrate.model import Site
from vllm_migrate.text import Edit, Region, Source, Span

SCRIPT = "#!/bin/sh\n# größe\nvllm serve m \\\n  --swap-space 4 \\\n  --num-lookahead-slots 3 --port 80\n"


def finding(source: Source, needle: str, **fields: object) -> Finding:
    start = source.text.index(needle)
    site = Site("serve", "shell", Region.whole(source), Span(start, start + len(needle)))
    given: dict[str, object] = {
        "code": "VM101",
        "severity": "error",
        "subject": needle.split()[0],
        "message": f"{needle.split()[0]} was removed",
        "path": source.path,
        "span": Span(start, start + len(needle)),
        "to": "0.33.0",
        "site": site,
        **fields,
    }
    return Finding(**given)  # type: ignore[arg-type]


def edit(source: Source, old: str, new: str) -> Edit:
    start = source.text.index(old)
    return Edit(start, start + len(old), new)
