"""Which values of a chart its templates use, and where a values file sets them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from vllm_migrate.hosts.yaml_edit import Document
from vllm_migrate.hosts.yaml_items import Items
from vllm_migrate.hosts.yaml_mask import mask
from vllm_migrate.hosts.yaml_tree import Node, parse
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Entry
from vllm_migrate.text import Region, Source, Span

Path = tuple[str, ...]
"""Keys from the top of the values; `[]` stands for any item of a list."""

ITEM = "[]"
_TOKEN = regex(
    r"\"(?:[^\"\\\n]|\\.){0,4000}\"|`[^`]{0,4000}`|/\*.{0,4000}?\*/"
    r"|(?P<name>\$\w*(?:\.[A-Za-z_]\w*)*|(?<![\w)\"])(?:\.[A-Za-z_]\w*)+|(?<![\w)\".])\.(?![\w.]))",
    re.S,
)
_HEAD = regex(r"\$?\{\{-?\s*(?:else\s+)?([A-Za-z]\w*)?")
_SET = regex(r"\{\{-?\s*(\$\w+)\s*:?=\s*(\S+?)(?:\s*\|\s*default\s+\(?(?:dict|list)\)?)?\s*-?\}\}", re.S)
_LOOP = regex(r"\{\{-?\s*range\s+(?:(?:\$\w+\s*,\s*)?(\$\w+)\s*:=\s*)?(\S+)\s*-?\}\}", re.S)
_WITH = regex(r"\{\{-?\s*with\s+(?:(\$\w+)\s*:=\s*)?(\S+)\s*-?\}\}", re.S)
_HANDED = regex(r"(?:include|template)\s+\"([^\"]+)\"\s+$")
_DEFINED = regex(r"\{\{-?\s*define\s+\"([^\"]+)\"")
_KEYED = regex(r"(?:hasKey|get|index|pluck)\s+\(?$")
_LITERAL = regex(r"\s+\"([\w.-]+)\"")
_OPENING = frozenset(("if", "range", "with", "define", "block"))
_GUARDS = frozenset(("if", "with", "range"))
_TRUE_ONLY_WITH = frozenset(("if", "with", "range", "and", "hasKey", "get", "int"))
_FUNCTION = regex(r"(?<![\w.$\"])[A-Za-z]\w*")


@dataclass(frozen=True)
class Use:
    """One place in a template that names a value.

    path: None where only a run can tell which value it is; names: the names as written. whole: everything
    below the path is used too. guards: the values whose absence keeps this place from being rendered.
    handed: the named template that is given the value, "" where none is.
    """

    start: int
    end: int
    path: Path | None
    names: Path
    whole: bool = False
    guards: frozenset[Path] = frozenset()
    handed: str = ""


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
            handed = _HANDED.search(raw[:start])
            made = Use(action.start + start, action.start + end, _below(path), name, whole, _plain(scope.guards))
            out.append(replace(made, handed=handed[1]) if handed is not None else made)
        if word == "define":
            scope.dot = ()
        elif word in _GUARDS and stack:
            # Not every condition needs each of its values: `or` and `not` hold without one.
            if set(_FUNCTION.findall(re.sub(r"\"[^\"]*\"", "", raw))) <= _TRUE_ONLY_WITH:
                scope.guards = scope.guards | {p for _, _, _, p, _ in found if p is not None}
            _enter(scope, word, raw, loop)
        else:
            kept = _SET.match(raw)
            if kept is not None:
                scope.variables[kept[1]] = _resolve(kept[2], scope)
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


def spreading(texts: Iterable[str]) -> set[str]:
    """Return the named templates that use all of what they are given, not only keys they name.

    One that is defined nowhere here is not among them: see `defined`.
    """
    handing: dict[str, set[str]] = {}
    out: set[str] = set()
    for text in texts:
        name, depth, all_of = "", 0, set[str]()
        for action in mask(text).actions:
            raw = text[action.start : action.end]
            found = _DEFINED.match(raw)
            if found is not None and not name:
                name, depth, all_of = found[1], 0, {".", "$"}
                handing.setdefault(name, set())
            depth += action.step
            if name and depth <= 0:
                name = ""
            if not name or action.word == "/*":
                continue
            kept = _SET.match(raw)
            if kept is not None and kept[2] == ".":
                all_of.add(kept[1])
                continue
            for match in _TOKEN.finditer(raw):
                keyed = _KEYED.search(raw[: match.start("name")]) and _LITERAL.match(raw, match.end("name"))
                if match["name"] in all_of and not keyed:
                    given = _HANDED.search(raw[: match.start("name")])
                    if given is None:
                        out.add(name)
                    else:
                        handing[name].add(given[1])
    while True:
        more = {n for n, given in handing.items() if n not in out and any(g in out or g not in handing for g in given)}
        if not more:
            return out
        out |= more


def defined(texts: Iterable[str]) -> set[str]:
    """Return the names of the named templates that are defined in these texts."""
    return {m[1] for text in texts for m in _DEFINED.finditer(text)}


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


@dataclass
class Values:
    """A values file: every key's path, by where it stands."""

    document: Document
    spans: dict[tuple[int, int], Path] = field(default_factory=dict)
    entries: dict[Path, list[Entry]] = field(default_factory=dict)

    def removable(self, path: Path) -> list[Entry]:
        """Return what sets a value and can be taken out."""
        return [e for e in self.entries.get(path, ()) if not e.locked]


def read_values(source: Source) -> Values | None:
    """Return the keys of a values file, or None where it is not one YAML mapping."""
    region = Region.whole(source)
    masked = mask(region.text)
    tree = parse(masked.parsed)
    if tree.errors or len(tree.roots) != 1 or tree.roots[0].kind != "mapping":
        return None
    document = Document("yaml", region, masked, tree.roots, values=True)
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
