"""Charts: a value that a template prints as an old option moves to the key that the template prints as the new one.

One fix over both: the block of the old option goes from the template, and each values file names the new key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from vllm_migrate.arguments import Argument
from vllm_migrate.chart_keys import context_of, open_, rename
from vllm_migrate.findings import Finding, Fix
from vllm_migrate.lazy import dataclass, regex
from vllm_migrate.migrations import Migration, spell
from vllm_migrate.model import Change, Dynamic, Entry, InsertEntry, Remove, Rename, Replace
from vllm_migrate.planning import NoFix, find_answer
from vllm_migrate.rules.context import SiteContext
from vllm_migrate.text import Span

if TYPE_CHECKING:
    from vllm_migrate.charts import Chart
    from vllm_migrate.hosts.helm_values import Path, Use
    from vllm_migrate.units import Planner

_PLAIN = regex(
    r"(?:\{\{-?)?\s*(?:\(\s*)?(?:(?:int|int64|float64|toString|quote)\s+)?[$.][\w.$]*"
    r"(?:\s*\|\s*(?:s?quote|int|int64|float64|toString|trim))*\s*(?:\)\s*)?(?:-?\}\})?"
)
_TRUTHY = regex(r"(?:if|with)\s+(?:\$\w+\s*:=\s*)?[$.][\w.$]*")
_PRESENT = regex(r"if\s+\(?(?:hasKey\s+\S+\s+\"[\w.-]+\"|not\s+\(kindIs\s+\"invalid\"\s+\S+\)|ne\s+\S+\s+nil)\)?")


@dataclass
class Move:
    """What becomes of the values of one key. changes: by values file; names: the new keys."""

    path: Path
    names: list[str] = field(default_factory=list)
    changes: dict[str, list[Change]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Printed:
    """How a template prints a value: its path, the conditions around it, and what it asks of the value itself.

    form: "truthy", "present", or "" where it is always printed.
    """

    path: Path
    around: tuple[str, ...]
    form: str

    def shows(self, value: Any) -> bool:
        return self.form != "truthy" or bool(value)


def offer(planner: Planner) -> None:
    """Give findings of templates that have no fix one that moves the values they print."""
    from vllm_migrate import charts

    for file in list(planner.tree.files.values()):
        if not any(open_(f) for f in file.judged.findings):
            continue
        folder = charts.chart_of(planner.tree.root, file.path)
        if folder is None:
            continue
        chart = charts.read(planner, folder)
        if file.path in chart.values:
            rename(planner, chart, file)
        if not charts.is_template(folder, file.path) or file.path not in chart.uses:
            continue
        for finding in file.judged.findings:
            migration = planner.data.migrations.get(finding.migration) if open_(finding) else None
            if migration is None or migration.surface != "option":
                continue
            try:
                _offer(planner, chart, context_of(planner, file, finding), finding, migration)
            except NoFix as error:
                if str(error):
                    finding.withheld = str(error)


def _offer(planner: Planner, chart: Chart, ctx: SiteContext, finding: Finding, migration: Migration) -> None:
    old = next((a for a in ctx.arguments if a.option and a.item.place == finding.span and not a.path), None)
    if old is None or old.locked:
        return
    shown = _printed(chart, ctx.path, old)
    if shown is None or not any("option" in r for case in migration.cases for r in case.then):
        return
    move = Move(shown.path)
    before: dict[str, Any] = {}
    news: dict[str, dict[str, Any]] = {}
    answers: dict[str, tuple[Argument, _Printed]] = {}
    safety = "safe"
    own = _own_values(chart)
    for where in sorted(chart.values, key=lambda name: name != own):
        for entry in chart.values[where].entries.get(shown.path, ()):
            more, worst = _answer(ctx, chart, migration, old, shown, entry, answers)
            safety = "unsafe" if worst == "unsafe" else safety
            news.setdefault(where, {}).update(more)
            move.changes.setdefault(where, []).extend(_changes(chart, where, entry, more, answers))
            before[where] = entry.value
    if not answers:
        # No values file sets it to something that goes on.
        return
    _same_everywhere(chart, own, shown, answers, before, news)
    move.names = [".".join(p.path) for _, p in answers.values()]
    names = " and ".join(move.names)
    finding.fix = Fix(
        "unsafe",
        f"set {names} instead of {'.'.join(move.path)}, and print {', '.join(answers)} alone",
        [Remove(word) for word in old.words],
        why=f"values that are kept elsewhere must set {names} instead of {'.'.join(move.path)} too",
        needs=[("options", option) for option in answers],
    )
    finding.withheld = ""
    finding.replacement = finding.replacement or ", ".join(answers)
    planner.moves[id(finding.fix)] = move


def _own_values(chart: Chart) -> str:
    return f"{chart.folder}/values.yaml".lstrip("/")


def _answer(
    ctx: SiteContext,
    chart: Chart,
    migration: Migration,
    old: Argument,
    shown: _Printed,
    entry: Entry,
    answers: dict[str, tuple[Argument, _Printed]],
) -> tuple[dict[str, Any], str]:
    """Return the new options and values that one value stands for, and how safe that is."""
    value = entry.value
    if entry.locked or isinstance(value, (Dynamic, dict, list)):
        raise NoFix("")
    if not shown.shows(value):
        return {}, "safe"
    results, safety, _, _ = find_answer(ctx, migration, True if old.value is None else spell(value))
    out: dict[str, Any] = {}
    for result in results:
        if result.drop or result.variable or result.path:
            raise NoFix("")
        there = next((a for a in ctx.arguments if a.option == result.option and not a.path and a is not old), None)
        target = _printed(chart, ctx.path, there) if there is not None and not there.negated else None
        if there is None or target is None or target.around != shown.around or target.path[:-1] != shown.path[:-1]:
            raise NoFix(f"the template must print {result.option} from a value first, beside {old.spelling}")
        new = value if spell(result.value) == spell(value) and type(value) is not bool else result.value
        if there.value is None and new is not True:
            raise NoFix(f"the template has no way to print {result.option} for {spell(new)}")
        if not target.shows(new) or not target.form:
            raise NoFix(f"the template does not print {result.option} for {spell(new)}")
        answers[result.option] = (there, target)
        out[result.option] = new
    return out, safety


def _changes(
    chart: Chart, where: str, entry: Entry, news: Mapping[str, Any], answers: Mapping[str, tuple[Argument, _Printed]]
) -> list[Change]:
    values = chart.values[where]
    out: list[Change] = []
    renamed = False
    for option, value in news.items():
        path = answers[option][1].path
        same = [e for e in values.entries.get(path, ()) if e.container is entry.container]
        if same and same[0].value == value:
            continue
        if same:
            raise NoFix(f"{where} sets both {entry.key} and {path[-1]}: decide by hand")
        if renamed:
            out.append(InsertEntry(entry.container, path[-1], value, after=entry))
            continue
        renamed = True
        out.append(Rename(entry, path[-1]))
        if value != entry.value or type(value) is not type(entry.value):
            out.append(Replace(entry, value))
    return out if renamed else [*out, Remove(entry)]


def _same_everywhere(
    chart: Chart,
    own: str,
    shown: _Printed,
    answers: Mapping[str, tuple[Argument, _Printed]],
    before: Mapping[str, Any],
    news: Mapping[str, Mapping[str, Any]],
) -> None:
    """Refuse where a values file over the chart's own would not mean what it meant before."""
    from vllm_migrate.hosts.helm_values import ITEM

    if ITEM in shown.path:
        # A list of one file stands in the place of the chart's own.
        return
    paths = {option: printed for option, (_, printed) in answers.items()}

    def native(where: str) -> dict[str, Any]:
        held = chart.values[where].entries if where in chart.values else {}
        return {o: held[p.path][-1].value for o, p in paths.items() if held.get(p.path)}

    base, base_news = native(own), news.get(own, {})
    for where in chart.values:
        mine, mine_news = native(where), news.get(where, {})
        over = where != own
        old = mine_news if where in before or not over else base_news
        given = {**base, **mine} if over else mine
        wanted = {o: v for o, v in given.items() if paths[o].shows(v)}
        for option, value in old.items():
            if option in wanted and wanted[option] != value:
                raise NoFix(f"with {where} the template prints both {option} and what it replaces: decide by hand")
            wanted[option] = value
        after = {**base, **base_news, **mine, **mine_news} if over else {**mine, **mine_news}
        if {o: v for o, v in after.items() if paths[o].shows(v)} != wanted:
            raise NoFix(f"{where} takes back what {own} sets, which the new keys cannot say: decide by hand")


def _printed(chart: Chart, path: str, argument: Argument) -> _Printed | None:
    """Return how a template prints an argument's value, None where that is not one value as it is."""
    if argument.entry is not None:
        return None
    text = chart.texts[path]
    word = argument.words[-1]
    span = word.place
    conditions = list(_conditions(chart, path, argument.words[0].place.start))
    if argument.value is None:
        return _own(None, conditions)
    value = argument.value[-1] if isinstance(argument.value, list) else argument.value
    if not isinstance(value, str) or len(value) != 1 or len(word.holes) != 1 or not _PLAIN.fullmatch(word.holes[0]):
        return None
    used = [u for u in chart.uses[path] if span.start <= u.start and u.end <= span.end]
    if len(used) != 1 or not used[0].path or text[span.start : span.end].count("{{") > 1:
        return None
    return _own(used[0].path, conditions)


def _own(path: Path | None, conditions: Sequence[tuple[str, Path | None, str]]) -> _Printed | None:
    """Part the conditions around an argument from those that ask for its own value."""
    around = list(conditions)
    form = ""
    while around and around[-1][2] and around[-1][1] is not None and (path is None or around[-1][1] == path):
        path = around[-1][1]
        form = "truthy" if "truthy" in (form, around[-1][2]) else "present"
        around.pop()
    if path is None:
        return None
    return _Printed(path, tuple(raw for raw, _, _ in around), form)


def _conditions(chart: Chart, path: str, offset: int) -> Iterator[tuple[str, Path | None, str]]:
    """Yield the conditions around a place, outermost first: how each reads, the one value it asks for, and how."""
    from vllm_migrate.hosts.yaml_mask import mask

    text, uses = chart.texts[path], chart.uses[path]
    stack: list[list[Span]] = []
    for action in mask(text).actions:
        if action.start >= offset:
            break
        if action.step == 1:
            stack.append([Span(action.start, action.end)])
        elif action.step == -1 and stack:
            stack.pop()
        elif action.word in ("else", "elif") and stack:
            stack[-1].append(Span(action.start, action.end))
    for block in stack:
        raws = [" ".join(text[s.start : s.end].strip("{}-").strip().strip("-").split()) for s in block]
        named = [u for u in uses if block[0].start <= u.start and u.end <= block[0].end]
        yield " / ".join(raws), *_asks(raws, named)


def _asks(raws: Sequence[str], named: Sequence[Use]) -> tuple[Path | None, str]:
    if len(raws) != 1 or len(named) != 1 or not named[0].path:
        return None, ""
    if _TRUTHY.fullmatch(raws[0]):
        return named[0].path, "truthy"
    return (named[0].path, "present") if _PRESENT.fullmatch(raws[0]) else (None, "")
