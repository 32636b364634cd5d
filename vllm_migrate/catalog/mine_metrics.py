"""Mines the names of Prometheus metrics as a server shows them."""

from __future__ import annotations

import ast

from vllm_migrate.catalog.history import Attrs, Facts
from vllm_migrate.catalog.source import Tree
from vllm_migrate.lazy import regex

_NAME = regex(r"vllm:[a-zA-Z0-9_]+")
_KINDS = ("counter", "gauge", "histogram", "summary")


def mine_metrics(tree: Tree) -> Facts:
    """Return exported name -> {type}, `hidden` where it is shown only on request.

    The client library ends counters in `_total`; a name whose kind the source does not show is kept as written.
    """
    kinds: dict[str, str | None] = {}
    hidden: dict[str, bool] = {}
    constants: dict[str, str] = {}
    usages: dict[str, str] = {}
    # name -> the constant that holds it; constants of several classes may share a name
    for path in tree.names(r"vllm/.+\.py"):
        text = tree.read(path)
        if "vllm:" not in text and "MetricMetadata" not in text:
            continue
        visitor = _Visitor()
        visitor.visit(tree.parse(path))
        for name, kind, only_hidden in visitor.found:
            kinds[name] = kinds.get(name) or kind
            hidden[name] = hidden.get(name, True) and only_hidden
        constants |= visitor.constants
        usages |= visitor.usages
    for name, constant in constants.items():
        kinds[name] = kinds.get(name) or usages.get(constant)
    out: Facts = {}
    for name, kind in kinds.items():
        attrs: Attrs = {"type": kind} if kind else {}
        if hidden[name]:
            attrs["hidden"] = True
        exported = name if kind != "counter" or name.endswith("_total") else name + "_total"
        out[exported] = attrs
    return dict(sorted(out.items()))


def _kind(node: ast.expr) -> str | None:
    text = ast.unparse(node).lower()
    return next((k for k in _KINDS if k in text), None)


class _Visitor(ast.NodeVisitor):
    """Finds names beginning `vllm:`, the kind of metric each becomes, and constants that stand for names."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str | None, bool]] = []
        self.constants: dict[str, str] = {}
        self.usages: dict[str, str] = {}
        self._calls: list[str] = []
        self._functions: list[str | None] = []
        self._hidden = 0

    def visit_Compare(self, node: ast.Compare) -> None:
        pass  # a name that is only compared is not exported here

    def visit_If(self, node: ast.If) -> None:
        guarded = "show_hidden" in ast.unparse(node.test)
        self._hidden += guarded
        for statement in node.body:
            self.visit(statement)
        self._hidden -= guarded
        for statement in node.orelse:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        kinds = {
            k
            for call in ast.walk(node)
            if isinstance(call, ast.Call)
            for k in [_kind(call.func)]
            if k and not any(_literal(a) for a in (*call.args, *(w.value for w in call.keywords)))
        }
        self._functions.append(kinds.pop() if len(kinds) == 1 else None)
        self.generic_visit(node)
        self._functions.pop()

    def visit_Call(self, node: ast.Call) -> None:
        kind = _kind(node.func)
        for argument in (*node.args, *(k.value for k in node.keywords)):
            self._note_usage(argument, kind or _call_kind(node))
        if kind:
            self._calls.append(kind)
        self.generic_visit(node)
        if kind:
            self._calls.pop()

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                kind = _kind(value.func) if isinstance(value, ast.Call) else None
                self._note_usage(key, kind or (_call_kind(value) if isinstance(value, ast.Call) else None))
        self.generic_visit(node)

    def _note_usage(self, node: ast.expr, kind: str | None) -> None:
        if kind and isinstance(node, (ast.Attribute, ast.Name)):
            self.usages.setdefault(ast.unparse(node).rpartition(".")[2], kind)

    def visit_Assign(self, node: ast.Assign) -> None:
        value = _literal(node.value)
        if value and isinstance(node.targets[0], ast.Name):
            self.constants[value] = node.targets[0].id
        if isinstance(node.targets[0], ast.Subscript) and isinstance(node.value, ast.Call):
            self._note_usage(node.targets[0].slice, _kind(node.value.func))
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass  # only part of a name

    def visit_Constant(self, node: ast.Constant) -> None:
        name = _literal(node)
        if name:
            kind = self._calls[-1] if self._calls else self._functions[-1] if self._functions else None
            self.found.append((name, kind, self._hidden > 0))


def _literal(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
        return node.value
    return None


def _call_kind(node: ast.Call) -> str | None:
    """The kind an argument of a metadata record names (`MetricType.COUNTER`, `type="gauge"`)."""
    for argument in (*node.args, *(k.value for k in node.keywords)):
        if isinstance(argument, (ast.Attribute, ast.Constant)):
            text = ast.unparse(argument).rpartition(".")[2].strip("'\"").lower()
            if text in _KINDS:
                return text
    return None
