"""Options of vLLM that stand alone in HCL: variables, locals, arguments of modules, values of charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_migrate.hosts import read_words
from vllm_migrate.hosts.hcl_scan import Node
from vllm_migrate.hosts.hcl_text import guest, word_of
from vllm_migrate.hosts.shown import Names
from vllm_migrate.hosts.yaml_names import for_another, holds_arguments, is_prose, other_program, our_program
from vllm_migrate.launch import is_server_image
from vllm_migrate.lazy import regex
from vllm_migrate.model import Site
from vllm_migrate.text import Span

if TYPE_CHECKING:
    from vllm_migrate.hosts.terraform import Reader

_HOST = "terraform"
_VALUE = regex(r"default|value")
"""Keys whose value is called what the block around them is called."""


def read_options(reader: Reader, node: Node, holder: Node) -> bool:
    """Read a list or a string of options as a piece of a launch; tell whether it was that.

    Args: reader: its `keys` say what the value and what holds it are called: they name vLLM, or an image beside
    the value does. holder: the body or object the value is a member of.
    """
    key = next((k for k in reversed(reader.keys) if not _VALUE.fullmatch(k)), "")
    if id(node) in reader.seen or not holds_arguments(key) or for_another(key) or is_prose(reader.keys[-1]):
        return False
    nodes = node.items if node.kind == "list" else [node]
    first = nodes[0] if nodes else node
    if first.kind != "string" or not reader.text.startswith("--", first.inner_start) or not _ours(reader, holder):
        return False
    if node.kind == "list":
        part = reader.list_words(node)
        words, home = part.words, part.home
    else:
        words, home = read_words(guest(reader.region, node, Names()), _HOST), None
    if not words:
        return False
    site = Site("values", _HOST, reader.region, Span(node.start, node.end), words)
    # Whoever uses the value puts more around it.
    site.owner, site.word_home, site.open, site.hollow = reader.context.owner, home, True, True
    reader.seen.update(id(n) for n in (node, *node.items))
    reader.out.sites.append(site)
    return True


def _ours(reader: Reader, holder: Node) -> bool:
    said = holder.get("image", "repository", "image_name")
    if said is not None and said.kind == "string":
        return is_server_image(word_of(reader.text, said)[0])
    if holder.get("command", "cmd", "entrypoint", "entry_point") is not None:
        return False
    for name in reversed(reader.keys):
        if other_program(name):
            return False
        if our_program(name):
            return True
    return False
