"""Values of a chart that its templates print as options of the same names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from vllm_migrate.hosts.helm_chart import Printed, printed
from vllm_migrate.hosts.yaml_tree import Node, Pair
from vllm_migrate.lazy import regex
from vllm_migrate.model import Entry

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_reader import Reader

_SEVERAL = regex(r"[a-z0-9][A-Z]|[-_]")


class ChartValues:
    """Tells what becomes of the values a document holds, where it is a chart's."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.charts: dict[str, Printed | None] = {}

    @cached_property
    def chart(self) -> Printed | None:
        """What the templates print of the chart whose values the document is."""
        return printed(self.reader.context) if self._whole else None

    @property
    def _whole(self) -> bool:
        document = self.reader.document
        return document.region.parent is None and not document.mask.actions

    def options(self, node: Node, out: Sequence[Pair]) -> list[Pair]:
        """Return those of a mapping's pairs that may be options.

        Templates that take each value by its name say what becomes of it: what they print nothing of is none.
        """
        chart = self._of(node)
        if chart is None or not (self.composed(node) or (chart.beside and all(p.name in chart.keys for p in out))):
            return list(out)
        return [p for p in out if chart.prints(p.name) and not (_nothing(p.node) and chart.silent(p.name))]

    def composed(self, node: Node) -> bool:
        """Tell whether the templates put several values of a mapping into a text as options of the same names.

        What they print as arguments is read there. Names of one word (`port`, `model`) may be any program's.
        """
        chart = self._of(node) if node.kind == "mapping" else None
        if chart is None:
            return False
        scalars = (p.name for p in node.pairs if p.node.kind == "scalar")
        return sum(1 for name in scalars if _SEVERAL.search(name) and chart.composes(name)) > 1

    def elsewhere(self, node: Node) -> Iterator[tuple[Node, list[Pair]]]:
        """Yield other sections of values whose keys go to the launch that a section at their top configures.

        Only of values that stand apart from their chart: elsewhere the templates are read with them.
        """
        chart, root = self._of(node), node.holder
        if chart is None or not chart.beside or chart is not self.chart:
            return
        if root is None or root.holder is not None or root.kind != "mapping":
            return
        for pair in root.pairs:
            if pair.node is node or pair.node.kind != "mapping" or pair.use.alias:
                continue
            mine = [p for p in pair.node.pairs if p.node.kind == "scalar" and _SEVERAL.search(p.name)]
            mine = [p for p in mine if chart.prints(p.name) and not (_nothing(p.node) and chart.silent(p.name))]
            if mine:
                yield pair.node, mine

    def lock(self, node: Node, entries: Sequence[Entry]) -> None:
        """Lock the values that a template puts into a text whether they are there or not."""
        chart = self._of(node)
        if chart is None or not self.composed(node):
            return
        for entry in entries:
            if not chart.silent(entry.key):
                entry.locked = entry.locked or "a template of the chart prints the option whatever the values hold"

    def _of(self, node: Node) -> Printed | None:
        """Return what the templates print of the chart whose values a mapping is part of."""
        if not self._whole:
            return None
        here, key = node, ""
        while here.holder is not None:
            holder = here.holder
            key = next((p.name for p in holder.pairs if p.node is here), "")
            here = holder
        if key not in self.charts:
            self.charts[key] = printed(self.reader.context, key) if key else None
        return self.charts[key] or self.chart


def _nothing(node: Node) -> bool:
    """Tell whether a template takes a value for none: an empty or a false one."""
    if node.kind != "scalar":
        return not node.children
    return not node.text or (not node.style and node.text in ("false", "False", "null", "~", "0"))
