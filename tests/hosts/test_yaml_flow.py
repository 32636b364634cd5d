"""Flow lists of chart templates with actions between their items: read as lists, and what goes leaves one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_hosts import read
from templates import renderings
from test_yaml_edit import edited, removing

from vllm_migrate.config import Config
from vllm_migrate.engine import run_text
from vllm_migrate.hosts import Context, yaml
from vllm_migrate.model import CannotRender
from vllm_migrate.text import Region, Source

HEAD = "kind: Pod\nspec:\n  containers:\n    - name: vllm\n      image: vllm/vllm-openai:v0.33.0\n      args: "


def words(text: str) -> list[str]:
    reading = yaml.read(Region.whole(Source("chart/templates/a.yaml", (HEAD + text + "\n").encode())), Context(""))
    assert not reading.problems
    (site,) = reading.sites
    return ["".join("…" if c >= "\ue000" else c for c in w.text) for w in site.words]


def load(text: str) -> list[Any]:
    from ruamel.yaml import YAML

    args: list[Any] = YAML(typ="safe").load(text)["spec"]["containers"][0]["args"]
    return args


def fixed(text: str, folder: Path) -> str | None:
    report = run_text("a.yaml", (HEAD + text + "\n").encode(), folder, replace(Config(), fix=True, to=("0.33.0",)))
    made = report.files[0].fixed
    return made.text.removeprefix(HEAD).removesuffix("\n") if made is not None else None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            '["--port", "1", {{ if .a }}"--seed", "2", {{ end }}"--model", "m"]',
            ["--port", "1", "--seed", "2", "--model", "m"],
        ),
        ('["--port=1"{{ range .a }}, {{ . | quote }}{{ end }}]', ["--port=1", "…"]),
        ("[--port={{ if .a }}1{{ else }}2{{ end }}, --model=m]", ["--port=…1…2…", "--model=m"]),
        ('["--a=]", {{ if .a }}"--seed=2", {{ end }}"--model=m"]', ["--a=]", "--seed=2", "--model=m"]),
        ("[--a=b c's, {{ if .a }}--seed=2, {{ end }}--model=m]", ["--a=b c's", "--seed=2", "--model=m"]),
        (
            '[{{- if .a }} "--seed=1", {{- else }} "--seed=2", {{- end }} "--port=1"]',
            ["--seed=1", "--seed=2", "--port=1"],
        ),
        ('["--port=1", {{/* one, two */}} "--model=m"]', ["--port=1", "--model=m"]),
        ('["--chat-template={{ if .a }}[x{{ end }}", "--port=1"]', ["--chat-template=…[x…", "--port=1"]),
    ],
)
def test_what_stands_between_items_is_no_item(text: str, read: list[str]) -> None:
    assert words(text) == read


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('["--port=1", {{ if .a }}"--swap-space=4", {{ end }}"--model=m"]', '["--port=1", "--model=m"]'),
        ('["--port=1"{{ if .a }}, "--swap-space=4"{{ end }}, "--model=m"]', '["--port=1", "--model=m"]'),
        ('["--port=1"{{ if .a }}, "--swap-space=4"{{ end }}]', '["--port=1"]'),
        ('["--port=1", {{ if .a }}"--swap-space=4"{{ end }}]', '["--port=1"]'),
        ('[{{ if .a }}"--swap-space", "{{ .a }}", {{ end }}"--port=1"]', '["--port=1"]'),
        ('["--port=1" , {{ if .a }}"--swap-space=4"{{ end }}]', '["--port=1"]'),
        ('["--port=1", {{ if .a }}"--swap-space=4"{{ end }}, "--model=m"]', '["--port=1", "--model=m"]'),
        ('[{{ if .a }}"--swap-space=4"{{ end }}, "--model=m"]', '[ "--model=m"]'),
        (
            '[{{ if .a }}"--seed=1", "--swap-space=4",{{ end }} "--port=1"]',
            '[{{ if .a }}"--seed=1", {{ end }} "--port=1"]',
        ),
        (
            '["--swap-space=4", {{ if .a }}"--seed=1",{{ end }} "--port=1"]',
            '[{{ if .a }}"--seed=1",{{ end }} "--port=1"]',
        ),
        (
            '["--port=1", {{ if .a }}{{ if .b }}"--swap-space=4", {{ end }}"--seed=1", {{ end }}"--model=m"]',
            '["--port=1", {{ if .a }}"--seed=1", {{ end }}"--model=m"]',
        ),
        ('["--port=1", {{ if .a }}"--swap-space=4", {{ else }}"--seed=1", {{ end }}"--model=m"]', None),
        (
            '["--port=1", {{ if .a }}"--seed=1", {{ else }}"--swap-space=4", {{ end }}"--model=m"]',
            '["--port=1", {{ if .a }}"--seed=1", {{ end }}"--model=m"]',
        ),
        (
            "[\n  --port=1,\n  {{- if .a }}\n  --swap-space=4,\n  {{- end }}\n  --model=m,\n  ]",
            "[\n  --port=1,\n  --model=m,\n  ]",
        ),
    ],
)
def test_an_item_goes_with_the_block_that_held_nothing_else(text: str, wanted: str | None, tmp_path: Path) -> None:
    assert fixed(text, tmp_path) == wanted


A, B, ELSE, END = "{{ if .a }}", "{{ if .b }}", "{{ else }}", "{{ end }}"


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (f'["--p", {A}"--x", {END}"--q"]', "q"),
        (f'["--p"{A}, "--x"{END}, "--q"]', "p"),
        (f'["--p"{A}, "--x"{END}]', "p"),
        (f'["--p", {A}"--x"{END}]', ""),
        (f'["--p", {A}"--x",{END}]', ""),
        (f'[{A}"--x", {END}"--p"]', "p"),
        (f'[{A}"--x",{END} "--p"]', "p"),
        (f'["--p", {A}"--x", "--y", {END}"--q"]', "q"),
        (f'["--p"{A}, "--x", "--y"{END}, "--q"]', "p"),
        (f'["--p", {A}"--x", {ELSE}"--y", {END}"--q"]', "x q"),
        (f'["--p"{A}, "--x"{ELSE}, "--y"{END}, "--q"]', "p x"),
        (f'["--p", {A}{B}"--x", {END}"--y", {END}"--q"]', "q"),
        (f'["--p", {A}"--y", {B}"--x", {END}{END}"--q"]', "q"),
        (f'["--p", {A}"--y", {END}{B}"--x", {END}"--q"]', "q"),
        (f'["--p", {A}"--y", {END}"--x", {B}"--z", {END}"--q"]', "q"),
        (f'["--p", {A}"--x={{{{ .v }}}}", {END}"--q"]', "q"),
        (f"[--p, {A}'--x,y', {END}--q]", "q"),
        (f"[--p, {A}'it''s', {END}--q]", "q"),
        (f'[--p, {A}"a\\",b", {END}--q]', "q"),
        (f"[--p{A}, --x{END}, --q]", "p"),
        (f"[--p{A} , --x {END} , --q]", "p"),
        (f"[--p {A}, --x{END}\n      ]", "p"),
        (f"[\n        --p,\n        {A}\n        --x,\n        {END}\n        --q,\n      ]", ""),
        (f"[\n        --p,\n        {A}\n        --x,\n        --y,\n        {END}\n        --q\n      ]", "q"),
        (f"[\n        --p,\n        {A}--x,{END}\n        --q\n      ]", "q"),
        (f"[\n        --p\n        {A}, --x{END}\n        , --q\n      ]", "p"),
        (f"[\n        --p,\n        --q,\n        {A}--x{END}\n      ]", ""),
        (f"[\n        --p,\n        {A}\n        --x\n        {END}\n      ]", ""),
        ('["--p", {{- if .a }} "--x", {{- end }} "--q"]', "q"),
        ('[{{- if .a }} "--x", {{- else }} "--y", {{- end }} "--q"]', "x q"),
        (f'["--p", {B}"--x", {END}"--q={A}1{END}"]', "q=\ue0001\ue001"),
        (f'["--p", {{{{/* a, b */}}}} "--x", {A}"--y", {END}"--q"]', "q"),
    ],
)
def test_whatever_the_conditions_say_only_the_item_is_gone(text: str, held: str) -> None:
    """held: the items that cannot be taken away, since a comma would be missing in one of the cases."""
    text = HEAD + text + "\n      tty: true\n"
    before = {answers: load(shown) for answers, shown in renderings(text)}
    for name in dict.fromkeys(w.text for w in read(yaml, text, "a.yaml").sites[0].words):
        if name.removeprefix("--") in held.split():
            with pytest.raises(CannotRender):
                edited(text, removing(name))
            continue
        after = edited(text, removing(name))
        gone = name.replace("\ue000", "printed")
        wanted = [[item for item in items if item != gone] for items in before.values()]
        got = [load(shown) for _, shown in renderings(after)]
        assert all(items in got for items in wanted) and all(items in wanted for items in got)
        assert not re.search(r"[ \t\n]\n", after)
