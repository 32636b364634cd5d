"""The pages made from the data, and the whole documentation, built so that any warning is an error."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from blocks import DOCS, blocks
from ruamel.yaml import YAML

from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.catalog.removals import history
from vllm_migrate.cli import cli
from vllm_migrate.migrations import load as load_migrations
from vllm_migrate.rules.registry import rules

ROOT = DOCS.parent


sys.path.insert(0, str(DOCS))

generate = importlib.import_module("generate")
marks = importlib.import_module("marks")
rule_pages = importlib.import_module("rule_pages")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    with pytest.MonkeyPatch.context() as patch:
        # Hundreds of small runs; one is looked at below.
        patch.setattr(rule_pages, "line_example", lambda *_: None)
        generate.write(folder)
    return folder


def test_an_entry_shows_a_line_before_and_after() -> None:
    swap_space = load_migrations().get("swap-space")
    assert swap_space is not None
    shown = rule_pages.migration(swap_space)
    assert "- vllm serve my-model --swap-space 4\n+ vllm serve my-model\n" in shown
    assert "(migration-swap-space)=" in shown and "**What to do:** Delete it." in shown


def test_every_rule_has_a_page_that_says_what_it_does_and_shows_it(reference: Path) -> None:
    for rule in rules().values():
        page = (reference / "rules" / f"{rule.code}.md").read_text()
        assert f"# {rule.code}: {rule.slug}" in page and rule.severity in page
        assert "## What it does" in page, rule.code
        assert "## Fix safety" in page, rule.code
        assert f"ignore[{rule.code}]" in page
        if rule.code != "VM002":
            assert "## Before and after" in page, rule.code


def test_every_removed_option_is_in_the_table(reference: Path) -> None:
    page = (reference / "removed" / "options.md").read_text()
    names = {r.name for r in history(load_catalog()) if r.kind == "option"}
    assert len(names) > 50
    missing = [name for name in names if f"`{name}`" not in page]
    assert missing == []
    row = next(line for line in page.splitlines() if line.startswith("| `--swap-space` "))
    assert "| 0.17.1 | 0.18.0 |" in row and "Delete it." in row


def test_every_command_and_every_key_is_in_the_reference(reference: Path) -> None:
    page = (reference / "commands.md").read_text()
    assert all(f"\n## {name}\n" in page for name in cli.commands)
    keys = json.loads((ROOT / "schemas" / "config.schema.json").read_text())["properties"]
    page = (reference / "configuration.md").read_text()
    assert all(f"\n## `{key}`\n" in page for key in keys)


def test_examples_of_keys_are_valid() -> None:
    schema = json.loads((ROOT / "schemas" / "config.schema.json").read_text())
    for name, text in generate.EXAMPLES.items():
        value = YAML(typ="safe").load(text)
        assert list(value) == [name]
        jsonschema.validate(value, schema)


def test_every_wrapper_is_listed(reference: Path) -> None:
    page = (reference / "wrappers.md").read_text()
    for path in (ROOT / "schemas" / "wrappers").glob("*.json"):
        for wrapper in json.loads(path.read_text())["wrappers"]:
            assert f"| `{wrapper['id']}` |" in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--swap-space N and swap_space", "`--swap-space` N and `swap_space`"),
        ("a*b <c> [d]", r"a\*b \<c\> \[d\]"),
        ("write `a|b` or 'x'", "write `a|b` or 'x'"),
        ("Set A_B=1. See https://example.com/a_b.", "Set `A_B=1`. See <https://example.com/a_b>."),
        ("multi-step and low-rank stay words", "multi-step and low-rank stay words"),
    ],
)
def test_prose_shows_text_as_it_stands(text: str, shown: str) -> None:
    assert marks.prose(text) == shown


def test_the_wrapper_shown_is_one() -> None:
    schema = json.loads((ROOT / "schemas" / "wrapper.schema.json").read_text())
    shown = [b for b in blocks(DOCS / "contributing" / "wrapper.md") if "wrapper" in b.words]
    assert shown
    for block in shown:
        jsonschema.validate(json.loads(block.text), schema)


def test_pictures_exist_and_are_small() -> None:
    pages = [*DOCS.glob("*.md"), *DOCS.glob("contributing/*.md"), ROOT / "README.md"]
    for page in pages:
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text()):
            picture = page.parent / name
            assert picture.is_file(), f"{page.name}: {name}"
            assert picture.stat().st_size < 250_000, name


def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    for needed in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(needed)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(tmp_path / "html")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert "VM101" in (tmp_path / "html" / "reference" / "rules" / "index.html").read_text()
