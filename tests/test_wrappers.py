"""Wrappers: the shipped data, a team's own files, which words and variables are vLLM's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from vllm_migrate import wrapped, wrappers
from vllm_migrate.carried import Carrier, resolved
from vllm_migrate.config import Config, ConfigError
from vllm_migrate.engine import run_text
from vllm_migrate.launch import container_launch, find_launch
from vllm_migrate.model import (
    CannotRender,
    InsertEntry,
    InsertVariable,
    Remove,
    Rename,
    Replace,
    Variable,
    Word,
)
from vllm_migrate.paths import schemas_dir
from vllm_migrate.text import Region, Source, Span

SCHEMA = json.loads((schemas_dir() / "wrapper.schema.json").read_text(encoding="utf-8"))
FILES = sorted((schemas_dir() / "wrappers").glob("*.json"))


@pytest.fixture(autouse=True)
def shipped_only() -> Iterator[None]:
    yield
    wrappers.use(())


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_shipped_files_are_what_the_schema_says(path: Path) -> None:
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), SCHEMA)
    wrappers.validate(path)


def test_ids_are_unique() -> None:
    ids = [w.id for w in wrappers.wrappers()]
    assert len(ids) > 8
    assert len(ids) == len(set(ids))


def passed(line: str) -> list[str] | None:
    words = line.split()
    launch = find_launch(words)
    return None if launch is None else launch.passed(words, words)


def test_own_options_are_no_arguments_of_vllm() -> None:
    own = "--is-prefill-worker --connector nixl lmcache"
    line = f"python3 -m dynamo.vllm --model m {own} --seed 1 --no-omni --endpoint=x"
    assert passed(line) == ["--model", "m", "--seed", "1"]


def test_a_server_that_is_told_to_use_another_backend_starts_no_vllm() -> None:
    head = "python -m huggingfaceserver --model_name m --task text_generation --max-model-len 10"
    assert passed(head) == ["--max-model-len", "10"]
    assert passed(head + " --backend=vllm") == ["--max-model-len", "10"]
    assert passed(head + " --backend huggingface") is None


@pytest.mark.parametrize(
    "line",
    [
        "trl vllm-serve --model m --tensor_parallel_size 2",
        "python -m openrlhf.cli.train_ppo_ray --vllm_num_engines 2",
        "python -m sglang.launch_server --model m --device cuda",
        "text-generation-launcher --model-id m",
        "docker run --gpus all lmsysorg/sglang:latest python3 -m sglang.launch_server --device cuda",
    ],
)
def test_other_programs_pass_nothing(line: str) -> None:
    assert find_launch(line.split()) is None


def test_an_image_of_a_wrapper_is_started_with_its_options() -> None:
    words = ["--model_name=m", "--task=generate", "--max-model-len=10"]
    launch = container_launch(words, "kserve/huggingfaceserver:v0.15.0", 0)
    assert launch is not None and launch.passed(words, words) == ["--max-model-len=10"]


def own_file(folder: Path, **entry: object) -> Path:
    path = folder / "ours.json"
    path.write_text(json.dumps({"format": 1, "wrappers": [{"id": "ours", "title": "our server", **entry}]}))
    return path


def findings(name: str, text: str, config: Config, tmp_path: Path) -> list[str]:
    report = run_text(name, text.encode(), tmp_path, config)
    return [f"{f.code} {f.severity} {f.subject}" for f in report.findings() if f.code != "VM109"]


def test_a_program_of_a_team(tmp_path: Path) -> None:
    path = own_file(tmp_path, programs=[["serve-llm"]], own={"--task": "1", "--swap": "0"})
    line = "serve-llm --task chat --swap --swap-space 4 org/model\n"
    assert findings("run.sh", line, Config(to=("0.33.0",)), tmp_path) == []
    assert findings("run.sh", line, Config(to=("0.33.0",), wrappers=(path,)), tmp_path) == ["VM101 error --swap-space"]


def test_only_what_follows_a_word_is_passed(tmp_path: Path) -> None:
    path = own_file(tmp_path, programs=[["serve-llm"]], after="--")
    config = Config(to=("0.33.0",), wrappers=(path,))
    assert findings("run.sh", "serve-llm --device cuda -- --swap-space 4\n", config, tmp_path) == [
        "VM101 error --swap-space"
    ]
    assert findings("run.sh", "serve-llm --device cuda --swap-space 4\n", config, tmp_path) == []


def test_what_a_wrapper_drops_is_a_warning(tmp_path: Path) -> None:
    path = own_file(tmp_path, programs=[["serve-llm"]], unknown="ignored")
    config = Config(to=("0.33.0",), wrappers=(path,))
    assert findings("run.sh", "serve-llm --swap-space 4\n", config, tmp_path) == ["VM101 warning --swap-space"]


def test_variables_with_a_prefix_of_a_team(tmp_path: Path) -> None:
    path = own_file(tmp_path, variables={"prefix": "OUR_ARG_"}, **{"own-keys": ["task"], "entry-point": "config"})
    config = Config(to=("0.33.0",), wrappers=(path,))
    pod = (
        "spec:\n  containers:\n    - name: a\n      image: our/serving:1\n      env:\n"
        "        - name: OUR_ARG_TASK\n          value: chat\n"
        "        - name: OUR_ARG_SWAP_SPACE\n          value: '4'\n"
        "        - name: OUR_ARG_NO_SUCH_NAME\n          value: '4'\n"
    )
    assert findings("pod.yaml", pod, config, tmp_path) == [
        "VM101 error --swap-space",
        "VM106 error --no-such-name",
    ]


def test_keywords_of_a_function_of_a_team(tmp_path: Path) -> None:
    path = own_file(tmp_path, callables={"corp.serving.build": "LLM"})
    text = "from corp.serving import build\n\nbuild(model='m', swap_space=4)\n"
    assert findings("a.py", text, Config(to=("0.33.0",)), tmp_path) == []
    config = Config(to=("0.33.0",), wrappers=(path,))
    assert findings("a.py", text, config, tmp_path) == ["VM101 error swap_space"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ('{"format": 1, "wrappers": [{"id": "a"}]}', "wrappers.0: the key 'title' is missing"),
        ('{"format": 1, "wrappers": [{"id": "a", "title": "t", "own": {"--x": 1}}]}', "wrappers.0.own.--x"),
        ('{"format": 1, "wrappers": [{"id": "a", "title": "t", "module": []}]}', "did you mean 'modules'"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"w\.json") as error:
        wrappers.use((path,))
    assert says in str(error.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json"):
        wrappers.use((tmp_path / "none.json",))


REGION = Region.whole(Source("a.env", b"SM_VLLM_SEED=1\n"))


def variable(name: str, value: str | None) -> Variable:
    return Variable(REGION, Span(0, 14), Carrier("x", ""), name=name, value=value)


def test_changes_of_carried_options_are_changes_of_their_variables() -> None:
    seed, eager = variable("SM_VLLM_SEED", "1"), variable("SM_VLLM_ENFORCE_EAGER", "true")
    found = wrapped.carries([seed, eager, variable("HOME", "/root")], "", "envfile")
    assert found is not None
    entries = found[1]
    assert [(e.key, e.value) for e in entries] == [("seed", "1"), ("enforce_eager", True)]
    real = resolved([Remove(entries[0]), Rename(entries[1], "no-x"), Replace(entries[1], False)])
    assert [type(c).__name__ for c in real] == ["Remove", "Rename", "Replace"]
    assert isinstance(real[1], Rename) and real[1].name == "SM_VLLM_NO_X" and real[1].item is eager
    assert isinstance(real[2], Replace) and real[2].value == "false"
    (added,) = resolved([InsertEntry(entries[0].container, "max-num-seqs", 4, after=entries[0])])
    assert isinstance(added, InsertVariable) and (added.name, added.value) == ("SM_VLLM_MAX_NUM_SEQS", "4")
    with pytest.raises(CannotRender):
        resolved([Rename(entries[0], "structured-outputs-config.backend")])


def test_variables_of_another_engine_carry_nothing() -> None:
    given = [variable("OPTION_ROLLING_BATCH", "trtllm"), variable("OPTION_MAX_MODEL_LEN", "10")]
    assert wrapped.carries(given, "", "yaml") is None
    given[0].value = "vllm"
    found = wrapped.carries(given, "", "yaml")
    assert found is not None and [e.key for e in found[1]] == ["max_model_len"]


def test_bare_names_count_only_in_the_image_that_reads_them() -> None:
    given = [variable("MAX_MODEL_LEN", "10"), variable("MAX_CONCURRENCY", "3")]
    assert wrapped.carries(given, "team/app", "yaml") is None
    found = wrapped.carries(given, "runpod/worker-v1-vllm", "yaml")
    assert found is not None and [e.key for e in found[1]] == ["max_model_len"]


def test_overrides_of_a_trainer() -> None:
    texts = [
        "trainer.device=cuda",
        "+a.rollout.engine_kwargs.vllm.swap_space=4",
        "+a.rollout.engine_kwargs.vllm.enforce_eager=True",
        "~a.rollout.engine_kwargs.vllm.seed=1",
    ]
    words = [Word(REGION, Span(0, 1), Carrier("x", ""), text=t) for t in texts]
    found = wrapped.overridden(words, "shell")
    assert found is not None
    assert [(e.key, e.value) for e in found[1]] == [("swap_space", 4), ("enforce_eager", True)]
    (change,) = resolved([Rename(found[1][1], "async-scheduling")])
    assert isinstance(change, Replace) and change.value == "+a.rollout.engine_kwargs.vllm.async_scheduling=True"


def test_the_device_variable_of_a_wrapper_stays(tmp_path: Path) -> None:
    line = "CUDA_VISIBLE_DEVICES=0 python3 -m dynamo.vllm --model m --swap-space 4\n"
    report = run_text("run.sh", line.encode(), tmp_path, Config(to=("0.33.0",)))
    (devices,) = [f for f in report.findings() if f.code == "VM204"]
    assert devices.fix is None and "Dynamo" in devices.withheld


def test_places_of_a_team_in_manifests(tmp_path: Path) -> None:
    path = own_file(
        tmp_path,
        mappings=[{"at": "spec.engines.*.tuning", "kind": "Fleet", "apiVersion": "corp.example/*"}],
        triggers=["corp.example"],
        **{"own-keys": ["task"], "entry-point": "config"},
    )
    config = Config(to=("0.33.0",), wrappers=(path,))
    fleet = (
        "apiVersion: corp.example/v1\nkind: Fleet\nspec:\n  engines:\n"
        "    - tuning:\n        task: chat\n        swapSpace: 4\n"
        "    - tuning: [--swap-space, '4', --seed, '1']\n"
        "    - tuning: --device cuda --seed 1\n"
        "    - other:\n        swapSpace: 4\n"
    )
    assert sorted(findings("fleet.yaml", fleet, config, tmp_path)) == [
        "VM101 error --device",
        "VM101 error --swap-space",
        "VM101 error --swap-space",
    ]
    assert findings("fleet.yaml", fleet.replace("kind: Fleet", "kind: Other"), config, tmp_path) == []


def test_keywords_packed_into_one_word(tmp_path: Path) -> None:
    path = own_file(tmp_path, programs=[["serve-llm"]], passes="nothing", packed={"--engine": "json"})
    config = Config(to=("0.33.0",), wrappers=(path,), fix=True)
    line = """serve-llm --task chat --engine '{"swap_space": 4, "seed": 1}' --device cuda\n"""
    report = run_text("run.sh", line.encode(), tmp_path, config)
    assert [f.subject for f in report.findings()] == ["--swap-space"]
    fixed = report.files[0].fixed
    assert fixed is not None and fixed.text == line.replace('"swap_space": 4, ', "")


@pytest.mark.parametrize(
    "line",
    [
        "lm_eval --model hf --model_args pretrained=m,swap_space=4\n",
        'lm_eval --model vllm --model_args "pretrained=m,a=[1,2],swap_space=4"\n',
        "lm_eval --model vllm --model_args pretrained=m,device=cuda --device cuda\n",
        'lm_eval --model vllm --model_args "pretrained=$MODEL,swap_space=4"\n',
    ],
)
def test_packed_keywords_that_are_not_judged(line: str, tmp_path: Path) -> None:
    assert findings("run.sh", line, Config(to=("0.33.0",)), tmp_path) == []


def test_the_json_report_names_the_wrapper(tmp_path: Path) -> None:
    from vllm_migrate.output import json as form

    config = Config(to=("0.33.0",))
    report = run_text("run.sh", b"python3 -m dynamo.vllm --model m --swap-space 4\n", tmp_path, config)
    (finding,) = [f for f in json.loads(form.render(report, config))["findings"] if f["code"] == "VM101"]
    assert finding["site"] == {"entry_point": "values", "host": "shell", "wrapper": "an NVIDIA Dynamo worker"}
