from __future__ import annotations

import pytest
from pin_cases import context, judge, read

from vllm_migrate.proof import render
from vllm_migrate.rules.dependencies import plugin_changes
from vllm_migrate.rules.specifiers import conflict, ordered, specifier_of


def clash(one: str, two: str) -> bool:
    first, second = specifier_of(one), specifier_of(two)
    assert first is not None and second is not None
    return conflict(first, second)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("<5", ">=5.16.1,<5.21.0"),
        ("==4.57.0", ">=5.5.3"),
        ("==2.11.0", "==2.14.0"),
        ("==2.8.0+cu128", "==2.14.0"),
        ("~=3.4.0", "~=3.8.0"),
        ("^4.40", ">=5.5.3"),
        ("==4.*", ">=5.5.3"),
        (">=5.21", ">=5.16.1,<5.21.0"),
        ("<2,>=1.99", ">=2.25.0"),
        (">3.8,<4", "<3.8"),
    ],
)
def test_ranges_that_exclude_each_other(one: str, two: str) -> None:
    assert clash(one, two) and clash(two, one)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (">=4.50", ">=5.16.1,<5.21.0"),
        (">=5,<6", ">=5.16.1,<5.21.0"),
        ("~=5.10", ">=5.16.1,<5.21.0"),
        ("^5.0", ">=5.5.3"),
        ("==2.14.0", "==2.14"),
        ("==2.14.0+cu130", "==2.14.0"),
        ("==2.*", "==2.14.0"),
        (">5.16,<5.17", ">=5.16.1,<5.21.0"),
        ("!=5.16.1", ">=5.16.1,<5.21.0"),
        ("", "==2.14.0"),
        ("==3.8.*", "~=3.8.0"),
        ("=2.14", "==2.14.0"),
    ],
)
def test_ranges_with_a_common_version(one: str, two: str) -> None:
    assert not clash(one, two) and not clash(two, one)


def test_ranges_are_written_lower_bound_first() -> None:
    spec = specifier_of("<5.21.0,>=5.16.1")
    assert spec is not None and ordered(spec) == ">=5.16.1,<5.21.0"


@pytest.mark.parametrize(
    ("old", "code", "new"),
    [
        ("transformers<5", "VM701", "transformers>=5.16.1,<5.21.0"),
        ("transformers == 4.57.1", "VM701", "transformers >= 5.16.1, < 5.21.0"),
        ("torch==2.11.0", "VM702", "torch==2.14.0"),
        ("torch==2.11.0+cu130", "VM702", "torch==2.14.0+cu130"),
        ("triton==3.6.0  # kernels", "VM703", "triton~=3.8.0  # kernels"),
        ("openai<2", "VM706", "openai>=2.25.0"),
        ("Transformers[x]<5; os_name == 'nt'", "VM701", "Transformers[x]>=5.16.1,<5.21.0; os_name == 'nt'"),
    ],
)
def test_a_requirement_beside_vllm_moves_with_it(old: str, code: str, new: str) -> None:
    text = f"vllm==0.24.0\n{old}\n"
    got = judge("requirements.txt", text)
    assert got.one(code).severity == "error"
    assert got.after() == f"vllm==0.33.0\n{new}\n"


@pytest.mark.parametrize("line", ["transformers>=4.50", "torch", "numpy<2", "requests==2.0", "torch==2.14.0"])
def test_what_can_be_satisfied_is_not_reported(line: str) -> None:
    assert judge("requirements.txt", f"vllm==0.33.0\n{line}\n").findings == []


def test_a_file_without_vllm_is_left_alone() -> None:
    assert judge("requirements.txt", "transformers<5\ntorch==2.8.0\n").findings == []


def test_a_dependency_does_not_move_where_vllm_stays() -> None:
    # CUDA 12 to 13: vLLM's own move asks a person, and torch must not go ahead of it.
    text = "vllm==0.11.0\ntorch==2.8.0\n"
    got = judge("requirements.txt", text)
    assert got.after() == text
    assert got.after(unsafe=True) == "vllm==0.33.0\ntorch==2.14.0\n"


def test_a_dependency_is_held_back_by_a_pin_that_cannot_move() -> None:
    got = judge("requirements.txt", "vllm==0.24.0 --hash=sha256:" + "a" * 64 + "\ntorch==2.11.0\n")
    assert got.one("VM702").fix is None and "hash" in got.one("VM702").withheld


def test_in_an_image_of_vllm() -> None:
    text = "FROM vllm/vllm-openai:v0.24.0\nRUN pip install 'transformers<5'\n"
    got = judge("Dockerfile", text)
    assert got.after() == (
        "FROM vllm/vllm-openai:v0.33.0\nRUN pip install 'transformers>=5.16.1,<5.21.0'\n"
    )


def test_another_stage_needs_a_person() -> None:
    text = (
        "FROM python:3.12 AS tools\nRUN pip install 'transformers<5'\n"
        "FROM vllm/vllm-openai:v0.33.0\nCOPY --from=tools /x /x\n"
    )
    found = judge("Dockerfile", text).one("VM701")
    assert found.fix is not None and found.fix.safety == "unsafe"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('requires-python = ">=3.9,<3.11"', 'requires-python = ">=3.11,<3.15"'),
        ('requires-python = "==3.10.*"', 'requires-python = "==3.11.*"'),
    ],
)
def test_a_python_that_the_target_does_not_run_on(text: str, after: str) -> None:
    form = '[project]\nname = "x"\nversion = "1"\n{}\ndependencies = ["vllm==0.33.0"]\n'
    got = judge("pyproject.toml", form.format(text))
    assert got.one("VM704").severity == "error"
    assert got.after() == form.format(text)
    assert got.after(unsafe=True) == form.format(after)


def test_a_project_that_promises_more_than_vllm_runs_on() -> None:
    text = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.10"\ndependencies = ["vllm==0.33.0"]\n'
    got = judge("pyproject.toml", text)
    assert got.one("VM704").severity == "info"
    assert got.after(unsafe=True) == text.replace(">=3.10", ">=3.11")


def test_a_python_image_and_an_interpreter() -> None:
    text = "FROM python:3.10-slim\nRUN pip install vllm==0.33.0\n"
    assert judge("Dockerfile", text).after(unsafe=True) == text.replace("3.10", "3.11")
    text = "uv pip install --python 3.10 vllm==0.33.0\n"
    assert judge("x.sh", text).after(unsafe=True) == text.replace("3.10", "3.11")
    for fine in ("--python 3.12", "--python python3", "--python .venv/bin/python"):
        assert judge("x.sh", f"uv pip install {fine} vllm==0.33.0\n").findings == []


def test_the_distributions_own_python() -> None:
    text = "FROM ubuntu:22.04\nRUN apt-get install -y python3 python3-pip\nRUN pip install vllm==0.33.0\n"
    assert judge("Dockerfile", text).one("VM704").fix is None
    assert judge("Dockerfile", text, "0.24.0").codes == ["VM505"]
    for fine in (text.replace("22.04", "24.04"), text.replace("RUN pip", "RUN uv venv --python 3.12 && pip")):
        assert judge("Dockerfile", fine).findings == []


def test_ray_extras_go() -> None:
    text = "vllm==0.32.0\nray[cgraph,default]>=2.48\n"
    got = judge("requirements.txt", text)
    assert got.one("VM401").severity == "info"
    assert got.after() == "vllm==0.33.0\nray[default]>=2.48\n"
    assert "VM401" not in judge("requirements.txt", "vllm==0.24.0\nray[cgraph]\n", "0.32.0").codes


def test_leftovers_are_named() -> None:
    got = judge("requirements.txt", "vllm==0.33.0\nflashinfer-cubin==0.6.12\n")
    assert (got.one("VM706").severity, got.one("VM706").fix) == ("warning", None)


def plugin(path: str, text: str, name: str = "gguf", target: str = "0.33.0") -> str | None:
    source, reading = read(path, text)
    fix = plugin_changes(context(source, reading, target), name)
    return None if fix is None else source.with_edits(render(fix.changes)).text


def test_a_plugin_goes_beside_vllms_requirement() -> None:
    assert plugin("requirements.txt", "vllm==0.33.0\nx\n") == "vllm==0.33.0\nvllm-gguf-plugin\nx\n"
    assert plugin("a.sh", "pip install vllm==0.33.0\n") == "pip install vllm==0.33.0 vllm-gguf-plugin\n"
    assert plugin("requirements.txt", "vllm==0.33.0\n", "bitsandbytes") == "vllm==0.33.0\nvllm-bnb-plugin\n"


def test_a_plugin_comes_with_the_release_that_needs_it() -> None:
    assert plugin("requirements.txt", "vllm==0.20.0\n") == "vllm==0.33.0\nvllm-gguf-plugin\n"


def test_a_plugin_becomes_a_step_of_an_image_built_on_vllm() -> None:
    text = "FROM vllm/vllm-openai:v0.33.0\nCOPY x /x\n"
    step = "RUN uv pip install --system vllm-gguf-plugin\n"
    assert plugin("Dockerfile", text) == text.replace("COPY", step + "COPY")


@pytest.mark.parametrize(
    ("text", "target"),
    [("vllm==0.20.0\n", "0.20.0"), ("vllm==0.33.0\nvllm_gguf_plugin\n", "0.33.0"), ("torch\n", "0.33.0")],
)
def test_no_plugin_where_none_is_needed_or_none_has_a_place(text: str, target: str) -> None:
    assert plugin("requirements.txt", text, target=target) is None
