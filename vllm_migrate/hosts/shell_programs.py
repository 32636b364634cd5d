"""Programs whose words fix a version or talk to a server, and the variables that choose a compiler."""

from __future__ import annotations

SYSTEM_INSTALLERS = frozenset(
    ("apt-get", "apt", "yum", "dnf", "microdnf", "apk", "zypper", "tdnf", "brew", "aptitude")
)
CONDA = frozenset(("conda", "mamba", "micromamba"))
PROJECT_TOOLS = frozenset(("uv", "pixi", "poetry", "pdm", "rye"))
"""What installs into a project or an environment: `uv add`, `poetry add`, `uv pip install`."""
RUNNERS = frozenset(("uv", "uvx"))
"""What installs for one run: `--with`, `--from`."""
ALTERNATIVES = frozenset(("update-alternatives", "alternatives"))
DOWNLOADERS = frozenset(("wget", "curl", "aria2c"))
CLIENTS = frozenset(("curl", "wget", "http", "https", "xh", "hey", "ab", "wrk"))
"""What sends requests to a server."""
COMPILER_VARIABLES = frozenset(("CC", "CXX", "CUDAHOSTCXX", "NVCC_CCBIN", "CMAKE_CXX_STANDARD", "CMAKE_CXX_COMPILER"))

TELLING = frozenset().union(
    SYSTEM_INSTALLERS, CONDA, PROJECT_TOOLS, RUNNERS, ALTERNATIVES, DOWNLOADERS, CLIENTS, COMPILER_VARIABLES,
    ("pip", "pip3", "git", "scl", "image", "docker", "sif"),
)  # fmt: skip
"""Words one of which stands in each command that pins something, or talks to a server."""
