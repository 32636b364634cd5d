"""The cards of the page: a fix that can be picked with what it answers, or a finding that is left to a person."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from vllm_migrate.findings import Choice, Finding, Report
from vllm_migrate.output._effect import TITLES, effect
from vllm_migrate.output._grouped import Group
from vllm_migrate.output._located import Located, after, locate, sources
from vllm_migrate.output._paint import plain
from vllm_migrate.output._unified import hunks
from vllm_migrate.output._words import Parts, side_by_side
from vllm_migrate.text import Edit, Source

_LINES = 6


class Cards:
    """Draws the cards of a report; each fix is drawn once, at the first launch it is for, and named at the others.

    of: the place in `choices` of the one that answers a finding, by the finding's id.
    """

    def __init__(self, report: Report, choices: Sequence[Choice], ticked: set[int], of: dict[int, int]) -> None:
        self._known = sources(report)
        self._choices = choices
        self._ticked = ticked
        self._drawn: set[int] = set()
        self._hands = {id(f): i for i, f in enumerate(report.findings())}
        self.of = of
        self._codes = sorted({f.code for f in report.findings()})

    def rules(self) -> list[tuple[str, str]]:
        """Return code and slug of every rule that found something."""
        from vllm_migrate.rules.registry import rules

        known = rules()
        return [(code, known[code].slug if code in known else "") for code in self._codes]

    def anchor(self, finding: Finding) -> str:
        """Return the id of the card of a finding."""
        choice = self.of.get(id(finding))
        return f"c{choice}" if choice is not None else f"h{self._hands.get(id(finding), 0)}"

    def of_group(self, group: Group) -> str:
        """Return the cards of a launch: what can be picked, in order of place, then what needs a person."""
        out: list[str] = []
        by_choice: dict[int, list[Located]] = {}
        for place in group.places:
            if id(place.finding) in self.of:
                by_choice.setdefault(self.of[id(place.finding)], []).append(place)
        for index, places in by_choice.items():
            out.append(self._again(index, places) if index in self._drawn else self._pick(index, places))
            self._drawn.add(index)
        out += [self._hand(place) for place in group.places if id(place.finding) not in self.of]
        return "".join(out)

    def _pick(self, index: int, here: list[Located]) -> str:
        choice = self._choices[index]
        drawn = {id(p.finding) for p in here}
        others = [f for f in choice.findings if id(f) not in drawn and id(f) in self._hands]
        places = here + [locate(f, self._known.get(f.path)) for f in others]
        fixes = list(dict.fromkeys(f.fix.description for f in choice.findings if f.fix is not None))
        more = f" (and {len(fixes) - 1} more that go with it)" if len(fixes) > 1 else ""
        title = f"{fixes[0] if fixes else choice.findings[0].message}{more}"
        whys = list(dict.fromkeys(f.fix.why for f in choice.findings if f.fix is not None and f.fix.why))
        # What only refers to another reason says nothing beside that one.
        whys = [why for why in whys if not any(other and other != why and other in why for other in whys)]
        decide = "".join(f"<p><strong>A person must agree:</strong> {escape(why)}</p>" for why in whys)
        body = f'<div class="decide">{decide}</div>\n' if decide else ""
        return self._card(
            f"c{index}",
            places,
            index,
            title,
            f'<ul class="found">\n{"".join(map(_finding, places))}</ul>\n{body}{self._diff(choice.edits)}',
        )

    def _again(self, index: int, places: list[Located]) -> str:
        """Name a fix that is drawn at another launch."""
        fix = next(p.finding.fix for p in places if p.finding.fix is not None)
        body = (
            f'<ul class="found">\n{"".join(map(_finding, places))}</ul>\n'
            f'<p><a href="#c{index}">The change, which is made together with other places</a></p>\n'
        )
        return self._card("", places, index, fix.description, body)

    def _hand(self, place: Located) -> str:
        finding = place.finding
        body = f'<ul class="found">\n{_finding(place, titled=True)}</ul>\n'
        alone = f"{finding.fix.description} (check with --to {finding.to} alone)" if finding.fix is not None else ""
        notes = (("No fix offered", finding.withheld), ("A fix of its own", alone), ("What to do", finding.help))
        for label, text in notes:
            body += f"<p><strong>{label}:</strong> {escape(text)}</p>\n" if text else ""
        if place.source is not None:
            last = min(place.end_line, place.line + _LINES - 1)
            code = "\n".join(plain(place.source.line(n)) for n in range(place.line, last + 1))
            body += f'<pre tabindex="0">{escape(code)}</pre>\n' if code.strip() else ""
        return self._card(self.anchor(finding), [place], None, finding.message, body)

    def _card(self, name: str, places: Sequence[Located], choice: int | None, title: str, body: str) -> str:
        findings = [p.finding for p in places]
        safety = self._choices[choice].safety if choice is not None else "none"
        kind = min((effect(f) for f in findings), key=list(TITLES).index)
        label = escape(plain(title))
        if choice is not None:
            state = " checked" if choice in self._ticked else ""
            paths = " ".join(sorted({p for p, _ in self._choices[choice].edits} | {f.path for f in findings}))
            pick = (
                f'<label><input class="with-script" type="checkbox" autocomplete="off" data-tick="{choice}"{state}> '
                f"<h3>{label}</h3></label>"
            )
            told = f' data-choice="{choice}"'
            badge = f'<span class="badge {safety}">{safety}</span>'
        else:
            paths, told = findings[0].path, ""
            pick = f"<h3>{label}</h3>"
            badge = '<span class="badge hand">left to a person</span>' if findings[0].severity != "info" else ""
        codes = " ".join(sorted({f.code for f in findings}))
        severities = " ".join(sorted({f.severity for f in findings}))
        identity = f' id="{name}"' if name else ""
        return (
            f'<article class="{kind}"{identity} tabindex="-1" aria-label="{label}"{told} data-rule="{codes}" '
            f'data-safety="{safety}" data-severity="{severities}" data-path="{escape(plain(paths))}">\n'
            f'<div class="head">{pick}{badge}</div>\n{body}</article>\n'
        )

    def _diff(self, edits: Sequence[tuple[str, Edit]]) -> str:
        by_path: dict[str, list[Edit]] = {}
        for path, edit in edits:
            by_path.setdefault(path, []).append(edit)
        return "".join(_tables(self._known[path], mine) for path, mine in by_path.items() if path in self._known)


def _finding(place: Located, *, titled: bool = False) -> str:
    """Draw a finding; titled: its message stands above it already."""
    finding = place.finding
    way = f"{finding.origin} → {finding.to}" if finding.origin else finding.to
    notes = [("Release", way), ("Gone since", finding.removed_in or ""), ("Why", finding.reason)]
    notes += [("Instead", finding.replacement or "")]
    notes += [("Evidence", text) for text in finding.evidence] + [("Related", text) for text in finding.related]
    listed = "".join(f"<dt>{label}</dt><dd>{escape(text)}</dd>" for label, text in notes if text)
    kind, message = effect(finding), "" if titled else escape(finding.message)
    return (
        f'<li><span class="effect {kind}">{TITLES[kind]}</span> <code>{finding.code}</code> {message} '
        f'<code class="soft">{escape(plain(finding.path))}:{place.line}</code>\n'
        f"<details><summary>Why, since when, on what evidence</summary><dl>{listed}</dl></details></li>\n"
    )


def _tables(source: Source, edits: list[Edit]) -> str:
    fixed = after(source, list(dict.fromkeys(edits)))
    out: list[str] = []
    for hunk in hunks(source.raw, fixed.raw) if fixed is not None else ():
        rows = "".join(_row(left, right) for left, right in side_by_side(hunk))
        caption = f"{escape(plain(source.path))} {hunk[0]}"
        out.append(f'<table class="diff"><caption>{caption}</caption><tbody>\n{rows}</tbody></table>\n')
    return "".join(out)


def _row(left: tuple[int, Parts] | None, right: tuple[int, Parts] | None) -> str:
    same = left is not None and right is not None and left[1] == right[1]
    if same:
        assert left is not None and right is not None
        text = _line(left[1], "")
        # The second half says nothing new where one column shows both.
        return (
            f'<tr><td class="n">{left[0]}</td><td class="same">{text}</td>'
            f'<td class="n again">{right[0]}</td><td class="same again">{text}</td></tr>\n'
        )
    return f"<tr>{_cell(left, 'minus', 'removed', 'del')}{_cell(right, 'plus', 'added', 'ins')}</tr>\n"


def _cell(side: tuple[int, Parts] | None, kind: str, spoken: str, tag: str) -> str:
    if side is None:
        return '<td class="n none"></td><td class="none"></td>'
    number, parts = side
    return f'<td class="n">{number}</td><td class="{kind}"><span class="vh">{spoken}: </span>{_line(parts, tag)}</td>'


def _line(parts: Parts, tag: str) -> str:
    return "".join(
        f"<{tag}>{escape(_shown(text))}</{tag}>" if changed and tag else escape(_shown(text)) for changed, text in parts
    )


def _shown(text: str) -> str:
    return "\t".join(plain(part) for part in text.split("\t"))
