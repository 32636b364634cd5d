"""The page about using it: every command marked so is run, on a copy of the example."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
from blocks import DOCS, blocks
from ruamel.yaml import YAML
from test_tutorial import Shell, follow

ROOT = DOCS.parent


def test_the_page_holds(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    shutil.copytree(ROOT / "fixtures" / "example", folder)
    for words in ("init -q", "config user.name me", "config user.email me@example.com", "add -A", "commit -qm before"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True)
    assert follow(Shell(folder), DOCS / "usage.md") > 8


def test_the_configuration_shown_is_one() -> None:
    schema = json.loads((ROOT / "schemas" / "config.schema.json").read_text())
    shown = [b for b in blocks(DOCS / "usage.md") if "config" in b.words]
    assert shown
    for block in shown:
        jsonschema.validate(YAML(typ="safe").load(block.text), schema)
