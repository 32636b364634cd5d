"""Flow lists of chart templates with actions between their items: read as lists, and what goes leaves one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vllm_migrate.config import Config
from vllm_migrate.engine import run_text
from vllm_migrate.hosts import Context, yaml
from vllm_migrate.text import Region, Source

HEAD = "kind: Pod\nspec:\n  containers:\n    - name: vllm\n      image: vllm/vllm-openai:v0.33.0\n      args: "


def words(text: str) -> list[str]:
    reading = yaml.read(Region.whole(Source("chart/templates/a.yaml", (HEAD + text + "\n").encode())), Context(""))
    assert not reading.problems
    (site,) = reading.sites
    return ["".join("…" if c >= "\ue000" else c for c in w.text) for w in site.words]


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
            "[\n  --port=1,\n  {{- if .a }}\n  --swap-space=4,\n  {{- end }}\n  --model=m,\n  ]",
            "[\n  --port=1,\n  --model=m,\n  ]",
        ),
    ],
)
def test_an_item_goes_with_the_block_that_held_nothing_else(text: str, wanted: str | None, tmp_path: Path) -> None:
    assert fixed(text, tmp_path) == wanted
