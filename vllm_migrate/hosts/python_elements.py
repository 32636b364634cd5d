"""Items of argument lists as words: what each says, and how it is written anew."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from typing import Any

from vllm_migrate.hosts.python_commas import Bracket
from vllm_migrate.hosts.python_edit import Cluster, Slot
from vllm_migrate.hosts.python_maps import Maps, bracket_quote
from vllm_migrate.hosts.python_region import says
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_text import quote_of, spelled_string
from vllm_migrate.hosts.python_values import value_edits, value_of
from vllm_migrate.jsonvalue import loads
from vllm_migrate.model import Dynamic, Replace, Word
from vllm_migrate.text import Edit


class Elements:
    """Makes words of expressions; the same expression gives the same words."""

    def __init__(self, module: Module, maps: Maps) -> None:
        self.module = module
        self.maps = maps
        self._words: dict[ast.AST, list[Word]] = {}
        self._clusters: dict[object, Cluster] = {}

    def cluster(self, key: object) -> Cluster:
        if key not in self._clusters:
            self._clusters[key] = Cluster(self.module, self._spell)
        return self._clusters[key]

    def _hole(self, node: ast.expr, *, splits: bool) -> Word:
        known = self._words.get(node)
        if known:
            return known[0]
        span = self.module.span(node)
        word = Word(
            self.module.region,
            span,
            self.cluster(node),
            text="\ue000",
            holes=(self.module.text[span.start : span.end],),
            splits=splits,
            locked="the words are put together while the program runs",
        )
        self._words[node] = [word]
        return word

    def _element(self, node: ast.expr, bracket: Bracket, i: int, cluster: Cluster) -> list[Word]:
        known = self._words.get(node)
        if known is not None:
            return known
        text, holes = self._said(node)
        word = Word(self.module.region, bracket.items[i], cluster, text=text, holes=holes)
        word.guarded = self.module.guard(node)
        slot = Slot(word, bracket=bracket, index=i)
        slot.write = lambda change: self._write(change, node, bracket)
        cluster.add(slot)
        self._words[node] = [word]
        return [word]

    def _said(self, node: ast.expr) -> tuple[str, tuple[str, ...]]:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return str(node.value), ()
        value = self._json(node)
        if value is not None:
            return json.dumps(value), ()
        said = says(self.module, node)
        return said.text, tuple(said.holes)

    def _json(self, node: ast.expr) -> Any:
        """Return the literal value of `json.dumps(value)`, or None."""
        dumped = self._dumped(node)
        if dumped is None:
            return None
        value = value_of(self.module, dumped)
        return None if _dynamic(value) else value

    def _dumped(self, node: ast.expr) -> ast.expr | None:
        """Return what `json.dumps` writes: its argument, or all that a variable used only there ever is."""
        if not (isinstance(node, ast.Call) and self.module.dotted(node.func) == "json.dumps" and len(node.args) == 1):
            return None
        value = node.args[0]
        if isinstance(value, ast.Name):
            builds = self.maps.flow.builds(value)
            if len(builds) == 1 and not builds[0].events and builds[0].uses == [value]:
                return builds[0].origin
        return value

    def _write(self, change: Replace, node: ast.expr, bracket: Bracket) -> list[Edit]:
        item = change.item
        assert isinstance(item, Word)
        holes = change.holes or item.holes
        if change.value == item.text and holes == item.holes:
            return []
        quote = bracket_quote(bracket, self.maps.quote)
        dumped = self._dumped(node)
        if dumped is not None and self._json(node) is not None:
            try:
                value = loads(change.value)
            except ValueError:
                value = None
            if isinstance(value, (dict, list)):
                return value_edits(self.module, dumped, value, quote)
        span = self.module.span(node)
        quote = quote_of(self.module.text[span.start : span.end]) or quote
        return [Edit(span.start, span.end, spelled_string(str(change.value), holes, quote))]

    def _spell(self, bracket: Bracket, key: str, value: Any, holes: Sequence[str]) -> str:
        return spelled_string(str(value), holes, bracket_quote(bracket, self.maps.quote))


def _dynamic(value: Any) -> bool:
    if isinstance(value, Dynamic):
        return True
    if isinstance(value, dict):
        return any(_dynamic(v) for v in value.values())
    return isinstance(value, list) and any(_dynamic(v) for v in value)
