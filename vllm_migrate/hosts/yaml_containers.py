"""Containers of pods, of compose services and of task definitions, and what they start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vllm_migrate import wrappers
from vllm_migrate.hosts import read_python, read_shell
from vllm_migrate.hosts import yaml_names as names
from vllm_migrate.hosts.helm_filled import filled
from vllm_migrate.hosts.spread import holds_line
from vllm_migrate.hosts.yaml_command import Command, Commands
from vllm_migrate.hosts.yaml_edit import Home
from vllm_migrate.hosts.yaml_spots import NewKey
from vllm_migrate.hosts.yaml_tree import Node, Pair, Use
from vllm_migrate.launch import (
    Launch,
    basename,
    container_launch,
    find_launch,
    holds_vllm,
    is_server_image,
    launchers,
    script_of,
    split_image,
    wrapped_launch,
)
from vllm_migrate.model import Container, Pin, Site, Variable, Word, is_hole
from vllm_migrate.text import Span
from vllm_migrate.wrapped import carried_site

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_reader import Path, Reader

_SERVER = "vllm/vllm-openai"
_KNOWN = frozenset(("busybox", "alpine", "curl", "nginx", "redis", "ubuntu", "debian", "bash", "kubectl", "ray"))
"""Images that are none of a model server, whatever the workload is called."""


class Containers:
    """Reads one container after the other into the reader's findings."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.commands = Commands(reader)

    def read(self, use: Use, path: Path) -> None:
        """Read a container: its image, environment, and the process it starts."""
        reader, node = self.reader, use.node
        owner = reader.owner(node)
        image, pins = self._image(node, owner)
        command = self.commands.read(node, path)
        verdict = self._verdict(node, path, image)
        other = verdict == "other"
        held, env_home = self._environment(node)
        variables = held
        around = [*reader.surroundings(), *variables]
        sites: list[Site] = []
        scripted = self._script(node, command, owner, image, around)
        if scripted is not None:
            sites = scripted
            quiet = len(sites) == 1 and self.commands.is_quiet(command, sites[0])
        else:
            site = self._launch(use, command, image, verdict, owner, path)
            sites = [site] if site is not None else []
            reader.out.sites += sites
            quiet = True
        if sites:
            self._touch(use, node)
            reader.items.touch_pair(command.head)
            reader.items.touch_pair(command.tail)
            for name in names.ENVIRONMENTS:
                reader.items.touch_pair(node.find(name))
        given, variables = self._given(node, around, variables, image, owner)
        around = [v for v in around if v in variables or not any(v is w for w in held)]
        sites += given
        for site in sites:
            site.variables += [v for v in around if not any(v is w for w in site.variables)]
            site.pins += [p for p in pins if not any(p is q for q in site.pins)]
            if site.variable_home is None or site.host == reader.document.host:
                site.variable_home = env_home or self._new_env(node, path)
            if self.commands.prints_more(node, command):
                site.open = True
        for variable in variables:
            variable.scope = "process"
            reader.items.only(variable, bool(sites) and quiet)
        if variables and not sites and not other:
            reader.unseen += [v for v in reader.interesting(variables) if v not in reader.unseen]
        if sites:
            self._endpoints(node)
        self._finish(node, command)

    def _finish(self, node: Node, command: Command) -> None:
        done = self.reader.done
        for pair in (command.head, command.tail):
            if pair is not None:
                done |= {id(pair), id(pair.node)}
                done |= {id(u.node) for u in pair.node.items}
        for name in names.ENVIRONMENTS:
            found = node.find(name)
            if found is not None:
                done |= {id(found), id(found.node)}

    def _touch(self, use: Use, node: Node) -> None:
        items = self.reader.items
        here: Use | None = use
        while here is not None:
            items.touch(here)
            here = here.holder.uses[0] if here.holder is not None and here.holder.uses else None
        items.touch_merges(node)

    # -- image and environment

    def _image(self, node: Node, owner: str) -> tuple[str, list[Pin]]:
        """Return the image's text as far as it is known, and its pins."""
        pair = node.find("image", "Image", "baseImage")
        if pair is None or pair.node.kind != "scalar":
            mapping = pair.node if pair is not None and pair.node.kind == "mapping" else node
            found = self.reader.pins.split_image(mapping, owner)
            return (found.whole, [found]) if found is not None else ("", [])
        self.reader.items.touch(pair.use)
        pin = self.reader.pins.image(pair, owner)
        known = self._filled(pair.node)
        if known:
            return known, [pin] if pin is not None else []
        if pin is None:
            text = pair.node.text
            return ("" if "$" in text and "vllm" not in text.lower() else text), []
        self._override(pin, pair.node.text)
        return pin.effective or pin.whole, [pin]

    def _filled(self, node: Node) -> str:
        """Return an image of vLLM that a template's chart fills in by its own values, else ""."""
        text = self._shown(node)
        return text if text and names.our_program(text) and not names.other_program(text) else ""

    def _shown(self, node: Node) -> str:
        """Return what a template's chart makes of a scalar by its own values, "" where they do not settle it."""
        document = self.reader.document
        if document.region.parent is not None or not document.mask.within(node.start, node.end):
            return ""
        text = filled(document.text[node.start : node.end], self.reader.context).strip("\"' ")
        return text if "{{" not in text else ""

    def _override(self, pin: Pin, text: str) -> None:
        """Note what a compose file's `.env` makes of an image whose name or tag it sets."""
        reader = self.reader.context.sibling_reader
        if not self.reader.compose or reader is None or "$" not in text:
            return
        settings = reader(".env") or ""
        sets: list[str] = []

        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            found = re.search(rf"(?m)^[ \t]*(?:export[ \t]+)?{name}=[\"']?([^\s\"'#]+)", settings)
            if found is None:
                return match[0]
            sets.append(name)
            return found[1]

        filled = re.sub(r"\$\{([A-Za-z_]\w*)(?::?-[^}]{0,500})?\}|\$([A-Za-z_]\w*)", value, text)
        if sets and "$" not in filled:
            pin.effective = filled
            if not pin.holes:
                pin.locked = pin.locked or f"the default is not in effect: .env sets {', '.join(sets)}"

    def _environment(self, node: Node) -> tuple[list[Variable], Home | None]:
        out: list[Variable] = []
        home: Home | None = None
        for name in names.ENVIRONMENTS:
            pair = node.find(name)
            if pair is None or pair.node.kind not in ("mapping", "sequence"):
                continue
            found, container = self.reader.items.environment(pair)
            out += found
            home = home or container
        links = node.get("env_file")
        if links is not None:
            for text in _texts(links):
                self.reader.out.links.append(text)
        return out, home

    def _given(
        self, node: Node, around: Sequence[Variable], variables: list[Variable], image: str, owner: str
    ) -> tuple[list[Site], list[Variable]]:
        """Return sites made of options that variables carry, and the variables that are only variables."""
        reader = self.reader
        out: list[Site] = []
        carried = carried_site(around, split_image(image)[0], reader.document.host, owner)
        if carried is not None:
            out.append(carried)
        kept = []
        for variable in variables:
            line = reader.items.line_of(variable) if variable.name in wrappers.line_names() else None
            if line is None:
                kept.append(variable)
                if holds_line(variable) and variable not in reader.unseen:
                    reader.unseen.append(variable)
                continue
            site = Site("values", reader.document.host, line[0].region, line[0].span, line, owner=owner)
            site.open, site.hollow = True, True
            out.append(site)
        reader.out.sites += out
        return out, kept

    def _new_env(self, node: Node, path: Path) -> Container | None:
        document = self.reader.document
        if not node.pairs:
            return None
        if self.reader.compose:
            return NewKey(document, node, "environment", "strings", interpolates=True)
        if any(p.name in ("Image", "Command") for p in node.pairs):
            return NewKey(document, node, "Environment", "pairs", ("Name", "Value"))
        if path and path[-1].startswith("[") and len(path) > 1 and path[-2] == "containerDefinitions":
            return NewKey(document, node, "environment", "pairs")
        if node.find("engine") is not None and self.reader.kind == "Model":
            return NewKey(document, node, "env", "map")
        return NewKey(document, node, "env", "pairs")

    # -- command

    def _verdict(self, node: Node, path: Path, image: str) -> str:
        """Return "vllm", "other" or "" (not known) for the program a container's image starts."""
        served = node.get("modelFormat")
        words = [node.scalar(k) for k in ("engine", "runtime", "backend", "backendName")]
        runtime = " ".join([*words, served.scalar("name") if served is not None else ""])
        if runtime.strip():
            return "vllm" if "vllm" in runtime.lower() else "other"
        if image:
            if is_server_image(image) or holds_vllm(image):
                return "vllm"
            if wrappers.of_image(split_image(image)[0]) is not None:
                return ""
            if names.other_program(basename(split_image(image)[0])):
                return "other"
            if any(is_hole(c) for c in image) or "$" in image or "{{" in image:
                named = self._hint(node, path)
                return "vllm" if named or self._names_vllm(node) else ""
            if self._named(node):
                return "vllm"
            return "" if self._pod_named(node, image) else "other"
        return "vllm" if self._hint(node, path) else ""

    def _pod_named(self, node: Node, image: str) -> bool:
        """Tell whether the only container of a workload named for vLLM runs an image whose name says nothing."""
        words = set(re.split(r"[^a-z0-9.]+", split_image(image)[0].lower()))
        if words & (launchers()["other_engines"] | _KNOWN) or node.find("command", "Command") is not None:
            return False
        holder = node.holder
        if holder is None or holder.kind != "sequence" or len(holder.items) != 1:
            return False
        here: Node | None = holder.holder
        while here is not None:
            meta = here.get("metadata")
            if meta is not None and meta.kind == "mapping":
                labels = meta.get("labels")
                said = [meta.scalar("name")]
                said += [p.node.text for p in labels.pairs if p.name.endswith(("app", "name"))] if labels else []
                if any(names.our_program(n) and not names.other_program(n) for n in said):
                    return True
            here = here.holder
        return False

    def _names_vllm(self, node: Node) -> bool:
        pair = node.find("image", "Image", "baseImage")
        if pair is None:
            return False
        text = self.reader.document.text[pair.node.start : pair.node.end].lower()
        return "vllm" in text and not names.other_program(text)

    def _named(self, node: Node) -> bool:
        held = node.get("name", "container_name", "Name")
        name = (self._shown(held) or node.scalar("name", "container_name", "Name")) if held is not None else ""
        return names.our_program(name) and not names.other_program(name)

    def _hint(self, node: Node, path: Path) -> bool:
        if self._named(node):
            return True
        return any(names.our_program(p) and not names.other_program(p) for p in path[-1:] if not p.startswith("["))

    def _script(
        self, node: Node, command: Command, owner: str, image: str, variables: Sequence[Variable]
    ) -> list[Site] | None:
        """Read the script of `sh -c SCRIPT`; None where the container runs none."""
        reader = self.reader
        region = self.commands.script(command)
        if region is None:
            return None
        context = reader.guest_context(owner, image, variables)
        head = region.text.lstrip()[:80].split("\n", 1)[0]
        python = head.startswith(("import ", "from ")) or (head.startswith("#!") and "python" in head)
        reading = (read_python if python else read_shell)(region, context)
        sites = reader.adopt(reading, owner, ())
        for site in sites:
            self._positionals(site, command)
        return sites

    def _positionals(self, site: Site, command: Command) -> None:
        """Put the container's further words where a script passes on `"$@"`."""
        at = script_of([w.text for w in command.words])
        if at is None or command.open or command.words[at].region is not self.reader.document.region:
            return
        given = command.words[at + 2 :]
        out: list[Word] = []
        for word in site.words:
            if word.splits and word.spelled() in ("$@", "${@}", "$*"):
                out += given
            else:
                out.append(word)
        if len(out) != len(site.words) or given:
            passed = any(w.splits and w.spelled() in ("$@", "${@}", "$*") for w in site.words)
            site.words = out
            if passed:
                site.open = any(w.splits for w in out)

    # -- launch

    def _launch(self, use: Use, command: Command, image: str, verdict: str, owner: str, path: Path) -> Site | None:
        reader, node = self.reader, use.node
        words = self.commands.expanded(command)
        texts = [w.text for w in words]
        shown = _SERVER if verdict == "vllm" and not (image and is_server_image(image)) else image
        wrapper = self._server(node)
        if wrapper is not None and texts and not command.count:
            launch = wrapped_launch(wrapper, texts)
        else:
            launch = container_launch(texts, shown if verdict != "other" else "", command.count) if texts else None
        if launch is None and not texts and verdict == "vllm" and self._runs_image(node, path, image):
            launch = Launch("serve", 0, 0, by_image=True)
        if launch is None and not command.count and texts and texts[0].startswith("-") and verdict == "":
            launch = Launch("values", 0, 0) if reader.mentions_vllm and self._plausible(node, path) else None
        if launch is None and command.count and texts and verdict == "vllm":
            launch = find_launch(texts)
        if launch is None:
            return None
        pair = command.tail or command.head or Pair(node, use)
        start = min(p.start for p in (command.head, command.tail) if p is not None) if command.words else node.start
        end = max((p.end for p in (command.head, command.tail) if p is not None), default=node.start)
        site = Site(launch.entry_point, reader.document.host, reader.document.region, Span(start, max(end, start)))
        site.words = launch.passed(words, texts)
        launch.mark(site)
        # An image's own server runs without arguments too; of another launch nothing would be left to see.
        site.owner, site.hollow = owner, launch.first == 0
        if launch.entry_point == "values":
            reader.document.kept |= {id(p.node) for p in (command.head, command.tail) if p is not None}
        site.open = command.open or any(w.splits for w in site.words)
        for i in launch.assignments:
            name, _, value = words[i].text.partition("=")
            variable = Variable(words[i].region, words[i].span, words[i].container, name=name, value=value)
            variable.locked, variable.only = "written among the words of a command", True
            site.variables.append(variable)
        site.word_home = self.commands.word_home(node, command, pair)
        return site

    def _server(self, node: Node) -> wrappers.Wrapper | None:
        """Return the wrapper that a manifest names as the model server."""
        served = node.get("modelFormat")
        words = [node.scalar("runtime"), served.scalar("name") if served is not None else ""]
        return next((w for w in map(wrappers.of_format, words) if w is not None), None)

    def _plausible(self, node: Node, path: Path) -> bool:
        return not any(names.other_program(p) for p in path[-3:]) and not names.other_program(node.scalar("name"))

    def _runs_image(self, node: Node, path: Path, image: str) -> bool:
        """Tell whether a container without a command is there to run the image's own server."""
        holder = path[-2] if len(path) > 1 and path[-1].startswith("[") else ""
        if holder in ("initContainers", "ephemeralContainers") or any("GroupSpec" in p for p in path):
            return False
        if not image:
            return node.find("modelFormat", "engine") is not None
        name = basename(split_image(image)[0]).lower()
        if not is_server_image(image) or "ray" in re.split(r"[^a-z]+", name):
            return False
        return holder == "containers" or (self.reader.compose and len(path) == 2)

    def _endpoints(self, node: Node) -> None:
        """Name the endpoints that probes ask a server for."""
        reader = self.reader
        for name in ("livenessProbe", "readinessProbe", "startupProbe"):
            probe = node.get(name)
            get = probe.get("httpGet") if probe is not None and probe.kind == "mapping" else None
            where = get.get("path") if get is not None and get.kind == "mapping" else None
            if where is not None and where.kind == "scalar" and where.text.startswith("/"):
                reader.pins.endpoint(where)


def _texts(node: Node) -> list[str]:
    if node.kind == "scalar":
        return [node.text] if node.text else []
    out = []
    for use in node.items:
        child = use.node
        out.append(child.text if child.kind == "scalar" else child.scalar("path"))
    return [t for t in out if t and "$" not in t]
