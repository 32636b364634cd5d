"""Mines what the server answers: paths, the fields of requests and answers; and the parameters of sampling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from vllm_migrate.catalog.history import Attrs, Facts
from vllm_migrate.catalog.source import Tree
from vllm_migrate.lazy import dataclass, regex

_VERBS = ("get", "post", "put", "delete", "patch", "head", "options", "websocket")
_DEMO = "vllm/entrypoints/api_server.py"
#: Bases outside the tree that make a class a record of fields.
_RECORDS = frozenset({"BaseModel", "TypedDict"})
_ANSWER = regex(r"\w*Response(Verbose|Diarized)?|ModelList")
_MARKS = frozenset({"Request", "Response", "WebSocket", "Annotated", "Optional", "Union"})


@dataclass
class _Module:
    """A file: its classes, its names that stand for others, and what it imports from the package."""

    path: str
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    routes: list[_Route] = field(default_factory=list)


@dataclass
class _Route:
    path: str
    methods: tuple[str, ...]
    handler: ast.FunctionDef | ast.AsyncFunctionDef | None


_Found = tuple[_Module, ast.ClassDef]


class Http:
    """The records and routes of one release, read from `vllm/entrypoints` once for all sections.

    notes: bodies of requests whose class was not found.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._modules: dict[str, _Module] = {}
        self.notes: list[str] = []
        for path in tree.names(r"vllm/entrypoints/.+\.py"):
            self._module(path)

    def endpoints(self) -> Facts:
        """Return path -> {methods}, `only` where just the demo server has it."""
        methods: dict[str, set[str]] = {}
        demo: dict[str, bool] = {}
        for module, route in self._routes():
            methods.setdefault(route.path, set()).update(route.methods)
            demo[route.path] = demo.get(route.path, True) and module.path == _DEMO
        out: Facts = {}
        for path in sorted(methods):
            out[path] = {"methods": sorted(methods[path])}
            if demo[path]:
                out[path]["only"] = "demo_server"
        return out

    def request_fields(self) -> Facts:
        """Return `/path.field` of the bodies that are records, and `Class.field` of the records in them."""
        out: Facts = {}
        nested: dict[str, list[_Found]] = {}
        for module, route in self._routes():
            bodies = list(self._bodies(module, route))
            facts = [self._fields(m, c) for m, c in bodies]
            for name in {n for table in facts for n in table}:
                own = [table[name] for table in facts if name in table]
                attrs = dict(own[0])
                if len(own) < len(bodies) or not all(a.get("required") for a in own):
                    attrs.pop("required", None)
                out.setdefault(f"{route.path}.{name}", attrs)
            for found in bodies:
                self._reach(found, nested)
        bodies_of_routes = {id(c) for m, r in self._routes() for _, c in self._bodies(m, r)}
        self._nested(out, nested, bodies_of_routes)
        return dict(sorted(out.items()))

    def response_fields(self) -> Facts:
        """Return `Class.field` of the records that answers are made of."""
        out: Facts = {}
        reached: dict[str, list[_Found]] = {}
        for module in list(self._modules.values()):
            for name, node in module.classes.items():
                if _ANSWER.fullmatch(name) and self._is_record(module, node):
                    self._reach((module, node), reached)
                    reached.setdefault(name, []).append((module, node))
        self._nested(out, reached, set())
        return dict(sorted((name, {}) for name in out))

    def _nested(self, out: Facts, reached: dict[str, list[_Found]], without: set[int]) -> None:
        for name, places in reached.items():
            for module, node in places:
                if id(node) not in without:
                    for key, attrs in self._fields(module, node).items():
                        out.setdefault(f"{name}.{key}", attrs)

    def _routes(self) -> Iterator[tuple[_Module, _Route]]:
        for module in list(self._modules.values()):
            if module.path.startswith("vllm/entrypoints/"):
                yield from ((module, route) for route in module.routes)

    def _bodies(self, module: _Module, route: _Route) -> Iterator[_Found]:
        """Give the records a handler's parameters are, each once."""
        if route.handler is None:
            return
        seen: set[int] = set()
        spec = route.handler.args
        for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            if argument.annotation is None:
                continue
            found = list(self._classes(module, argument.annotation))
            if not found and argument.arg == "request" and not _names(argument.annotation) <= _MARKS:
                note = f"{module.path}: {route.path}: the class of its request was not found"
                if note not in self.notes and "Any" not in _names(argument.annotation):
                    self.notes.append(note)
            for m, c in found:
                if id(c) not in seen and self._is_record(m, c):
                    seen.add(id(c))
                    yield m, c

    def _module(self, path: str) -> _Module | None:
        if path in self._modules:
            return self._modules[path]
        if not self._tree.has(path):
            return None
        module = self._modules[path] = _Module(path)
        for node in ast.walk(self._tree.parse(path)):
            if isinstance(node, ast.ClassDef):
                module.classes.setdefault(node.name, node)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                module.aliases.setdefault(node.targets[0].id, node.value)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                if "TypeAlias" in _names(node.annotation):
                    module.aliases.setdefault(node.target.id, node.value)
            elif isinstance(node, ast.ImportFrom):
                source = _imported(path, node)
                for alias in node.names:
                    if alias.name == "*":
                        module.stars.append(source)
                    module.imports[alias.asname or alias.name] = (source, alias.name)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                module.routes += filter(None, (_decorated(d, node) for d in node.decorator_list))
            elif isinstance(node, ast.Call):
                added = _added(node)
                if added is not None:
                    module.routes.append(added)
        return module

    def _find(self, module: _Module, name: str, depth: int = 0) -> Iterator[_Found]:
        """Give the classes a name stands for, through aliases and imports."""
        if depth > 8:
            return
        if name in module.classes:
            yield module, module.classes[name]
        elif name in module.aliases:
            for inner in sorted(_names(module.aliases[name])):
                yield from self._find(module, inner, depth + 1)
        elif name in module.imports:
            source, original = module.imports[name]
            yield from self._find_in(source, original, depth)
        else:
            for source in module.stars:
                yield from self._find_in(source, name, depth)

    def _find_in(self, source: str, name: str, depth: int) -> Iterator[_Found]:
        for path in (f"{source}.py", f"{source}/__init__.py"):
            other = self._module(path)
            if other is not None:
                yield from self._find(other, name, depth + 1)

    def _classes(self, module: _Module, annotation: ast.expr) -> Iterator[_Found]:
        for name in sorted(_names(annotation)):
            yield from self._find(module, name)

    def _bases(self, module: _Module, node: ast.ClassDef) -> Iterator[_Found]:
        for base in node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(inner, ast.Name):
                yield from (f for f in self._find(module, inner.id) if f[1] is not node)

    def _is_record(self, module: _Module, node: ast.ClassDef, depth: int = 0) -> bool:
        if depth > 8:
            return False
        if any(ast.unparse(base).split("[")[0].rpartition(".")[2] in _RECORDS for base in node.bases):
            return True
        return any(self._is_record(m, c, depth + 1) for m, c in self._bases(module, node))

    def _fields(self, module: _Module, node: ast.ClassDef, depth: int = 0) -> Facts:
        """Return the fields of a record, inherited ones included, by the name a client writes."""
        out: Facts = {}
        if depth > 8:
            return out
        for parent, base in reversed(list(self._bases(module, node))):
            out |= self._fields(parent, base, depth + 1)
        partial = any(k.arg == "total" and ast.unparse(k.value) == "False" for k in node.keywords)
        for name, attrs in own_fields(node, aliased=True):
            out[name] = {} if partial else attrs
        return out

    def _reach(self, start: _Found, into: dict[str, list[_Found]]) -> None:
        """Collect the records that the fields of a record hold, and the records in those."""
        todo = [start]
        seen: set[int] = set()
        while todo:
            module, node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            todo += self._bases(module, node)
            for statement in node.body:
                if not isinstance(statement, ast.AnnAssign):
                    continue
                for found in self._classes(module, statement.annotation):
                    if self._is_record(*found):
                        places = into.setdefault(found[1].name, [])
                        if all(c is not found[1] for _, c in places):
                            places.append(found)
                        todo.append(found)


def mine_sampling_params(tree: Tree) -> Facts:
    """Return `Class.field` of what Python code gives with a request: SamplingParams, PoolingParams …"""
    out: Facts = {}
    for path in ("vllm/sampling_params.py", "vllm/pooling_params.py"):
        fields: dict[str, Facts] = {}
        for node in tree.parse(path).body if tree.has(path) else ():
            if not isinstance(node, ast.ClassDef) or any("Enum" in ast.unparse(b) for b in node.bases):
                continue
            fields[node.name] = {}
            for base in node.bases:
                fields[node.name] |= fields.get(ast.unparse(base), {})
            fields[node.name] |= dict(own_fields(node))
            out |= {f"{node.name}.{name}": attrs for name, attrs in fields[node.name].items()}
    return dict(sorted(out.items()))


def own_fields(node: ast.ClassDef, *, aliased: bool = False) -> Iterator[tuple[str, Attrs]]:
    """Give the annotated public fields of a class, with their literal default.

    aliased: a field with an alias goes by that.
    """
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name = statement.target.id
        if name.startswith("_") or name == "model_config" or "ClassVar" in _names(statement.annotation):
            continue
        value = statement.value
        attrs: Attrs = {}
        if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in ("Field", "field"):
            words = {k.arg: k.value for k in value.keywords}
            alias = words.get("alias")
            if aliased and isinstance(alias, ast.Constant) and isinstance(alias.value, str):
                name = alias.value
            value = value.args[0] if value.args else words.get("default")
            if value is None and "default_factory" not in words:
                value = ast.Constant(...)
            elif value is None:
                attrs["computed"] = True
                yield name, attrs
                continue
        _put_literal(attrs, value)
        yield name, attrs


def _put_literal(attrs: Attrs, value: ast.expr | None) -> None:
    if value is None:
        attrs["required"] = True
        return
    try:
        literal = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        attrs["computed"] = True
        return
    if literal is Ellipsis:
        attrs["required"] = True
    elif isinstance(literal, (str, int, float, bool, list)) and not isinstance(literal, bytes):
        attrs["default"] = literal
    elif literal is not None:
        attrs["computed"] = True


def _names(node: ast.expr) -> set[str]:
    """Return the names in a type, those in quoted parts included."""
    out: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            out.add(inner.id)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            out |= set(re.findall(r"[A-Za-z_]\w*", inner.value)) if len(inner.value) < 200 else set()
    return out


def _imported(path: str, node: ast.ImportFrom) -> str:
    """Return the path, without its ending, of the module an import reads from."""
    module = (node.module or "").replace(".", "/")
    if not node.level:
        return module
    folder = path.split("/")[: -node.level]
    return "/".join([*folder, *filter(None, [module])])


def _literal_path(arguments: Iterable[ast.expr]) -> str | None:
    first = next(iter(arguments), None)
    if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith("/"):
        return first.value
    return None


def _decorated(node: ast.expr, handler: ast.FunctionDef | ast.AsyncFunctionDef) -> _Route | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    path = _literal_path(node.args)
    if path is None:
        return None
    if node.func.attr in _VERBS:
        return _Route(path, (node.func.attr.upper(),), handler)
    return _Route(path, _methods(node), handler) if node.func.attr == "api_route" else None


def _added(node: ast.Call) -> _Route | None:
    """Return the route of `add_api_route("/x", …)` or `Mount("/x", …)`."""
    called = ast.unparse(node.func).rpartition(".")[2]
    path = _literal_path(node.args) if called in ("add_api_route", "Mount") else None
    if path is None:
        return None
    return _Route(path, _methods(node) if called == "add_api_route" else ("GET",), None)


def _methods(node: ast.Call) -> tuple[str, ...]:
    for word in node.keywords:
        if word.arg == "methods" and isinstance(word.value, (ast.List, ast.Tuple)):
            return tuple(str(e.value).upper() for e in word.value.elts if isinstance(e, ast.Constant))
    return ("GET",)
