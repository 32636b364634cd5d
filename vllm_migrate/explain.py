"""Explains a rule, a migration, a name or a value: why, since when, what instead, what says so."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from vllm_migrate.answers import Answers, Reason
from vllm_migrate.answers import load as load_answers
from vllm_migrate.catalog import Catalog
from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.catalog.lives import Life, known_names, lives_of
from vllm_migrate.catalog.removals import Removal
from vllm_migrate.config import Config
from vllm_migrate.examples import example
from vllm_migrate.migrations import Case, Migration, Migrations, normal, spell
from vllm_migrate.migrations import load as load_migrations
from vllm_migrate.rules.registry import Rule, rules

_WIDTH = 96
_CONDITIONS = {
    "value": "its value is",
    "not_value": "its value is not",
    "pattern": "its value matches",
    "type": "its value reads as",
}


class UnknownSubject(ValueError):
    """Nothing is known under a name; the message offers near ones."""


def rule_list(output_format: str) -> str:
    """Return every rule: code, slug, severity, summary."""
    known = rules().values()
    if output_format == "json":
        fields = ("code", "slug", "severity", "summary")
        return json.dumps([{f: getattr(rule, f) for f in fields} for rule in known], indent=1) + "\n"
    wide = max((len(rule.slug) for rule in known), default=0)
    return "".join(f"{r.code}  {r.slug:<{wide}}  {r.severity:<7}  {r.summary}\n" for r in known)


def explanation(what: str, config: Config) -> str:
    """Return what is known about a code, slug, id of a migration, or any name or value a launch or client gives.

    Raises UnknownSubject for a name that means nothing.
    """
    migrations = load_migrations(config.migrations)
    catalog = load_catalog(config.catalog)
    parts: list[str] = []
    rule = _rule(what)
    entries = _entries(what, migrations)
    if rule is not None:
        parts.append(_about_rule(rule, [m for m in migrations.all if m.code == rule.code]))
    else:
        lives = lives_of(catalog, [what, *(n for m in entries if not m.values for n in (m.name,))])
        if lives:
            answers = load_answers(migrations)
            parts.append("".join(_life(life, answers, bool(entries)) for life in lives))
    parts += [_about(entry, catalog) for entry in entries]
    if not parts:
        near = _near(what, migrations, catalog)
        if re.fullmatch("VM[0-9]+", what, re.IGNORECASE):
            near = "; `vllm-migrate rules` lists the codes"
        raise UnknownSubject(f"nothing is known about {what!r}{near}")
    return "\n".join(parts)


def _rule(what: str) -> Rule | None:
    known = rules()
    return known.get(what.upper()) or next((r for r in known.values() if r.slug == what.lower()), None)


def _entries(what: str, migrations: Migrations) -> list[Migration]:
    """Return the migrations a word means: by id, else by name in any spelling on any surface, then by value."""
    name = what.rpartition(":")[2] if what.upper().startswith("VM") else what
    by_id = migrations.get(name)
    if by_id is not None:
        return [by_id]
    wanted = normal(name)
    named = [m for m in migrations.all if any(_means(n, wanted) for n in (m.name, *m.names))]
    low = name.lower()
    valued = [m for m in migrations.all if m not in named and low in {v.lower() for v in m.values}]
    # What a launch says comes first; modules that few import come last.
    return sorted(named + valued, key=lambda m: m.surface == "import")


def _means(name: str, wanted: str) -> bool:
    """A name, or the last part of a field, a key or a keyword of a call."""
    own = normal(name)
    return own == wanted or (bool(wanted) and normal(own.rpartition(".")[2]) == wanted and "." in own)


def _life(life: Life, answers: Answers, told: bool) -> str:
    text = _wrap(f"{life.name}: {life.kind}, {', '.join(_span(*span) for span in life.spans)}", "", "  ") + "\n"
    last, gone = life.spans[-1]
    if gone and not told and life.thing is not None:
        reason = answers.of(Removal(life.thing, last, gone))
        if isinstance(reason, Reason):
            text += _wrap(reason.reason, "  ") + "\n"
    return text


def _span(first: str, end: str | None) -> str:
    return f"{first} until before {end}" if end else f"since {first}"


def _about_rule(rule: Rule, entries: list[Migration]) -> str:
    out = f"{rule.code} {rule.slug} ({rule.severity})\n\n{_wrap(rule.summary)}\n"
    if rule.docs:
        out += f"\n{textwrap.dedent(rule.docs).strip()}\n"
    if entries:
        out += f"\nWhat it knows ({len(entries)}; `vllm-migrate explain NAME` says more):\n"
        out += "".join(f"  {entry.id:<40} {entry.title}\n" for entry in entries)
    return out


def _about(entry: Migration, catalog: Catalog) -> str:
    lines = [f"{entry.code}:{entry.id} ({entry.severity})", _wrap(entry.title), ""]
    known = dated(entry)
    if known:
        lines += [_wrap(", ".join(known)), ""]
    if entry.values:
        lines += [_wrap("about the values " + ", ".join(entry.values)), ""]
    only = [f"only with {entry.where}"] if entry.where else []
    only += [f"only on {', '.join(entry.devices)}"] if entry.devices else []
    if only:
        lines += [_wrap(", ".join(only)), ""]
    lines += ["Why:", _wrap(entry.reason, "  "), "", "What to do:", _wrap(entry.help, "  ")]
    if entry.cases:
        lines += ["", "What `fix` writes, the first that applies:"]
        lines += [_wrap(case_words(case), "  - ", "    ") for case in entry.cases]
    shown = example(entry, catalog)
    if shown is not None:
        lines += ["", f"For example ({shown.safety}):", f"  - {shown.before}", f"  + {shown.after}"]
    if entry.evidence:
        lines += ["", "Evidence:"] + [_wrap(text, "  - ", "    ") for text in entry.evidence]
    return "\n".join(lines) + "\n"


def dated(entry: Migration) -> list[str]:
    """Return what happened to the thing of an entry, and in which release, in words."""
    dates = (
        ("introduced in", entry.introduced_in),
        ("deprecated in", entry.deprecated_in),
        ("changed in", entry.changed_in),
        ("removed in", entry.removed_in),
        ("back in", entry.returned_in),
    )
    return [f"{label} {version}" for label, version in dates if version]


def case_words(case: Case) -> str:
    """Return what one case of a migration does: where it holds, what it writes, and how safe that is."""
    conditions = [f"the target is {case.target}"] if case.target else []
    conditions += [_condition(key, value) for key, value in case.when.items()]
    where = f"where {' and '.join(conditions)}: " if conditions else ""
    what = "; ".join(_result(result) for result in case.then) or "takes it away"
    told = "; ".join(part for part in (case.note, case.why) if part)
    return f"{where}{what} ({case.safety})" + (f": {told}" if told else "")


def _condition(key: str, value: Any) -> str:
    if key == "truthy":
        return "it is on" if value else "it is off"
    if key == "with":
        return f"{_listed(value)} is given"
    if key == "without":
        return f"{_listed(value)} is not given"
    shown = " or ".join(spell(v) for v in value) if isinstance(value, list) else spell(value)
    return f"{_CONDITIONS[key]} {shown}"


def _result(result: dict[str, Any]) -> str:
    name = result.get("option") or result.get("variable") or result.get("name") or ""
    if result.get("drop"):
        return f"takes away {name}"
    if "value" not in result:
        return f"writes {name}"
    value = result["value"]
    if value == "$value":
        return f"{name} with the same value"
    if isinstance(value, dict) and "from" in value:
        return f"{name} with the value {_conversion(value)}"
    return f"{name} {spell(value)}".rstrip()


def _conversion(form: dict[str, Any]) -> str:
    """Say how a value converts."""
    steps = []
    if "split" in form:
        steps.append(f"split at {form['split']!r}")
    if "map" in form:
        steps.append("put as " + ", ".join(f"{old} → {spell(new)}" for old, new in form["map"].items()))
    if "template" in form:
        steps.append("put into " + json.dumps(form["template"]).replace('"$value"', "VALUE"))
    if form.get("as"):
        steps.append("turned round" if form["as"] == "not" else f"read as {form['as']}")
    return ", ".join(steps) or "as it stands"


def _listed(value: Any) -> str:
    return ", ".join(spell(v) for v in value) if isinstance(value, list) else spell(value)


def _wrap(text: str, first: str = "", rest: str | None = None) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _near(what: str, migrations: Migrations, catalog: Catalog) -> str:
    import difflib

    names = {normal(name): name for name in known_names(catalog)}
    names |= {m.id: m.id for m in migrations.all}
    names |= {normal(v): v for m in migrations.all for v in m.values}
    names |= {normal(n): n for m in migrations.all for n in (m.name, *m.names)}
    names |= {rule.slug: rule.slug for rule in rules().values()}
    near = difflib.get_close_matches(normal(what), names, n=4, cutoff=0.7)
    shown = list(dict.fromkeys(names[n] for n in near))
    return f"; did you mean {', '.join(shown)}?" if shown else ""
