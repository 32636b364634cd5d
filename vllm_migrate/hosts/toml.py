"""TOML files: dependencies of `pyproject.toml`, `Pipfile` and `pixi.toml`, lock files, commands of tools."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from vllm_migrate.hosts import Context, read_shell
from vllm_migrate.hosts.claims import TOML_LOCKS
from vllm_migrate.hosts.listed import ListContainer, SpotContainer, whole_lines
from vllm_migrate.hosts.listing import Listing
from vllm_migrate.hosts.specs import read_spec
from vllm_migrate.hosts.toml_scan import Entry, Node, ScanError, flat, inner, lock_packages, scan, string_region
from vllm_migrate.hosts.toml_services import environments, renamed, services
from vllm_migrate.launch import Launch, find_launch, launchers
from vllm_migrate.lazy import regex
from vllm_migrate.model import CannotRender, InsertText, Item, Pin, Problem, Reading, Site, Word, fill
from vllm_migrate.text import Edit, Region, Span
from vllm_migrate.tomltext import many_parts

NAME = "toml"

_GROUPS = (
    r"project\.dependencies|project\.optional-dependencies\..+|dependency-groups\..+"
    r"|tool\.uv\.(?:dev|constraint|override|build-constraint)-dependencies|tool\.pdm\.dev-dependencies\..+"
    r"|tool\.hatch\.envs\..+\.(?:extra-)?dependencies|tool\.flit\.metadata\.requires|tool\.setuptools\.requires"
)
_LISTS = regex(_GROUPS)
"""What is installed to run; what only a build needs (`build-system`) lives in an environment of its own."""
_TABLES = regex(
    r"(?:tool\.poetry\.(?:dev-)?(?:group\..+\.)?dependencies|tool\.poetry\.dev-dependencies|packages|dev-packages"
    r"|(?:tool\.pixi\.)?(?:feature\..+\.)?(?:pypi-)?dependencies)\.(?P<name>[^.]+)(?:\.(?P<key>[a-z_]+))?"
)
_PYTHON = regex(
    r"project\.requires-python|requires\.python_(?:full_)?version|tool\.poetry\.dependencies\.python"
    r"|tool\.uv\.pip\.python-version"
)
_INDEX = regex(
    r"tool\.uv\.index\.\d+\.url|tool\.uv\.(?:pip\.)?(?:default-)?(?:extra-)?index-url|tool\.(?:poetry|pdm)\.source\.\d+\.url"
    r"|source\.\d+\.url|tool\.uv\.(?:pip\.)?torch-backend|tool\.uv\.(?:pip\.)?find-links"
)
_SOURCE = regex(r"tool\.uv\.sources\.(?P<name>[^.]+)(?:\.\d+)?\.(?P<key>url|rev|tag|branch)")
_STANDARD = ("project", "build-system", "dependency-groups")
_OPTIONAL = ("project.optional-dependencies.", "dependency-groups.")
_PROSE = ("description", "help", "name", "comment", "summary", "title", "readme", "text")


def read(region: Region, context: Context) -> Reading:
    """Return the pins of a TOML file and the launches among its commands.

    A document that is not valid TOML gives one `syntax` problem and nothing else.
    """
    text = region.text
    name = context.path.rsplit("/", 1)[-1]
    tool = TOML_LOCKS.get(name) or ("the tool that wrote it" if re.fullmatch(r"pylock.*\.toml", name) else "")
    if tool and (packages := lock_packages(text)) is not None:
        reader = _Reader(region, context, packages)
        reader.lock(f"lock file; regenerate it with {tool}")
        return reader.out
    error = _syntax_error(text)
    if error is None:
        try:
            entries = flat(scan(text))
        except ScanError as failed:
            error = ("this TOML cannot be read", failed.offset)
    if error is not None:
        place = region.nearest_span(error[1], error[1])
        return Reading(problems=[Problem("syntax", error[0], place.start, place.end)])
    reader = _Reader(region, context, entries)
    if tool:
        reader.lock(f"lock file; regenerate it with {tool}")
    else:
        reader.project()
    return reader.out


def _syntax_error(text: str) -> tuple[str, int] | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    many = many_parts(text)
    if many is not None:
        return "not read: a key of too many parts", many
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"line (\d+), column (\d+)", str(error))
        offset = len(text)
        if match is not None:
            lines = text.split("\n")
            offset = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
        return f"not valid TOML: {error}", min(offset, len(text))
    except ValueError:
        return "not read: a number of too many digits", 0
    return None


class _Reader:
    def __init__(self, region: Region, context: Context, entries: list[Entry]) -> None:
        self.region = region
        self.text = region.text
        self.context = context
        self.entries = entries
        self.out = Reading()
        self.places: list[tuple[Site, tuple[str | int, ...]]] = []
        self.file = context.path.rsplit("/", 1)[-1]
        self.prefix = "tool.uv." if self.file == "uv.toml" else ""

    def _table(self, dotted: str) -> re.Match[str] | None:
        """Match a key of a table of dependencies; only Pipfile and pixi.toml have such at their root."""
        if self.file not in ("Pipfile", "pixi.toml") and not dotted.startswith("tool."):
            return None
        return _TABLES.fullmatch(dotted)

    def _value(self, entry: Entry) -> str:
        return entry.node.value(self.text)

    def lock(self, reason: str) -> None:
        """Read the packages of a lock file: name and version of each, never to be edited."""
        self.out.problems.append(Problem("generated", reason))
        names: dict[tuple[str | int, ...], str] = {}
        for entry in self.entries:
            if (
                entry.path[0] in ("package", "packages")
                and len(entry.path) == 3
                and entry.node.kind == "string"
            ):
                if entry.path[2] == "name":
                    names[entry.path[:2]] = self._value(entry)
                elif entry.path[2] == "version" and entry.path[:2] in names:
                    name = names[entry.path[:2]]
                    self._pin("requirement", entry.node, name, f"{name}==", reason)

    def project(self) -> None:
        for entry in self.entries:
            dotted = self.prefix + ".".join(str(p) for p in entry.path)
            node = entry.node
            if node.kind == "array" and _LISTS.fullmatch(dotted):
                self._requirements(node, optional=dotted.startswith(_OPTIONAL))
            elif _PYTHON.fullmatch(dotted) and node.kind == "string":
                self._pin("python", node, "python")
            elif _INDEX.fullmatch(dotted):
                for item in node.items or [node]:
                    if item.kind == "string":
                        self._pin("index", item)
            elif (match := _SOURCE.fullmatch(dotted)) and node.kind == "string":
                self._source(match["name"], match["key"], entry)
            elif (match := self._table(dotted)) and node.kind == "string":
                self._table_entry(match["name"], match["key"], entry)
            elif self.file != "Cargo.toml" and entry.path[0] not in _STANDARD:
                self._command(entry)
        if self.file in ("Cargo.toml", "Pipfile", "uv.toml"):
            return

        def image(entry: Entry) -> None:
            self._pin("image", entry.node)

        services(self.text, self.entries, self._launch, image)
        self.out.variables += environments(self.region, NAME, self.entries, self.places)

    # pins

    def _spot(self, node: Node, entry: Entry | None = None, insert: Any = None) -> SpotContainer:
        def remove(item: Item) -> list[Edit]:
            if entry is None or self.text[self._line_start(entry.key.start) : entry.key.start].strip():
                raise CannotRender("only a line of its own can be taken away")
            return [whole_lines(self.text, entry.key.start, entry.node.span.end)]

        return SpotContainer(
            NAME,
            self.region,
            lambda text, holes, old: inner(fill(text, holes), node.quote or '"'),
            insert,
            remove,
        )

    def _line_start(self, offset: int) -> int:
        return Listing(self.text, (), 0).line_start(offset)

    def _pin(
        self,
        kind: str,
        node: Node,
        name: str = "",
        prefix: str = "",
        locked: str = "",
        entry: Entry | None = None,
    ) -> Pin:
        pin = Pin(self.region, node.inside, self._spot(node, entry), locked=locked, kind=kind)
        pin.text, pin.name, pin.prefix = node.value(self.text), name, prefix
        pin.owner = self.context.owner
        if not locked and pin.text != self.text[node.inside.start : node.inside.end]:
            pin.locked = "written with escapes"
        self.out.pins.append(pin)
        return pin

    def _requirements(self, array: Node, *, optional: bool = False) -> None:
        items = [item for item in array.items if item.kind == "string"]
        if len(items) != len(array.items):
            return
        home = self._array(array)
        for i, item in enumerate(items):
            text = item.value(self.text)
            spec = read_spec(text)
            raw = self.text[item.inside.start : item.inside.end]
            if spec is None:
                continue
            exact = raw == text
            start, end = (spec.start, spec.end) if exact else (0, len(raw))
            span = Span(item.inside.start + start, item.inside.start + end)
            pin = Pin(
                self.region, span, home, kind=spec.kind, text=text[spec.start : spec.end], name=spec.name
            )
            if spec.kind == "git":
                pin.prefix, pin.suffix = text[: spec.start], text[spec.end :]
                pin.locked = "" if spec.end > spec.start else "no ref is given"
            pin.owner, pin.conditional = self.context.owner, optional
            if not exact:
                pin.locked = "written with escapes"
            home.add(pin, i)
            self.out.pins.append(pin)

    def _array(self, array: Node) -> ListContainer:
        usual = next((item.quote for item in array.items if item.kind == "string"), "")

        def quote(text: str, holes: Sequence[str], old: str) -> str | None:
            style = "'" if old.startswith("'") or (not old and usual == "'") else '"'
            written = inner(fill(text, holes), style)
            if written is None:
                style, written = '"', inner(fill(text, holes), '"')
            return None if written is None else style + written + style

        def part(text: str, holes: Sequence[str], old: str) -> str | None:
            return inner(fill(text, holes), old[:3] if old[:3] in ('"""', "'''") else old[0])

        listing = Listing(
            self.text,
            [item.span for item in array.items],
            array.inside.start,
            comment="#",
            newline=self.region.source.newline,
        )
        return ListContainer(NAME, self.region, listing, quote, part)

    def _source(self, name: str, key: str, entry: Entry) -> None:
        kind = "url" if key == "url" else "git"
        pin = self._pin(kind, entry.node, name)
        if kind == "git":
            parent = entry.path[:-1]
            git = next((e for e in self.entries if e.path == (*parent, "git")), None)
            pin.prefix = f"{self._value(git)}@" if git is not None else ""

    def _table_entry(self, name: str, key: str | None, entry: Entry) -> None:
        value = self._value(entry)
        if key in ("url", "file"):
            self._pin("url", entry.node, name, entry=entry)
        elif key in ("rev", "tag", "branch", "ref"):
            git = next((e for e in self.entries if e.path == (*entry.path[:-1], "git")), None)
            self._pin("git", entry.node, name, f"{self._value(git)}@" if git is not None else "")
        elif key in (None, "version"):
            prefix = f"{name}==" if re.match(r"\d", value) else name
            pin = self._pin("requirement", entry.node, name, prefix, entry=entry if key is None else None)
            if key is None and isinstance(pin.container, SpotContainer):
                pin.container.insert = lambda change: [self._key_after(entry, change)]

    def _key_after(self, entry: Entry, change: InsertText) -> Edit:
        """Write a further requirement as a further key of the table."""
        spec = read_spec(change.text)
        match = re.fullmatch(r"[\w.-]+(?![\w.-])(\[[^\]]*\])?\s*(?!\s)(.*)", change.text)
        plain = spec is not None and spec.kind == "requirement" and ";" not in change.text
        if change.kind != "requirement" or spec is None or match is None or not plain:
            raise CannotRender("only a plain requirement can be a key of this table")
        version = match[2] or "*"
        if "==" in version:
            version = version.replace("==", "") if "," not in version else version
        value = f'"{version}"'
        if match[1]:
            extras = ", ".join(f'"{e.strip()}"' for e in match[1].strip("[]").split(","))
            value = f"{{extras = [{extras}], version = {value}}}"
        probe = Listing(self.text, (), 0)
        place = probe.line_end(entry.node.span.end)
        indent = self.text[probe.line_start(entry.key.start) : entry.key.start]
        key = renamed(self.text, entry, spec.name).rstrip()
        edit = self.region.edit(place, place, f"{self.region.source.newline}{indent}{key} = {value}")
        if edit is None:
            raise CannotRender("the text cannot be written at this place")
        return edit

    # launches

    def _command(self, entry: Entry) -> None:
        node, path = entry.node, entry.path
        if str(path[-1]) in _PROSE:
            return
        if node.kind == "array" and node.items and all(i.kind == "string" for i in node.items):
            texts = [i.value(self.text) for i in node.items]
            launch = find_launch(texts)
            if launch is not None:
                self._launch(entry, launch)
            elif path[:2] == ("tool", "bentoml") and path[-1] == "cli_args" and texts[0].startswith("-"):
                self._launch(entry, Launch("serve", 0, 0))
            else:
                for item in node.items:
                    self._script(item, path[:-1])
        elif node.kind == "string":
            self._script(node, path[:-1])

    def _launch(self, entry: Entry, launch: Launch) -> None:
        array = entry.node
        home = self._array(array)
        if launch.first == 0:
            home.empty = lambda: [Edit(array.inside.start, array.inside.end, "")]
        words: list[Word] = []
        for i, item in enumerate(array.items):
            word = Word(self.region, item.inside, home, text=item.value(self.text))
            home.add(word, i)
            words.append(word)
        passed = launch.passed(words, [w.text for w in words])
        site = Site(launch.entry_point, NAME, self.region, array.span, passed, owner=self.context.owner)
        launch.mark(site).word_home = home
        self.out.sites.append(site)
        self.places.append((site, entry.path[:-1]))

    def _script(self, node: Node, path: tuple[str | int, ...]) -> None:
        value = node.value(self.text)
        if " " not in value or not any(trigger in value for trigger in launchers()["triggers"]):
            return
        reading = read_shell(string_region(self.region, node), self.context)
        if reading.sites:
            self.out.extend(reading)
            self.places += [(site, path) for site in reading.sites]
