"""Writes the pages under `reference/` from the rules, the data and the commands themselves.

`python docs/generate.py` writes them; the settings of the documentation call `write` before each build.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT)]

from marks import code, fence, prose, table  # noqa: E402
from removal_pages import removal_pages  # noqa: E402
from rule_pages import rule_pages  # noqa: E402

from vllm_migrate.config import Config  # noqa: E402
from vllm_migrate.migrations import load as load_migrations  # noqa: E402

SCHEMAS = ROOT / "schemas"

#: What a key may look like, where a word does not say it.
EXAMPLES = {
    "to": "to: [0.30.0, 0.33.0]",
    "per-file-ignores": 'per-file-ignores:\n  "docs/**": [VM109]\n  "legacy/*.sh": ["VM101:swap-space"]',
    "extend-exclude": "extend-exclude: [attic/, third_party/]",
    "speculative-replacement": (
        "speculative-replacement:\n  meta-llama/*: {method: eagle3, model: example/llama-eagle3}\n"
        '  "*": {method: ngram}'
    ),
    "images": (
        "images:\n  registry.example.com/llm/*: {version: 0.24.0, device: cuda}\n  registry.example.com/llm-old: 0.17.1"
    ),
    "paths": 'paths:\n  "staging/**": {to: 0.33.0}\n  "production/**": {from: 0.24.0, to: 0.30.0}',
    "wrappers": "wrappers: [tools/vllm-wrappers.json]",
}


def write(folder: Path) -> None:
    """Write every page into a folder, which is made anew."""
    migrations = load_migrations()
    pages = {
        **rule_pages(migrations),
        **removal_pages(migrations),
        "wrappers.md": wrapper_page(),
        "configuration.md": configuration_page(),
        "commands.md": command_page(),
    }
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def wrapper_page() -> str:
    """Return the list of what starts vLLM and passes options on to it."""
    text = (
        "# Wrappers\n\nPrograms, images and platforms that take vLLM's options and pass them on. Each is an entry of "
        "`schemas/wrappers/`; [your own](../contributing/wrapper.md) goes into a file of the same form.\n"
    )
    for path in sorted((SCHEMAS / "wrappers").glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = (
            [code(w["id"]), prose(w["title"]), known_by(w), own_options(w)]
            for w in sorted(data["wrappers"], key=lambda w: str(w["id"]))
        )
        text += f"\n## {path.stem.capitalize()}\n\n{prose(data.get('about', ''))}\n\n"
        text += table(("id", "what", "known by", "options of its own"), rows)
    return text


def known_by(wrapper: dict[str, Any]) -> str:
    out = [f"command {code(' '.join(words))}" for words in wrapper.get("programs", ())]
    for name, label in (("modules", "module"), ("images", "image"), ("formats", "model format"), ("callables", "call")):
        out += [f"{label} {code(value)}" for value in wrapper.get(name, ())]
    if wrapper.get("variables"):
        out.append(f"variables {code(wrapper['variables']['prefix'] + '*')}")
    out += [f"variable {code(name)}" for name in wrapper.get("lines", ())]
    out += [f"words {code(prefix + '…')}" for prefix in wrapper.get("overrides", ())]
    for place in wrapper.get("mappings", ()):
        kind = f" of a {code(place['kind'])}" if "kind" in place else ""
        files = f" in {', '.join(code(f) for f in place['files'])}" if "files" in place else ""
        out.append(f"key {code(place['at'])}{kind}{files}" if place["at"] else f"the whole document{kind}{files}")
    return ", ".join(out)


def own_options(wrapper: dict[str, Any]) -> str:
    own = list(wrapper.get("own", ()))
    shown = ", ".join(code(name) for name in own[:6])
    return f"{shown} and {len(own) - 6} more" if len(own) > 6 else shown


def configuration_page() -> str:
    """Return the keys of the configuration, from its schema."""
    schema = json.loads((SCHEMAS / "config.schema.json").read_text(encoding="utf-8"))
    text = (
        "# Configuration\n\nThe table `[tool.vllm-migrate]` of `pyproject.toml`, or the file `.vllm-migrate.yaml`, at "
        "the root of the repository. `vllm-migrate init` writes a first one with comments. An error names the file, "
        "the line and the key. `schemas/config.schema.json` is the JSON Schema behind this page, for editors too.\n"
    )
    for name, value in schema["properties"].items():
        text += f"\n({name})=\n## {code(name)}\n\n{prose(value['description'])}\n\nTakes {kinds(value, schema)}."
        default = getattr(Config(), {"from": "from_"}.get(name, name.replace("-", "_")))
        if isinstance(default, (str, bool)):
            text += f" Default: {code(str(default).lower())}."
        text += f"\n\n{fence('yaml', EXAMPLES[name])}" if name in EXAMPLES else "\n"
    return text


def kinds(value: dict[str, Any], schema: dict[str, Any]) -> str:
    """Say in words what a part of the schema takes."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        named = {
            "release": "a release such as `0.33.0`",
            "selectors": "one code, prefix or id, or a list of them",
            "strings": "one text or a list of texts",
            "files": "one file or a list of files",
        }
        return named.get(name) or kinds(schema["$defs"][name], schema)
    if "anyOf" in value:
        return ", or ".join(kinds(option, schema) for option in value["anyOf"])
    if "enum" in value:
        return "one of " + ", ".join(code(str(word)) for word in value["enum"])
    kind = value.get("type")
    if kind == "array":
        return f"a list, each {kinds(value['items'], schema)}"
    if kind == "object":
        if "properties" in value:
            inner = "; ".join(f"{code(n)}: {kinds(v, schema)}" for n, v in value["properties"].items())
            return f"a mapping ({inner})"
        return f"a mapping from a name or pattern to {kinds(value['additionalProperties'], schema)}"
    return {"boolean": "`true` or `false`", "string": "a text"}.get(str(kind), str(kind))


def command_page() -> str:
    """Return the help of each command, as it prints it."""
    import click

    from vllm_migrate.cli import cli

    text = (
        "# Commands\n\nWhat `vllm-migrate COMMAND --help` prints.\n\n**Exit status.** 0: nothing at or above "
        "`--fail-on`. 1: findings; for `fix`, those that remain. 2: the work could not be done: bad usage, bad "
        "configuration, a path that cannot be read.\n"
    )

    def each(command: click.Command, words: list[str]) -> Iterator[tuple[str, str]]:
        context = click.Context(command, info_name=" ".join(words), terminal_width=96, max_content_width=96)
        yield " ".join(words), command.get_help(context)
        for name, inner in getattr(command, "commands", {}).items():
            yield from each(inner, [*words, name])

    for name, shown in each(cli, ["vllm-migrate"]):
        text += f"\n## {name.removeprefix('vllm-migrate ')}\n\n{fence('text', shown)}"
    return text


if __name__ == "__main__":
    write(Path(__file__).resolve().parent / "reference")
