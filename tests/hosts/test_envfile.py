from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_hosts import check_identity, read, render

from vllm_migrate.hosts import envfile
from vllm_migrate.model import InsertVariable, Remove, Rename, Replace

TEXT = """\
# what compose reads
VLLM_IMAGE=vllm/vllm-openai:v0.17.1  # pinned
export VLLM_USE_V1="1"
HF_TOKEN='a b'
# VLLM_OLD=1
EMPTY=
ARGS=--max-model-len 8192 --x=$HOME
"""


def test_what_is_read() -> None:
    found = read(envfile, TEXT, ".env")
    assert {v.name: v.spelled() for v in found.variables} == {
        "VLLM_IMAGE": "vllm/vllm-openai:v0.17.1",
        "VLLM_USE_V1": "1",
        "HF_TOKEN": "a b",
        "EMPTY": "",
        "ARGS": "--max-model-len 8192 --x=$HOME",
    }
    assert [(p.kind, p.text, p.name) for p in found.pins] == [("image", "vllm/vllm-openai:v0.17.1", "VLLM_IMAGE")]
    assert found.sites == []
    check_identity(found, TEXT)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_changes(newline: str) -> None:
    text = TEXT.replace("\n", newline)
    found = read(envfile, text, ".env")
    by_name = {v.name: v for v in found.variables}
    after = render(
        found,
        text,
        [
            Replace(found.pins[0], "vllm/vllm-openai:v0.33.0"),
            Remove(by_name["VLLM_USE_V1"]),
            Replace(by_name["HF_TOKEN"], "c d"),
            Rename(by_name["EMPTY"], "STILL_EMPTY"),
            InsertVariable(found.variables[0].container, "NEW", "1", after=by_name["VLLM_IMAGE"]),
        ],
    )
    assert after == (
        TEXT.replace("v0.17.1", "v0.33.0")
        .replace('export VLLM_USE_V1="1"\n', "NEW=1\n")
        .replace("'a b'", "'c d'")
        .replace("EMPTY", "STILL_EMPTY")
    ).replace("\n", newline)


def test_a_name_that_only_sounds_like_an_image() -> None:
    assert read(envfile, "LIMIT_IMAGE=4\nURL=http://a:80/b:c\nIMAGE=${REPO}:v1\n", ".env").pins == []


@given(st.text(st.characters(codec="ascii", exclude_characters="\r\n\0"), max_size=12))
def test_a_value_that_is_written_is_read_again(value: str) -> None:
    for text in ("A=1\n", 'A="1"\n', "A='1'  # note\n"):
        found = read(envfile, text, ".env")
        after = render(found, text, [Replace(found.variables[0], value)])
        assert read(envfile, after, ".env").variables[0].value == value
