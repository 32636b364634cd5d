"""Named templates of a chart (`_helpers.tpl`): each is read by itself, as what it prints."""

from __future__ import annotations

from collections.abc import Iterator

from vllm_migrate.hosts import Context
from vllm_migrate.lazy import regex
from vllm_migrate.model import Reading, Site, Variable
from vllm_migrate.text import Region

NAME = "helm"

_DEFINE = regex(r"\{\{-?\s*define\s+\"([^\"]*)\"")
_MOST = 400


def read(region: Region, context: Context) -> Reading:
    """Return what the named templates of a file hold; text without any is read as YAML.

    A template that is no YAML (a name, a label, a piece of a line) holds nothing and is no problem.
    """
    from vllm_migrate.hosts import yaml
    from vllm_migrate.hosts.helm_built import read_built
    from vllm_migrate.hosts.helm_included import tie
    from vllm_migrate.hosts.yaml_edit import Document
    from vllm_migrate.hosts.yaml_items import Items
    from vllm_migrate.hosts.yaml_mask import mask
    from vllm_migrate.hosts.yaml_reader import Reader
    from vllm_migrate.hosts.yaml_tree import parse_part

    if _DEFINE.search(region.text) is None:
        return yaml.read(region, context)
    masked, out = mask(region.text), Reading()
    locked = yaml.unbalanced(region, masked, out) or yaml.generated(region, out)
    bodies = [(name, parse_part(masked.parsed, start, end)) for name, start, end in _bodies(region.text)]
    # All of them are one document to whoever edits.
    document = Document("yaml", region, masked, [root for _, roots in bodies for root in roots])
    items = Items(document, locked)
    sites: dict[str, list[Site]] = {}
    variables: dict[str, list[Variable]] = {}
    for name, roots in bodies:
        for root in roots:
            reader = Reader(document, items, context, root)
            found = reader.out if reader.settings.named_template(name) else reader.run()
            sites.setdefault(name, []).extend(found.sites)
            variables.setdefault(name, []).extend(found.variables)
            out.extend(found)
    tie(out, context, sites, variables)
    items.lock_shared()
    built = read_built(region, masked, context, list(_bodies(region.text)))
    for site in built.sites if locked else ():
        for word in site.words:
            word.locked = locked
    out.extend(built)
    return out


def _bodies(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of what each `define` holds."""
    from vllm_migrate.hosts.yaml_mask import mask

    depth, name, start = 0, "", 0
    for action in mask(text).actions[: _MOST * 20]:
        if action.step == 1:
            found = _DEFINE.match(text, action.start)
            if depth == 0 and found is not None:
                name, start = found[1], action.end
            depth += 1
        elif action.step == -1 and depth:
            depth -= 1
            if depth == 0 and start:
                yield name, start, action.start
                start = 0
