"""Finds launches in string literals: shell commands, scripts, and manifests written in Python text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from vllm_migrate.hosts import Context, read_dockerfile, read_guest, read_shell, read_yaml
from vllm_migrate.hosts.filled import finish
from vllm_migrate.hosts.python_flow import Build, Flow
from vllm_migrate.hosts.python_joined import Joined
from vllm_migrate.hosts.python_region import Given, StringRegion, format_template, has_text, is_text, string_region
from vllm_migrate.hosts.python_source import Module
from vllm_migrate.hosts.python_spoken import role, said
from vllm_migrate.hosts.yaml_names import looks_like_yaml
from vllm_migrate.launch import launchers
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Item, Reading, Site
from vllm_migrate.wrappers import wrappers

_YAML = regex(r"^[ \t]*(?:apiVersion|kind|services|spec):", re.MULTILINE)
_DOCKER = regex(r"^FROM[ \t]+\S+", re.MULTILINE)
_COMMAND = regex(
    r"\s*(?:#!|[A-Z_][A-Z0-9_]*=\S*\s|(?:pip|pip3|uv|python3?|apt|apt-get|conda|git|docker|podman|export|set|cd|sudo|"
    r"bash|sh|env|exec|nohup|source|mkdir|vllm|wget|curl|srun|tmux)\b)"
)
_GIVEN = regex(r"[A-Za-z_]\w*=[^\r\n]*")
_WORD = regex(r"[a-z]{2,}", re.ASCII)


@dataclass
class Told:
    """A string that was read as a guest: what it gave, and the nodes it came from."""

    reading: Reading
    region: StringRegion
    node: ast.expr
    build: Build | None
    sites: list[Site] = field(default_factory=list)


def read_strings(module: Module, flow: Flow, context: Context, skip: set[ast.AST]) -> Iterator[Told]:
    """Yield what the strings of a module say to a shell. skip: nodes that were read as words."""
    seen: set[object] = set()
    for node in module.nodes:
        if not is_text(node) or module.docstring(node) or isinstance(module.parents.get(node), ast.JoinedStr):
            continue
        assert isinstance(node, ast.expr)
        top = _top(module, node)
        if top in seen or top in skip or said(module, top):
            continue
        seen.add(top)
        build = _build(module, flow, top)
        if build is not None and build in seen:
            continue
        parts = [Given(_template(top))]
        if build is not None and _is_template(module, build):
            module.templates.add(top)
        if build is not None:
            seen.add(build)
            if build.origin is not top:
                continue
            parts += _grown(build)
        text = "".join(module.raw(p.expression) for p in parts)
        if not _worth(text):
            continue
        region = string_region(module, parts)
        if region is None or not re.search(r"\s", region.text):
            continue
        told = _read(module, region, context, top, build)
        if told is not None:
            for site in told.sites if build is not None and _goes_on(module, build) else ():
                site.open = True
            yield told


def _goes_on(module: Module, build: Build) -> bool:
    """Tell whether a text goes on in a new value of the same variable (`cmd = f"{cmd} --x"`)."""
    for use in build.uses:
        statement = module.statement(use)
        if isinstance(statement, ast.Assign) and any(module.raw(t) == build.name for t in statement.targets):
            return True
    return False


def _is_template(module: Module, build: Build) -> bool:
    """Tell whether every use of a variable that holds one text fills it in (`NAME.format(…)`)."""
    if not isinstance(build.origin, ast.Constant) or build.events or not build.uses:
        return False
    for use in build.uses:
        attribute = module.parents.get(use)
        call = module.parents.get(attribute) if isinstance(attribute, ast.Attribute) else None
        if not (isinstance(attribute, ast.Attribute) and attribute.attr == "format" and isinstance(call, ast.Call)):
            return False
    return True


def _template(node: ast.expr) -> ast.expr:
    """Return the text of `"…" % values`; other expressions stay."""
    return node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) else node


def read_joined(module: Module, joined: Sequence[Joined], context: Context) -> Iterator[Told]:
    """Yield what lists of pieces of command text say once they are joined."""
    for one in joined:
        if not _worth("".join(module.raw(g.expression) for g in one.given)) or said(module, one.node):
            continue
        region = string_region(module, one.given, one.joint)
        if region is not None:
            told = _read(module, region, context, one.node, one.build)
            if told is not None:
                yield told


def _worth(text: str) -> bool:
    return any(word in text for word in (*launchers()["triggers"], "pip install", "docker"))


def _top(module: Module, node: ast.expr) -> ast.expr:
    while True:
        parent = module.parents.get(node)
        if (isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Mod)) and parent.left is node) or (
            isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)
        ):
            node = parent
        elif isinstance(parent, ast.Attribute) and parent.attr == "format":
            call = module.parents.get(parent)
            if not isinstance(call, ast.Call) or format_template(call) is None:
                return node
            node = call
        else:
            return node


def _build(module: Module, flow: Flow, top: ast.expr) -> Build | None:
    parent = module.parents.get(top)
    if isinstance(parent, ast.AugAssign) and parent.value is top:
        builds = [b for b in flow.builds(parent.target) if any(e.statement is parent for e in b.events)]
        return builds[0] if builds and builds[0].origin is not None and has_text(builds[0].origin) else None
    if isinstance(parent, (ast.Assign, ast.AnnAssign)) and parent.value is top:
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        for target in targets:
            for build in flow.builds(target):
                if build.origin is top:
                    return build
    return None


def _grown(build: Build) -> list[Given]:
    return [Given(e.statement.value, e.statement) for e in build.events if isinstance(e.statement, ast.AugAssign)]


def _read(module: Module, region: StringRegion, context: Context, node: ast.expr, build: Build | None) -> Told | None:
    import textwrap

    text = region.text
    if module.is_test and "\n" in text and (_YAML.search(text) or _DOCKER.search(text) or _properties(text)):
        return None  # a file that a test makes up
    if "\n" in text and (_YAML.search(text) or looks_like_yaml(textwrap.dedent(text))):
        reading = read_yaml(region, context)
        finish(reading)
    elif (kind := _properties(text)) is not None:
        reading = read_guest("envfile", region, replace(context, path=kind))
        finish(reading)
    elif "\n" in text and _DOCKER.search(text):
        reading = read_dockerfile(region, context)
        finish(reading)
    else:
        if _GIVEN.fullmatch(text) and isinstance(module.parents.get(node), (ast.List, ast.Tuple)):
            # `-e NAME=value`: a word of its own, blanks and all.
            return None
        use = role(module, node, script=text.startswith("#!"))
        if use == "said":
            return None
        reading = read_shell(region, context)
        runs = use == "run"
        reading.sites = [s for s in reading.sites if runs or not _prose(region, s)]
        if not reading.sites and not runs and not _COMMAND.match(text):
            return None
    if text.rstrip().endswith("\\"):
        # The text goes on in a way not seen here; the backslash is no word.
        for site in reading.sites:
            if site.words and not site.words[-1].text:
                site.words.pop()
                site.open = True
    reading.problems.clear()
    reading.mentions.clear()
    if not (reading.sites or reading.pins or reading.variables):
        return None
    for item in _items(reading):
        _note_holes(module, region, item, node)
    return Told(reading, region, node, build, reading.sites)


def _properties(text: str) -> str | None:
    """Return the name of the file that a text of `prefix.name=value` lines is written to, None for other text."""
    for wrapper in wrappers():
        prefix = wrapper.prefix or ""
        if prefix.endswith(".") and re.search(rf"(?m)^{re.escape(prefix)}\w+=", text):
            return "serving.properties"
    return None


def _items(reading: Reading) -> list[Item]:
    items: list[Item] = [*reading.pins, *reading.variables]
    for site in reading.sites:
        items += [*site.words, *site.entries, *site.variables, *site.pins]
    return list(dict.fromkeys(items))


def _prose(region: StringRegion, site: Site) -> bool:
    """Tell whether a launch is only spoken of: plain words where a model or an option would stand."""
    start = region.text.rfind("\n", 0, _start(region, site)) + 1
    before = region.text[start : _start(region, site)]
    if re.search(r"[A-Z][a-z]+ |[`:.,!?] *$|^\s*[-*#>] ", before) and "=" not in before:
        return True
    if re.search(r"\b(?:the|with|run|use|using|start|starting|via|like|by|a|in|to|for)\s+$", before):
        return True
    for word in site.words:
        if word.text.startswith("-"):
            return False
        return bool(_WORD.fullmatch(word.text)) or word.text[-1:] in ".,:;)" or word.text in ("`", "...")
    return False


def _start(region: StringRegion, site: Site) -> int:
    return site.span.start if site.region is region else 0


def _note_holes(module: Module, region: StringRegion, item: Item, node: ast.expr) -> None:
    """Lock what a format call counts by position, and note the version test around the string."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        item.locked = item.locked or "the text is filled in with `%`"
    elif node in module.templates or format_template(node) is not None:
        counted = any(re.match(r"\{[:!}]", h) for h in getattr(item, "holes", ()))
        item.locked = item.locked or ("the text is filled in by position" if counted else "")
    item.guarded = item.guarded or module.guard(node)
