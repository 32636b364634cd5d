"""Code blocks of documents."""

from __future__ import annotations

import pytest
from small_hosts import env, pins, read, words

from vllm_migrate.hosts import markdown


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("```bash\nvllm serve m --a 1\n```", ["m", "--a", "1"]),
        ("~~~sh\nvllm serve m --a 1\n~~~", ["m", "--a", "1"]),
        ("````bash title=x\nvllm serve m --a 1\n```\n````", ["m", "--a", "1"]),
        ("```{.bash .numberLines}\nvllm serve m --a 1\n```", ["m", "--a", "1"]),
        ("```\n$ vllm serve m --a 1\nINFO vllm serve x\n```", ["m", "--a", "1"]),
        ("```\nvllm serve m --a 1\n```", ["m", "--a", "1"]),
        ("```console\nroot@box:/# vllm serve m \\\n> --a 1\nINFO\n```", ["m", "--a", "1"]),
        ("- item\n\n  ```bash\n  vllm serve m \\\n    --a 1\n  ```", ["m", "--a", "1"]),
        ("```bash\nvllm serve <model name> --a 1\n```", ["${_part_0}", "--a", "1"]),
        ("```yaml\nimage: vllm/vllm-openai:v0.9.0\nargs: [--a, '1']\n```", ["--a", "1"]),
        ('```dockerfile\nFROM vllm/vllm-openai:v0.9.0\nCMD ["--a", "1"]\n```', ["--a", "1"]),
        ("```bash\nvllm serve m --a 1", ["m", "--a", "1"]),
        ("```\nimage: vllm/vllm-openai:v0.9.0\nargs: [--a, '1']\n```", ["--a", "1"]),
        ("```bash\nvllm\u00a0serve m\u00a0--a 1\n```", ["m", "--a", "1"]),
        ("```bash\nvllm serve m --a 1 ```\nand text", ["m", "--a", "1"]),
    ],
)
def test_blocks(block: str, told: list[str]) -> None:
    found = read(markdown, f"# T\n\n{block}\n", "README.md")
    assert [words(found, i) for i in range(len(found.sites))] == [told]
    assert found.documentation


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --a 1",
        "    vllm serve m --a 1",
        "`vllm serve m --a 1`",
        "```diff\n- vllm serve m --a 1\n```",
        "```bash\n- vllm serve m --a 1\n--- vllm serve m\n+++ vllm serve m\n```",
        "```text\nthe command vllm serve m --a 1\n```",
        "```js\nvllm serve m --a 1\n```",
        "<!--\n```bash\nvllm serve m --a 1\n```\n-->",
        "```console\nvllm serve m --a 1\n$ ls\n```",
        "```",
        "",
    ],
)
def test_no_launches(text: str) -> None:
    assert read(markdown, f"# vllm\n\n{text}\n", "README.md").sites == []


def test_a_comment_ends_where_it_says() -> None:
    text = "<!-- one --> <!-- two -->\n<!-- a\nb -->\n```bash\nvllm serve m\n```\n"
    assert len(read(markdown, text, "README.md").sites) == 1


def test_the_pin_of_its_own_block_governs_a_launch() -> None:
    text = "```bash\npip install vllm==0.8.5\nvllm serve a\n```\n\n```bash\nvllm serve b\n```\n"
    first, second = read(markdown, text, "README.md").sites
    assert [p.text for p in first.pins] == ["vllm==0.8.5"]
    assert second.pins == []


def test_python_sessions() -> None:
    text = "```python\n>>> from vllm import LLM\n>>> llm = LLM(\n...     'm', swap_space=4)\nINFO (\n```\n"
    (site,) = read(markdown, text, "README.md").sites
    assert {e.key: e.value for e in site.entries}["swap_space"] == 4


def test_directives() -> None:
    text = (
        "T\n=\n\n.. code-block:: bash\n   :caption: vllm\n\n   export VLLM_X=1\n\n   vllm serve m \\\n      --a 1\n\n"
        "Text vllm serve m --b\n\n.. code:: text\n\n   vllm serve m --c\n"
    )
    found = read(markdown, text, "guide.rst")
    assert [words(found)] == [["m", "--a", "1"]]
    assert env(found) == {"VLLM_X": "1"}


def test_a_named_file_is_read_as_that_file() -> None:
    text = '```text title="requirements.txt"\nvllm==0.9.0\n```\n'
    assert pins(read(markdown, text, "README.md")) == ["vllm==0.9.0"]
