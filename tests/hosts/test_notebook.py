"""Cells and magics of notebooks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from small_hosts import env, pins, read, words

from vllm_migrate.hosts import notebook
from vllm_migrate.model import Reading


def of(*cells: str | list[str], metadata: dict[str, Any] | None = None) -> Reading:
    data = {
        "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells],
        "metadata": metadata or {},
        "nbformat": 4,
    }
    return read(notebook, json.dumps(data, indent=1), "a.ipynb")


def test_cells_are_one_module_in_order() -> None:
    found = of("from vllm import LLM\nkw = {'swap_space': 4}", "!ls", "llm = LLM('m', **kw)")
    assert {e.key: e.value for e in found.sites[0].entries}["swap_space"] == 4


def test_a_cell_that_does_not_parse_hides_no_other() -> None:
    found = of("from vllm import LLM", "this is no Python (", "llm = LLM('m', swap_space=4)")
    assert [s.entry_point for s in found.sites] == ["LLM"]


@pytest.mark.parametrize(
    "cell",
    [
        "!vllm serve m --a 1 &",
        "!!vllm serve m --a 1 &",
        "out = !vllm serve m --a 1 &",
        "%sx vllm serve m --a 1 &",
        "if True:\n    !vllm serve m \\\n        --a 1 &\nx = 1",
        "%%bash\nvllm serve m --a 1",
        "%%sh\nvllm serve m --a 1",
        "%%script bash --bg\nvllm serve m --a 1",
        "\n%%bash --bg\n\nvllm serve m --a 1",
        "%%writefile run.sh\nvllm serve m --a 1",
        "%%capture out\n!vllm serve m --a 1",
        "import os\nos.system('vllm serve m --a 1')",
    ],
)
def test_commands(cell: str) -> None:
    found = of(cell)
    assert [(s.entry_point, words(found)) for s in found.sites] == [("serve", ["m", "--a", "1"])]


@pytest.mark.parametrize(
    "cell",
    [
        "%%html\n<p>vllm serve m --a 1</p>",
        "text = '''\n!vllm serve m --a 1\n'''\nx = !ls",
        "# !vllm serve m --a 1\n!ls",
        "%%writefile notes.txt\nvllm serve m --a 1",
        "vllm?",
        'print("a = !vllm serve m --a 1")\n!ls',
        "x = [\n!vllm serve m --a 1\n]\n!ls",
        "x = '!vllm serve m --a 1'\n!ls",
        "%%capture\n%%bash\nvllm serve m --a 1",
    ],
)
def test_no_commands(cell: str) -> None:
    assert of(cell).sites == []


def test_values_of_python_in_a_command_are_run_time_parts() -> None:
    found = of("!vllm serve {args.model} --a {n[0]} --b '{\"k\": 1}' --c ${HOME} $name")
    assert words(found) == ["${_part_0}", "--a", "${_part_1}", "--b", '{"k": 1}', "--c", "${HOME}", "$name"]
    assert [w.literal for w in found.sites[0].words] == [False, True, False, True, True, True, False, False]


@pytest.mark.parametrize("magic", ["%pip", "!pip", "!pip3", "!python -m pip", "%uv pip", "!uv pip", "pip"])
def test_installs(magic: str) -> None:
    assert pins(of(f"{magic} install -q vllm==0.11.0")) == ["vllm==0.11.0"]


def test_the_kernels_environment_reaches_calls() -> None:
    found = of("%env VLLM_USE_V1=1\n%set_env VLLM_X two\n%env VLLM_Y=$HOME\n%env", "import vllm\nvllm.LLM('m')")
    assert env(found) == {"VLLM_USE_V1": "1", "VLLM_X": "two"}


@pytest.mark.parametrize(
    ("metadata", "shell", "python"),
    [
        ({}, False, True),
        ({"language_info": {"name": "python"}}, False, True),
        ({"kernelspec": {"name": "conda-env-x-py"}}, False, True),
        ({"kernelspec": {"name": "venv"}}, False, True),
        ({"kernelspec": {"name": "pysparkkernel"}}, False, True),
        ({"kernelspec": {"name": "Bash"}}, True, False),
        ({"kernelspec": {"language": "sh", "name": "python3"}}, True, False),
        ({"kernelspec": {"language": "zsh"}}, True, False),
        ({"language_info": {"name": "shell"}}, True, False),
        ({"language_info": {"name": "julia"}, "kernelspec": {"language": "python"}}, False, False),
    ],
)
def test_what_a_kernel_runs(metadata: dict[str, Any], shell: bool, python: bool) -> None:
    found = of("vllm serve m --a 1", "!vllm serve n --a 1", metadata=metadata)
    assert [words(found, i)[0] for i in range(len(found.sites))] == (["m"] if shell else ["n"] if python else [])


def test_notebooks_of_the_third_format() -> None:
    text = '{"worksheets": [{"cells": [{"cell_type": "code", "input": ["!vllm serve m"]}, {"cell_type": "markdown"}]}]}'
    assert words(read(notebook, text, "a.ipynb")) == ["m"]


def test_magics_are_no_obstacle() -> None:
    found = of(
        "%load_ext x\nfrom vllm import LLM\nif a:\n    %time b()\nelse:\n    !ls \\\n       c\nfiles = %ls\nb?\n"
        "text = '''\n%x\n'''\nLLM('m', swap_space=4)"
    )
    assert {e.key: e.value for e in found.sites[0].entries}["swap_space"] == 4


def test_other_kernels() -> None:
    assert of("vllm serve m --a 1", metadata={"kernelspec": {"language": "bash"}}).sites[0].entry_point == "serve"
    assert of("!vllm serve m --a 1", metadata={"language_info": {"name": "R"}}).sites == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"cells": 3}',
        '{"cells": [3, {"cell_type": "code"}, {"cell_type": "code", "source": {"a": "vllm"}}]}',
        '{"cells": [{"cell_type": "code", "source": [1, "vllm"]}]}',
        '{"cells": [{"cell_type": "code", "source": ["',
        '{"cells": [{"cell_type": "code", "source": []}]}',
        '{"worksheets": [{"cells": [{"cell_type": "code", "input": ["import vllm"]}]}]}',
    ],
)
def test_odd_files_are_read(text: str) -> None:
    assert read(notebook, text, "a.ipynb").sites == []
