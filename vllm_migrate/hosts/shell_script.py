"""A parsed shell script: its word lists, what its variables hold, and what an expansion may become."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from vllm_migrate.hosts import Context, shell_guard, shell_lex
from vllm_migrate.hosts.shell_bearing import without_the_rest
from vllm_migrate.hosts.shell_lex import Hole, Lexeme, Scanner
from vllm_migrate.hosts.shell_list import Slot, Token, WordList
from vllm_migrate.hosts.shell_parse import parse
from vllm_migrate.hosts.shell_prune import ScriptContainer
from vllm_migrate.hosts.shell_region import QuotedRegion, guest_region, uses_of
from vllm_migrate.hosts.shell_scope import Scopes
from vllm_migrate.hosts.shell_tree import DECLARERS, Assignment, Node, dominates, reaches
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import Variable, Word, is_hole
from vllm_migrate.text import Region, Span

_LIST_NAME = regex(
    r"ARGS?(?:_|$)|OPT(?:ION)?S?(?:_|$)|FLAGS?(?:_|$)|PARAMS?(?:_|$)|EXTRA|ARGUMENTS", re.IGNORECASE
)
_WHERE_SET = regex(
    r"\$\{\w+:?\+(--[a-z][\w-]*(?:[ =](?:[\w./:-]+|\$\w+|\$\{\w+\}|\"\$\w+\"|\"\$\{\w+\}\"))?"
    r"|\"--[a-z][\w-]*(?:=(?:[\w./:-]+|\$\w+|\$\{\w+\}))?\"|'--[a-z][\w-]*(?:=[\w./:-]+)?')\}"
)
_LETTER = regex("[\ue000-\uf8ff]")
LIMIT = 12
_CHAIN = 60
"""Variables set from one another that are followed."""
_LONGEST = 1 << 16
"""Letters of a value that is made of other variables."""
"""How many layers of expansion and guests are followed."""


@dataclass(eq=False)
class Binding:
    """One assignment of a shell variable. appends: it adds to what the variable held."""

    name: str
    assignment: Assignment
    node: Node
    home: WordList
    words: WordList
    appends: bool = False
    scalar: str | None = None
    """The value, for a scalar without run-time parts."""
    value: Region | None = None
    """The value of a scalar as a guest text."""
    index: int = 0
    """Token of the assignment in its command's list."""

    @property
    def looks_like_words(self) -> bool:
        if self.assignment.elements is not None:
            return True
        text = self.value.text if self.value is not None else ""
        return self.appends or self.scalar == "" or text.startswith("-") or any(c.isspace() for c in text.strip())


def is_alone(text: str) -> bool:
    return len(text) == 1 and is_hole(text)


@dataclass
class Flat:
    """A word as the command gets it, with the list it stands in."""

    words: WordList
    index: int
    script: Script

    @property
    def word(self) -> Word:
        return self.script.word(self.words, self.index)

    @property
    def lexeme(self) -> Lexeme:
        lexeme = self.words.tokens[self.index].lexeme
        assert lexeme is not None
        return lexeme


@dataclass
class Outer:
    """Where a guest's run-time letters come from: the enclosing script, the command, the word's holes."""

    script: Script
    node: Node
    lexeme: Lexeme


@dataclass(eq=False)
class Script:
    """One script text. See `Script.of`."""

    region: Region
    context: Context
    root: Node
    errors: list[tuple[str, int]]
    outer: Outer | None = None
    depth: int = 0
    lists: dict[int, WordList] = field(default_factory=dict)
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    bound: int = 0
    """How many bindings there are."""
    guards: dict[tuple[int, int], str] = field(default_factory=dict)
    """Version tests that commands stand under, by command and `bound`; see `shell_guard`."""
    tests: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)
    """The first version test of a list of commands, by list and `bound`."""
    literals: dict[tuple[str, int, int], tuple[Node, str | None]] = field(default_factory=dict)
    """Variable, command and `bound` → the command and the value the variable has there."""
    functions: dict[str, Node] = field(default_factory=dict)
    mentions: dict[str, list[tuple[WordList, int]]] = field(default_factory=dict)
    set_items: dict[str, list[Variable]] = field(default_factory=dict)
    commands: list[Node] = field(default_factory=list)
    homes: dict[int, WordList] = field(default_factory=dict)
    """The list of every item of the script."""
    given: dict[tuple[int, int], WordList] = field(default_factory=dict)
    """Words of `${X:+…}` by the list and token they stand at."""
    chosen: dict[str, Binding] = field(default_factory=dict)
    """Of several values a variable may have, the one that is being read."""

    def __post_init__(self) -> None:
        self.container = ScriptContainer(self)
        self.scopes = Scopes(self.functions)

    @classmethod
    def of(cls, region: Region, context: Context, outer: Outer | None = None, depth: int = 0) -> Script:
        root, errors = parse(without_the_rest(region))
        script = cls(region, context, root, errors, outer, depth)
        script._collect(root)
        script.commands.sort(key=lambda n: n.start)
        return script

    @property
    def text(self) -> str:
        return self.region.text

    def spelling(self, hole: Hole) -> str:
        """Return how the file writes a run-time part, through outer texts."""
        if hole.form != "outer":
            return hole.spelled
        found = self.outer_hole(hole)
        if found is not None:
            script, _, outer = found
            return script.spelling(outer)
        span = self.region.nearest_span(hole.start, hole.end)
        return self.region.source.text[span.start : span.end]

    def outer_hole(self, hole: Hole) -> tuple[Script, Node, Hole] | None:
        if self.outer is None:
            return None
        index = ord(hole.spelled) - 0xE000
        if index >= len(self.outer.lexeme.holes):
            return None
        return self.outer.script, self.outer.node, self.outer.lexeme.holes[index]

    # -- collecting

    def _collect(self, node: Node) -> None:
        for part in node.walk():
            if part.kind == "function":
                self.functions[part.name] = part
            if part.kind == "command":
                self.commands.append(part)
                self._list(part)
            for lexeme in part.words:
                self._collect_inner(lexeme, part)
            for assignment in part.assignments:
                for lexeme in [assignment.lexeme, *(assignment.elements or ())]:
                    if lexeme is not None:
                        self._collect_inner(lexeme, part)

    def _collect_inner(self, lexeme: Lexeme, parent: Node) -> None:
        for hole in lexeme.holes:
            if isinstance(hole.inner, Node):
                hole.inner.parent = parent
                self._collect(hole.inner)

    def _list(self, node: Node) -> None:
        """Make the word list of a command, and the bindings of its assignments."""
        tokens: list[tuple[Token, Assignment | None]] = []
        tokens += [(Token(a.start, a.end, a.lexeme and whole_assignment(self.text, a)), a) for a in node.assignments]
        tokens += [(Token(w.start, w.end, w), None) for w in node.words]
        tokens += [(Token(r.start, r.end), None) for r in node.redirects]
        tokens.sort(key=lambda pair: pair[0].start)
        words = WordList(self.region, "command", [t for t, _ in tokens], node.start)
        words.script, words.node = self, node
        words.prefer = self._preferred
        words.spellings = self._letters
        declares = bool(node.words) and node.words[0].text in DECLARERS
        words.vanishes = declares or not node.words
        if declares:
            words.keeps = next((i for i, (t, a) in enumerate(tokens) if a or not _is_flag(t, node)), len(tokens))
        self.lists[id(node)] = words
        for index, (_, assignment) in enumerate(tokens):
            if assignment is not None and (declares or not node.words):
                self._bind(words, index, assignment, node)

    @cached_property
    def _preferred(self) -> str:
        """In single-quoted guests double quotes need no escapes."""
        region: Region | None = self.region
        while region is not None:
            if isinstance(region, QuotedRegion) and region.lexeme is not None and region.lexeme.runs:
                return "double" if region.lexeme.runs[0].quote == "single" else "single"
            region = region.parent
        return "single"

    @cached_property
    def _letters(self) -> dict[str, str]:
        if self.outer is None:
            return self._foreign_letters()
        holes = self.outer.lexeme.holes
        return {self.outer.script.spelling(h): chr(0xE000 + i) for i, h in reversed(list(enumerate(holes)))}

    def _foreign_letters(self) -> dict[str, str]:
        """Return the letters another format left open in this text, by how the file spells them."""
        found: dict[str, str] = {}
        for letter in _LETTER.finditer(self.text):
            span = self.region.nearest_span(letter.start(), letter.end())
            found.setdefault(self.region.source.text[span.start : span.end], letter.group())
        return found

    def _bind(self, home: WordList, index: int, made: Assignment, node: Node) -> None:
        binding = Binding(made.name, made, node, home, home, made.appends or made.subscript, index=index)
        if made.elements is not None:
            tokens = [Token(e.start, e.end, e) for e in made.elements]
            binding.words = WordList(self.region, "array", tokens, made.open)
            binding.words.script, binding.words.node = self, node
            binding.words.prefer, binding.words.spellings = home.prefer, home.spellings
            if any(self._refers(e, made.name) for e in made.elements):
                binding.appends = True
        else:
            lexeme = home.tokens[index].lexeme
            assert lexeme is not None
            low = lexeme.text.index("=") + 1
            binding.value = guest_region(self.region, lexeme, low)
            if not lexeme.holes:
                binding.scalar = lexeme.text[low:]
            binding.words = self._string(binding, lexeme, home)
            if self._refers(lexeme, made.name) and not (
                lexeme.holes[0].form == "default" and is_alone(binding.value.text)
            ):
                binding.appends = True
        if binding.appends and not made.subscript:
            binding.words.parent = (home, index)
            for i, token in enumerate(binding.words.tokens):
                hole = token.lexeme.lone_hole if token.lexeme is not None else None
                origin = self.origin(binding.words, hole) if hole is not None else None
                if origin is not None and origin.name == made.name:
                    binding.words.idle.add(i)
        self.bindings.setdefault(made.name, []).append(binding)
        self.bound += 1

    def _string(self, binding: Binding, lexeme: Lexeme, home: WordList) -> WordList:
        assert binding.value is not None
        lexemes, _ = shell_lex.split(binding.value.text)
        made = WordList(binding.value, "string", [Token(w.start, w.end, w) for w in lexemes], 0)
        made.script, made.node = self, home.node
        quotes = {run.quote for run in lexeme.runs if run.start > lexeme.text.index("=")}
        made.prefer = "double" if quotes == {"single"} else "single"
        made.spellings = {self.spelling(h): chr(0xE000 + i) for i, h in reversed(list(enumerate(lexeme.holes)))}
        return made

    @staticmethod
    def _refers(lexeme: Lexeme, name: str) -> bool:
        return any(h.name == name and h.form in ("plain", "list", "default") for h in lexeme.holes)

    # -- reach

    def before(self, name: str, use: Node) -> list[Binding]:
        """Return the bindings of a variable that may hold at a command, earlier ones first."""
        scopes = self.scopes
        found = [
            b
            for b in self.bindings.get(name, ())
            if b.node is not use and reaches(b.node, use) and scopes.sees(name, b.node, use)
        ]
        for i in range(len(found) - 1, -1, -1):
            if not found[i].appends and dominates(found[i].node, use):
                return [found[i], *(b for b in found[i + 1 :] if scopes.between(b.node, use))]
        return found

    def literal(self, name: str, use: Node, seen: frozenset[str] = frozenset()) -> str | None:
        """Return the one value a scalar has in this file, or None."""
        if name in seen or len(seen) > _CHAIN:
            return None
        key = (name, id(use), self.bound)
        if key not in self.literals:
            value = self._literal(name, use, seen)
            # What is made of itself over and over grows beyond any command line.
            self.literals[key] = use, value if value is None or len(value) <= _LONGEST else None
        return self.literals[key][1]

    def _literal(self, name: str, use: Node, seen: frozenset[str]) -> str | None:
        binding = self.only_binding(name, use)
        if binding is None:
            return None
        if binding.scalar is not None:
            return binding.scalar
        lexeme = binding.home.tokens[binding.index].lexeme
        assert lexeme is not None
        low = lexeme.text.index("=") + 1
        return self.resolved(lexeme, use, seen | {name}, low)

    def only_binding(self, name: str, use: Node) -> Binding | None:
        found = self.before(name, use)
        if len(found) == 1 and found[0].assignment.elements is None and not found[0].appends:
            return found[0]
        return None

    def resolved(self, lexeme: Lexeme, use: Node, seen: frozenset[str] = frozenset(), low: int = 0) -> str:
        """Return a word's text with the run-time parts filled in that the file gives one literal value."""
        if not lexeme.holes:
            return lexeme.text[low:]
        out = []
        for c in lexeme.text[low:]:
            if is_hole(c) and ord(c) - 0xE000 < len(lexeme.holes):
                value = self.value_of(lexeme.holes[ord(c) - 0xE000], use, seen)
                out.append("\ue000" if value is None else value)
            else:
                out.append(c)
        return "".join(out)

    def value_of(self, hole: Hole, use: Node, seen: frozenset[str] = frozenset()) -> str | None:
        if hole.form == "outer":
            found = self.outer_hole(hole)
            return found[0].value_of(found[2], found[1], seen) if found is not None else None
        if hole.form == "plain":
            value = self.literal(hole.name, use, seen)
            return value if value is None or not any(is_hole(c) for c in value) else None
        if hole.form == "default" and hole.default is not None:
            known = self.literal(hole.name, use, seen) if hole.name not in seen else None
            if known is not None and not any(is_hole(c) for c in known):
                return known
            words, left = shell_lex.split(self.text[hole.default.start : hole.default.end])
            if len(words) == 1 and not words[0].holes and not left:
                return words[0].text
        return None

    def origin(self, words: WordList, hole: Hole) -> Hole | None:
        """Return the hole of this script's text that a hole of one of its lists stands for."""
        return self.string_hole(words, hole) if words.region is not self.region else hole

    def shown(self, flat: Flat, use: Node) -> str:
        """Return a word's text with what the file says of its run-time parts, the others as one letter."""
        lexeme = flat.lexeme
        if not lexeme.holes:
            return lexeme.text
        out = []
        for c in lexeme.text:
            if not is_hole(c) or ord(c) - 0xE000 >= len(lexeme.holes):
                out.append(c)
                continue
            origin = self.origin(flat.words, lexeme.holes[ord(c) - 0xE000])
            value = self.value_of(origin, use) if origin is not None else None
            if value is None and origin is not None and origin.form == "plain" and origin.name not in self.bindings:
                value = self._from_outside(origin.name)
            out.append("\ue000" if value is None else value)
        return "".join(out)

    def _from_outside(self, name: str, depth: int = 0) -> str | None:
        """Return what the text around the script says a variable holds."""
        value = self.context.variables.get(name)
        if value is None or depth > 4:
            return None

        def inner(match: re.Match[str]) -> str:
            return self._from_outside(match[1], depth + 1) or "\ue000"

        filled = re.sub(r"\$\{([A-Za-z_]\w*)\}", inner, value)
        return None if "$" in filled or any(c.isspace() for c in filled) else filled

    # -- words

    def word(self, words: WordList, index: int) -> Word:
        """Return the item of a token; always the same one."""
        known = words.words.get(index)
        if known is not None:
            return known
        token = words.tokens[index]
        lexeme = token.lexeme
        assert lexeme is not None
        previous = words.tokens[index - 1].lexeme if index else None
        made = Word(
            words.region,
            Span(token.start, token.end),
            words.face,
            text=lexeme.text,
            holes=tuple(self._hole_spelling(words, h) for h in lexeme.holes),
            splits=self._splits(words, lexeme, previous),
        )
        made.guarded = shell_guard.guard(self, words.node)
        words.hold(made, Slot(index, 0, len(lexeme.text)))
        words.words[index] = made
        return made

    def _hole_spelling(self, words: WordList, hole: Hole) -> str:
        if hole.form == "outer" and words.region is not self.region:
            origin = self.string_hole(words, hole)
            return self.spelling(origin) if origin is not None else hole.spelled
        return self.spelling(hole)

    def string_hole(self, words: WordList, hole: Hole) -> Hole | None:
        """Return the hole of an assigned string that a letter in its words stands for."""
        region = words.region
        if hole.form != "outer" or not isinstance(region, QuotedRegion) or region.lexeme is None:
            return hole
        index = ord(hole.spelled) - 0xE000
        return region.lexeme.holes[index] if index < len(region.lexeme.holes) else None

    def _splits(self, words: WordList, lexeme: Lexeme, previous: Lexeme | None) -> bool:
        hole = lexeme.lone_hole
        if hole is None:
            return any(h.form == "list" for h in lexeme.holes)
        quoted = hole.quoted and words.kind not in ("string", "raw")
        origin: Hole | None = hole
        script = self
        if hole.form == "outer":
            origin = self.string_hole(words, hole)
            while origin is not None and origin.form == "outer":
                found = script.outer_hole(origin)
                if found is None:
                    return False
                script, _, origin = found
        if origin is None:
            return False
        if origin.form == "list":
            return True
        if quoted:
            return False
        if origin.form == "other" and re.match(r"\$\{\w+:?\+\s*[\"']?-", origin.spelled):
            return True
        if origin.form == "command" or origin.name == "":
            return previous is None or not _wants_value(previous)
        if _LIST_NAME.search(origin.name):
            return True
        if previous is not None and (_wants_value(previous) or previous.text == "serve"):
            return False
        bindings = script.bindings.get(origin.name, [])
        return not any(b.scalar is not None and b.scalar and not b.looks_like_words for b in bindings)

    def flatten(self, words: WordList, start: int, use: Node, seen: frozenset[str] = frozenset()) -> list[Flat]:
        """Return the words from token `start` on, expansions of lists the file shows written out."""
        out: list[Flat] = []
        for index in range(start, len(words.tokens)):
            lexeme = words.tokens[index].lexeme
            if lexeme is None or lexeme.comment:
                continue
            found = self._reference(words, lexeme, use)
            if found is not None and len(seen) < LIMIT:
                script, at, hole = found
                own = script is self and hole.name in seen
                if own and hole.form != "default" and script.before(hole.name, at):
                    # What it held before is listed already; a value from outside the file is not known.
                    continue
                if not own:
                    inner = script.contents(hole.name, at, seen)
                    if inner is not None:
                        out += inner
                        continue
            given = self._where_set(words, index, lexeme)
            if given is not None:
                out += [Flat(given, i, self) for i in range(len(given.tokens))]
                continue
            out.append(Flat(words, index, self))
        return out

    def is_where_set(self, words: WordList) -> bool:
        return any(w is words for w in self.given.values())

    def _where_set(self, words: WordList, index: int, lexeme: Lexeme) -> WordList | None:
        """Return the words of `${X:+--option value}`, which are there where the variable is set."""
        hole = lexeme.lone_hole
        found = _WHERE_SET.fullmatch(hole.spelled) if hole is not None and hole.form == "other" else None
        if hole is None or found is None or hole.quoted or words.region is not self.region or words.kind != "command":
            return None
        known = self.given.get((id(words), index))
        if known is None:
            low = hole.start + found.start(1)
            if self.text[hole.start : hole.end] != hole.spelled:
                return None
            tokens = [Token(m.start() + low, m.end() + low) for m in re.finditer(r"\S+", found[1])]
            for token in tokens:
                token.lexeme = Scanner(self.text, token.end, nested=None).word(token.start)
            known = WordList(self.region, "array", tokens, low)
            known.script, known.node = self, words.node
            known.prefer, known.spellings = words.prefer, words.spellings
            for i in range(len(tokens)):
                self.word(known, i).locked = f"it is given only where {hole.name or 'a variable'} is set"
            self.given[(id(words), index)] = known
        return known

    def _reference(self, words: WordList, lexeme: Lexeme, use: Node) -> tuple[Script, Node, Hole] | None:
        """Return the variable a word is an expansion of, with the script and place it is expanded at."""
        hole = lexeme.lone_hole
        if hole is None:
            return None
        if hole.quoted and hole.form != "list" and words.kind in ("command", "array"):
            return None
        script, at = self, use
        if hole.form == "outer" and words.region is not self.region:
            origin = self.string_hole(words, hole)
            if origin is None:
                return None
            hole = origin
        while hole.form == "outer":
            found = script.outer_hole(hole)
            if found is None:
                return None
            script, at, hole = found
        if hole.form not in ("plain", "list", "default") or not hole.name or hole.name in "@*":
            return None
        return script, at, hole

    def contents(self, name: str, use: Node, seen: frozenset[str] = frozenset()) -> list[Flat] | None:
        """Return the words a variable holds at a command; None where it is not a list of words."""
        bindings = self.before(name, use)
        one = self.chosen.get(name)
        if one is not None and one in bindings:
            bindings = [b for b in bindings if b is one or (b.appends and reaches(one.node, b.node))]
        if not bindings or not (_LIST_NAME.search(name) or any(b.looks_like_words for b in bindings)):
            return None
        out: list[Flat] = []
        for binding in bindings:
            out += self.flatten(binding.words, 0, binding.node, seen | {name})
        return out

    def uses(self) -> Iterator[tuple[Node, Hole]]:
        """Yield every run-time part with the command it stands in."""
        for node in self.root.walk():
            yield from uses_of(self.region, node)


def _is_flag(token: Token, node: Node) -> bool:
    return token.lexeme is not None and (token.lexeme is node.words[0] or token.lexeme.text.startswith(("-", "+")))


def _wants_value(previous: Lexeme) -> bool:
    return previous.text.startswith("-") and "=" not in previous.text and not previous.holes


def whole_assignment(text: str, made: Assignment) -> Lexeme:
    """Read `NAME=value` as one word."""
    lexeme = Scanner(text, made.end, nested=None).word(made.start)
    value = made.lexeme
    if value is None or len(value.holes) != len(lexeme.holes):
        return lexeme
    lexeme.holes = value.holes  # they carry the parsed substitutions
    return lexeme
