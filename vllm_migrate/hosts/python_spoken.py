"""Tells commands that a program runs from commands it only speaks of: help, messages, examples."""

from __future__ import annotations

import ast
import re
from typing import Literal

from vllm_migrate.hosts.python_source import Module
from vllm_migrate.lazy import regex

Role = Literal["run", "said", "open"]

_RUNNERS = frozenset(
    {
        "system",
        "popen",
        "Popen",
        "run",
        "call",
        "check_call",
        "check_output",
        "getoutput",
        "getstatusoutput",
        "create_subprocess_shell",
        "run_commands",
        "exec_command",
        "send_keys",
        "shell",
        "sh",
        "execute",
        "exec_run",
        "execvp",
        "spawn",
    }
)
_TALK = frozenset(
    {
        "print",
        "debug",
        "info",
        "warning",
        "warn",
        "error",
        "exception",
        "critical",
        "log",
        "echo",
        "secho",
        "fail",
        "skip",
        "skipif",
        "ArgumentParser",
        "add_argument",
        "option",
        "Option",
        "Argument",
        "add_parser",
        "write_stdout",
        "exit",
        "SystemExit",
        "success",
        "notice",
        "code",
        "caption",
        "input",
        "prompt",
        "confirm",
        "abort",
        "Panel",
        "Syntax",
        "markdown",
        "Markdown",
        "pprint",
        "rule",
        "status",
        "FileNotFoundError",
        "getLogger",
        "compile",
        "startswith",
        "endswith",
        "match",
        "search",
        "findall",
        "sub",
        "fullmatch",
        "replace",
        "split",
        "count",
        "find",
        "index",
    }
)
_TALK_KEYWORDS = frozenset({
    "help", "description", "epilog", "doc", "__doc__", "usage", "reason", "msg", "message", "title", "summary", "hint",
})  # fmt: skip
_PASSES = frozenset({
    "dedent", "indent", "cleandoc", "strip", "lstrip", "rstrip", "join", "format", "str", "encode", "expandvars",
    "Template", "safe_substitute", "substitute", "quote", "Text", "text",
})  # fmt: skip
_RUN_NAME = regex(r"(?:^|_)(?:run|exec|execute|spawn|launch|popen|system|shell|ssh|sudo|subprocess)(?:_|$)", re.I)
_SAID_NAME = regex(
    r"(?:^|_)(?:help|usage|doc|docs|example|examples|epilog|banner|message|msg|description|hint|hints|readme|"
    r"instructions|tutorial|note|notes|error|warning|tip|tips)s?(?:_|$)",
    re.I,
)
_COMMAND_NAME = regex(
    r"(?:^|_)(?:cmd|cmds|command|commands|launch|launcher|script|serve|server|run|start|startup|entrypoint|template)"
    r"(?:_|$)",
    re.I,
)


def said(module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is handed straight to a person."""
    return _of_expression(module, node, None) == "said"


def role(module: Module, node: ast.expr, *, script: bool = False) -> Role:
    """Return what becomes of a text: "run", "said" to a person, or "open" where it leaves the module's sight.

    A text with a name is followed to every use of that name; one that nothing uses is a command only where
    its name says so, or where it is a script by its first line (script).
    """
    found = _of_expression(module, node, frozenset())
    return "open" if found == "said" and script and _unused(module, node) else found


def _unused(module: Module, node: ast.expr) -> bool:
    parent = module.parents.get(node)
    if not isinstance(parent, (ast.Assign, ast.AnnAssign)):
        return False
    target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
    return isinstance(target, ast.Name) and not _SAID_NAME.search(target.id) and not _uses(module, target.id)


def _of_expression(module: Module, node: ast.expr, names: frozenset[str] | None) -> Role:
    child: ast.AST = node
    for a in module.ancestors(node):
        if isinstance(a, ast.keyword) and a.arg in _TALK_KEYWORDS:
            return "said"
        if isinstance(a, ast.Dict):
            key = _key_of(a, child)
            if key in _TALK_KEYWORDS:
                return "said"
            if _COMMAND_NAME.search(key):
                return "open"
        if isinstance(a, ast.Call) and child is not a.func:
            verdict = _of_call(module, a)
            if verdict is not None:
                return verdict
        elif isinstance(a, (ast.Raise, ast.Assert, ast.Compare)):
            return "said"
        elif isinstance(a, (ast.Return, ast.Yield)):
            function = next((f for f in module.ancestors(a) if isinstance(f, ast.FunctionDef)), None)
            return "said" if function is not None and _SAID_NAME.search(function.name) else "open"
        elif isinstance(a, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return "open" if names is None else _of_targets(module, a, child, names)
        elif isinstance(a, ast.stmt):
            return "open"
        child = a
    return "open"


def _key_of(holder: ast.Dict, value: ast.AST) -> str:
    for key, held in zip(holder.keys, holder.values, strict=True):
        if held is value and isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value.lower()
    return ""


def _of_call(module: Module, call: ast.Call) -> Role | None:
    """Return what a call does with a text it is given, None where it gives it back."""
    func = call.func
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if name in _PASSES or module.raw(func) == "shlex.split":
        return None
    if name in _RUNNERS or _RUN_NAME.search(name):
        return "run"
    if name in _TALK or name.endswith(("Error", "Exception", "Warning")):
        return "said"
    if name == "write" and module.raw(func).endswith(("stdout.write", "stderr.write")):
        return "said"
    return "open"


def _of_targets(
    module: Module, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, value: ast.AST, names: frozenset[str]
) -> Role:
    if value is not statement.value:
        return "open"
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    verdicts: set[Role] = set()
    for target in targets:
        name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
        if name in _TALK_KEYWORDS:
            verdicts.add("said")
        elif not name or name in names or len(names) > 3:
            verdicts.add("open")
        else:
            verdicts.add(_of_name(module, name, names | {name}))
    return _worst(verdicts)


def _of_name(module: Module, name: str, names: frozenset[str]) -> Role:
    uses = _uses(module, name)
    found = _worst({_of_expression(module, use, names) for use in uses})
    if found == "run":
        return "run"
    if _SAID_NAME.search(name) or (not uses and not _COMMAND_NAME.search(name)):
        return "said"
    return found if uses else "open"


def _uses(module: Module, name: str) -> list[ast.expr]:
    """Return every use of a name or of an attribute of that name."""
    return module.loads.get(name, [])


def _worst(verdicts: set[Role]) -> Role:
    return "run" if "run" in verdicts else "open" if "open" in verdicts or not verdicts else "said"
