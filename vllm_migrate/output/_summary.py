"""What goes to standard error after a run, and the table of `--statistics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.output._located import clickable, counts

_SHOWN = 10


def number(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun.

    >>> number(1, "error"), number(2, "fix", "fixes")
    ('1 error', '2 fixes')
    """
    return f"{count} {one if count == 1 else many or one + 's'}"


def some(names: Sequence[str], most: int) -> str:
    """Return the first of some names, and how many more there are.

    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def checked(report: Report, settings: Config) -> list[str]:
    """Return the closing lines of `check`."""
    found = counts(report)
    where = f"{number(found['files'], 'file')} read, {number(found['sites'], 'launch', 'launches')}"
    if not report.files:
        return ["Nothing found: no file here speaks of vLLM." + _hidden(report)]
    if not report.findings():
        return [f"Nothing found ({where})." + _hidden(report)]
    kinds = ", ".join(number(found[s + "s"], s) for s in ("error", "warning", "info") if found[s + "s"])
    lines = [f"Found {kinds} ({where})." + _hidden(report), *_effects(report)]
    ready = sum(settings.takes(f) for f in report.findings())
    if ready:
        lines.append(f"{number(ready, 'finding')} can be fixed: `fix` writes, `diff` prints the patch.")
    if found["fixable"] > ready:
        lines.append(f"{found['fixable'] - ready} more with --unsafe-fixes, which a person should look at.")
    left = sum(f.fix is None for f in report.findings() if f.severity != "info")
    if left:
        lines.append(f"{number(left, 'finding')} without a fix: {'it' if left == 1 else 'each'} says what to do.")
    return lines


def _effects(report: Report) -> list[str]:
    """Say what the findings come to for who starts the launches."""
    from vllm_migrate.output._effect import TITLES, effect

    counts = Counter(effect(f) for f in report.findings())
    said = [f"{TITLES[kind]}: {counts[kind]}" for kind in TITLES if kind != "note" and counts[kind]]
    return [f"{'; '.join(said)[0].upper()}{'; '.join(said)[1:]}."] if said else []


def looked_at(report: Report) -> list[str]:
    """Return which files were read and as what, and what was passed over and why."""
    lines = [f"{report.walked} files looked at, {len(report.files)} read"]
    lines += [f"{clickable(f.path, report)}: read as {f.host}" for f in report.files if f.host]
    lines += [f"{clickable(path, report)}: left out, no format that is known" for path in report.unread]
    for reason, names in report.skipped.items():
        lines.append(f"left out, {reason}: {some(names, _SHOWN)}")
    return lines


def left_out(report: Report) -> list[str]:
    """Return what a patch does not hold: unsafe fixes, withheld ones, findings without a fix."""
    lines = []
    if report.left_out:
        lines.append(
            f"{number(report.left_out, 'fix', 'fixes')} left out: unsafe, --unsafe-fixes takes them."
        )
    withheld = report.withheld or sum(bool(f.withheld) for f in report.findings())
    if withheld:
        lines.append(f"{number(withheld, 'fix', 'fixes')} withheld; `check` says why.")
    by_hand = sum(f.fix is None and not f.withheld for f in report.findings() if f.severity != "info")
    if by_hand:
        lines.append(f"{number(by_hand, 'finding')} to be mended by hand; `check` says how.")
    return lines


def fixed(report: Report) -> list[str]:
    """Return what `fix` wrote, file by file."""
    lines = []
    for file in sorted(report.files, key=lambda f: f.path):
        if file.fixed is None:
            continue
        what = Counter(fix.description for fix in file.applied)
        lines.append(f"{clickable(file.path, report)}: {number(sum(what.values()), 'fix', 'fixes')}")
        lines += [f"  {text}" + (f" ({times} times)" if times > 1 else "") for text, times in what.items()]
    return lines


def _hidden(report: Report) -> str:
    return f" {number(report.suppressed, 'finding')} suppressed." if report.suppressed else ""


def statistics(report: Report) -> list[dict[str, str | int]]:
    """Return how often each code was found, the most frequent first."""
    from vllm_migrate.rules.registry import rules

    found = Counter(f.code for f in report.findings())
    fixable = Counter(f.code for f in report.findings() if f.fix is not None)
    known = rules()
    rows: list[dict[str, str | int]] = []
    for code, count in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        slug = known[code].slug if code in known else ""
        rows.append({"code": code, "slug": slug, "count": count, "fixable": fixable[code]})
    return rows


def statistics_table(report: Report) -> str:
    """Return the counts as a table; `[*]` marks codes with a fix for every finding, `[-]` for some."""
    rows = statistics(report)
    wide = max((len(str(row["count"])) for row in rows), default=1)
    lines = []
    for row in rows:
        mark = "*" if row["fixable"] == row["count"] else "-" if row["fixable"] else " "
        lines.append(f"{row['count']:>{wide}}  {row['code']}  [{mark}] {row['slug']}".rstrip() + "\n")
    return "".join(lines)
