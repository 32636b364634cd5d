"""Pins of YAML nodes: image references, tags that stand apart, lists of requirements."""

from __future__ import annotations

import re

from vllm_migrate.hosts.dockerfile_values import choose, expand
from vllm_migrate.hosts.specs import read_spec
from vllm_migrate.hosts.yaml_edit import Home
from vllm_migrate.hosts.yaml_items import PRIVATE, Items
from vllm_migrate.hosts.yaml_spots import SpotHome
from vllm_migrate.hosts.yaml_tree import Node
from vllm_migrate.lazy import regex
from vllm_migrate.model import Pin
from vllm_migrate.text import Span

_REFERENCE = regex(
    r"(?:docker://|docker:)?(?:[A-Za-z0-9.-]+(?::\d+)?/)?[\w.-]+(?:/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[0-9a-fA-F]+)?$"
)


def image_pin(items: Items, node: Node, owner: str, name: str) -> Pin | None:
    """Return the pin of an image reference, or None for a scalar that is none.

    Of `${NAME:-default}` the default is the pin.
    """
    key = ("image", id(node))
    if key in items.made:
        held: Pin | None = items.made[key]
        return held
    items.made[key] = None
    region = items.region_of(node)
    text = region.text.strip("\n")
    if not text or len(text) > 400 or re.search(r"\s", text) or node.kind != "scalar":
        return None
    home = SpotHome(items.document, node, region)
    parts = expand(text, Span(0, len(text)), {})
    found = choose(parts, "image")
    if found is None or parts[found].hole or parts[found].span is None:
        if not region.spellings and "$" not in text:
            return None
        shown, holes = items.interpolated(text, region.spellings)
        pin = Pin(region, Span(0, len(text)), home, kind="image", text=shown, holes=holes)
    else:
        part = parts[found]
        assert part.span is not None
        before = "".join(p.text for p in parts[:found])
        after = "".join(p.text for p in parts[found + 1 :])
        low, high = part.span.start, part.span.end
        for scheme in ("docker://", "docker:"):
            if part.text.startswith(scheme) and not before:
                before, low = scheme, low + len(scheme)
                break
        shown = text[low:high]
        plain = PRIVATE.sub("x", before + shown + after)
        if not any(p.hole for p in parts) and not _REFERENCE.match(plain):
            return None
        pin = Pin(region, Span(low, high), home, kind="image", text=shown, prefix=before, suffix=after)
        pin.holes = tuple(region.spellings)
    pin.name, pin.owner = name, owner
    if "@sha256:" in pin.whole:
        pin.locked = "has a digest"
    items.keep(pin, node)
    items.made[key] = pin
    return pin


def tag_pin(items: Items, node: Node, prefix: str, owner: str, name: str, digest: bool = False) -> Pin:
    """Return the pin of a tag that stands apart from its repository."""
    key = ("tag", id(node), prefix)
    if key not in items.made:
        region = items.region_of(node)
        made = Pin(region, Span(0, len(region.text)), SpotHome(items.document, node, region), kind="image")
        made.text, made.holes = region.text, tuple(region.spellings)
        made.prefix, made.name, made.owner = prefix, name, owner
        if digest or "@sha256:" in made.text:
            made.locked = "has a digest"
        items.keep(made, node)
        items.made[key] = made
    pin: Pin = items.made[key]
    return pin


def requirement_pins(items: Items, node: Node, owner: str, *, conda: bool = False) -> list[Pin]:
    """Return the requirements of a list of strings as pins."""
    key = ("pins", id(node))
    if key in items.made:
        held: list[Pin] = items.made[key]
        return held
    out: list[Pin] = []
    home = items.home(node)
    for index, use in enumerate(node.items):
        child = use.node
        if child.kind != "scalar" or use.alias or child.style in ("|", ">") or child.text.startswith("-"):
            continue
        region = items.region_of(child)
        text = region.text
        spec = read_spec(text)
        if spec is None and conda and re.match(r"[\w.-]+(?:\s*[=<>!].*)?$", text):
            spec_name = re.match(r"(?:[\w.-]+::)?([\w.-]+)", text)
            assert spec_name is not None
            low, high, kind, name = 0, len(text), "requirement", spec_name[1]
        elif spec is None:
            continue
        else:
            low, high, kind, name = spec.start, spec.end, spec.kind, spec.name
        whole = low == 0 and high == len(text)
        spot: Home = home if whole else SpotHome(items.document, child, region, home)
        pin = Pin(region, Span(low, high), spot, kind=kind, text=text[low:high], name=name, owner=owner)
        pin.holes = tuple(region.spellings)
        if not whole:
            pin.prefix, pin.suffix = text[:low], text[high:]
        if "--hash" in text:
            pin.locked = "has a hash"
        items.keep(pin, child)
        home.hold(pin, index)
        out.append(pin)
    items.made[key] = out
    return out
