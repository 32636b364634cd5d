"""The catalog: what every vLLM release accepts, generated from the releases themselves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from vllm_migrate.catalog.history import SECTIONS
from vllm_migrate.catalog.options import OptionMatch
from vllm_migrate.catalog.query import Catalog, CatalogError, Release, UnknownRelease
from vllm_migrate.paths import schemas_dir

__all__ = ["SECTIONS", "Catalog", "CatalogError", "OptionMatch", "Release", "UnknownRelease", "load"]


def load(extra: Sequence[Path] = (), *, folder: Path | None = None) -> Catalog:
    """Return the shipped catalog, with single-release files added.

    extra: files written by `vllm-migrate catalog build --output`. folder: another history than the shipped
    one. Raises CatalogError for a file that is missing or is no catalog.
    """
    return Catalog(folder or schemas_dir() / "catalog", extra) if extra or folder else _shipped()


@lru_cache(maxsize=1)
def _shipped() -> Catalog:
    """Return the shipped catalog, read once: a run asks for it when it looks at its settings, and to judge."""
    return Catalog(schemas_dir() / "catalog")
