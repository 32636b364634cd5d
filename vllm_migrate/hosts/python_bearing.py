"""Which top statements of a long Python module have a bearing on a launch."""

from __future__ import annotations

import ast

from vllm_migrate.hosts.bearing import LONG, bearing, looked_for
from vllm_migrate.lazy import regex

_LOOKED_FOR = frozenset(
    (
        # What could see the environment.
        "subprocess", "popen", "Popen", "posix_spawn", "create_subprocess_exec", "create_subprocess_shell",
        "multiprocessing", "pexpect", "from_pretrained", "check_output", "env_vars", "putenv",
        # What fixes a version.
        "pip", "pip_install", "uv_pip_install", "add_python_packages", "install_requires", "setup_requires",
        "tests_require", "extras_require", "python_version", "add_python", "index_url", "extra_index_url",
        "find_links", "extra_options", "from_registry", "from_dockerhub", "from_aws_ecr",
        "from_gcp_artifact_registry", "docker",
        # What is sent to a server.
        "extra_body", "extra_args",
    )
)  # fmt: skip
_ALSO = regex(
    r"\b(?:\w*requirements|dependencies|envs?|environment)[\"']?[ \t]*(?::[^=\n]*)?=(?!=)|[\"']dependencies[\"']"
    r"|environ\b[ \t]*(?:\[[^\]\n]*\][ \t]*=(?!=)|\.(?:update|setdefault|pop)\b)|\.env\("
    r"|\bsystem\b[ \t]*[(\n]|\bimport system\b"
    r"|[\"']cuda[\"':]|\.cuda\b|\bsh\.|\b(?:exec|spawn)[lv]\w*\(|\.(?:post|request|stream|put|async_post)\("
    r"|[\"'][A-Z]\w*(?:Model|For[A-Z]\w*|LMHead\w*|Speculator|Embedding)[\"']"
)
_HELD = regex(r"\.(\w+)[ \t]*(?::[^=\n]*)?\+?=[ \t]*(?:[\[{(\"']|f[\"']|dict\(|list\()")
_GLOBAL = regex(r"(?m)^[ \t]*(?:global|nonlocal)[ \t]+(.*)")
_STAR = regex(r"(?m)^[ \t]*from[ \t]+\S+[ \t]+import[ \t]*\*")


def quiet_statements(tree: ast.Module, text: str, starts: list[int]) -> list[ast.stmt]:
    """Return the statements of a module that have no bearing on a launch, in order.

    Args: starts: where each line begins, in letters. Imports always have a bearing.
    """
    body = tree.body
    if len(text) < LONG or len(body) < 3 or _STAR.search(text):
        return []
    texts = [_lines(text, starts, statement) for statement in body]
    made = {part: _names(statement) for statement, part in zip(body, texts, strict=True)}
    kept = bearing(
        texts,
        _LOOKED_FOR.union(looked_for()),
        lambda part: made[part] | set(_HELD.findall(part)) | _declared(part),
        _ALSO,
    )
    return [
        statement
        for statement, here in zip(body, kept, strict=True)
        if not (here or isinstance(statement, (ast.Import, ast.ImportFrom)))
    ]


def _lines(text: str, starts: list[int], statement: ast.stmt) -> str:
    first = first_line(statement)
    last = statement.end_lineno or first
    return text[starts[first - 1] : starts[last] if last < len(starts) else len(text)]


def first_line(statement: ast.stmt) -> int:
    """Return the line a statement begins at, its decorators included; the first line is 1."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _declared(part: str) -> set[str]:
    return {name.strip() for found in _GLOBAL.findall(part) for name in found.split(",")}


def _names(statement: ast.stmt) -> set[str]:
    """Return the names of the module that a statement gives a value to."""
    out: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            out.add(node.name)
        elif isinstance(node, ast.alias):
            out.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                out.add(node.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            # `x[…] = …` adds to what x holds.
            if not isinstance(node.ctx, ast.Load):
                root: ast.AST = node
                while isinstance(root, (ast.Subscript, ast.Attribute)):
                    root = root.value
                if isinstance(root, ast.Name):
                    out.add(root.id)
        elif isinstance(node, ast.Expr):
            # `x.append(…)` does too.
            if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
                root = node.value.func.value
                if isinstance(root, ast.Name):
                    out.add(root.id)
        elif not isinstance(node, ast.expr) or isinstance(node, (ast.Tuple, ast.List, ast.Starred)):
            waiting += ast.iter_child_nodes(node)
    return out
