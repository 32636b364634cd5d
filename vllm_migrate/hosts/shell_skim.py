"""Cuts a shell script into its top statements without parsing them."""

from __future__ import annotations

import re

from vllm_migrate.lazy import regex

_CODE = regex(
    r"[^\s;&|()<>\"'`$\\#]+|[ \t]+|\r?\n|\\(?:\r\n|.)|'[^']*'|\"|\$\(\(|\$[({]|\$'(?:[^'\\]|\\.)*'|\$|`|<<<|<<-?"
    r"|[()]|;;&|;;|;&|[;&|]+|[<>]+[&|]?|#[^\n]*|\r",
    re.DOTALL,
)
_QUOTED = regex(r"[^\"\\$`]+|\\.|\"|\$\(\(|\$[({]|\$|`", re.DOTALL)
_EXPANDED = regex(r"[^}\"'\\$`]+|\\.|\"|'[^']*'|\$\(\(|\$[({]|\$|`|\}", re.DOTALL)
_EXPANDED_QUOTED = regex(r"[^}\"\\$`]+|\\.|\"|\$\(\(|\$[({]|\$|`|\}", re.DOTALL)
_COUNTED = regex(r"[^()$`\"'\\]+|\\.|[()'\"]|\$\(\(|\$[({]|\$|`", re.DOTALL)
_LETTERS = r"[^\s;&|()<>\"'`$\\#]+"
_VARIABLE = r"\$(?:\w|\{\w+(?::?[-=+?][^}\"'\\$`{]*)?\})"
_STRING = rf"\"[^\"\\$`]*(?:(?:\\.|{_VARIABLE})[^\"\\$`]*)*\""
_WORDS = rf"(?:{_LETTERS}|[ \t]+|'[^']*'|{_STRING}|{_VARIABLE}|\\(?:\r\n|.))"
_ARGUMENTS = regex(rf"{_WORDS}+", re.DOTALL)
"""What opens and closes nothing behind a command's first word: words, blanks, quotes, variables, continued lines."""
_COMMAND = regex(rf"[ \t]*({_LETTERS})({_WORDS}*)", re.DOTALL)
_TAG = regex(r"[ \t]*(?:\"([^\"\n]+)\"|'([^'\n]+)'|\\?([^\s;&|<>()\"'`$\\]+))")
_EMPTY = regex(r"[ \t]*\)")
_OPENS = {"if": "if", "for": "loop", "select": "loop", "while": "loop", "until": "loop", "case": "case", "{": "{"}
_CLOSES = {"fi": "if", "done": "loop", "esac": "case", "}": "{"}
_GOES_ON = frozenset(("then", "elif", "else", "do", "!", "time"))
_OWN = frozenset((*_OPENS, *_CLOSES, *_GOES_ON, "function"))
_PLAIN = {'"': _QUOTED, "${": _EXPANDED, '"${': _EXPANDED_QUOTED, "((": _COUNTED}
_WITHIN = frozenset((*_PLAIN, "list"))
"""Inside these there are no commands."""


class _Lost(Exception):
    """The script is not what this reader takes it for."""


def statements(text: str) -> list[tuple[int, int]] | None:
    """Return where the top statements lie, line by line; None for a script this cannot follow.

    What lies between two spans is nothing: they cover the text.
    """
    try:
        return _Skimmer(text).cut()
    except _Lost:
        return None


class _Skimmer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []
        self.first = True
        """A command begins here."""
        self.goes_on = False
        """What follows the next line end belongs to the same statement."""
        self.word = ""
        """The word right before."""
        self.command = ""
        """The first word of the command: `()` may follow it."""
        self.tags: list[tuple[str, bool]] = []

    def cut(self) -> list[tuple[int, int]]:
        text, end = self.text, len(self.text)
        spans: list[tuple[int, int]] = []
        start = 0
        while self.at < end:
            inside = self.open[-1] if self.open else ""
            if inside not in _WITHIN and self._words():
                continue
            found = _PLAIN.get(inside, _CODE).match(text, self.at)
            if found is None:
                raise _Lost
            token = found[0]
            begin, self.at = self.at, found.end()
            if inside in _PLAIN:
                self._plain(inside, token)
            elif token in ("\n", "\r\n"):
                if self.tags:
                    self._heredocs()
                self.first, self.word = True, ""
                if not self.open and not self.goes_on:
                    spans.append((start, self.at))
                    start = self.at
            else:
                self._code(token, begin)
        if self.open or self.tags:
            raise _Lost
        if start < end:
            spans.append((start, end))
        return spans

    def _words(self) -> bool:
        """Pass over a command's words, when the first is none of the shell's own, or over what is left of them."""
        if self.first:
            found = _COMMAND.match(self.text, self.at)
            if found is None or found[1] in _OWN:
                return False
            self.word = self.command = found[1]
            self.first = self.goes_on = False
            words = found[2]
        elif self.word in ("for", "function"):
            return False
        else:
            found = _ARGUMENTS.match(self.text, self.at)
            if found is None:
                return False
            words = found[0]
        self.at = found.end()
        if words.isspace():
            # `name ()`
            self.word = self.word if self.word == self.command else ""
        elif words:
            self.goes_on = False
            self.word = words[max(words.rfind(" "), words.rfind("\t")) + 1 :]
        return True

    def _plain(self, inside: str, token: str) -> None:
        if token in ("$(", "`", "$((", "${"):
            self._expansion(token, inside)
        elif inside == '"':
            if token == '"':
                self.open.pop()
        elif inside in ("${", '"${'):
            if token == "}":
                self.open.pop()
            elif token == '"':
                self.open.append('"')
        elif token == "(":
            self.open.append("((")
        elif token == ")":
            self.open.pop()

    def _expansion(self, token: str, inside: str) -> None:
        if token == "`":
            if "`" in self.open:
                if self.open[-1] != "`":
                    raise _Lost
                self.open.pop()
                self.first = False
            else:
                self.open.append("`")
                self.first = True
        elif token == "$((":
            self.open += ["((", "(("]
        elif token == "$(":
            self.open.append("(")
            self.first = True
        else:
            self.open.append('"${' if inside in ('"', '"${') else "${")

    def _code(self, token: str, begin: int) -> None:
        c = token[0]
        before, self.word = self.word, ""
        if c in " \t\r":
            if before in ("for", "function", self.command):
                self.word = before
        elif c == "#":
            if begin and self.text[begin - 1] not in " \t\r\n;&|()":
                # In the middle of a word it is a letter like others.
                self.at = begin + 1
        elif c == "\\":
            if token[1:] not in ("\n", "\r\n"):
                self.first = self.goes_on = False
        elif c in "\"$`":
            self._quote(token)
        elif c == "'":
            self.first = self.goes_on = False
        elif token in ("<<", "<<-"):
            tag = _TAG.match(self.text, self.at)
            if tag is None:
                raise _Lost
            self.tags.append((tag[1] or tag[2] or tag[3], token == "<<-"))
            self.at = tag.end()
            self.first = False
        elif c in "<>":
            self.first = False
        elif c == "(":
            self._opened(before, begin)
        elif c == ")":
            if not self.open or self.open[-1] not in ("(", "case", "list"):
                raise _Lost
            if self.open[-1] == "case":
                self.first = True
            else:
                self.open.pop()
                self.first = False
        elif c in ";&|":
            self.first = True
            self.goes_on = token in ("&&", "||", "|", "|&")
        else:
            self._plain_word(token, before)

    def _quote(self, token: str) -> None:
        self.first = self.goes_on = False
        if token == '"':
            self.open.append('"')
        elif token in ("$(", "`", "$((", "${"):
            self._expansion(token, "")

    def _opened(self, before: str, begin: int) -> None:
        self.goes_on = False
        if before.endswith("=") or (self.open and self.open[-1] == "list"):
            self.open.append("list")
            return
        if before:
            empty = _EMPTY.match(self.text, self.at)
            if empty is not None:
                # `name()`: its body follows, perhaps on a line of its own.
                self.at = empty.end()
                self.first = self.goes_on = True
                return
        if self.text.startswith("((", begin) and (self.first or before == "for"):
            self.at = begin + 2
            self.open += ["((", "(("]
            self.first = False
            return
        self.open.append("(")
        self.first = True

    def _plain_word(self, word: str, before: str) -> None:
        self.word = word
        self.command = word if self.first else ""
        first, self.first, self.goes_on = self.first, False, False
        if not first or (self.open and self.open[-1] == "list"):
            if before == "function":
                self.first = self.goes_on = True
            return
        if word in _OPENS:
            self.open.append(_OPENS[word])
            self.first = word in ("if", "while", "until", "{")
        elif word in _CLOSES:
            if not self.open or self.open[-1] != _CLOSES[word]:
                raise _Lost
            self.open.pop()
        elif word in _GOES_ON:
            self.first = True

    def _heredocs(self) -> None:
        text = self.text
        for tag, tabs in self.tags:
            while True:
                if self.at >= len(text):
                    raise _Lost
                stop = text.find("\n", self.at)
                line = text[self.at : len(text) if stop < 0 else stop].rstrip("\r")
                self.at = len(text) if stop < 0 else stop + 1
                if (line.lstrip("\t") if tabs else line) == tag:
                    break
        self.tags = []
