"""What a values file of a chart stands over: the chart's own values, which hold where it says nothing."""

from __future__ import annotations

import re
from functools import cached_property

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.yaml_tree import Node, parse

_PLACES = ("", "../", "../../", "../../../")
_NAMED = re.compile(r"(?:^|/)(?:[^/]*values[^/]*|(?:environments?|envs?|values|ci)/(?:[^/]+/)?[^/]+)\.ya?ml$", re.I)


class Defaults:
    """The values of the chart that a values file stands over. text: its `values.yaml`."""

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def mentions_vllm(self) -> bool:
        return "vllm" in self.text.lower()

    @cached_property
    def _root(self) -> Node | None:
        tree = parse(self.text) if "{{" not in self.text else None
        return tree.roots[0] if tree is not None and len(tree.roots) == 1 and not tree.errors else None

    def same(self, node: Node) -> Node | None:
        """Return the mapping of the defaults that stands where a mapping of the values file does."""
        keys: list[str] = []
        here = node
        while here.holder is not None:
            holder = here.holder
            if holder.kind != "mapping":
                return None
            key = next((p.name for p in holder.pairs if p.node is here), None)
            if key is None:
                return None
            keys.append(key)
            here = holder
        found = self._root
        for name in reversed(keys):
            found = found.get(name) if found is not None and found.kind == "mapping" else None
        return found if found is not None and found.kind == "mapping" else None


def chart_mentions_vllm(context: Context) -> bool:
    """Tell whether the values of the chart that a template belongs to speak of vLLM."""
    reader = context.sibling_reader
    up = "../" * (context.path.split("templates/")[-1].count("/") + 1)
    return reader is not None and "vllm" in (reader(up + "values.yaml") or "").lower()


def is_values(context: Context) -> bool:
    """Tell whether a file is called like the values of a chart, or of one environment, and stands in a chart."""
    if _NAMED.search(context.path) is None or "/templates/" in f"/{context.path}":
        return False
    return _chart(context) is not None


def _chart(context: Context) -> str | None:
    """Return the way up from a file to its chart."""
    reader = context.sibling_reader
    places = _PLACES[: context.path.count("/") + 1] if reader is not None else ()
    return next((p for p in places if reader is not None and reader(p + "Chart.yaml") is not None), None)


def defaults(context: Context) -> Defaults | None:
    """Return what a values file stands over, or None for any other file and for the chart's own values."""
    reader = context.sibling_reader
    place = _chart(context) if is_values(context) else None
    if reader is None or place is None or (not place and context.path.rsplit("/", 1)[-1] == "values.yaml"):
        return None
    text = reader(place + "values.yaml")
    return Defaults(text) if text else None
