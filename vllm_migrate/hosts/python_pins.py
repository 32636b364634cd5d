"""References to versions in Python code: images, requirements, wheels, indexes, Python versions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from vllm_migrate.hosts.python_commas import Bracket
from vllm_migrate.hosts.python_edit import Cluster, Slot, Write
from vllm_migrate.hosts.python_flow import Flow
from vllm_migrate.hosts.python_maps import Maps, bracket_quote
from vllm_migrate.hosts.python_region import is_text, says
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_text import literals, quote_of, spelled_string, write_string
from vllm_migrate.hosts.python_words import (
    BASES,
    INDEXES,
    INSTALLER_OPTIONS,
    INSTALLERS,
    PYTHON_VERSIONS,
    REQUIREMENTS,
)
from vllm_migrate.launch import launchers, split_image
from vllm_migrate.lazy import regex
from vllm_migrate.model import CannotRender, Pin, Replace
from vllm_migrate.text import Edit, Span

_IMAGE = regex(
    r"(?:docker://)?[a-z0-9][\w.-]*(?::\d+)?(?:/[a-z0-9][\w.-]*)*(?::[\w][\w.-]*)?(?:@sha256:[0-9a-f]+)?",
    re.ASCII,
)
_WHEEL = regex(r"https?://[^\s#]+\.(?:whl|tar\.gz)(?:#\S*)?")
_REQUIREMENT = regex(r"[A-Za-z0-9][\w.-]*(?:\[[^\]]*\])?\s*(?:[<>=!~@].*)?$", re.DOTALL)
_BUILDERS = frozenset({"debian_slim", "micromamba", "Image", "from_dockerfile"})


def _inner(place: Span) -> Write:
    """Return a writer of text that stands inside a string without quotes of its own."""
    return lambda change: [Edit(place.start, place.end, str(change.value))]


class Pins:
    """Finds the pins of one module."""

    def __init__(self, module: Module, maps: Maps) -> None:
        self.module = module
        self.maps = maps
        self.flow: Flow = maps.flow
        self.seen: set[ast.AST] = set()
        self.clusters: dict[int, Cluster] = {}

    def read(self) -> Iterator[Pin]:
        """Yield every pin, in the order of calls and then of single strings."""
        for node in self.module.nodes:
            if isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "pip":
                        yield from self._requirements(value)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id.lower()
                if name in REQUIREMENTS or name.endswith("requirements"):
                    yield from self._requirements(node.value)
        if self.module.is_test:
            # What a test writes down is what it expects, not what is run.
            return
        for node in self.module.nodes:
            if is_text(node) and node not in self.seen and not self.module.docstring(node):
                assert isinstance(node, ast.expr)
                yield from self._single(node)

    def _call(self, node: ast.Call) -> Iterator[Pin]:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        bracket = self.maps.bracket(node)
        if bracket is None:
            return
        if name in INSTALLERS:
            for argument in node.args:
                if isinstance(argument, (ast.List, ast.Tuple, ast.Starred)):
                    yield from self._requirements(argument)
                else:
                    yield from self._element(argument, bracket)
        if name in BASES and node.args:
            yield from self._text(node.args[0], "base", lambda t: bool(_IMAGE.fullmatch(t)))
        for keyword in node.keywords:
            if keyword.arg in PYTHON_VERSIONS and (name in _BUILDERS or name in BASES):
                yield from self._text(keyword.value, "python", lambda t: bool(re.fullmatch(r"\d+(\.\d+)*", t)))
            elif keyword.arg in INDEXES:
                values = keyword.value.elts if isinstance(keyword.value, (ast.List, ast.Tuple)) else [keyword.value]
                for value in values:
                    yield from self._text(value, "index", lambda t: "://" in t)
            elif keyword.arg == INSTALLER_OPTIONS:
                yield from self._options(keyword.value)
            elif keyword.arg == "extras_require" and isinstance(keyword.value, ast.Dict):
                for value in keyword.value.values:
                    yield from self._requirements(value)
            elif keyword.arg in REQUIREMENTS:
                yield from self._requirements(keyword.value)
            elif keyword.arg in ("image", "image_uri", "container_image", "docker_image") and not self.module.is_test:
                yield from self._text(keyword.value, "image", lambda t: "vllm" in t and bool(_IMAGE.fullmatch(t)))

    def _requirements(self, node: ast.expr) -> Iterator[Pin]:
        if isinstance(node, ast.Starred):
            yield from self._requirements(node.value)
        elif isinstance(node, (ast.List, ast.Tuple)):
            bracket = self.maps.bracket(node)
            if bracket is not None:
                for element in node.elts:
                    yield from self._element(element, bracket)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from self._requirements(node.left)
            yield from self._requirements(node.right)
        elif isinstance(node, ast.Dict):
            for value in node.values:
                yield from self._requirements(value)

    def _element(self, node: ast.expr, bracket: Bracket) -> Iterator[Pin]:
        if not is_text(node):
            return
        said = says(self.module, node)
        if _WHEEL.fullmatch(said.text):
            kind = "url"
        elif _REQUIREMENT.match(said.text):
            kind = "requirement"
        else:
            return
        yield from self._text(node, kind, lambda t: True, bracket)

    def _options(self, node: ast.expr) -> Iterator[Pin]:
        """Read `extra_options="--index-url https://…"`: the URLs in it."""
        if not is_text(node) or isinstance(node, ast.JoinedStr):
            return
        span = self.module.span(node)
        for match in re.finditer(r"https?://[^\s'\"]+", self.module.text[span.start : span.end]):
            place = Span(span.start + match.start(), span.start + match.end())
            cluster = Cluster(self.module, self._spell)
            pin = Pin(self.module.region, place, cluster, kind="index", text=match[0])
            cluster.add(Slot(pin, write=_inner(place)))
            yield pin

    def _single(self, node: ast.expr) -> Iterator[Pin]:
        text = says(self.module, node).text
        if "vllm" not in text or " " in text or "\n" in text:
            return
        if _WHEEL.fullmatch(text):
            yield from self._text(node, "url", lambda t: True)
        elif _IMAGE.fullmatch(text) and self._image_like(text) and self._deploys(node):
            yield from self._text(node, "image", lambda t: True)

    def _deploys(self, node: ast.expr) -> bool:
        """Tell whether a lone image string says what is run: it has a name that says so.

        Elsewhere (a comparison, a test's data, a table) it may be text about an image.
        """
        parent = self.module.parents.get(node)
        name = ""
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
            if isinstance(target, (ast.Name, ast.Attribute)):
                name = target.id if isinstance(target, ast.Name) else target.attr
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                name = str(target.slice.value)
        elif isinstance(parent, ast.Dict):
            i = parent.values.index(node) if node in parent.values else -1
            key = parent.keys[i] if i >= 0 else None
            name = str(key.value) if isinstance(key, ast.Constant) else ""
        elif isinstance(parent, (ast.List, ast.Tuple)):
            return any(isinstance(e, ast.Constant) and e.value in launchers()["container_tools"] for e in parent.elts)
        return "image" in name.lower()

    def _image_like(self, text: str) -> bool:
        name, tag, digest = split_image(text.removeprefix("docker://"))
        if "vllm" not in name or "/" not in name or not (tag or digest):
            return False
        return not re.fullmatch(r"\d{4,5}", tag) or bool(digest)

    def _text(self, node: ast.expr, kind: str, fits: Any, bracket: Bracket | None = None) -> Iterator[Pin]:
        """Yield the pin of a string, or of the constant that an f-string takes its version from."""
        if isinstance(node, ast.Name):
            origin = self._constant(node)
            if origin is None:
                return
            node, bracket = origin, None
        if not is_text(node) or node in self.seen:
            return
        said = says(self.module, node)
        if not fits("".join(c if c < "\ue000" else "x" for c in said.text)):
            return
        self.seen.add(node)
        if isinstance(node, ast.JoinedStr) and len(said.holes) == 1:
            filled = self._filled(node, kind, said.text)
            if filled is not None:
                yield filled
                return
        cluster = self._cluster(bracket)
        span = self.module.span(node)
        pin = Pin(
            self.module.region,
            self._inside(node),
            cluster,
            kind=kind,
            text=said.text,
            holes=tuple(said.holes),
            guarded=self.module.guard(node),
            conditional=self._conditional(node),
        )
        slot = Slot(pin, write=lambda change: self._write(change, node))
        if bracket is not None:
            slot.bracket = bracket
            slot.index = next(i for i, s in enumerate(bracket.items) if s.start <= span.start < s.end)
        cluster.add(slot)
        yield pin

    def _conditional(self, node: ast.expr) -> bool:
        """Tell whether a string is reached only where an `if` says so."""
        child: ast.AST = node
        for a in self.module.ancestors(node):
            if isinstance(a, ast.If) and child is not a.test:
                return True
            child = a
        return False

    def _inside(self, node: ast.expr) -> Span:
        """Return the span between the quotes where the file spells the text letter by letter."""
        span = self.module.span(node)
        parts = literals(self.module.text, span.start, span.end)
        if len(parts) != 1:
            return span
        return Span(parts[0].inner_start, parts[0].inner_end)

    def _cluster(self, bracket: Bracket | None) -> Cluster:
        if bracket is None:
            return Cluster(self.module, self._spell)
        if id(bracket) not in self.clusters:
            self.clusters[id(bracket)] = Cluster(self.module, self._spell, home=bracket)
        return self.clusters[id(bracket)]

    def _constant(self, node: ast.expr) -> ast.expr | None:
        """Return the literal that is the only value of a variable, or None."""
        builds = self.flow.builds(node)
        if len(builds) == 1 and isinstance(builds[0].origin, (ast.Constant, ast.JoinedStr)):
            return builds[0].origin if is_text(builds[0].origin) and not builds[0].events else None
        return None

    def _filled(self, node: ast.JoinedStr, kind: str, text: str) -> Pin | None:
        """Return the pin of `f"vllm=={VERSION}"` where VERSION is a constant: its text is the constant's."""
        fields = [v for v in node.values if isinstance(v, ast.FormattedValue)]
        if len(fields) != 1 or not isinstance(fields[0].value, ast.Name) or fields[0].format_spec is not None:
            return None
        origin = self._constant(fields[0].value)
        if origin is None or not isinstance(origin, ast.Constant):
            return None
        prefix, _, suffix = text.partition("\ue000")
        cluster = Cluster(self.module, self._spell)
        pin = Pin(
            self.module.region,
            self._inside(origin),
            cluster,
            kind=kind,
            text=str(origin.value),
            prefix=prefix,
            suffix=suffix,
            name=fields[0].value.id,
            guarded=self.module.guard(node),
        )
        cluster.add(Slot(pin, write=lambda change: self._write(change, origin)))
        return pin

    def _write(self, change: Replace, node: ast.expr) -> list[Edit]:
        item = change.item
        assert isinstance(item, Pin)
        holes = change.holes or item.holes
        if change.value == item.text and holes == item.holes:
            return []
        span = self.module.span(node)
        raw = self.module.text[span.start : span.end]
        written = write_string(str(change.value), holes, quote_of(raw) or self.maps.quote)
        if written is None or len(literals(self.module.text, span.start, span.end)) < 1:
            raise CannotRender("the text cannot be written as a Python string")
        return [Edit(span.start, span.end, written)]

    def _spell(self, bracket: Bracket, key: str, value: Any, holes: Sequence[str]) -> str:
        return spelled_string(str(value), holes, bracket_quote(bracket, self.maps.quote))
