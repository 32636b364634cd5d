"""The file formats vLLM launches live in, one module a format.

A host module has `NAME` and `read(region, context)`; `claims` says which files it reads. This package finds the
module for a file and lets a host read a guest (shell inside YAML, YAML inside a shell heredoc …) without the
two importing each other.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Protocol, cast

from vllm_migrate.hosts.claims import host_name
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Reading, Word
from vllm_migrate.text import Region


@dataclass(frozen=True)
class Context:
    """What a host is told about the text it reads.

    path: the file's name relative to the root. variables: environment and shell variables known from
    around a guest. owner: key of the scope a guest lies in (a stage, a container). image: the image that
    runs it, "" where unknown. sibling_reader: reads a file given relative to this one, or returns None. sibling_names:
    names the files in a folder given relative to this one.
    """

    path: str
    variables: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    image: str = ""
    sibling_reader: Callable[[str], str | None] | None = None
    sibling_names: Callable[[str], list[str]] | None = None

    def inside(self, owner: str, image: str | None = None) -> Context:
        """Return the context of a guest with its own scope."""
        return replace(self, owner=owner, image=self.image if image is None else image)


class Host(Protocol):
    """What a host module offers."""

    NAME: str

    def read(self, region: Region, context: Context) -> Reading: ...


_loaded: dict[str, Host | None] = {}


def host(name: str) -> Host | None:
    """Return a host module by its short name, or None where this build has none."""
    if name not in _loaded:
        full = f"{__name__}.{name}"
        try:
            _loaded[name] = cast(Host, importlib.import_module(full))
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
            _loaded[name] = None
    return _loaded[name]


def host_for(path: str, head: str) -> Host | None:
    """Return the host that reads a file, or None.

    Args: path: name relative to the root, with forward slashes. head: the file's first line.
    """
    name = host_name(path, head)
    return host(name) if name else None


def read_guest(name: str, region: Region, context: Context) -> Reading:
    """Read a guest with the named host; an empty reading where there is no such host.

    What does not parse in a guest is no fault of the file: it may be a template, or text of another tool.
    """
    module = host(name)
    if module is None:
        return Reading()
    reading = module.read(region, context)
    reading.problems = [p for p in reading.problems if p.kind != "syntax"]
    return reading


def read_shell(region: Region, context: Context) -> Reading:
    """Read a guest as a shell script."""
    return read_guest("shell", region, context)


def read_python(region: Region, context: Context) -> Reading:
    """Read a guest as a Python module."""
    return read_guest("python", region, context)


def read_yaml(region: Region, context: Context) -> Reading:
    """Read a guest as YAML documents."""
    return read_guest("yaml", region, context)


def read_markdown(region: Region, context: Context) -> Reading:
    """Read a guest as a document with code blocks."""
    return read_guest("markdown", region, replace(context, path=context.path + ".md"))


def read_config(region: Region, context: Context) -> Reading:
    """Read a guest as a YAML file of options that a launch names with `--config`."""
    from vllm_migrate.hosts import yaml

    reading = yaml.read_config(region, context)
    reading.problems = [p for p in reading.problems if p.kind != "syntax"]
    return reading


def read_json(region: Region, context: Context) -> Reading:
    """Read a guest as JSON."""
    return read_guest("json", region, context)


def read_dockerfile(region: Region, context: Context) -> Reading:
    """Read a guest as a Dockerfile."""
    return read_guest("dockerfile", region, context)


def read_requirements(region: Region, context: Context) -> Reading:
    """Read a guest as a requirements file."""
    return read_guest("requirements", region, context)


def read_words(region: Region, host: str) -> list[Word]:
    """Read a plain string of shell words (a compose `command:`, several flags in one list item) as words.

    Args: region: the string. host: name the container reports as the format. No launch is looked for.
    """
    from vllm_migrate.hosts import shell_words

    return shell_words.read_words(region, host)
