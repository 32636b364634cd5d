"""For the body of a pull request: what was rewritten, and what the target refuses, ignores or treats differently."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from vllm_migrate.config import Config
from vllm_migrate.findings import Report
from vllm_migrate.lazy import regex
from vllm_migrate.output._effect import TITLES, Effect, effect
from vllm_migrate.output._located import Located, located
from vllm_migrate.output._paint import plain
from vllm_migrate.output._summary import number

_MOST = 100
"""Findings written out under one heading: services refuse long bodies."""
_SPECIAL = regex(r"([\\`*_\[\]<>|#~$@])")


def render(report: Report, settings: Config) -> str:
    """Return the summary as GitHub and GitLab show it; nothing in it is taken for markup or a mention."""
    places = list(located(report))
    target = ", ".join(dict.fromkeys(p.finding.to for p in places if p.finding.to)) or ", ".join(report.targets)
    looked = f"{number(report.sites, 'launch', 'launches')} in {number(len(report.files), 'file')}"
    parts = [f"## vLLM {text(target)}\n\n" if target else "## vLLM\n\n", f"{looked} looked at.\n\n"]
    if report.written:
        parts += ["### Rewritten\n\n", *_written(report.written), "\n"]
    if not places:
        parts.append("Nothing is left to do.\n" if report.written else "Nothing found.\n")
        return "".join(parts)
    parts.append(_table(places, settings))
    told: set[str] = set()
    for kind in TITLES:
        parts += _listed(kind, [p for p in places if effect(p.finding) == kind], settings, told)
    return "".join(parts)


def _table(places: list[Located], settings: Config) -> str:
    rows = ["| | findings | fix | with consent | by hand |\n| --- | ---: | ---: | ---: | ---: |\n"]
    for kind, title in TITLES.items():
        held = [p.finding for p in places if effect(p.finding) == kind]
        if held:
            safe = sum(f.fix is not None and f.fix.safety == "safe" for f in held)
            unsafe = sum(f.fix is not None and f.fix.safety != "safe" for f in held)
            rows.append(f"| {title} | {len(held)} | {safe} | {unsafe} | {len(held) - safe - unsafe} |\n")
    return "".join(rows) + "\n"


def _listed(kind: Effect, places: list[Located], settings: Config, told: set[str]) -> Iterable[str]:
    if not places:
        return
    heading = f"{TITLES[kind][0].upper()}{TITLES[kind][1:]}"
    folded = kind == "note" or len(places) > _MOST // 4
    if folded:
        yield f"<details><summary>{heading} ({len(places)})</summary>\n\n"
    else:
        yield f"### {heading}\n\n"
    for place in places[:_MOST]:
        finding = place.finding
        box = "x" if settings.takes(finding) and settings.fix else " "
        yield f"- [{box}] {code(f'{finding.path}:{place.line}')} {text(finding.message)} ({finding.code})"
        yield f"{_todo(place, told)}\n"
    if len(places) > _MOST:
        yield f"- … and {len(places) - _MOST} more\n"
    yield "\n</details>\n\n" if folded else "\n"


def _todo(place: Located, told: set[str]) -> str:
    """Say what becomes of a finding. told: reasons given before, which are not given again."""
    finding = place.finding
    if finding.fix is not None:
        why = ""
        if finding.fix.safety != "safe":
            reason = ", as above" if finding.fix.why in told else f": {text(finding.fix.why)}"
            why = f", for a person to agree to{reason}"
            told.add(finding.fix.why)
        return f"<br>fix: {text(finding.fix.description)}{why}"
    if finding.withheld:
        return f"<br>no fix: {text(finding.withheld)}"
    return f"<br>{text(finding.help)}" if finding.help and finding.severity != "info" else ""


def _written(written: dict[str, list[str]]) -> Iterable[str]:
    for path in sorted(written):
        counts = Counter(written[path])
        said = "; ".join(text(what) + (f" ({times} times)" if times > 1 else "") for what, times in counts.items())
        yield f"- {code(path)}: {said}\n"


def code(value: str) -> str:
    """Return a code span, whatever backticks the value holds.

    >>> code("a`b")
    '`` a`b ``'
    """
    value = plain(" ".join(value.split())) or " "
    longest = max((len(run) for run in re.findall(r"`+", value)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{value}{pad}{fence}"


def text(value: str) -> str:
    """Return words that stand for themselves: no markup, no mention, no line break.

    >>> text("a *b* <c>")
    'a \\\\*b\\\\* \\\\<c\\\\>'
    """
    return _SPECIAL.sub(r"\\\1", plain(" ".join(value.split())))
