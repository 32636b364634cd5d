"""Mines what a release needs and how it is built: Python, dependencies, CUDA, compilers, images."""

from __future__ import annotations

import json
import re
from typing import Any

from vllm_migrate.catalog.mine_options import config_file_values, parser_traits, takes_dotted_keys
from vllm_migrate.catalog.source import Tree
from vllm_migrate.lazy import dataclass

#: What a marker is judged for: the platform of the published image.
_ENVIRONMENT = {
    "python_version": "3.12",
    "python_full_version": "3.12.0",
    "implementation_name": "cpython",
    "platform_machine": "x86_64",
    "platform_system": "Linux",
    "platform_release": "",
    "platform_version": "",
    "platform_python_implementation": "CPython",
    "os_name": "posix",
    "sys_platform": "linux",
    "extra": "",
}


def mine_release(tree: Tree, version: str) -> tuple[dict[str, Any], list[str]]:
    """Return the object of releases.json, and notes on what the source does not tell (null there)."""
    notes: list[str] = []
    docker = _main_dockerfile(tree)
    arguments = _arguments(docker)
    facts: dict[str, Any] = {
        "version": version,
        "python": _python(tree),
        "requires": _requires(tree, "cuda"),
        "requires_rocm": _requires(tree, "rocm"),
        "cuda": arguments.get("CUDA_VERSION"),
        "rocm": _rocm(tree),
        "compiler": _compiler(tree),
        "cxx_standard": _cxx_standard(tree),
        "image": _image(docker, arguments),
        "dockerfiles": tree.names(r"(docker/)?Dockerfile[^/]*") or None,
        "build_args": sorted(set(_argument_names(docker))) or None,
        "dotted": takes_dotted_keys(tree),
        "config_file": config_file_values(tree),
        "parser": parser_traits(tree),
    }
    for name in ("python", "requires", "cuda", "compiler", "image"):
        if facts[name] is None:
            notes.append(f"{tree.path}: no source for `{name}` of {version}")
    return facts, notes


def _python(tree: Tree) -> str | None:
    for name in tree.names(r"PKG-INFO|[^/]+\.dist-info/METADATA"):
        found = re.search(r"^Requires-Python: (.+)$", tree.read(name), re.MULTILINE)
        if found:
            return found[1].replace(" ", "")
    found = re.search(r"""^requires-python\s*=\s*["'](.+)["']""", tree.read("pyproject.toml"), re.MULTILINE)
    if not found:
        found = re.search(r"""python_requires\s*=\s*["']([^"'\n]{1,200})["']""", tree.read("setup.py"))
    return found[1].replace(" ", "") if found else None


def _requires(tree: Tree, device: str) -> dict[str, str] | None:
    lines: list[str] = []
    for pattern in ("requirements/{}.txt", "requirements-{}.txt"):
        for part in ("common", device):
            lines += tree.read(pattern.format(part)).splitlines()
    if not lines and device == "cuda":
        for name in tree.names(r"[^/]+\.dist-info/METADATA|PKG-INFO"):
            lines += re.findall(r"^Requires-Dist: (.+)$", tree.read(name), re.MULTILINE)
    out = requirements(lines)
    if not out:
        return None
    if device == "cuda" and "triton" not in out:
        # torch pins it; the lock file of the tests shows to what.
        for name in ("requirements/test/cuda.txt", "requirements/test.txt", "requirements-test.txt"):
            found = re.search(r"^triton==(\S+)", tree.read(name), re.MULTILINE)
            if found:
                out["triton"] = "==" + found[1]
    return dict(sorted(out.items()))


def requirements(lines: list[str]) -> dict[str, str]:
    """Return name -> specifier of the requirements that hold on Linux x86_64 without extras."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    out: dict[str, str] = {}
    for line in lines:
        text = re.split(r"\s#", line.strip(), maxsplit=1)[0].rstrip()
        if not text or text.startswith(("#", "-")):
            continue
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        if wanted.marker is not None and not wanted.marker.evaluate(dict(_ENVIRONMENT)):
            continue
        written = re.sub(r"\s", "", re.split(r";", text)[0])
        found = re.match(r"[A-Za-z0-9._-]+(?:\[[^\]]*\])?\(?([^)@]*)\)?", written)
        out[canonicalize_name(wanted.name)] = found[1] if found and not wanted.url else ""
    return out


def _main_dockerfile(tree: Tree) -> str:
    return tree.read("docker/Dockerfile") or tree.read("Dockerfile")


def _argument_names(text: str) -> list[str]:
    names: list[str] = []
    for line in re.findall(r"^ARG\s+(.+)$", text, re.MULTILINE):
        quoted = re.sub(r"=(\"[^\"]*\"|'[^']*'|\S*)", "", line.split(" #")[0])
        names += [n for n in quoted.split() if re.fullmatch(r"[A-Za-z_]\w*", n)]
    return names


def _arguments(text: str) -> dict[str, str]:
    """Return the defaults of ARG lines, the first of each name, with `${NAME}` in them replaced."""
    out: dict[str, str] = {}
    for name, value in re.findall(r"^ARG\s+(\w+)=(\"[^\"]*\"|'[^']*'|\S*)", text, re.MULTILINE):
        out.setdefault(name, _substitute(value.strip("\"'"), out))
    return out


def _substitute(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda m: values.get(m[1] or m[2], m[0]), text)


def _rocm(tree: Tree) -> str | None:
    for name in ("docker/Dockerfile.rocm_base", "Dockerfile.rocm_base", "docker/Dockerfile.rocm", "Dockerfile.rocm"):
        text = tree.read(name)
        values = _arguments(text)
        for key in ("ROCM_SDK_VERSION", "ROCM_VERSION"):
            if re.match(r"\d", values.get(key, "")):
                return values[key]
        base = values.get("BASE_IMAGE", "")
        found = re.search(r"rocm(?:/[^:]{1,200}:)?(\d+\.\d+(?:\.\d+)?)", base)
        if found:
            return found[1]
    return None


def _compiler(tree: Tree) -> dict[str, str | None] | None:
    """Return the floors below which CMakeLists.txt refuses a GCC: of any build, of CUDA builds."""
    text = tree.read("CMakeLists.txt")
    if not text:
        return None
    floors: dict[str, str | None] = {"gcc": None, "gcc_cuda": None}
    tests = [m.end() for m in re.finditer(r"^[ \t]*if\s*\(", text, re.MULTILINE)]
    for found in re.finditer(r"\)\s*message\(\s*FATAL_ERROR", text):
        begin = max((end for end in tests if end <= found.start()), default=None)
        if begin is None or "\n" not in found[0]:
            continue
        condition = text[begin : found.start()]
        version = re.search(r'COMPILER_VERSION\s+VERSION_LESS\s+"?([\d.]+)', condition)
        if version and '"GNU"' in condition:
            floors["gcc_cuda" if "CUDA" in condition else "gcc"] = version[1]
    return floors


def _cxx_standard(tree: Tree) -> int | None:
    found = re.search(r"set\(CMAKE_CXX_STANDARD (\d+)\)", tree.read("CMakeLists.txt"))
    return int(found[1]) if found else None


def _image(text: str, arguments: dict[str, str]) -> dict[str, Any] | None:
    if not text:
        return None
    stages = _stages(text, arguments)
    published = next((s for s in stages if s.name == "vllm-openai"), stages[-1] if stages else None)
    base: str | None = None
    entrypoint: list[str] | None = None
    stage = published
    while stage is not None:
        entrypoint = entrypoint or stage.entrypoint
        base = stage.base
        stage = next((s for s in stages if s.name == base), None)
    ubuntu = re.search(r"ubuntu-?(\d\d\.\d\d)", base or "")
    return {"base": base, "ubuntu": ubuntu[1] if ubuntu else None, "entrypoint": entrypoint}


@dataclass
class _Stage:
    name: str
    base: str
    entrypoint: list[str] | None = None


def _stages(text: str, arguments: dict[str, str]) -> list[_Stage]:
    out: list[_Stage] = []
    for line in text.splitlines():
        start = re.match(r"FROM\s+(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?", line, re.IGNORECASE)
        if start:
            out.append(_Stage(start[2] or "", _substitute(start[1], arguments)))
        found = re.match(r"ENTRYPOINT\s+(\[.*\])\s*$", line)
        if found and out:
            out[-1].entrypoint = json.loads(found[1])
    return out
