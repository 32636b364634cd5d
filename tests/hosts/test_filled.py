"""What the text around a guest fills in is no text of the guest's: each part is shown as the file spells it."""

from __future__ import annotations

from types import ModuleType

import pytest
from small_hosts import read

from vllm_migrate.hosts import python, shell, terraform
from vllm_migrate.model import Dynamic, fill

PIECE = """\
kind: Pod
spec:
  containers:
  - image: vllm/vllm-openai:{v}
    args: [--model={m}, "{x}", --a={a}{b}, --plain]
    env: [{{name: A, value: "e{e}"}}, {{name: B, value: "2"}}]
"""
ARGS = {"v": "$V", "m": "${M}", "x": "$X", "a": "`pwd`", "b": "$(date +%s)", "e": "$E"}
MANIFESTS: list[tuple[ModuleType, str, dict[str, str]]] = [
    (shell, "cat > a.yaml <<EOF\n%sEOF\n", ARGS),
    (python, 'import os\nopen("a.yaml", "w").write(f"""\n%s""")\n', {k: f"{{{k}.w[0]}}" for k in ARGS}),
    (terraform, 'resource "a" "b" {\n  data = <<-EOT\n%s  EOT\n}\n', {k: f"${{var.{k}}}" for k in ARGS}),
]


@pytest.mark.parametrize(("host", "around", "names"), MANIFESTS)
def test_words_variables_and_pins(host: ModuleType, around: str, names: dict[str, str]) -> None:
    piece = PIECE.format(**names)
    if host is python:
        piece = piece.replace("{name", "{{name").replace('"}, {{', '"}}, {{').replace('"2"}', '"2"}}')
    (site,) = read(host, around % piece, "a").sites
    words = [(w.spelled(), w.literal, bool(w.locked)) for w in site.words]
    assert words[:3] == [
        (f"--model={names['m']}", False, True),
        (names["x"], False, True),
        (f"--a={names['a']}{names['b']}", False, True),
    ]
    assert [w.text for w in site.words] == ["--model=\ue000", "\ue000", "--a=\ue000\ue001", "--plain"]
    assert site.words[3].literal
    assert [(v.name, fill(v.value or "", v.holes)) for v in site.variables] == [("A", "e" + names["e"]), ("B", "2")]
    assert [fill(p.text, p.holes) for p in site.pins] == [f"vllm/vllm-openai:{names['v']}"]


CODE = """\
from vllm import LLM
LLM(model="$M", swap_space=4, dtype="a$D", compilation_config={"a": ["x${N}", "y", 3], "b": {"c": "$(d)"}})
"""


@pytest.mark.parametrize("start", ["python - <<EOF\n", "cat <<EOF | python -\n"])
def test_values_of_a_configuration(start: str) -> None:
    (site,) = read(shell, start + CODE + "EOF\n", "a.sh").sites
    assert {e.key: e.value for e in site.entries} == {
        "model": Dynamic('"$M"'),
        "swap_space": 4,
        "dtype": Dynamic('"a$D"'),
        "compilation_config": {"a": [Dynamic('"x${N}"'), "y", 3], "b": {"c": Dynamic('"$(d)"')}},
    }


def test_words_of_a_program() -> None:
    text = 'python - <<EOF\nimport subprocess\nsubprocess.run(["vllm", "serve", "$M", "--x=${N}k", "--y"])\nEOF\n'
    (site,) = read(shell, text, "a.sh").sites
    assert [(w.spelled(), w.literal, w.locked) for w in site.words] == [
        ("$M", False, "written by the enclosing text"),
        ("--x=${N}k", False, ""),
        ("--y", True, ""),
    ]


def test_a_quoted_here_document_is_filled_by_nobody() -> None:
    (site,) = read(shell, "python - <<'EOF'\n" + CODE + "EOF\n", "a.sh").sites
    assert {e.key: e.value for e in site.entries}["dtype"] == "a$D"
