"""Shell scripts: POSIX shell and bash, and the commands found inside other formats."""

from __future__ import annotations

from vllm_migrate.hosts import Context
from vllm_migrate.hosts.shell_words import read_words
from vllm_migrate.lazy import regex
from vllm_migrate.model import Reading
from vllm_migrate.text import Region

__all__ = ["NAME", "claims", "read", "read_words"]

NAME = "shell"
_SUFFIXES = (".sh", ".bash", ".zsh", ".ksh", ".sbatch", ".slurm", ".command")
_NAMES = frozenset((".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".envrc"))
_SHEBANG = regex(r"#!\s*\S*?(?:/|env\s+(?:-S\s+)?)(?:ba|z|da|a|k)?sh\b")


def claims(path: str, head: str) -> bool:
    """Tell whether a file is a shell script, by its name or its first line."""
    name = path.rsplit("/", 1)[-1]
    return name.endswith(_SUFFIXES) or name in _NAMES or _SHEBANG.match(head) is not None


def read(region: Region, context: Context) -> Reading:
    """Read a script; problems of syntax are reported and what follows is still read."""
    from vllm_migrate.hosts.shell_read import read_script

    reading = read_script(region, context)
    # The grammar does not know all of bash and goes on after what it does not know.
    reading.tolerant = True
    return reading
