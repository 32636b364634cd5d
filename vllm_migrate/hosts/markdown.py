"""Code blocks of Markdown and reStructuredText, each read as the language it names.

What a document shows is an example: it is reported, and rewritten only where the user asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vllm_migrate.hosts import Context, host_for, read_guest
from vllm_migrate.hosts.markdown_blocks import Block, Row, directive_blocks, markdown_blocks
from vllm_migrate.hosts.shown import LinesRegion, Mark, Names, lines_region
from vllm_migrate.hosts.yaml_names import looks_like_yaml
from vllm_migrate.launch import find_launch, launchers
from vllm_migrate.lazy import regex
from vllm_migrate.model import Reading
from vllm_migrate.text import Region

NAME = "markdown"

_LANGUAGES = {
    **dict.fromkeys(
        ("bash", "sh", "shell", "zsh", "console", "shell-session", "shellsession", "terminal", "shellscript", "cmd"),
        "shell",
    ),
    **dict.fromkeys(("python", "py", "python3", "py3", "ipython", "pycon"), "python"),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    **dict.fromkeys(("dockerfile", "docker", "containerfile"), "dockerfile"),
    **dict.fromkeys(("json", "jsonc", "json5"), "json"),
    **dict.fromkeys(("hcl", "terraform", "tf"), "terraform"),
    **dict.fromkeys(("makefile", "make", "just", "justfile"), "makefile"),
    **dict.fromkeys(("ini", "systemd"), "ini"),
    "toml": "toml",
    "dotenv": "envfile",
    "env": "envfile",
}
_PROMPT = regex(r"(?P<prompt>(?:\([\w.-]+\)[ \t]*)?(?:[\w.@~:/-]+)?[$%❯][ \t]+)(?=\S)")
_ROOT_PROMPT = regex(r"(?P<prompt>(?:[\w.-]+@[\w.-]+:[^#\r\n]*)?#[ \t]+)(?=(?:vllm|python3?|docker|export)\b)")
_MORE = regex(r"(?P<prompt>>[ \t]?)")
_PYTHON_PROMPT = regex(r"(?:>>>|\.\.\.|In \[\d+\]:)(?: |$)")
_PLACEHOLDER = regex(r"<(?P<name>[A-Za-z][\w .:/-]*)>")
_COMMAND = regex(
    r"(?:\$ )?(?:export |[A-Z][A-Z0-9_]*=\S+ |vllm |python3? -m vllm|docker run|pip3? install|uv pip)"
)
_UNBROKEN = regex("[\u00a0\u2007\u202f]")
_TITLE = regex(r"(?:title|file|filename|name|label)\s*=\s*[\"'](?P<path>[^\"']+)[\"']")


def read(region: Region, context: Context) -> Reading:
    """Return what the code blocks of a document show; a launch is governed by the pins of its own block first."""
    out = Reading(documentation=True)
    blocks = directive_blocks if context.path.lower().endswith(".rst") else markdown_blocks
    for number, block in enumerate(blocks(region.text)):
        if not block.rows or not _worth(region.text[block.rows[0][0] : block.rows[-1][1]]):
            continue
        reading = _block(region, block, context.inside(f"{context.owner}block{number}"))
        if reading is None:
            continue
        for site in reading.sites:
            site.pins += [p for p in reading.pins if not any(p is q for q in site.pins)]
        reading.links, reading.problems = [], []
        out.extend(reading)
    return out


def _worth(text: str) -> bool:
    return any(t in text for t in launchers()["triggers"])


def _block(region: Region, block: Block, context: Context) -> Reading | None:
    host = _LANGUAGES.get(block.language, "")
    text = region.text
    title = _TITLE.search(block.info)
    if not host and title is not None:
        guest = lines_region(region, block.rows, prefix=block.prefix)
        module = host_for(title["path"], guest.text.partition("\n")[0])
        return module.read(guest, context) if module is not None and module.NAME != NAME else None
    if not host and block.language in ("", "text", "txt", "plaintext", "none"):
        shown = [text[a:b].strip() for a, b, _ in block.rows]
        if looks_like_yaml("\n".join(text[a:b] for a, b, _ in block.rows)):
            host = "yaml"
        elif any(_is_command(line) for line in shown):
            host = "shell"
    if host == "shell":
        script = _script(region, block)
        return None if script is None else read_guest("shell", script, context)
    if host == "python":
        return read_guest("python", _session(region, block), context)
    if not host:
        return None
    guest = lines_region(region, block.rows, prefix=block.prefix)
    inside = context
    if host == "makefile" and block.language.startswith("just"):
        inside = Context("justfile", context.variables, context.owner)
    elif host == "ini":
        inside = Context("vllm.service", context.variables, context.owner)
    return read_guest(host, guest, inside)


def _is_command(line: str) -> bool:
    if _COMMAND.match(line) is None:
        return False
    found = find_launch(line.removeprefix("$ ").removesuffix("\\").split())
    return found is not None or line.startswith(("pip", "uv", "$ pip", "$ uv"))


def _script(region: Region, block: Block) -> LinesRegion | None:
    """Return the commands of a block: with prompts, only what stands behind them and the lines that go on."""
    text = region.text
    rows = block.rows
    prompts = any(_prompt(text, row) is not None for row in rows)
    if prompts:
        rows = list(_typed(text, rows))
    elif re.search(r"^(?:diff|---|\+\+\+|@@) ", "\n".join(text[a:b] for a, b, _ in rows), re.M):
        return None
    names = Names()
    marks = [
        Mark(m.start(), m.end(), names.shown(m[0]))
        for a, b, _ in rows
        for m in _PLACEHOLDER.finditer(text, a, b)
        if text[m.start() - 1] != "<"
    ]
    # Pages are often written with blanks that do not break; who types the command types plain ones.
    marks += [Mark(m.start(), m.end(), " ") for a, b, _ in rows for m in _UNBROKEN.finditer(text, a, b)]
    marks.sort(key=lambda m: m.start)
    prefix = block.prefix
    return lines_region(region, rows, marks, prefix, names) if rows else None


def _prompt(text: str, row: Row) -> re.Match[str] | None:
    return _PROMPT.match(text, row[0], row[1]) or _ROOT_PROMPT.match(text, row[0], row[1])


def _typed(text: str, rows: list[Row]) -> Iterator[Row]:
    continues = False
    for start, end, after in rows:
        prompt = _prompt(text, (start, end, after))
        if prompt is not None and not continues:
            start = prompt.end()
        elif not continues:
            continue
        else:
            more = _MORE.match(text, start, end)
            start = more.end() if more is not None else start
        continues = text[start:end].rstrip().endswith("\\")
        yield start, end, after


def _session(region: Region, block: Block) -> LinesRegion:
    """Return the Python of a block: with `>>>`, only what stands behind it."""
    text = region.text
    prompts = [(row, _PYTHON_PROMPT.match(text, row[0], row[1])) for row in block.rows]
    if any(m is not None for _, m in prompts):
        rows = [(m.end(), row[1], row[2]) for row, m in prompts if m is not None]
        return lines_region(region, rows, prefix=block.prefix)
    return lines_region(region, block.rows, prefix=block.prefix)
