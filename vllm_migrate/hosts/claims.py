"""Which host reads a file, told by its name and first line before any host is loaded: a run needs few of them."""

from __future__ import annotations

from collections.abc import Callable

from vllm_migrate.lazy import regex

SHELL = (".sh", ".bash", ".zsh", ".ksh", ".sbatch", ".slurm", ".command")
MARKDOWN = (".md", ".mdx", ".markdown", ".mdown", ".rst", ".qmd", ".rmd", ".mdc")
HCL = (".tf", ".hcl", ".tfvars", ".nomad", ".tofu", ".tftpl", ".tpl")
YAML = (
    ".yaml",
    ".yml",
    ".yaml.j2",
    ".yml.j2",
    ".yaml.jinja",
    ".yaml.jinja2",
    ".yml.jinja2",
    ".yaml.tmpl",
    ".yml.tmpl",
    ".yaml.tpl",
    ".yml.tpl",
    ".yaml.gotmpl",
    ".yaml.template",
    ".yml.template",
    ".yaml.example",
    ".yml.example",
    ".yaml.sample",
    ".yml.sample",
    ".yaml.in",
    ".sky",
)
UNITS = (".service", ".container", ".socket", ".timer", ".kube", ".pod")
TOML_LOCKS = {"uv.lock": "uv lock", "poetry.lock": "poetry lock", "pdm.lock": "pdm lock"}
"""Lock files in TOML, and what writes each anew."""

_NOT_DOCKERFILES = (".dockerignore", ".md", ".rst", ".sh", ".py", ".yaml", ".yml", ".j2", ".json", ".txt", ".lock")
_SHELL_NAMES = frozenset((".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".envrc"))
_SHELL_LINE = regex(r"#!\s*\S*?(?:/|env\s+(?:-S\s+)?)(?:ba|z|da|a|k)?sh\b")
_PYTHON_LINE = regex(r"#!.*\bpython[0-9.]*\b|#!.*\buv run\b.*")
_REQUIREMENTS = regex(
    r"(?:.{0,255}[-_.])?(?:requirements|constraints|overrides)(?:[-_.][\w.-]{0,255})?\.(?:txt|in)|(?:requirements|constraints)"
)
_REQUIREMENT_FOLDERS = ("requirements", "constraints", "deps", "reqs")
_OTHER_TEMPLATE = regex(r"\.(?!ya?ml\.)[a-z][a-z0-9]*\.tpl$")
"""`serve.py.tpl` is a template of something else than a chart's."""
_MACROS = (".j2", ".jinja", ".jinja2")
_FILLED_IN = (*_MACROS, ".tmpl", ".tpl", ".gotmpl", ".template")
_FILLED_IN_HOSTS = frozenset(("shell", "dockerfile", "ini", "envfile", "makefile", "toml"))


def _dockerfile(path: str, name: str, head: str) -> bool:
    low = name.lower()
    if low.endswith(_NOT_DOCKERFILES):
        return False
    return (
        low in ("dockerfile", "containerfile")
        or low.startswith(("dockerfile.", "dockerfile-", "dockerfile_", "containerfile."))
        or low.endswith((".dockerfile", ".containerfile", "-dockerfile", "_dockerfile"))
        or head.startswith("# syntax=docker/dockerfile")
    )


def _requirements(path: str, name: str, head: str) -> bool:
    low = name.lower()
    if not low.endswith((".txt", ".in", "requirements", "constraints")):
        return False
    if _REQUIREMENTS.fullmatch(low):
        return True
    folder = path[: -len(name)].rstrip("/").rpartition("/")[2].lower()
    return name.endswith((".txt", ".in")) and folder in _REQUIREMENT_FOLDERS


def _helm(path: str, name: str, head: str) -> bool:
    inside = "/templates/" in f"/{path}" and name.lower().endswith(".tpl") and not head.startswith("#!")
    return inside and _OTHER_TEMPLATE.search(name.lower()) is None


def _json(path: str, name: str, head: str) -> bool:
    low = name.lower()
    return low.endswith((".json", ".jsonc", ".json5")) and low not in ("package-lock.json", "composer.lock")


def _terraform(path: str, name: str, head: str) -> bool:
    low = path.lower()
    return low.endswith(HCL) and not low.endswith(".terraform.lock.hcl")


def _groovy(path: str, name: str, head: str) -> bool:
    low = name.lower()
    return low.startswith("jenkinsfile") or low.endswith((".jenkinsfile", ".groovy"))


def _ini(path: str, name: str, head: str) -> bool:
    return (
        name.endswith(UNITS)
        or name == "setup.cfg"
        or (name.endswith(".conf") and (path[: -len(name) - 1].endswith(".service.d") or "supervisor" in path.lower()))
        or (name.endswith((".conf", ".ini")) and head.startswith(("[program:", "[supervisord")))
    )


def _envfile(path: str, name: str, head: str) -> bool:
    low = name.lower()
    return (
        low in (".env", "env", ".envrc", "env.example", "env.sample", "env.template")
        or low.startswith(".env.")
        or low == "serving.properties"
        or low.endswith((".env", ".env.example", ".env.sample", ".env.template"))
        or "/sysconfig/" in f"/{path}"
        or path.startswith("etc/default/")
    )


def _makefile(path: str, name: str, head: str) -> bool:
    low = name.lower()
    if low in ("gnumakefile", "justfile", ".justfile") or low.endswith((".mk", ".just")):
        return True
    return low == "makefile" or low.startswith("makefile.")


def _template(path: str, name: str, head: str) -> bool:
    bare = without_filling(name)
    macros = name.lower().endswith(_MACROS) and "." not in bare.lstrip(".")
    return bare != name and (macros or filled_host(path, head) != "")


def _python(path: str, name: str, head: str) -> bool:
    return name.endswith((".py", ".pyi", ".pyw")) or ("." not in name and _begins(_PYTHON_LINE.match, head))


def _shell(path: str, name: str, head: str) -> bool:
    return name.endswith(SHELL) or name in _SHELL_NAMES or _begins(_SHELL_LINE.match, head)


def _begins(match: Callable[[str], object], head: str) -> bool:
    return head.startswith("#!") and match(head) is not None


CLAIMS: dict[str, Callable[[str, str, str], bool]] = {
    "notebook": lambda path, name, head: name.endswith(".ipynb"),
    "dockerfile": _dockerfile,
    "requirements": _requirements,
    "toml": lambda path, name, head: name.endswith(".toml") or name == "Pipfile" or name in TOML_LOCKS,
    "helm": _helm,
    "yaml": lambda path, name, head: name.lower().endswith(YAML),
    "json": _json,
    "terraform": _terraform,
    "groovy": _groovy,
    "ini": _ini,
    "envfile": _envfile,
    "makefile": _makefile,
    "lockfile": lambda path, name, head: name == "Pipfile.lock",
    "template": _template,
    "markdown": lambda path, name, head: name.lower().endswith(MARKDOWN),
    "python": _python,
    "shell": _shell,
}
"""Host module → whether it reads a file of this path, its last part and this first line. The first to say so does."""


def host_name(path: str, head: str) -> str:
    """Return the name of the host module that reads a file, "" where none does.

    Args: path: name relative to the root, with forward slashes. head: the file's first line.
    """
    name = path.rpartition("/")[2]
    return next((host for host, claims in CLAIMS.items() if claims(path, name, head)), "")


def without_filling(path: str) -> str:
    """Return the name of what a template engine makes of a file: `run.sh` of `run.sh.j2`, itself of any other."""
    low = path.lower()
    return next((path[: -len(end)] for end in _FILLED_IN if low.endswith(end)), path)


def filled_host(path: str, head: str) -> str:
    """Return the host that reads what a template (of a script, a unit, a build file) gives, "" for none."""
    name = host_name(without_filling(path), head)
    return name if name in _FILLED_IN_HOSTS else ""
