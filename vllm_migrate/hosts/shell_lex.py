"""Words of a shell: where one begins and ends, what it says after unquoting, and how to spell one.

Follows the POSIX shell's token and quoting rules with bash's additions (`$'…'`, `${x[@]}`, `<(…)`):
https://www.gnu.org/software/bash/manual/html_node/Quoting.html.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.model import is_hole
from vllm_migrate.text import Span

OPERATORS = frozenset(";&|()<>")
BLANKS = frozenset(" \t\r\n")
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PARAMETER = regex(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]", re.ASCII)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_BARE_RUN = regex(r"[^\s\\'\"$`;&|()<>\ue000-\uf8ff]+")
_DOUBLE_RUN = regex(r"[^\\\"$`\ue000-\uf8ff]+")
_SINGLE_RUN = regex(r"[^'\ue000-\uf8ff]+")
_HEREDOC_RUN = regex(r"[^\\$`\ue000-\uf8ff]+")
_RAW_RUN = regex(r"[^\ue000-\uf8ff]+")
_LINE_RUN = regex(r"[^\\$`\ue000-\uf8ff\n]+\n?")
_NOTHING = regex(r"\s*(?:#[^\n]*(?:\n\s*)?)?")

Nested = Callable[[int], "tuple[int, Any] | None"]
"""Given the offset after `$(`, returns the offset of its `)` and the parsed script, or None."""


class Hole(NamedTuple):
    """A run-time part of a word.

    spelled: as written (the letter itself for a part left open by an outer text). form: "plain" (`$X`,
    `${X}`), "list" (`$@`, `${X[@]}`), "default" (`${X:-d}`), "other", "command", "outer". default: span of
    the default's text. inner: the parsed script of a substitution.
    """

    spelled: str
    start: int
    end: int
    quoted: bool
    form: str
    name: str = ""
    default: Span | None = None
    inner: Any = None


class Run(NamedTuple):
    """Decoded letters `[start, end)` and the text `[at, till)` they come from.

    quote: "bare", "single", "double", "ansi", "heredoc" or "raw"; string: number of the quoted string.
    """

    start: int
    end: int
    at: int
    till: int
    verbatim: bool
    quote: str
    string: int


@dataclass
class Lexeme:
    """One word: its span with quotes, its decoded text with hole letters, and how the two map."""

    start: int
    end: int
    text: str = ""
    holes: tuple[Hole, ...] = ()
    runs: list[Run] = field(default_factory=list)
    quoted: bool = False
    comment: bool = False
    """Only a backquoted comment: it becomes no word."""

    @property
    def lone_hole(self) -> Hole | None:
        """The hole, when the word is nothing else."""
        return self.holes[0] if len(self.holes) == 1 and len(self.text) == 1 else None

    def run_at(self, offset: int) -> Run | None:
        for run in self.runs:
            if run.start <= offset < run.end:
                return run
        return None

    def begin(self, offset: int) -> int:
        """Return where the decoded letter at `offset` begins in the text."""
        run = self.run_at(offset)
        if run is None:
            return self.runs[-1].till if self.runs else self.start
        return run.at + (offset - run.start if run.verbatim else 0)

    def finish(self, offset: int) -> int:
        """Return where the decoded letter before `offset` ends in the text."""
        run = self.run_at(offset - 1)
        if run is None:
            return self.runs[0].at if self.runs else self.start
        return run.at + offset - run.start if run.verbatim else run.till


class Scanner:
    """Reads one word at a time out of `text`."""

    def __init__(
        self, text: str, end: int | None = None, *, operators: bool = True, nested: Nested | None = None
    ) -> None:
        self.text = text
        self.end = len(text) if end is None else end
        self.operators = operators
        self.nested = nested
        self.open = ""
        """What the last word left open at the end of the text: a quote or a bracket, or ""."""
        self._out: list[str] = []
        self._runs: list[Run] = []
        self._holes: list[Hole] = []
        self._length = 0
        self._string = 0

    def word(self, at: int) -> Lexeme:
        """Return the word that begins at `at`; it ends at unquoted blanks or operators."""
        self._begin()
        text, i = self.text, at
        quoted = comment = False
        while i < self.end:
            c = text[i]
            if c in BLANKS:
                break
            if self.operators and c in OPERATORS:
                if c in "<>" and text[i + 1 : i + 2] == "(":
                    close = self._parenthesis(i + 2)
                    self._hole(i, close, "bare", "command", inner=None)
                    i = close
                    continue
                break
            if c == "\\":
                cut = _continuation(text, i)
                if cut:
                    i += cut
                    continue
                if i + 1 < self.end:
                    self._add(text[i + 1], i, i + 2, False, "bare")
                    quoted = True
                i += 2
            elif c == "'":
                i = self._single(i)
                quoted = True
            elif c == '"' or (c == "$" and text[i + 1 : i + 2] == '"'):
                i = self._double(i + (1 if c == "$" else 0))
                quoted = True
            elif c == "$" and text[i + 1 : i + 2] == "'":
                i = self._ansi(i)
                quoted = True
            elif c == "`":
                close = self._backquote(i)
                if _NOTHING.fullmatch(text, i + 1, max(close - 1, i + 1)) and not self._out:
                    comment = True
                else:
                    self._hole(i, close, "bare", "command")
                i = close
            elif c == "$":
                i = self._dollar(i, "bare")
            else:
                i = self._take(_BARE_RUN, i, "bare")
        i = min(i, self.end)
        lexeme = Lexeme(at, i, "".join(self._out), tuple(self._holes), self._runs, quoted)
        lexeme.comment = comment and not lexeme.text and not quoted
        return lexeme

    def heredoc(self, start: int, end: int, expand: bool, tabs: bool) -> Lexeme:
        """Return a here-document's body as one word. tabs: `<<-` takes leading tabs away."""
        self._begin()
        text, i, keep, self.end = self.text, start, self.end, end
        run = _LINE_RUN if tabs else _HEREDOC_RUN if expand else _RAW_RUN
        while i < end:
            if tabs and (i == start or text[i - 1] == "\n"):
                while i < end and text[i] == "\t":
                    i += 1
                if i >= end:
                    break
            c = text[i]
            if expand and c == "\\" and text[i + 1 : i + 2] in ("$", "`", "\\"):
                self._add(text[i + 1], i, i + 2, False, "heredoc")
                i += 2
            elif expand and c == "\\" and _continuation(text, i):
                i += _continuation(text, i)
            elif expand and c == "$":
                i = self._dollar(i, "heredoc")
            elif expand and c == "`":
                close = self._backquote(i)
                self._hole(i, close, "heredoc", "command")
                i = close
            else:
                i = self._take(run, i, "heredoc" if expand else "raw")
        self.end = keep
        return Lexeme(start, end, "".join(self._out), tuple(self._holes), self._runs)

    def _begin(self) -> None:
        self._out, self._runs, self._holes, self._length = [], [], [], 0
        self.open = ""

    def _add(self, new: str, at: int, till: int, verbatim: bool, quote: str) -> None:
        start = self._length
        self._out.append(new)
        self._length += len(new)
        last = self._runs[-1] if self._runs else None
        if (
            verbatim
            and last is not None
            and last.verbatim
            and last.till == at
            and last.quote == quote
            and last.string == self._string
        ):
            self._runs[-1] = Run(last.start, self._length, last.at, till, True, quote, self._string)
        else:
            self._runs.append(Run(start, self._length, at, till, verbatim, quote, self._string))

    def _take(self, pattern: re.Pattern[str], at: int, quote: str) -> int:
        """Add a run of plain letters, or one letter of another kind; return where it ends."""
        found = pattern.match(self.text, at, self.end)
        if found is None:
            self._letter(self.text[at], at, quote)
            return at + 1
        self._add(found.group(), at, found.end(), True, quote)
        return found.end()

    def _letter(self, c: str, at: int, quote: str) -> None:
        if is_hole(c):
            self._hole(at, at + 1, quote, "outer")
        else:
            self._add(c, at, at + 1, True, quote)

    def _hole(
        self, at: int, till: int, quote: str, form: str, name: str = "", default: Span | None = None, inner: Any = None
    ) -> None:
        till = min(till, self.end)
        letter = chr(0xE000 + min(len(self._holes), 0x18FE))
        self._holes.append(Hole(self.text[at:till], at, till, quote != "bare", form, name, default, inner))
        self._add(letter, at, till, False, quote)

    def _single(self, i: int) -> int:
        self._string += 1
        close = self.text.find("'", i + 1, self.end)
        if close < 0:
            self.open, close = "'", self.end
        i += 1
        while i < close:
            i = self._take(_SINGLE_RUN, i, "single")
        self._string += 1
        return close + 1

    def _double(self, i: int) -> int:
        self._string += 1
        text = self.text
        i += 1
        while i < self.end and text[i] != '"':
            c = text[i]
            if c == "\\" and _continuation(text, i):
                i += _continuation(text, i)
            elif c == "\\" and text[i + 1 : i + 2] in ("$", "`", '"', "\\"):
                self._add(text[i + 1], i, i + 2, False, "double")
                i += 2
            elif c == "$":
                i = self._dollar(i, "double")
            elif c == "`":
                close = self._backquote(i)
                self._hole(i, close, "double", "command")
                i = close
            else:
                i = self._take(_DOUBLE_RUN, i, "double")
        if i >= self.end:
            self.open = '"'
        self._string += 1
        return i + 1

    def _ansi(self, i: int) -> int:
        self._string += 1
        text = self.text
        i += 2
        while i < self.end and text[i] != "'":
            if text[i] == "\\" and i + 1 < self.end:
                found = re.compile(r"x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}").match(text, i + 1)
                if found:
                    code = found.group()
                    value = int(code[1:], 16) if code[0] in "xu" else int(code, 8)
                    self._add(chr(value), i, found.end(), False, "ansi")
                    i = found.end()
                else:
                    self._add(_ANSI.get(text[i + 1], text[i + 1]), i, i + 2, False, "ansi")
                    i += 2
            else:
                self._letter(text[i], i, "ansi")
                i += 1
        if i >= self.end:
            self.open = "'"
        self._string += 1
        return i + 1

    def _dollar(self, i: int, quote: str) -> int:
        text = self.text
        after = text[i + 1 : i + 2]
        if after == "(":
            if text.startswith("$((", i):
                close = self._balanced(i + 1, "(", ")")
                if text.startswith("))", close - 2):
                    self._hole(i, close, quote, "other")
                    return close
            found = self.nested(i + 2) if self.nested is not None else None
            if found is not None:
                self._hole(i, found[0] + 1, quote, "command", inner=found[1])
                return found[0] + 1
            close = self._parenthesis(i + 2)
            self._hole(i, close, quote, "command")
            return close
        if after == "{":
            close = self._balanced(i + 1, "{", "}", single=quote == "bare")
            form, name, default = self._expansion(i + 2, close - 1)
            self._hole(i, close, quote, form, name, default)
            return close
        found_name = _PARAMETER.match(text, i + 1, self.end)
        if found_name:
            name = found_name.group()
            if name[0].isdigit():
                name = name[0]
            form = "list" if name in ("@", "*") else "plain"
            self._hole(i, i + 1 + len(name), quote, form, name)
            return i + 1 + len(name)
        self._add("$", i, i + 1, True, quote)
        return i + 1

    def _expansion(self, start: int, end: int) -> tuple[str, str, Span | None]:
        """Return form, name and default of what stands between `${` and `}`."""
        text = self.text
        found = _PARAMETER.match(text, start, end)
        if not found or text[start] in "#!":
            return "other", "", None
        name, i = found.group(), found.end()
        form = "list" if name in ("@", "*") else "plain"
        if text[i : i + 3] in ("[@]", "[*]"):
            form, i = "list", i + 3
        if i >= end:
            return form, name, None
        if text[i : i + 2] in (":-", ":="):
            return "default", name, Span(i + 2, end)
        if text[i] in "-=":
            return "default", name, Span(i + 1, end)
        if text[i] == "+" and form == "list" and name + "[@]" in text[i:end]:
            return "list", name, None  # ${x[@]+"${x[@]}"}: the same list, safe under `set -u`
        if text[i : i + 1] == ":" and form == "list":
            return "list", "", None
        if text[i : i + 2] == ":?" or text[i] == "?":
            return "plain", name, None
        return "other", name, None

    def _balanced(self, i: int, opening: str, closing: str, *, single: bool = True) -> int:
        """Return the offset after the bracket that closes the one at `i`, looking over quotes.

        single: single quotes quote (inside double quotes they do not).
        """
        depth, text, first = 0, self.text, i
        while i < self.end:
            c = text[i]
            if c == "\\":
                i += 2
                continue
            if c == "'" and single:
                close = text.find("'", i + 1, self.end)
                i = close + 1 if close >= 0 else i + 1
                continue
            if c == '"':
                i = self._skip_double(i)
                continue
            if opening == "{" and c == "$" and text[i + 1 : i + 2] in ("{", "("):
                inner = text[i + 1]
                i = self._balanced(i + 1, inner, "}" if inner == "{" else ")", single=single or inner == "(")
                continue
            if c == opening and (opening != "{" or i == first):
                depth += 1
            elif c == closing:
                depth -= 1
                if depth == 0:
                    return i + 1
            i += 1
        self.open = opening
        return self.end

    def _skip_double(self, i: int) -> int:
        text = self.text
        i += 1
        while i < self.end and text[i] != '"':
            if text[i] == "\\":
                i += 2
            elif text.startswith("${", i):
                i = self._balanced(i + 1, "{", "}", single=False)
            elif text.startswith("$(", i):
                i = self._balanced(i + 1, "(", ")")
            else:
                i += 1
        return i + 1

    def _parenthesis(self, i: int) -> int:
        return self._balanced(i - 1, "(", ")")

    def _backquote(self, i: int) -> int:
        text = self.text
        i += 1
        while i < self.end and text[i] != "`":
            i += 2 if text[i] == "\\" else 1
        if i >= self.end:
            self.open = "`"
        return min(i + 1, self.end)


def _continuation(text: str, i: int) -> int:
    """Return the length of the escaped line end at `i`, or 0."""
    if text.startswith("\\\n", i):
        return 2
    return 3 if text.startswith("\\\r\n", i) else 0


def split(text: str) -> tuple[list[Lexeme], str]:
    """Split a plain string into words as a shell would, operators being letters like others.

    Returns the words and what was left open at the end ("" when nothing).
    """
    scanner = Scanner(text, operators=False)
    out: list[Lexeme] = []
    i = 0
    while i < len(text):
        if text[i] in BLANKS:
            i += 1
        elif _continuation(text, i):
            i += _continuation(text, i)
        else:
            lexeme = scanner.word(i)
            out.append(lexeme)
            i = max(lexeme.end, i + 1)
            if scanner.open:
                return out, scanner.open
    return out, ""
