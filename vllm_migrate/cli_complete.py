"""What a shell offers after Tab: releases, rule codes, names that `explain` knows."""

from __future__ import annotations

from collections.abc import Iterable

import click

SHELLS = ("bash", "zsh", "fish")


def script(shell: str, program: click.Command, name: str) -> str:
    """Return the text a shell reads to complete the words of a program. shell: one of SHELLS."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    variable = f"_{name.upper().replace('-', '_')}_COMPLETE"
    return kind(program, {}, name, variable).source() + "\n"


def releases(_context: click.Context, _option: click.Parameter, typed: str) -> list[str]:
    """Return the releases that begin with what was typed; the last of several with commas counts."""
    from vllm_migrate.catalog import load

    before, comma, last = typed.rpartition(",")
    return _beginning(last, reversed(load(()).releases), before + comma)


def selectors(_context: click.Context, _option: click.Parameter, typed: str) -> list[str]:
    """Return rule codes and ids of migrations."""
    from vllm_migrate.migrations import load
    from vllm_migrate.rules.registry import rules

    before, comma, last = typed.rpartition(",")
    codes = _beginning(last, sorted(rules()), before + comma)
    return codes or _beginning(last, sorted(m.id for m in load(()).all), before + comma)


def names(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """Return what `explain` can be asked for: codes, then names that migrations speak of."""
    from vllm_migrate.migrations import load

    if not typed:
        return selectors(context, option, "VM")
    known = sorted({entry.name for entry in load(()).all})
    return selectors(context, option, typed) + _beginning(typed, known, "")


def _beginning(typed: str, known: Iterable[str], before: str) -> list[str]:
    return [before + name for name in known if name.lower().startswith(typed.lower())]
