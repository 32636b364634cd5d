"""Parses a shell script into commands with exact positions, and recovers from what it cannot read.

A hand-written reader: it keeps where every word, assignment, redirection and here-document lies, takes
`\\r\\n` line ends and backquoted comments inside a command, and finds what follows a mistake.
"""

from __future__ import annotations

import re

from vllm_migrate.hosts.shell_lex import OPERATORS, Lexeme, Scanner
from vllm_migrate.hosts.shell_tree import DECLARERS, Assignment, Heredoc, Node, Redirect
from vllm_migrate.lazy import regex
from vllm_migrate.text import Span

_ASSIGN = regex(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\n]*\])?(\+?)=", re.ASCII)
_REDIRECT = regex(r"(?:\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\())|(&>>|&>)")
_KEYWORD = regex(
    r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|time|coproc|\{|\}|!|\[\[)(?=[\s;&|()<>]|\Z)"
)
_FUNCTION = regex(r"([A-Za-z_][\w.:-]*)[ \t]*\([ \t]*\)")
_EMPTY_LINES = regex(r"(?:[ \t]*\r?\n)+")
_BLANKS = regex(r"(?:[ \t]+|\r(?=\n)|\\\r?\n|#[^\n]*)*")
_CLOSERS = ("then", "elif", "else", "fi", "do", "done", "esac", "}")
MOST_WORDS = 20_000
"""Words of a command, far beyond what one has; systems refuse a few hundred thousand."""


class TooManyWords(Exception):
    """A command has more than `MOST_WORDS` words."""


class Parser:
    """Parses `text`; `problems` holds (message, offset)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.i = 0
        self.problems: list[tuple[str, int]] = []
        self._pending: list[Heredoc] = []
        self._scanner = Scanner(text, nested=self._nested)
        self._known: dict[int, tuple[int, Node] | None] = {}
        self._depth = 0

    def parse(self) -> Node:
        return self._block(None, "root", ())

    # -- blanks, comments, line ends

    def _blanks(self) -> None:
        found = _BLANKS.match(self.text, self.i, max(self.i, self.end))
        assert found is not None
        self.i = found.end()

    def _newlines(self) -> None:
        while True:
            self._blanks()
            if self.i >= self.end or self.text[self.i] != "\n":
                return
            self.i += 1
            if self._pending:
                self._bodies()
            else:
                # Where statements are passed over there are very many blank lines.
                found = _EMPTY_LINES.match(self.text, self.i, self.end)
                self.i = found.end() if found is not None else self.i

    def _bodies(self) -> None:
        """Read the bodies of here-documents announced on the line that just ended."""
        pending, self._pending = self._pending, []
        for heredoc in pending:
            start = self.i
            while True:
                if self.i >= self.end:
                    heredoc.body = Span(start, self.end)
                    heredoc.end = self.end
                    self.problems.append((f"here-document {heredoc.word.text!r} is not closed", heredoc.word.start))
                    break
                stop = self.text.find("\n", self.i)
                stop = self.end if stop < 0 else stop
                line = self.text[self.i : stop].rstrip("\r")
                if (line.lstrip("\t") if heredoc.tabs else line) == heredoc.word.text:
                    heredoc.body = Span(start, self.i)
                    heredoc.end = stop
                    self.i = min(stop + 1, self.end)
                    break
                self.i = min(stop + 1, self.end)

    def _nested(self, at: int) -> tuple[int, Node] | None:
        """Parse a substitution's script that begins at `at`."""
        if at not in self._known:
            if self._depth > 40:
                return None
            inner = Parser(self.text)
            inner.i, inner.end, inner._known, inner._depth = at, self.end, self._known, self._depth + 1
            inner._scanner.end = self.end
            node = inner._block(None, "substitution", (")",))
            closed = inner.i < inner.end and self.text[inner.i] == ")"
            self._known[at] = (inner.i, node) if closed and not inner.problems else None
        return self._known[at]

    # -- structure

    def _keyword(self) -> str:
        found = _KEYWORD.match(self.text, self.i, self.end)
        return found.group() if found else ""

    def _at_stop(self, stops: tuple[str, ...]) -> bool:
        for stop in stops:
            if stop[0].isalpha() or stop == "}":
                if self._keyword() == stop:
                    return True
            elif self.text.startswith(stop, self.i):
                return True
        return False

    def _block(self, parent: Node | None, role: str, stops: tuple[str, ...]) -> Node:
        block = Node("block", self.i, parent=parent, role=role)
        while True:
            self._newlines()
            if self.i >= self.end or self._at_stop(stops):
                break
            c = self.text[self.i]
            if c in ";&)|" or self._keyword() in _CLOSERS:
                word = self._keyword() or c
                self.problems.append((f"unexpected {word!r}", self.i))
                self.i += len(word)
                continue
            before = self.i
            self._statement(block)
            if self.i == before:
                self.problems.append((f"cannot read {self.text[self.i]!r}", self.i))
                self.i += 1
        block.end = self.i
        return block

    def _statement(self, block: Node) -> None:
        node = Node("statement", self.i, parent=block)
        while True:
            element = self._pipeline(node)
            node.children.append(element)
            node.end = element.end
            self._blanks()
            connector = self.text[self.i : self.i + 2]
            if connector not in ("&&", "||"):
                break
            node.connectors.append(connector)
            self.i += 2
            self._newlines()
            if self.i >= self.end:
                self.problems.append((f"nothing follows {connector!r}", self.i))
                break
        node.tail = node.end
        if self.i < self.end and self.text[self.i] in ";&" and not self.text.startswith(";;", self.i):
            if self.text.startswith(";&", self.i):
                pass
            else:
                node.background = self.text[self.i] == "&"
                self.i += 1
                node.tail = self.i
        block.children.append(node)

    def _pipeline(self, parent: Node) -> Node:
        start = self.i
        prefixed = False
        while self._keyword() in ("!", "time", "coproc"):
            prefixed = True
            self.i += len(self._keyword())
            self._blanks()
            if self.text.startswith("-p", self.i):
                self.i += 2
                self._blanks()
        first = self._command(parent)
        self._blanks()
        if not self._pipe():
            if prefixed:
                first.start = start
            return first
        node = Node("pipeline", start, parent=parent, children=[first])
        first.parent = node
        while self._pipe():
            self.i += 2 if self.text.startswith("|&", self.i) else 1
            self._newlines()
            before = self.i
            node.children.append(self._command(node))
            self._blanks()
            if self.i == before:
                self.problems.append(("nothing follows '|'", self.i))
                break
        node.end = node.children[-1].end
        return node

    def _pipe(self) -> bool:
        return self.i < self.end and self.text[self.i] == "|" and not self.text.startswith("||", self.i)

    def _expect(self, word: str, opener: int) -> int:
        """Take a keyword; return where it began."""
        self._newlines()
        at = self.i
        if self._keyword() == word:
            self.i += len(word)
        else:
            self.problems.append((f"{word!r} is missing", opener))
        return at

    def _command(self, parent: Node) -> Node:
        word, start = self._keyword(), self.i
        text = self.text
        if word == "if":
            node = self._if(parent)
        elif word in ("while", "until"):
            node = Node("loop", start, parent=parent)
            self.i += len(word)
            node.children.append(self._block(node, "cond", ("do",)))
            self._do(node)
        elif word in ("for", "select"):
            node = self._for(parent, word)
        elif word == "case":
            node = self._case(parent)
        elif word == "{":
            node = Node("group", start, parent=parent)
            self.i += 1
            node.children.append(self._block(node, "group", ("}",)))
            self._expect("}", start)
        elif word == "[[":
            node = self._test(parent)
        elif word == "function":
            self.i += len(word)
            self._blanks()
            name = self._scanner.word(self.i)
            self.i = name.end
            self._blanks()
            found = re.compile(r"\([ \t]*\)").match(text, self.i)
            if found:
                self.i = found.end()
            node = self._function(parent, name.text, start)
        elif text.startswith("((", start) and self._arithmetic_end(start):
            node = Node("test", start, parent=parent)
            self.i = self._arithmetic_end(start)
        elif text.startswith("(", start):
            node = Node("group", start, parent=parent)
            self.i += 1
            node.children.append(self._block(node, "subshell", (")",)))
            if text.startswith(")", self.i):
                self.i += 1
            else:
                self.problems.append(("'(' is not closed", start))
        else:
            found = _FUNCTION.match(text, start, self.end)
            if found and not word:
                self.i = found.end()
                return self._function(parent, found.group(1), start)
            return self._simple(parent)
        node.end = self.i
        if node.kind != "function":
            self._redirects(node)
        return node

    def _arithmetic_end(self, start: int) -> int:
        depth = 0
        for i in range(start, self.end):
            c = self.text[i]
            if c == "(":
                depth += 1
            elif c == ")":
                depth -= 1
                if depth == 0:
                    return i + 1 if self.text[i - 1] == ")" else 0
            elif c == "\n" and depth < 2:
                return 0
        return 0

    def _if(self, parent: Node) -> Node:
        node = Node("if", self.i, parent=parent)
        opener = self.i
        word = "if"
        while word in ("if", "elif"):
            self.i += len(word)
            node.children.append(self._block(node, "cond", ("then", "fi")))
            self._expect("then", opener)
            node.children.append(self._block(node, "then", ("elif", "else", "fi")))
            word = self._keyword()
            if word == "else":
                keyword = self.i
                self.i += 4
                other = self._block(node, "else", ("fi",))
                other.keyword = keyword
                node.children.append(other)
        self._expect("fi", opener)
        return node

    def _do(self, node: Node) -> None:
        self._newlines()
        if self._keyword() == "{":
            self.i += 1
            node.children.append(self._block(node, "body", ("}",)))
            self._expect("}", node.start)
            return
        self._expect("do", node.start)
        node.children.append(self._block(node, "body", ("done",)))
        self._expect("done", node.start)

    def _for(self, parent: Node, word: str) -> Node:
        node = Node("loop", self.i, parent=parent)
        self.i += len(word)
        self._blanks()
        if self.text.startswith("((", self.i):
            end = self._arithmetic_end(self.i)
            self.i = end or self.i + 2
        while True:
            self._blanks()
            if self.i >= self.end or self.text[self.i] in ";\n&|()<>":
                break
            if self._keyword() == "do":
                break
            lexeme = self._scanner.word(self.i)
            node.words.append(lexeme)
            self.i = max(lexeme.end, self.i + 1)
        if self.text.startswith(";", self.i):
            self.i += 1
        self._do(node)
        return node

    def _case(self, parent: Node) -> Node:
        node = Node("case", self.i, parent=parent)
        opener = self.i
        self.i += 4
        self._blanks()
        subject = self._scanner.word(self.i)
        node.words.append(subject)
        self.i = subject.end
        self._newlines()
        if self.text.startswith("in", self.i):
            self.i += 2
        while True:
            self._newlines()
            if self.i >= self.end or self._keyword() == "esac":
                break
            start = self.i
            if not self._pattern():
                self.problems.append(("a pattern of 'case' is not closed", start))
                break
            item = self._block(node, "item", (";;", ";&", "esac"))
            node.children.append(item)
            if self.text.startswith(";;&", self.i):
                self.i += 3
            elif self.text.startswith((";;", ";&"), self.i):
                self.i += 2
        self._expect("esac", opener)
        return node

    def _pattern(self) -> bool:
        """Go past a `case` pattern and its `)`."""
        if self.text.startswith("(", self.i):
            self.i += 1
        depth = 0
        while self.i < self.end:
            c = self.text[self.i]
            if c == "(":
                depth += 1
                self.i += 1
            elif c == ")":
                self.i += 1
                if depth == 0:
                    return True
                depth -= 1
            elif c in OPERATORS or c in " \t\r\n":
                self.i += 1
            else:
                self.i = max(self._scanner.word(self.i).end, self.i + 1)
        return False

    def _test(self, parent: Node) -> Node:
        node = Node("test", self.i, parent=parent)
        self.i += 2
        while self.i < self.end:
            # A `#` right after an operator belongs to a pattern here.
            if self.text[self.i] in " \t\r\n\\":
                self._newlines()
            if self.text.startswith("]]", self.i):
                self.i += 2
                return node
            if self.i < self.end and self.text[self.i] in OPERATORS:
                self.i += 1
                continue
            lexeme = self._scanner.word(self.i)
            node.words.append(lexeme)
            self.i = max(lexeme.end, self.i + 1)
        self.problems.append(("'[[' is not closed", node.start))
        return node

    def _function(self, parent: Node, name: str, start: int) -> Node:
        node = Node("function", start, parent=parent, name=name)
        self._newlines()
        node.children.append(self._command(node))
        node.end = self.i
        return node

    # -- simple commands

    def _redirects(self, node: Node) -> None:
        while True:
            self._blanks()
            if not self._redirect(node):
                return

    def _redirect(self, node: Node) -> bool:
        found = _REDIRECT.match(self.text, self.i, self.end)
        if not found:
            return False
        start = self.i
        op = found.group(1) or found.group(2)
        self.i = found.end()
        self._blanks()
        target = self._scanner.word(self.i)
        self._left_open(target)
        self.i = target.end
        redirect = Redirect(op, start, self.i, target)
        if op in ("<<", "<<-"):
            redirect.heredoc = Heredoc(target, op == "<<-")
            self._pending.append(redirect.heredoc)
        node.redirects.append(redirect)
        node.end = max(node.end, self.i)
        return True

    def _simple(self, parent: Node) -> Node:
        node = Node("command", self.i, self.i, parent=parent)
        while True:
            self._blanks()
            if self.i >= self.end or self.text[self.i] == "\n":
                break
            if self._redirect(node):
                continue
            c = self.text[self.i]
            if c in ";&|)" or (c in "<>" and self.text[self.i + 1 : self.i + 2] != "("):
                break
            if c == "(":
                self.problems.append(("unexpected '('", self.i))
                self.i += 1
                continue
            declares = bool(node.words) and node.words[0].text in DECLARERS
            if (not node.words or declares) and self._assignment(node):
                continue
            lexeme = self._scanner.word(self.i)
            self._left_open(lexeme)
            node.words.append(lexeme)
            if len(node.words) > MOST_WORDS:
                raise TooManyWords
            self.i = node.end = max(lexeme.end, self.i + 1)
        return node

    def _left_open(self, lexeme: Lexeme) -> None:
        if self._scanner.open:
            self.problems.append((f"{self._scanner.open} is not closed", lexeme.start))

    def _assignment(self, node: Node) -> bool:
        found = _ASSIGN.match(self.text, self.i, self.end)
        if not found:
            return False
        name, subscript, plus = found.groups()
        made = Assignment(name, bool(plus), self.i, 0, subscript=subscript is not None)
        if self.text.startswith("(", found.end()):
            made.open = found.end() + 1
            made.elements = []
            self.i = made.open
            while True:
                self._newlines()
                if self.i >= self.end:
                    self.problems.append(("'(' is not closed", made.start))
                    break
                c = self.text[self.i]
                if c == ")":
                    break
                if c in OPERATORS and not (c in "<>" and self.text[self.i + 1 : self.i + 2] == "("):
                    self.problems.append((f"unexpected {c!r}", self.i))
                    self.i += 1
                    continue
                lexeme = self._scanner.word(self.i)
                self._left_open(lexeme)
                made.elements.append(lexeme)
                self.i = max(lexeme.end, self.i + 1)
            made.close = self.i
            self.i = min(self.i + 1, self.end)
        else:
            made.lexeme = self._scanner.word(self.i)
            self._left_open(made.lexeme)
            self.i = max(made.lexeme.end, found.end())
        made.end = node.end = self.i
        node.assignments.append(made)
        return True


def parse(text: str) -> tuple[Node, list[tuple[str, int]]]:
    """Return the script's root block and the problems found. Raises TooManyWords."""
    parser = Parser(text)
    root = parser.parse()
    return root, parser.problems
