"""Writes the pages under `reference/` from the rules, the data and the commands themselves.

`python docs/generate.py` writes them; the settings of the documentation call `write` before each build.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from vllm_migrate.answers import Reason  # noqa: E402
from vllm_migrate.answers import load as load_answers  # noqa: E402
from vllm_migrate.catalog import load as load_catalog  # noqa: E402
from vllm_migrate.catalog.removals import ANY, Removal, history  # noqa: E402
from vllm_migrate.config import Config, from_mapping, with_options  # noqa: E402
from vllm_migrate.engine import run  # noqa: E402
from vllm_migrate.examples import example as line_example  # noqa: E402
from vllm_migrate.explain import case_words  # noqa: E402
from vllm_migrate.findings import Report  # noqa: E402
from vllm_migrate.migrations import Migration, Migrations  # noqa: E402
from vllm_migrate.migrations import load as load_migrations  # noqa: E402
from vllm_migrate.output import diff  # noqa: E402
from vllm_migrate.output._located import located  # noqa: E402
from vllm_migrate.rules.registry import Rule, rules  # noqa: E402
from vllm_migrate.versions_key import key  # noqa: E402

FIXTURES = ROOT / "fixtures"
SCHEMAS = ROOT / "schemas"

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
#: What a key may look like, where a word does not say it.
EXAMPLES = {
    "to": "to: [0.30.0, 0.33.0]",
    "per-file-ignores": 'per-file-ignores:\n  "docs/**": [VM109]\n  "legacy/*.sh": ["VM101:swap-space"]',
    "extend-exclude": "extend-exclude: [attic/, third_party/]",
    "speculative-replacement": (
        "speculative-replacement:\n  meta-llama/*: {method: eagle3, model: example/llama-eagle3}\n"
        '  "*": {method: ngram}'
    ),
    "images": (
        "images:\n  registry.example.com/llm/*: {version: 0.24.0, device: cuda}\n  registry.example.com/llm-old: 0.17.1"
    ),
    "paths": 'paths:\n  "staging/**": {to: 0.33.0}\n  "production/**": {from: 0.24.0, to: 0.30.0}',
    "wrappers": "wrappers: [tools/vllm-wrappers.json]",
}
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
#: A page of removals: its title, what leads it in, and the kinds of things on it (see `catalog.removals`).
REMOVALS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "options": (
        "Removed options",
        "Options of `vllm serve` and keywords of `LLM` and `EngineArgs`.",
        ("option", "keyword"),
    ),
    "variables": ("Removed environment variables", "A release ignores a variable it does not know.", ("variable",)),
    "keys": ("Removed config keys", "Keys of the objects that options such as `--compilation-config` take.", ("key",)),
    "entry-points": (
        "Removed entry points and imports",
        "Commands, modules and names that programs start vLLM with or import.",
        ("subcommand", "module", "parameters", "parameter"),
    ),
    "values": (
        "Removed values",
        "Values that options, keys and variables no longer take.",
        (
            "choice", "keyword_choice", "key_choice", "variable_choice", "arity", "form", "quantization",
            "attention_backend", "kv_connector", "load_format", "reasoning_parser", "tool_parser",
            "executor", "speculative_method",
        ),
    ),
    "models": ("Removed model architectures", "Classes a model's `config.json` names.", ("architecture",)),
    "server": (
        "Removed metrics, endpoints and fields",
        "What a running server no longer shows or takes.",
        ("metric", "endpoint", "method", "request_field", "response_field"),
    ),
}  # fmt: skip
#: The surface whose migrations belong on a page although the catalog's releases do not reach back to the loss.
_SURFACES = {
    "options": ("option",),
    "variables": ("variable",),
    "keys": ("key",),
    "entry-points": ("import", "method", "symbol"),
    "models": ("architecture",),
    "server": ("metric", "endpoint", "field"),
}
_CODE = re.compile(
    r"""(?P<url>https?://[^\s,;)]*[\w/])
    | '?\{.*\}'?                                 # an object
    | "[\w.-]+"(?::\ "[\w.-]+")?                 # a key or a value in quotes
    | --?[A-Za-z][\w.-]*\w(?:=[\w.]*\w)?         # an option
    | /[a-z][\w/{}-]+                            # a path of the server
    | [\w.]+(?:/[\w.-]*\w)+(?::\d+)?            # a file
    | \.?[A-Za-z]\w*(?:[._]\w+)+(?:\(\)|=(?:[\w.]*\w)?)? # a name with dots or underscores
    | \w+\(\)""",
    re.VERBOSE,
)
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~])")
_HEADINGS = ("What it does", "Why it matters", "Example", "Use instead", "Fix safety")


def write(folder: Path) -> None:
    """Write every page into a folder, which is made anew."""
    migrations = load_migrations()
    pages = {
        **rule_pages(migrations),
        **removal_pages(migrations),
        "wrappers.md": wrapper_page(),
        "configuration.md": configuration_page(),
        "commands.md": command_page(),
    }
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def prose(text: str) -> str:
    """Return text as Markdown that shows it as it stands, names of options and files set as code."""
    out = []
    for index, part in enumerate(" ".join(text.split()).split("`")):
        if index % 2:
            out.append(f"`{part}`")
            continue
        at = 0
        for found in _CODE.finditer(part):
            before = part[at : found.start()]
            if before[-1:].isalnum():
                continue
            shown = f"<{found.group()}>" if found["url"] else code(found.group())
            out += [_SPECIAL.sub(r"\\\1", before), shown]
            at = found.end()
        out.append(_SPECIAL.sub(r"\\\1", part[at:]))
    return "".join(out)


def code(text: str) -> str:
    """Return a name as code, in a table too."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def fence(language: str, text: str) -> str:
    """Return a block of code whose text may hold fences itself."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{text.rstrip(chr(10))}\n{mark}\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("\n", " ") for cell in line) + " |\n" for line in lines)


# --- rules


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
    dates = (
        ("introduced in", entry.introduced_in),
        ("deprecated in", entry.deprecated_in),
        ("changed in", entry.changed_in),
        ("removed in", entry.removed_in),
        ("back in", entry.returned_in),
    )
    facts = [f"{label} {version}" for label, version in dates if version]
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


# --- what releases took away


def removal_pages(migrations: Migrations) -> dict[str, str]:
    """Return the tables of all that was removed, one page a kind."""
    catalog = load_catalog()
    answers = load_answers(migrations)
    gone = history(catalog)
    pages = {}
    for name, (title, lead, kinds) in REMOVALS.items():
        rows: dict[tuple[str, str, str], list[str]] = {}
        told: set[str] = set()
        for removal in sorted((r for r in gone if r.kind in kinds), key=lambda r: kinds.index(r.kind)):
            answer = answers.of(removal)
            if removal.value == ANY or (removal.kind in ("module", "parameters") and isinstance(answer, Reason)):
                continue
            told |= {answer.id} if isinstance(answer, Migration) else set()
            instead = prose(answer.reason) if isinstance(answer, Reason) else linked(answer)
            back = f"Back in {removal.returned_in}. " if removal.returned_in else ""
            # An option and the keyword of its name are one.
            twin = (removal.name.lstrip("-").replace("-", "_"), removal.value, removal.removed_in)
            rows.setdefault(twin, [code(spelled(removal)), removal.last, removal.removed_in, back + instead])
        rows = without_twins(rows)
        for entry in migrations.all:
            older = entry.surface in _SURFACES.get(name, ()) and not entry.values and entry.removed_in
            if older and entry.id not in told:
                shown = code(entry.name)
                rows = {twin: row for twin, row in rows.items() if row[0] != shown or "](#" in row[3]}
                rows[(entry.name.lstrip("-"), entry.id, "")] = [shown, "", str(entry.removed_in), linked(entry)]
        listed = sorted(rows.values(), key=lambda row: (row[0].strip("`-").lower(), key(row[2])))
        heads = ("name", "last release", "removed in", "what instead")
        pages[f"removed/{name}.md"] = (
            f"# {title}\n\n{lead}\n\n{len(listed)} names, all since {catalog.releases[0]} and what is written down from"
            f" before; the newest release known is {catalog.releases[-1]}.\n\n{table(heads, listed)}"
        )
    lead = (
        "# Everything that was removed\n\nThe tables come from a catalog of what each release accepts, mined from its "
        "source; what to do instead is written by people. `vllm-migrate releases A B` prints the same between two "
        "releases.\n"
    )
    toc = "\n".join(REMOVALS)
    return {**pages, "removed/index.md": f"{lead}\n```{{toctree}}\n:maxdepth: 1\n\n{toc}\n```\n"}


def linked(entry: Migration | None) -> str:
    """Return what to do instead, with a link to all that is known."""
    return "" if entry is None else f"[{code(entry.code)}](#{target(entry)}) {prose(entry.help)}"


def without_twins(rows: dict[tuple[str, str, str], list[str]]) -> dict[tuple[str, str, str], list[str]]:
    """Leave out keywords whose option was lost in another release, and is listed too."""
    options = {(name, value) for (name, value, _), row in rows.items() if row[0].startswith("`-")}
    return {k: row for k, row in rows.items() if row[0].startswith("`-") or k[:2] not in options}


def spelled(removal: Removal) -> str:
    thing = removal.thing
    if not thing.value:
        return thing.name
    return f"{thing.name} {thing.value}" if thing.name.startswith("-") else f"{thing.name}={thing.value}"


# --- wrappers, configuration, commands


def wrapper_page() -> str:
    """Return the list of what starts vLLM and passes options on to it."""
    text = (
        "# Wrappers\n\nPrograms, images and platforms that take vLLM's options and pass them on. Each is an entry of "
        "`schemas/wrappers/`; [your own](../contributing/wrapper.md) goes into a file of the same form.\n"
    )
    for path in sorted((SCHEMAS / "wrappers").glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = (
            [code(w["id"]), prose(w["title"]), known_by(w), own_options(w)]
            for w in sorted(data["wrappers"], key=lambda w: str(w["id"]))
        )
        text += f"\n## {path.stem.capitalize()}\n\n{prose(data.get('about', ''))}\n\n"
        text += table(("id", "what", "known by", "options of its own"), rows)
    return text


def known_by(wrapper: dict[str, Any]) -> str:
    out = [f"command {code(' '.join(words))}" for words in wrapper.get("programs", ())]
    for name, label in (("modules", "module"), ("images", "image"), ("formats", "model format"), ("callables", "call")):
        out += [f"{label} {code(value)}" for value in wrapper.get(name, ())]
    if wrapper.get("variables"):
        out.append(f"variables {code(wrapper['variables']['prefix'] + '*')}")
    out += [f"variable {code(name)}" for name in wrapper.get("lines", ())]
    out += [f"words {code(prefix + '…')}" for prefix in wrapper.get("overrides", ())]
    for place in wrapper.get("mappings", ()):
        kind = f" of a {code(place['kind'])}" if "kind" in place else ""
        files = f" in {', '.join(code(f) for f in place['files'])}" if "files" in place else ""
        out.append(f"key {code(place['at'])}{kind}{files}" if place["at"] else f"the whole document{kind}{files}")
    return ", ".join(out)


def own_options(wrapper: dict[str, Any]) -> str:
    own = list(wrapper.get("own", ()))
    shown = ", ".join(code(name) for name in own[:6])
    return f"{shown} and {len(own) - 6} more" if len(own) > 6 else shown


def configuration_page() -> str:
    """Return the keys of the configuration, from its schema."""
    schema = json.loads((SCHEMAS / "config.schema.json").read_text(encoding="utf-8"))
    text = (
        "# Configuration\n\nThe table `[tool.vllm-migrate]` of `pyproject.toml`, or the file `.vllm-migrate.yaml`, at "
        "the root of the repository. `vllm-migrate init` writes a first one with comments. An error names the file, "
        "the line and the key. `schemas/config.schema.json` is the JSON Schema behind this page, for editors too.\n"
    )
    for name, value in schema["properties"].items():
        text += f"\n({name})=\n## {code(name)}\n\n{prose(value['description'])}\n\nTakes {kinds(value, schema)}."
        default = getattr(Config(), {"from": "from_"}.get(name, name.replace("-", "_")))
        if isinstance(default, (str, bool)):
            text += f" Default: {code(str(default).lower())}."
        text += f"\n\n{fence('yaml', EXAMPLES[name])}" if name in EXAMPLES else "\n"
    return text


def kinds(value: dict[str, Any], schema: dict[str, Any]) -> str:
    """Say in words what a part of the schema takes."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        named = {
            "release": "a release such as `0.33.0`",
            "selectors": "one code, prefix or id, or a list of them",
            "strings": "one text or a list of texts",
            "files": "one file or a list of files",
        }
        return named.get(name) or kinds(schema["$defs"][name], schema)
    if "anyOf" in value:
        return ", or ".join(kinds(option, schema) for option in value["anyOf"])
    if "enum" in value:
        return "one of " + ", ".join(code(str(word)) for word in value["enum"])
    kind = value.get("type")
    if kind == "array":
        return f"a list, each {kinds(value['items'], schema)}"
    if kind == "object":
        if "properties" in value:
            inner = "; ".join(f"{code(n)}: {kinds(v, schema)}" for n, v in value["properties"].items())
            return f"a mapping ({inner})"
        return f"a mapping from a name or pattern to {kinds(value['additionalProperties'], schema)}"
    return {"boolean": "`true` or `false`", "string": "a text"}.get(str(kind), str(kind))


def command_page() -> str:
    """Return the help of each command, as it prints it."""
    import click

    from vllm_migrate.cli import cli

    text = (
        "# Commands\n\nWhat `vllm-migrate COMMAND --help` prints.\n\n**Exit status.** 0: nothing at or above "
        "`--fail-on`. 1: findings; for `fix`, those that remain. 2: the work could not be done: bad usage, bad "
        "configuration, a path that cannot be read.\n"
    )

    def each(command: click.Command, words: list[str]) -> Iterator[tuple[str, str]]:
        context = click.Context(command, info_name=" ".join(words), terminal_width=96, max_content_width=96)
        yield " ".join(words), command.get_help(context)
        for name, inner in getattr(command, "commands", {}).items():
            yield from each(inner, [*words, name])

    for name, shown in each(cli, ["vllm-migrate"]):
        text += f"\n## {name.removeprefix('vllm-migrate ')}\n\n{fence('text', shown)}"
    return text


if __name__ == "__main__":
    write(Path(__file__).resolve().parent / "reference")
