"""Here-documents of a script that are files or scripts of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vllm_migrate.hosts import Context, host_for, read_config, read_dockerfile, read_python, read_yaml
from vllm_migrate.hosts.shell_region import heredoc_region
from vllm_migrate.hosts.shell_script import LIMIT, Outer, Script
from vllm_migrate.hosts.shell_tree import Node, Redirect
from vllm_migrate.launch import basename, find_launch, launchers
from vllm_migrate.lazy import regex
from vllm_migrate.model import Reading
from vllm_migrate.text import Region

if TYPE_CHECKING:
    from vllm_migrate.hosts.shell_read import Reader

_UNNAMED = regex(r"[^./]*x")
_APPLIERS = frozenset(("kubectl", "oc", "helm", "docker-compose", "k3s", "minikube", "kustomize"))
_SPOKEN = {"YAML": "yaml", "YML": "yaml", "PY": "python", "PYTHON": "python", "DOCKERFILE": "dockerfile"}
"""What the word that ends a here-document says of it where the name of the file does not tell."""
_SCRIPT_RUNNERS = frozenset(("ssh", "sbatch", "srun", "su", "runuser", "qsub", "bsub", "at", "batch"))


def read_heredoc(
    reader: Reader, node: Node, texts: list[str], redirect: Redirect, goes_to: tuple[str, str]
) -> None:
    """Read a here-document as what it is written to or fed to; see `destination`."""
    heredoc = redirect.heredoc
    assert heredoc is not None
    script = reader.script
    body = script.text[heredoc.body.start : heredoc.body.end]
    kind, path = goes_to
    if path and not kind and "." not in path.rpartition("/")[2]:
        kind = _SPOKEN.get(heredoc.word.text.upper().strip("_"), "")
    # A file of options for `--config` need not name vLLM.
    if "vllm" not in body.lower() and "VISIBLE_DEVICES" not in body and not path.endswith((".yaml", ".yml", ".json")):
        return
    if not kind and not path:
        return
    region, lexeme = heredoc_region(script.region, heredoc)
    context = Context(
        path or script.context.path,
        script.context.variables,
        script.context.owner,
        script.context.image,
        script.context.sibling_reader,
    )
    if not kind and _UNNAMED.fullmatch(path) and _starts(region.text):
        # The name of the file is only known at run time; what stands in it are commands.
        kind = "shell"
    if kind == "shell" and script.depth <= LIMIT:
        outer = Outer(script, node, lexeme)
        inner = Script.of(region, script.context, outer, script.depth + 1)
        # A script written to a file runs at another time, in another environment.
        elsewhere = bool(path) or any(basename(t) in ("ssh", "kubectl", "oc") for t in texts)
        reader._read_inner(node, [], [], inner, elsewhere)
        return
    if not kind and path.endswith((".yaml", ".yml")) and _given_as_config(script.text, path):
        reading: Reading | None = read_config(region, context)
    else:
        reading = _read(kind, path, region, context)
    if reading is not None:
        reader._guest(reading, region.text)


def _starts(text: str) -> bool:
    """Tell whether a line of a text is a launch with options."""
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        words = line.split()
        found = find_launch(words) if words else None
        if found is None or not any(w.startswith("--") for w in words[found.first :]):
            continue
        if found.program == 0 or words[found.program - 1].endswith((";", "&", "|")):
            return True
    return False


def _given_as_config(text: str, path: str) -> bool:
    """Tell whether the script hands a file it writes to a launch as its configuration."""
    name = re.escape(path.rpartition("/")[2])
    return re.search(rf"--config[ \t=]+[\"']?(?:[^\s\"']{{0,400}}/)?{name}(?=[\s\"';&|)\\]|$)", text) is not None


def _read(kind: str, path: str, region: Region, context: Context) -> Reading | None:
    if kind == "python":
        return read_python(region, context)
    if kind == "yaml":
        return read_yaml(region, context)
    if kind == "dockerfile":
        return read_dockerfile(region, context)
    module = host_for(path, region.text.partition("\n")[0])
    return module.read(region, context) if module is not None else None


def destination(node: Node, texts: list[str]) -> tuple[str, str]:
    """Return what a here-document is: the host's name where it is known, and the file it is written to."""
    commands = [node]
    if node.parent is not None and node.parent.kind == "pipeline":
        siblings = node.parent.children
        commands += [n for n in siblings[siblings.index(node) + 1 :] if n.kind == "command"]
    for i, command in enumerate(commands):
        words = texts if i == 0 else [w.text for w in command.words]
        kind = _fed_to(words)
        if kind:
            return kind, ""
        for redirect in command.redirects:
            if redirect.op in (">", ">>", ">|", "&>") and redirect.target is not None:
                return _of_path(redirect.target.text)
        if "tee" in words:
            names = [w for w in words[words.index("tee") + 1 :] if not w.startswith("-")]
            if names:
                return _of_path(names[0])
    return "", ""


def _of_path(path: str) -> tuple[str, str]:
    shown = re.sub("[\ue000-\uf8ff]", "x", path)
    if shown.endswith((".sh", ".bash", ".sbatch", ".slurm")):
        return "shell", shown
    return "", shown


def _fed_to(words: list[str]) -> str:
    names = [basename(w) for w in words]
    data = launchers()
    for i, name in enumerate(names):
        if name in data["shells"] or name in _SCRIPT_RUNNERS:
            return "shell"
        if name in data["interpreters"]:
            rest = [w for w in words[i + 1 :] if not w.startswith("-") or w == "-"]
            return "python" if not rest or rest[0] == "-" else ""
        if name in _APPLIERS:
            return "yaml"
        if name in data["container_tools"]:
            if "build" in names[i:]:
                return "dockerfile"
            if "compose" in names[i:]:
                return "yaml"
    return ""
