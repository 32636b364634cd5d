"""Finds what a YAML document starts and configures: containers, argument lists, settings, scripts, pins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from vllm_migrate.hosts import Context
from vllm_migrate.hosts import yaml_names as names
from vllm_migrate.hosts.helm_chart import defaults
from vllm_migrate.hosts.yaml_containers import Containers
from vllm_migrate.hosts.yaml_doubts import again
from vllm_migrate.hosts.yaml_edit import Document
from vllm_migrate.hosts.yaml_items import Items
from vllm_migrate.hosts.yaml_pins import Pins
from vllm_migrate.hosts.yaml_programs import read_program
from vllm_migrate.hosts.yaml_scripts import Scripts
from vllm_migrate.hosts.yaml_settings import Settings
from vllm_migrate.hosts.yaml_spots import move_to_variable
from vllm_migrate.hosts.yaml_tree import Node, Pair, Use
from vllm_migrate.model import Reading, Site, Variable
from vllm_migrate.wrappers import of_place

Path = tuple[str, ...]


class Reader:
    """Reads one document. finds: what was found so far; done: nodes and pairs already read."""

    def __init__(self, document: Document, items: Items, context: Context, root: Node) -> None:
        self.document = document
        self.items = items
        self.context = context
        self.root = root
        self.out = Reading()
        self.done: set[int] = set()
        self.kind = root.scalar("kind")
        self.compose = is_compose(root)
        self.workflow = is_workflow(root)
        items.mode = "compose" if self.compose else "kubernetes"
        self.defaults = defaults(context) if document.region.parent is None else None
        self.mentions_vllm = document.mentions_vllm or (self.defaults is not None and self.defaults.mentions_vllm)
        self.scopes: list[list[Variable]] = []
        self.unseen: list[Variable] = []
        self.pins = Pins(self)
        self.containers = Containers(self)
        self.settings = Settings(self)
        self.scripts = Scripts(self)

    def owner(self, node: Node) -> str:
        span = self.document.region.nearest_span(node.start, node.start)
        return f"{self.context.owner}/yaml:{span.start}".lstrip("/")

    def run(self) -> Reading:
        if self.kind == "CustomResourceDefinition":
            return self.out
        root = self.root
        self._visit(Use(root, root.start, root.end), ())
        seen = {id(v) for s in self.out.sites for v in s.variables}
        known = {id(v) for v in self.out.variables}
        self.out.variables += [v for v in self.unseen if id(v) not in seen and id(v) not in known]
        return self.out

    # -- walking

    def _visit(self, use: Use, path: Path) -> None:
        node = use.node
        if use.alias or id(node) in self.done:
            return
        self.done.add(id(node))
        wrapper = of_place(path, self.context.path, self.kind, self.root.scalar("apiVersion"))
        if wrapper is not None:
            self.settings.given(use, path, wrapper)
        elif node.kind == "mapping":
            self._mapping(use, path)
        elif node.kind == "sequence":
            self._sequence(use, path)
        elif node.style != "*":
            self.scripts.scalar(node, path)

    def _sequence(self, use: Use, path: Path) -> None:
        node = use.node
        if self.pins.requirements(node, path):
            return
        if self.scripts.listing(node, path):
            self.done |= {id(u.node) for u in node.items}
            return
        for item in node.items:
            self._visit(item, (*path, f"[{item.index}]"))

    def _mapping(self, use: Use, path: Path) -> None:
        node = use.node
        if self._skips(path):
            return
        self.pins.mapping(node, path)
        self.pins.request(node)
        self.pins.routes(node)
        scope = self._scope(node, path)
        self.scopes.append(scope)
        first = len(self.out.sites)
        if read_program(self, use):
            pass
        elif self.is_container(node, path):
            self.containers.read(use, path)
            self.settings.more_lists(use, path, [pair for _, pair in again(self.document, node)])
        else:
            self.settings.mapping(use, path)
        self.scripts.mapping(node, path)
        for pair in node.pairs:
            if id(pair) in self.done:
                continue
            self._visit(pair.use, (*path, pair.name))
            if pair.use.alias:
                self._aliased(pair, path)
        self.scopes.pop()
        sites = self.out.sites[first:]
        if scope and not any(v is w for s in sites for w in s.variables for v in scope):
            self.unseen += [v for v in scope if v not in self.unseen]

    def _aliased(self, pair: Pair, path: Path) -> None:
        """A service or container that is nothing but an alias is read where it is used."""
        node = pair.node
        where = (*path, pair.name)
        if pair.name != "<<" and node.kind == "mapping" and self.is_container(node, where):
            self.containers.read(pair.use, where)

    def _skips(self, path: Path) -> bool:
        if len(path) == 1 and path[0].startswith("x-"):
            return True
        if self.root.find("$schema", "$defs") is not None and "properties" in path:
            return True
        return bool(path) and path[-1] in ("openAPIV3Schema", "managedFields")

    def _scope(self, node: Node, path: Path) -> list[Variable]:
        """Return variables that a workflow, a job or a task sets for all scripts below it."""
        out: list[Variable] = []
        if self.is_container(node, path):
            return out
        scripted = any(
            node.find(k)
            for k in ("run", "steps", "jobs", "script", "commands", "setup", "start_command", "stages", "tasks")
        )
        if not scripted and path:
            return out
        for name in (*names.ENVIRONMENTS, "variables"):
            pair = node.find(name)
            if pair is not None and pair.node.kind in ("mapping", "sequence"):
                if not path and not scripted:
                    continue
                variables, _ = self.items.environment(pair)
                for variable in variables:
                    variable.scope = "script"
                out += variables
                self.done |= {id(pair), id(pair.node)}
        return out

    def is_container(self, node: Node, path: Path) -> bool:
        """Tell whether a mapping describes a process in a container."""
        if node.kind != "mapping" or not path:
            return False
        holder = path[-2] if len(path) > 1 and path[-1].startswith("[") else ""
        if holder in ("containers", "initContainers", "ephemeralContainers", "containerDefinitions", "sidecars"):
            return True
        if len(path) >= 2 and path[-2] == "services" and self.compose:
            return True
        if path[-1] in ("build", "with", "healthcheck", "livenessProbe", "readinessProbe", "startupProbe", "exec"):
            return False
        runs = any(
            (pair.node.kind == "sequence" and any(u.node.kind == "scalar" for u in pair.node.items))
            or (pair.node.kind == "scalar" and pair.node.text)
            for pair in (
                node.find("command", "Command"),
                node.find("args", "Args"),
                node.find("entrypoint", "entryPoint", "EntryPoint"),
            )
            if pair is not None
        )
        if not runs:
            engine = self.kind == "Model" and path == ("spec",) and bool(node.scalar("engine"))
            return engine or (path[-1] == "model" and node.find("modelFormat") is not None)
        image = node.find("image", "Image", "baseImage")
        if image is not None and image.node.kind == "scalar":
            return True
        if node.find("id") and node.find("entry", "name", "language") and any(p in ("hooks", "repos") for p in path):
            return False
        command = node.get("command", "Command")
        if command is not None and command.kind == "sequence":
            return True
        if node.find("modelFormat", "engine", "runtime") is not None:
            return True
        return path[-1] in ("container", "main", "worker", "model", "predictor", "leader")

    # -- for the parts

    def surroundings(self) -> list[Variable]:
        """Return the variables set around the place that is being read."""
        return [v for scope in self.scopes for v in scope]

    def interesting(self, variables: Sequence[Variable]) -> list[Variable]:
        return [
            v for v in variables if re.match(r"VLLM_|.*VISIBLE_DEVICES$|RAY_|NCCL_|HF_|TORCH|CUDA_|ROCR|HIP", v.name)
        ]

    def guest_context(self, owner: str, image: str, variables: Sequence[Variable]) -> Context:
        known = dict(self.context.variables)
        known.update({v.name: v.value for v in variables if v.value is not None and not v.holes})
        return replace(self.context, owner=owner, image=image, variables=known)

    def adopt(self, reading: Reading, owner: str, variables: Sequence[Variable]) -> list[Site]:
        """Take in what a guest found, giving its sites what is set around them."""
        moved = {id(pin): move_to_variable(pin, variables) for pin in reading.pins}
        reading.pins = [moved[id(pin)] for pin in reading.pins]
        for site in reading.sites:
            site.pins = [moved.get(id(pin), pin) for pin in site.pins]
        for pin in reading.pins:
            pin.owner = pin.owner or owner
        for site in reading.sites:
            self._open_templates(site)
            site.owner = site.owner or owner
            site.variables += [v for v in variables if not any(v is w for w in site.variables)]
        if self.items.locked:
            held = [*reading.pins, *reading.variables, *reading.mentions]
            for site in reading.sites:
                held += [*site.words, *site.entries, *site.variables, *site.pins]
            for item in held:
                item.locked = item.locked or self.items.locked
        self.out.extend(reading)
        return reading.sites

    def _open_templates(self, site: Site) -> None:
        """A template action that stands alone among the words may print any number of them."""
        for i, word in enumerate(site.words):
            lone = len(word.text) == 1 and bool(word.holes) and word.holes[0].startswith("{{")
            if lone and i and not site.words[i - 1].text.startswith("-"):
                word.splits = True
        site.open = site.open or any(w.splits for w in site.words)
        mask = self.document.mask
        if mask.actions and self.document.region.parent is None:
            for word in site.words:
                place = word.place
                word.branch = mask.branch(place.start)
                if not mask.whole(place.start, place.end):
                    word.locked = word.locked or "inside a template action"


def is_compose(root: Node) -> bool:
    """Tell whether a document is a compose file."""
    services = root.get("services")
    if services is None or services.kind != "mapping" or root.find("apiVersion", "jobs", "stages") is not None:
        return False
    keys = ("image", "build", "command", "entrypoint", "environment", "extends", "deploy", "ports", "volumes", "<<")
    return any(p.node.kind == "mapping" and any(q.name in keys for q in p.node.pairs) for p in services.pairs) or any(
        p.use.alias for p in services.pairs
    )


def is_workflow(root: Node) -> bool:
    """Tell whether a document is a pipeline whose `${{ }}` is filled in when it runs."""
    jobs = root.get("jobs")
    return (
        jobs is not None
        and jobs.kind in ("mapping", "sequence")
        and root.find("on", "steps", "true", "name") is not None
    )
