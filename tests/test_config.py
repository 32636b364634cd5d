"""Configuration files: what they mean, and errors that name file, line and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_migrate.config import Config, ConfigError, Speculator, selects, with_options
from vllm_migrate.config_file import find, load
from vllm_migrate.globs import path_matches
from vllm_migrate.paths import schemas_dir
from vllm_migrate.schemacheck import problems

SCHEMA = json.loads((schemas_dir() / "config.schema.json").read_text())

FULL_TOML = """
[project]
name = "x"

[tool.vllm-migrate]
from = "0.20.0"
to = ["0.24.0", "0.33.0"]
select = "VM1"
ignore = ["VM109", "swap-space"]
extend-exclude = ["attic/"]
fail-on = "error"
keep-pins = true
baseline = "known.json"
migrations = "more.json"
markdown = "fix"

[tool.vllm-migrate.per-file-ignores]
"legacy/**" = ["VM101"]

[tool.vllm-migrate.images]
"registry.example/llm" = "0.24.0"
"registry.example/amd-*" = { version = "0.30.0", device = "rocm" }

[tool.vllm-migrate.paths]
"prod/**" = { to = "0.30.0" }

[tool.vllm-migrate.speculative-replacement]
"meta-llama/*" = { method = "eagle3", model = "some/head" }
"""


@pytest.fixture
def full(tmp_path: Path) -> Config:
    path = tmp_path / "pyproject.toml"
    path.write_text(FULL_TOML)
    return load(path)


def test_every_key_arrives(full: Config, tmp_path: Path) -> None:
    assert full.from_ == "0.20.0"
    assert full.to == ("0.24.0", "0.33.0")
    assert full.select == ("VM1",)
    assert full.fail_on == "error"
    assert full.keep_pins is True
    assert full.unsafe_fixes is False
    assert full.baseline == tmp_path / "known.json"
    assert full.migrations == (tmp_path / "more.json",)
    assert full.markdown == "fix"
    assert full.exclude is None
    assert full.extend_exclude == ("attic/",)


def test_yaml_says_the_same_as_toml(tmp_path: Path, full: Config) -> None:
    path = tmp_path / ".vllm-migrate.yaml"
    path.write_text('from: "0.20.0"\nto: [0.24.0, 0.33.0]\nimages:\n  registry.example/llm: 0.24.0\n')
    config = load(path)
    assert (config.from_, config.to) == (full.from_, full.to)
    assert config.image("registry.example/llm:prod") == full.image("registry.example/llm:prod")


def test_images_by_name_and_pattern(full: Config) -> None:
    fact = full.image("registry.example/llm:2026-01@sha256:00")
    assert fact is not None and (fact.version, fact.device) == ("0.24.0", "")
    fact = full.image("registry.example/amd-llm:1")
    assert fact is not None and (fact.version, fact.device) == ("0.30.0", "rocm")
    assert full.image("vllm/vllm-openai:v0.24.0") is None


def test_releases_of_a_path(full: Config) -> None:
    assert full.releases_at("prod/a/run.sh") == ("0.20.0", ("0.30.0",))
    assert full.releases_at("dev/run.sh") == ("0.20.0", ("0.24.0", "0.33.0"))


def test_the_command_line_goes_before_the_file(full: Config) -> None:
    merged = with_options(full, to=("0.31.0",), ignore=("VM2",), fail_on=None, keep_pins=False)
    assert merged.to == ("0.31.0",)
    assert merged.releases_at("prod/run.sh") == ("0.20.0", ("0.31.0",))
    assert merged.ignore == ("VM109", "swap-space", "VM2")
    assert merged.fail_on == "error"
    assert merged.keep_pins is False


def test_speculators(full: Config) -> None:
    assert full.speculator_for("meta-llama/Llama-3-8B") == Speculator("eagle3", "some/head")
    assert full.speculator_for("other/model") is None
    assert Config().speculator_for("any") == Speculator("ngram")


def test_what_is_reported(full: Config) -> None:
    assert full.reports("VM101", "x", "run.sh")
    assert not full.reports("VM101", "x", "legacy/deep/run.sh")
    assert not full.reports("VM101", "swap-space", "run.sh")
    assert not full.reports("VM109", "", "run.sh")
    assert not full.reports("VM201", "", "run.sh"), "not selected"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("VM101", True),
        ("VM1", True),
        ("vm1", True),
        ("ALL", True),
        ("swap-space", True),
        ("VM101:swap-space", True),
        ("VM1:swap-space", True),
        ("VM102", False),
        ("VM101:other", False),
        ("VM102:swap-space", False),
        ("swap", False),
    ],
)
def test_selectors(selector: str, expected: bool) -> None:
    assert selects(selector, "VM101", "swap-space") is expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("charts", "a/charts/x/values.yaml", True),
        ("*.sh", "a/b.sh", True),
        ("a/*.sh", "a/b/c.sh", False),
        ("a/**/c.sh", "a/c.sh", True),
        ("a/**", "a/b/c.sh", True),
        ("/run.sh", "a/run.sh", False),
        ("/run.sh", "run.sh", True),
        ("a", "ab", False),
        ("docs/", "docs/x.md", True),
        ("v[12].sh", "v2.sh", True),
        ("v[!12].sh", "v2.sh", False),
    ],
)
def test_path_patterns(pattern: str, path: str, expected: bool) -> None:
    assert path_matches(pattern, path) is expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "pyproject.toml",
            '[tool.vllm-migrate]\nto = "0.33.0"\nselct = []\n',
            ":3: selct: unknown key; did you mean 'select'?",
        ),
        (
            "pyproject.toml",
            "[tool.vllm-migrate.paths]\n'a/**' = { form = '1' }\n",
            ":2: paths.a/**.form: unknown key",
        ),
        (
            "pyproject.toml",
            "[tool.vllm-migrate]\nto = 0.33\n",
            ":2: to: must be a string, not 0.33; write it in quotes",
        ),
        ("pyproject.toml", "[tool.vllm-migrate\n", ":1: not TOML"),
        (
            ".vllm-migrate.yaml",
            "from: 0.2.0\nto: 0.30\n",
            ":2: to: must be a string, not 0.3; write it in quotes",
        ),
        (
            ".vllm-migrate.yaml",
            "images:\n  a/b:\n    device: cuda\n",
            ":2: images.a/b: the key 'version' is missing",
        ),
        (".vllm-migrate.yaml", "keep-pins: maybe\n", ":1: keep-pins: must be true or false, not 'maybe'"),
        (
            ".vllm-migrate.yaml",
            "fail-on: fatal\n",
            ":1: fail-on: must be one of 'info', 'warning', 'error', not 'fatal'",
        ),
        (".vllm-migrate.yaml", "ignore:\n- VM1\n- 7\n", ":3: ignore.1: must be a string"),
        (".vllm-migrate.yaml", "- a\n", ":1: must be a table"),
        (".vllm-migrate.yaml", "a: [\n", ":2: not YAML"),
        (".vllm-migrate.yaml", "to: 0.1.0\nto: 0.2.0\n", ":2: not YAML"),
    ],
)
def test_errors_name_file_line_and_key(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none\\.yaml: No such file"):
        load(tmp_path / "none.yaml")


def test_finding_the_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'about vllm-migrate'\n")
    assert find(tmp_path) is None
    (tmp_path / "pyproject.toml").write_text("[tool.vllm-migrate]\n")
    assert find(tmp_path) == tmp_path / "pyproject.toml"
    (tmp_path / ".vllm-migrate.yaml").write_text("")
    with pytest.raises(ConfigError, match="keep one of the two"):
        find(tmp_path)


def test_an_empty_yaml_file_is_all_defaults(tmp_path: Path) -> None:
    (tmp_path / ".vllm-migrate.yaml").write_text("# nothing yet\n")
    assert load(tmp_path / ".vllm-migrate.yaml") == Config(file=tmp_path / ".vllm-migrate.yaml")


def test_the_schema_describes_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    keys = (
        "from to select ignore per-file-ignores exclude extend-exclude fail-on keep-pins unsafe-fixes baseline"
        " device-ids speculative-replacement migrations wrappers catalog images paths markdown"
    )
    assert set(SCHEMA["properties"]) == set(keys.split())


SCALARS: Any = st.sampled_from(
    ["0.33.0", "x", "", "ngram", "error", "rewrite", "VM1", "a b", 3, 0.5, True, None, [], {}]
)
VALUES: Any = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=2),
    st.dictionaries(
        st.sampled_from(["from", "to", "version", "device", "method", "model", "a/**"]),
        st.one_of(
            SCALARS, st.dictionaries(st.sampled_from(["version", "method", "to", "x"]), SCALARS, max_size=2)
        ),
        max_size=2,
    ),
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "unknown"]), VALUES, max_size=3))
def test_the_small_checker_agrees_with_the_full_one(data: dict[str, Any]) -> None:
    assert bool(problems(SCHEMA, data)) is not jsonschema.Draft202012Validator(SCHEMA).is_valid(data)
