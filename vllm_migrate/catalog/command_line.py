"""Reads a command line as one release's own parser would, and says what it refuses and in which words.

Python's argparse decides what is an option, what is its value and what is left over; vLLM's parser works on
the words before that (`_` for `-`, a model option that becomes the positional, `-O3`, dotted keys). How
it did so changed: `parser` in the facts of a release says which of the ways below is that release's.
Abbreviations follow Python 3.11; where several spellings of one option match, later ones take it and so
does this reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from vllm_migrate.catalog.converters import UNKNOWN, Refused, convert, dotted_value
from vllm_migrate.catalog.options import spellings
from vllm_migrate.catalog.query import Release
from vllm_migrate.jsonvalue import DEEPEST
from vllm_migrate.lazy import dataclass, regex

_NEGATIVE = regex(r"^-\d+$|^-\d*\.\d+$", re.ASCII)
_HEAD = regex(r"(?<=--)[^\.]*")
_COUNTS = {None: "expected one argument", "+": "expected at least one argument"}
_LEVELS = ("0", "1", "2", "3")


@dataclass(frozen=True)
class Refusal:
    """One thing the parser refuses.

    kind: "unrecognized", "ambiguous", "count" (too few values), "explicit" (a value where none goes),
    "value" (of a wrong type), "choice" (none of those it takes), "usage" (the line as a whole), and what `values`
    adds. message: as the parser says it.
    words: indexes of the words it is about. option: the option's key in the catalog, "" for none.
    """

    kind: str
    message: str
    words: tuple[int, ...]
    option: str = ""

    @property
    def brief(self) -> str:
        """The message without the list of choices."""
        return self.message.partition(" (choose from")[0] if self.kind == "choice" else self.message


@dataclass
class CommandLine:
    """What a release makes of a command line.

    values: option → what it is set to, converted; UNKNOWN where only a run can tell. words: option → indexes
    of the words that set it last. config: the file `--config` loads, None for none. positionals: the words
    no option took. refusals: in the parser's order; it stops at the first.
    """

    values: dict[str, Any] = field(default_factory=dict)
    words: dict[str, tuple[int, ...]] = field(default_factory=dict)
    config: str | None = None
    positionals: list[int] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


@dataclass(frozen=True)
class _Token:
    """A word as the parser sees it: its text, the words of the command line it came from.

    known: its text is all in the file. start: its first letters are, so that option or not can be told.
    """

    text: str
    origin: tuple[int, ...]
    known: bool = True
    start: bool = True


def read_command_line(
    release: Release,
    surface: str,
    words: Sequence[str],
    unknown: Callable[[str], bool] = lambda _word: False,
    values: Callable[[str, Mapping[str, Any], Any], list[tuple[str, str]]] | None = None,
) -> CommandLine:
    """Return what `release` makes of `words`, those after `vllm serve` or after the module's name.

    surface: "serve" or "api_server". unknown: tells a word of which only a run knows a part; a value like
    that is never refused. values: returns what is wrong with the object given for an option: the kind of
    refusal, and the parser's words.
    """
    reader = _Reader(release, surface, unknown, values)
    try:
        tokens = reader.prepare([reader.token(w, i) for i, w in enumerate(words)])
        reader.parse(tokens)
    except _Stop:
        pass
    return reader.out


class _Stop(Exception):
    """The parser would not have come further, and nothing after it can be told apart."""


class _Reader:
    def __init__(
        self,
        release: Release,
        surface: str,
        unknown: Callable[[str], bool],
        values: Callable[[str, Mapping[str, Any], Any], list[tuple[str, str]]] | None,
    ) -> None:
        self.release, self.surface, self.values = release, surface, values
        self.unknown = unknown
        self.traits: Mapping[str, Any] = release.facts.get("parser") or {}
        self.options = release.surface_options(surface)
        self.by_spelling = release.surface_spellings(surface)
        self.out = CommandLine()

    def token(self, text: str, index: int) -> _Token:
        known = not self.unknown(text)
        return _Token(text, (index,), known, known or not self.unknown(text[:3]))

    def refuse(self, kind: str, message: str, words: Sequence[int], option: str = "") -> None:
        self.out.refusals.append(Refusal(kind, message, tuple(words), option))

    # ---- what vLLM does to the words first

    def prepare(self, tokens: list[_Token]) -> list[_Token]:
        if self.surface == "serve":
            tokens = self._model(tokens)
        tokens = self._config(tokens)
        return self._dotted(list(self._names(tokens)))

    def _model(self, tokens: list[_Token]) -> list[_Token]:
        way = self.traits.get("model", "option")
        if way == "refused":
            found = next((t for t in tokens if t.text == "--model"), None)
            if found is not None:
                self.refuse(
                    "usage",
                    "With `vllm serve`, you should provide the model as a positional argument or in a config "
                    "file instead of via the `--model` option.",
                    found.origin,
                    "--model",
                )
                raise _Stop
        if way == "moved":
            tokens = self._move_model(tokens)
        if self.traits.get("named_needs_model"):
            named = next((t for t in tokens if re.match(r"--served[-_]model[-_]name(=.+|$)", t.text)), None)
            config = any(re.match(r"--config(=.+|$)", t.text) for t in tokens)
            if named is not None and not config and tokens[0].text.startswith("-"):
                message = "`model` should be provided as the first positional argument when using `vllm serve`."
                self.refuse("usage", message, named.origin, "--served-model-name")
                raise _Stop
        return tokens

    def _move_model(self, tokens: list[_Token]) -> list[_Token]:
        for i, token in enumerate(tokens):
            if token.text == "--model":
                if i + 1 == len(tokens):
                    self.refuse("count", "argument --model: expected one argument", token.origin, "--model")
                    raise _Stop
                value = tokens[i + 1]
                moved = _Token(value.text, (*token.origin, *value.origin), value.known, value.start)
                return [moved, *tokens[:i], *tokens[i + 2 :]]
            if re.match(r"--model=.+", token.text):
                moved = _Token(token.text.removeprefix("--model="), token.origin, token.known, token.known)
                return [moved, *tokens[:i], *tokens[i + 1 :]]
        return tokens

    def _config(self, tokens: list[_Token]) -> list[_Token]:
        places = [i for i, t in enumerate(tokens) if t.text == "--config"]
        if not places:
            return tokens
        i = places[0]
        if len(places) > 1:
            self.refuse("usage", "More than one config file specified!", tokens[places[1]].origin, "--config")
            raise _Stop
        if i + 1 == len(tokens):
            self.refuse("count", "No config file specified!", tokens[i].origin, "--config")
            raise _Stop
        file = tokens[i + 1]
        if file.known and file.text.rpartition(".")[2] not in ("yaml", "yml"):
            message = f"Config file must be of a yaml/yml type. {file.text.rpartition('.')[2]} supplied"
            self.refuse("value", message, (*tokens[i].origin, *file.origin), "--config")
            raise _Stop
        self.out.config = file.text
        return tokens[:i] + tokens[i + 2 :]

    def _names(self, tokens: list[_Token]) -> Iterator[_Token]:
        whole = self.traits.get("underscores") != "head"
        level = self.traits.get("level")
        for i, token in enumerate(tokens):
            text = token.text
            if text.startswith("--help=") and self.traits.get("help_search"):
                yield _Token("--help", token.origin)
            elif text.startswith("--"):
                key, equals, value = text.partition("=")
                key = "--" + key[2:].replace("_", "-") if whole else _HEAD.sub(_dashes, key, count=1)
                yield _Token(key + equals + value, token.origin, token.known, token.start)
            elif level and text.startswith("-O") and text != "-O":
                yield from self._level(token, level)
            elif level and text == "-O" and i + 1 < len(tokens) and tokens[i + 1].text in _LEVELS:
                yield _Token(level, token.origin)
            else:
                yield token

    def _level(self, token: _Token, level: str) -> Iterator[_Token]:
        rest = token.text[2:].removeprefix("=")
        if level.startswith("--"):
            if token.text.startswith("-O.") and self.traits.get("level_dotted"):
                yield _Token(self.traits["level_dotted"] + token.text[2:], token.origin, token.known)
                return
            yield _Token(level, token.origin)
            yield _Token(rest, token.origin, token.known)
        elif token.text[2] == ".":
            yield token
        else:
            yield _Token(f"{level}={rest}", token.origin, token.known)

    def _dotted(self, tokens: list[_Token]) -> list[_Token]:
        way = self.traits.get("dotted")
        if not way:
            return tokens
        out: list[_Token] = []
        objects: dict[str, tuple[dict[str, Any], list[int], bool]] = {}
        start = "-" if way != "plain" else "--"
        i = 0
        while i < len(tokens):
            token = tokens[i]
            i += 1
            name, equals, value = token.text.partition("=")
            if not token.start or not token.text.startswith(start) or "." not in name:
                out.append(token)
                continue
            origin, known = list(token.origin), token.known
            if not equals:
                if i == len(tokens):
                    self.refuse("count", f"argument {name}: expected one argument", token.origin)
                    raise _Stop
                value, known = tokens[i].text, known and tokens[i].known
                origin += tokens[i].origin
                i += 1
            appends = name.endswith("+") and way != "plain"
            key, *path = name.removesuffix("+").split(".") if appends else name.split(".")
            if len(path) > DEEPEST:
                out.append(token)
                continue
            held, words, all_known = objects.setdefault(key, ({}, [], True))
            new: Any = dotted_value(value, appends, way) if known else UNKNOWN
            for part in reversed(path):
                new = {part: new}
            _merge(held, new, lists=way != "plain")
            words += origin
            objects[key] = (held, words, all_known and known)
        for key, (held, words, known) in objects.items():
            out.append(_Token(key, tuple(words)))
            out.append(_Token(json.dumps(held, default=str) if known else "", tuple(words), known, True))
        return out

    # ---- what argparse does then

    def parse(self, tokens: list[_Token]) -> None:
        marks, found = self._marks(tokens)
        positional = self.options.get("model_tag")
        extras: list[_Token] = []
        i = 0
        while i < len(tokens):
            if marks[i] == "O":
                i = self._optional(tokens, marks, i, found[i], extras)
                continue
            if positional is not None:
                stop = self._positional(tokens, marks, i)
                positional = None
                i = stop
                continue
            extras.append(tokens[i])
            i += 1
        if positional is not None and positional.get("nargs") is None:
            self.refuse("count", "the following arguments are required: model_tag", ())
        self._extras(extras)

    def _marks(self, tokens: list[_Token]) -> tuple[str, dict[int, tuple[str, str, str | None]]]:
        """Return a letter a word (O option, A argument, - the word `--`), and what each option word means."""
        marks: list[str] = []
        found = {}
        ended = False
        for i, token in enumerate(tokens):
            if ended:
                marks.append("A")
            elif token.text == "--":
                marks.append("-")
                ended = True
            else:
                meaning = self._meaning(token)
                if meaning is not None:
                    found[i] = meaning
                marks.append("A" if meaning is None else "O")
        return "".join(marks), found

    def _meaning(self, token: _Token) -> tuple[str, str, str | None] | None:
        """Return (option, spelling, glued value) of an option word, option "" where it is none; None for a value."""
        text = token.text
        if not token.start or not text.startswith("-"):
            return None
        if text in self.by_spelling:
            return self.by_spelling[text], text, None
        if len(text) == 1:
            return None
        name, equals, glued = text.partition("=")
        value = glued if equals else None
        if equals and name in self.by_spelling:
            return self.by_spelling[name], name, value
        matches = self._abbreviated(text, name, value)
        if len({option for option, _, _ in matches}) > 1:
            names = ", ".join(spelling for _, spelling, _ in matches)
            self.refuse("ambiguous", f"ambiguous option: {text} could match {names}", token.origin)
            return "", text, None
        if matches:
            return matches[0]
        if _NEGATIVE.match(text) or " " in text:
            return None
        return "", text, None

    def _abbreviated(self, text: str, name: str, value: str | None) -> list[tuple[str, str, str | None]]:
        if text.startswith("--"):
            return [(option, s, value) for s, option in self.release.spellings_starting(self.surface, name)]
        letter, whole = text[:2], self.release.spellings_starting(self.surface, text)
        out: list[tuple[str, str, str | None]] = [(o, s, None) for s, o in whole if s != letter]
        if letter in self.by_spelling:
            out.insert(0, (self.by_spelling[letter], letter, text[2:]))
        return out

    def _optional(
        self,
        tokens: list[_Token],
        marks: str,
        i: int,
        meaning: tuple[str, str, str | None],
        extras: list[_Token],
    ) -> int:
        """Take an option and its values; return the index of the next word."""
        option, spelling, glued = meaning
        token = tokens[i]
        if not option:
            if not (self.out.refusals and self.out.refusals[-1].words == token.origin):
                extras.append(token)
            return i + 1
        attrs = self.options[option]
        nargs = attrs.get("nargs")
        names = "/".join(spellings(option, attrs))
        if attrs.get("action") == "help":
            raise _Stop
        if glued is not None:
            if nargs == 0:
                message = f"argument {names}: ignored explicit argument {glued!r}"
                self.refuse("explicit", message, token.origin, option)
                return i + 1
            self._set(option, attrs, names, spelling, [_Token(glued, token.origin, token.known)], token.origin)
            return i + 1
        run = len(marks[i + 1 :]) - len(marks[i + 1 :].lstrip("A"))
        least, most = _counts(nargs, run)
        count = min(run, most)
        if count < least:
            message = _COUNTS.get(nargs, f"expected {nargs} arguments")
            self.refuse("count", f"argument {names}: {message}", token.origin, option)
        taken = tokens[i + 1 : i + 1 + count]
        origin = (*token.origin, *(w for t in taken for w in t.origin))
        if count >= least:
            self._set(option, attrs, names, spelling, taken, origin)
        return i + 1 + count

    def _set(
        self,
        option: str,
        attrs: Mapping[str, Any],
        names: str,
        spelling: str,
        taken: Sequence[_Token],
        origin: Sequence[int],
    ) -> None:
        self.out.words[option] = tuple(dict.fromkeys(origin))
        if attrs.get("nargs") == 0:
            self.out.values[option] = spelling not in attrs.get("negative", ())
            return
        values: list[Any] = []
        for token in taken:
            value: Any = UNKNOWN
            if token.known:
                try:
                    value = convert(token.text, attrs, self.traits)
                except Refused as error:
                    kind = "choice" if error.choice else "value"
                    at = tuple(dict.fromkeys((*origin[:1], *token.origin)))
                    self.refuse(kind, f"argument {names}: {error}" if error.named else str(error), at, option)
                else:
                    for wrong, message in self.values(option, attrs, value) if self.values is not None else ():
                        at = tuple(dict.fromkeys((*origin[:1], *token.origin)))
                        self.refuse(wrong, f"argument {names}: {message}", at, option)
            values.append(value)
        many = attrs.get("nargs") in ("+", "*") or isinstance(attrs.get("nargs"), int)
        self.out.values[option] = values if many else (values[0] if values else None)

    def _positional(self, tokens: list[_Token], marks: str, i: int) -> int:
        """Take the model; a `--` before or after it goes with it."""
        while i < len(tokens) and marks[i] == "-":
            i += 1
        if i < len(tokens) and marks[i] == "A":
            self.out.positionals += tokens[i].origin
            self.out.values["model_tag"] = tokens[i].text if tokens[i].known else UNKNOWN
            self.out.words["model_tag"] = tokens[i].origin
            i += 1
        while i < len(tokens) and marks[i] == "-":
            i += 1
        return i

    def _extras(self, extras: list[_Token]) -> None:
        for token in extras:
            if not token.start:
                continue
            message = f"unrecognized arguments: {token.text if token.text.strip() else repr(token.text)}"
            self.refuse("unrecognized", message, token.origin)


def _counts(nargs: Any, run: int) -> tuple[int, int]:
    """Return how many words an option takes at least and at most; run: how many there are."""
    if isinstance(nargs, int):
        return nargs, nargs
    return {"?": (0, 1), "*": (0, run), "+": (1, run)}.get(nargs, (1, 1))


def _dashes(match: re.Match[str]) -> str:
    return match[0].replace("_", "-")


def _merge(held: dict[str, Any], new: Any, *, lists: bool) -> None:
    for key, value in new.items():
        old = held.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            _merge(old, value, lists=lists)
        elif lists and isinstance(value, list) and isinstance(old, list):
            old += value
        else:
            held[key] = value
