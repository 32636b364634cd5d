"""Short ways to read a text with a host and to render changes of what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

from vllm_migrate.hosts import Context
from vllm_migrate.model import Change, Pin, Reading, Replace, Variable, Word, container_of, fill
from vllm_migrate.text import Edit, Region, Source


def read(host: ModuleType, text: str, path: str = "file", files: Mapping[str, str] | None = None) -> Reading:
    sibling: Callable[[str], str | None] | None = files.get if files is not None else None
    source = Source.of(text, path)

    def names(folder: str) -> list[str]:
        return [n[len(folder) + 1 :] for n in files or {} if n.startswith(folder + "/")]

    return host.read(Region.whole(source), Context(path, sibling_reader=sibling, sibling_names=names))


def render(reading: Reading, text: str, changes: Sequence[Change]) -> str:
    groups: dict[int, list[Change]] = {}
    for change in changes:
        groups.setdefault(id(container_of(change)), []).append(change)
    edits: list[Edit] = []
    for group in groups.values():
        edits += container_of(group[0]).edits(group)
    return Source.of(text).with_edits(edits).text


def items(reading: Reading) -> list[Word | Variable | Pin]:
    found: list[Word | Variable | Pin] = [*reading.pins, *reading.variables]
    for site in reading.sites:
        found += [*site.words, *site.variables, *site.pins]
    return list({id(i): i for i in found}.values())


def check_identity(reading: Reading, text: str) -> None:
    """Every item given its own value again leaves the text as it is, and lies where it says."""
    for item in items(reading):
        value = item.value if isinstance(item, Variable) else item.text
        if value is None:
            continue
        assert render(reading, text, [Replace(item, value, item.holes)]) == text, item
        if isinstance(item, Pin) and not item.locked:
            span = item.region.span(item.span.start, item.span.end)
            assert span is not None and text[span.start : span.end] == fill(item.text, item.holes)


def words(reading: Reading, site: int = 0) -> list[str]:
    return [w.spelled() for w in reading.sites[site].words]


def word(reading: Reading, text: str, site: int = 0) -> Word:
    return next(w for w in reading.sites[site].words if w.text == text)


def pins(reading: Reading, kind: str = "") -> list[str]:
    return [p.prefix + fill(p.text, p.holes) + p.suffix for p in reading.pins if not kind or p.kind == kind]


def env(reading: Reading, site: int = 0) -> dict[str, str | None]:
    return {v.name: v.value for v in reading.sites[site].variables}
