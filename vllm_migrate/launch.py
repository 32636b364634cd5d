"""Recognises a vLLM launch in the words of a command line, whatever format the words came from.

What vLLM's programs, modules, callables and images are called is data (`schemas/launchers.json`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from vllm_migrate import wrappers
from vllm_migrate.globs import name_matches
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.paths import schemas_dir

if TYPE_CHECKING:
    from vllm_migrate.model import Site

T = TypeVar("T")

_ASSIGNMENT = regex(r"[A-Za-z_][A-Za-z0-9_]*=(?!=)", re.ASCII)


@dataclass(frozen=True)
class Launch:
    """A vLLM process found in a list of words.

    entry_point: the program, as `Site.entry_point`. program: index of its word (for an image that
    implies it: of the image). first: index of the first argument. image: index of the image word of a
    `docker run`. assignments: indices of `NAME=value` words given by `env` or `-e` (for `-e` the word
    after it). glued: indices of words such as `--env=NAME=value`. wrapper: what starts vLLM and takes
    options of its own, None for vLLM itself. by_image: no word names the program; the image's own entry point runs.
    """

    entry_point: str
    program: int
    first: int
    image: int | None = None
    assignments: tuple[int, ...] = ()
    glued: tuple[int, ...] = ()
    wrapper: wrappers.Wrapper | None = None
    by_image: bool = False

    def passed(self, words: Sequence[T], texts: Sequence[str]) -> list[T]:
        """Return those of the launch's words that are vLLM's arguments. texts: what each word says."""
        if self.wrapper is None:
            return list(words[self.first :])
        return self.wrapper.passed(words[self.first :], texts[self.first :])

    def mark(self, site: Site) -> Site:
        """Note on the site what runs it and passes its arguments on; return it."""
        site.by_image = self.by_image
        return self.wrapper.mark(site) if self.wrapper is not None else site


@dataclass
class _Container:
    image: int | None = None
    entrypoint: str | None = None
    assignments: list[int] = field(default_factory=list)
    glued: list[int] = field(default_factory=list)


@lru_cache(maxsize=1)
def launchers() -> dict[str, Any]:
    """Return the launcher data, read once."""
    data: dict[str, Any] = json.loads((schemas_dir() / "launchers.json").read_text(encoding="utf-8"))
    for key in (
        "interpreters",
        "shells",
        "talkers",
        "container_tools",
        "container_options_with_value",
        "image_tools",
        "image_options_with_value",
        "cluster_tools",
        "other_engines",
        "others_options",
    ):
        data[key] = frozenset(data[key])
    data["server_image_pattern"] = re.compile(data["server_image_pattern"])
    return data


def basename(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def split_image(reference: str) -> tuple[str, str, str]:
    """Split an image reference into name, tag and digest (the last two may be empty).

    >>> split_image("vllm/vllm-openai:v0.11.0@sha256:ab")
    ('vllm/vllm-openai', 'v0.11.0', 'sha256:ab')
    """
    name, _, digest = reference.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return head + slash + last, tag, digest


def is_server_image(reference: str) -> bool:
    """Tell whether a container of this image starts a vLLM server when it is given only options."""
    name = basename(split_image(reference.removeprefix("docker://"))[0]).lower()
    data = launchers()
    if name in data["server_images"]:
        return True
    if any(part in name for part in data["not_server_images"]):
        return False
    return data["server_image_pattern"].fullmatch(name) is not None


@dataclass(frozen=True)
class _Program:
    """entry_point: "" for a program whose arguments are none of vLLM's. first: its first argument."""

    entry_point: str
    first: int
    wrapper: wrappers.Wrapper | None = None


def _wrapped(wrapper: wrappers.Wrapper, texts: Sequence[str], first: int) -> _Program:
    starts = wrapper.passes != "nothing" and wrapper.starts_vllm(texts[first:])
    return _Program(wrapper.entry_point if starts else "", first, wrapper)


def holds_vllm(reference: str) -> bool:
    """Tell whether an image has vLLM in it though its name is another product's."""
    name = split_image(reference.removeprefix("docker://"))[0]
    return any(name_matches(pattern, "/" + name) for pattern in launchers()["vllm_images"])


def _program_at(texts: Sequence[str], i: int) -> _Program | None:
    """Return the program that starts at word i."""
    data = launchers()
    name = basename(texts[i])
    known = wrappers.of_program([name, *texts[i + 1 : i + 4]]) if not name.startswith("-") else None
    if known is not None:
        return _wrapped(known[0], texts, i + known[1])
    command = _command(name, texts, i + 1)
    if command is not None:
        return _Program(command[0], i + command[1])
    if name in data["interpreters"] or texts[i].startswith("\ue000"):
        j = i + 1
        while j < len(texts) and texts[j].startswith("-") and texts[j] != "-m":
            j += 2 if texts[j] in ("-X", "-W") else 1
        if j + 1 < len(texts) and texts[j] == "-m":
            return _module_at(texts, j)
        script = next((s for s in data["scripts"] if j < len(texts) and ("/" + texts[j]).endswith("/" + s)), None)
        if script is not None:
            return _Program(data["scripts"][script], j + 1)
    # `torchrun -m`, `accelerate launch -m`, `coverage run -m`
    return _module_at(texts, i) if i and texts[i] == "-m" else None


def _command(name: str, texts: Sequence[str], rest: int) -> tuple[str, int] | None:
    """Return the entry point of a program and how many words name it: its name, then those from word `rest` on."""
    for program in launchers()["programs"]:
        words = program["words"]
        if name == words[0] and list(texts[rest : rest + len(words) - 1]) == words[1:]:
            return program["entry_point"], len(words)
    return None


def _module_at(texts: Sequence[str], i: int) -> _Program | None:
    """Return the program of a module named behind the `-m` at word i."""
    if i + 1 >= len(texts):
        return None
    entry = launchers()["modules"].get(texts[i + 1])
    if entry == "cli":
        command = _command("vllm", texts, i + 2)
        return _Program(command[0], i + 1 + command[1]) if command is not None else None
    if entry:
        return _Program(entry, i + 2)
    wrapper = wrappers.of_module(texts[i + 1])
    return _wrapped(wrapper, texts, i + 2) if wrapper is not None else None


def _container(texts: Sequence[str], i: int) -> _Container | None:
    """Read `docker run …` that starts at word i."""
    data = launchers()
    j = i + 1
    while j < len(texts) and texts[j] not in ("run", "create", "exec"):
        if not texts[j].startswith("-") and texts[j] not in ("container", "compose", "service"):
            return None
        j += 1
    if j >= len(texts):
        return None
    found = _Container()
    j += 1
    while j < len(texts):
        word = texts[j]
        if not word.startswith("-"):
            found.image = j
            return found
        name, eq, value = word.partition("=")
        if name in ("-e", "--env"):
            if eq:
                found.glued.append(j)
            elif j + 1 < len(texts):
                found.assignments.append(j + 1)
        if name == "--entrypoint":
            found.entrypoint = value if eq else (texts[j + 1] if j + 1 < len(texts) else "")
        if not eq and word in data["container_options_with_value"]:
            j += 1
        j += 1
    return None


def talks(texts: Sequence[str]) -> bool:
    """Tell whether a command only speaks of the words behind it (`echo`, `grep`)."""
    head = basename(texts[0])
    # `conda run` runs them.
    return head in launchers()["talkers"] and "run" not in texts[1:2]


def _image_run(texts: Sequence[str], i: int) -> Launch | None:
    """Return the server that `apptainer run IMAGE` starts; the process keeps the caller's environment."""
    data = launchers()
    if "run" not in texts[i + 1 : i + 4]:
        return None
    assignments: list[int] = []
    j = texts.index("run", i) + 1
    while j < len(texts) and texts[j].startswith("-"):
        name, equals, _ = texts[j].partition("=")
        if name == "--env" and not equals and j + 1 < len(texts):
            assignments.append(j + 1)
        j += 2 if not equals and name in data["image_options_with_value"] else 1
    if j + 1 >= len(texts) or not is_server_image(texts[j].removesuffix(".sif").replace("_v", ":v")):
        return None
    if not (texts[j + 1].startswith("-") or texts[j + 1] == "serve"):
        return None
    return Launch("serve", j, j + (2 if texts[j + 1] == "serve" else 1), None, tuple(assignments))


def _pod_run(texts: Sequence[str], i: int) -> Launch | None:
    """Return the server that `kubectl run NAME --image=IMAGE -- ARGS` starts."""
    if "run" not in texts[i + 1 : i + 4] or "--" not in texts[i:] or "--command" in texts[i:]:
        return None
    end = texts.index("--", i)
    image = ""
    glued: list[int] = []
    assignments: list[int] = []
    for j in range(i + 1, end):
        name, equals, value = texts[j].partition("=")
        if name == "--image":
            image = value if equals else texts[j + 1]
        elif name == "--env" and equals:
            glued.append(j)
        elif name == "--env":
            assignments.append(j + 1)
    found = container_launch(texts[end + 1 :], image, 0)
    if found is None or found.program or found.first > 1:
        return None
    given = tuple(assignments), tuple(glued)
    return Launch(found.entry_point, end, end + 1 + found.first, None, *given, found.wrapper)


def _ours(found: Launch | None, texts: Sequence[str]) -> Launch | None:
    """Return a launch unless one of its options belongs to another program that goes by the same name."""
    others: frozenset[str] = launchers()["others_options"]
    return found if found is not None and others.isdisjoint(texts[found.first :]) else None


def find_launch(texts: Sequence[str]) -> Launch | None:
    """Return the vLLM launch in the words of one simple command, or None.

    Args: texts: the words after unquoting, without the shell's own prefix assignments; run-time parts
    as private-use letters. Wrappers (`exec`, `nohup`, `env`, `srun …`, `docker run … IMAGE`) are looked
    through; programs that only talk about a command (`echo`, `grep`) are not.
    """
    return _ours(_find(texts), texts)


def _find(texts: Sequence[str]) -> Launch | None:
    if not texts:
        return None
    data = launchers()
    if talks(texts):
        return None
    assignments: list[int] = []
    glued: list[int] = []
    image: int | None = None
    i = 0
    while i < len(texts):
        word = texts[i]
        name = basename(word)
        if name in data["container_tools"]:
            container = _container(texts, i)
            if container is not None and container.image is not None:
                before = texts[i : container.image]
                if "exec" in before or ("compose" in before and not is_server_image(texts[container.image])):
                    # The word names a container or a service.
                    assignments += container.assignments
                    glued += container.glued
                    i = container.image + 1
                    continue
                named = container.image
                image = None if "compose" in before else named
                assignments += container.assignments
                glued += container.glued
                rest = named + 1
                entry = basename(container.entrypoint or "")
                inner = _program_at([entry, *texts[rest:]], 0) if entry in data["interpreters"] else None
                if inner is not None:
                    first = rest + inner.first - 1
                    given = tuple(assignments), tuple(glued)
                    if not inner.entry_point:
                        return None
                    return Launch(inner.entry_point, named, first, image, *given, inner.wrapper)
                if entry == "vllm" and texts[rest : rest + 1] == ["serve"]:
                    return Launch("serve", named, rest + 1, image, tuple(assignments), tuple(glued))
                wrapper = wrappers.of_image(split_image(texts[named])[0]) if not entry else None
                if wrapper is not None and rest < len(texts) and texts[rest].startswith("-"):
                    if not wrapper.starts_vllm(texts[rest:]):
                        return None
                    given = tuple(assignments), tuple(glued)
                    return Launch(wrapper.entry_point, named, rest, image, *given, wrapper)
                if not entry and is_server_image(texts[named]):
                    if rest < len(texts) and texts[rest] == "serve":
                        return Launch("serve", named, rest + 1, image, tuple(assignments), tuple(glued))
                    plain = rest >= len(texts) or texts[rest].startswith(("-", "\ue000"))
                    if plain or (_looks_like_model(texts[rest]) and not _names_program(texts, rest)):
                        return Launch("serve", named, rest, image, tuple(assignments), tuple(glued), by_image=True)
                i = rest
                continue
        if name in data["image_tools"] or name in data["cluster_tools"]:
            run = _image_run(texts, i) if name in data["image_tools"] else _pod_run(texts, i)
            if run is not None:
                return run
        found = _program_at(texts, i)
        if found is not None:
            given = tuple(assignments), tuple(glued)
            if not found.entry_point:
                return None
            return Launch(found.entry_point, i, found.first, image, *given, found.wrapper)
        if _ASSIGNMENT.match(word) and (i > 0):
            assignments.append(i)
        i += 1
    return None


def container_run(texts: Sequence[str]) -> Launch | None:
    """Return the container run (`docker run …`) in the words of a command, whatever it runs, or None.

    `program` and `image` are the image's index, `first` that of the first word after it; `entry_point` is "".
    """
    for i, word in enumerate(texts):
        if basename(word) in launchers()["container_tools"]:
            found = _container(texts, i)
            if found is None or found.image is None:
                return None
            image = found.image
            return Launch("", image, image + 1, image, tuple(found.assignments), tuple(found.glued))
    return None


def _looks_like_model(word: str) -> bool:
    return "/" in word and not word.endswith((".sh", ".py"))


def _names_program(texts: Sequence[str], i: int) -> bool:
    data = launchers()
    name = basename(texts[i])
    return name in data["shells"] or name in data["interpreters"] or name in ("vllm", "ray", "env", "exec")


def container_launch(texts: Sequence[str], image: str, command: int) -> Launch | None:
    """Return the launch of a container.

    Args: texts: the words of its command (or entrypoint) and then of its arguments. image: the image
    reference, "" where unknown. command: how many of the words are the command; 0 when the image's own
    entry point runs.
    """
    found = find_launch(texts)
    if found is not None:
        return found
    wrapper = wrappers.of_image(split_image(image)[0]) if image and command == 0 else None
    if wrapper is not None and texts and texts[0].startswith("-"):
        return wrapped_launch(wrapper, texts)
    if command == 0 and image and is_server_image(image) and texts:
        first = texts[0]
        if first == "serve":
            return Launch("serve", 0, 1)
        if first.startswith(("-", "\ue000")) or (_looks_like_model(first) and not _names_program(texts, 0)):
            return _ours(Launch("serve", 0, 0, by_image=True), texts)
    return None


def wrapped_launch(wrapper: wrappers.Wrapper, texts: Sequence[str]) -> Launch | None:
    """Return the launch of a wrapper that is given these words, None where it does not start vLLM then."""
    return Launch(wrapper.entry_point, 0, 0, wrapper=wrapper) if wrapper.starts_vllm(texts) else None


def script_of(texts: Sequence[str]) -> int | None:
    """Return the index of the script word of `bash -lc SCRIPT`, also behind wrappers, or None."""
    data = launchers()
    for i, word in enumerate(texts):
        if basename(word) not in data["shells"]:
            continue
        for j in range(i + 1, len(texts)):
            if not texts[j].startswith(("-", "+")):
                break
            if re.fullmatch(r"-[abd-zA-Z]*c[a-zA-Z]*", texts[j]):
                k = j + 1
                while k < len(texts) and texts[k].startswith("-"):
                    k += 1
                return k if k < len(texts) else None
    return None
