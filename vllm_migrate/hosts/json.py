"""JSON: manifests, task definitions, dashboards, launch tables."""

from __future__ import annotations

from vllm_migrate.hosts import Context
from vllm_migrate.model import Problem, Reading
from vllm_migrate.text import Region

NAME = "json"


def read(region: Region, context: Context) -> Reading:
    """Return what a JSON text starts, configures and pins; one that does not parse is a `syntax` problem."""
    from vllm_migrate.hosts import yaml
    from vllm_migrate.hosts.json_tree import parse
    from vllm_migrate.hosts.yaml_edit import Document
    from vllm_migrate.hosts.yaml_mask import mask

    masked = mask(region.text)
    tree = parse(masked.parsed)
    out = Reading()
    for message, offset in tree.errors:
        place = region.nearest_span(offset, offset)
        out.problems.append(Problem("syntax", f"not valid JSON: {message}", place.start, place.start))
    locked = yaml.generated(region, out)
    document = Document(NAME, region, masked, tree.roots, only_json=True)
    out.extend(yaml.read_document(document, context, locked))
    return out
