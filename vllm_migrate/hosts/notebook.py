"""Jupyter notebooks: the Python cells as one module, and what their magics hand to a shell or write to files."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import field

from vllm_migrate.hosts import Context, host_for, read_python, read_shell
from vllm_migrate.hosts.notebook_cells import Cell, CellsRegion, cells_region
from vllm_migrate.hosts.shown import Mark, Names, lines_of, lines_region
from vllm_migrate.hosts.yaml_tree import Node
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Problem, Reading
from vllm_migrate.text import Region, Source, Span

NAME = "notebook"

_SHELLS = regex(r"%%(?:bash|sh|zsh|sx|system|!|script\b.*\b(?:ba|z|da)?sh\b)")
_PLAIN = regex(r"%%(?:capture|time|timeit|prun|memit|mprun|snakeviz|debug)\b")
_FILE = regex(r"%%(?:writefile|file|writetemplate)\s+(?:-a\s+|--append\s+)?(?P<path>\S+)")
_PYTHONS = regex(r"%%(?:python3?|script\b.*\bpython3?)\b")
_MAGIC = regex(
    r"(?P<lead>[ \t]*)(?:(?P<bang>!!?|%(?:sx|system|sh)[ \t]+)|%(?=(?:uv[ \t]+)?pip\b|conda\b|mamba\b|micromamba\b)"
    r"|(?P<bare>(?=(?:pip|conda|mamba|uv[ \t]+pip)[ \t]+install\b)))"
)
_ASSIGNED = regex(r"[ \t]*[A-Za-z_][\w., \t\[\]'\"]*=[ \t]*(?P<bang>!|%(?=[A-Za-z]))")
_ENV = regex(
    r"[ \t]*(?P<magic>%(?:set_)?env[ \t]+)(?P<name>[A-Za-z_]\w*)(?P<is>[ \t]*=[ \t]*|[ \t]+)"
    r"(?P<value>\S(?:[^\r\n]*[^ \t\r\n])?)[ \t]*$"
)
_OTHER = regex(r"[ \t]*%[A-Za-z]|[ \t]*\?\??[A-Za-z]|[ \t]*[\w.]+\?\??[ \t]*$")
_BRACED = regex(r"\{\{|\}\}|\{(?P<name>[A-Za-z_][\w.]*(?:\[[^\]{}]*\]|\([^(){}]*\))?)\}")
_TOKEN = regex(r"'''|\"\"\"|\\.|#|[\[\](){}]|'|\"", re.S)


def verify(source: Source, changed: Sequence[Span] = ()) -> str | None:
    """Return why a text is no notebook, or None where it is one."""
    import json

    try:
        json.loads(source.text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


@dataclass
class Parts:
    """What one pass over the cells finds; offsets are those of the text of all cells.

    lines, marks: the module. commands: spans of shell text. scripts, modules: spans of whole cells. files: (path,
    span) of cells that are written to a file.
    """

    lines: list[tuple[int, int, int]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    commands: list[tuple[int, int]] = field(default_factory=list)
    scripts: list[tuple[int, int]] = field(default_factory=list)
    modules: list[tuple[int, int]] = field(default_factory=list)
    files: list[tuple[str, int, int]] = field(default_factory=list)


def read(region: Region, context: Context) -> Reading:
    """Return what the code cells start and pin; outputs and text cells are passed over.

    A text that is not JSON is a `syntax` problem.
    """
    from vllm_migrate.hosts.json_tree import parse

    tree = parse(region.text)
    out = Reading()
    for message, offset in tree.errors:
        place = region.nearest_span(offset, offset)
        out.problems.append(Problem("syntax", f"not valid JSON: {message}", place.start, place.start))
    if not tree.roots:
        return out
    language = _language(tree.roots[0])
    cells = cells_region(region, list(_sources(tree.roots[0])))
    parts = Parts()
    for cell in cells.cells:
        if language == "shell":
            parts.scripts.append((cell.start, cell.end))
        else:
            _cell(cells, cell, language == "python", parts)
    module = lines_region(cells, parts.lines, sorted(parts.marks, key=lambda m: m.start))
    out.extend(read_python(module, context))
    for start, end in parts.commands:
        out.extend(read_shell(_command(cells, start, end), context))
    for start, end in parts.scripts:
        out.extend(read_shell(cells.slice(start, end), context))
    for start, end in parts.modules:
        out.extend(read_python(cells.slice(start, end), context))
    for path, start, end in parts.files:
        guest = host_for(path, cells.text[start:end].partition("\n")[0])
        if guest is not None and guest.NAME != NAME:
            inside = Context(path, owner=f"{context.owner}{path}", sibling_reader=context.sibling_reader)
            reading = guest.read(cells.slice(start, end), inside)
            reading.problems.clear()
            out.extend(reading)
    return out


def _language(root: Node) -> str:
    """Return what the kernel runs: "python", "shell", or "other"."""
    metadata = root.get("metadata")
    name = ""
    if metadata is not None:
        for holder, key in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
            node = metadata.get(holder)
            name = name or (node.scalar(key).lower() if node is not None else "")
    if not name or "python" in name or "conda" in name or "spark" in name or "venv" in name:
        return "python"
    return "shell" if name in ("bash", "sh", "zsh", "shell") else "other"


def _sources(root: Node) -> Iterator[Node]:
    if root.kind != "mapping":
        return
    sheets = root.get("worksheets")
    holders = [root] if sheets is None or sheets.kind != "sequence" else [u.node for u in sheets.items]
    for holder in holders:
        cells = holder.get("cells")
        for use in cells.items if cells is not None and cells.kind == "sequence" else ():
            cell = use.node
            if cell.kind != "mapping" or cell.scalar("cell_type") != "code":
                continue
            source = cell.get("source", "input")
            if source is None:
                continue
            nodes = [u.node for u in source.items] if source.kind == "sequence" else [source]
            if source.kind != "mapping" and all(n.kind == "scalar" and n.style == '"' for n in nodes):
                yield source


def _cell(cells: CellsRegion, cell: Cell, python: bool, parts: Parts) -> None:
    text = cells.text
    lines = lines_of(text, cell.start, cell.end + 1)
    k = 0
    while k < len(lines) and not text[lines[k][0] : lines[k][1]].strip():
        k += 1
    if k == len(lines):
        return
    start, end, after = lines[k]
    head = text[start:end].strip()
    marks: list[Mark] = []
    if head.startswith("%%"):
        if _SHELLS.match(head):
            parts.scripts.append((after, cell.end))
            return
        if _PYTHONS.match(head):
            parts.modules.append((after, cell.end))
            return
        named = _FILE.match(head)
        if named is not None:
            parts.files.append((named["path"].strip("\"'"), after, cell.end))
        if _PLAIN.match(head) is None:
            return
        marks.append(Mark(start, end, "pass"))
    elif head == "%sh":
        parts.scripts.append((after, cell.end))
        return
    if not python:
        return
    commands: list[tuple[int, int]] = []
    shown = lines
    if not _parses(text[cell.start : cell.end]):
        shown = list(_python_lines(text, lines, marks, commands))
    # A command is read even where the Python around it does not parse.
    parts.commands += commands
    guest = lines_region(cells, shown, sorted(marks, key=lambda m: m.start))
    if _parses(guest.text):
        parts.lines += shown
        parts.marks += marks


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _python_lines(
    text: str, lines: list[tuple[int, int, int]], marks: list[Mark], commands: list[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Yield the lines of a cell, continued magics as one; note what magics are shown as and what they run."""
    done = {m.start for m in marks}
    quote, depth = "", 0
    k = 0
    while k < len(lines):
        start, end, after = lines[k]
        k += 1
        if quote or depth > 0 or start in done:
            quote, depth = _state(text[start:end], quote, depth) if start not in done else (quote, depth)
            yield start, end, after
            continue
        line = text[start:end]
        magic, assigned = _MAGIC.match(line), _ASSIGNED.match(line)
        if magic is None and assigned is None and _ENV.match(line) is None and _OTHER.match(line) is None:
            quote, depth = _state(line, quote, depth)
            yield start, end, after
            continue
        while text[start:end].endswith("\\") and k < len(lines):
            _, end, after = lines[k]
            k += 1
        line = text[start:end]
        env = _ENV.match(line)
        if magic is not None:
            lead = start + len(magic["lead"])
            commands.append((start + magic.end(), end))
            marks.append(Mark(lead, end, "pass"))
        elif assigned is not None:
            bang = start + assigned.start("bang")
            if assigned["bang"] == "!":
                commands.append((bang + 1, end))
            marks.append(Mark(bang, end, "None"))
        elif env is not None and not re.search(r"[\"\\{$\n]", env["value"]):
            marks += [
                Mark(start + env.start("magic"), start + env.start("name"), 'os.environ["'),
                Mark(start + env.start("is"), start + env.end("is"), '"] = "'),
                Mark(start + env.end("value"), end, '"'),
            ]
        else:
            lead = start + len(line) - len(line.lstrip(" \t"))
            marks.append(Mark(lead, end, "pass"))
        yield start, end, after


def _state(line: str, quote: str, depth: int) -> tuple[str, int]:
    """Return the open triple quote and bracket depth after a line."""
    for match in _TOKEN.finditer(line):
        token = match[0]
        if quote:
            quote = "" if token == quote else quote
        elif token == "#":
            break
        elif token in ("'''", '"""', "'", '"'):
            quote = token
        elif token in "[({":
            depth += 1
        elif token in "])}":
            depth = max(depth - 1, 0)
    return (quote if len(quote) == 3 else ""), depth


def _command(cells: CellsRegion, start: int, end: int) -> Region:
    """Return a command line; `{name}` in it is a value of the notebook's Python."""
    names = Names()
    marks = [
        Mark(m.start(), m.end(), names.shown(m[0]))
        for m in _BRACED.finditer(cells.text, start, end)
        if m["name"] and cells.text[m.start() - 1 : m.start()] != "$"
    ]
    return lines_region(cells, lines_of(cells.text, start, end), marks, names=names)
