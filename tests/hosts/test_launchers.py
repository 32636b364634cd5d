"""Programs that run a launch given to them: what is found in their words and strings."""

from __future__ import annotations

import pytest
from small_hosts import env, pins, read, words

from vllm_migrate.hosts import ini, json, makefile, shell, toml
from vllm_migrate.launch import find_launch


@pytest.mark.parametrize(
    "line",
    [
        'tmux send-keys -t x "vllm serve m --a 1" C-m',
        'screen -S x -X stuff "vllm serve m --a 1\\n"',
        "screen -S x -X stuff 'vllm serve m --a 1^M'",
        'sbatch --wrap="vllm serve m --a 1"',
        'sbatch --wrap "vllm serve m --a 1"',
        'gcloud compute ssh vm --command="vllm serve m --a 1"',
        "conda run -n vllm vllm serve m --a 1",
        "parallel vllm serve m --a 1 ::: 8000 8001",
        "kubectl run x --image=a/b:1 -- vllm serve m --a 1",
        "kubectl run x --image=a/b:1 --command -- vllm serve m --a 1",
        "docker exec vllm vllm serve m --a 1",
        "uv run --with vllm==0.11.0 vllm serve m --a 1",
    ],
)
def test_lines(line: str) -> None:
    found = read(shell, line + "\n", "run.sh")
    assert [words(found, i) for i in range(len(found.sites))] == [["m", "--a", "1"]]
    assert all(p.kind != "image" or "vllm-openai" in p.whole or "a/b" in p.whole for p in found.pins)
    assert found.sites[0].variables == []


@pytest.mark.parametrize(
    "line",
    [
        "apptainer run --nv --bind /a:/b docker://vllm/vllm-openai:v0.9.0 --model m",
        "singularity run --env A=b vllm-openai_v0.9.0.sif --model m",
        "kubectl run x --image=vllm/vllm-openai:v0.9.0 -- --model m",
        "kubectl run x --image vllm/vllm-openai:v0.9.0 -- --model m",
        "docker service create --replicas 2 vllm/vllm-openai:v0.9.0 --model m",
        "docker compose run vllm --model m",
        "torchrun --nproc 2 -m vllm.entrypoints.openai.api_server --model m",
    ],
)
def test_what_an_image_or_module_starts(line: str) -> None:
    found = read(shell, line + "\n", "run.sh")
    assert [words(found, i) for i in range(len(found.sites))] == [["--model", "m"]]


@pytest.mark.parametrize("line", ["conda install vllm serve", "echo -m vllm serve m", "apptainer build x.sif vllm.def"])
def test_no_launches(line: str) -> None:
    assert find_launch(line.split()) is None


def test_what_parallel_fills_in_is_not_known() -> None:
    found = read(shell, 'parallel "vllm serve m --port 80{} --b {1}" ::: 1 2\n', "run.sh")
    assert [w.spelled() for w in found.sites[0].words if not w.literal] == ["80{}", "{1}"]


def test_a_variable_that_keeps_its_outer_value() -> None:
    found = read(shell, "export K=${K}\nvllm serve m --api-key ${K} --b\n", "run.sh")
    assert words(found) == ["m", "--api-key", "${K}", "--b"]


def test_a_configuration_the_script_writes_itself() -> None:
    found = read(shell, "cat > c.yaml <<EOF\nswap-space: 4\nEOF\nvllm serve m --config c.yaml\n", "run.sh")
    assert sorted(s.entry_point for s in found.sites) == ["config", "serve"]
    assert read(shell, "cat > c.yaml <<EOF\nswap-space: 4\nEOF\nother --config d.yaml\n", "run.sh").sites == []


def test_options_that_a_makefile_keeps_in_a_variable() -> None:
    text = (
        "ARGS = --a 1 \\\n  --b\nIMAGE := vllm/vllm-openai:v0.9.0\n"
        "serve:\n\tvllm serve m $(ARGS)\nrun:\n\tdocker run $(IMAGE) $(ARGS)\n"
    )
    found = read(makefile, text, "Makefile")
    assert [words(found, 0), words(found, 1)] == [["m", "--a", "1", "--b"], ["--a", "1", "--b"]]
    assert found.sites[0].words[1] is found.sites[1].words[0]
    assert pins(found) == ["vllm/vllm-openai:v0.9.0"]


@pytest.mark.parametrize("more", ["x:\n\tother $(ARGS)\n", "B = $(ARGS) --c\n"])
def test_options_that_something_else_gets_too_are_locked(more: str) -> None:
    found = read(makefile, f"ARGS = --a 1\nserve:\n\tvllm serve m $(ARGS)\n{more}", "Makefile")
    assert [bool(w.locked) for w in found.sites[0].words] == [False, True, True]


def test_exported_variables() -> None:
    make = read(makefile, "export VLLM_X = 1\nexport PATH\nserve:\n\tvllm serve m\n", "Makefile")
    just = read(makefile, 'export VLLM_X := "1"\n\nserve:\n    vllm serve m\n', "justfile")
    assert env(make) == env(just) == {"VLLM_X": "1"}


def test_a_units_container_and_its_image() -> None:
    text = (
        "[Service]\nExecStartPre=/usr/bin/docker pull vllm/vllm-openai:v0.9.0\n"
        "ExecStart=/usr/bin/docker run -e A=1 --env=B=2 vllm/vllm-openai:v0.9.0 --model m\n"
    )
    found = read(ini, text, "vllm.service")
    assert env(found) == {"A": "1", "B": "2"}
    assert pins(found) == ["vllm/vllm-openai:v0.9.0"] * 2


def test_services_of_toml() -> None:
    text = '[s]\nimage = "vllm/vllm-openai:v0.9.0"\nargs = ["--a"]\n[s.env]\nVLLM_X = "1"\n[t]\nargs = ["--a"]\n'
    found = read(toml, text, "x.toml")
    assert [words(found)] == [["--a"]]
    assert env(found) == {"VLLM_X": "1"} and pins(found) == ["vllm/vllm-openai:v0.9.0"]


@pytest.mark.parametrize(
    "text",
    [
        '{"program": "/usr/bin/vllm", "args": ["serve", "m", "--a"]}',
        '{"command": "vllm", "args": ["serve", "m", "--a"]}',
        '{"module": "vllm.entrypoints.cli.main", "args": ["serve", "m", "--a"]}',
        '{"command": "python3", "args": ["-m", "vllm.entrypoints.cli.main", "serve", "m", "--a"]}',
    ],
)
def test_a_program_beside_its_arguments(text: str) -> None:
    assert words(read(json, f'{{"x": [{text}]}}', "launch.json")) == ["m", "--a"]


@pytest.mark.parametrize(
    "text",
    [
        '{"image": "vllm/vllm-openai:v0.9.0", "runArgs": ["--gpus", "all", "--device", "x"]}',
        '{"name": "vllm", "program": "x", "dockerArgs": "--gpus all"}',
    ],
)
def test_options_of_what_runs_a_container(text: str) -> None:
    assert read(json, text, "devcontainer.json").sites == []
