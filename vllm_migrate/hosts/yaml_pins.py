"""References to versions in a YAML document: images, tags, requirements, build arguments; metric names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vllm_migrate.hosts import promql
from vllm_migrate.hosts import yaml_names as names
from vllm_migrate.hosts.helm_chart import application_image
from vllm_migrate.hosts.yaml_mask import FILLER
from vllm_migrate.hosts.yaml_pin_items import image_pin, requirement_pins, tag_pin
from vllm_migrate.hosts.yaml_spots import SpotHome
from vllm_migrate.hosts.yaml_tree import Node, Pair
from vllm_migrate.lazy import regex
from vllm_migrate.model import Mention, Pin
from vllm_migrate.text import Span

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_reader import Path, Reader

_METRIC = regex(r"(?<![\w:])vllm:[a-z][a-z0-9_]*(?![\w:])")
_IMAGE = regex(r"vllm:(?:latest|nightly|main|v?\d)")
_PATTERN_KEYS = frozenset(("regex", "matches"))
_STEP_IMAGE = regex(r"[\w.-]+(?:[:/][\w.-]+)*/(?=[\w.-]*vllm)[\w.-]*:[\w.-]+")
"""What runs a step of Cloud Build, which names the image, or a batch job's container."""
_REQUIREMENT_KEYS = frozenset((
    "pip", "packages", "requirements", "python_packages", "pip_packages", "additional_dependencies",
    "pip_requirements", "dependencies", "extra_pip_packages", "pip_dependencies",
    "python_requirements",
))  # fmt: skip
_REPOSITORY = regex(r"(?:https?|git|ssh)://[^\s#]*/vllm(?:\.git)?(?:#(?P<ref>[^:\s]+)(?::\S*)?)?$")
_SETUP = regex(r"(?:actions/setup-python|astral-sh/setup-uv|conda-incubator/setup-miniconda|mamba-org/\S+)@")
_INSTALLS = regex(r"\b(?:install|sync|clone)\b[^#]{0,200}?\bvllm\b")
_REPOSITORIES = ("repository", "repo", "name", "imageRepository", "image")
_TAGS = ("tag", "imageTag", "newTag", "image_tag")


class Pins:
    """Reads pins and mentions into the reader's findings."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.seen: set[int] = set()

    def add(self, pin: Pin) -> Pin:
        if id(pin) not in self.seen:
            self.seen.add(id(pin))
            self.reader.out.pins.append(pin)
        return pin

    def image(self, pair: Pair, owner: str) -> Pin | None:
        """Return the pin of a scalar image reference."""
        if pair.node.kind != "scalar" or not pair.node.text:
            return None
        pin = image_pin(self.reader.items, pair.node, owner, pair.name)
        return self.add(pin) if pin is not None else None

    def split_image(self, node: Node, owner: str) -> Pin | None:
        """Return the pin of a tag whose repository stands beside it, or None."""
        if node.kind != "mapping":
            return None
        tag = next((p for p in (node.find(t) for t in _TAGS) if p is not None), None)
        if tag is None or tag.node.kind != "scalar" or not tag.node.text:
            return None
        repository = node.scalar("newName") or next((node.scalar(r) for r in _REPOSITORIES if node.scalar(r)), "")
        over = self.reader.defaults.same(node) if not repository and self.reader.defaults is not None else None
        if over is not None:
            # Values of one environment say only what is different there.
            repository = next((over.scalar(r) for r in _REPOSITORIES if over.scalar(r)), "")
        if not repository or (FILLER in repository and FILLER in tag.node.text) or re.search(r"\s", repository):
            return None
        named = over if over is not None else node
        if (
            named.find("repository", "repo", "imageRepository", "image", "newTag", "newName") is None
            and "/" not in repository
        ):
            return None
        registry = node.scalar("registry", "imageRegistry", "hub") or named.scalar("registry", "imageRegistry", "hub")
        if registry and not repository.startswith(registry):
            repository = f"{registry.rstrip('/')}/{repository}"
        if ":" in repository.rsplit("/", 1)[-1]:
            return None
        digest = bool(node.scalar("digest", "sha", "imageDigest"))
        pin = tag_pin(self.reader.items, tag.node, repository + ":", owner, tag.name, digest)
        if tag.name == "newTag" and not pin.holes:
            pin.replaces = node.scalar("name")
        return self.add(pin)

    def mapping(self, node: Node, path: Path) -> None:
        """Read the pins that stand directly in a mapping."""
        reader = self.reader
        owner = reader.owner(node)
        inside = path[-1] if path else ""
        if inside in ("image", "images", "build") and len(path) > 1:
            # The pair belongs to the mapping that says `image:`.
            holder = node.holder
            owner = reader.owner(holder) if holder is not None else owner
        self.split_image(node, owner)
        for pair in node.pairs:
            if pair.node.kind != "scalar" or pair.use.alias or pair.key.kind != "scalar":
                continue
            name = pair.name
            if (
                (
                    names.IMAGE_KEYS.fullmatch(name)
                    and not (name == "image" and node.find("tag") and ":" not in pair.node.text)
                )
                or (name == "container" and ":" in pair.node.text and "jobs" in path)
                or (name == "container" and _STEP_IMAGE.fullmatch(pair.node.text) is not None)
                or (name == "name" and inside in ("image", "base_image", "container") and ":" in pair.node.text)
                or (name == "name" and "steps" in path and _STEP_IMAGE.fullmatch(pair.node.text) is not None)
                or (name == "uses" and pair.node.text.startswith("docker://"))
                or name.endswith("Image")
                or name.endswith("_IMAGE")
                or name == "VLLM_IMAGE"
            ):
                self.image(pair, owner)
        self._build_args(node, path, owner)
        self._platform(node, owner)
        if path and path[-1] == "build":
            self._checkout(node, owner)
        if self.reader.workflow and "steps" in path:
            self._python_version(node, path, owner)
        if not path and self.reader.context.path.rsplit("/", 1)[-1] == "Chart.yaml":
            self._chart(node, owner)

    def _platform(self, node: Node, owner: str) -> None:
        """The version of the engine that a platform is asked to run (`backend: vllm`, `backend_version: …`)."""
        version = node.find("backend_version", "backendVersion", "engineVersion")
        if version is None or version.node.kind != "scalar" or not version.node.text:
            return
        if "vllm" in node.scalar("backend", "engine", "backendName").lower():
            pin = tag_pin(self.reader.items, version.node, "", owner, "vllm backend version")
            pin.locked = pin.locked or "the platform decides which versions it has"
            self.add(pin)

    def _chart(self, node: Node, owner: str) -> None:
        """The version of a chart's application, where its templates fall back to it for the tag."""
        version = node.find("appVersion")
        if version is None or version.node.kind != "scalar" or not version.node.text:
            return
        prefix = application_image(self.reader.context)
        if prefix is not None:
            self.add(tag_pin(self.reader.items, version.node, prefix, owner, "appVersion"))

    def _build_args(self, node: Node, path: Path, owner: str) -> None:
        args = node.find("args") if path and path[-1] == "build" else None
        if args is None:
            args = node.find("build-args", "build_args", "buildArgs")
        if args is None:
            return
        self.reader.done.add(id(args))
        items = self.reader.items
        found: list[tuple[Node, int]] = []
        if args.node.kind == "mapping":
            for pair in args.node.pairs:
                if pair.node.kind == "scalar" and not pair.use.alias and pair.node.text:
                    self._build_arg(pair.node, 0, pair.name, owner)
        elif args.node.kind == "sequence":
            found = [(u.node, 0) for u in args.node.items if u.node.kind == "scalar" and not u.alias]
        elif args.node.kind == "scalar":
            region = items.region_of(args.node)
            for match in re.finditer(r"(?m)^([A-Za-z_]\w*)=(\S*)[ \t]*$", region.text):
                self._build_arg(args.node, match.start(2), match[1], owner, match.end(2))
        for child, _ in found:
            name, equals, _value = items.region_of(child).text.partition("=")
            if equals:
                self._build_arg(child, len(name) + 1, name, owner)

    def _checkout(self, node: Node, owner: str) -> None:
        """A build from vLLM's own repository: its ref, and the Dockerfile inside it."""
        context, dockerfile = node.get("context"), node.get("dockerfile")
        address = _REPOSITORY.match(context.text) if context is not None and context.kind == "scalar" else None
        if context is None or address is None:
            return
        if address["ref"]:
            self._spot(context, "git", owner, *address.span("ref"))
        if dockerfile is not None and dockerfile.kind == "scalar" and dockerfile.text:
            self._spot(dockerfile, "path", owner, 0, len(dockerfile.text))

    def _python_version(self, node: Node, path: Path, owner: str) -> None:
        """The Python a step of a workflow sets up, in a job that installs vLLM."""
        given = node.get("with")
        if given is None or given.kind != "mapping" or not _SETUP.match(node.scalar("uses")):
            return
        version = given.get("python-version")
        job = node
        while job.holder is not None and job.find("steps") is None:
            job = job.holder
        text = self.reader.document.text[job.start : job.end]
        if version is None or version.kind != "scalar" or not _INSTALLS.search(text):
            return
        if re.fullmatch(r"3\.\d+(?:\.\d+)?", version.text):
            self._spot(version, "python", owner, 0, len(version.text)).name = "vllm"
            return
        shown = self.reader.document.text[version.start : version.end].strip("'\"")
        axis = re.fullmatch(r"\$\{\{\s*matrix\.([\w-]+)\s*\}\}", shown)
        strategy = job.get("strategy")
        matrix = strategy.get("matrix") if strategy is not None and strategy.kind == "mapping" else None
        axes = matrix.get(axis[1]) if axis is not None and matrix is not None and matrix.kind == "mapping" else None
        for use in axes.items if axes is not None and axes.kind == "sequence" else ():
            if use.node.kind == "scalar" and re.fullmatch(r"3\.\d+", use.node.text):
                pin = self._spot(use.node, "python", owner, 0, len(use.node.text))
                pin.name = "vllm"
                pin.locked = pin.locked or "one of several that the job runs with: take it out"

    def _spot(self, node: Node, kind: str, owner: str, start: int, end: int) -> Pin:
        region = self.reader.items.region_of(node)
        home = SpotHome(self.reader.document, node, region)
        pin = Pin(region, Span(start, end), home, kind=kind, text=region.text[start:end], owner=owner)
        pin.prefix, pin.suffix = region.text[:start], region.text[end:].rstrip("\n")
        self.reader.items.keep(pin, node)
        return self.add(pin)

    def _build_arg(self, node: Node, start: int, name: str, owner: str, end: int | None = None) -> None:
        items = self.reader.items
        region = items.region_of(node)
        span = Span(start, len(region.text.rstrip("\n")) if end is None else end)
        home = SpotHome(self.reader.document, node, region)
        pin = Pin(region, span, home, kind="build-arg", text=region.text[span.start : span.end])
        pin.name, pin.owner, pin.prefix, pin.holes = name, owner, name + "=", tuple(region.spellings)
        items.keep(pin, node)
        self.add(pin)

    def requirements(self, node: Node, path: Path) -> bool:
        """Read a list of requirements; tell whether it was one."""
        key = path[-1] if path else ""
        scalars = [u.node for u in node.items if u.node.kind == "scalar"]
        if key not in _REQUIREMENT_KEYS or not scalars:
            return False
        conda = key == "dependencies" and (
            any(u.node.kind == "mapping" and u.node.find("pip") for u in node.items)
            or any(re.match(r"(?:[\w.-]+::)?(?:python|pip|pytorch|cudatoolkit|vllm)\b", s.text) for s in scalars)
        )
        if key == "dependencies" and not conda:
            return False
        if key == "packages" and not any(re.match(r"[\w.-]+(?:\[.*\])?\s*(?:[=<>~!]=|@|>|<)", s.text) for s in scalars):
            return False
        owner = self.reader.owner(node)
        for pin in requirement_pins(self.reader.items, node, owner, conda=conda):
            self.add(pin)
        if conda:
            for use in node.items:
                pip = use.node.get("pip") if use.node.kind == "mapping" else None
                if pip is not None and pip.kind == "sequence":
                    for pin in requirement_pins(self.reader.items, pip, owner):
                        self.add(pin)
        return True

    def metrics(self, node: Node, path: Path) -> None:
        """Name the metrics of the engine that a query asks for, and those that a rule makes itself."""
        if "vllm:" not in node.text:
            return
        text = self.reader.items.region_of(node).text
        key = next((p for p in reversed(path) if not p.startswith("[")), "")
        kind = "made" if self._makes(node, key) else "metric"
        if key in _PATTERN_KEYS:
            found = promql.names_in_pattern(text)
        elif promql.is_query(text):
            found = promql.metric_names(text)
        elif names.is_prose(key):
            return
        else:
            found = [Span(*match.span()) for match in _METRIC.finditer(text)]
        for span in found:
            if text.startswith("vllm:", span.start) and not _IMAGE.match(text, span.start):
                self.mention(node, kind, span.start, span.end)

    def _makes(self, node: Node, key: str) -> bool:
        """A recording rule, a relabelling or an adapter gives the name to what it makes."""
        if key in ("record", "as"):
            return True
        holder = node.holder
        label = holder.scalar("target_label") or holder.scalar("targetLabel") if holder is not None else ""
        return key == "replacement" and label == "__name__"

    def routes(self, node: Node) -> None:
        """Name the endpoints that a gateway or an ingress hands on to a server called after vLLM."""
        to, matches = node.get("backendRefs", "backend"), node.get("matches")
        if to is None or "vllm" not in self.reader.document.text[to.start : to.end].lower():
            return
        paths = [node.get("path")]
        if matches is not None and matches.kind == "sequence":
            found = [u.node.get("path") for u in matches.items if u.node.kind == "mapping"]
            paths = [p.get("value") for p in found if p is not None and p.kind == "mapping"]
        for path in paths:
            if path is not None and path.kind == "scalar" and path.text.startswith("/"):
                self.endpoint(path)

    def endpoint(self, node: Node) -> None:
        """Name the path that a scalar gives, without its query."""
        path = re.match(r"[^?#]*", self.reader.items.region_of(node).text)
        if path is not None and path[0]:
            self.mention(node, "endpoint", 0, path.end()).ours = True

    def request(self, node: Node) -> None:
        """Name the fields of a mapping that is a request to a server of models."""
        if node.find("model") is None or node.find("messages", "prompt", "input") is None:
            return
        if node.find("image", "command", "args") is None:
            for pair in node.pairs:
                if pair.key.kind == "scalar" and re.fullmatch(r"[a-z_]+", pair.name):
                    self.mention(pair.key, "field", 0, len(pair.name)).group = node

    def mention(self, node: Node, kind: str, start: int, end: int) -> Mention:
        region = self.reader.items.region_of(node)
        home = SpotHome(self.reader.document, node, region)
        made = Mention(region, Span(start, end), home, kind=kind, name=region.text[start:end])
        holder = node.holder
        made.group = holder if holder is not None and holder.kind == "sequence" else None
        self.reader.items.keep(made, node)
        self.reader.out.mentions.append(made)
        return made
