"""Environment variables of a script: who sets them, which commands see them, who else would."""

from __future__ import annotations

from dataclasses import field

from vllm_migrate.hosts.shell_guard import guard
from vllm_migrate.hosts.shell_list import Slot, WordList
from vllm_migrate.hosts.shell_scope import function_of
from vllm_migrate.hosts.shell_script import Flat, Script
from vllm_migrate.hosts.shell_tree import DECLARERS, Assignment, Node, dominates, reaches
from vllm_migrate.launch import basename, launchers
from vllm_migrate.lazy import dataclass
from vllm_migrate.model import Site, Variable, is_hole
from vllm_migrate.text import Span

QUIET = frozenset(
    (
        ":", ".", "true", "false", "cd", "pushd", "popd", "set", "shopt", "ulimit", "umask", "trap", "wait", "kill",
        "exit", "return", "shift", "getopts", "unset", "source", "eval", "exec", "sleep", "mkdir", "rm", "mv", "cp",
        "ln", "ls", "pwd", "touch", "chmod", "chown", "date", "hostname", "whoami", "uname", "id", "head", "tail",
        "sort", "uniq", "wc", "cut", "tr", "xargs", "find", "basename", "dirname", "realpath", "readlink", "mktemp",
        "seq", "expr", "let", "bc", "curl", "wget", "nc", "netstat", "ss", "lsof", "module", "deactivate",
        "nvidia-smi", "rocm-smi", "free", "df", "du", "mount", "tar", "unzip", "gzip", "rsync", "scp", "clear",
        "stty", "diff", "cmp", "break", "continue", "command", "builtin", "hash", "logger",
    )
)  # fmt: skip
"""Programs that do not read the variables a server is set up with, beside those that only talk of a command."""


_DEPTH = 4


@dataclass(eq=False)
class Setting:
    """One `export NAME=value` (or an assignment whose name is exported) with the command that does it."""

    variable: Variable
    node: Node
    sites: list[Site] = field(default_factory=list)


class Environment:
    """What the commands of one script set for those that follow."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.settings: list[Setting] = []
        self.unset: list[tuple[str, Node]] = []
        self.prefixes: dict[int, list[Variable]] = {}
        self._collect()

    def _collect(self) -> None:
        script = self.script
        exported = {name for node in script.commands for name in _exported_names(node)}
        everything = False
        for node in script.commands:
            words = script.lists[id(node)]
            head = node.words[0].text if node.words else ""
            if head == "set":
                flags = [w.text for w in node.words[1:]]
                if "-a" in flags or ("allexport" in flags and "-o" in flags):
                    everything = True
                elif "+a" in flags or ("allexport" in flags and "+o" in flags):
                    everything = False
            elif head == "unset":
                self.unset += [(w.text, node) for w in node.words[1:] if not w.text.startswith("-")]
            exports = _exports(node)
            if exports:
                for index, token in enumerate(words.tokens):
                    lexeme = token.lexeme
                    if lexeme is not None and any(w is lexeme for w in node.words[1:]) and lexeme.text.isidentifier():
                        script.mentions.setdefault(lexeme.text, []).append((words, index))
            for index, made in _indexed(words, node):
                if node.words and head not in DECLARERS:
                    self.prefixes.setdefault(id(node), []).append(assigned(script, words, index, made, "process"))
                elif exports or everything or made.name in exported:
                    variable = assigned(script, words, index, made, "script")
                    script.set_items.setdefault(made.name, []).append(variable)
                    self.settings.append(Setting(variable, node))
        for name, places in script.mentions.items():
            if name not in script.set_items:
                words, index = places[0]
                token = words.tokens[index]
                variable = Variable(words.region, Span(token.start, token.end), words.face, name=name, scope="script")
                words.hold(variable, Slot(index, 0, 0, name=(0, len(name))))
                assert words.node is not None
                self.settings.append(Setting(variable, words.node))

    def seen_by(self, use: Node) -> list[Setting]:
        """Return the settings in force at a command, an overwritten one left out."""
        found: list[Setting] = []
        for setting in self.settings:
            if not reaches(setting.node, use):
                continue
            name = setting.variable.name
            if any(
                n == name and reaches(node, use) and dominates(node, use) and node.start > setting.node.start
                for n, node in self.unset
            ):
                continue
            certain = self._certain(setting.node, use)
            if not certain:
                # What a launch is given only sometimes must not become an option it always has.
                setting.variable.branch = setting.node.start
            if certain and setting.variable.value is not None:
                found = [s for s in found if s.variable.name != name]
            found.append(setting)
        return found

    def _certain(self, source: Node, use: Node, depth: int = 0) -> bool:
        """Tell whether a command has run when another does, a function it stands in having been called."""
        if dominates(source, use):
            return True
        function = function_of(source)
        if function is None or depth > _DEPTH or not function.children or not dominates(source, function.children[0]):
            return False
        names = {name for name, node in self.script.functions.items() if node is function}
        return any(
            node.words[0].text in names and reaches(node, use) and self._certain(node, use, depth + 1)
            for node in self.script.commands
            if node.words
        )

    def lock_read(self) -> None:
        """Lock exported variables that the script itself reads: taking one away would change the script."""
        read: dict[str, str] = {}
        for node, hole in self.script.uses():
            head = basename(node.words[0].text) if node.words and node.kind == "command" else ""
            itself = bool(node.assignments) and all(a.name == hole.name for a in node.assignments)
            if hole.name and not itself and head not in launchers()["talkers"] - {"[", "[[", "test"}:
                read[hole.name] = head or "the script"
        for setting in self.settings:
            name = setting.variable.name
            if name in read:
                setting.variable.locked = setting.variable.locked or f"also read by {read[name]} as ${name}"


def _exports(node: Node) -> bool:
    """Tell whether a command hands variables on: `export -n` takes them back, `-f` is about functions."""
    if not node.words or node.words[0].text not in DECLARERS:
        return False
    flags = "".join(w.text for w in node.words[1:] if w.text.startswith("-"))
    return (node.words[0].text == "export" or "x" in flags) and "n" not in flags and "f" not in flags


def _exported_names(node: Node) -> list[str]:
    return [w.text for w in node.words[1:] if w.text.isidentifier()] if _exports(node) else []


def _indexed(words: WordList, node: Node) -> list[tuple[int, Assignment]]:
    named = {a.start: a for a in node.assignments}
    return [(i, named[t.start]) for i, t in enumerate(words.tokens) if t.start in named and t.lexeme is not None]


def assigned(script: Script, words: WordList, index: int, made: Assignment, scope: str) -> Variable:
    """Return the item of a `NAME=value` token."""
    token = words.tokens[index]
    lexeme = token.lexeme
    assert lexeme is not None
    low = lexeme.text.index("=") + 1
    return _variable(script, words, index, 0, low, scope, ())


def _variable(
    script: Script, words: WordList, index: int, name_at: int, low: int, scope: str, also: tuple[int, ...]
) -> Variable:
    token = words.tokens[index]
    lexeme = token.lexeme
    assert lexeme is not None
    end = len(lexeme.text)
    name = lexeme.text[name_at : low - 1].rstrip("+") if low else lexeme.text[name_at:]
    value = lexeme.text[low:] if low else None
    start = lexeme.begin(low) if low else token.end
    made = Variable(
        words.region,
        Span(token.start, token.end),
        words.face,
        name=name,
        value=value,
        holes=tuple(script.spelling(script.origin(words, h) or h) for h in lexeme.holes) if value is not None else (),
        scope=scope,
        value_span=Span(start, token.end) if low else None,
    )
    made.guarded = guard(script, words.node)
    words.hold(made, Slot(index, low or end, end, also, (name_at, name_at + len(name))))
    return made


def given(flats: list[Flat], index: int, glued: bool) -> Variable | None:
    """Return the variable of a word given by `env` or `-e`; None where its name is not in the file.

    glued: the word is `--env=NAME=value`.
    """
    flat = flats[index]
    text = flat.lexeme.text
    name_at = text.index("=") + 1 if glued else 0
    equals = text.find("=", name_at)
    low = equals + 1 if equals >= 0 else 0
    name = text[name_at : low - 1] if low else text[name_at:]
    if not name or any(is_hole(c) for c in name):
        return None
    also: tuple[int, ...] = ()
    before = flats[index - 1] if index else None
    if not glued and before is not None and before.lexeme.text in ("-e", "--env"):
        if before.words is not flat.words:
            return None
        also = (before.index,)
    return _variable(flat.script, flat.words, flat.index, name_at, low, "process", also)
