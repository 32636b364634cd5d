"""Names a script uses when it talks to a server: metrics, endpoints, fields of requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vllm_migrate import jsontext
from vllm_migrate.hosts.shell_guard import guard
from vllm_migrate.hosts.shell_list import Slot
from vllm_migrate.hosts.shell_programs import CLIENTS
from vllm_migrate.hosts.shell_script import Flat
from vllm_migrate.launch import basename
from vllm_migrate.lazy import regex
from vllm_migrate.model import Mention, is_hole
from vllm_migrate.text import Span

_METRIC = regex(r"(?<![\w/.-])vllm:[a-z][a-z0-9_]+(?![\w/.:-])")
_ADDRESS = regex(
    r"(?:https?://[^/\s\"']+|(?<![\w/.-])(?:[\w.-]+|[\ue000-\uf8ff]):(?:\d+|[\ue000-\uf8ff])|^[\ue000-\uf8ff])(/[\w./-]*[\w-])"
)


def mentions(flats: Sequence[Flat], texts: Sequence[str]) -> Iterator[Mention]:
    """Yield the names in the words of one command.

    A metric is any `vllm:name`; endpoints and request fields are those of an HTTP client's address and data.
    """
    client = any(basename(text) in CLIENTS for text in texts[:4])
    addresses = [m for text in texts if client for m in _ADDRESS.finditer(text)]
    path = addresses[0][1] if addresses else ""
    for flat in flats:
        text = flat.lexeme.text
        for found in _METRIC.finditer(text):
            yield _mention(flat, "metric", found.start(), found.end())
        if not client:
            continue
        for found in _ADDRESS.finditer(text):
            yield _mention(flat, "endpoint", found.start(1), found.end(1))
        if text.lstrip().startswith("{"):
            yield from _fields(flat, text, path)


def _fields(flat: Flat, text: str, path: str) -> Iterator[Mention]:
    try:
        node = jsontext.parse("".join("0" if is_hole(c) else c for c in text))
    except ValueError:
        return
    for _, start, end, _ in node.members:
        if end - start > 2:
            made = _mention(flat, "field", start + 1, end - 1)
            made.of, made.group = path, node
            yield made


def _mention(flat: Flat, kind: str, low: int, high: int) -> Mention:
    lexeme, words = flat.lexeme, flat.words
    span = Span(lexeme.begin(low), lexeme.finish(high))
    made = Mention(words.region, span, words.face, kind=kind, name=lexeme.text[low:high])
    made.guarded = guard(flat.script, words.node)
    words.hold(made, Slot(flat.index, low, high))
    return made
