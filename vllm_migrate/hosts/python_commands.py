"""Finds the launches among the argument lists of a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from vllm_migrate.hosts.python_edit import Cluster, Slot
from vllm_migrate.hosts.python_flow import Build
from vllm_migrate.hosts.python_lists import Lists, Root
from vllm_migrate.hosts.python_region import has_text, says
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.launch import container_launch, find_launch
from vllm_migrate.lazy import regex
from vllm_migrate.model import Pin, Replace, Site, Variable, Word
from vllm_migrate.text import Edit, Span

_OURS = regex(r"(?i)(?=(?:\w+_)?vllm_)\w*_(?:args|arguments|argv|flags|options|opts|params)")


def read_lists(module: Module, lists: Lists) -> Iterator[tuple[Site, ast.AST, Build | None]]:
    """Yield every site that is an argument list, with its node and the variable it is built in."""
    found: list[tuple[Root, Site]] = []
    inner: set[Build] = set()
    loose: list[Root] = []
    for root in lists.roots():
        site = _site(module, lists, root)
        if site is None:
            if _named_for_us(module, root):
                loose.append(root)
            continue
        lists.used.update(root.inside)
        found.append((root, site))
        for name in root.inside:
            inner.update(b for b, _ in lists.flow.reach(name))
    for root, site in found:
        if root.build is not None and root.build in inner and all(u in lists.used for u in root.build.uses):
            # Only a part of other lists, which show its words.
            continue
        if lists.all_given(root.node):
            continue
        yield site, root.node, root.build
    shown = {id(word) for _, site in found for word in site.words}
    for root in loose:
        if not any(id(word) in shown for word in root.words):
            yield _arguments(module, lists, root), root.node, root.build


def _named_for_us(module: Module, root: Root) -> bool:
    """Tell whether a list is called vLLM's arguments, and holds options."""
    name = root.build.name if root.build is not None else ""
    parent = module.parents.get(root.node)
    if isinstance(parent, ast.keyword):
        name = parent.arg or ""
    elif isinstance(parent, ast.Dict):
        keys = [k for k, v in zip(parent.keys, parent.values, strict=True) if v is root.node]
        name = next((str(k.value) for k in keys if isinstance(k, ast.Constant)), "")
    name = name.removeprefix("self.")
    if _OURS.fullmatch(name) is None or not root.words or not root.words[0].text.startswith("--"):
        return False
    return any(w.literal for w in root.words)


def _arguments(module: Module, lists: Lists, root: Root) -> Site:
    """Return the site of arguments that something else puts behind a program."""
    home = lists.cluster(root.build if root.build is not None else root.node)
    span = module.span(root.node) if isinstance(root.node, ast.expr) else Span(0, 0)
    site = Site("values", "python", module.region, span, list(root.words), word_home=home, hollow=True)
    site.open = True
    guard = module.guard(root.node)
    for word in site.words:
        word.guarded = word.guarded or guard
    return site


def _site(module: Module, lists: Lists, root: Root) -> Site | None:
    texts = [w.text for w in root.words]
    launch = find_launch(texts)
    words = root.words
    image = ""
    if launch is None and root.build is None:
        image, command, words = _container(module, lists, root)
        if image:
            launch = container_launch([w.text for w in words], image, command)
    if launch is None or _has_arguments_beside(module, root.node):
        return None
    first = words[launch.program] if launch.program < len(words) else words[0] if words else None
    home = lists.cluster(root.build if root.build is not None else root.node)
    span = module.span(root.node) if isinstance(root.node, ast.expr) else Span(0, 0)
    site = Site(launch.entry_point, "python", module.region, span, word_home=home)
    site.words = launch.passed(words, [w.text for w in words])
    launch.mark(site)
    if site.words and site.words[-1].container is not home:
        end = site.words[-1].container
        site.word_home = home if home.home is not None else end
    # `f"--{name}"` may be any option.
    site.open = any(w.splits or re.match("--[\ue000-\uf8ff]", w.text) for w in site.words)
    guard = module.guard(root.node)
    for word in site.words:
        word.guarded = word.guarded or guard
    if first is not None and launch.program > 0:
        _before(site, words, launch.image, [*launch.assignments, *launch.glued])
    return site


def _has_arguments_beside(module: Module, node: ast.AST) -> bool:
    """Tell whether a list is a container's `command`, whose `args` stand beside it."""
    parent = module.parents.get(node)
    if isinstance(parent, ast.keyword) and parent.arg == "command":
        call = module.parents.get(parent)
        others = call.keywords if isinstance(call, ast.Call) else []
        return any(k.arg == "args" and isinstance(k.value, (ast.List, ast.Tuple)) for k in others)
    if isinstance(parent, ast.Dict):
        named = {
            k.value: v
            for k, v in zip(parent.keys, parent.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        }
        return named.get("command") is node and isinstance(named.get("args"), (ast.List, ast.Tuple))
    return False


def _before(site: Site, words: list[Word], image: int | None, assignments: list[int]) -> None:
    """Note the image and the variables given by words before the program."""
    if image is not None:
        word = words[image]
        pin = Pin(word.region, word.span, word.container, kind="image", text=word.text, holes=word.holes)
        pin.locked, pin.guarded = word.locked, word.guarded
        _same_slot(word, pin)
        site.pins.append(pin)
    for i in assignments:
        word = words[i]
        name, eq, value = word.text.removeprefix("--env=").removeprefix("-e=").partition("=")
        if not eq or not name.isidentifier():
            continue
        holes = word.holes
        variable = Variable(word.region, word.span, word.container, name=name, value=value, holes=holes, only=True)
        flag = words[i - 1] if i and words[i - 1].text in ("-e", "--env") else None
        variable.guarded, variable.locked = word.guarded, word.locked
        _variable_slot(word, variable, flag)
        site.variables.append(variable)


def _same_slot(word: Word, pin: Pin) -> None:
    cluster = word.container
    slot = cluster.slot(word) if isinstance(cluster, Cluster) else None
    if slot is not None and slot.write is not None and isinstance(cluster, Cluster):
        write = slot.write
        cluster.add(Slot(pin, write=lambda change: write(Replace(word, change.value, change.holes))))


def _variable_slot(word: Word, variable: Variable, flag: Word | None) -> None:
    cluster = word.container
    slot = cluster.slot(word) if isinstance(cluster, Cluster) else None
    if slot is None or slot.write is None or not isinstance(cluster, Cluster):
        return
    write = slot.write
    head = word.text[: len(word.text) - len(variable.value or "")]

    def rename(name: str) -> list[Edit]:
        return write(Replace(word, head.replace(variable.name, name) + (variable.value or ""), word.holes))

    new = Slot(variable, bracket=slot.bracket, index=slot.index, rename=rename)
    new.write = lambda change: write(Replace(word, head + change.value, change.holes))
    before = cluster.slot(flag)
    if before is not None and before.bracket is slot.bracket and slot.bracket is not None:
        new.also = [before.index]
    cluster.add(new)


def _container(module: Module, lists: Lists, root: Root) -> tuple[str, int, list[Word]]:
    """Return image, number of command words and all words where a list is the arguments of a container."""
    node = root.node
    parent = module.parents.get(node)
    pairs: dict[str, ast.expr] = {}
    if isinstance(parent, ast.keyword):
        call = module.parents.get(parent)
        if isinstance(call, ast.Call):
            pairs = {k.arg: k.value for k in call.keywords if k.arg}
            if call.args and "image" not in pairs and isinstance(call.func, ast.Attribute):
                pairs["image"] = call.args[0]
    elif isinstance(parent, ast.Dict):
        pairs = {
            k.value: v
            for k, v in zip(parent.keys, parent.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        }
    image = pairs.get("image")
    if image is None or not has_text(image):
        return "", 0, []
    name = says(module, image).text
    command, args = pairs.get("command"), pairs.get("args")
    entry = pairs.get("entrypoint")
    if node is command and args is not None:
        return "", 0, []
    head: list[Word] = []
    holder = command if node is args else entry if node is command else None
    if isinstance(holder, (ast.List, ast.Tuple)):
        head = [w for line in lists.lines(holder, lists.cluster(holder))[:1] for w in line.words]
    elif node not in (args, command):
        return "", 0, []
    count = len(head) if node is args else 0
    return name, count, [*head, *root.words]
