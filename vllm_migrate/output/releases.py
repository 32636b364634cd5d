"""What changed between two releases, as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Table = dict[str, Any]

FORMATS = ("text", "json", "markdown")
#: Parts with names that nobody writes into a launch: the text counts what has no migration, and what is new.
_COUNTED = ("modules", "configs", "request_fields", "response_fields")
_QUIET = ("modules", "configs", "response_fields")
_KINDS = {
    "arity": "{name} no longer takes {value}",
    "form": "{name} no longer takes {value}",
    "record": "{name}, a record of requests",
    "answer": "{name}, a record of answers",
    "parameters": "{name}, a class",
    "config": "{name}, a class",
}
_FORMS = {"*": "any text", "integer": "whole numbers", "fraction": "fractions", "suffixed": "numbers with a suffix"}


def render(form: str, changes: Table) -> str:
    """Return the changes (`releases.schema.json`) in one of FORMATS."""
    forms: dict[str, Callable[[Table], str]] = {"text": text, "json": as_json, "markdown": markdown}
    return forms[form](changes)


def as_json(changes: Table) -> str:
    return json.dumps(changes, ensure_ascii=False, indent=1) + "\n"


def text(changes: Table) -> str:
    out = [f"vLLM {changes['from']} → {changes['to']}\n"]
    for title, lines in _sections(changes):
        out.append(f"\n{title}\n")
        for sign, name, note in lines:
            out.append(f"  {sign} {name}{': ' + note if note else ''}\n" if sign else f"  {name}: {note}\n")
    return "".join(out)


def markdown(changes: Table) -> str:
    signs = {"-": "Gone", "+": "New", "~": "Changed", "": ""}
    out = [f"# vLLM {changes['from']} → {changes['to']}\n"]
    for title, lines in _sections(changes):
        out.append(f"\n## {title}\n\n| | what | note |\n| --- | --- | --- |\n")
        for sign, name, note in lines:
            shown = name if name.startswith("and ") else f"`{name}`"
            out.append(f"| {signs[sign]} | {_cell(shown)} | {_cell(note)} |\n")
    return "".join(out)


def _cell(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _sections(changes: Table) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Give each heading with its lines: sign, name, note."""
    for name, title in (("build", "Build, images and toolchain"), ("requirements", "Requirements")):
        lines = [("", row["name"], _turn(row["old"], row["new"])) for row in changes[name]]
        if lines:
            yield title, lines
    for part in changes["parts"]:
        yield part["title"], list(_lines(part))
    if changes["meanings"]:
        yield (
            "Other meaning or default",
            [("~", m["name"], f"{m['in']}: {m['text']}  ({m['code']}:{m['migration']})") for m in changes["meanings"]],
        )


def _lines(part: Table) -> Iterator[tuple[str, str, str]]:
    counted = part["part"] in _COUNTED
    left = 0
    for row in part["removed"]:
        answer = row["answer"] or {}
        if counted and "migration" not in answer and answer:
            left += 1
            continue
        yield "-", _name(row), f"gone since {row['removed_in']}{_answer(row['answer'])}"
    if left:
        yield "-", f"and {left} more", "inner names, which need nothing; the JSON form lists them"
    if part["part"] in _QUIET:
        if part["added"]:
            yield "+", f"and {len(part['added'])} new", ""
    else:
        yield from (("+", _name(row), "") for row in part["added"])
    for row in part["changed"]:
        yield "~", row["name"], f"{row['what']} {_turn(row['old'], row['new'], 'nothing')}"


def _answer(answer: Table | None) -> str:
    if answer is None:
        return "; what replaces it is not recorded"
    where = f"  ({answer['code']}:{answer['migration']})" if "migration" in answer else ""
    return f"; {answer['text']}{where}"


def _name(row: Table) -> str:
    value = row.get("value", "")
    form = _KINDS.get(row["kind"])
    if form is not None:
        said = form.format(name=row["name"], value=_FORMS.get(value, value))
    else:
        said = f"{row['name']} {_FORMS.get(value, value)}".rstrip()
    return said + (f" [{', '.join(row['surfaces'])}]" if row.get("surfaces") else "")


def _turn(old: Any, new: Any, nothing: str = "none") -> str:
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(v, str) for v in (*old, *new)):
        gone, come = [v for v in old if v not in new], [v for v in new if v not in old]
        return " ".join([*(f"-{v}" for v in gone), *(f"+{v}" for v in come)]) or "another order"
    return f"{_show(old, nothing)} → {_show(new, nothing)}"


def _show(value: Any, nothing: str) -> str:
    if value is None:
        return nothing
    if value == "":
        return "any"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value)
