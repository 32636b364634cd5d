"""Which named templates of a chart one container includes together: its arguments and its environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vllm_migrate.hosts import Context
from vllm_migrate.hosts import yaml_names as names
from vllm_migrate.hosts.helm_filled import filled
from vllm_migrate.launch import is_server_image
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Reading, Site, Variable

_INCLUDED = regex(r"\{\{-?[^{}]*\b(?:include|template)\s+\"([^\"]+)\"")
_MOST = 60


@dataclass(frozen=True)
class Together:
    """The named templates that one container's arguments and its environment include.

    server: its image starts vLLM's server with nothing but these arguments.
    """

    arguments: frozenset[str]
    environment: frozenset[str]
    server: bool


def containers(context: Context) -> Iterator[Together]:
    """Yield what the containers of the templates beside a file include."""
    from vllm_migrate.hosts.yaml_mask import mask
    from vllm_migrate.hosts.yaml_tree import parse, walk

    reader, listed = context.sibling_reader, context.sibling_names
    if reader is None or listed is None:
        return
    for name in listed(".")[:_MOST]:
        text = (reader(name) or "") if name.endswith((".yaml", ".yml", ".tpl")) else ""
        if _INCLUDED.search(text) is None:
            continue
        for root in parse(mask(text).parsed).roots:
            for node in walk(root):
                if node.kind != "mapping" or node.find("args", "command") is None:
                    continue
                held: dict[str, set[str]] = {"arguments": set(), "environment": set()}
                for pair, following in zip(node.pairs, [*node.pairs[1:], None], strict=True):
                    end = following.start if following is not None else _end(text, pair.start)
                    kind = "environment" if pair.name in names.ENVIRONMENTS else ""
                    kind = "arguments" if pair.name in ("args", "command") else kind
                    if kind:
                        held[kind] |= set(_INCLUDED.findall(text, pair.start, end))
                image = node.get("image")
                shown = filled(text[image.start : image.end], context).strip("\"' ") if image is not None else ""
                server = "{{" not in shown and is_server_image(shown) and node.find("command") is None
                yield Together(frozenset(held["arguments"]), frozenset(held["environment"]), server)


def _end(text: str, start: int) -> int:
    """Return where the lines end that stand deeper than a key."""
    line = text.rfind("\n", 0, start) + 1
    column = start - line
    at = text.find("\n", start) + 1
    while 0 < at < len(text):
        shown = text[at : text.find("\n", at) if "\n" in text[at:] else len(text)]
        if shown.strip() and len(shown) - len(shown.lstrip(" ")) < column:
            return at
        at += len(shown) + 1
    return len(text)


def tie(
    out: Reading, context: Context, sites: Mapping[str, Sequence[Site]], variables: Mapping[str, Sequence[Variable]]
) -> None:
    """Tell the launches of named templates by the containers that include them, and give them the variables that
    the same containers include and no others do.

    sites, variables: of the file's named templates, by name.
    """
    if not any(sites.values()):
        return
    found = list(containers(context))
    for name, launches in sites.items():
        users = [c for c in found if name in c.arguments]
        for site in launches if users and all(c.server for c in users) else ():
            if site.entry_point == "values" and site.words:
                site.entry_point, site.by_image = "serve", True
    for name, held in variables.items():
        users = [c for c in found if name in c.environment]
        given = {n for c in users for n in c.arguments if sites.get(n)}
        alike = all(name in c.environment for c in found if c.arguments & given)
        if not given or not alike or any(not c.arguments & given for c in users):
            continue
        for variable in held:
            variable.scope, variable.only = "process", True
        for one in given:
            for site in sites[one]:
                site.variables += [v for v in held if not any(v is w for w in site.variables)]
        mine = {id(v) for v in held}
        out.variables = [v for v in out.variables if id(v) not in mine]
