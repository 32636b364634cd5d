"""A command line given after `--`, to be checked as it would be run."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

_COMMAND = "vllm_migrate.command"


class FileCommand(click.Command):
    """A command that reads files, or one command line after `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take a command line after `--` aside; where every word there is a path, they stay paths."""
        if "--" in args:
            at = args.index("--")
            words = args[at + 1 :]
            if words and not all(os.path.lexists(word) for word in words):
                ctx.meta[_COMMAND] = words
                args = args[:at]
        return super().parse_args(ctx, args)


def given_command() -> list[str] | None:
    """Return the words of the command line given to the running command, or None."""
    words: list[str] | None = click.get_current_context().meta.get(_COMMAND)
    return words


def as_text(words: Sequence[str]) -> bytes:
    """Return words as the text a shell would be given."""
    import shlex

    return (shlex.join(words) + "\n").encode("utf-8", "surrogateescape")
