"""Where the shipped data lies: beside the sources in a checkout, inside the package in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def schemas_dir() -> Path:
    """Return the folder that holds `catalog/`, `migrations/` and the JSON Schemas."""
    inside = _PACKAGE / "schemas"
    return inside if inside.is_dir() else _PACKAGE.parent / "schemas"
