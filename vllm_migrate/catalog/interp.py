"""Reads Python source the way the interpreter would, without running it.

Only names, literals, classes, and the calls named in `interp_natives` are followed, on the syntax tree.
Whatever goes beyond yields `Unknown`, so a reading never fails; it only knows less. There is no file,
network or process access in reach, and the number of steps is limited.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable
from typing import Any

from vllm_migrate.catalog.interp_classes import build_class, class_attribute
from vllm_migrate.catalog.interp_eval import Evaluator
from vllm_migrate.catalog.interp_values import (
    Bound,
    External,
    Function,
    ImportRef,
    Instance,
    Module,
    Partial,
    Raised,
    Scope,
    Stop,
    Unknown,
    Unsupported,
)
from vllm_migrate.catalog.source import MineError, Tree

_STEPS = 3_000_000  # the largest release takes a seventh of it
_DEPTH = 60


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Interpreter(Evaluator):
    """Reads modules of one source tree on demand.

    overrides: `(module, name)` -> value, for what depends on the machine (the platform, plugins).
    notes: what could not be followed, for the report.
    """

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self.tree = tree
        self.modules: dict[str, Module] = {}
        self.overrides: dict[tuple[str, str], Any] = {}
        self.notes: list[str] = []
        self.steps = _STEPS
        self.depth = 0

    # modules

    def module_path(self, name: str) -> str | None:
        """Return the file of a module of the tree, or None."""
        base = name.replace(".", "/")
        for path in (base + ".py", base + "/__init__.py"):
            if self.tree.has(path):
                return path
        return None

    def load(self, name: str) -> Module | None:
        """Return a module of the tree with its top level read, None where the tree has no such module."""
        if name in self.modules:
            return self.modules[name]
        path = self.module_path(name)
        if path is None:
            return None
        package = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
        module = Module(name, package, path)
        module.globals = {"__name__": name, "__file__": path}
        self.modules[name] = module
        try:
            module.tree = self.tree.parse(path)
        except MineError as error:
            self.notes.append(str(error))
            return module
        self.run(module.tree.body, Scope(module.globals, None, module))
        return module

    def lookup(self, module: str, name: str) -> Any:
        """Return a module's attribute, following imports; Unknown where nothing binds it."""
        return self.resolve(ImportRef(module, name))

    def resolve(self, value: Any) -> Any:
        """Return what an import refers to; other values as they are."""
        for _ in range(20):
            if not isinstance(value, ImportRef):
                return value
            value = self._import(value)
        return value

    def _import(self, ref: ImportRef) -> Any:
        if ref.attr is None:
            return self.load(ref.module) or self.external(ref.module)
        if (ref.module, ref.attr) in self.overrides:
            return self.overrides[ref.module, ref.attr]
        module = self.load(ref.module)
        if module is None:
            return self.external(f"{ref.module}.{ref.attr}")
        return self.module_attribute(module, ref.attr)

    def module_attribute(self, module: Module, name: str) -> Any:
        if (module.name, name) in self.overrides:
            return self.overrides[module.name, name]
        if name in module.globals:
            return self.resolve(module.globals[name])
        dotted = f"{module.name}.{name}"
        if self.module_path(dotted) is not None:
            return self.load(dotted)
        hook = module.globals.get("__getattr__")
        if isinstance(hook, Function):
            try:
                return self.call(hook, [name], {})
            except (Raised, Unsupported):
                return Unknown(dotted)
        return External(dotted)

    # statements

    def run(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        """Read statements one after the other; one that cannot be followed binds its names to Unknown."""
        for statement in body:
            self.step()
            try:
                self.execute(statement, scope)
            except Unsupported as error:
                self._contain(statement, scope, error)
            except Raised as error:
                if scope.parent is None or scope.owner is not None:
                    self._contain(statement, scope, error)
                    continue
                raise

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Stop("too many steps")

    def _contain(self, statement: ast.stmt, scope: Scope, error: Exception) -> None:
        if scope.parent is not None and scope.owner is None:
            self.notes.append(f"{scope.module.path}:{statement.lineno}: not followed: {error}")
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                scope.names.setdefault(node.id, Unknown(node.id))
        if isinstance(statement, ast.Return):
            raise _Return(Unknown(ast.unparse(statement)))

    def execute(self, node: ast.stmt, scope: Scope) -> None:
        method = getattr(self, "_do_" + type(node).__name__, None)
        if method is None:
            raise Unsupported(type(node).__name__)
        method(node, scope)

    def _do_Pass(self, node: ast.Pass, scope: Scope) -> None:
        pass

    def _do_Assert(self, node: ast.Assert, scope: Scope) -> None:
        pass

    def _do_Global(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        scope.outer.update(node.names)

    _do_Nonlocal = _do_Global

    def _do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        if not isinstance(node.value, ast.Constant):
            self.eval(node.value, scope)

    def _do_Import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            if alias.asname:
                scope.names[alias.asname] = ImportRef(alias.name, None)
            else:
                top = alias.name.partition(".")[0]
                scope.names[top] = ImportRef(top, None)

    def _do_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = node.module or ""
        if node.level:
            parts = scope.module.package.split(".")
            parts = parts[: len(parts) - node.level + 1]
            module = ".".join([*parts, module] if module else parts)
        for alias in node.names:
            if alias.name == "*":
                loaded = self.load(module)
                for name in loaded.globals if loaded is not None else ():
                    if not name.startswith("_"):
                        scope.names[name] = ImportRef(module, name)
            else:
                scope.names[alias.asname or alias.name] = ImportRef(module, alias.name)

    def _do_Assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.eval(node.value, scope)
        for target in node.targets:
            self.store(target, value, scope)

    def _do_AnnAssign(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.store(node.target, self.eval(node.value, scope), scope)

    def _do_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        load = ast.copy_location(_as_load(node.target), node.target)
        value = self.binary(node.op, self.eval(load, scope), self.eval(node.value, scope), in_place=True)
        self.store(node.target, value, scope)

    def _do_Delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                container = self.eval(target.value, scope)
                index = self.eval(target.slice, scope)
                if isinstance(container, dict):
                    if index not in container:
                        raise Raised("KeyError", repr(index))
                    del container[index]
                elif isinstance(container, list) and isinstance(index, (int, slice)):
                    del container[index]

    def _do_If(self, node: ast.If, scope: Scope) -> None:
        try:
            truth = self.truth(self.eval(node.test, scope))
        except Unsupported:
            self._undecided(node, scope)
            return
        self.run(node.body if truth else node.orelse, scope)

    def _undecided(self, node: ast.If, scope: Scope) -> None:
        """Go on after an `if` only a run could decide: as if it were false, with what it sets unknown."""
        inside = scope.parent is not None and scope.owner is None
        if inside:
            self.notes.append(f"{scope.module.path}:{node.lineno}: not decided: {ast.unparse(node.test)}")
        branches = [n for statement in (*node.body, *node.orelse) for n in ast.walk(statement)]
        if inside and any(isinstance(n, ast.Return) for n in branches):
            raise _Return(Unknown(f"if {ast.unparse(node.test)}"))
        self.run(node.orelse, scope)
        for branch in branches:
            if isinstance(branch, ast.Name) and isinstance(branch.ctx, ast.Store):
                self.bind(branch.id, Unknown(branch.id), scope)

    def _do_For(self, node: ast.For, scope: Scope) -> None:
        items = self.iterate(self.eval(node.iter, scope))
        for item in items:
            self.step()
            self.store(node.target, item, scope)
            try:
                self.run(node.body, scope)
            except _Break:
                return
            except _Continue:
                continue
        self.run(node.orelse, scope)

    def _do_While(self, node: ast.While, scope: Scope) -> None:
        while self.truth(self.eval(node.test, scope)):
            self.step()
            try:
                self.run(node.body, scope)
            except _Break:
                return
            except _Continue:
                continue

    def _do_Break(self, node: ast.Break, scope: Scope) -> None:
        raise _Break

    def _do_Continue(self, node: ast.Continue, scope: Scope) -> None:
        raise _Continue

    def _do_Return(self, node: ast.Return, scope: Scope) -> None:
        raise _Return(None if node.value is None else self.eval(node.value, scope))

    def _do_Raise(self, node: ast.Raise, scope: Scope) -> None:
        name = "Exception"
        if node.exc is not None:
            target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = ast.unparse(target).rpartition(".")[2]
        raise Raised(name)

    def _do_With(self, node: ast.With, scope: Scope) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self.store(item.optional_vars, Unknown(ast.unparse(item.context_expr)), scope)
        self.run(node.body, scope)

    def _do_Try(self, node: ast.Try, scope: Scope) -> None:
        try:
            for statement in node.body:
                self.step()
                try:
                    self.execute(statement, scope)
                except Unsupported as error:
                    self._contain(statement, scope, error)
        except Raised as error:
            for handler in node.handlers:
                if _catches(handler, error.name):
                    if handler.name:
                        scope.names[handler.name] = Unknown(error.name)
                    self.run(handler.body, scope)
                    break
            else:
                raise
        else:
            self.run(node.orelse, scope)
        finally:
            self.run(node.finalbody, scope)

    def _do_FunctionDef(self, node: ast.FunctionDef, scope: Scope) -> None:
        function = self.make_function(node, scope, node.name)
        function.owner = scope.owner
        names = []
        for decorator in node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            names.append(ast.unparse(target).rpartition(".")[2])
        function.decorators = tuple(names)
        kinds = {"staticmethod": "static", "classmethod": "class", "property": "property"}
        function.kind = next((kinds[n] for n in names if n in kinds), "")
        if "cached_property" in names:
            function.kind = "property"
        self.bind(node.name, function, scope)

    _do_AsyncFunctionDef = _do_FunctionDef

    def _do_ClassDef(self, node: ast.ClassDef, scope: Scope) -> None:
        self.bind(node.name, build_class(self, node, scope), scope)

    # calls

    def call_function(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Return what a function of the source would; Unknown where its parameters do not fit."""
        if self.depth >= _DEPTH:
            raise Unsupported("calls too deep")
        names = self.bind_arguments(function, args, kwargs)
        scope = Scope(names, function.scope, function.scope.module)
        if function.owner is not None:
            scope.names["__class__"] = function.owner
            scope.first = args[0] if args else None
        self.depth += 1
        try:
            node = function.node
            if isinstance(node, ast.Lambda):
                return self.eval(node.body, scope)
            if isinstance(node, ast.AsyncFunctionDef) or _yields(node):
                return Unknown(f"{function.name}()")
            self.run(node.body, scope)
            return None
        except _Return as result:
            return result.value
        except (_Break, _Continue):
            raise Unsupported("loop control outside a loop") from None
        finally:
            self.depth -= 1

    def instantiate(self, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        init = class_attribute(self, cls, "__init__")
        instance = Instance(cls, tuple(args), dict(kwargs))
        if isinstance(init, Function) and self.depth < 10:
            with contextlib.suppress(Raised, Unsupported):
                self.call_function(init, [instance, *args], dict(kwargs))
        return instance

    def text_of(self, value: Any) -> str:
        """Return a name for a function, class or unknown value, for notes and types."""
        if isinstance(value, Partial):
            return self.text_of(value.function)
        if isinstance(value, Bound):
            return self.text_of(value.function)
        return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)


def _as_load(target: ast.expr) -> ast.expr:
    text = ast.unparse(target)
    return ast.parse(text, mode="eval").body


def _yields(node: ast.FunctionDef) -> bool:
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node))


def _catches(handler: ast.ExceptHandler, name: str) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    wanted = {ast.unparse(t).rpartition(".")[2] for t in types}
    import builtins

    raised = getattr(builtins, name, None)
    bases = {c.__name__ for c in raised.__mro__} if isinstance(raised, type) else {name, "Exception"}
    return bool(wanted & bases)
