"""`Pipfile.lock`: what is locked, named for regeneration and never edited."""

from __future__ import annotations

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.listed import SpotContainer
from vllm_migrate.lazy import regex
from vllm_migrate.model import Pin, Problem, Reading
from vllm_migrate.text import Region, Span

NAME = "lockfile"

_PACKAGE = regex(r'"(?P<name>[A-Za-z0-9._-]+)"\s*:\s*\{(?P<body>[^{}]*)\}')
_VERSION = regex(r'"version"\s*:\s*"(?P<text>[^"\\]*)"')


def read(region: Region, context: Context) -> Reading:
    """Return name and version of each locked package as locked pins."""
    reason = "lock file; regenerate it with pipenv lock"
    out = Reading(problems=[Problem("generated", reason)])
    home = SpotContainer(NAME, region)
    for package in _PACKAGE.finditer(region.text):
        found = _VERSION.search(region.text, package.start("body"), package.end("body"))
        if found is None:
            continue
        pin = Pin(
            region, Span(*found.span("text")), home, locked=reason, kind="requirement", text=found["text"]
        )
        pin.name, pin.prefix, pin.owner = package["name"], package["name"], context.owner
        out.pins.append(pin)
    return out
