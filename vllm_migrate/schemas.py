"""The text of the command `schema`: JSON Schemas of what a release takes."""

from __future__ import annotations

import json

from vllm_migrate.catalog import load
from vllm_migrate.catalog.objects import class_of, config_objects, object_schema
from vllm_migrate.catalog.schema import config_file_schema
from vllm_migrate.config import Config


def schema_text(config: Config, version: str, name: str | None = None) -> str:
    """Return the schema of a release's configuration file, or of the one config object named, as JSON.

    name: an option, with or without dashes, or a class. Raises UnknownRelease and UnknownObject.
    """
    catalog = load(config.catalog)
    release = catalog.release(version)
    whole = name is None
    schema = config_file_schema(catalog, release) if whole else object_schema(release, class_of(release, name or ""))
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def object_list(config: Config, version: str) -> str:
    """Return the config objects of a release, one a line: the option and its class. Raises UnknownRelease."""
    objects = config_objects(load(config.catalog).release(version))
    width = max(map(len, objects), default=0)
    return "".join(f"{option:<{width}}  {name}\n" for option, name in objects.items())
