"""Which values of a chart its templates use, and where a values file sets them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vllm_migrate.hosts.yaml_edit import Document
from vllm_migrate.hosts.yaml_items import Items
from vllm_migrate.hosts.yaml_mask import mask
from vllm_migrate.hosts.yaml_tree import Node, parse
from vllm_migrate.model import Change, Entry
from vllm_migrate.text import Edit, Region, Source, Span, line_end, line_start

Path = tuple[str, ...]
"""Keys from the top of the values; `[]` stands for any item of a list."""

ITEM = "[]"
_TOKEN = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`|/\*.*?\*/"
    r"|(?P<name>\$\w*(?:\.[A-Za-z_]\w*)*|(?<![\w)\"])(?:\.[A-Za-z_]\w*)+|(?<![\w)\".])\.(?![\w.]))",
    re.S,
)
_HEAD = re.compile(r"\$?\{\{-?\s*(?:else\s+)?([A-Za-z]\w*)?")
_SET = re.compile(r"\{\{-?\s*(\$\w+)\s*:?=\s*(\S+?)(?:\s*\|\s*default\s+\(?(?:dict|list)\)?)?\s*-?\}\}", re.S)
_LOOP = re.compile(r"\{\{-?\s*range\s+(?:(?:\$\w+\s*,\s*)?(\$\w+)\s*:=\s*)?(\S+)\s*-?\}\}", re.S)
_WITH = re.compile(r"\{\{-?\s*with\s+(?:(\$\w+)\s*:=\s*)?(\S+)\s*-?\}\}", re.S)
_KEYED = re.compile(r"(?:hasKey|get|index|pluck)\s+\(?$")
_LITERAL = re.compile(r"\s+\"([\w.-]+)\"")
_OPENING = frozenset(("if", "range", "with", "define", "block"))
_GUARDS = frozenset(("if", "with", "range"))
_TRUE_ONLY_WITH = frozenset(("if", "with", "range", "and", "hasKey", "get", "int"))
_FUNCTION = re.compile(r"(?<![\w.$\"])[A-Za-z]\w*")


@dataclass(frozen=True)
class Use:
    """One place in a template that names a value.

    path: None where only a run can tell which value it is; names: the names as written. whole: everything
    below the path is used too. guards: the values whose absence keeps this place from being rendered.
    """

    start: int
    end: int
    path: Path | None
    names: Path
    whole: bool = False
    guards: frozenset[Path] = frozenset()


@dataclass
class _Scope:
    word: str
    dot: Path | None
    guards: frozenset[Path]
    variables: dict[str, Path | None]


def uses(text: str) -> list[Use]:
    """Return every place in a template's actions that names a value. Never raises: text that is no template
    has no uses."""
    out: list[Use] = []
    # A path of values starts with "Values", so that the root of everything is ().
    scope = _Scope("", (), frozenset(), {"$": ()})
    stack: list[_Scope] = []
    for action in mask(text).actions:
        raw = text[action.start : action.end]
        head = _HEAD.match(raw)
        word = (head[1] or "") if head is not None else ""
        if word == "end":
            scope = stack.pop() if stack else scope
            continue
        if re.match(r"\{\{-?\s*/\*", raw):
            continue
        if re.match(r"\{\{-?\s*else\b", raw) and stack:
            # What an `else` holds is rendered when the guard does not hold.
            outer = stack[-1]
            scope = _Scope(scope.word, outer.dot, outer.guards, dict(scope.variables))
        if word in _OPENING and not re.match(r"\{\{-?\s*else\b", raw):
            stack.append(scope)
            scope = _Scope(word, scope.dot, scope.guards, dict(scope.variables))
        found = list(_named(raw, scope))
        loop, given = _LOOP.match(raw), _WITH.match(raw) or _SET.match(raw)
        for name, start, end, path, whole in found:
            whole = whole and word != "if" and not (given and path)
            out.append(Use(action.start + start, action.start + end, _below(path), name, whole, _plain(scope.guards)))
        if word == "define":
            scope.dot = ()
        elif word in _GUARDS and stack:
            # Not every condition needs each of its values: `or` and `not` hold without one.
            if set(_FUNCTION.findall(re.sub(r"\"[^\"]*\"", "", raw))) <= _TRUE_ONLY_WITH:
                scope.guards = scope.guards | {p for _, _, _, p, _ in found if p is not None}
            _enter(scope, word, raw, loop)
        else:
            made = _SET.match(raw)
            if made is not None:
                scope.variables[made[1]] = _resolve(made[2], scope)
            else:
                other = re.match(r"\{\{-?\s*(\$\w+)\s*:?=", raw)
                if other is not None:
                    scope.variables[other[1]] = None
    return out


def _enter(scope: _Scope, word: str, raw: str, loop: re.Match[str] | None) -> None:
    if word == "range":
        over = _resolve(loop[2], scope) if loop is not None else None
        scope.dot = (*over, ITEM) if over else None
        if loop is not None and loop[1]:
            scope.variables[loop[1]] = scope.dot
        for name in re.findall(r"(\$\w+)\s*(?:,|:=)", raw):
            if loop is None or name != loop[1]:
                scope.variables[name] = None
    elif word == "with":
        given = _WITH.match(raw)
        scope.dot = _resolve(given[2], scope) if given is not None else None
        if given is not None and given[1]:
            scope.variables[given[1]] = scope.dot


def _plain(guards: frozenset[Path]) -> frozenset[Path]:
    return frozenset(p for g in guards if (p := _below(g)) is not None)


def _below(path: Path | None) -> Path | None:
    """Return a path below the values; None for what is no value."""
    if path is None:
        return None
    return path[1:] if path and path[0] == "Values" else (None if path else ())


def _resolve(name: str, scope: _Scope) -> Path | None:
    if name == ".":
        return scope.dot
    if name.startswith("$"):
        head, *rest = name.split(".")
        base = scope.variables.get(head)
        return None if base is None else (*base, *rest)
    if re.fullmatch(r"(?:\.[A-Za-z_]\w*)+", name) and scope.dot is not None:
        return (*scope.dot, *name[1:].split("."))
    return None


def _named(raw: str, scope: _Scope) -> Iterator[tuple[Path, int, int, Path | None, bool]]:
    for match in _TOKEN.finditer(raw):
        name = match["name"]
        if name is None:
            continue
        start, end = match.span("name")
        path = _resolve(name, scope)
        names = tuple(part for part in name.lstrip("$").split(".") if part)
        if name.startswith("$") and re.match(r"\s*(?:,|:=|=)", raw[end:]):
            continue
        keyed = _KEYED.search(raw[:start]) is not None
        while keyed and (literal := _LITERAL.match(raw, end)) is not None:
            names, end = (*names, literal[1]), literal.end()
            path = (*path, literal[1]) if path is not None else None
        # The root is handed on to named templates, which are read by themselves.
        whole = path is None or len(path) > 0
        yield names, start, end, path, whole


def touches(use: Use, path: Path) -> bool:
    """Tell whether a place uses the value at a path, or may."""
    if use.path is None:
        return bool(use.names) and use.names[-1] == path[-1]
    if use.path[: len(path)] == path:
        return True
    if path[: len(use.path)] != use.path or not use.whole:
        return False
    # A loop over a list names each item's keys itself.
    return path[len(use.path)] != ITEM


@dataclass(eq=False)
class ValueHome:
    """Container of a key of a values file that goes with the comment that speaks of it alone."""

    document: Document
    inner: Entry
    host: str = "yaml"

    def edits(self, changes: Sequence[Change]) -> list[Edit]:
        from vllm_migrate.model import CannotRender, Remove

        if not all(isinstance(c, Remove) for c in changes):
            raise CannotRender("the value can only be taken out")
        out = self.document.edits([Remove(self.inner)])
        if len(out) == 1 and not out[0].text:
            out[0] = Edit(self._above(out[0]), out[0].end, "")
        return out

    def _above(self, edit: Edit) -> int:
        text, key = self.document.text, self.inner.key
        start = edit.start
        pad = text[line_start(text, self.inner.span.start) : self.inner.span.start]
        if start != line_start(text, self.inner.span.start) or pad.strip():
            return start
        while start > 0:
            above = line_start(text, start - 1 - (text[start - 2 : start] == "\r\n"))
            if not text[above:start].startswith(pad + "#"):
                break
            start = above
        comment, after = text[start : edit.start], text[edit.end : line_end(text, edit.end)]
        sibling = after.startswith(pad) and after[len(pad) :][:1] not in ("", " ", "#", "\r")
        before = text[line_start(text, max(start - 1 - (text[start - 2 : start] == "\r\n"), 0)) : start]
        named = re.search(rf"(?<![\w.-]){re.escape(key)}(?![\w-])", comment) is not None
        # Above several keys, after a blank line, it may be the headline of them all.
        alone = not sibling or named or (bool(before.strip()) and len(before) - len(before.lstrip()) >= len(pad))
        alone = alone and not (before.strip().endswith(":") and sibling and not named)
        return start if comment and (alone or re.match(r"\s*#+ --", comment)) else edit.start


@dataclass
class Values:
    """A values file: every key's path, by where it stands."""

    document: Document
    spans: dict[tuple[int, int], Path] = field(default_factory=dict)
    entries: dict[Path, list[Entry]] = field(default_factory=dict)

    def removable(self, path: Path) -> list[Entry]:
        """Return what sets a value, as items of their own that can be taken out."""
        out = []
        for inner in self.entries.get(path, ()):
            if not inner.locked:
                home = ValueHome(self.document, inner)
                out.append(Entry(inner.region, inner.span, home, key=inner.key, value=inner.value))
        return out


def read_values(source: Source) -> Values | None:
    """Return the keys of a values file, or None where it is not one YAML mapping."""
    region = Region.whole(source)
    masked = mask(region.text)
    tree = parse(masked.parsed)
    if tree.errors or len(tree.roots) != 1 or tree.roots[0].kind != "mapping":
        return None
    document = Document("yaml", region, masked, tree.roots)
    out, items = Values(document), Items(document)
    waiting: list[tuple[Node, Path]] = [(tree.roots[0], ())]
    while waiting:
        node, path = waiting.pop()
        document.kept.add(id(node))
        if len(path) > 12:
            continue
        for use in node.items:
            if not use.alias and use.node.kind != "scalar":
                waiting.append((use.node, (*path, ITEM)))
        for pair in node.pairs:
            here = (*path, pair.name)
            if pair.name == "<<" or pair.use.alias:
                continue
            entry = items._entry(pair)
            out.spans[(pair.start, pair.end)] = here
            out.entries.setdefault(here, []).append(entry)
            if pair.node.kind != "scalar":
                waiting.append((pair.node, here))
    items.lock_shared()
    return out


def within(use: Use, spans: Sequence[Span]) -> bool:
    return any(s.start <= use.start and use.end <= s.end for s in spans)
