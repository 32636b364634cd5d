"""Finds what fixes a version in the commands of a script: images, requirements, indexes, refs, compilers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from vllm_migrate.hosts import shell_lex
from vllm_migrate.hosts.shell_guard import guard
from vllm_migrate.hosts.shell_lex import Hole, Lexeme
from vllm_migrate.hosts.shell_list import Slot, Token, WordList
from vllm_migrate.hosts.shell_programs import (
    ALTERNATIVES,
    COMPILER_VARIABLES,
    CONDA,
    DOWNLOADERS,
    PROJECT_TOOLS,
    RUNNERS,
    SYSTEM_INSTALLERS,
)
from vllm_migrate.hosts.shell_script import Flat, Script
from vllm_migrate.hosts.shell_tree import Node
from vllm_migrate.launch import basename, launchers
from vllm_migrate.lazy import regex
from vllm_migrate.model import Pin, fill, is_hole
from vllm_migrate.text import Span

INDEX_OPTIONS = frozenset(
    ("--extra-index-url", "--index-url", "-i", "--index", "--default-index", "--find-links", "-f", "--torch-backend")
)
_VALUE_OPTIONS = frozenset(
    (
        "-t", "--target", "--prefix", "--root", "--src", "--platform", "--python-version", "--implementation", "--abi",
        "--progress-bar", "--trusted-host", "--cert", "--proxy", "--retries", "--timeout", "--cache-dir", "--log",
        "--python", "-p", "--prerelease", "--resolution", "--index-strategy", "--upgrade-package", "-P", "--no-binary",
        "--only-binary", "--config-settings", "-C", "--global-option", "--keyring-provider", "--link-mode",
        "--exclude-newer", "--group", "--extra", "-n", "--name", "-c", "--channel", "--override", "--overrides",
    )
)  # fmt: skip
_CONSTRAINTS = frozenset(("-c", "--constraint", "--constraints"))
_COMPILER = regex(r"(?:^|/)(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+)(?:-[\d.]+)?$")
_DEFINE = regex(r"-DCMAKE_(?:C|CXX|CUDA)_(?:STANDARD|COMPILER|HOST_COMPILER)(?::\w+)?=([^\s\"']+)")
_IMAGE = regex(r"(?:[\w.-]+(?::\d+)?/)*[\w.-]+(?::[\w.-]+)?(?:@sha256:[0-9a-f]+)?")
_GIT_REF = regex(r"git\+[^#\s]{0,500}?(?:\.git|/[\w.-]{1,200})@([^#\s]+)")
_VERSION = regex(r"\d")

_UV_OPTIONS = {
    "--with": "requirement",
    "--from": "requirement",
    "--torch-backend": "index",
    "--index": "index",
    "--python": "python",
}
_IMAGE_OPTIONS = ("--image", "--container-image", "--docker-image")


class Pins:
    """Collects pins; one place of the file gives one pin."""

    def __init__(self) -> None:
        self.found: list[Pin] = []
        self._known: dict[tuple[int, int, int, str, str, str], Pin] = {}

    def part(
        self,
        flat: Flat,
        kind: str,
        use: Node,
        low: int = 0,
        high: int | None = None,
        *,
        name: str = "",
        owner: str = "",
    ) -> list[Pin]:
        """Return the pins of decoded letters `[low, high)` of a word, found where variables get their value."""
        stop = len(flat.lexeme.text) if high is None else high
        return self._locate(
            flat.script, flat.words, flat.index, flat.lexeme, low, stop, use, kind, ("", ""), name, owner, 0
        )

    def _locate(
        self, script: Script, words: WordList, index: int, lexeme: Lexeme, low: int, high: int, use: Node,
        kind: str, around: tuple[str, str], name: str, owner: str, depth: int,
    ) -> list[Pin]:  # fmt: skip
        text = lexeme.text[low:high]
        out: list[Pin] = []
        if not any(is_hole(c) for c in text):
            return [self._pin(script, words, index, lexeme, low, high, kind, around, name, owner)]
        values = [self._value(script, words, lexeme, c, use) for c in text]
        for at, c in enumerate(text):
            value = values[at]
            if not is_hole(c) or value is None or depth > 4 or not _VERSION.search(value):
                continue
            head = around[0] + "".join("\ue000" if v is None else v for v in values[:at])
            tail = "".join("\ue000" if v is None else v for v in values[at + 1 :]) + around[1]
            hole = script.origin(words, lexeme.holes[ord(c) - 0xE000])
            if hole is not None:
                out += self._hole(script, hole, use, kind, (head, tail), name, owner, depth)
        literal = "".join(c for c in text if not is_hole(c))
        if not out or _VERSION.search(literal):
            out.insert(0, self._pin(script, words, index, lexeme, low, high, kind, around, name, owner))
        return out

    @staticmethod
    def _value(script: Script, words: WordList, lexeme: Lexeme, c: str, use: Node) -> str | None:
        if not is_hole(c):
            return c
        hole = script.origin(words, lexeme.holes[ord(c) - 0xE000])
        return script.value_of(hole, use) if hole is not None else None

    def _hole(
        self,
        script: Script,
        hole: Hole,
        use: Node,
        kind: str,
        around: tuple[str, str],
        name: str,
        owner: str,
        depth: int,
    ) -> list[Pin]:
        while hole.form == "outer":
            found = script.outer_hole(hole)
            if found is None:
                return []
            script, use, hole = found
        binding = script.only_binding(hole.name, use)
        if binding is not None and script.literal(hole.name, use) is not None:
            lexeme = binding.home.tokens[binding.index].lexeme
            assert lexeme is not None
            return self._locate(
                script, binding.home, binding.index, lexeme, lexeme.text.index("=") + 1, len(lexeme.text),
                binding.node, kind, around, binding.name, owner, depth + 1,
            )  # fmt: skip
        if hole.default is not None:
            return self.default(script, hole, kind, around, owner, name=name if hole.name.isdigit() else "")
        return []

    def default(
        self, script: Script, hole: Hole, kind: str, around: tuple[str, str] = ("", ""), owner: str = "", name: str = ""
    ) -> list[Pin]:
        """Return the pin of the default in `${X:-default}`."""
        assert hole.default is not None
        key = (id(script), hole.default.start, hole.default.end, kind, *around)
        if key in self._known:
            return [self._known[key]]
        region = script.region.slice(hole.default.start, hole.default.end)
        lexemes, left = shell_lex.split(region.text)
        if len(lexemes) != 1 or left:
            return []
        home = WordList(region, "string", [Token(lexemes[0].start, lexemes[0].end, lexemes[0])], 0)
        pin = self._pin(script, home, 0, lexemes[0], 0, len(lexemes[0].text), kind, around, name or hole.name, owner)
        self._known[key] = pin
        return [pin]

    def _pin(
        self, script: Script, words: WordList, index: int, lexeme: Lexeme, low: int, high: int, kind: str,
        around: tuple[str, str], name: str, owner: str,
    ) -> Pin:  # fmt: skip
        key = (id(words), index, low, kind, *around)
        known = self._known.get(key)
        if known is not None:
            if known.owner != owner:
                known.owner = ""
            return known
        spelled = [script.spelling(script.origin(words, h) or h) for h in lexeme.holes]
        text, holes = _own_holes(lexeme.text[low:high], spelled)
        span = (
            Span(lexeme.begin(low), max(lexeme.finish(high), lexeme.begin(low)))
            if high > low
            else Span(lexeme.end, lexeme.end)
        )
        pin = Pin(words.region, span, words.face, kind=kind, text=text, holes=holes, name=name, owner=owner)
        pin.prefix, pin.suffix = around
        pin.guarded = guard(script, words.node)
        words.hold(pin, Slot(index, low, high))
        self._known[key] = pin
        self.found.append(pin)
        return pin


def _own_holes(text: str, spelled: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    out: list[str] = []
    holes: list[str] = []
    for c in text:
        if is_hole(c) and ord(c) - 0xE000 < len(spelled):
            out.append(chr(0xE000 + len(holes)))
            holes.append(spelled[ord(c) - 0xE000])
        else:
            out.append(c)
    return "".join(out), tuple(holes)


def command_pins(
    pins: Pins, flats: Sequence[Flat], texts: Sequence[str], use: Node, owner: str, tree: str
) -> list[str]:
    """Collect the pins of one command's words. tree: last directory gone to or cloned. Returns linked files."""
    links: list[str] = []
    start = _program(texts)
    if start is None:
        return links
    program = basename(texts[start])
    rest = range(start + 1, len(texts))
    if program in launchers()["container_tools"]:
        _container(pins, flats, texts, use, owner, start)
    install = _python_install(texts, start)
    if install is not None:
        _requirements(pins, flats, texts, use, owner, install, links, tree)
    elif program in SYSTEM_INSTALLERS and any(texts[i] in ("install", "add") for i in rest):
        seen = False
        for i in rest:
            if seen and not texts[i].startswith("-") and texts[i] not in ("&&",):
                pins.part(flats[i], "package", use, owner=owner)
            seen = seen or texts[i] in ("install", "add")
    elif program == "git":
        _git(pins, flats, texts, use, owner, start, tree)
    elif program in ALTERNATIVES:
        for i in rest:
            if _COMPILER.search(texts[i]):
                pins.part(flats[i], "compiler", use, owner=owner)
    elif program == "scl":
        for i in rest:
            if re.search(r"toolset-\d", texts[i]):
                pins.part(flats[i], "package", use, owner=owner)
    elif program in DOWNLOADERS:
        for i in rest:
            if re.match(r"https?://\S+\.(?:whl|tar\.gz|zip)\b", texts[i]):
                pins.part(flats[i], "url", use, owner=owner)
    if program in RUNNERS:
        _uv(pins, flats, texts, use, owner, start)
    # `srun` takes the image before the program.
    for i in range(len(texts)):
        name, equals, value = texts[i].partition("=")
        if name in _IMAGE_OPTIONS:
            if equals and looks_like_image(value):
                pins.part(flats[i], "image", use, len(name) + 1, owner=owner)
            elif not equals and i + 1 < len(texts) and looks_like_image(texts[i + 1]):
                pins.part(flats[i + 1], "image", use, owner=owner)
        if texts[i].startswith("docker://"):
            pins.part(flats[i], "image", use, len("docker://"), owner=owner)
        elif texts[i].endswith(".sif") and "vllm" in texts[i]:
            pins.part(flats[i], "image", use, owner=owner)
        for found in _DEFINE.finditer(flats[i].lexeme.text):
            pins.part(flats[i], "compiler", use, found.start(1), found.end(1), owner=owner)
    return links


def _program(texts: Sequence[str]) -> int | None:
    """Return the index of the program behind `sudo`, `env X=1` and such."""
    i = 0
    while i < len(texts):
        word = basename(texts[i])
        if word in ("sudo", "env", "exec", "time", "nohup", "command", "srun", "doas") or (
            i and (texts[i].startswith("-") or re.match(r"\w+=", texts[i]))
        ):
            i += 1
            continue
        return i
    return None


def _container(pins: Pins, flats: Sequence[Flat], texts: Sequence[str], use: Node, owner: str, start: int) -> None:
    i = start + 1
    while i < len(texts) and (texts[i].startswith("-") or texts[i] in ("buildx", "image", "container", "compose")):
        i += 1
    verb = texts[i] if i < len(texts) else ""
    if verb == "pull":
        for j in range(i + 1, len(texts)):
            if not texts[j].startswith("-") and texts[j - 1] not in ("--platform",):
                pins.part(flats[j], "image", use, owner=owner)
                break
    elif verb == "build":
        for j in range(i + 1, len(texts)):
            name, equals, _ = texts[j].partition("=")
            if name == "--build-arg" and equals:
                _build_arg(pins, flats[j], use, len(name) + 1, owner)
            elif j and texts[j - 1] == "--build-arg":
                _build_arg(pins, flats[j], use, 0, owner)
            elif j and texts[j - 1] in ("-f", "--file"):
                pins.part(flats[j], "path", use, owner=owner)
            elif name == "--file" and equals:
                pins.part(flats[j], "path", use, len(name) + 1, owner=owner)


def _build_arg(pins: Pins, flat: Flat, use: Node, low: int, owner: str) -> None:
    name = flat.lexeme.text[low:].partition("=")[0]
    if "=" in flat.lexeme.text[low:]:
        pins.part(flat, "build-arg", use, low, name=name, owner=owner)


def _python_install(texts: Sequence[str], start: int) -> int | None:
    """Return the index of the first word after `pip install`, `uv pip install`, `python -m pip install` …"""
    program = basename(texts[start])
    for i in range(start, len(texts)):
        if texts[i] not in ("install", "add"):
            continue
        before = [basename(t) for t in texts[start:i] if not t.startswith("-")]
        if program.startswith(("pip", *CONDA)) and len(before) == 1:
            return i + 1
        if program in PROJECT_TOOLS and before[1:] in ([], ["pip"], ["tool"]):
            return i + 1
        if program in launchers()["interpreters"] and "pip" in texts[start:i]:
            return i + 1
    return None


def _requirements(
    pins: Pins,
    flats: Sequence[Flat],
    texts: Sequence[str],
    use: Node,
    owner: str,
    first: int,
    links: list[str],
    tree: str,
) -> None:
    conda = any(basename(t) in CONDA for t in texts[:first])
    # What vLLM's plugins are called on conda's channels is not known.
    another = None if conda else ("--with",) if texts[first - 2 : first] == ["tool", "install"] else ()
    i = first
    while i < len(texts):
        word = texts[i]
        name, equals, _ = word.partition("=")
        if word.startswith("-"):
            if name in INDEX_OPTIONS:
                if equals:
                    pins.part(flats[i], "index", use, len(name) + 1, name=name, owner=owner)
                elif i + 1 < len(texts):
                    pins.part(flats[i + 1], "index", use, name=name, owner=owner)
                    i += 1
            elif name in ("-r", "--requirement", "--requirements") or (name in _CONSTRAINTS and not conda):
                target = word[len(name) + 1 :] if equals else (texts[i + 1] if i + 1 < len(texts) else "")
                if target and not any(is_hole(c) for c in target):
                    links.append(target)
                    if re.fullmatch(r"(?:[^:]*/)?vllm/?", tree):
                        # Inside a checkout: one of its own files.
                        low = len(name) + 1 if equals else 0
                        pins.part(flats[i if equals else i + 1], "path", use, low, owner=owner)
                i += 0 if equals else 1
            elif name == "--python" and i + 1 < len(texts) and not equals:
                pins.part(flats[i + 1], "python", use, owner=owner)
                i += 1
            elif name in _VALUE_OPTIONS and not equals:
                i += 1
        else:
            _requirement(pins, flats[i], word, use, owner, another)
        i += 1


def _requirement(
    pins: Pins, flat: Flat, shown: str, use: Node, owner: str, another: tuple[str, ...] | None
) -> None:
    """Note what one word of an installer asks for. another: see `Slot`."""
    ref = _GIT_REF.search(flat.lexeme.text)
    found: list[Pin] = []
    if "git+" in shown:
        if ref:
            found = pins.part(flat, "git", use, ref.start(1), ref.end(1), name=_project(shown), owner=owner)
        else:
            found = pins.part(flat, "requirement", use, owner=owner)
    elif re.match(r"https?://", shown) or shown.endswith(".whl"):
        found = pins.part(flat, "url", use, owner=owner)
    elif re.match(r"[A-Za-z\ue000]", shown) and "/" not in shown.partition("@")[0]:
        found = pins.part(flat, "requirement", use, owner=owner)
    _allow_another(flat, found, another)


def _allow_another(flat: Flat, found: Iterable[Pin], another: tuple[str, ...] | None) -> None:
    """Let one more package be written behind the word, where the pins stand in it and not in a variable's value."""
    for pin in found:
        slot = flat.words.slots.get(id(pin))
        if slot is not None and slot.index == flat.index:
            slot.another = another


def _project(shown: str) -> str:
    """Return the project's name of a requirement that is a Git address."""
    named = re.match(r"([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*@", shown)
    if named:
        return named.group(1)
    address = re.search(r"git\+[^#@\s]{0,500}/([\w.-]{1,200}?)(?:\.git)?(?:[@#]|$)", shown.replace("//git@", "//"))
    return address.group(1) if address else ""


def _uv(pins: Pins, flats: Sequence[Flat], texts: Sequence[str], use: Node, owner: str, start: int) -> None:
    value = False
    for i in range(start + 1, len(texts)):
        if value:
            value = False
            continue
        name, equals, _ = texts[i].partition("=")
        kind = _UV_OPTIONS.get(name)
        if kind is None:
            if not texts[i].startswith("-") and basename(texts[i]) in ("vllm", "python", "python3"):
                return
            continue
        value = not equals
        label = name if kind == "index" else ""
        at = i if equals else i + 1
        if at < len(texts):
            found = pins.part(flats[at], kind, use, len(name) + 1 if equals else 0, name=label, owner=owner)
            if kind == "requirement":
                _allow_another(flats[at], found, ("--with",))


def _git(pins: Pins, flats: Sequence[Flat], texts: Sequence[str], use: Node, owner: str, start: int, tree: str) -> None:
    verb = next(
        (i for i in range(start + 1, len(texts)) if texts[i] in ("clone", "checkout", "switch", "reset", "fetch")), None
    )
    if verb is None:
        return
    if texts[verb] == "clone":
        if not any("vllm" in t for t in texts[verb + 1 :]):
            return
        for i in range(verb + 1, len(texts)):
            name, equals, _ = texts[i].partition("=")
            if name == "--branch" and equals:
                pins.part(flats[i], "git", use, len(name) + 1, owner=owner)
            elif name in ("-b", "--branch") and i + 1 < len(texts):
                pins.part(flats[i + 1], "git", use, owner=owner)
        return
    place = " ".join(texts[start + 1 : verb]) or tree
    if "vllm" not in place or texts[verb] == "fetch":
        return
    for i in range(verb + 1, len(texts)):
        if not texts[i].startswith("-") and texts[i] not in ("origin", "."):
            pins.part(flats[i], "git", use, owner=owner)
            return


def cloned(texts: Sequence[str], tree: str) -> str:
    """Return the directory a later `git checkout` works in, as far as the words tell."""
    if texts[:1] == ["cd"] and len(texts) > 1:
        return texts[1]
    if "git" in texts[:3] and "clone" in texts:
        return texts[-1]
    return tree


def value_pins(pins: Pins, script: Script, owner: str) -> None:
    """Collect pins of assignments: images by their look, compilers by the variable's name."""
    for words, index, lexeme, name, node in _assignments(script):
        low = lexeme.text.index("=") + 1
        flat = Flat(words, index, script)
        value = lexeme.text[low:]
        if name in COMPILER_VARIABLES and value:
            pins.part(flat, "compiler", node, low, name=name, owner=owner)
        for found in _DEFINE.finditer(lexeme.text, low):
            pins.part(flat, "compiler", node, found.start(1), found.end(1), owner=owner)
        if looks_like_image(value):
            pins.part(flat, "image", node, low, name=name, owner=owner)
        hole = lexeme.lone_hole if low == 0 else (lexeme.holes[0] if len(value) == 1 and lexeme.holes else None)
        if (
            hole is not None
            and hole.default is not None
            and looks_like_image(script.text[hole.default.start : hole.default.end])
        ):
            pins.found += [p for p in pins.default(script, hole, "image", owner=owner) if p not in pins.found]


def looks_like_image(value: str) -> bool:
    literal = fill(value, ["x"] * 16)
    return (
        "vllm" in literal.lower()
        and _IMAGE.fullmatch(literal) is not None
        and re.search(r":[\w.-]+$|@sha256:", literal) is not None
        and not literal.endswith((".sh", ".py", ".git"))
    )


def _assignments(script: Script) -> Iterator[tuple[WordList, int, Lexeme, str, Node]]:
    for node in script.commands:
        words = script.lists[id(node)]
        named = {a.start: a for a in node.assignments}
        for index, token in enumerate(words.tokens):
            made = named.get(token.start)
            if made is not None and token.lexeme is not None:
                yield words, index, token.lexeme, made.name, node
