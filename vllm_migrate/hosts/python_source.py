"""A parsed Python module with offsets in code points, parents, statement blocks, imports and guards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property

from vllm_migrate.hosts.bearing import blanked, quiet_parts
from vllm_migrate.hosts.python_bearing import quiet_statements, tree_of
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.text import Region, Span, line_starts

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_GUARD = regex(
    r"__version__|\bversion\.(?:parse|Version)|\bVersion\(|parse_version|vllm_?version|\bversion\(|"
    r"metadata\.version|inspect\.signature|(?<!\.)\bversion\b\s*[<>=]",
    re.IGNORECASE,
)
_GUARD_ERRORS = ("ImportError", "ModuleNotFoundError", "TypeError", "AttributeError")


@dataclass
class Module:
    """One parsed module.

    nodes: every node in source order of a walk, without what lies inside f-strings (whose positions are
    not reliable in every Python) and what never runs (`if False`). imports: local name → dotted name.
    stars: modules imported with `*`.
    """

    region: Region
    tree: ast.Module
    nodes: list[ast.AST] = field(default_factory=list)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    blocks: dict[ast.stmt, tuple[ast.AST, str]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)
    version_names: set[str] = field(default_factory=set)
    templates: set[ast.AST] = field(default_factory=set)
    """Text literals that the module fills in with `format` wherever it uses them."""
    _lines: Sequence[int] = ()

    @cached_property
    def loads(self) -> dict[str, list[ast.expr]]:
        """Name → the expressions that read a variable or an attribute of that name."""
        out: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                out.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node)
        return out

    @cached_property
    def single_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The statements of the module's top that import one name."""
        imports = [s for s in self.tree.body if isinstance(s, (ast.Import, ast.ImportFrom))]
        return [s for s in imports if len(s.names) == 1]

    @property
    def text(self) -> str:
        return self.region.text

    @property
    def is_test(self) -> bool:
        """The file's name says that it is a test."""
        *folders, name = self.region.source.path.split("/")
        return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py" or "tests" in folders

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line (from 1) and a column in UTF-8 bytes."""
        start = self._lines[line - 1]
        end = self._lines[line] if line < len(self._lines) else len(self.text)
        part = self.text[start:end]
        if part.isascii():
            return start + column
        return start + len(part.encode("utf-8")[:column].decode("utf-8", "replace"))

    def span(self, node: ast.AST) -> Span:
        """Return where a node lies, without parentheses around it."""
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return Span(self.offset(line, column), self.offset(end_line, end_column))

    def raw(self, node: ast.AST) -> str:
        span = self.span(node)
        return self.text[span.start : span.end]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt | None:
        if isinstance(node, ast.stmt):
            return node
        return next((a for a in self.ancestors(node) if isinstance(a, ast.stmt)), None)

    def scope(self, node: ast.AST) -> Scope:
        """Return the innermost function, class or module around a node."""
        for a in self.ancestors(node):
            if isinstance(a, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                return a
        return self.tree

    def dotted(self, node: ast.AST | None) -> str:
        """Return the dotted name an expression stands for after imports, or ""."""
        if isinstance(node, ast.Name):
            if node.id in self.imports:
                return self.imports[node.id]
            if node.id not in self.defined and self.stars and node.id[:1].isupper():
                return f"{self.stars[0]}.{node.id}"
            return node.id
        if isinstance(node, ast.Attribute):
            head = self.dotted(node.value)
            return f"{head}.{node.attr}" if head else ""
        return ""

    def imported(self, node: ast.AST) -> bool:
        """Tell whether a name chain begins at an import."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and (
            node.id in self.imports or (bool(self.stars) and node.id not in self.defined)
        )

    def docstring(self, node: ast.AST) -> bool:
        """Tell whether a string is a statement of its own."""
        return isinstance(self.parents.get(node), ast.Expr)

    def guard(self, node: ast.AST, *, imports: bool = False) -> str:
        """Return the version test around a node, or "".

        imports: the node is an import, so that `except ImportError` counts as a test of it.
        """
        child: ast.AST = node
        for a in self.ancestors(node):
            if isinstance(a, (ast.If, ast.IfExp, ast.While)) and child is not a.test:
                text = self.raw(a.test)
                if self._tests_version(a.test, text):
                    return " ".join(text.split())
            elif isinstance(a, ast.Try):
                found = self._try_guard(a, child, imports)
                if found:
                    return found
            child = a
        return ""

    def _tests_version(self, test: ast.AST, text: str) -> bool:
        if _GUARD.search(text):
            return True
        for n in ast.walk(test):
            if isinstance(n, ast.Name) and n.id in self.version_names:
                return True
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "hasattr" and n.args:
                return self.dotted(n.args[0]).startswith("vllm") and self.imported(n.args[0])
        return False

    def _try_guard(self, node: ast.Try, child: ast.AST, imports: bool) -> str:
        for handler in node.handlers:
            names = {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)} if handler.type else set()
            caught = [n for n in _GUARD_ERRORS if n in names]
            if not imports:
                caught = [n for n in caught if n in ("TypeError", "AttributeError") or child is handler]
            if caught and (child is handler or child in node.body):
                return f"try … except {caught[0]}"
        return ""


def parse(region: Region) -> Module:
    """Parse a region. Raises SyntaxError (with the position in its lines) where it is no Python."""
    quiet = quiet_parts("python", region, quiet_statements)
    module = Module(region, tree_of(blanked(region.text, quiet)))
    module._lines = line_starts(region.text)
    _index(module)
    for node in module.nodes:
        _note_import(module, node)
    for node in module.nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if _GUARD.search(module.raw(node.value)) and not isinstance(node.value, (ast.Dict, ast.List)):
                module.version_names.update(t.id for t in targets if isinstance(t, ast.Name))
    return module


def _index(module: Module) -> None:
    """Note the nodes, parents and blocks of a module."""
    parents, blocks, nodes = module.parents, module.blocks, module.nodes
    stack: list[tuple[ast.AST, bool]] = [(module.tree, False)]
    while stack:
        node, within = stack.pop()
        if not within:
            nodes.append(node)
        children: list[tuple[ast.AST, bool]] = []
        formatted = within or isinstance(node, ast.JoinedStr)
        for name in node._fields:
            if name in ("ctx", "op"):
                # One object stands for all loads, all additions.
                continue
            value = getattr(node, name, None)
            if isinstance(value, list):
                deeper = formatted or _never_runs(node, name)
                for child in value:
                    if isinstance(child, ast.AST):
                        if isinstance(child, ast.stmt):
                            blocks[child] = (node, name)
                        parents[child] = node
                        children.append((child, deeper))
            elif isinstance(value, ast.AST):
                parents[value] = node
                children.append((value, formatted))
        children.reverse()
        stack += children


def _never_runs(node: ast.AST, name: str) -> bool:
    """Tell whether a block of a statement never runs: what stands under `if False`, the `else` of `if True`."""
    if not isinstance(node, (ast.If, ast.While)) or not isinstance(node.test, ast.Constant):
        return False
    return name == ("orelse" if node.test.value else "body")


def _note_import(module: Module, node: ast.AST) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                module.imports[alias.asname] = alias.name
            else:
                head = alias.name.split(".")[0]
                module.imports[head] = head
    elif isinstance(node, ast.ImportFrom) and not node.level:
        for alias in node.names:
            if alias.name == "*":
                if (node.module or "").split(".")[0] == "vllm":
                    module.stars.append(node.module or "")
            else:
                module.imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        module.defined.add(node.name)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        module.defined.add(node.id)
