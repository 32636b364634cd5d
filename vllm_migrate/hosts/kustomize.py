"""What a kustomization says about other files: operations that count the items of lists, tags of images.

A JSON 6902 patch names an item of a list by its number. Taking an item away in the base moves the
numbers of those after it, so lists that a patch counts in are left alone up to the item it names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping

from vllm_migrate.hosts.yaml_tree import Node
from vllm_migrate.lazy import regex
from vllm_migrate.model import Item, Pin, Reading

OPERATION = "an operation on a list of another file: take the whole operation out by hand"
_COUNTED = regex(r"/(?P<list>args|command|env)/(?P<index>\d+)(?=/|$)")
NAMES = ("kustomization.yaml", "kustomization.yml")


def is_operation(node: Node) -> bool:
    """Tell whether a mapping is an operation of a JSON 6902 patch."""
    return node.kind == "mapping" and node.scalar("op") != "" and node.scalar("path").startswith("/")


def counted(node: Node) -> tuple[str, int] | None:
    """Return the list and the number of the item that an operation names, or None."""
    found = _COUNTED.search(node.scalar("path"))
    return (found["list"], int(found["index"])) if found is not None else None


def links(root: Node) -> list[str]:
    """Return the files and folders a kustomization is made of."""
    out: list[str] = []
    for name in ("resources", "bases", "components", "patchesStrategicMerge", "patches", "patchesJson6902"):
        listed = root.get(name)
        if listed is None or listed.kind != "sequence":
            continue
        for use in listed.items:
            text = use.node.text if use.node.kind == "scalar" else use.node.scalar("path")
            if text and "\n" not in text:
                out.append(text)
    return [t for t in out if "://" not in t]


def hold(readings: Mapping[str, Reading]) -> None:
    """Lock items of lists whose numbers a patch relies on, and tie images to the tags that are set for them.

    readings: by path, of all files read.
    """
    counting = [path for path, reading in readings.items() if reading.counts]
    setting = [path for path, reading in readings.items() if any(p.replaces for p in reading.pins)]
    if not counting and not setting:
        return
    owners = [path for path in readings if posixpath.basename(path) in NAMES]
    reach = {path: _reach(path, readings) for path in owners}
    for path in counting:
        holders = [owner for owner in owners if owner == path or path in reach[owner]] or [path]
        for base in sorted({b for owner in holders for b in reach.get(owner, ())} - set(counting)):
            for name, index in readings[path].counts:
                _lock(readings[base], name, index, path)
    _set_tags(readings, {path: reach[path] for path in setting if path in reach})


def _set_tags(readings: Mapping[str, Reading], reach: Mapping[str, set[str]]) -> None:
    """Tie the images of manifests to the kustomizations that set their tags."""
    images = {path: list(_images(readings[path])) for path in sorted(set().union(*reach.values()))}
    for image in (i for held in images.values() for i in held):
        image.set_by.clear()
    for owner in sorted(reach):
        for pin in readings[owner].pins:
            if not pin.replaces:
                continue
            for path in sorted(reach[owner]):
                for image in images[path]:
                    if _name_of(image) == pin.replaces and all(p is not pin for _, p in image.set_by):
                        image.set_by.append((owner, pin))


def _images(reading: Reading) -> Iterable[Pin]:
    held = [p for p in reading.pins if p.kind == "image"]
    seen = {id(p) for p in held}
    return held + [p for s in reading.sites for p in s.pins if p.kind == "image" and id(p) not in seen]


def _name_of(pin: Pin) -> str:
    """Return the name of an image: its reference without tag and digest."""
    whole = pin.whole.split("@", 1)[0]
    folder, slash, last = whole.rpartition("/")
    return folder + slash + last.split(":", 1)[0]


def _reach(path: str, readings: Mapping[str, Reading]) -> set[str]:
    """Return the files a kustomization is made of, those of its bases included."""
    seen: set[str] = set()
    waiting = [path]
    while waiting:
        here = waiting.pop()
        for link in readings[here].links:
            joined = posixpath.normpath(posixpath.join(posixpath.dirname(here), link))
            # A folder's own kustomization may name no vLLM and so be no file that is read.
            for name in [joined, *(p for p in readings if posixpath.dirname(p) == joined)]:
                if name in readings and name not in seen:
                    seen.add(name)
                    waiting.append(name)
    return seen


def _lock(reading: Reading, name: str, index: int, path: str) -> None:
    items: Iterable[Item]
    for site in reading.sites:
        items = site.variables if name == "env" else site.words
        for item in items:
            slots: Callable[[int], int | None] | None = getattr(getattr(item.container, "slots", None), "get", None)
            at = slots(id(item)) if slots is not None else None
            if at is not None and at <= index and not item.locked:
                item.locked = f"{path} names an item of this list by its number"
