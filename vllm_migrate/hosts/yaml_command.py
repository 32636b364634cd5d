"""The command of a container: its words, the script among them, and where a new word goes."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from vllm_migrate.hosts.yaml_spots import NewKey
from vllm_migrate.hosts.yaml_tree import Node, Pair
from vllm_migrate.launch import find_launch, script_of
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Container, Site, Word
from vllm_migrate.text import Region

if TYPE_CHECKING:
    from vllm_migrate.hosts.yaml_reader import Path, Reader

_QUIET = regex(
    r"(?:echo|sleep|mkdir|cd|set|export|exec|nohup|true|:|if|then|else|elif|fi|for|do|done|while|case|esac|test|\[|\[\["
    r"|rm|cp|mv|ln|chmod|cat|source|\.|umask|ulimit|printf|trap|wait|unset|shift|tee|pip|pip3|uv|apt-get|apt|hostname"
    r"|[A-Za-z_]\w*=.*|\}|\{|#.*|-.*|\\)$"
)


@dataclass
class Command:
    """What a container runs. head: its command or entry point; tail: its arguments."""

    head: Pair | None = None
    tail: Pair | None = None
    words: list[Word] = field(default_factory=list)
    count: int = 0
    """How many of the words are the head's."""
    open: bool = False
    optional: bool = False
    """The head is only there where a template's values give one."""


class Commands:
    """Reads the commands of a document's containers."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def read(self, node: Node, path: Path) -> Command:
        entry = node.find("entrypoint", "entryPoint", "EntryPoint")
        cmd = node.find("command", "Command")
        args = node.find("args", "Args") or self._arguments(node, cmd)
        composed = entry is not None or self.reader.compose or (cmd is not None and cmd.name == "Command")
        if path and len(path) > 1 and path[-2] == "containerDefinitions":
            composed = True
        made = Command(entry, cmd) if composed and args is None else Command(cmd or entry, args)
        for pair, head in ((made.head, True), (made.tail, False)):
            if pair is None:
                continue
            if pair.node.kind == "sequence":
                words, open_ended = self.reader.items.list_words(pair.node, split=False)
                made.open = made.open or open_ended
            elif pair.node.kind == "scalar" and pair.node.text.strip():
                words, _ = self.reader.items.string_words(pair.node)
            else:
                words = []
            if head and words and all(w.splits and w.branch != -1 for w in words):
                # A command that a template only prints when its values give one: else the image's own runs.
                made.open, made.optional, words = True, True, []
            made.words += words
            if head and not (words and words[0].text.startswith("-")):
                made.count = len(words)
        return made

    def _arguments(self, node: Node, cmd: Pair | None) -> Pair | None:
        """Return the list that follows a command under another name than `args`."""
        found = node.find("arguments") if cmd is not None and cmd.node.kind == "sequence" else None
        return found if found is not None and found.node.kind == "sequence" else None

    def script(self, command: Command) -> Region | None:
        """Return the text of the script a container runs, or None."""
        items = self.reader.items
        for pair in (command.head, command.tail):
            if pair is None or pair.node.kind != "scalar" or not pair.node.text.strip():
                continue
            words = [w for w in command.words if w.region is items.script_region(pair.node)]
            texts = [w.text for w in words]
            if script_of(texts) is not None:
                return items.script_region(pair.node)
            if (
                not self.reader.compose
                and texts
                and not texts[0].startswith("-")
                and ("\n" in pair.node.text.strip() or re.search(r"&&|\|\||;|\$\(", pair.node.text))
            ):
                return items.script_region(pair.node)
        texts = [w.text for w in command.words]
        at = script_of(texts)
        if at is None:
            return None
        return self._word_region(command, command.words[at])

    def _word_region(self, command: Command, word: Word) -> Region | None:
        for pair in (command.head, command.tail):
            if pair is None or pair.node.kind != "sequence":
                continue
            for use in pair.node.items:
                if use.node.kind == "scalar" and self.reader.items.made.get(("word", id(use))) is word:
                    return self.reader.items.script_region(use.node)
        if word.region is not self.reader.document.region:
            # The script is one word of a string of words.
            inside = word.region.text[word.span.start : word.span.end]
            if inside == word.text:
                return word.region.slice(word.span.start, word.span.end)
        return None

    def is_quiet(self, command: Command, site: Site) -> bool:
        """Tell whether a script starts nothing but one site that could see the container's environment."""
        region = self.script(command)
        if region is None:
            return False
        whole = region.nearest_span(0, len(region.text))
        place = site.place
        text = region.source.text
        rest = text[whole.start : place.start] + "\n" + text[place.end : whole.end]
        rest = re.sub(r"\\\r?\n", " ", rest)
        for statement in re.split(r"[\n;&|]+|\bthen\b|\bdo\b|\belse\b", rest):
            words = statement.strip().strip("\"'()").split()
            if words and not _QUIET.match(words[0]):
                return False
        return True

    def expanded(self, command: Command) -> list[Word]:
        """Return the words with items of several words taken apart."""
        out: list[Word] = []
        items = self.reader.items
        for pair in (command.head, command.tail):
            if pair is None or (pair is command.head and command.optional):
                continue
            if pair.node.kind == "sequence":
                before = len(out)
                lone = [u for u in pair.node.items if u.node.kind == "scalar"]
                if len(lone) == 1 and len(pair.node.items) == 1 and self._is_line(lone[0].node):
                    words, home = items.string_words(lone[0].node)
                    home.seq = items.home(pair.node)
                    out += words
                else:
                    out += items.list_words(pair.node)[0]
                if pair is command.head and command.count:
                    command.count = len(out) - before
            elif pair.node.kind == "scalar" and pair.node.text.strip():
                out += items.string_words(pair.node)[0]
        return out

    def _is_line(self, node: Node) -> bool:
        parts = node.text.split()
        return len(parts) > 2 and not node.text.startswith("-") and find_launch(parts) is not None

    def word_home(self, node: Node, command: Command, pair: Pair) -> Container | None:
        items, document = self.reader.items, self.reader.document
        last = command.tail or command.head
        if last is not None and last.node.kind == "sequence" and last.node.items and not last.use.alias:
            return items.home(last.node)
        if last is not None and last.node.kind == "scalar" and last.node.text.strip():
            return items.string_words(last.node)[1]
        if last is not None or not node.pairs:
            return None
        if self.reader.compose:
            return NewKey(document, node, "command", "words", interpolates=True)
        return NewKey(document, node, "args", "words")

    def prints_more(self, node: Node, command: Command) -> bool:
        """Tell whether template actions print lines among the arguments."""
        mask = self.reader.document.mask
        if not mask.actions:
            return False
        for pair in (command.head, command.tail):
            if pair is None:
                continue
            end = self._until(node, pair)
            if any(a.alone and not a.control for a in mask.within(pair.start, end)):
                return True
        return False

    def _until(self, node: Node, pair: Pair) -> int:
        """Return where the next key of the mapping begins, or the end of the value."""
        holder = pair.use.holder
        if holder is None or pair.use.index + 1 >= len(holder.pairs):
            following = self.reader.document.text.find("\n", pair.end)
            while (
                following >= 0
                and not self.reader.document.mask.text[
                    following + 1 : self.reader.document.line_end(following + 1)
                ].strip()
            ):
                ahead = self.reader.document.line_end(following + 1)
                if ahead >= len(self.reader.document.text):
                    return ahead
                following = ahead
            return max(following, pair.end)
        return holder.pairs[pair.use.index + 1].start
