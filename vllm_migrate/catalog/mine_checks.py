"""Mines the checks a release makes on the parsed command line before it starts: `if …: raise …` over its values.

What a check depends on beyond those values (the environment, files, other functions) is not followed; such a
check is left out, since nothing could be said about it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from vllm_migrate.catalog.checks import names_in
from vllm_migrate.catalog.history import Facts
from vllm_migrate.catalog.source import Tree

Condition = list[Any]
_SIGNS: dict[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Mod: "%",
    ast.Add: "+",
    ast.Sub: "-",
}
_FIRST = "validate_parsed_serve_args"
#: The subcommand: the checks are only asked about where they apply.
_COMMAND = "subparser"


class _Unclear(Exception):
    """A condition depends on more than the parsed values."""


def mine_checks(tree: Tree) -> Facts:
    """Return the `checks` section: the parser's message -> its condition. Empty before there were any."""
    functions: dict[str, ast.FunctionDef] = {}
    for path in tree.names(r"vllm/entrypoints/(.+/)?(cli_args|dp_supervisor)\.py"):
        for node in tree.parse(path).body:
            if isinstance(node, ast.FunctionDef):
                functions.setdefault(node.name, node)
    first = functions.get(_FIRST)
    if first is None:
        return {}
    out: Facts = {}
    for condition, message in _Walk(functions).function(first):
        out.setdefault(message, {"when": condition})
    return out


def class_checks(tree: Tree, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return class -> its checks over several fields (`when`, `says`), made once the fields are read.

    names: the config classes. What a class changes of itself before a check is not followed.
    """
    wanted = set(names)
    out: dict[str, list[dict[str, Any]]] = {}
    for path in tree.names(r"vllm/config(/\w+)*\.py"):
        for node in tree.parse(path).body:
            if not isinstance(node, ast.ClassDef) or node.name not in wanted or node.name in out:
                continue
            found: list[dict[str, Any]] = []
            walk = _Walk({})
            walk.changed |= _validated(node)
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef) and _checks_fields(m)]
            for method in sorted(methods, key=lambda m: m.name != "__post_init__"):
                found += [{"when": c, "says": m} for c, m in walk.function(method)]
            if found:
                out[node.name] = found
    return out


def _validated(node: ast.ClassDef) -> set[str]:
    """Return the fields that a class reads in a way of its own; "*" where it changes the whole object first."""
    out: set[str] = set()
    for method in node.body:
        for decorator in method.decorator_list if isinstance(method, ast.FunctionDef) else ():
            text = ast.unparse(decorator)
            if text.startswith("model_validator") and "after" not in text:
                out.add("*")
            elif text.startswith("field_validator") and isinstance(decorator, ast.Call):
                out |= {a.value for a in decorator.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return out


def _checks_fields(node: ast.FunctionDef) -> bool:
    decorators = " ".join(map(ast.unparse, node.decorator_list))
    after = "model_validator" in decorators and "after" in decorators
    return after or (node.name == "__post_init__" and len(node.args.args) == 1) or node.name == "model_post_init"


class _Walk:
    def __init__(self, functions: dict[str, ast.FunctionDef]) -> None:
        self.functions = functions
        self.depth = 0
        self.changed: set[str] = set()

    def function(self, node: ast.FunctionDef) -> Iterator[tuple[Condition, str]]:
        self.depth += 1
        if self.depth < 4 and (len(node.args.args) == 1 or node.name == "model_post_init"):
            yield from self.block(node.body, [], {node.args.args[0].arg: None})
        self.depth -= 1

    def block(
        self, body: list[ast.stmt], held: list[Condition], names: dict[str, Condition | None]
    ) -> Iterator[tuple[Condition, str]]:
        """names: local name -> what it stands for; None for the parsed values themselves."""
        held = list(held)
        for statement in body:
            if isinstance(statement, ast.If):
                yield from self.branch(statement, held, names)
            elif isinstance(statement, ast.Raise):
                message = _message(statement)
                if message:
                    yield (["and", *held] if len(held) != 1 else held[0]), message
                return
            elif isinstance(statement, ast.Return):
                return
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                try:
                    names[name] = _condition(statement.value, names)
                except _Unclear:
                    names.pop(name, None)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                yield from self.call(statement.value, held, names)
            elif not isinstance(statement, (ast.Expr, ast.Import, ast.ImportFrom, ast.Pass, ast.Assert)):
                self.changed |= _set(statement, names)
            if isinstance(statement, (ast.If, ast.Assign)):
                self.changed |= _set(statement, names)
            if _calls_itself(statement, names):
                # What its own methods change is not followed.
                self.changed.add("*")

    def branch(
        self, node: ast.If, held: list[Condition], names: dict[str, Condition | None]
    ) -> Iterator[tuple[Condition, str]]:
        try:
            test = _condition(node.test, names)
            if "*" in self.changed or self.changed & set(names_in(test)):
                raise _Unclear
        except _Unclear:
            if _leaves(node.body) and not isinstance(node.body[-1], ast.Raise):
                # What comes after depends on what cannot be told.
                held.append(["get", "?"])
            return
        if names_in(test) != [_COMMAND]:
            yield from self.block(node.body, [*held, test], names)
            yield from self.block(node.orelse, [*held, ["not", test]], names)
            if _leaves(node.body) and not isinstance(node.body[-1], ast.Raise):
                # After another check nothing need be held: what that one refuses is refused.
                held.append(["not", test])

    def call(
        self, node: ast.Call, held: list[Condition], names: dict[str, Condition | None]
    ) -> Iterator[tuple[Condition, str]]:
        wanted = self.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        values = len(node.args) == 1 and isinstance(node.args[0], ast.Name) and names.get(node.args[0].id, "") is None
        if wanted is not None and values:
            for condition, message in self.function(wanted):
                yield (["and", *held, condition] if held else condition), message


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise))


def _set(node: ast.stmt, names: dict[str, Condition | None]) -> set[str]:
    """Return the names of the parsed values a statement sets."""
    out: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            if isinstance(inner.value, ast.Name) and names.get(inner.value.id, "") is None:
                out.add(inner.attr)
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "setattr":
            out.add("*")
    return out


def _calls_itself(node: ast.stmt, names: dict[str, Condition | None]) -> bool:
    return any(
        isinstance(inner, ast.Call)
        and isinstance(inner.func, ast.Attribute)
        and isinstance(inner.func.value, ast.Name)
        and names.get(inner.func.value.id, "") is None
        for inner in ast.walk(node)
    )


def _message(node: ast.Raise) -> str:
    """Return the text of an exception; "" for one put together from values, whose words are not known."""
    if isinstance(node.exc, ast.Call) and node.exc.args:
        first = node.exc.args[0]
        if isinstance(first, ast.JoinedStr):
            parts = [str(v.value) if isinstance(v, ast.Constant) else "…" for v in first.values]
            return " ".join("".join(parts).split())
        try:
            text = ast.literal_eval(first)
        except ValueError:
            return ""
        return " ".join(text.split()) if isinstance(text, str) else ""
    return ""


def _condition(node: ast.expr, names: dict[str, Condition | None]) -> Condition:
    if isinstance(node, ast.Constant):
        return ["value", node.value]
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        try:
            return ["value", list(ast.literal_eval(node))]
        except ValueError:
            raise _Unclear from None
    if isinstance(node, ast.Name):
        held = names.get(node.id)
        if held is None:
            raise _Unclear
        return held
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and names.get(node.value.id, "") is None:
        return ["get", node.attr]
    if isinstance(node, ast.BoolOp):
        kind = "and" if isinstance(node.op, ast.And) else "or"
        return [kind, *(_condition(v, names) for v in node.values)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ["not", _condition(node.operand, names)]
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        return [_SIGNS[type(node.op)], _condition(node.left, names), _condition(node.right, names)]
    if isinstance(node, ast.Compare):
        return _comparison(node, names)
    if isinstance(node, ast.Call):
        return _called(node, names)
    if isinstance(node, ast.ListComp):
        return _any_of(node, names)
    raise _Unclear


def _any_of(node: ast.ListComp, names: dict[str, Condition | None]) -> Condition:
    """Read `[… for a, b in ((…), …) if test]` as: the test holds for one of the rows."""
    loop = node.generators[0]
    rows = loop.iter.elts if isinstance(loop.iter, (ast.Tuple, ast.List)) else []
    target = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    if len(node.generators) != 1 or len(loop.ifs) != 1 or not rows or not target:
        raise _Unclear
    out: list[Condition] = []
    for row in rows:
        if not isinstance(row, ast.Tuple) or len(row.elts) != len(target):
            raise _Unclear
        bound = {t.id: _condition(e, names) for t, e in zip(target, row.elts, strict=True) if isinstance(t, ast.Name)}
        out.append(_condition(loop.ifs[0], {**names, **bound}))
    return ["or", *out]


def _comparison(node: ast.Compare, names: dict[str, Condition | None]) -> Condition:
    sides = [_condition(n, names) for n in (node.left, *node.comparators)]
    parts: list[Condition] = []
    for i, sign in enumerate(node.ops):
        if type(sign) not in _SIGNS:
            raise _Unclear
        parts.append([_SIGNS[type(sign)], sides[i], sides[i + 1]])
    return parts[0] if len(parts) == 1 else ["and", *parts]


def _called(node: ast.Call, names: dict[str, Condition | None]) -> Condition:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in ("getattr", "hasattr") and isinstance(node.args[0], ast.Name):
        attribute = node.args[1]
        if names.get(node.args[0].id, "") is None and isinstance(attribute, ast.Constant):
            if name == "hasattr":
                return ["has", attribute.value]
            rest = [ast.literal_eval(node.args[2])] if len(node.args) > 2 else []
            return ["get", attribute.value, *rest]
    if name == "bool" and len(node.args) == 1:
        return ["bool", _condition(node.args[0], names)]
    if name in ("any", "all") and len(node.args) == 1 and isinstance(node.args[0], (ast.Tuple, ast.List)):
        return ["or" if name == "any" else "and", *(_condition(e, names) for e in node.args[0].elts)]
    raise _Unclear
