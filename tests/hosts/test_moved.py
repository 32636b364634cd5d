"""A version that is the value of a name is changed where the value is written."""

from __future__ import annotations

import pytest
from small_hosts import read, render

from vllm_migrate.hosts import dockerfile, makefile
from vllm_migrate.model import CannotRender, InsertText, Pin, Reading, Replace

ONCE = "used more than once in one reference"


def last(reading: Reading) -> Pin:
    return [*reading.pins, *(p for s in reading.sites for p in s.pins)][-1]


@pytest.mark.parametrize(
    ("text", "name", "parts", "locked"),
    [
        ("ARG V=0.11.0\nFROM a/vllm:v${V}\n", "V", ("a/vllm:v", "0.11.0", ""), ""),
        ('ARG V="0.11.0"\nFROM a/vllm:v$V-cu129\n', "V", ("a/vllm:v", "0.11.0", "-cu129"), ""),
        ("ARG A=0.11.0\nARG B=v$A\nFROM a/vllm:$B\n", "A", ("a/vllm:v", "0.11.0", ""), ""),
        ("FROM a/vllm:${V:-v0.11.0}\n", "", ("a/vllm:", "v0.11.0", ""), ""),
        ("ARG V=0.11.0\nFROM a/vllm:v${V:-0.10.0}\n", "V", ("a/vllm:v", "0.11.0", ""), ""),
        ("ARG A=0\nARG B=11.0\nFROM a/vllm:v$A.$B\n", "B", ("a/vllm:v0.", "11.0", ""), ""),
        ("ARG I=a/vllm\nARG T=v0.11.0\nFROM $I:$T\n", "T", ("a/vllm:", "v0.11.0", ""), ""),
        ("ARG I=a/vllm:v0.11.0\nFROM $I\n", "I", ("", "a/vllm:v0.11.0", ""), ""),
        ("FROM a\nENV V=0.11.0\nRUN pip install vllm[x]==${V}\n", "V", ("vllm[x]==", "0.11.0", ""), ""),
        ("FROM a\nARG C=cu129\nRUN pip install -i https://h/$C\n", "-i", ("https://h/", "cu129", ""), ""),
        ("FROM a\nARG V=v0.11.0\nRUN git clone -b $V https://github.com/x/vllm\n", "V", ("", "v0.11.0", ""), ""),
        ("FROM a\nRUN pip install vllm==${V:-0.11.0}\n", "V", ("vllm==", "0.11.0", ""), ""),
        ("FROM a\nARG C=cu129\nARG I=https://h/$C/x\nRUN pip install -i $I\n", "-i", ("https://h/", "cu129", "/x"), ""),
        ("FROM a\nARG A=0.11.0\nRUN docker build --build-arg V=$A .\n", "V", ("", "V=$A", ""), ""),
        # A change of the value would change both places.
        (
            "FROM a\nARG V=0.11.0\nRUN pip install https://h/vllm-$V-cp38-$V.whl\n",
            "V",
            ("https://h/vllm-", "0.11.0", "-cp38-0.11.0.whl"),
            ONCE,
        ),
        ("ARG V=0.11.0\nFROM a/vllm:v$V-$V\n", "V", ("a/vllm:v", "0.11.0", "-0.11.0"), ONCE),
        ("FROM a\nARG A=0\nARG B=11.0\nRUN pip install vllm==$A.$B\n", "B", ("vllm==0.", "11.0", ""), ""),
        # Part of it is not known.
        ("FROM a\nARG V=0.11.0\nRUN pip install vllm==$V+cu$C\n", "", ("", "vllm==$V+cu$C", ""), ""),
        ("ARG V\nFROM a/vllm:v$V\n", "", ("", "a/vllm:v$V", ""), ""),
        ("ARG V=0.11.0\nARG X\nFROM $X/vllm:v$V\n", "", ("", "$X/vllm:v$V", ""), ""),
    ],
)
def test_the_pin_lies_on_the_value(text: str, name: str, parts: tuple[str, str, str], locked: str) -> None:
    pin = last(read(dockerfile, text, "Dockerfile"))
    span = pin.region.span(pin.span.start, pin.span.end)
    assert span is not None
    assert (pin.prefix, text[span.start : span.end], pin.suffix) == parts
    assert (pin.name, pin.locked) == (name, locked)
    if not pin.holes and not locked:
        assert render(read(dockerfile, text, "Dockerfile"), text, [Replace(pin, pin.text)]) == text


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("ARG V=0.11.0\nFROM a/vllm:v${V}\n", "0.11.0", "0.33.0"),
        ("ARG V='0.11.0' # why\nFROM a/vllm:v$V\n", "0.11.0", "0.33.0"),
        ("FROM a/vllm:${V:-v0.11.0}\n", "v0.11.0", "v0.33.0"),
        ("FROM a\nARG V=0.11.0\nRUN pip install \\\n    vllm==${V}\n", "0.11.0", "0.33.0"),
    ],
)
def test_the_value_is_written(text: str, old: str, new: str) -> None:
    for whole in (text, text.replace("\n", "\r\n")):
        reading = read(dockerfile, whole, "Dockerfile")
        assert render(reading, whole, [Replace(last(reading), new)]) == whole.replace(old, new)
        for odd in ("0.33.0 x", 'a"b', "it's", "a\\b"):
            with pytest.raises(CannotRender, match="cannot be written in this format"):
                render(reading, whole, [Replace(last(reading), odd)])


def test_another_requirement_stands_beside_the_first_not_beside_the_value() -> None:
    text = "FROM a\nARG V=0.11.0\nRUN pip install vllm==${V}\n"
    reading = read(dockerfile, text, "Dockerfile")
    pin = last(reading)
    after = render(reading, text, [Replace(pin, "0.33.0"), InsertText(pin, "requirement", "ray")])
    assert after == text.replace("0.11.0", "0.33.0").replace("${V}", "${V} ray")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("V = 0.11.0\nall:\n\tpip install vllm==$(V)\n", ("vllm==", "0.11.0", "")),
        ("V := v0.11.0\nI = a/vllm:$(V)-x\nall:\n\tdocker run $(I) --model m\n", ("a/vllm:", "v0.11.0", "-x")),
    ],
)
def test_variables_of_make(text: str, parts: tuple[str, str, str]) -> None:
    reading = read(makefile, text, "Makefile")
    pin = last(reading)
    assert (pin.prefix, pin.text, pin.suffix) == parts
    assert render(reading, text, [Replace(pin, "9.9.9")]) == text.replace(parts[1], "9.9.9")
