"""Environment variables that a module sets, and which launches see them."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import field

from vllm_migrate.hosts.python_edit import Cluster, Plan
from vllm_migrate.hosts.python_flow import Build
from vllm_migrate.hosts.python_maps import Maps
from vllm_migrate.hosts.python_source import Module, Scope
from vllm_migrate.hosts.python_values import write_value
from vllm_migrate.hosts.python_words import DEVICE_METHODS
from vllm_migrate.hosts.spread import holds_line, is_line_name
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Item, Site, Variable
from vllm_migrate.text import Edit
from vllm_migrate.wrapped import carried_site
from vllm_migrate.wrappers import wrappers

_LAUNCHERS = (
    "os.system",
    "os.popen",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "subprocess.",
    "asyncio.create_subprocess",
    "multiprocessing.",
    "torch.cuda.",
    "torch.multiprocessing.",
    "pexpect.",
    "sh.",
)
_QUIET = ("subprocess.PIPE", "subprocess.DEVNULL", "subprocess.STDOUT", "subprocess.TimeoutExpired")
_GPU = regex(r"cuda(:\d+)?")


@dataclass
class Process:
    """What a module puts into its own environment, item by item."""

    settings: list[tuple[Variable, ast.stmt]] = field(default_factory=list)
    cluster: Cluster | None = None
    read: set[str] = field(default_factory=set)
    """Names that the module itself looks up."""


def read_environment(module: Module, maps: Maps) -> Process:
    """Return what the module sets in `os.environ`, in source order."""
    cluster = Cluster(
        module,
        maps.spell,
        statement_form=lambda k, v: f"{environ}[{write_value(k, q)}] = {write_value(v, q)}",
    )
    q = maps.quote
    process = Process(cluster=cluster)
    environ = "os.environ"
    for node in module.nodes:
        if _is_environ(module, node):
            assert isinstance(node, ast.expr)
            environ = module.raw(node)
            _read_use(module, maps, node, process)
        elif isinstance(node, ast.Call):
            name = module.dotted(node.func)
            parent = module.parents.get(node)
            if name == "os.putenv" and len(node.args) == 2 and isinstance(parent, ast.Expr):
                _note(process, maps.statement(parent, node.args[0], node.args[1], cluster), parent)
            elif name in ("os.getenv", "os.environ.get") and node.args:
                _note_read(process, node.args[0])
    return process


def _is_environ(module: Module, node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and module.dotted(node) == "os.environ"


def _note(process: Process, item: Item | None, statement: ast.stmt) -> None:
    if isinstance(item, Variable):
        process.settings.append((item, statement))


def _note_read(process: Process, key: ast.AST) -> None:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        process.read.add(key.value)


def _read_use(module: Module, maps: Maps, node: ast.expr, process: Process) -> None:
    cluster = process.cluster
    assert cluster is not None
    parent = module.parents.get(node)
    if isinstance(parent, ast.Subscript):
        s = module.parents.get(parent)
        if isinstance(s, ast.Assign) and s.targets == [parent]:
            _note(process, maps.statement(s, parent.slice, s.value, cluster), s)
        elif isinstance(parent.ctx, ast.Load):
            _note_read(process, parent.slice)
    elif isinstance(parent, ast.Compare) and isinstance(parent.left, ast.Constant):
        _note_read(process, parent.left)
    elif isinstance(parent, ast.Attribute):
        call = module.parents.get(parent)
        s = module.parents.get(call) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(s, ast.Expr):
            return
        if parent.attr == "setdefault" and len(call.args) == 2:
            _note(process, maps.statement(s, call.args[0], call.args[1], cluster), s)
        elif parent.attr == "update":
            _read_update(maps, call, s, process)


def _read_update(maps: Maps, call: ast.Call, s: ast.stmt, process: Process) -> None:
    cluster = process.cluster
    assert cluster is not None

    def gone(plan: Plan) -> list[Edit]:
        plan.statements[s] = None
        return []

    items: list[Item] = []
    for argument in call.args:
        if isinstance(argument, (ast.Dict, ast.Call)) and not call.keywords:
            inner = maps.bracket(argument)
            if inner is not None:
                cluster.empty[id(inner)] = gone
        home = cluster.home
        items += maps.read(argument, "variable", cluster).items
        cluster.home = home
    if call.keywords:
        outer = maps.bracket(call)
        if outer is not None and not call.args:
            cluster.empty[id(outer)] = gone
        items += maps.keywords(call, "variable", cluster).items
    for item in items:
        _note(process, item, s)


def attach(
    module: Module,
    maps: Maps,
    process: Process,
    sites: list[tuple[Site, ast.AST]],
    sinks: set[ast.AST],
    apart: Collection[int] = (),
) -> list[Variable]:
    """Give each site the variables of the process that reach it; return those that reach none.

    sinks: calls that start the launches among the sites. apart: ids of sites that inherit nothing.
    """
    alone = len(sites) == 1 and not _others(module, sites, sinks)
    left: list[Variable] = []
    own_scopes = {module.scope(node) for _, node in sites}
    for variable, statement in process.settings:
        scope = module.scope(statement)
        reached = [
            s
            for s, node in sites
            if id(s) not in apart and _reaches(module, scope, statement, node, own_scopes)
        ]
        shared = alone and variable.name not in process.read
        variable.scope = "script" if len(sites) == 1 else "file"
        variable.only = bool(reached) and shared
        for site in reached:
            if variable not in site.variables:
                site.variables.append(variable)
        if not reached:
            left.append(variable)
    for site, _ in sites:
        mine = [v for v, _ in process.settings if v in site.variables]
        if site.variable_home is None and mine:
            site.variable_home = process.cluster
    return left


def _reaches(module: Module, scope: Scope, statement: ast.stmt, node: ast.AST, own: set[Scope]) -> bool:
    where = module.scope(node)
    if scope is where:
        return statement.lineno <= getattr(node, "lineno", 0)
    if isinstance(scope, ast.Module):
        return True
    # Set in a function that holds a launch of its own: that one is meant.
    return scope not in own


def _others(module: Module, sites: list[tuple[Site, ast.AST]], sinks: set[ast.AST]) -> bool:
    """Tell whether something else than the sites could see the process's environment."""
    mine = {node for _, node in sites} | sinks
    for node in module.nodes:
        if not isinstance(node, ast.Call) or node in mine:
            continue
        name = module.dotted(node.func)
        if name.startswith(_LAUNCHERS) and not name.startswith(_QUIET):
            return True
        if isinstance(node.func, ast.Attribute) and node.func.attr in DEVICE_METHODS:
            return True
        if any(_names_gpu(a) for a in (*node.args, *(k.value for k in node.keywords))):
            return True
    return False


def _names_gpu(node: ast.AST) -> bool:
    """Tell whether an argument is the device of another library: `"cuda"`, `"cuda:1"`."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _GPU.fullmatch(node.value) is not None


def sink_calls(module: Module, node: ast.AST, build: Build | None) -> list[ast.Call]:
    """Return the calls that a list or a string is handed to, itself or through its variable."""
    starts: list[ast.AST] = [node] if build is None else list(build.uses)
    out: list[ast.Call] = []
    for start in starts:
        for a in module.ancestors(start):
            if isinstance(a, ast.stmt):
                break
            if isinstance(a, ast.Call) and not _joins(a):
                out.append(a)
                break
    return out


def _joins(call: ast.Call) -> bool:
    func = call.func
    if isinstance(func, ast.Name):
        return func.id in ("list", "tuple", "str", "map")
    return isinstance(func, ast.Attribute) and func.attr in (
        "join",
        "split",
        "format",
        "strip",
        "copy",
        "dedent",
    )


def inherits_nothing(calls: list[ast.Call]) -> bool:
    """Tell whether every one of the calls gives its program an environment written out in full."""
    given = [[k.value for k in call.keywords if k.arg == "env"] for call in calls]
    return bool(given) and all(
        len(values) == 1 and isinstance(values[0], ast.Dict) and None not in values[0].keys for values in given
    )


def given_environment(module: Module, maps: Maps, site: Site, calls: list[ast.Call]) -> None:
    """Add the variables of `env=` of the calls that start a site."""
    for call in calls:
        for keyword in call.keywords:
            if keyword.arg not in ("env", "environment", "env_vars", "envs"):
                continue
            found = maps.read(keyword.value, "variable")
            shared = len(calls) > 1 or any(len(b.uses) > 1 for b in found.builds)
            for item in found.items:
                if isinstance(item, Variable) and item not in site.variables:
                    item.only = item not in maps.given and not shared
                    maps.given.add(item)
                    site.variables.append(item)
            for build in found.builds:
                site.variable_home = maps.cluster(build, "variable")
            if site.variable_home is None:
                site.variable_home = maps.cluster(keyword.value, "variable")


def loose_environments(module: Module, maps: Maps) -> list[Variable]:
    """Return variables of `.env({...})` and `env_vars={...}` that belong to no launch of the module."""
    out: list[Variable] = []
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "env":
            if len(node.args) == 1 and isinstance(node.args[0], (ast.Dict, ast.Call, ast.Name)):
                cluster = maps.cluster(node.args[0], "variable")
                if isinstance(node.args[0], (ast.Dict, ast.Call)):
                    _unchain(module, maps, node, node.args[0], cluster)
                found = maps.read(node.args[0], "variable", cluster)
                out += [i for i in found.items if isinstance(i, Variable)]
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg in ("env", "envs") and isinstance(keyword.value, (ast.List, ast.Tuple)):
                    out += [i for i in maps.named_list(keyword.value) if isinstance(i, Variable)]
                elif keyword.arg in ("env", "environment") and isinstance(keyword.value, ast.Dict):
                    if any(isinstance(k, ast.Constant) and is_line_name(str(k.value)) for k in keyword.value.keys):
                        found = maps.read(keyword.value, "variable")
                        out += [i for i in found.items if isinstance(i, Variable) and holds_line(i)]
                elif keyword.arg == "env_vars" and isinstance(keyword.value, (ast.Dict, ast.Call)):
                    out += [i for i in maps.read(keyword.value, "variable").items if isinstance(i, Variable)]
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "env_vars" and isinstance(value, ast.Dict):
                    found = maps.read(value, "variable")
                    out += [i for i in found.items if isinstance(i, Variable)]
    for variable in out:
        variable.scope = "file"
    return out


def given_options(module: Module, maps: Maps) -> list[Site]:
    """Return sites made of dictionaries that name options as environment variables of a platform."""
    prefixes = [w.prefix for w in wrappers() if w.prefix]
    if not any(p in module.text for p in prefixes):
        return []
    out: list[Site] = []
    for node in module.nodes:
        if not isinstance(node, ast.Dict) or not any(
            isinstance(k, ast.Constant) and isinstance(k.value, str) and k.value.startswith(tuple(prefixes))
            for k in node.keys
        ):
            continue
        variables = [i for i in maps.read(node, "variable").items if isinstance(i, Variable)]
        site = carried_site(variables, "", "python")
        if site is not None:
            site.variables, site.open = variables, None in node.keys
            out.append(site)
    return out


def _unchain(module: Module, maps: Maps, call: ast.Call, value: ast.Dict | ast.Call, cluster: Cluster) -> None:
    """An emptied `.env({})` is taken out of its chain of calls."""
    inner = maps.bracket(value)
    if inner is None or not isinstance(call.func, ast.Attribute):
        return
    start, end = module.span(call.func.value).end, module.span(call).end
    cluster.empty[id(inner)] = lambda plan: [Edit(start, end, "")]
