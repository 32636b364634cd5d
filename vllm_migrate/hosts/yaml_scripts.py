"""Scripts and documents held by scalars: `run:` steps, ConfigMap data, commands of tasks."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from vllm_migrate.hosts import Context, host_for, read_markdown, read_python, read_shell
from vllm_migrate.hosts import yaml_names as names
from vllm_migrate.hosts.kustomize import NAMES, links
from vllm_migrate.hosts.yaml_mask import FILLER
from vllm_migrate.hosts.yaml_scalar import ScalarRegion
from vllm_migrate.hosts.yaml_tree import Node
from vllm_migrate.launch import find_launch
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Reading
from vllm_migrate.text import Piece, Region

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_reader import Path, Reader

_FILE = regex(r"[\w./-]*\.[A-Za-z][A-Za-z0-9]*|Dockerfile|requirements\.txt")
_ARGUMENT = regex(rf"-|[^/]*[/$]|.*{FILLER}")
"""An option, a model of a repository, or a part filled in at run time: no word of a sentence."""
_TRIGGER = regex(r"vllm|VLLM|VISIBLE_DEVICES")
_FENCE = regex(r"^[ \t]*(?:```|~~~)", re.M)
_TOOLS = regex(r"\b(?:apt-get|apt|dnf|yum|pip3?|uv|conda|cmake|update-alternatives)\s")


class Scripts:
    """Reads scalars that hold text of another format."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def mapping(self, node: Node, path: Path) -> None:
        """Note files that a mapping links to."""
        out = self.reader.out
        name = self.reader.context.path.rsplit("/", 1)[-1]
        if not path and (self.reader.kind == "Kustomization" or name in NAMES):
            out.links += links(node)
        if not path and self.reader.compose and "$" in self.reader.document.text:
            out.links.append(".env")
        if path and path[-1] in ("extends",) and node.scalar("file"):
            out.links.append(node.scalar("file"))

    def scalar(self, node: Node, path: Path) -> None:
        """Read a scalar that no other part has read."""
        reader = self.reader
        text = node.text
        if node.kind != "scalar" or not text:
            return
        key = next((p for p in reversed(path) if not p.startswith("[")), "")
        reader.pins.metrics(node, path)
        embedded = (self._is_yaml_name(key) or key == "patch") and "\n" in text.strip()
        if not (embedded or _TRIGGER.search(text) or self._prepares(key, text)):
            return
        if reader.document.only_json and len(text) > 200_000:
            return
        if "\n" in text.strip() or node.style in ("|", ">"):
            self._block(node, key, path)
        else:
            self._line(node, key, path)

    def _prepares(self, key: str, text: str) -> bool:
        """Tell whether a step of a workflow that has to do with vLLM installs or builds something for it."""
        reader = self.reader
        return key == "run" and reader.workflow and reader.document.mentions_vllm and bool(_TOOLS.search(text))

    def _block(self, node: Node, key: str, path: Path) -> None:
        region = self.reader.items.region_of(node)
        owner = self.reader.owner(node)
        variables = self.reader.surroundings()
        context = self.reader.guest_context(owner, "", variables)
        head = region.text.lstrip("\n").split("\n", 1)[0]
        if (_FILE.fullmatch(key) and "." in key) or key == "Dockerfile":
            if self._is_yaml_name(key):
                self._yaml(region, key, owner)
                return
            guest = host_for(key, head)
            if guest is not None and guest.NAME == "markdown":
                self._examples(region, context, owner)
                return
            if guest is not None:
                self.reader.adopt(guest.read(region, context), owner, variables)
                return
        if key == "serveConfigV2" or (key in names.EMBEDDED_YAML and names.looks_like_yaml(region.text)):
            self._yaml(region, key, owner)
            return
        if head.startswith("#!") and "python" in head:
            self.reader.adopt(read_python(region, context), owner, variables)
            return
        if not names.is_script(key) and _FENCE.search(region.text) and not self.reader.document.only_json:
            self._examples(region, context, owner)
            return
        if names.is_prose(key) and not names.is_script(key):
            return
        if not names.is_script(key) and names.looks_like_yaml(region.text):
            self._yaml(region, key, owner)
            return
        if self._options_only(region.text):
            return
        if not names.is_script(key) and not self._looks_like_script(region.text):
            return
        self.reader.adopt(read_shell(region, context), owner, variables)

    def _examples(self, region: Region, context: Context, owner: str) -> None:
        """Read the code blocks of a document: what it shows says nothing of the launches beside it."""
        shown = read_markdown(region, context)
        for site in shown.sites:
            site.shown = True
        self.reader.adopt(Reading(shown.sites), owner, ())

    def _is_yaml_name(self, key: str) -> bool:
        return key.endswith((".yaml", ".yml"))

    def _yaml(self, region: ScalarRegion, key: str, owner: str) -> None:
        from vllm_migrate.hosts import yaml as host

        context = self.reader.guest_context(owner, "", ())
        context = type(context)(
            f"{context.path}/{key}" if self._is_yaml_name(key) else context.path,
            context.variables,
            owner,
            "",
            None,
        )
        reading = host.read(region, context)
        reading.problems = [p for p in reading.problems if p.kind != "syntax"]
        self.reader.adopt(reading, owner, ())

    def _looks_like_script(self, text: str) -> bool:
        if text.startswith("#!"):
            return True
        joined = re.sub(r"\\\n", " ", text)
        for line in joined.split("\n"):
            words = [w.strip("\"'") for w in line.split()]
            if len(words) > 1 and re.match(
                r"(?:exec|nohup|python3?|vllm|pip3?|uv|export|docker|podman|srun|env)$|[A-Z_]+=", words[0]
            ):
                found = find_launch(words)
                if (found is not None and any(w.startswith("-") for w in words[found.first :])) or words[0] in (
                    "pip",
                    "pip3",
                    "uv",
                ):
                    return True
                if words[0] == "export" or (found is not None and words[0] in ("exec", "nohup")):
                    return True
        return False

    def _options_only(self, text: str) -> bool:
        return text.lstrip().startswith("--")

    def _line(self, node: Node, key: str, path: Path) -> None:
        """A command on one line."""
        if names.is_prose(key) and not names.is_script(key):
            return
        parts = [p.strip("\"'") for p in node.text.split()]
        if len(parts) < 2 or parts[0].startswith("-"):
            return
        # `scripts` of a package holds commands, whatever their names.
        known = names.is_script(key) or path[-2:-1] in (("scripts",), ("tasks",))
        installs = (known and re.search(r"\b(?:pip3?|uv)\b", node.text) is not None) or self._prepares(key, node.text)
        found = find_launch(parts)
        if (
            found is None
            and not installs
            and not (known and re.search(r"\b(?:ba|z)?sh -\w*c\b|docker run|&&|;", node.text))
        ):
            return
        if (
            not known
            and found is not None
            and not (found.program == 0 and any(_ARGUMENT.match(p) for p in parts[found.first :]))
        ):
            return
        reader = self.reader
        owner, variables = reader.owner(node), reader.surroundings()
        context = reader.guest_context(owner, "", variables)
        reader.adopt(read_shell(reader.items.region_of(node), context), owner, variables)

    def listing(self, node: Node, path: Path) -> bool:
        """Read a list of command lines as one script; tell whether it was one."""
        key = path[-1] if path else ""
        scalars = [u.node for u in node.items if u.node.kind == "scalar" and not u.alias]
        if not names.is_script(key) or len(scalars) != len(node.items) or len(scalars) < 2:
            return False
        if not any(_TRIGGER.search(s.text) for s in scalars):
            return False
        if any(s.style in ("|", ">") or "\n" in s.text for s in scalars):
            return False
        if sum(1 for s in scalars if len(s.text.split()) > 1) * 2 < len(scalars) or scalars[0].text.startswith("-"):
            return False
        if find_launch([s.text for s in scalars]) is not None and not any(find_launch(s.text.split()) for s in scalars):
            return False
        joined = self.join(scalars)
        if joined is None:
            return False
        reader = self.reader
        owner, variables = reader.owner(node), reader.surroundings()
        reader.adopt(read_shell(joined, reader.guest_context(owner, "", variables)), owner, variables)
        return True

    def join(self, scalars: list[Node]) -> Region | None:
        """Return the items of a list as the lines of one text."""
        if len({s.style for s in scalars}) != 1:
            return None
        regions = [self.reader.items.region_of(s) for s in scalars]
        pieces: list[Piece] = []
        out: list[str] = []
        length = 0
        offsets: list[int] = []
        for index, region in enumerate(regions):
            if region.spellings:
                return None
            offsets.append(length)
            for piece in region.pieces:
                pieces.append(
                    Piece(
                        length + piece.start, length + piece.end, piece.parent_start, piece.parent_end, piece.verbatim
                    )
                )
            out.append(region.text)
            length += len(region.text)
            if index + 1 < len(regions):
                gap = regions[index + 1].pieces[0].parent_start
                pieces.append(Piece(length, length + 1, region.pieces[-1].parent_end, gap, False))
                out.append("\n")
                length += 1
        made = JoinedRegion(regions[0].source, "".join(out), self.reader.document.region, pieces)
        made.parts, made.offsets = regions, offsets
        return made


@dataclass
class JoinedRegion(Region):
    """Several scalars as the lines of one text; a line end stands for what lies between two of them."""

    parts: list[ScalarRegion] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)

    def written(self, new: str, start: int, end: int) -> str | None:
        index = max(i for i, at in enumerate(self.offsets) if at <= start)
        if "\n" not in new:
            part = self.parts[index]
            at = start - self.offsets[index]
            return part.written(new, min(at, len(part.text)), min(at, len(part.text)))
        return None
