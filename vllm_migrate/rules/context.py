"""What a rule gets to see: one site or one pin between two releases, and the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from vllm_migrate.findings import Finding, Fix, Severity
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Item, Pin, Reading, Site
from vllm_migrate.text import Source

if TYPE_CHECKING:
    from vllm_migrate.arguments import Argument
    from vllm_migrate.catalog import Catalog, Release
    from vllm_migrate.config import Config
    from vllm_migrate.migrations import Migration, Migrations

Readings = Callable[[], "Iterable[tuple[str, Reading]]"]


@dataclass
class Context:
    """Common to all rules of one file.

    path: relative to the root. target: the release to reach. origin: the version this site or pin is
    on now, None where unknown; origin_release: its catalog entry, None where the catalog lacks it.
    keep_pins: pins are only reported.
    """

    path: str
    source: Source
    reading: Reading
    catalog: Catalog
    migrations: Migrations
    config: Config
    target: Release
    origin: str | None = None
    origin_release: Release | None = None
    device: str = ""
    """"cuda", "rocm", "cpu", "xpu" where the image or index says so, else ""."""

    def finding(
        self,
        code: str,
        severity: Severity,
        subject: str,
        message: str,
        item: Item,
        *,
        migration: Migration | None = None,
        fix: Fix | None = None,
        site: Site | None = None,
        replacement: str | None = None,
        removed_in: str | None = None,
        reason: str = "",
        help: str = "",
        evidence: Sequence[str] = (),
        withheld: str = "",
    ) -> Finding:
        """Return a finding at an item; a migration gives reason, help, evidence and its id."""
        if migration is not None:
            reason = reason or migration.reason
            help = help or migration.help
            evidence = evidence or migration.evidence
            removed_in = removed_in or migration.removed_in
        return Finding(
            code=code,
            severity=severity,
            subject=subject,
            message=message,
            path=self.path,
            span=item.place,
            to=self.target.version,
            origin=self.origin,
            site=site,
            removed_in=removed_in,
            replacement=replacement,
            reason=reason,
            help=help,
            evidence=evidence,
            migration=migration.id if migration else "",
            fix=fix,
            withheld=withheld,
        )


@dataclass
class SiteContext(Context):
    """One launch and its arguments as the release's own parser groups them."""

    site: Site = field(kw_only=True)
    arguments: list[Argument] = field(kw_only=True)
    beside: Readings = field(kw_only=True, default=tuple)
    """Gives (path, reading) of the launch's file, of the files of its folder, and of those above it."""

    @cached_property
    def by_word(self) -> dict[int, int]:
        """id of a word → place in `arguments` of the first one it belongs to."""
        out: dict[int, int] = {}
        for i, argument in enumerate(self.arguments):
            for word in argument.words:
                out.setdefault(id(word), i)
        return out


@dataclass
class PinContext(Context):
    """One pin. `origin` is the version the pin itself names, or that of the site it governs."""

    pin: Pin = field(kw_only=True)
