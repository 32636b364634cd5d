"""Version ranges in any packager's spelling, and the proof that two of them exclude each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vllm_migrate.versions import Clause, clauses_of

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

Spec = tuple[tuple[str, str], ...]
"""Clauses of a range as PEP 440 has them: (operator, version)."""

_ORDER = {"===": 0, "==": 0, "~=": 1, ">=": 2, ">": 2, "!=": 3, "<=": 4, "<": 5}


def specifier_of(text: str, *, minor: bool = False) -> Spec | None:
    """Return a range with poetry's and conda's operators spelled out; () for any version, None if unreadable.

    Args: minor: a bare `3.10` means all of 3.10, as Python versions are written.
    """
    clauses = clauses_of(text.partition(";")[0].strip())
    if clauses is None or "||" in text:
        return None
    out: list[tuple[str, str]] = []
    for clause in clauses:
        made = _pep440(clause, minor)
        if made is None:
            return None
        out += made
    return tuple(out)


def _pep440(clause: Clause, minor: bool) -> list[tuple[str, str]] | None:
    op, version = clause.op, clause.version
    if version == "*":
        return []
    if op in ("", "=", "==", "===") and minor and re.fullmatch(r"\d+(?:\.\d+)?", version):
        return [("==", version + ".*")]
    if op in ("", "==="):
        return [("==", version)]
    if op == "=":
        # conda: `=0.11` is the whole series, `=0.11.0` may have further parts
        return [("==", version if version.endswith(".*") or version.count(".") > 1 else version + ".*")]
    if op in ("^", "~"):
        numbers = re.match(r"\d+(?:\.\d+)*", version)
        if numbers is None:
            return None
        parts = [int(n) for n in numbers[0].split(".")]
        first = next((i for i, n in enumerate(parts) if n), len(parts) - 1)
        lead = first if op == "^" else min(1, len(parts) - 1)
        ceiling = [*parts[:lead], parts[lead] + 1]
        return [(">=", version), ("<", ".".join(map(str, ceiling)))]
    return [(op, version)]


def ordered(spec: Spec) -> str:
    """Return a range as text, lower bounds first."""
    parts = sorted(spec, key=lambda c: _ORDER[c[0]])
    return ",".join(op + version for op, version in parts)


def _set(spec: Spec) -> SpecifierSet:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(",".join(op + version for op, version in spec))


def conflict(one: Spec, other: Spec) -> bool:
    """Tell whether certainly no version satisfies both.

    Both are unions of few intervals whose ends are the versions they name, so a common version, if there
    is one, lies at or next to one of these. What cannot be read does not conflict.
    """
    from packaging.specifiers import InvalidSpecifier
    from packaging.version import InvalidVersion, Version

    try:
        a, b = _set(one), _set(other)
        candidates: set[str] = {"0"}
        for _, text in (*one, *other):
            version = Version(text.removesuffix(".*"))
            candidates |= _around(version, str(version))
    except (InvalidSpecifier, InvalidVersion):
        return False
    return not any(a.contains(c, prereleases=True) and b.contains(c, prereleases=True) for c in candidates)


def _around(version: object, text: str) -> set[str]:
    """Return a version and its neighbours: the next ones at each place, and one just below."""
    release: tuple[int, ...] = version.release  # type: ignore[attr-defined]
    padded = [*release, 0, 0, 0][: max(3, len(release))]
    out = {text, text.partition("+")[0], ".".join(map(str, padded)) + ".post1"}
    for i in range(len(padded)):
        out.add(".".join(str(n) for n in (*padded[:i], padded[i] + 1)))
        if padded[i]:
            out.add(".".join(str(n) for n in (*padded[:i], padded[i] - 1, 9999)))
    out.add(".".join(str(n) for n in (*padded, 1)))
    return out


def python_text(text: str) -> str:
    """Return the specifier in a Python pin: `python3.10`, `3.10`, `>=3.9`, `cpython-3.11`; "" for a path."""
    found = re.fullmatch(r"(?:c?python[-@]?)?((?:[<>=~!^]=?=?\s*)?3.*)", text.strip())
    return found[1] if found is not None else ""
