from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_hosts import check_identity, read, render

from vllm_migrate.hosts import envfile
from vllm_migrate.model import CannotRender, InsertText, InsertVariable, Remove, Rename, Replace

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


@pytest.mark.parametrize(
    ("line", "pin"),
    [
        ("VLLM_IMAGE=vllm/vllm-openai:v0.9.0", "vllm/vllm-openai:v0.9.0"),
        ("IMAGE='reg.io:5000/a/vllm:0.9'  # why", "reg.io:5000/a/vllm:0.9"),
        ('export my_image="vllm/vllm-openai:v0.9.0@sha256:ab"', "vllm/vllm-openai:v0.9.0@sha256:ab"),
        ("VLLM_VERSION=0.9.0", "0.9.0"),
        ('VLLM_IMAGE_TAG="v0.9.0-cu129"', "v0.9.0-cu129"),
        ("VLLM_TAG=v0.9.0", "v0.9.0"),
        ("VLLM_TAG=latest", None),
        ("VLLM_TAG=v0.9.0 or so", None),
        ("VLLM_TAG=v0.9.$PATCH", None),
        ("VLLM_TAGS=v0.9.0", None),
        ("TAG=v0.9.0", None),
        ("VERSION_VLLM=0.9.0", None),
        ("VLLM_IMAGE=vllm/vllm-openai", None),
        ("VLLM_IMAGE=see vllm/vllm-openai:v0.9.0", None),
        ("IMAGES=vllm/vllm-openai:v0.9.0", None),
        ('VLLM_TAG=v0.9."0"', None),
        ("# VLLM_TAG=v0.9.0", None),
    ],
)
def test_what_names_a_version(line: str, pin: str | None) -> None:
    text = f"A=1\n{line}\nB=2\n"
    found = read(envfile, text, ".env")
    assert [p.text for p in found.pins] == ([] if pin is None else [pin])
    check_identity(found, text)
    for one in found.pins:
        assert bool(one.locked) is ("@" in one.text)
        assert render(found, text, [Replace(one, "x:1")]) == text.replace(one.text, "x:1")


@pytest.mark.parametrize(
    ("text", "after"),
    [("A=1\n", "A=1\nN=v w\n"), ("A=1", "A=1\nN=v w\n"), ("A=1\r\nB=2\r\n", "A=1\r\nB=2\r\nN=v w\r\n")],
)
def test_a_variable_is_added_at_the_end(text: str, after: str) -> None:
    found = read(envfile, text, ".env")
    home = found.variables[0].container
    assert render(found, text, [InsertVariable(home, "N", "v w")]) == after.replace("v w", '"v w"')


def test_a_variable_is_added_behind_the_last_line() -> None:
    found = read(envfile, "A=1\nB=2", ".env")
    first, last = found.variables
    added = [InsertVariable(v.container, "N" + v.name, "3", after=v) for v in (first, last)]
    assert render(found, "A=1\nB=2", added) == "A=1\nNA=3\nB=2\nNB=3"


@pytest.mark.parametrize(("value", "after"), [("--y=\ue000", "A=--y=$HOME\n"), ("a b \ue000", 'A="a b $HOME"\n')])
def test_what_is_filled_in_stays(value: str, after: str) -> None:
    text = "A=--x=$HOME\n"
    found = read(envfile, text, ".env")
    assert render(found, text, [Replace(found.variables[0], value)]) == after
    other = render(found, text, [Replace(found.variables[0], value, ("${B}",))])
    assert other == after.replace("$HOME", "${B}")


def test_names_of_properties_may_have_dots() -> None:
    text = "a.b=1\nspring.VLLM_X = 2\nVLLM_TAG=v0.9.0\n"
    assert [v.name for v in read(envfile, text, "app.properties").variables] == ["a.b", "VLLM_TAG"]
    assert [v.name for v in read(envfile, text, ".env").variables] == ["VLLM_TAG"]


def test_a_line_that_changes_and_goes_only_goes() -> None:
    text = "A=1\nB=2\n"
    found = read(envfile, text, ".env")
    gone = found.variables[0]
    assert render(found, text, [Replace(gone, "2"), Remove(gone)]) == "B=2\n"
    with pytest.raises(CannotRender):
        render(found, text, [InsertText(gone, "step", "x")])
