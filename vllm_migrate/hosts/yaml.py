"""YAML: manifests, compose files, chart values and templates, workflows, task files, config files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vllm_migrate.hosts import Context
from vllm_migrate.lazy import regex
from vllm_migrate.model import Problem, Reading
from vllm_migrate.text import Region, Span

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_mask import Mask

NAME = "yaml"

_FILLED = regex(r"(?m)^[ \t]*[\ue000-\uf8fe]+[ \t]*$")
_BLOCK = regex(r"\{[{%][-+~]?\s*(?:(if|range|with|for|define|block|macro|raw)|end\w*)\b|\{#|/\*")
_GENERATED = regex(
    r"(?i)\bdo not (?:edit|modify)\b|@generated\b"
    r"|\b(?:auto[- ]?generated|automatically generated|generated) (?:by|from|file)\b"
    r"|^# Source: \S+/templates/\S+",
    re.M,
)


def read(region: Region, context: Context) -> Reading:
    """Return what the YAML documents of a file or guest start, configure and pin.

    A document that does not parse is a `syntax` problem; the others are read all the same.
    """
    return _read(region, context, config=False)


def read_config(region: Region, context: Context) -> Reading:
    """Read a file that a launch names with `--config`: every key of its top is an option."""
    return _read(region, context, config=True)


def _read(region: Region, context: Context, *, config: bool) -> Reading:
    from vllm_migrate.hosts.bearing import blanked, quiet_parts
    from vllm_migrate.hosts.helm_chart import is_values
    from vllm_migrate.hosts.yaml_doubts import doubts
    from vllm_migrate.hosts.yaml_edit import Document
    from vllm_migrate.hosts.yaml_mask import Mask, legible, mask
    from vllm_migrate.hosts.yaml_tree import parse, quiet_documents

    quiet = quiet_parts(NAME, region, quiet_documents)
    # A long manifest of schemas is not gone through for actions either.
    plain = [part for part in quiet if _stands_alone(region.text, part)]
    fields = region.parent is None and context.path.endswith(".tpl")
    if plain and not fields and not _acts(region.text, plain):
        masked = Mask(legible(region.text))
    else:
        masked = mask(blanked(region.text, plain), fields=fields)
    gaps = 0
    if region.parent is not None:
        # Lines that the text around a guest fills in: nothing tells what stands there.
        masked.parsed, gaps = _FILLED.subn(lambda m: " " * len(m[0]), masked.parsed)
    tree = parse(masked.parsed, quiet)
    masked.parsed = ""
    out = Reading()
    for message, offset in tree.errors:
        place = region.nearest_span(offset, offset)
        out.problems.append(Problem("syntax", f"not valid YAML: {message}", place.start, place.start))
    locked = generated(region, out)
    if "/templates/" in f"/{context.path}":
        locked = unbalanced(region, masked, out) or locked
    document = Document(NAME, region, masked, tree.roots, values=region.parent is None and is_values(context))
    found = read_document(document, context, locked, config=config)
    for site in found.sites if gaps else ():
        site.open = True
    out.extend(found)
    if region.parent is None:
        out.problems += doubts(document, found.sites)
    if region.parent is None and masked.actions and "/templates/" in f"/{context.path}":
        from vllm_migrate.hosts.helm_built import read_built

        out.extend(read_built(region, masked, context, [("", 0, len(region.text))]))
    if (
        region.parent is None
        and masked.actions
        and "/templates/" in f"/{context.path}"
        and "Chart.AppVersion" in region.text
    ):
        out.links.append("../" * (context.path.split("/templates/")[-1].count("/") + 1) + "Chart.yaml")
    return out


def _stands_alone(text: str, part: Span) -> bool:
    """Tell whether every block of template actions that a part opens ends in it."""
    depth = 0
    for found in _BLOCK.finditer(text, part.start, part.end):
        if found[0] in ("{#", "/*"):
            return False
        depth += 1 if found[1] else -1
        if depth < 0:
            return False
    return depth == 0


def _acts(text: str, plain: Sequence[Span]) -> bool:
    """Tell whether there are template actions outside some parts of a text."""
    at = 0
    for part in [*plain, Span(len(text), len(text))]:
        if text.find("{{", at, part.start) >= 0 or text.find("{%", at, part.start) >= 0:
            return True
        at = part.end
    return False


def unbalanced(region: Region, masked: Mask, out: Reading) -> str:
    """Return why a template whose actions do not balance must not be edited; adds the places to `out`."""
    if region.parent is not None or "{%" in region.text:
        return ""
    for start, end, text in masked.faults():
        out.problems.append(Problem("doubt", text, start, end))
        return "the actions of the template do not balance"
    return ""


def generated(region: Region, out: Reading) -> str:
    """Return why a generated file must not be edited, "" for any other; adds the problem to `out`."""
    head = "\n".join(
        line for line in region.text[:4000].split("\n")[:12] if re.match(r"\s*(?:#|//|\{|\"|---|/\*)", line)
    )
    found = _GENERATED.search(head)
    if found is None:
        return ""
    if region.parent is None:
        at = region.text.find(found[0])
        out.problems.append(
            Problem("generated", "the file says that it is generated", max(at, 0), max(at, 0) + len(found[0]))
        )
    return "generated file"


def read_document(document: object, context: Context, locked: str, *, config: bool = False) -> Reading:
    """Read all documents of a parsed text (YAML or JSON)."""
    from vllm_migrate.hosts.yaml_edit import Document
    from vllm_migrate.hosts.yaml_items import Items
    from vllm_migrate.hosts.yaml_reader import Reader

    assert isinstance(document, Document)
    out = Reading()
    items = Items(document, locked)
    for root in document.roots:
        reader = Reader(document, items, context, root)
        if config and root.kind == "mapping":
            reader.settings.config(root)
            out.extend(reader.out)
        else:
            out.extend(reader.run())
    items.lock_shared()
    _link_configs(out)
    return out


def _link_configs(out: Reading) -> None:
    """Note the files that launches name with `--config`."""
    for site in out.sites:
        words = site.words
        for i, word in enumerate(words):
            name, equals, value = word.text.partition("=")
            if name != "--config":
                continue
            target = value if equals else words[i + 1].text if i + 1 < len(words) else ""
            if target and not target.startswith("/") and re.fullmatch(r"[\w./-]+", target):
                out.links.append(target)
