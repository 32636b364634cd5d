"""Programs whose name and arguments stand under two keys: `command: vllm` beside `args: [serve, …]`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vllm_migrate.hosts.yaml_spots import NewKey
from vllm_migrate.hosts.yaml_tree import Node, Pair, Use
from vllm_migrate.launch import find_launch
from vllm_migrate.model import Site
from vllm_migrate.text import Span

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_reader import Reader

_PROGRAMS = ("command", "program", "cmd", "executable", "runtimeExecutable", "binary", "bin", "python")
_ARGUMENTS = ("args", "arguments", "argv")
_MODULE = ["python3", "-m"]


def read_program(reader: Reader, use: Use) -> bool:
    """Read a mapping that names a program and its arguments apart; tell whether it starts vLLM."""
    node = use.node
    arguments = next((p for p in (node.find(n) for n in _ARGUMENTS) if p is not None), None)
    if arguments is None or arguments.use.alias or not _is_list(arguments.node):
        return False
    lead = _lead(node)
    if lead is None:
        return False
    launch = find_launch([*lead, *(u.node.text for u in arguments.node.items)])
    if launch is None or launch.program != 0 or launch.first < len(lead):
        return False
    items = reader.items
    words, open_ended = items.list_words(arguments.node)
    items.touch_pair(arguments)
    reader.settings._touch_up(use)
    reader.done |= {id(arguments), id(arguments.node), *(id(u.node) for u in arguments.node.items)}
    document = reader.document
    site = Site(launch.entry_point, document.host, document.region, Span(arguments.start, arguments.end))
    passed = replace(launch, first=launch.first - len(lead)).passed(words, [w.text for w in words])
    site.words, site.owner = passed, reader.owner(node)
    launch.mark(site)
    site.open = open_ended or any(w.splits for w in site.words)
    site.word_home = items.home(arguments.node)
    variables, home = reader.settings._environment(node)
    site.variables = [*reader.surroundings(), *variables]
    site.variable_home = home or NewKey(document, node, "env", "map")
    site.pins = reader.settings._pins(node, site.owner)
    reader.out.sites.append(site)
    return True


def _lead(node: Node) -> list[str] | None:
    """Return the words that stand before the arguments."""
    module = node.scalar("module")
    if module:
        return [*_MODULE, module]
    found: Pair | None = next((p for p in (node.find(n) for n in _PROGRAMS) if p is not None), None)
    if found is None or found.node.kind != "scalar" or not found.node.text or len(found.node.text.split()) != 1:
        return None
    return [found.node.text]


def _is_list(node: Node) -> bool:
    return node.kind == "sequence" and bool(node.items) and all(u.node.kind == "scalar" for u in node.items)
