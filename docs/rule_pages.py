"""A page for each rule: what it does, a fixture before and after, and every entry it knows."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from marks import code, fence, prose, table

from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.config import Config, from_mapping, with_options
from vllm_migrate.engine import run
from vllm_migrate.examples import example as line_example
from vllm_migrate.explain import case_words, dated
from vllm_migrate.findings import Report
from vllm_migrate.migrations import Migration, Migrations
from vllm_migrate.output import diff
from vllm_migrate.output._located import located
from vllm_migrate.rules.registry import Rule, rules

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"

#: Keys of the configuration that a rule listens to besides those every rule does.
SETTINGS: dict[str, tuple[str, ...]] = {
    "VM106": ("wrappers",),
    "VM204": ("device-ids",),
    "VM301": ("speculative-replacement",),
    "VM302": ("speculative-replacement",),
    "VM501": ("images", "keep-pins"),
    "VM502": ("keep-pins",),
    "VM505": ("keep-pins", "paths"),
    "VM506": ("images", "keep-pins"),
    "VM507": ("images", "keep-pins"),
    "VM508": ("from", "images", "paths"),
}
#: Fixtures that show their rule better than smaller ones.
SHOWN = ("VM101-removed-option/kubernetes-args",)
FAMILIES = {
    "VM0": "Files",
    "VM1": "Options",
    "VM2": "Environment variables",
    "VM3": "Speculative decoding",
    "VM4": "Execution",
    "VM5": "Images, wheels and version pins",
    "VM6": "Building vLLM",
    "VM7": "Dependencies",
    "VM8": "Models and weights",
    "VM9": "The running server: metrics, endpoints, requests",
}
_HEADINGS = ("What it does", "Why it matters", "Example", "Use instead", "Fix safety")


@dataclass
class Case:
    """A folder of `fixtures/` with what it is about."""

    folder: Path
    codes: list[str]
    files: dict[str, bytes]
    changes: bool


def cases() -> list[Case]:
    """Return the fixtures: what each reports, and whether it rewrites anything."""
    out = []
    for path in sorted(FIXTURES.glob("*/*/case.json")):
        spec = json.loads(path.read_text(encoding="utf-8"))
        before = path.parent / "before"
        files = {p.relative_to(before).as_posix(): p.read_bytes() for p in sorted(before.rglob("*")) if p.is_file()}
        found = [line.split(" ")[1] for line in spec["findings"]]
        out.append(Case(path.parent, found, files, (path.parent / "after").is_dir()))
    return out


def rule_pages(migrations: Migrations) -> dict[str, str]:
    """Return a page for each rule and the one that lists them."""
    known = cases()
    pages = {f"rules/{rule.code}.md": rule_page(rule, migrations, known) for rule in rules().values()}
    text = (
        "# Rules\n\nA code names a kind of finding. Each entry a rule knows has an id, accepted wherever a code is.\n"
    )
    for prefix, title in FAMILIES.items():
        listed = [rule for rule in rules().values() if rule.code.startswith(prefix)]
        rows = ([f"[{r.code}]({r.code}.md)", code(r.slug), r.severity, prose(r.summary)] for r in listed)
        text += f"\n## {title}\n\n{table(('code', 'name', 'severity', 'about'), rows)}"
    toc = "".join(f"{rule.code} {rule.slug} <{rule.code}>\n" for rule in rules().values())
    return {**pages, "rules/index.md": f"{text}\n```{{toctree}}\n:hidden:\n\n{toc}```\n"}


def rule_page(rule: Rule, migrations: Migrations, known: list[Case]) -> str:
    entries = sorted((m for m in migrations.all if m.code == rule.code), key=lambda m: m.name.lstrip("-").lower())
    parts = [
        "---\ntocdepth: 2\n---\n",
        f"# {rule.code}: {rule.slug}\n",
        f"**{rule.severity}** · {prose(rule.summary)}\n",
        *sections(rule.docs),
        *example(rule, known),
        living(rule, entries),
    ]
    if entries:
        parts.append(f"## What it knows\n\n{len(entries)} entries; `vllm-migrate explain NAME` prints one.\n")
        parts += [migration(entry) for entry in entries]
    return "\n".join(parts)


def sections(docs: str) -> Iterator[str]:
    """Give the parts of a rule's own explanation, each under its heading."""
    title, lines = "", []
    for line in [*docs.strip().splitlines(), "Fix safety" if not docs else _HEADINGS[0]]:
        if line.strip() not in _HEADINGS:
            lines.append(line.strip())
            continue
        if title and title not in ("Example", "Use instead"):
            yield f"## {title}\n\n{prose(' '.join(lines))}\n"
        elif title:
            yield f"**{title}:** {prose(' '.join(lines))}\n"
        title, lines = line.strip(), []


def example(rule: Rule, known: list[Case]) -> Iterator[str]:
    """Give what `check` says of the smallest fixture of a rule, and the patch."""
    fitting = [case for case in known if rule.code in case.codes]
    if not fitting:
        return
    case = min(fitting, key=lambda c: cost(c, rule.code))
    with tempfile.TemporaryDirectory() as folder:
        report, settings = judged(case, Path(folder).resolve())
        patch = diff.render(report, settings)
    lines = [
        f"{place.finding.path}:{place.line}:{place.column}: {rule.code} {place.finding.message}"
        for place in located(report)
        if place.finding.code == rule.code
    ]
    if not any(p.finding.fix for p in located(report) if p.finding.code == rule.code):
        patch = ""
    yield "## Before and after\n"
    if not patch:
        first = lines[0].split(":")[0]
        shown = case.files[first].decode("utf-8", "replace")
        yield f"{code(first)}:\n\n{fence('text', shown)}"
    yield f"`check` says:\n\n{fence('text', chr(10).join(lines))}"
    if patch:
        how = "`fix --unsafe-fixes`" if settings.unsafe_fixes else "`fix`"
        body = "".join(f"{line}\n" for line in patch.split("\n") if not line.startswith(("diff --git", "index ")))
        yield f"{how} writes:\n\n{fence('diff', body)}"
    else:
        yield "There is no fix here: the finding says what to do.\n"
    where = case.folder.relative_to(ROOT).as_posix()
    count = "the only fixture" if len(fitting) == 1 else f"one of {len(fitting)} fixtures"
    yield f"From `{where}`, {count} in which this rule speaks.\n"


def cost(case: Case, rule: str) -> tuple[bool, bool, bool, int, int, int]:
    """Order fixtures by how well they show a rule: its own, rewritten, alone, small."""
    own = case.folder.parent.name.startswith(rule)
    return (
        case.folder.relative_to(FIXTURES).as_posix() not in SHOWN,
        not own,
        not case.changes,
        sum(found != rule for found in case.codes),
        len(case.files),
        sum(map(len, case.files.values())),
    )


def judged(case: Case, folder: Path) -> tuple[Report, Config]:
    """Run the tool on a copy of a fixture, so that paths are shown from its root."""
    spec = json.loads((case.folder / "case.json").read_text(encoding="utf-8"))
    config = from_mapping(spec.get("config", {}), case.folder)
    to = spec.get("to", "0.33.0")
    settings = with_options(
        replace(config, fix=True, unsafe_fixes=spec.get("unsafe_fixes", False), keep_pins=spec.get("keep_pins", False)),
        from_=spec.get("from"),
        to=[] if to is None else [to] if isinstance(to, str) else to,
    )
    shutil.copytree(case.folder / "before", folder, dirs_exist_ok=True)
    return run([folder], folder, settings), settings


def living(rule: Rule, entries: Sequence[Migration]) -> str:
    """Return how to suppress or configure a rule."""
    one = f"{rule.code}:{entries[0].id}" if entries else rule.code
    also = f", or `ignore[{one}]` for one entry alone" if entries else ""
    text = (
        "## Suppress or configure\n\n"
        f"A comment `vllm-migrate: ignore[{rule.code}]` on the line or above it hides one finding{also}; "
        f"`vllm-migrate: ignore-file[{rule.code}]` hides those of a file. In the configuration:\n\n"
    )
    text += fence("yaml", f'ignore: [{rule.code}]\nper-file-ignores:\n  "docs/**": [{one}]')
    names = SETTINGS.get(rule.code, ())
    if names:
        links = ", ".join(f"[`{name}`](../configuration.md#{name})" for name in names)
        text += f"\nThis rule also listens to {links}.\n"
    return text


def migration(entry: Migration) -> str:
    """Return what is known about one thing."""
    facts = dated(entry)
    facts += [f"values {', '.join(code(v) for v in entry.values)}"] if entry.values else []
    facts += [f"only with {prose(entry.where)}"] if entry.where else []
    facts += [f"only on {', '.join(entry.devices)}"] if entry.devices else []
    parts = [
        f"({target(entry)})=",
        f"### {code(entry.name)}\n",
        f"{prose(entry.title)}\n",
        f"`{entry.code}:{entry.id}` · {'; '.join([entry.severity, *facts])}\n",
        f"{prose(entry.reason)}\n",
        f"**What to do:** {prose(entry.help)}\n",
    ]
    if entry.cases:
        written = "".join(f"- {prose(case_words(case))}\n" for case in entry.cases)
        parts.append(f"What `fix` writes, the first that applies:\n\n{written}")
    shown = line_example(entry, load_catalog())
    if shown is not None:
        parts.append(f"For example ({shown.safety}):\n\n{fence('diff', f'- {shown.before}{chr(10)}+ {shown.after}')}")
    if entry.evidence:
        parts.append("Evidence: " + "; ".join(prose(text) for text in entry.evidence) + "\n")
    return "\n".join(parts)


def target(entry: Migration) -> str:
    return f"migration-{entry.id}"
