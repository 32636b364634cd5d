"""Which top statements of a long Python module have a bearing on a launch."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

from vllm_migrate.hosts.bearing import Telling, bearing, joined, looked_for
from vllm_migrate.hosts.python_words import (
    BASES,
    BODIES,
    DEVICE_METHODS,
    INDEXES,
    INSTALLER_OPTIONS,
    INSTALLERS,
    PYTHON_VERSIONS,
    REQUIREMENTS,
)
from vllm_migrate.lazy import regex
from vllm_migrate.speaks import Names
from vllm_migrate.text import Span, line_starts

_LOOKED_FOR = frozenset().union(
    INSTALLERS, REQUIREMENTS, PYTHON_VERSIONS, INDEXES, BASES, DEVICE_METHODS, BODIES,
    (
        # What could see the environment.
        "subprocess", "popen", "Popen", "posix_spawn", "create_subprocess_exec", "create_subprocess_shell",
        "multiprocessing", "pexpect", "env_vars", "putenv",
        INSTALLER_OPTIONS, "extras_require", "docker",
    ),
) - {"dependencies", "cuda", "system"}  # fmt: skip
"""Common words are looked for with what stands beside them, below."""
_ALSO = Telling(
    (
        "requirements", "dependencies", "env", "system", "cuda", "sh.", "exec", "spawn", ".post(", ".request(",
        ".stream(", ".put(", ".async_post(", "Model", "For", "LMHead", "Speculator", "Embedding",
    ),
    regex(
        r"\b(?:\w*requirements|dependencies|envs?|environment)[\"']?[ \t]*(?::[^=\n]{0,300})?=(?!=)"
        r"|[\"']dependencies[\"']"
        r"|environ\b[ \t]*(?:\[[^\]\n]{0,300}\][ \t]*=(?!=)|\.(?:update|setdefault|pop)\b)|\.env\("
        r"|\bsystem\b[ \t]*[(\n]|\bimport system\b"
        r"|[\"']cuda[\"':]|\.cuda\b|\bsh\.|\b(?:exec|spawn)[lv]\w*\(|\.(?:post|request|stream|put|async_post)\("
        r"|[\"'][A-Z]\w{0,99}(?:Model|For[A-Z]\w{0,99}|LMHead\w{0,99}|Speculator|Embedding)[\"']"
    ),
)
_HELD = regex(r"\.(\w+)[ \t]*(?::[^=\n]{0,300})?\+?=[ \t]*(?:[\[{(\"']|f[\"']|dict\(|list\()")
_GLOBAL = regex(r"(?m)^[ \t]*(?:global|nonlocal)[ \t]+(.*)")
_STAR = regex(r"(?m)^[ \t]*from[ \t]+\S+[ \t]+import[ \t]*\*")


def quiet_statements(text: str) -> list[Span]:
    """Return the lines of the statements of a module that have no bearing on a launch.

    Imports always have one. Raises SyntaxError where the text is no Python.
    """
    body = tree_of(text).body
    if len(body) < 3 or _STAR.search(text):
        return []
    starts = [*line_starts(text), len(text)]
    places: list[tuple[int, int]] = []
    held: list[list[ast.stmt]] = []
    for statement in body:
        start = starts[first_line(statement) - 1]
        end = starts[min(statement.end_lineno or statement.lineno, len(starts) - 1)]
        if places and start < places[-1][1]:
            # `a; b`: they go together.
            places[-1] = (places[-1][0], max(end, places[-1][1]))
            held[-1].append(statement)
        else:
            places.append((start, end))
            held.append([statement])

    def makes(i: int, part: str) -> set[str]:
        return set().union(*map(_names, held[i]), _HELD.findall(part), _declared(part))

    kept = bearing(text, places, _seeds(looked_for()), makes, _ALSO)
    for i, statements in enumerate(held):
        imports = any(isinstance(s, (ast.Import, ast.ImportFrom)) for s in statements)
        kept[i] = kept[i] or imports or len(statements) > 1
    return joined(_meeting(places, text), kept)


@lru_cache(maxsize=1)
def _seeds(known: frozenset[str]) -> Names:
    """Return what makes a statement count. known: the names the data knows something of."""
    return Names(_LOOKED_FOR | known)


def _meeting(places: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Let each place end where the next begins: what lies between is blank, or comments."""
    return [(start, after[0]) for (start, _), after in zip(places, [*places[1:], (len(text), 0)], strict=True)]


@lru_cache(maxsize=1)
def tree_of(text: str) -> ast.Module:
    """Return the tree of a text, which nobody changes. Raises SyntaxError where it is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error) or type(error).__name__) from None


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
