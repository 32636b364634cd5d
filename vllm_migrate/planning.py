"""Turns answers ("this option goes, that one comes") into changes of one site's items.

Answers of one site that write into the same JSON object, or touch the same argument, become one fix.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from vllm_migrate.arguments import COMMAND_LINES, ENGINE_LINES, KEYWORDS, Argument, has_dynamic
from vllm_migrate.disjoint import Disjoint
from vllm_migrate.findings import Finding, Fix, Safety
from vllm_migrate.jsontext import Filled, parse, rewrite
from vllm_migrate.jsonvalue import loads
from vllm_migrate.lazy import dataclass
from vllm_migrate.migrations import CannotConvert, Case, Migration, convert, holds, normal, spell, truthy
from vllm_migrate.model import (
    Change,
    Container,
    InsertEntry,
    InsertVariable,
    InsertWords,
    Remove,
    Rename,
    Replace,
    Variable,
    Word,
)

if TYPE_CHECKING:
    from vllm_migrate.rules.context import SiteContext


@dataclass(frozen=True)
class Result:
    """One thing that comes instead: an option (path: keys inside its JSON object) or a variable.

    holes: spellings of the run-time parts of `value`. drop: remove it where the site has it.
    """

    option: str = ""
    path: tuple[str, ...] = ()
    variable: str = ""
    value: Any = None
    holes: tuple[str, ...] = ()
    drop: bool = False

    @property
    def name(self) -> str:
        return self.variable or self.option + "".join("." + p for p in self.path)


@dataclass(eq=False)
class Answer:
    """What becomes of one argument, one key of it, or one variable.

    key: path of the key inside the argument's object, () for the whole argument.
    """

    finding: Finding
    results: list[Result]
    safety: Safety
    why: str = ""
    note: str = ""
    argument: Argument | None = None
    key: tuple[str, ...] = ()
    variable: Variable | None = None


APART = "what it has to do with stands under another condition"


class NoFix(Exception):
    """There is a migration but it cannot be written here; the message says why."""


def value_text(value: Any) -> Any:
    return value[-1] if isinstance(value, list) and len(value) == 1 else value


def find_answer(
    ctx: SiteContext, migration: Migration, value: Any, holes: tuple[str, ...] = (), depth: int = 0
) -> tuple[list[Result], Safety, str, str]:
    """Return results, safety, why and note of the case that applies.

    Results the target does not take any more are converted further; one it does not take yet, or an
    undecidable value, raises NoFix.
    """
    if depth > 6:
        raise NoFix("the replacements run in a circle")
    present = {normal(a.subject) for a in ctx.arguments if a.option} | {normal(v.name) for v in ctx.site.variables}
    dynamic = has_dynamic(value)
    chosen: Case | None = None
    for case in migration.cases:
        if dynamic and set(case.when) - {"with", "without"}:
            if case.target and not holds(Case((), "safe", {}, case.target), ctx.target.version, None, ()):
                continue
            raise NoFix("what replaces it depends on a value only known at run time")
        if holds(case, ctx.target.version, value, present):
            chosen = case
            break
    if chosen is None:
        raise NoFix("")
    results: list[Result] = []
    safety: Safety = "safe" if chosen.safety == "safe" else "unsafe"
    whys = [chosen.why] if chosen.why and safety == "unsafe" else []
    typed = ctx.site.entry_point in KEYWORDS
    for raw in chosen.then:
        if raw.get("drop"):
            results.append(_named(raw, None, (), drop=True))
            continue
        if "name" in raw:
            continue
        try:
            if dynamic and raw.get("value") != "$value" and not _constant(raw.get("value")):
                raise NoFix("its value is only known at run time")
            new = convert(raw.get("value"), value, typed=typed)
        except CannotConvert as error:
            raise NoFix(str(error)) from None
        result = _named(raw, new, holes if raw.get("value") == "$value" else ())
        more, worse, why = _accepted(ctx, result, depth)
        results += more
        if worse == "unsafe":
            safety = "unsafe"
            whys.append(why)
    return results, safety, "; ".join(dict.fromkeys(w for w in whys if w)), chosen.note


def _constant(form: Any) -> bool:
    return not (form == "$value" or (isinstance(form, dict) and "from" in form))


def _named(raw: dict[str, Any], value: Any, holes: tuple[str, ...], *, drop: bool = False) -> Result:
    if "variable" in raw:
        return Result(variable=raw["variable"], value=value, holes=holes, drop=drop)
    head, dot, tail = raw["option"].partition(".")
    return Result(head, tuple(tail.split(".")) if dot else (), "", value, holes, drop)


def _accepted(ctx: SiteContext, result: Result, depth: int) -> tuple[list[Result], Safety, str]:
    """Return the result if the target takes it, else what it became."""
    target = ctx.target
    if result.variable:
        known = target.section("variables")
        if result.variable in known or not result.variable.startswith("VLLM_"):
            return [result], "safe", ""
        surface, name, only = "variable", result.variable, ""
    else:
        if target.takes(result.option, result.path, ctx.site.entry_point):
            return [result], "safe", ""
        surface = "key" if result.path else "option"
        name = result.name
        only = "keyword" if ctx.site.entry_point in KEYWORDS else "cli"
    onward = ctx.migrations.answer(surface, name, target.version, only=only)
    if onward is None:
        raise NoFix(f"{result.name}, which replaces it, does not exist in {target.version}")
    results, safety, why, _ = find_answer(ctx, onward, result.value, result.holes, depth + 1)
    return results, safety, why


def make_fixes(ctx: SiteContext, answers: Sequence[Answer]) -> None:
    """Give every answer's finding its fix, or say in `withheld` why there is none."""
    for group in _groups(ctx, answers):
        try:
            fix = _fix(ctx, group)
        except NoFix as error:
            for answer in group:
                answer.finding.withheld = str(error)
            continue
        for answer in group:
            answer.finding.fix = fix
            names = [r.name for r in answer.results if not r.drop]
            if names and not answer.finding.replacement:
                answer.finding.replacement = ", ".join(dict.fromkeys(names))


def _groups(ctx: SiteContext, answers: Sequence[Answer]) -> list[list[Answer]]:
    sets: Disjoint[tuple[object, ...]] = Disjoint()
    present = {a.option for a in ctx.arguments if a.option}

    def own(answer: Answer, option: str) -> bool:
        return bool(answer.key) and answer.argument is not None and answer.argument.option == option

    filled = {r.option for a in answers for r in a.results if (r.path or r.option in present) and not own(a, r.option)}

    def base(answer: Answer, option: str) -> tuple[object, ...]:
        # An object that only changes inside is rewritten where it stands, under each condition by itself.
        return ("base", option) if option in filled else ("base", option, _branch(answer))

    for answer in answers:
        me = ("answer", id(answer))
        if answer.argument is not None:
            sets.join(me, ("argument", id(answer.argument)))
            if answer.key or answer.argument.path:
                sets.join(me, base(answer, answer.argument.option))
        if answer.variable is not None:
            sets.join(me, ("variable", id(answer.variable)))
        for result in answer.results:
            if result.option and (result.path or result.option in present):
                sets.join(me, base(answer, result.option))
            elif result.option:
                sets.join(me, ("new", result.option))
            else:
                sets.join(me, ("var", result.variable))
    groups: dict[object, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(sets.root(("answer", id(answer))), []).append(answer)
    return list(groups.values())


@dataclass
class _Object:
    """The JSON object an option will hold."""

    argument: Argument | None
    value: dict[str, Any]
    anchor: Answer | None = None
    paths: list[tuple[tuple[str, ...], Any]] = field(default_factory=list)


def _fix(ctx: SiteContext, group: Sequence[Answer]) -> Fix:
    objects: dict[str, _Object] = {}
    plain: list[tuple[Answer, Result]] = []
    changes: list[Change] = []
    gone: set[int] = {id(a.argument) for a in group if a.argument is not None and not a.key}
    for answer in group:
        _check_editable(answer)
        if answer.argument is not None and answer.key:
            _delete(_object(ctx, objects, answer.argument.option, answer.argument, gone).value, answer.key)
        for result in answer.results:
            if result.drop:
                changes += _drop(ctx, result)
            elif result.variable:
                changes += _set_variable(ctx, answer, result)
            elif result.path:
                held = _object(ctx, objects, result.option, None, gone)
                held.anchor = held.anchor or answer
                if has_dynamic(result.value):
                    raise NoFix("a value only known at run time cannot be moved into a JSON object safely")
                _put(held, result)
            else:
                plain.append((answer, result))
    coming: dict[int, list[tuple[str, Any, tuple[str, ...]]]] = {}
    named: dict[str, str] = {}
    for option, held in objects.items():
        if held.argument is not None:
            changes += _rewrite_object(held)
        elif held.value and held.anchor is not None:
            coming.setdefault(id(held.anchor), []).extend(_spell_object(ctx, option, held))
    for answer, result in plain:
        new = _plain(ctx, answer, result, gone, [n for c in coming.values() for n, _, _ in c], named)
        if new is not None:
            named.setdefault(result.option, answer.finding.subject)
            coming.setdefault(id(answer), []).append(new)
    for answer in group:
        news = coming.get(id(answer), [])
        if answer.argument is not None and not answer.key:
            changes += _replace_argument(ctx, answer.argument, news)
        else:
            if answer.variable is not None and not any(
                isinstance(c, (Rename, Replace)) and c.item is answer.variable for c in changes
            ):
                changes.append(Remove(answer.variable))
            if news:
                changes += _insert(ctx, news, gone)
    in_place = not objects and all(not r.drop and not r.variable and not r.path for a in group for r in a.results)
    _one_condition(group, changes, in_place=in_place)
    safety: Safety = "unsafe" if any(a.safety == "unsafe" for a in group) else "safe"
    return Fix(
        safety=safety,
        description=_describe(group),
        changes=changes,
        why="; ".join(dict.fromkeys(a.why for a in group if a.why and a.safety == "unsafe")),
        needs=[_need(r) for a in group for r in a.results if not r.drop],
    )


def _branch(answer: Answer) -> int:
    item = answer.argument.item if answer.argument is not None else answer.variable
    return item.branch if item is not None else -1


def _one_condition(group: Sequence[Answer], changes: Sequence[Change], *, in_place: bool) -> None:
    """Refuse what would put under one condition of a template what stands under another."""
    branches = {_branch(a) for a in group}
    moved = [c for c in changes if isinstance(c, (InsertWords, InsertEntry, InsertVariable))]
    for change in changes:
        if isinstance(change, (Remove, Replace, Rename)):
            branches.add(change.item.branch)
        elif isinstance(change, (InsertWords, InsertEntry, InsertVariable)):
            branches.add(change.after.branch if change.after is not None else -1)
    if len(branches) > 1 and (moved or not in_place):
        raise NoFix(APART)


def _need(result: Result) -> tuple[str, str]:
    return ("variables", result.variable) if result.variable else ("options", result.name)


def _describe(group: Sequence[Answer]) -> str:
    parts = []
    for answer in group:
        names = [r.name for r in answer.results if not r.drop]
        what = answer.finding.subject
        parts.append(f"replace {what} by {', '.join(names)}" if names else f"remove {what}")
    notes = [a.note for a in group if a.note]
    text = "; ".join(dict.fromkeys(parts))
    return text + (f" ({'; '.join(dict.fromkeys(notes))})" if notes else "")


def _check_editable(answer: Answer) -> None:
    if answer.argument is not None:
        if answer.argument.locked:
            raise NoFix(answer.argument.locked)
        if any(w.splits for w in answer.argument.words):
            raise NoFix("the value is an expansion that may hold more than one word")
    if answer.variable is not None:
        variable = answer.variable
        if variable.guarded:
            raise NoFix(f"the code is guarded by a version test ({variable.guarded})")
        if variable.locked:
            raise NoFix(variable.locked)


def _object(
    ctx: SiteContext, objects: dict[str, _Object], option: str, argument: Argument | None, gone: set[int]
) -> _Object:
    if option in objects:
        return objects[option]
    if argument is None:
        found = [a for a in ctx.arguments if a.option == option and not a.path and id(a) not in gone]
        argument = found[-1] if found else None
    value: dict[str, Any] = {}
    if argument is not None:
        if argument.locked:
            raise NoFix(argument.locked)
        value = copy.deepcopy(object_of(argument) or {})
        if object_of(argument) is None:
            raise NoFix(f"the value of {option} cannot be read")
    objects[option] = _Object(argument, value)
    return objects[option]


def object_of(argument: Argument) -> dict[str, Any] | None:
    """Return the JSON object an argument holds, or None where it holds none that can be read."""
    value = value_text(argument.value)
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        try:
            parsed = parse(value).value if has_dynamic(value) else loads(value)
        except ValueError:
            return None
        return parsed if isinstance(parsed, dict) else None
    return None


def _delete(value: dict[str, Any], path: Sequence[str]) -> None:
    for part in path[:-1]:
        inner = value.get(part)
        if not isinstance(inner, dict):
            return
        value = inner
    value.pop(path[-1], None)


def _put(held: _Object, result: Result) -> None:
    value = held.value
    for part in result.path[:-1]:
        inner = value.setdefault(part, {})
        if not isinstance(inner, dict):
            raise NoFix(f"{result.option} already sets {part}")
        value = inner
    last = result.path[-1]
    if last in value and value[last] != result.value:
        raise NoFix(f"the launch already sets {result.name} to {spell(value[last])}")
    value[last] = result.value
    held.paths.append((result.path, result.value))


def _rewrite_object(held: _Object) -> list[Change]:
    argument = held.argument
    assert argument is not None
    if not held.value:
        return [Remove(item) for item in argument.items]
    if argument.entry is None and rewrite(value_text(argument.value), held.value) == value_text(argument.value):
        return []
    return [write_object(argument, held.value)]


def write_object(argument: Argument, new: dict[str, Any]) -> Change:
    """Return the change that gives an argument another JSON object, spelled as the old one is."""
    try:
        if argument.entry is not None:
            value = argument.entry.value
            made = rewrite(value, new) if isinstance(value, str) else new
            if isinstance(made, str) and has_dynamic(made):
                raise NoFix("a part of the value is only known at run time")
            return Replace(argument.entry, made)
        word, old = argument.words[-1], value_text(argument.value)
        text = rewrite(old, new)
    except Filled as error:
        raise NoFix(str(error)) from None
    return Replace(word, word.text[: len(word.text) - len(old)] + text if argument.glued else text, word.holes)


def _spell_object(ctx: SiteContext, option: str, held: _Object) -> list[tuple[str, Any, tuple[str, ...]]]:
    """Return the arguments that write an object which the site does not have yet."""
    if ctx.site.entry_point in KEYWORDS:
        return [(option, held.value, ())]
    dotted = [a for a in ctx.arguments if a.option == option and a.path]
    if dotted or len(held.paths) == 1:
        out: list[tuple[str, Any, tuple[str, ...]]] = []
        for path, value in held.paths:
            name = option + "".join("." + p for p in path)
            for other in dotted:
                if other.path == path:
                    raise NoFix(f"the launch already sets {name}")
            out.append((name, value, ()))
        if all(not isinstance(v, (dict, list)) for _, v, _ in out):
            return out
    return [(option, held.value, ())]


def _plain(
    ctx: SiteContext, answer: Answer, result: Result, gone: set[int], coming: Sequence[str], named: Mapping[str, str]
) -> tuple[str, Any, tuple[str, ...]] | None:
    for argument in ctx.arguments:
        if argument.option == result.option and not argument.path and id(argument) not in gone:
            here = value_text(argument.value)
            same = spell(here).lower() == spell(result.value).lower()
            bare = here is None and result.value is True and not argument.negated
            if (same or bare) and argument.item.branch not in (-1, _branch(answer)):
                raise NoFix(APART)
            if same or bare:
                return None
            raise NoFix(f"the launch already has {result.option} with another value")
    if result.option in coming and (answer.argument is None or named.get(result.option) != answer.finding.subject):
        return None
    # An option that is given twice stays so: the last one counts, or they stand under different conditions.
    return (result.option, result.value, result.holes)


def _drop(ctx: SiteContext, result: Result) -> list[Change]:
    if result.variable:
        return [Remove(v) for v in ctx.site.variables if v.name == result.variable and not v.locked]
    return [
        Remove(item)
        for a in ctx.arguments
        if a.option == result.option and a.path == result.path and not a.locked
        for item in a.items
    ]


def _set_variable(ctx: SiteContext, answer: Answer, result: Result) -> list[Change]:
    text = variable_text(result.value)
    variable = answer.variable
    if any(v.name == result.variable and v is not variable for v in ctx.site.variables):
        raise NoFix(f"{result.variable} is set already")
    if variable is not None:
        changes: list[Change] = [Rename(variable, result.variable)]
        if text != variable.value:
            changes.append(Replace(variable, text, result.holes))
        return changes
    if ctx.site.variable_home is None:
        raise NoFix(f"set {result.variable}={text} in the environment of the process")
    return [InsertVariable(ctx.site.variable_home, result.variable, text)]


def variable_text(value: Any) -> str:
    """Return a value as an environment variable spells it: a switch is 1 or 0."""
    return ("1" if value else "0") if isinstance(value, bool) else spell(value)


def negative_form(attrs: Mapping[str, Any]) -> str | None:
    """Return the spelling of a switch that says no, None where it has none."""
    negative = attrs.get("negative", ())
    return next((s for s in negative if s.startswith("--no-")), next(iter(negative), None))


def option_words(ctx: SiteContext, name: str, value: Any, *, glued: bool = False) -> list[str]:
    """Return the words that spell an option on a command line. Raises NoFix where it has no such form."""
    head = name.partition(".")[0]
    attrs = ctx.target.option(head).attrs if "." not in name else {}
    if attrs.get("nargs") == 0:
        wanted = truthy(value)
        if wanted is None:
            raise NoFix(f"{name} takes no value")
        if wanted:
            return [name]
        negative = negative_form(attrs)
        if negative is None:
            raise NoFix(f"{name} has no form that says no")
        return [negative]
    if isinstance(value, list) and attrs.get("nargs") in ("+", "*"):
        return [name, *(spell(v) for v in value)]
    text = value if isinstance(value, str) else spell(value)
    return [f"{name}={text}"] if glued else [name, text]


def keyword_value(ctx: SiteContext, name: str, value: Any) -> Any:
    """Return a value typed as the keyword of an engine wants it."""
    attrs = ctx.target.keyword(name, ctx.site.entry_point) or {}
    kind = str(attrs.get("type", ""))
    if isinstance(value, str) and not has_dynamic(value):
        try:
            if kind.startswith("int") or kind == "human_int":
                return int(value)
            if kind.startswith("float"):
                return float(value)
        except ValueError:
            return value
        if kind.startswith("bool") and truthy(value) is not None:
            return truthy(value)
    return value


def _key_name(argument_key: str, option: str) -> str:
    """Spell an option like a neighbouring key: snake or kebab."""
    plain = option.lstrip("-")
    return plain.replace("-", "_") if "_" in argument_key else plain


def _replace_argument(
    ctx: SiteContext, argument: Argument, news: list[tuple[str, Any, tuple[str, ...]]]
) -> list[Change]:
    if argument.entry is not None:
        return _replace_entry(ctx, argument, news)
    if not news:
        return [Remove(word) for word in argument.words]
    texts: list[tuple[str, tuple[str, ...]]] = []
    for name, value, holes in news:
        texts += [(t, holes) for t in option_words(ctx, name, value, glued=argument.glued)]
    changes: list[Change] = []
    words = argument.words
    for word, (text, holes) in zip(words, texts, strict=False):
        if word.text != text:
            changes.append(Replace(word, text, holes or word.holes))
    changes += [Remove(word) for word in words[len(texts) :]]
    more = texts[len(words) :]
    if more:
        changes.append(InsertWords(words[-1].container, [t for t, _ in more], more[0][1], after=words[-1]))
    return changes


def _replace_entry(
    ctx: SiteContext, argument: Argument, news: list[tuple[str, Any, tuple[str, ...]]]
) -> list[Change]:
    entry = argument.entry
    assert entry is not None
    if not news:
        return [Remove(entry)]
    if ctx.site.entry_point not in KEYWORDS | {"config"}:
        raise NoFix("the key is read by something else that must learn the new one too")
    changes: list[Change] = []
    for i, (name, value, _) in enumerate(news):
        key, new = _entry_form(ctx, entry.key, name, value)
        if i:
            changes.append(InsertEntry(entry.container, key, new, after=entry))
            continue
        if key != entry.key:
            changes.append(Rename(entry, key))
        if new != entry.value or type(new) is not type(entry.value):
            changes.append(Replace(entry, new))
    return changes


def _entry_form(ctx: SiteContext, beside: str, name: str, value: Any) -> tuple[str, Any]:
    if ctx.site.entry_point in KEYWORDS:
        key = name.lstrip("-").replace("-", "_")
        return key, keyword_value(ctx, key, value)
    head, dot, tail = name.partition(".")
    key = _key_name(beside, head) + dot + tail
    attrs = ctx.target.option(head).attrs if not dot else {}
    if attrs.get("nargs") == 0 and value is False:
        negative = negative_form(attrs)
        if negative is None:
            raise NoFix(f"{name} has no form that says no")
        return _key_name(beside, negative), True
    if isinstance(value, dict):
        return key, json.dumps(value)
    return key, value


def _insert(
    ctx: SiteContext, news: list[tuple[str, Any, tuple[str, ...]]], gone: set[int] | None = None
) -> list[Change]:
    """Return changes that add arguments last at the site."""
    site = ctx.site
    if site.entry_point in COMMAND_LINES | ENGINE_LINES:
        words: list[str] = []
        holes: tuple[str, ...] = ()
        glued = all_glued(ctx)
        for name, value, more in news:
            words += option_words(ctx, name, value, glued=glued)
            holes = more or holes
        return [add_words(ctx, words, holes)]
    if site.entry_point in KEYWORDS | {"config"}:
        entries = [e for e in site.entries if not e.locked and not e.guarded]
        home: Container | None = entries[-1].container if entries else site.entry_home
        if home is None:
            raise NoFix("there is no place to add " + ", ".join(n for n, _, _ in news))
        beside = entries[-1].key if entries else "-"
        return [
            InsertEntry(home, *_entry_form(ctx, beside, name, value), after=entries[-1] if entries else None)
            for name, value, _ in news
        ]
    raise NoFix("the launch is put together elsewhere: add " + ", ".join(n for n, _, _ in news) + " there")


def add_words(ctx: SiteContext, words: Sequence[str], holes: tuple[str, ...] = ()) -> Change:
    """Return the change that adds words last at a command line. Raises NoFix where there is no place."""
    last = ctx.site.words[-1] if ctx.site.words else None
    if ctx.site.word_home is not None and (last is None or last.branch == -1):
        return InsertWords(ctx.site.word_home, words, holes)
    anchor = last_word(ctx)
    if anchor is None:
        raise NoFix("there is no place to add " + " ".join(words))
    return InsertWords(anchor.container, words, holes, after=anchor)


def all_glued(ctx: SiteContext) -> bool:
    """Tell whether the launch writes every value with `=`; an added one follows suit."""
    valued = [a for a in ctx.arguments if a.option and a.value is not None]
    return bool(valued) and all(a.glued for a in valued)


def last_word(ctx: SiteContext) -> Word | None:
    """Return the word after which an added option goes: the last that belongs to this site alone."""
    others = {id(w) for s in ctx.reading.sites if s is not ctx.site for w in s.words}
    for word in reversed(ctx.site.words):
        if word.splits or word.locked or word.guarded or word.branch != -1 or id(word) in others:
            continue
        return word
    return None
