"""The steps of `diff --split`: what stands in each, in which order, and the text after it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vllm_migrate.config import Config
from vllm_migrate.engine import run
from vllm_migrate.findings import Finding, Step
from vllm_migrate.steps import joined, steps
from vllm_migrate.text import Source, Span
from vllm_migrate.units import Part, Unit

PINNED = "services:\n  a:\n    image: vllm/vllm-openai:{}\n    command: --model m {}\n"
SHARED = 'ARGS="--swap-space 4 --port 1"\nvllm serve m/x $ARGS\nvllm serve m/y $ARGS\nvllm serve z --swap-space 3\n'

CASES: dict[str, tuple[dict[str, str], str, list[tuple[str, list[str], dict[str, str]]]]] = {
    "one a rule, in order of codes": (
        {"b.sh": "VLLM_USE_V1=1 vllm serve m --swap-space 4\n", "a.sh": "vllm serve m --swap-space 4\n"},
        "rule",
        [
            (
                "VM101",
                ["a.sh:1 --swap-space", "b.sh:1 --swap-space"],
                {"a.sh": "vllm serve m\n", "b.sh": "VLLM_USE_V1=1 vllm serve m\n"},
            ),
            ("VM403", ["b.sh:1 VLLM_USE_V1"], {"b.sh": "vllm serve m\n"}),
        ],
    ),
    "one a launch, in order of places": (
        {"b.sh": "VLLM_USE_V1=1 vllm serve m --swap-space 4\nvllm serve x --swap-space 5\n"},
        "launch",
        [
            (
                "b.sh:0",
                ["b.sh:1 VLLM_USE_V1", "b.sh:1 --swap-space"],
                {"b.sh": "vllm serve m\nvllm serve x --swap-space 5\n"},
            ),
            ("b.sh:1", ["b.sh:2 --swap-space"], {"b.sh": "vllm serve m\nvllm serve x\n"}),
        ],
    ),
    "what needs the pin is told with its rule": (
        {"c.yaml": PINNED.format("v0.10.0", "--guided-decoding-backend xgrammar --swap-space 4")},
        "rule",
        [
            (
                "VM101",
                ["c.yaml:4 --swap-space"],
                {"c.yaml": PINNED.format("v0.10.0", "--guided-decoding-backend xgrammar")},
            ),
            (
                "VM501",
                ["c.yaml:3 vllm/vllm-openai:v0.10.0", "c.yaml:4 --guided-decoding-backend"],
                {"c.yaml": PINNED.format("v0.33.0", "--structured-outputs-config.backend xgrammar")},
            ),
        ],
    ),
    "a pin that one launch runs on goes with it": (
        {"c.yaml": PINNED.format("v0.10.0", "--swap-space 4")},
        "launch",
        [
            (
                "c.yaml:0",
                ["c.yaml:3 vllm/vllm-openai:v0.10.0", "c.yaml:4 --swap-space"],
                {"c.yaml": PINNED.format("v0.33.0", "").replace(" \n", "\n")},
            )
        ],
    ),
    "a pin of several launches and a text that launches share": (
        {"s.sh": SHARED, "requirements.txt": "vllm==0.10.0\n"},
        "launch",
        [
            ("requirements.txt", ["requirements.txt:1 vllm==0.10.0"], {"requirements.txt": "vllm==0.33.0\n"}),
            ("s.sh:0", ["s.sh:1 --swap-space", "s.sh:1 --swap-space"], {"s.sh": SHARED.replace("--swap-space 4 ", "")}),
            (
                "s.sh:2",
                ["s.sh:4 --swap-space"],
                {"s.sh": SHARED.replace("--swap-space 4 ", "").replace(" --swap-space 3", "")},
            ),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_steps(name: str, tmp_path: Path) -> None:
    files, by, wanted = CASES[name]
    for path, text in files.items():
        (tmp_path / path).write_text(text)
    report = run([tmp_path], tmp_path, Config(to=("0.33.0",), fix=True, unsafe_fixes=True, split=by))
    got = [
        (
            step.key,
            [f"{f.path}:{step.places[id(f)]} {f.subject}" for f in step.findings],
            {path: after.text for path, (_, after) in step.texts.items()},
        )
        for step in report.steps
    ]
    assert got == wanted
    before = dict(files)
    for step in report.steps:
        for path, (old, new) in step.texts.items():
            assert old.text == before[path]
            before[path] = new.text


def unit(codes: str) -> Unit:
    found = [Finding(code, "error", code, "gone", "a.sh", Span(0, 1), "0.33.0") for code in codes]
    return Unit([Part("a.sh", findings=found)])


def made(render: Any, *codes: str) -> list[tuple[str, list[str], str]]:
    file = SimpleNamespace(source=Source("a.sh", b"old"), reading=SimpleNamespace(sites=[]))
    tree: Any = SimpleNamespace(files={"a.sh": file})
    found = steps(tree, [unit(c) for c in codes], "rule", render)
    return [(s.key, [f.code for f in s.findings], s.texts["a.sh"][1].text) for s in found]


def test_what_does_not_prove_alone_waits_for_what_it_proves_with() -> None:
    def render(path: str, parts: Sequence[Part]) -> Source | None:
        codes = "".join(f.code for p in parts for f in p.findings)
        return None if codes == "A" else Source(path, codes.encode())

    assert made(render, "A", "B", "C") == [("B", ["A", "B"], "AB"), ("C", ["C"], "ABC")]
    assert made(lambda *_: None, "A", "B") == []
    assert made(lambda path, parts: Source(path, b"new" if len(parts) > 1 else b"old"), "A", "B") == [
        ("B", ["B"], "new")
    ]


def test_what_goes_together_is_told_with_the_first_of_its_rules() -> None:
    def render(path: str, parts: Sequence[Part]) -> Source:
        return Source(path, "".join(f.code for p in parts for f in p.findings).encode())

    assert made(render, "B", "CAB") == [("A", ["A", "B", "C"], "CAB"), ("B", ["B"], "BCAB")]


def test_steps_of_several_rounds_are_one_where_they_follow_each_other() -> None:
    def step(key: str, *texts: bytes) -> Step:
        out = Step(key, [Finding(key, "error", "x", "gone", "a.sh", Span(0, 1), "0.33.0")])
        out.texts = {"a.sh": (Source("a.sh", texts[0]), Source("a.sh", texts[1]))}
        out.places = {id(out.findings[0]): 1}
        return out

    first, second = step("A", b"1", b"2"), step("A", b"2", b"3")
    third, last = step("B", b"3", b"4"), step("A", b"4", b"5")
    second.texts["b.sh"] = (Source("b.sh", b"x"), Source("b.sh", b"y"))
    got = joined([first, second, third, last])
    assert [(s.key, len(s.findings), len(s.places)) for s in got] == [("A", 2, 2), ("B", 1, 1), ("A", 1, 1)]
    texts = {path: (before.text, after.text) for path, (before, after) in got[0].texts.items()}
    assert texts == {"a.sh": ("1", "3"), "b.sh": ("x", "y")}
