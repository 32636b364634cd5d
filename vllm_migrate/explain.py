"""Explains a rule, an option, a variable or a migration: why, since when, what instead, what says so."""

from __future__ import annotations

import difflib
import json
import textwrap
from typing import Any

from vllm_migrate.catalog import Catalog, CatalogError
from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.config import Config
from vllm_migrate.migrations import Case, Migration, Migrations, normal, spell
from vllm_migrate.migrations import load as load_migrations
from vllm_migrate.rules.registry import Rule, rules

_WIDTH = 96
_SECTIONS = {
    "options": "option of `vllm serve`",
    "engine_args": "EngineArgs parameter",
    "llm": "LLM() parameter",
    "variables": "environment variable",
    "architectures": "model architecture",
    "quantization": "quantization method",
    "speculative_methods": "speculative method",
    "executors": "executor",
    "tool_parsers": "tool parser",
    "reasoning_parsers": "reasoning parser",
    "attention_backends": "attention backend",
    "metrics": "metric",
    "modules": "module",
    "subcommands": "subcommand",
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
    """Return what is known about a code, slug, option, variable, class or migration id.

    Raises UnknownSubject for a name that means nothing.
    """
    migrations = load_migrations(config.migrations)
    catalog = load_catalog(config.catalog)
    parts: list[str] = []
    rule = _rule(what)
    entries = _entries(what, migrations)
    if rule is not None:
        parts.append(_about_rule(rule, [m for m in migrations.all if m.code == rule.code]))
    life = _lives(what, entries, catalog) if rule is None else []
    if life:
        parts.append("\n".join(life) + "\n")
    parts += [_about(entry) for entry in entries]
    if not parts:
        raise UnknownSubject(f"nothing is known about {what!r}{_near(what, migrations, catalog)}")
    return "\n".join(parts)


def _rule(what: str) -> Rule | None:
    known = rules()
    return known.get(what.upper()) or next((r for r in known.values() if r.slug == what.lower()), None)


def _entries(what: str, migrations: Migrations) -> list[Migration]:
    """Return the migrations a name means: by id, else by name in any spelling, on any surface."""
    name = what.rpartition(":")[2] if what.upper().startswith("VM") else what
    if name in migrations.by_id:
        return [migrations.by_id[name]]
    wanted = normal(name)
    return [m for m in migrations.all if any(normal(n) == wanted for n in (m.name, *m.names))]


def _lives(what: str, entries: list[Migration], catalog: Catalog) -> list[str]:
    """Return a line for each section of the catalog that knows the name."""
    names = {what, *(entry.name for entry in entries)}
    names |= {"--" + normal(n) for n in list(names)} | {normal(n).replace("-", "_") for n in list(names)}
    lines = []
    for section, kind in _SECTIONS.items():
        for name in sorted(names):
            try:
                spans = catalog.lifetime(section, name)
            except CatalogError:
                continue
            if spans:
                lines.append(f"{name}: {kind}, {', '.join(_span(first, end) for first, end in spans)}")
    return lines


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


def _about(entry: Migration) -> str:
    lines = [f"{entry.code}:{entry.id} ({entry.severity})", _wrap(entry.title), ""]
    dates = (
        ("introduced in", entry.introduced_in),
        ("deprecated in", entry.deprecated_in),
        ("changed in", entry.changed_in),
        ("removed in", entry.removed_in),
        ("back in", entry.returned_in),
    )
    known = [f"{label} {version}" for label, version in dates if version]
    if known:
        lines += [_wrap(", ".join(known)), ""]
    if entry.values:
        lines += [_wrap("about the values " + ", ".join(entry.values)), ""]
    lines += ["Why:", _wrap(entry.reason, "  "), "", "What to do:", _wrap(entry.help, "  ")]
    if entry.cases:
        lines += ["", "What `fix` writes, the first that applies:"]
        lines += [_wrap(_case(case), "  - ", "    ") for case in entry.cases]
    if entry.evidence:
        lines += ["", "Evidence:"] + [_wrap(text, "  - ", "    ") for text in entry.evidence]
    return "\n".join(lines) + "\n"


def _case(case: Case) -> str:
    conditions = [f"to {case.target}"] if case.target else []
    conditions += [f"{key} {_listed(value)}" for key, value in case.when.items()]
    where = f"where {' and '.join(conditions)}: " if conditions else ""
    what = "; ".join(_result(result) for result in case.then) or "takes it away"
    text = f"{where}{what} ({case.safety})"
    return " ".join(part for part in (text, case.note, case.why) if part)


def _result(result: dict[str, Any]) -> str:
    name = result.get("option") or result.get("variable") or ""
    if result.get("drop"):
        return f"takes away {name}"
    value = result.get("value")
    if value == "$value":
        return f"{name} with the same value"
    if isinstance(value, dict) and "from" in value:
        return f"{name} with the value converted"
    return f"{name} {spell(value)}".rstrip()


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
    names = {normal(m.name): m.name for m in migrations.all} | {m.id: m.id for m in migrations.all}
    for section in ("options", "variables"):
        try:
            names |= {normal(name): name for name in catalog.entries(section)}
        except CatalogError:
            continue
    near = difflib.get_close_matches(normal(what), names, n=3, cutoff=0.7)
    shown = list(dict.fromkeys(names[n] for n in near))
    return f"; did you mean {', '.join(shown)}?" if shown else ""
