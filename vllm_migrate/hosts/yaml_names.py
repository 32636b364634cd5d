"""Names of keys that YAML formats give to what may start or configure a program."""

from __future__ import annotations

import re

from vllm_migrate.launch import launchers
from vllm_migrate.lazy import regex

IMAGE_KEYS = regex(r"(?:.*[a-z_-])?image|Image|image_id|.*Image", re.A)
ENVIRONMENTS = (
    "env",
    "environment",
    "containerEnv",
    "remoteEnv",
    "envs",
    "env_vars",
    "environmentVariables",
    "Environment",
    "environment_variables",
    "envVars",
    "extraEnv",
    "extraEnvs",
    "extraEnvVars",
    "additionalEnv",
)
SCRIPT_KEYS = frozenset((
    "run", "script", "setup", "cmd", "command", "commands", "before_script", "after_script",
    "start_command", "startCommand", "start", "launch", "entrypoint", "exec", "runcmd", "bootcmd",
    "user_data", "userData", "preStart", "postStart", "modelCommand", "shell", "bash", "inlineScript",
    "startup_script", "pre_start", "install", "build_commands", "serve_command", "vllm_command",
    "server_command", "job", "steps",
))  # fmt: skip
_PROSE = regex(
    r"(?i)desc|note|summary|help|doc|title|message|comment|readme|changelog|prompt|about|reason|hint|usage|guide"
    r"|example_text|tip|^name$|display|annotation|label|icon"
)
EMBEDDED_YAML = frozenset((
    "serveConfigV2", "values", "valuesContent", "inlineValues", "valuesInline", "config", "patch",
    "manifest", "template",
))  # fmt: skip
_SETTINGS = regex(
    r"(?:vllm|engine|model|serve|server|extra|additional)*(?:extra)?"
    r"(?:config|args|arguments|kwargs|params|parameters|options|flags|settings|overrides)"
)
_PLAIN_SETTINGS = frozenset((
    "config", "args", "arguments", "parameters", "params", "options", "settings", "flags", "overrides",
    "modelconfig", "serverconfig", "modelparameters", "modelparams", "extraconfig", "serveconfig",
    "modelsettings", "modeloptions", "serversettings", "serveroptions", "additionalconfig",
))  # fmt: skip
STRUCTURE = frozenset((
    "image", "repository", "tag", "registry", "pullpolicy", "imagepullpolicy", "imagepullsecrets",
    "replicas", "replicacount", "resources", "service", "ingress", "env", "envfrom", "extraenv",
    "nodeselector", "tolerations", "affinity", "enabled", "volumes", "volumemounts", "securitycontext",
    "podannotations", "podlabels", "labels", "annotations", "serviceaccount", "autoscaling",
    "persistence", "storage", "livenessprobe", "readinessprobe", "startupprobe", "probes", "strategy",
    "containerport", "initcontainers", "sidecars", "extraargs", "args", "command", "nameoverride",
    "fullnameoverride", "baseurl", "apibase", "base_url", "api_base", "url", "depends_on", "version",
    "name", "namespace", "ports", "healthcheck", "build", "networks", "profiles", "restart", "deploy",
))  # fmt: skip
_ARGUMENTS = regex(r"(?i)arg|flag|opt|param|command|cmd|serve|vllm|engine")
_FOR_ANOTHER = regex(
    r"(?:vllm)?(?:extra|additional)?(?:run|docker|dockerrun|podman|container|device|build|pip|helm|nccl|srun|sbatch|slurm|mpi)"
    r"(?:extra|additional)?(?:args|arguments|options|opts|flags|parameters|params)"
)
ENGINES = (
    "engine", "backend", "runtime", "backendName", "backend_name", "inferenceEngine", "inference_engine", "framework",
    "modelFormat",
)  # fmt: skip
_PACKAGES = frozenset(("requirements", "packages", "dependencies", "systempackages", "pip", "pippackages"))
NOT_PROGRAMS = ("hooks", "repos", "with")


def normal(key: str) -> str:
    """Return a key in lower case without separators."""
    return re.sub(r"[-_. ]", "", key).lower()


def is_script(key: str) -> bool:
    """Tell whether a key is called like one that holds a command line or a script."""
    return (
        key in SCRIPT_KEYS
        or re.search(r"(?:Command|Cmd|Script|_command|_cmd|_script|-command|-script)$", key) is not None
    )


def is_prose(key: str) -> bool:
    return _PROSE.search(key) is not None


def holds_arguments(key: str) -> bool:
    """Tell whether a key is called like a list of command-line arguments."""
    return _ARGUMENTS.search(key) is not None


def for_another(key: str) -> bool:
    """Tell whether a key is called like the options of what runs or builds a container (`runArgs`)."""
    return _FOR_ANOTHER.fullmatch(normal(key)) is not None


_YAML_HEAD = regex(r"---\s*$|(?:- )?[\w./-]+:(?:\s|$)")
_YAML_LINE = regex(r"\s*(?:- )?[\w./-]+:(?:\s|$)|\s*- ")


def looks_like_yaml(text: str) -> bool:
    """Tell whether most lines of a text are keys or items of YAML, the first one among them."""
    lines = [t for t in text.split("\n") if t.strip() and not t.lstrip().startswith("#")]
    if not lines or lines[0].startswith("#!"):
        return False
    keyed = sum(1 for t in lines if _YAML_LINE.match(t))
    return _YAML_HEAD.match(lines[0]) is not None and keyed * 2 > len(lines)


def holds_packages(key: str) -> bool:
    """Tell whether a key is called like a list of packages to install, among which options of pip may stand."""
    return normal(key) in _PACKAGES


def settings_kind(key: str) -> str:
    """Return "strong" for a key that is called like a mapping of engine settings, "weak" for one that
    may be any program's, else "".
    """
    name = normal(key)
    if name.endswith("xargs"):
        # A field of requests.
        return ""
    if name in ("vllm", "enginekwargs", "vllmengine"):
        return "strong"
    if name in _PLAIN_SETTINGS:
        return "weak"
    if _SETTINGS.fullmatch(name) or re.fullmatch(r"(?=.*vllm).*(?:config|args|kwargs|params|options|flags)", name):
        return "strong" if "vllm" in name or "engine" in name or "extraargs" in name else "weak"
    return ""


_BESIDE = frozenset((
    "router", "routerspec", "epp", "redis", "nginx", "envoy", "prometheus", "grafana", "postgres", "webui", "frontend",
))  # fmt: skip


def other_program(key: str) -> bool:
    """Tell whether a key or name speaks of a program that only stands beside vLLM."""
    name = key.lower()
    parts = [p for p in re.split(r"[^a-z0-9]+|(?<=[a-z])(?=[A-Z])", re.sub(r"(?<=[a-z])(?=[A-Z])", "-", key)) if p]
    words = {p.lower() for p in parts} | {w for p in parts for w in re.split(r"[^a-z]", p.lower()) if w}
    return any(part in words or ("-" in part and part in name) for part in launchers()["not_server_images"]) or bool(
        words & _BESIDE
    )


def our_program(key: str) -> bool:
    """Tell whether a key or name speaks of vLLM itself."""
    return "vllm" in key.lower()
