"""Tables of all that releases took away, made from the catalog and the migrations."""

from __future__ import annotations

from marks import code, prose, table
from rule_pages import target

from vllm_migrate.answers import Reason
from vllm_migrate.answers import load as load_answers
from vllm_migrate.catalog import load as load_catalog
from vllm_migrate.catalog.removals import ANY, Removal, history
from vllm_migrate.migrations import Migration, Migrations
from vllm_migrate.versions_key import key

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
