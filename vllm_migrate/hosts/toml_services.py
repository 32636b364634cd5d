"""Services in TOML: an image or program beside its arguments, and tables of environment variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from vllm_migrate.hosts.listed import mapped, whole_lines
from vllm_migrate.hosts.toml_scan import Entry, inner
from vllm_migrate.launch import Launch, container_launch, is_server_image
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import CannotRender, Change, InsertVariable, Remove, Rename, Replace, Site, Variable
from vllm_migrate.text import Edit, Region, line_end, line_start

_ENV = ("env", "environment", "environment_variables", "env_vars", "variables", "vars")
_NAME = regex(r"[A-Z][A-Z0-9_]*")
_BARE = regex(r"[A-Za-z0-9_-]+")
_PART = regex(r"\"(?:[^\"\\]|\\.){0,500}\"|'[^']{0,500}'|[A-Za-z0-9_-]+")
_PROGRAMS = ("command", "cmd", "program", "exec", "entrypoint")
Path = tuple[str | int, ...]


@dataclass
class EnvTable:
    """Keys of a table that are environment variables; those with a line of their own may go."""

    host: str
    region: Region
    entries: dict[int, Entry]
    size: int = 0
    """How many keys the table has."""

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        out: list[Edit] = []
        text = self.region.text
        removed: list[tuple[int, int]] = []
        for change in changes:
            if isinstance(change, InsertVariable):
                out.append(self._insert(change))
                continue
            item = change.item if isinstance(change, (Remove, Rename, Replace)) else None
            entry = self.entries.get(id(item))
            if not isinstance(item, Variable) or entry is None:
                raise CannotRender("this cannot be changed in a table")
            if isinstance(change, Remove):
                start, end = entry.key.start, entry.node.span.end
                after = text[end : line_end(text, end)].strip()
                if text[line_start(text, start) : start].strip() or (after and not after.startswith("#")):
                    raise CannotRender("only a line of its own can be taken away")
                removed.append((start, end))
            elif isinstance(change, Rename):
                out.append(Edit(entry.key.start, entry.key.end, renamed(text, entry, change.name)))
            elif isinstance(change, Replace) and change.value != item.value:
                written = inner(str(change.value), entry.node.quote)
                if written is None:
                    raise CannotRender("the value cannot be written in these quotes")
                out.append(Edit(entry.node.inside.start, entry.node.inside.end, written))
        head = self._header(min(removed)[0]) if removed and len(removed) == self.size and not out else None
        if head is not None:
            return mapped(self.region, [whole_lines(text, head, max(removed)[1])])
        out += [whole_lines(text, start, end) for start, end in removed]
        return mapped(self.region, out)

    def _header(self, first: int) -> int | None:
        """Return where the header of the table begins, if nothing but it stands before its first key."""
        text = self.region.text
        at = line_start(text, first)
        above = line_start(text, max(at - 2, 0)) if at else 0
        return above if re.match(r"[ \t]*\[[^\[\]]+\][ \t]*\r?$", text[above:at]) else None

    def _insert(self, change: InsertVariable) -> Edit:
        entry = self.entries.get(id(change.after)) or list(self.entries.values())[-1]
        text = self.region.text
        start = line_start(text, entry.key.start)
        if text[start : entry.key.start].strip():
            raise CannotRender("no line for a variable")
        place = line_end(text, entry.node.span.end)
        indent = text[start : entry.key.start]
        written = inner(change.value, '"')
        name = renamed(text, entry, change.name).rstrip()
        return Edit(place, place, f'{self.region.source.newline}{indent}{name} = "{written}"')


def renamed(text: str, entry: Entry, name: str) -> str:
    """Return the key with its last part renamed, with what blanks stand behind it."""
    raw = text[entry.key.start : entry.key.end]
    bare = raw.rstrip()
    parts = list(_PART.finditer(bare))
    head = bare[: parts[-1].start()] if parts else ""
    shown = name if _BARE.fullmatch(name) else f'"{name}"'
    return f"{head}{shown}{raw[len(bare) :]}"


def environments(
    region: Region, host: str, entries: Sequence[Entry], sites: Sequence[tuple[Site, Path]]
) -> list[Variable]:
    """Give the sites the variables of the tables around them; return those that reach none."""
    homes: dict[Path, EnvTable] = {}
    loose: list[Variable] = []
    for entry in entries:
        holder = entry.path[:-1]
        name = str(entry.path[-1])
        if entry.node.kind != "string" or not holder or holder[-1] not in _ENV or not _NAME.fullmatch(name):
            continue
        home = homes.setdefault(holder, EnvTable(host, region, {}, sum(1 for e in entries if e.path[:-1] == holder)))
        variable = Variable(region, entry.node.inside, home, name=name, value=entry.node.value(region.text))
        variable.value_span = entry.node.inside
        home.entries[id(variable)] = entry
        table = holder[:-1]
        reached = [site for site, path in sites if path[: len(table)] == table]
        variable.scope = "process" if table else "file"
        variable.only = bool(table) and len(reached) == 1
        for site in reached:
            site.variables.append(variable)
            site.variable_home = site.variable_home or home
        if not reached:
            loose.append(variable)
    return loose


def services(
    text: str, entries: Sequence[Entry], launch: Callable[[Entry, Launch], None], image: Callable[[Entry], None]
) -> None:
    """Find images, and arguments that stand beside an image or a program.

    launch is given the entry of the arguments and the launch, counted from the first of them; image the entry of an
    image.
    """
    tables: dict[Path, dict[str, Entry]] = {}
    for entry in entries:
        tables.setdefault(entry.path[:-1], {})[str(entry.path[-1])] = entry
    for table in tables.values():
        named = table.get("image")
        reference = named.node.value(text) if named is not None and named.node.kind == "string" else ""
        if named is not None and ":" in reference and is_server_image(reference):
            image(named)
        arguments = table.get("args") or table.get("arguments")
        if arguments is None or arguments.node.kind != "array" or not arguments.node.items:
            continue
        if any(i.kind != "string" for i in arguments.node.items):
            continue
        program = next((table[n] for n in _PROGRAMS if n in table and table[n].node.kind == "string"), None)
        lead = [program.node.value(text)] if program is not None else []
        if lead and len(lead[0].split()) != 1:
            continue
        found = container_launch([*lead, *(i.value(text) for i in arguments.node.items)], reference, len(lead))
        if found is not None and found.first >= len(lead) and (found.program == 0 or not lead):
            launch(arguments, replace(found, first=found.first - len(lead)))
