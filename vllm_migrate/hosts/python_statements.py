"""Takes whole statements away, with an `if` that would be left without a body."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from vllm_migrate.hosts.python_source import Module
from vllm_migrate.model import CannotRender
from vllm_migrate.text import Edit, apply_edits, line_end, line_start


def line_span(module: Module, statement: ast.stmt) -> tuple[int, int]:
    """Return the start of a statement's first line and the end of its last, before the line end."""
    text, span = module.text, module.span(statement)
    return line_start(text, span.start), line_end(text, span.end)


def statement_edit(module: Module, statement: ast.stmt) -> Edit | None:
    """Return the one edit that takes a statement away, or None where it takes more."""
    try:
        edits = statement_edits(module, [statement])
    except CannotRender:
        return None
    return edits[0] if len(edits) == 1 else None


def statement_edits(module: Module, statements: Sequence[ast.stmt]) -> list[Edit]:
    """Return the edits that take statements away, with an `if` that would be left without a body."""
    gone = dict.fromkeys(statements)
    passes: list[ast.stmt] = []
    changed = True
    while changed:
        changed = False
        for statement in list(gone):
            owner, name = module.blocks[statement]
            block: list[ast.stmt] = getattr(owner, name)
            if isinstance(owner, ast.Module) or not all(s in gone for s in block) or owner in gone:
                continue
            if any(s in passes for s in block):
                continue
            if isinstance(owner, ast.If) and name == "body" and not owner.orelse and _harmless(owner.test):
                for s in block:
                    gone.pop(s, None)
                gone[owner] = None
            elif name == "orelse" and isinstance(owner, ast.If):
                continue
            else:
                passes.append(block[-1])
            changed = True
    edits: list[Edit] = []
    for statement in gone:
        owner, name = module.blocks[statement]
        block = getattr(owner, name)
        if name == "orelse" and isinstance(owner, ast.If) and all(s in gone for s in block):
            if statement is block[0]:
                edits.append(_clause_edit(module, owner, block))
            continue
        span = module.span(statement)
        if statement in passes:
            edits.append(Edit(span.start, span.end, "pass"))
        else:
            staying = [m for m in _line_mates(module, statement, block) if m not in gone or m in passes]
            edits.append(_lines_edit(module, statement, staying, block))
    return [_without_blank(module.text, e) for e in _merged(edits)]


def unused_imports(module: Module, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits that take away imports whose last use goes with these edits.

    Only a statement of the module's top that imports one name, which then stands nowhere else in the text,
    comments and strings included; never in a package's `__init__`, which may import for others, and never in
    a guest (a notebook's cell, a code block), whose other parts may use it.
    """
    text = module.text
    if module.region.parent is not None:
        return []
    gone = " ".join(text[e.start : e.end] for e in edits)
    if not gone.strip() or module.region.source.path.endswith("__init__.py"):
        return []
    unused: list[ast.stmt] = []
    for statement in module.single_imports:
        span, alias = module.span(statement), statement.names[0]
        name = alias.asname or alias.name
        word = re.compile(rf"\b{re.escape(name)}\b")
        if not name.isidentifier() or not word.search(gone):
            continue
        if any(e.start < span.end and span.start < e.end for e in edits):
            continue
        here = text[slice(*line_span(module, statement))]
        if "#" not in here and len(word.findall(apply_edits(text, edits))) == len(word.findall(here)):
            unused.append(statement)
    return statement_edits(module, unused)


def _merged(edits: list[Edit]) -> list[Edit]:
    """Join deletions of lines that follow one another."""
    out: list[Edit] = []
    for edit in sorted(edits):
        if out and out[-1].end == edit.start and not edit.text and not out[-1].text:
            out[-1] = Edit(out[-1].start, edit.end, "")
        else:
            if edit not in out:
                out.append(edit)
    return out


def _without_blank(text: str, edit: Edit) -> Edit:
    """Take a blank line after deleted lines too where a blank line, or nothing, is before them."""
    whole = edit.start == 0 or text[edit.start - 1] in "\r\n"
    if edit.text or not whole or edit.end == 0 or text[edit.end - 1] not in "\r\n":
        return edit
    lead = text[: edit.start].rstrip(" \t")
    if edit.start == 0 or lead.endswith(("\n\n", "\r\r", "\n\r\n")) or not lead.strip():
        follow = re.compile(r"[ \t]*(?:\r\n|\r|\n)").match(text, edit.end)
        if follow:
            return Edit(edit.start, follow.end(), "")
    return edit


def _harmless(test: ast.expr) -> bool:
    return not any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield)) for n in ast.walk(test))


def _clause_edit(module: Module, owner: ast.If, block: list[ast.stmt]) -> Edit:
    """Return the edit that takes an `else:` or `elif …:` with its block away."""
    text = module.text
    end_of_body = module.span(owner.body[-1]).end
    clause = re.compile(r"^[ \t]*(?:else\b|elif\b)", re.MULTILINE).search(text.replace("\r", "\n"), end_of_body)
    if clause is None:
        raise CannotRender("the else branch cannot be taken away")
    return Edit(clause.start(), _line_after(text, module.span(block[-1]).end), "")


def _line_after(text: str, at: int) -> int:
    match = re.compile(r"\r\n|\r|\n|\Z").search(text, at)
    assert match is not None
    return match.end()


def _line_mates(module: Module, statement: ast.stmt, block: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements that share a line with one (`a(); b()`), itself included, in order."""
    i = block.index(statement)
    first = last = i
    while first > 0 and block[first - 1].end_lineno == block[first].lineno:
        first -= 1
    while last + 1 < len(block) and block[last].end_lineno == block[last + 1].lineno:
        last += 1
    return block[first : last + 1]


def _lines_edit(module: Module, statement: ast.stmt, staying: list[ast.stmt], block: list[ast.stmt]) -> Edit:
    text, span = module.text, module.span(statement)
    if not staying:
        mates = _line_mates(module, statement, block)
        start, _ = line_span(module, mates[0])
        _, end = line_span(module, mates[-1])
        behind = text[module.span(mates[-1]).end : end]
        if text[start : module.span(mates[0]).start].strip() or not re.fullmatch(r"[ \t]*(?:;[ \t]*)?(?:#.*)?", behind):
            raise CannotRender("the statement shares its line with other code")
        return Edit(start, _line_after(text, module.span(mates[-1]).end), "")
    later = [m for m in staying if m.lineno > statement.lineno or module.span(m).start > span.start]
    if later:
        follow = block[block.index(statement) + 1]
        return Edit(span.start, module.span(follow).start, "")
    mates = _line_mates(module, statement, block)
    return Edit(module.span(staying[-1]).end, module.span(mates[-1]).end, "")
