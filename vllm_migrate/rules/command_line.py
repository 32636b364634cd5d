"""What the target's own parser refuses of a command line, and nothing else says already."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from vllm_migrate.arguments import COMMAND_LINES, Argument, surface_of
from vllm_migrate.catalog import Release
from vllm_migrate.catalog.checks import evaluate, names_in
from vllm_migrate.catalog.command_line import CommandLine, Refusal, read_command_line
from vllm_migrate.catalog.converters import UNKNOWN
from vllm_migrate.findings import Finding
from vllm_migrate.jsonvalue import loads
from vllm_migrate.lazy import regex
from vllm_migrate.migrations import spell, truthy
from vllm_migrate.model import Word, is_hole
from vllm_migrate.paths import schemas_dir
from vllm_migrate.planning import Answer, Result, negative_form
from vllm_migrate.refusals import refusals, refused_together
from vllm_migrate.rules.answers import finding_of
from vllm_migrate.rules.context import SiteContext
from vllm_migrate.rules.registry import Rule
from vllm_migrate.schemacheck import Place

RULES = (
    Rule(
        "VM112",
        "refused-together",
        "error",
        "An option that needs another one, or does not go with one.",
        """What it does
Judges a whole command line as the target's own checks do: options that need another one, and
options that exclude each other.
Why it matters
The process ends right after its arguments are read.
Example
`--enable-auto-tool-choice` without `--tool-call-parser`
Fix safety
There is no fix: only a person knows which of the two was meant.
""",
    ),
)

_CODES = {
    "unrecognized": "VM106",
    "ambiguous": "VM106",
    "choice": "VM104",
    "object": "VM110",
    "together": "VM112",
}
_SWITCHES = frozenset({"0", "1", "true", "false", "yes", "no"})
_HELP = {
    "unrecognized": "Take the word away, or write the option it belongs to.",
    "ambiguous": "Write the whole name of the option.",
    "count": "Write the value after it, or take the option away.",
    "explicit": "Write the option alone, or its negative form.",
    "value": "Write a value of the type it takes.",
    "together": "Add what it needs, or take it away.",
    "usage": "Write the line the way the message says.",
}
_PLACEHOLDER = regex(r"\$[{(]?\w|\{\{|\{[A-Za-z_]\w*\}|<[\w -]+>|\.\.\.|…")
"""What another program, or a reader, puts in place before vLLM sees the text."""
_STANDS_IN = regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|__\w+__|@\w+@|%\w+%")
"""A name where a number or JSON is due: no one means it as the value."""


def code_of(refusal: Refusal) -> str:
    """Return the code a refusal is reported under."""
    return _CODES.get(refusal.kind, "VM107")


def _unknown(text: str) -> bool:
    return any(is_hole(c) for c in text) or _PLACEHOLDER.search(text) is not None


def _wrong(ctx: SiteContext, option: str, attrs: Mapping[str, Any], value: Any) -> list[tuple[str, str]]:
    """Return what the class of an object refuses in it, but for keys and values a migration answers."""
    config = attrs.get("config")
    if not isinstance(config, str) or not isinstance(value, dict):
        return []
    wrong = refusals(ctx.target, config, value)
    if not wrong:
        return [("together", message) for _, message in refused_together(ctx.target, config, value)]
    out = []
    for place, message in wrong:
        where = ".".join(map(str, place))
        if not where or not _answered(ctx, f"{option}.{where}", _inside(value, place)):
            out.append(("object", f"{where}: {message}" if where else message))
    return out


def _answered(ctx: SiteContext, name: str, value: Any) -> bool:
    target, migrations = ctx.target.version, ctx.migrations
    if migrations.answer("key", name, target) is not None:
        return True
    return isinstance(value, str) and migrations.answer("key", name, target, value=value) is not None


def _inside(value: Any, place: Place) -> Any:
    for part in place:
        value = value.get(part) if isinstance(value, dict) else None
    return value


_MOST_ASTRAY = 50
"""Words of one launch that no option takes, each of which is told of by itself."""


def parsed(ctx: SiteContext) -> CommandLine | None:
    """Return what the target's parser makes of a launch's words; None for a launch without a command line."""
    if not ctx.site.words and (ctx.site.entry_point != "serve" or ctx.site.by_image or ctx.site.wrapper):
        return None
    texts = [w.text for w in ctx.site.words]
    surface = surface_of(ctx.site, ctx.target)
    return read_command_line(ctx.target, surface, texts, _unknown, partial(_wrong, ctx))


def misused_words(ctx: SiteContext, line: CommandLine | None) -> set[int]:
    """Return the ids of the words the parser refuses for how they are used, whatever they are."""
    refusals = [r for r in line.refusals if r.kind == "usage"] if line is not None else []
    return {id(ctx.site.words[i]) for refusal in refusals for i in refusal.words}


def judge_command_line(ctx: SiteContext, line: CommandLine, answers: Sequence[Answer]) -> Iterator[Answer]:
    """Say what the parser refuses in words no answer is about; `answers` are what the migrations say.

    What the parser takes after all is no error: such an answer becomes a warning.
    """
    words = ctx.site.words
    place = {id(word): i for i, word in enumerate(words)}
    told: set[int] = set()
    for answer in answers:
        if answer.argument is not None and answer.finding.severity == "error":
            told |= {place[id(w)] for w in answer.argument.words if id(w) in place}
    unsure = ctx.site.open or any(w.splits for w in words) or not surface_of(ctx.site, ctx.target)
    model = set(line.words.get("model_tag", ()))
    # A template's `{{ name }}` is several words to the shell: only where there is none is a word surely astray.
    plain = not unsure and all(w.literal and not _unknown(w.text) for w in words)
    refusals = [r for r in line.refusals if _certain(r, words, unsure, plain)]
    if ctx.site.entry_point not in COMMAND_LINES:
        # A wrapper has options of its own.
        refusals = [r for r in refusals if r.kind not in ("unrecognized", "ambiguous")]
        refusals = [r for r in refusals if not any(_json_as_written(words[i]) for i in r.words)]
    astray = [r for r in refusals if r.kind == "unrecognized" and not words[r.words[0]].text.startswith("-")]
    strays = {id(r) for r in astray}
    more = {id(r) for r in astray[_MOST_ASTRAY:]}
    found: list[Answer] = []
    for answer in _stray_words(ctx, bool(strays)):
        told |= {place[id(w)] for w in answer.argument.words} if answer.argument is not None else set()
        found.append(answer)
    gone: dict[int, tuple[int, Answer]] = {}
    for number, answer in enumerate(answers):
        if answer.argument is not None and not answer.argument.accepted:
            for word in answer.argument.words:
                gone.setdefault(id(word), (number, answer))
    for refusal in refusals:
        if told & set(refusal.words) or id(refusal) in more:
            continue
        known = [gone[id(words[i])] for i in refusal.words if id(words[i]) in gone]
        if known:
            # Read as another option, it is refused all the same.
            min(known, key=lambda k: k[0])[1].finding.severity = "error"
            continue
        if id(refusal) in strays and told & model:
            # Another word took the model's place; that word is told of already.
            continue
        found.append(_refusal(ctx, refusal))
        if more and refusal is astray[_MOST_ASTRAY - 1]:
            found[-1].finding.related.append(f"{len(more)} more words behind it are refused as well")
    yield from found
    yield from _unloaded(ctx)
    yield from _checks(ctx, line, unsure)
    _looked_up(ctx, line, answers)
    if not line.refusals and all(w.literal for w in words) and not unsure:
        for answer in answers:
            argument = answer.argument
            if argument is not None and not argument.accepted and answer.finding.severity == "error":
                answer.finding.severity = "warning"


def _json_as_written(word: Word) -> bool:
    """Tell whether the file's own text is JSON: then whoever splits it into words keeps the quotes."""
    text = word.region.text[word.span.start : word.span.end].partition("=" if word.text.startswith("-") else "\0")
    try:
        return isinstance(loads(text[2] or text[0]), dict)
    except ValueError:
        return False


def _certain(refusal: Refusal, words: Sequence[Word], unsure: bool, plain: bool) -> bool:
    """Tell whether a refusal holds whatever a run puts into the parts that are not in the file.

    plain: every word is known, and there is no other.
    """
    if refusal.kind in ("count", "usage") and unsure:
        return False
    if not refusal.words:
        return not unsure
    if refusal.kind == "value" and any(_stands_in(words[i].text) for i in refusal.words):
        return False
    locked = any(words[i].locked for i in refusal.words)
    if any(words[i].guarded for i in refusal.words) or (locked and refusal.kind in ("unrecognized", "ambiguous")):
        # What must not be edited may not be a word of this launch at all.
        return False
    if refusal.kind == "unrecognized" and not words[refusal.words[0]].text.startswith("-"):
        return plain
    return not any(words[i].splits for i in refusal.words)


def _stands_in(text: str) -> bool:
    return _STANDS_IN.fullmatch(text.partition("=")[2] if text.startswith("-") else text) is not None


def _stray_words(ctx: SiteContext, refused: bool) -> Iterator[Answer]:
    """A word after a switch that takes none: the parser reads it as the model, or does not know it."""
    for argument in ctx.arguments:
        value = argument.value
        if not argument.accepted or argument.attrs.get("nargs") != 0 or value is None or argument.path:
            continue
        if not isinstance(value, str) or any(is_hole(c) for c in value):
            continue
        if argument.glued:
            text = f"{argument.spelling} takes no value in {ctx.target.version}: ignored explicit argument {value!r}"
        else:
            text = f"{argument.spelling} takes no value in {ctx.target.version}; {value!r} is read as the model"
        severe = refused or argument.glued
        finding = finding_of(ctx, "VM107", "error" if severe else "warning", argument, text, None)
        finding.help = _HELP["explicit"]
        answer = Answer(finding, [], "safe", argument=argument)
        wanted = truthy(value) if spell(value).lower() in _SWITCHES else None
        if wanted is None or argument.locked or argument.negated:
            finding.withheld = argument.locked or "what the value means cannot be told"
        else:
            if wanted or negative_form(argument.attrs):
                answer.results = [Result(argument.option, (), "", wanted)]
            answer.note = "the parser took a word there up to 0.8.4"
        yield answer


def _refusal(ctx: SiteContext, refusal: Refusal) -> Answer:
    words = [ctx.site.words[i] for i in refusal.words]
    subject = refusal.option or (words[0].text.partition("=")[0] if words else "model_tag")
    subject = subject if subject.strip() else repr(subject)
    answer = _answer(ctx, code_of(refusal), words, subject, refusal.brief)
    finding, argument = answer.finding, answer.argument
    finding.help = _HELP.get(refusal.kind, "")
    if words and not words[0].text.strip():
        finding.help = "A backslash goes on to the next line only where nothing follows it, not even a space."
    if refusal.kind == "choice" and argument is not None:
        choices = [spell(c) for c in argument.attrs.get("choices", ())]
        finding.help = "It takes: " + ", ".join(choices[:12]) + (", …" if len(choices) > 12 else ".")
    if refusal.kind == "value" and argument is not None and str(argument.attrs.get("type", "")).startswith("json"):
        return _literal(finding, argument)
    return answer


def _literal(finding: Finding, argument: Argument) -> Answer:
    """A text that is no JSON: one written as Python writes an object is put into JSON."""
    finding.help = "Write names and texts in double quotes, and true, false and null in small letters."
    try:
        literal = ast.literal_eval(argument.value) if isinstance(argument.value, str) else None
        written = json.dumps(literal) if isinstance(literal, dict) else ""
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        written = ""
    answer = Answer(finding, [], "safe", argument=argument)
    if argument.locked or not written:
        finding.withheld = argument.locked or "what the value means cannot be told"
    else:
        finding.withheld = ""
        answer.results = [Result(argument.option, (), "", written)]
    return answer


def _argument(ctx: SiteContext, words: Iterable[Word]) -> Argument | None:
    """Return the first argument that one of the words belongs to."""
    found = [ctx.by_word[id(w)] for w in words if id(w) in ctx.by_word]
    return ctx.arguments[min(found)] if found else None


def _unloaded(ctx: SiteContext) -> Iterator[Answer]:
    """`--config=FILE`: every release looks for the word `--config` alone and loads nothing."""
    for argument in ctx.arguments:
        if argument.option != "--config" or not argument.glued or not argument.accepted:
            continue
        text = f"{argument.spelling}=… loads no file: vLLM only looks for {argument.spelling} as a word of its own"
        finding = finding_of(ctx, "VM111", "warning", argument, text, None)
        finding.help = f"Write {argument.spelling} and the file as two words, and check what the file then sets."
        finding.withheld = "what the file sets would take effect for the first time"
        yield Answer(finding, [], "unsafe", argument=argument)


def _checks(ctx: SiteContext, line: CommandLine, unsure: bool) -> Iterator[Answer]:
    """What the release checks right after parsing: options that need another, names that must be registered."""
    if line.config is not None or unsure:
        # What the file or the expansion adds may be just what is missing.
        return
    options = ctx.target.section("options")
    given = {_destination(option, options[option]): option for option in line.words}
    values: dict[str, Any] = {}
    for message, when, asked in _rows(ctx.target):
        mine = [given[n] for n in asked if n in given]
        if not mine:
            continue
        values = values or _values(ctx, line)
        if evaluate(when, values) not in (UNKNOWN, False, None):
            yield _told(ctx, line, mine[0], message.removeprefix("Error: "))
    for row in registered():
        option, names = row["option"], ctx.target.section(row["section"])
        value = line.values.get(option)
        if "key" in row:
            held = value if isinstance(value, dict) else {}
            value = None if held.get(row["unless_key"]) else held.get(row["key"])
        if not isinstance(value, str) or not value or not names or value in names:
            continue
        values = values or _values(ctx, line)
        looked_up = evaluate(row["when"], values)
        if looked_up is not UNKNOWN and looked_up:
            answer = _told(ctx, line, option, row["message"].format(value=value))
            answer.finding.code, answer.finding.help = "VM104", f"It takes: {', '.join(sorted(names))}."
            answer.finding.withheld = "which value is meant cannot be told"
            yield answer


@lru_cache(maxsize=16)
def _rows(release: Release) -> list[tuple[str, Any, list[str]]]:
    """Return the checks of a release: what it says, when, and the destinations that decides on."""
    return [(m, attrs["when"], names_in(attrs["when"])) for m, attrs in release.section("checks").items()]


def _looked_up(ctx: SiteContext, line: CommandLine, answers: Sequence[Answer]) -> None:
    """A name nobody looks up at this launch stops nothing, whatever became of it."""
    refused = {refusal.option for refusal in line.refusals}
    rows = {row["option"]: row for row in registered() if "key" not in row and row["option"] not in refused}
    values: dict[str, Any] = {}
    for answer in answers:
        row = rows.get(answer.argument.option) if answer.argument is not None else None
        if row is None or answer.finding.code != "VM104" or answer.finding.severity != "error":
            continue
        values = values or _values(ctx, line)
        if evaluate(row["when"], values) in (False, None):
            answer.finding.severity = "warning"


@lru_cache(maxsize=1)
def registered() -> list[dict[str, Any]]:
    """Return the options whose value must be a registered name, from `schemas/registered.json`."""
    data = json.loads((schemas_dir() / "registered.json").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = data["options"]
    return rows


def _values(ctx: SiteContext, line: CommandLine) -> dict[str, Any]:
    out: dict[str, Any] = dict(_defaults(ctx.target, surface_of(ctx.site, ctx.target)))
    options = ctx.target.section("options")
    out.update({_destination(option, options[option]): value for option, value in line.values.items()})
    return out


@lru_cache(maxsize=16)
def _defaults(release: Release, surface: str) -> dict[str, Any]:
    """Return destination -> what it is where nothing is given."""
    return {
        _destination(option, attrs): UNKNOWN if attrs.get("computed") else attrs.get("default")
        for option, attrs in release.surface_options(surface).items()
    }


def _destination(option: str, attrs: Mapping[str, Any]) -> str:
    return attrs.get("dest") or option.lstrip("-").replace("-", "_")


def _told(ctx: SiteContext, line: CommandLine, option: str, message: str) -> Answer:
    words = [ctx.site.words[i] for i in line.words[option]]
    answer = _answer(ctx, "VM112", words, option, message)
    answer.finding.help = _HELP["together"]
    answer.finding.withheld = "which of the two is meant cannot be told"
    return answer


def _answer(ctx: SiteContext, code: str, words: Sequence[Word], subject: str, message: str) -> Answer:
    """Return an answer without a fix about some words; about the launch where there are none."""
    argument = _argument(ctx, words)
    item: Any = argument.item if argument is not None else words[0] if words else next(iter(ctx.site.words), ctx.site)
    finding = ctx.finding(code, "error", subject, message, item, site=ctx.site)
    finding.withheld = "what is meant cannot be told"
    return Answer(finding, [], "unsafe", argument=argument)
