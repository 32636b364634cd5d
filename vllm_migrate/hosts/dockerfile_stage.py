"""What a Dockerfile's reader keeps of a stage, and the names it knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from vllm_migrate.hosts.dockerfile_lines import Instruction
from vllm_migrate.hosts.dockerfile_values import Written
from vllm_migrate.hosts.listed import ListContainer
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Pin, Site, Variable
from vllm_migrate.text import Region

_WORDS = """
ADD ARG CMD COPY CROSS_BUILD ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL
STOPSIGNAL USER VOLUME WORKDIR
"""
KEYWORDS = frozenset(_WORDS.split())
STANDARDS = regex(r"(?:-DCMAKE_(?:C|CXX|CUDA)_STANDARD(?::\w+)?=|-std=(?:c|gnu)\+\+)(\d\w)")
"""A C++ standard among the words of a value."""
COMPILERS = frozenset({"CC", "CXX", "CUDAHOSTCXX", "NVCC_CCBIN", "CMAKE_CXX_COMPILER", "CMAKE_CXX_STANDARD"})
_INDEX_NAMES = """
PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL UV_DEFAULT_INDEX UV_TORCH_BACKEND
"""
INDEXES = frozenset(_INDEX_NAMES.split())
_TOOLS = """
apt-get apt apk dnf yum microdnf zypper pip pip3 uv mkdir echo printf chmod chown useradd groupadd adduser
addgroup usermod ln rm cp mv cd set export tar unzip curl wget git sed true test [ touch install
update-alternatives locale-gen ldconfig cat tee sudo
"""
_QUIET = frozenset(_TOOLS.split())


@dataclass
class Stage:
    """One build stage; `None` as instruction is what stands before the first FROM."""

    index: int
    owner: str
    begin: Instruction | None = None
    name: str = ""
    parent: Stage | None = None
    image: str = ""
    scope: dict[str, Written] = field(default_factory=dict)
    env: dict[str, Written] = field(default_factory=dict)
    variables: list[tuple[int, Variable]] = field(default_factory=list)
    env_home: ListContainer | None = None
    pins: list[Pin] = field(default_factory=list)
    runs: list[Instruction] = field(default_factory=list)
    command: Instruction | None = None
    entry: Instruction | None = None
    sites: list[Site] = field(default_factory=list)

    def launches(self) -> list[Site]:
        """Return what an image of this stage starts, inherited launches included."""
        inherited: list[list[Site]] = []
        for stage in self.line():
            inherited.append(stage.sites)
            if stage.command is not None or stage.entry is not None:
                break
        return [site for sites in reversed(inherited) for site in sites]

    def line(self) -> Iterator[Stage]:
        """Yield the stage and those it is built from."""
        stage: Stage | None = self
        while stage is not None:
            yield stage
            stage = stage.parent


def may_use_environment(region: Region, run: Instruction) -> bool:
    """Tell whether a build step runs anything but plain tools, which do not look at the environment."""
    if run.heredocs:
        return True
    text = run.logical(region).text
    for command in re.split(r"&&|\|\|?|;|\n", re.sub(r"--mount=\S+", "", text)):
        words = [w for w in command.split() if w not in ("sudo", "(", "{") and not re.match(r"\w+=", w)]
        if words and words[0].rsplit("/", 1)[-1] not in _QUIET:
            return True
    return False


def plain_heredoc(command: list[str]) -> bool:
    """Tell whether a RUN line with its here-document left out only names who reads the document."""
    words = [w for w in command if not w.startswith("--")]
    if not words:
        return True
    return len(words) == 1 and re.fullmatch(r"(?:/\S*/)?(?:(?:ba|da|z)?sh|python[\d.]*)", words[0]) is not None
