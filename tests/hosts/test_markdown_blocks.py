"""Where the code blocks of a document begin and end, and what an edit inside one leaves alone."""

from __future__ import annotations

import pytest
from small_hosts import check_identity, read, render

from vllm_migrate.hosts import markdown
from vllm_migrate.hosts.markdown_blocks import directive_blocks, markdown_blocks
from vllm_migrate.model import InsertWords, Remove

Told = list[tuple[str, str]]


def blocks(text: str, *, rst: bool = False) -> Told:
    found = directive_blocks(text) if rst else markdown_blocks(text)
    return [(b.language, "\n".join(text[start:end] for start, end, _ in b.rows)) for b in found]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("```bash\na\n\n b\n```\nc\n", [("bash", "a\n\n b")]),
        ("~~~ Python x\na\n~~~~\n", [("python", "a")]),
        ("````\n```\na\n```\n````\n", [("", "```\na\n```")]),
        ("```\na\n~~~\n```\n", [("", "a\n~~~")]),
        ("```a\n1\n```\n```b\n2\n```\n", [("a", "1"), ("b", "2")]),
        ("  ```sh\n  a\n    b\n c\n  ```\n", [("sh", "a\n  b\nc")]),
        ("- x\n  - ```sh\n    a\n      b\n    ```\n", [("sh", "a\n  b")]),
        ("1. ```sh\n   a\n   ```\n", [("sh", "a")]),
        ("\t```sh\n\ta\n\t\tb\n\t```\n", [("sh", "a\n\tb")]),
        ("> ```sh\n> a\n>   b\n>c\n> ```\n> text\n", [("sh", "a\n  b\nc")]),
        ("> ```sh\n> a\nb > c\n> ```\n", [("sh", "a\nb > c")]),
        ("> > ```sh\n> > a\n> > ```\n", [("sh", "a")]),
        ("> - ```sh\n>   a\n>   ```\n", [("sh", "a")]),
        ("```sh\na", [("sh", "a")]),
        ("```sh\n", [("sh", "")]),
        ("```sh\n```\nx\n```sh\ny\n```\n", [("sh", ""), ("sh", "y")]),
        ("```sh\na ```\nb\n", [("sh", "a ")]),
        ("```sh\na\nb ```\n```sh\nc\n```\n", [("sh", "a\nb "), ("sh", "c")]),
        ("``` `x`\na\n", []),
        ("``a\nb\n``\n", []),
        ("<!-- ```sh\na\n``` -->\n```sh\nb\n```\n", [("sh", "b")]),
        ("<!-- x -->\n```sh\nb\n```\n", [("sh", "b")]),
        ("<!-- x --> <!--\n```sh\na\n```\n-->\n```sh\nb\n```\n", [("sh", "b")]),
        ("<!--\n--> <!--\n```sh\na\n```\n", []),
        ("--> x <!-- y -->\n```sh\nb\n```\n", [("sh", "b")]),
        ("```{.sh #id}\na\n```\n```{code-block} sh\nb\n```\n", [("sh", "a"), ("code-block", "b")]),
        ("```c++\na\n```\n```objective-c\nb\n```\n```1\nc\n```\n", [("c++", "a"), ("objective-c", "b"), ("", "c")]),
    ],
)
def test_fences(text: str, told: Told, newline: str) -> None:
    assert blocks(text.replace("\n", newline)) == told


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (".. code-block:: bash\n\n   a\n     b\n\n   c\n\nd\n", [("bash", "a\n  b\n\nc")]),
        (".. code:: sh\n   :x: y\n   :z:\n\n   a\n", [("sh", "a")]),
        (".. sourcecode:: sh\n   a\n.. prompt:: bash\n\n   b\n", [("sh", "a"), ("bash", "b")]),
        ("  .. highlight:: sh\n\n     a\n  b\n", [("sh", "a")]),
        (".. code-block:: sh\n\nb\n", []),
        (".. code-block:: sh\n\n\n   \n", []),
        (".. code-block:: sh\n\nb\n\n.. code-block:: sh\n\n   a\n", [("sh", "a")]),
        (".. note:: sh\n\n   a\n", []),
        (".. code-block::\n\n   a", [("", "a")]),
        (".. code-block:: sh\n\n   a\n .. code-block:: py\n\n    b\n", [("sh", "a\n.. code-block:: py\n\n b")]),
        ("x\n.. code-block:: sh\n\n\ta\n\t\tb\n", [("sh", "a\n\tb")]),
    ],
)
def test_directives(text: str, told: Told, newline: str) -> None:
    if ".. code-block:: py" in text:
        told = [("sh", "  a\n.. code-block:: py\n\n   b")]
    assert blocks(text.replace("\n", newline), rst=True) == told


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("path", "text", "after"),
    [
        (
            "a.md",
            "```bash\nvllm serve m \\\n  --a 1 \\\n  --b\n```\n",
            "```bash\nvllm serve m \\\n  --c \\\n  --b\n```\n",
        ),
        (
            "a.md",
            "> ```bash\n> vllm serve m \\\n>   --a 1 \\\n>   --b\n> ```\n",
            "> ```bash\n> vllm serve m \\\n>   --c \\\n>   --b\n> ```\n",
        ),
        (
            "a.md",
            "> ```bash\n>\n> vllm serve m \\\n>   --a 1\n> ```\n",
            "> ```bash\n>\n> vllm serve m \\\n>   --c\n> ```\n",
        ),
        (
            "a.md",
            "- x\n\n  ```bash\n  vllm serve m \\\n    --a 1\n  ```\n",
            "- x\n\n  ```bash\n  vllm serve m \\\n    --c\n  ```\n",
        ),
        (
            "a.rst",
            ".. code:: bash\n\n   vllm serve m \\\n     --a 1\n\nx\n",
            ".. code:: bash\n\n   vllm serve m \\\n     --c\n\nx\n",
        ),
    ],
)
def test_an_edit_keeps_what_stands_before_the_lines(path: str, text: str, after: str, newline: str) -> None:
    text, after = text.replace("\n", newline), after.replace("\n", newline)
    found = read(markdown, text, path)
    check_identity(found, text)
    (site,) = found.sites
    gone = [w for w in site.words if w.text in ("--a", "1")]
    added = InsertWords(gone[-1].container, ["--c"], after=gone[-1])
    assert render(found, text, [*(Remove(w) for w in gone), added]) == after
    more = render(found, text, [InsertWords(gone[-1].container, ["--d"], after=gone[-1])])
    lead = after.split("--c")[0].splitlines()[-1]
    assert f"{newline}{lead}--d" in more
