"""The patch a fix makes, in the form `git apply` takes from any folder of the repository."""

from __future__ import annotations

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import repository_prefix
from vllm_migrate.output._unified import file_diff


def render(report: Report, settings: Config) -> str:
    """Return the unified diff of every file that changes; paths are relative to the git work tree."""
    prefix = repository_prefix(report)
    return "".join(
        file_diff(prefix + file.path, file.source.raw, file.fixed.raw).decode("utf-8", "surrogateescape")
        for file in sorted(report.files, key=lambda f: f.path)
        if file.source is not None and file.fixed is not None
    )
