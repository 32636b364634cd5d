"""Asks of every argument and variable of a folder's launches whether its span is exact.

    python benchmarks/spans.py FOLDER

Two questions an item: is replacing it by itself, through the operation that fixes use, the identity on the file;
and does what stands at its span, read by a parser that is not this package's (shlex, ast, PyYAML), give the option
or value the tool took it for. Run-time parts count as any text. Prints JSON: counts, and the faults with their
places. `corpus.py` runs it for each repository.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vllm_migrate.config import Config
from vllm_migrate.discover import Walk
from vllm_migrate.engine import File, read
from vllm_migrate.model import CannotRender, Entry, Item, Remove, Replace, Variable, Word, is_hole
from vllm_migrate.text import apply_edits

_READ = {True: "reads back", None: "cannot be read back alone", False: "reads otherwise"}


def items(file: File) -> Iterator[Word | Entry | Variable]:
    """Yield every item of the file's launches once."""
    seen: set[int] = set()
    for site in file.reading.sites:
        for item in [*site.words, *site.entries, *site.variables]:
            if id(item) not in seen:
                seen.add(id(item))
                yield item


def value_of(item: Word | Entry | Variable) -> Any:
    return item.text if isinstance(item, Word) else item.value


def identity(file: File, item: Word | Entry | Variable) -> str:
    """Return "identity", "differs", or "not editable" (the tool reports such an item and never rewrites it)."""
    value = value_of(item)
    if value is None:
        return "not editable"
    holes = item.holes if isinstance(item, (Word, Variable)) else ()
    try:
        edits = item.container.edits([Replace(item, value, holes)])
    except CannotRender:
        return "not editable"
    return "identity" if apply_edits(file.source.text, edits) == file.source.text else "differs"


def removable(item: Item) -> bool:
    """Tell whether the item's home would take it away; where its span cuts through a template it must refuse."""
    try:
        item.container.edits([Remove(item)])
    except CannotRender:
        return False
    return True


def spelled(item: Item, value: str) -> bool | None:
    """Tell whether the text at an item's span reads as its value; None where no parser here can say."""
    text = item.region.text[item.span.start : item.span.end]
    if item.locked or "json.dumps(" in text or "setdefault(" in text:
        return None  # an alias, a value made by code: the text is not the value
    pattern = "".join(".*" if is_hole(c) else re.escape(c) for c in value)
    readings = [text, *_readings(text)]
    if any(re.fullmatch(pattern, r, re.S) for r in readings):
        return True
    if any(is_hole(c) for c in value + text):
        return None
    return False


def _readings(text: str) -> Iterator[str]:
    for reader in (_shell, _python, _entry, _yaml, _pairs):
        try:
            yield from reader(text)
        except Exception:
            continue


def _shell(text: str) -> list[str]:
    words = shlex.split(text)
    return [*words, " ".join(words), *(w.partition("=")[2] for w in words)]


def _pairs(text: str) -> list[str]:
    """Read `a=1,b='x'`, the options of a wrapper that packs them into one word."""
    return [part.partition("=")[2].strip("'\"") for part in text.strip("\"'").split(",")]


def _entry(text: str) -> list[str]:
    """Read one `"key": value` of a dict."""
    return [str(v) for v in ast.literal_eval("{" + text + "}").values()]


def _python(text: str) -> list[str]:
    node = ast.parse(text.strip()).body[0]
    if isinstance(node, ast.Assign):
        node = ast.Expr(node.value)
    return [str(ast.literal_eval(node.value))] if isinstance(node, ast.Expr) else []


def _yaml(text: str) -> list[str]:
    import yaml

    value = yaml.load(text, Loader=yaml.BaseLoader)
    if isinstance(value, dict):
        return [str(v) for v in value.values()]
    return [str(value)]


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for path, raw in Walk(folder, Config()).files([folder]):
        file = read(path, raw, folder)
        if not isinstance(file, File):
            continue
        for item in items(file):
            counts["arguments and variables"] += 1
            where = f"{path}:{file.source.position(item.place.start)[0]}"
            verdict = identity(file, item)
            counts[verdict] += 1
            if item.region.span(item.span.start, item.span.end) is None:
                counts["without an exact span"] += 1
                if verdict != "not editable" and removable(item):
                    faults.append(f"{where}: no exact span for {value_of(item)!r}")
            if verdict == "differs":
                faults.append(f"{where}: replacing {value_of(item)!r} by itself changes the file")
            value = value_of(item)
            if isinstance(value, str):
                same = spelled(item, value)
                counts[_READ[same]] += 1
                if same is False:
                    faults.append(f"{where}: the span of {value!r} reads otherwise")
    print(json.dumps({"counts": dict(counts), "faults": faults}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
