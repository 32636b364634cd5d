"""Packages that took over what vLLM once held itself: whether a launch has one, and where it can be added."""

from __future__ import annotations

import posixpath
from dataclasses import fields

from vllm_migrate.distribution import Plugin, distribution
from vllm_migrate.findings import Fix
from vllm_migrate.model import Pin, Reading
from vllm_migrate.rules.context import Context, SiteContext
from vllm_migrate.rules.dependencies import plugin_changes
from vllm_migrate.versions import about_vllm, normalize_name, requirement_of
from vllm_migrate.versions_key import key

NO_PLACE = "which image or environment to install it in is not said here"


def plugin_of(ctx: SiteContext, feature: str) -> Plugin | None:
    """Return the package that a feature (`gguf`, `bitsandbytes`) needs in the target, None where it needs none."""
    row = distribution().plugins.get(feature.lower())
    return row if row is not None and key(ctx.target.version) >= key(row.since) else None


def installed(ctx: SiteContext, row: Plugin) -> bool:
    """Tell whether a file that belongs to the launch installs the package.

    Requirement files beside a launch say nothing about an image it names for itself.
    """
    readings = [ctx.reading] if _own_image(ctx) else [r for _, r in ctx.beside()]
    return any(_names(pin, row) for r in readings for pin in r.pins)


def plugin_fix(ctx: SiteContext, row: Plugin) -> Fix | None:
    """Return the fix that installs the package, None where no file shows one place for it.

    The launch's own file comes first, then the nearest folder where exactly one file requires vLLM.
    """
    fix = plugin_changes(ctx, row.name)
    if fix is not None or _own_image(ctx) or any(about_vllm(p) for p in ctx.reading.pins):
        return fix
    folders: dict[str, list[tuple[str, Reading]]] = {}
    for path, reading in ctx.beside():
        if path != ctx.path and any(_requires_vllm(p) for p in reading.pins):
            folders.setdefault(posixpath.dirname(path), []).append((path, reading))
    nearest = next(iter(folders.values()), [])
    if len(nearest) != 1:
        return None
    path, reading = nearest[0]
    given = {f.name: getattr(ctx, f.name) for f in fields(Context)}
    fix = plugin_changes(Context(**{**given, "path": path, "reading": reading}), row.name)
    if fix is not None:
        fix.path, fix.description = path, f"{fix.description} in {path}"
    return fix


def _own_image(ctx: SiteContext) -> bool:
    return any(p.kind == "image" for p in ctx.site.pins)


def _requires_vllm(pin: Pin) -> bool:
    return pin.kind in ("requirement", "url", "git") and about_vllm(pin)


def _names(pin: Pin, row: Plugin) -> bool:
    found = requirement_of(pin) if pin.kind == "requirement" else None
    return found is not None and found[0].name == normalize_name(row.requirement)
