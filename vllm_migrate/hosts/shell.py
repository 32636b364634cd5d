"""Shell scripts: POSIX shell and bash, and the commands found inside other formats."""

from __future__ import annotations

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.shell_words import read_words
from vllm_migrate.model import Reading
from vllm_migrate.text import Region

__all__ = ["NAME", "read", "read_words"]

NAME = "shell"


def read(region: Region, context: Context) -> Reading:
    """Read a script; problems of syntax are reported and what follows is still read."""
    from vllm_migrate.hosts.shell_read import read_script

    reading = read_script(region, context)
    # The grammar does not know all of bash and goes on after what it does not know.
    reading.tolerant = True
    return reading
