"""The forms a report is printed in, one module a form, found by name.

Each module has `render(report, settings) -> str`: the whole text for standard output, line ends as they
are to be written. Modules that are no form begin with an underscore.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from vllm_migrate.config import Config
from vllm_migrate.findings import Report

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "rdjson", "junit", "html", "markdown")
"""What `--output-format` takes; `diff` is a command of its own."""


class Form(Protocol):
    """What an output module offers."""

    def render(self, report: Report, settings: Config) -> str: ...


def render(name: str, report: Report, settings: Config) -> str:
    """Return a report in the named form."""
    module = cast(Form, importlib.import_module(f"{__name__}.{name}"))
    return module.render(report, settings)
