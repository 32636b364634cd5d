"""The miner on a made-up release: what it reads, from trees and archives, and what it refuses."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tiny import FILES, write_tree

from vllm_migrate.catalog.mine import mine
from vllm_migrate.catalog.source import MineError

Sections = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> Sections:
    return mine(write_tree(tmp_path_factory.mktemp("t") / "0.40.0")).sections


def test_options_are_what_argparse_would_register(sections: Sections) -> None:
    options = sections["options"]
    assert options["--model"] == {"type": "str", "default": "tiny/model", "group": "ModelConfig"}
    assert options["--colour"] == {
        "spellings": ["--colour", "-c"],
        "type": "str",
        "choices": ["green", "red"],
        "default": "red",
        "group": "ModelConfig",
    }
    assert options["--served-model-name"]["nargs"] == "+"
    assert options["--served-model-name"]["optional"] is True
    assert options["--limit"]["default"] == 2048
    assert options["--port"] == {"type": "int", "default": 8000}
    assert options["model_tag"] == {"nargs": "?", "type": "str", "only": "serve"}
    assert options["--help"]["nargs"] == 0


def test_a_switch_knows_its_inverse_and_a_default_from_the_environment(sections: Sections) -> None:
    assert sections["options"]["--enable-fast"] == {
        "action": "boolean_optional",
        "negative": ["--no-enable-fast"],
        "nargs": 0,
        "default": True,
        "group": "ModelConfig",
    }


def test_special_options(sections: Sections) -> None:
    options = sections["options"]
    assert options["--serve-thing"]["only"] == "serve"
    assert options["--old-thing"]["dest"] == "older"
    assert options["--old-thing"]["deprecated"] is True
    assert options["--from-the-machine"]["computed"] is True
    assert options["--from-the-machine"]["hidden"] is True
    assert options["--speculative-config"]["config"] == "SpeculativeConfig"


def test_keywords(sections: Sections) -> None:
    assert sections["engine_args"]["limit"] == {"type": "int", "default": 2048}
    assert sections["engine_args"]["log_requests"]["async_only"] is True
    assert sections["llm"]["model"] == {"type": "str", "required": True}
    assert sections["llm"]["seed"] == {"type": "int | None", "keyword_only": True}
    assert sections["llm"]["**"] == {}


def test_config_classes(sections: Sections) -> None:
    configs = sections["configs"]
    assert configs["SpeculativeConfig"] == {"extra": "forbid", "checked": True}
    assert configs["SpeculativeConfig.method"] == {"type": "str | None", "choices": ["ngram", "eagle"]}
    assert configs["SpeculativeConfig.tokens"] == {"type": "int", "default": 3, "hint": "int(ge=1)"}
    assert configs["SpeculativeConfig.target"]["init"] is False
    assert configs["ModelConfig.sizes"] == {"type": "list[int]", "default": [1, 2]}
    assert configs["ModelConfig.speculative_config"]["config"] == "SpeculativeConfig"


def test_variables(sections: Sections) -> None:
    variables = sections["variables"]
    assert variables["VLLM_PORT"] == {"type": "int | None"}
    assert variables["VLLM_LEVEL"] == {"type": "str", "default": "low", "choices": ["low", "high"]}
    assert variables["VLLM_CACHE"] == {"type": "str", "default": "~/.cache/tiny"}
    assert variables["VLLM_SECRET"] == {"computed": True}
    assert variables["NO_COLOR"] == {"default": False, "foreign": True}
    assert variables["VLLM_DIRECT"] == {"direct": True}


def test_tables(sections: Sections) -> None:
    assert sections["architectures"] == {
        "TinyForCausalLM": {"table": "text_generation"},
        "TinyVL": {"table": "multimodal"},
    }
    assert sections["removed_architectures"] == {"HugeForCausalLM": {"last": "0.9.2"}}
    assert sections["tool_parsers"] == {"hermes": {}}
    assert sections["quantization"] == {"awq": {"deprecated": True}, "fp8": {}}
    assert list(sections["attention_backends"]) == ["FLASH_ATTN", "TRITON_ATTN"]
    assert list(sections["executors"]) == ["mp", "ray"]
    assert list(sections["load_formats"]) == ["auto", "safetensors"]
    assert list(sections["speculative_methods"]) == ["eagle", "ngram"]
    assert sections["subcommands"] == {"serve": {}}
    assert "vllm.tool_parsers.hermes" in sections["modules"]


def test_metrics_have_their_exported_names(sections: Sections) -> None:
    assert sections["metrics"] == {
        "vllm:cache_usage": {"type": "gauge"},
        "vllm:old_usage": {"type": "gauge", "hidden": True},
        "vllm:preemptions_total": {"type": "counter"},
    }


def test_paths_the_server_answers(sections: Sections) -> None:
    assert sections["endpoints"] == {
        "/abort": {"methods": ["POST"]},
        "/generate": {"methods": ["POST"], "only": "demo_server"},
        "/health": {"methods": ["GET"]},
        "/metrics": {"methods": ["GET"]},
        "/ping": {"methods": ["GET", "POST"]},
        "/v1/chat/completions": {"methods": ["POST"]},
        "/v1/completions": {"methods": ["POST"]},
    }


def test_fields_of_requests_by_path_with_what_they_inherit_and_hold(sections: Sections) -> None:
    assert sections["request_fields"] == {
        "/v1/chat/completions.messages": {"required": True},
        "/v1/chat/completions.schema": {},
        "/v1/chat/completions.seeds": {"computed": True},
        "/v1/chat/completions.stream_options": {},
        "/v1/chat/completions.top_k": {"default": 20},
        "/v1/chat/completions.user": {},
        "/v1/completions.echo": {"default": False},
        "/v1/completions.prompt": {"required": True},
        "/v1/completions.user": {},
        "Message.content": {},
        "StreamOptions.include_usage": {"default": True},
    }


def test_fields_of_answers_and_parameters_of_sampling(sections: Sections) -> None:
    assert list(sections["response_fields"]) == ["ChatResponse.text", "ChatResponse.usage", "Usage.total"]
    assert sections["sampling_params"]["OldParams.n"] == {"default": 1}
    assert {k: v for k, v in sections["sampling_params"].items() if k.startswith("SamplingParams.")} == {
        "SamplingParams.kind": {"computed": True},
        "SamplingParams.n": {"default": 1},
        "SamplingParams.seen": {"computed": True},
        "SamplingParams.stop": {},
    }


def test_a_request_whose_class_is_not_found_is_told(tmp_path: Path) -> None:
    server = "vllm/entrypoints/openai/api_server.py"
    lost = FILES[server].replace("import ChatRequest,", "import LostRequest as ChatRequest,")
    notes = mine(write_tree(tmp_path / "0.40.0", {server: lost})).notes
    assert any("/v1/chat/completions" in note and "not found" in note for note in notes)


def test_release_facts(tmp_path: Path) -> None:
    mined = mine(write_tree(tmp_path / "vllm-0.40.0"))
    assert mined.version == "0.40.0"
    assert mined.notes == []
    assert mined.release == {
        "version": "0.40.0",
        "python": ">=3.10,<3.14",
        "requires": {"fastapi": ">=0.115", "regex": "", "torch": "==2.9.0", "transformers": ">=4.56,<5"},
        "requires_rocm": {"peft": "", "regex": "", "transformers": ">=4.56,<5"},
        "cuda": "12.9.1",
        "rocm": "7.1",
        "compiler": {"gcc": "11.3", "gcc_cuda": "13"},
        "cxx_standard": 20,
        "image": {
            "base": "nvidia/cuda:12.9.1-base-ubuntu22.04",
            "ubuntu": "22.04",
            "entrypoint": ["vllm", "serve"],
        },
        "dockerfiles": ["docker/Dockerfile", "docker/Dockerfile.rocm_base"],
        "build_args": ["CUDA_VERSION", "FINAL_BASE_IMAGE", "PIP_INDEX_URL", "UV_INDEX_URL", "max_jobs"],
        "dotted": True,
        "config_file": [],
        "parser": {"dotted": "plain"},
    }


def test_the_inverse_of_enable_is_read_from_the_parser(tmp_path: Path) -> None:
    parser = FILES["vllm/utils/argparse_utils.py"]
    parser += '\nclass Pair:\n    _inverse_prefixes = {"--enable-": "--disable-", "--disable-": "--enable-"}\n'
    tree = write_tree(tmp_path / "0.40.0", {"vllm/utils/argparse_utils.py": parser})
    fast = mine(tree).sections["options"]["--enable-fast"]
    assert fast["action"] == "enable_disable"
    assert fast["negative"] == ["--no-enable-fast", "--disable-fast"]


def test_nothing_of_the_source_is_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    bad = f"open({str(marker)!r}, 'w').write('x')\nimport os\nos.system('touch {marker}')\n"
    evil = f"\nX = ().__class__.__base__.__subclasses__()\nY = __import__('os').system('touch {marker}')\n"
    changes: dict[str, str | None] = {
        "vllm/envs.py": bad + FILES["vllm/envs.py"] + evil,
        "vllm/__init__.py": bad,
        "setup.py": bad,
    }
    mine(write_tree(tmp_path / "0.40.0", changes))
    assert not marker.exists()


ENDLESS = [
    "while True:\n    pass\n",
    "x = [0] * 10**12\n",
    "x = 9 ** 9 ** 9\n",
    "x = '%0999999999d' % 1\n",
    "x = 'a'\nwhile True:\n    x = x + x\n",
    "x = 3\nwhile True:\n    x = x * x\n",
    "x = 'a'.ljust(10 ** 11)\n",
    "def f():\n    return f()\nx = f()\n",
]


@pytest.mark.parametrize("code", ENDLESS)
def test_source_that_would_not_end_is_survived(tmp_path: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vllm_migrate.catalog.interp._STEPS", 100_000)
    tree = write_tree(tmp_path / "0.40.0", {"vllm/envs.py": code + FILES["vllm/envs.py"]})
    try:
        assert mine(tree).sections["variables"]["VLLM_PORT"] == {"type": "int | None"}
    except MineError as error:
        assert "too many steps" in str(error)


@pytest.mark.parametrize(
    ("section", "file"),
    [
        ("variables", "vllm/envs.py"),
        ("architectures", "vllm/model_executor/models/registry.py"),
        ("metrics", "vllm/v1/metrics/loggers.py"),
        ("attention_backends", "vllm/v1/attention/backends/registry.py"),
        ("options", "vllm/entrypoints/openai/cli_args.py"),
        ("request_fields", "vllm/entrypoints/openai/protocol.py"),
        ("sampling_params", "vllm/sampling_params.py"),
    ],
)
def test_an_empty_section_is_an_error_that_names_it(tmp_path: Path, section: str, file: str) -> None:
    tree = write_tree(tmp_path / "0.40.0", {file: ""})
    with pytest.raises(MineError, match=section):
        mine(tree)


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.tar.gz").write_bytes(b"no archive")
    (tmp_path / "broken.whl").write_bytes(b"no archive")
    (tmp_path / "notes.txt").write_text("x")
    for name in ("empty", "broken.tar.gz", "broken.whl", "notes.txt", "missing"):
        with pytest.raises(MineError, match=name):
            mine(tmp_path / name)


def test_a_source_without_version_needs_one(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "checkout")
    with pytest.raises(MineError, match="--version"):
        mine(tree)
    assert mine(tree, "v0.41.0.dev3+gabc").version == "0.41.0.dev3"
    with pytest.raises(MineError, match="not a version"):
        mine(tree, "newest")


def _sdist(tree: Path, target: Path) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        archive.add(tree, arcname="vllm-0.40.0")
    return target


def _wheel(tree: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted((tree / "vllm").rglob("*.py")):
            archive.write(path, path.relative_to(tree).as_posix())
        metadata = "Name: vllm\nVersion: 0.40.0\nRequires-Python: >=3.10,<3.14\n"
        metadata += "Requires-Dist: torch==2.9.0\nRequires-Dist: pandas; extra == 'bench'\n"
        archive.writestr("vllm-0.40.0.dist-info/METADATA", metadata)
    return target


def test_archives_say_the_same_as_the_tree(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "0.40.0")
    plain = mine(tree)
    sdist = mine(_sdist(tree, tmp_path / "vllm-0.40.0.tar.gz"))
    wheel = mine(_wheel(tree, tmp_path / "vllm-0.40.0-cp38-abi3-manylinux1_x86_64.whl"))
    assert sdist.sections == wheel.sections == plain.sections
    assert sdist.release == plain.release
    assert wheel.release["cuda"] is None and wheel.release["compiler"] is None
    assert wheel.release["requires"] == {"torch": "==2.9.0"}
    assert any("`cuda`" in note for note in wheel.notes)


def test_members_that_leave_the_archive_are_not_followed(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "0.40.0")
    secret = tmp_path / "secret.py"
    secret.write_text("environment_variables = {}")
    target = tmp_path / "vllm-0.40.0.tar.gz"
    with tarfile.open(target, "w:gz") as archive:
        archive.add(tree, arcname="vllm-0.40.0")
        for name in ("vllm-0.40.0/../../escape.py", "/absolute.py"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        link = tarfile.TarInfo("vllm-0.40.0/vllm/linked.py")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(link)
    before = sorted(p for p in tmp_path.rglob("*"))
    mined = mine(target)
    assert "vllm.linked" not in mined.sections["modules"]
    assert "VLLM_PORT" in mined.sections["variables"]
    assert sorted(p for p in tmp_path.rglob("*")) == before


def test_links_of_a_tree_are_not_followed(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "0.40.0")
    (tree / "vllm" / "loop").symlink_to(tree / "vllm")
    (tree / "vllm" / "linked.py").symlink_to(tmp_path / "elsewhere.py")
    assert "vllm.linked" not in mine(tree).sections["modules"]


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "0.40.0", {"vllm/envs.py": "#" * (9 * 1024 * 1024)})
    with pytest.raises(MineError, match=r"envs\.py"):
        mine(tree)
    with pytest.raises(MineError, match="too large"):
        mine(_sdist(tree, tmp_path / "big.tar.gz"), "0.40.0")


def test_source_that_does_not_parse_is_named(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "0.40.0", {"vllm/model_executor/models/registry.py": "def ("})
    with pytest.raises(MineError, match="registry"):
        mine(tree)
