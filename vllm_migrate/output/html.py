"""One page that holds everything: to read, to review with others, and to take a patch of what was picked."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from vllm_migrate.config import Config, place_key
from vllm_migrate.findings import Report
from vllm_migrate.output._cards import Cards
from vllm_migrate.output._effect import TITLES, Effect, effect
from vllm_migrate.output._grouped import Group, choices_of, groups
from vllm_migrate.output._located import counts
from vllm_migrate.output._page_data import embedded
from vllm_migrate.output._paint import plain
from vllm_migrate.output._summary import number

_ASSETS = Path(__file__).parent / "page"
_SHOWN = 8
_STAGES = (("breaks", "bad", "does not start"), ("ignored", "fair", "starts"), ("differs", "fair", "starts"))


def render(report: Report, settings: Config) -> str:
    """Return a page that needs no other file; its program builds the patch of the fixes that are ticked."""
    choices, clusters = choices_of(report)
    ticked = {i for i, choice in enumerate(choices) if choice.safety == "safe" or settings.unsafe_fixes}
    of = {id(f): i for i, choice in enumerate(choices) for f in choice.findings}
    # With several targets the same may be found for each of them: one choice answers it.
    same = {place_key(f): i for i, choice in enumerate(choices) for f in choice.findings}
    of.update({id(f): same[place_key(f)] for f in report.findings() if f.fix is not None and place_key(f) in same})
    launches = groups(report)
    cards = Cards(report, choices, ticked, of)
    sections = [_section(i, group, cards) for i, group in enumerate(launches)]
    data = embedded(
        report,
        choices,
        clusters,
        ticked,
        [[(effect(p.finding), of.get(id(p.finding))) for p in g.places] for g in launches],
        f"vllm-{_target(report)}.patch" if re.fullmatch(r"[\w.]+", _target(report)) else "vllm.patch",
    )
    style, program = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(program)}; "
        "base-uri 'none'; form-action 'none'"
    )
    origins = ", ".join(_ordered(f.origin for f in report.findings()))
    title = f"vLLM {origins} → {_target(report)}" if origins else f"To vLLM {_target(report)}"
    title = title if _target(report) else "Nothing to change"
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        f"<title>{escape(title)}: vllm-migrate</title>\n<style>{style}</style>\n</head>\n<body>\n",
        '<a class="vh skip" href="#main">To the changes</a>\n',
        _header(report, title, len(choices)),
        _navigation(launches),
        '<main id="main" tabindex="-1">\n',
        _filters(cards),
        *sections,
        "<p>Nothing found.</p>\n" if not sections else "",
        "</main>\n",
        _footer(),
        f'<script type="application/json" id="data">{data}</script>\n<script>{program}</script>\n</body>\n</html>\n',
    ]
    # A file name need not be text, a page must be.
    return "".join(parts).encode("utf-8", "replace").decode("utf-8")


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _target(report: Report) -> str:
    return ", ".join(report.targets or _ordered(f.to for f in report.findings()))


def _ordered(versions: Iterable[str | None]) -> list[str]:
    from vllm_migrate.versions_key import key

    def order(version: str) -> tuple[object, ...]:
        try:
            return (1, key(version))
        except ValueError:
            return (0, version)

    return sorted({v for v in versions if v}, key=order)


def _header(report: Report, title: str, fixes: int) -> str:
    found = counts(report)
    where = f"{number(found['files'], 'file')} and {number(found['sites'], 'launch', 'launches')} read"
    kinds: dict[Effect, int] = dict.fromkeys(TITLES, 0)
    for finding in report.findings():
        kinds[effect(finding)] += 1
    hand = sum(f.fix is None and f.severity != "info" for f in report.findings())
    shown = ((kind, count) for kind, count in kinds.items() if count or kind != "unread")
    tiles = [f'<li class="{kind}"><b>{count}</b>{TITLES[kind]}</li>' for kind, count in shown]
    tiles.append('<li class="rewritten with-script"><b id="written">0</b>rewritten by what is ticked</li>')
    tiles.append(f'<li class="hand"><b>{hand}</b>left to a person</li>')
    return (
        f"<header>\n<h1>{escape(title)}</h1>\n"
        f'<p class="soft">{where}; {number(fixes, "fix", "fixes")} to pick from.</p>\n'
        f'<ul class="tiles">{"".join(tiles)}</ul>\n'
        '<p class="soft with-script"><kbd>j</kbd> next, <kbd>k</kbd> previous, <kbd>space</kbd> ticks, '
        "<kbd>x</kbd> explains, <kbd>/</kbd> goes to the path filter.</p>\n"
        "<noscript><p>Ticking fixes and building a patch need JavaScript; everything else is here.</p></noscript>\n"
        "</header>\n"
    )


def _navigation(launches: list[Group]) -> str:
    if len(launches) < 2:
        return ""
    entries = "".join(
        f'<li data-for="l{i}"><a href="#l{i}">{escape(group.title)}</a> <span class="soft">{escape(_where(group))} '
        f'<span class="whole">({number(len(group.places), "finding")})</span></span></li>\n'
        for i, group in enumerate(launches)
    )
    state = " open" if len(launches) <= 24 else ""
    title = f"{number(len(launches), 'place')} with findings"
    return (
        f'<nav aria-label="Launches">\n<details{state}><summary>{title}</summary>\n'
        f"<ul>\n{entries}</ul>\n</details>\n</nav>\n"
    )


def _where(group: Group) -> str:
    return f"{plain(group.path)}:{group.line}" if group.site is not None else "outside of a single launch"


def _filters(cards: Cards) -> str:
    def options(pairs: list[tuple[str, str]]) -> str:
        return "".join(f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in pairs)

    rules = [("", "all rules"), *((code, f"{code} {slug}".strip()) for code, slug in cards.rules())]
    safety = [("", "any"), ("safe", "safe"), ("unsafe", "unsafe: a person must agree"), ("none", "no fix")]
    severity = [("", "any"), *((s, s) for s in ("error", "warning", "info"))]
    return (
        '<form id="filters" class="with-script" role="search" aria-label="Filter">\n'
        f'<label>Rule <select id="f-rule">{options(rules)}</select></label>\n'
        f'<label>Fix <select id="f-safety">{options(safety)}</select></label>\n'
        f'<label>Severity <select id="f-severity">{options(severity)}</select></label>\n'
        '<label>Path holds <input type="search" id="f-path" autocomplete="off" spellcheck="false"></label>\n'
        '<button type="reset">Show all</button>\n'
        '<button type="button" id="tick-shown">Tick all shown</button>\n'
        '<button type="button" id="untick-shown">Untick all shown</button>\n'
        '<output id="shown" class="soft"></output>\n</form>\n'
    )


def _section(index: int, group: Group, cards: Cards) -> str:
    where = f'<p class="soft"><code>{escape(_where(group))}</code></p>'
    return (
        f'<section class="launch" id="l{index}">\n<div class="top"><h2>{escape(group.title)}</h2>\n{where}</div>\n'
        f"{_flow(index, group)}{_effects(group, cards)}{cards.of_group(group)}</section>\n"
    )


def _flow(index: int, group: Group) -> str:
    """Draw from where to where a launch goes: now, on the target as it is, on the target with what is ticked."""
    if group.site is None:
        return ""
    found = [effect(p.finding) for p in group.places]
    origin = ", ".join(f"vLLM {v}" for v in group.origins) or "release not known"
    tone, state = next(((tone, state) for kind, tone, state in _STAGES if kind in found), ("good", "starts"))
    told = [f"{found.count(kind)} {TITLES[kind]}" for kind in ("breaks", "ignored", "differs") if kind in found]
    target = escape(", ".join(group.targets))
    arrow = '<span class="arrow" aria-hidden="true">→</span>'
    return (
        f'<div class="flow">\n<div class="stage"><span>Now</span><strong>{escape(origin)}</strong></div>{arrow}\n'
        f'<div class="stage {tone}"><span>On {target} as it is</span><strong>{state}</strong>'
        f"<small>{', '.join(told)}</small></div>\n"
        f'<span class="arrow with-script" aria-hidden="true">→</span>'
        f'<div class="stage with-script" data-then="{index}"><span>On {target} with what is ticked</span>'
        "<strong></strong><small></small></div>\n</div>\n"
    )


def _effects(group: Group, cards: Cards) -> str:
    """Draw how much of what there is, and name each thing under its heading."""
    kinds: dict[str, list[str]] = {kind: [] for kind in TITLES}
    rewritten: list[str] = []
    hand: list[str] = []
    for place in group.places:
        finding = place.finding
        name = plain(finding.subject or finding.code)
        name = name if len(name) < 60 else name[:59] + "…"
        link = f'<a href="#{cards.anchor(finding)}"><code>{escape(name)}</code></a>'
        kinds[effect(finding)].append(link)
        if id(finding) in cards.of:
            rewritten.append(link)
        elif finding.severity != "info":
            hand.append(link)
    total, at, bars = len(group.places), 0.0, []
    for kind, links in kinds.items():
        wide = 100 * len(links) / total
        bars.append(f'<rect class="{kind}" x="{at:.2f}" y="0" width="{wide:.2f}" height="4"/>' if links else "")
        at += wide
    told = ", ".join(f"{len(links)} {TITLES[kind]}" for kind, links in kinds.items() if links)  # type: ignore[index]
    svg = (
        f'<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="{told}">'
        f"{''.join(bars)}</svg>\n"
    )
    rows = [(kind, TITLES[kind], links) for kind, links in kinds.items()]  # type: ignore[index]
    rows += [("rewritten", "can be rewritten", rewritten), ("hand", "needs a person", hand)]
    listed = ""
    for kind, title, links in rows:
        if not links:
            continue
        links = list(dict.fromkeys(links))
        more = f' <span class="soft">and {len(links) - _SHOWN} more</span>' if len(links) > _SHOWN else ""
        listed += f'<div class="{kind}"><dt>{title}: {len(links)}</dt><dd>{"".join(links[:_SHOWN])}{more}</dd></div>\n'
    return f'{svg}<dl class="effects">\n{listed}</dl>\n'


def _footer() -> str:
    return (
        '<footer class="patch with-script" aria-label="The patch">\n<div class="row">\n'
        '<output id="status" role="status" aria-live="polite"></output>\n'
        '<button type="button" id="copy">Copy</button>\n'
        '<button type="button" class="main" id="download">Download the patch of what is ticked</button>\n</div>\n'
        '<details id="preview"><summary>Look at the patch</summary>\n'
        '<p class="soft">Save it in the repository; <code>git apply</code> takes it.</p>\n'
        '<pre id="patch" tabindex="0" aria-label="The patch"></pre></details>\n</footer>\n'
    )
