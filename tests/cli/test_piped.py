"""Text without a name: what a pipe brings, and a command line after `--`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from standin import Ran, Run

POD = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - image: vllm/vllm-openai:v0.10.0\n      args: [{}]\n"
TEXTS = {
    "manifest": POD.format("--swap-space=4"),
    "list of a cluster": 'apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  spec:\n    containers:\n'
    '    - image: vllm/vllm-openai:v0.10.0\n      args: ["--swap-space=4"]\nkind: List\n',
    "rendered chart": "---\n# Source: llm/templates/pod.yaml\n" + POD.format("--swap-space=4"),
    "compose": "name: llm\nservices:\n  llm:\n    image: vllm/vllm-openai:v0.10.0\n"
    "    command:\n      - --swap-space=4\n",
    "json": json.dumps({"containers": [{"image": "vllm/vllm-openai:v0.10.0", "args": ["--swap-space=4"]}]}),
    "shell": "export A=1\nvllm serve m --swap-space=4\n",
    "shebang": "#!/usr/bin/env bash\nvllm serve m --swap-space=4\n",
    "dockerfile": 'FROM vllm/vllm-openai:v0.10.0\nCMD ["--swap-space=4"]\n',
    "python": "from vllm import LLM\n\nLLM('m', swap_space=4)\n",
}


def text(done: Ran) -> str:
    return done.out.decode()


@pytest.mark.parametrize("what", TEXTS)
def test_a_text_from_a_pipe_is_read_as_what_it_is(real: Run, what: str) -> None:
    done = real("check", "--to", "0.33.0", "--output-format", "concise", "-", stdin=TEXTS[what].encode())
    assert done.status == 1
    assert "VM101" in text(done)


def test_what_a_text_is_read_as_can_be_asked(real: Run) -> None:
    said = "standard input is read as {}; --stdin-filename says otherwise"
    for what in ("dockerfile", "python", "shell"):
        words = ["check", "-v", "--to", "0.33.0", "-"]
        assert said.format(what) in real(*words, stdin=TEXTS[what].encode()).err.splitlines()
        words.remove("-v")
        assert "standard input" not in real(*words, stdin=TEXTS[what].encode()).err
    named = real("check", "-v", "--to", "0.33.0", "--stdin-filename", "a.sh", "-", stdin=TEXTS["shell"].encode())
    assert "standard input" not in named.err
    assert "standard input" not in real("check", "-v", "--to", "0.33.0", "--", "vllm", "serve", "m").err


def test_requirements_from_a_pipe(real: Run) -> None:
    done = real("check", "--to", "0.33.0", "--output-format", "concise", "-", stdin=b"torch>=2\nvllm==0.10.0\n")
    assert "stdin:2:1: VM50" in text(done)


def test_a_command_line_is_checked_as_it_would_run(real: Run) -> None:
    words = ["vllm", "serve", "m", "--swap-space", "4"]
    done = real("check", "--to", "0.33.0", "--output-format", "concise", "--", *words)
    assert (done.status, text(done).splitlines()[0][:22]) == (1, "command:1:14: VM101 [*")


def test_a_command_line_is_rewritten_to_standard_output(real: Run) -> None:
    words = ["vllm", "serve", "m", "--swap-space", "4", "--served-model-name", "two words"]
    done = real("fix", "--to", "0.33.0", "--", *words)
    assert text(done) == "vllm serve m --served-model-name 'two words'\n"


def test_what_lies_in_the_folder_says_nothing_of_a_command_line(real: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("vllm==0.10.0\n")
    done = real("check", "--to", "0.33.0", "--output-format", "json", "--", "vllm", "serve", "m", "--swap-space", "4")
    assert [f["from"] for f in json.loads(text(done))["findings"]] == [None]


def test_a_command_line_that_starts_no_vllm_is_told(real: Run) -> None:
    done = real("check", "--to", "0.33.0", "--", "serve", "m")
    assert done.status == 2
    assert "serve m" in done.err


def test_paths_after_two_dashes_stay_paths(real: Run, tmp_path: Path) -> None:
    (tmp_path / "-odd.sh").write_text("vllm serve m --swap-space 4\n")
    done = real("check", "--to", "0.33.0", "--output-format", "concise", "--", "-odd.sh")
    assert text(done).startswith("-odd.sh:1:14: VM101")
