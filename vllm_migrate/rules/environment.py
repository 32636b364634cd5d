"""Environment variables: what the target no longer reads, and what took its place."""

from __future__ import annotations

from collections.abc import Iterator

from vllm_migrate.findings import Finding, Fix, Severity
from vllm_migrate.migrations import Migration
from vllm_migrate.model import Change, Remove, Rename, Replace, Variable
from vllm_migrate.planning import Answer, NoFix, find_answer, make_fixes, variable_text
from vllm_migrate.rules.context import Context, SiteContext
from vllm_migrate.rules.registry import Rule
from vllm_migrate.versions_key import key

RULES = (
    Rule(
        "VM201",
        "removed-variable",
        "warning",
        "A variable the target release does not read any more.",
        """What it does
Finds variables that some release of vLLM read and the target does not. A `VLLM_*` name that no release ever
read is yours and stays.
Why it matters
The variable is ignored in silence (with a line in the log from 0.17.0): the launch starts and no longer does what
it says.
Fix safety
Safe where the variable stood for what the target does anyway. Unsafe where its setting is lost.
""",
    ),
    Rule(
        "VM202",
        "replaced-variable",
        "warning",
        "A variable whose setting is now an option or another variable.",
        """What it does
Finds variables whose setting moved to an option or to another variable, and writes it there.
Why it matters
The variable is ignored in silence, and with it the setting.
Example
`VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve MODEL`, target 0.15.0 or later
Use instead
`vllm serve MODEL --attention-backend FLASHINFER`
Fix safety
Safe where the launch that reads it is in the same file and no other program does. Unsafe where the two differ.
""",
    ),
    Rule(
        "VM205",
        "changed-variable",
        "warning",
        "A variable that means something else than before.",
        """What it does
Finds values of variables that the target reads otherwise, or does not know.
Why it matters
Nothing fails at the variable itself: another kernel, another backend or another limit is used.
Fix safety
Safe where the old meaning has a new spelling.
""",
    ),
    Rule(
        "VM401",
        "ray-compiled-graph",
        "warning",
        "Ray's compiled-graph executor and its switches are gone.",
        """What it does
Finds the variables that tuned vLLM's executor on Ray compiled graphs.
Why it matters
0.33.0 deleted that executor; the variables are ignored.
Fix safety
Safe: they do nothing any more.
""",
    ),
    Rule(
        "VM403",
        "engine-switch",
        "warning",
        "A switch between engines or model runners that is gone.",
        """What it does
Finds `VLLM_USE_V1` and its kin.
Why it matters
V1 is the only engine since 0.11.0. A launch that asked for V0 depended on something V1 may not have.
Fix safety
Safe where the switch says what the target does anyway. Unsafe where it asked for what is gone.
""",
    ),
)


def judge_site(ctx: SiteContext) -> Iterator[Finding]:
    """Judge the variables in reach of a launch."""
    answers: list[Answer] = []
    for variable in ctx.site.variables:
        found = _gone(ctx, variable)
        if found is None:
            continue
        finding, migration = found
        finding.site = ctx.site
        answer = Answer(finding, [], "unsafe", variable=variable)
        answers.append(answer)
        if variable.locked or variable.guarded:
            finding.withheld = (
                variable.locked or f"the code is guarded by a version test ({variable.guarded})"
            )
            if variable.guarded:
                finding.severity = "info"
            continue
        if migration is None or not migration.cases:
            finding.withheld = "no rewrite keeps the meaning"
            continue
        if variable.value is None:
            finding.withheld = "its value is not in this file"
            continue
        try:
            found_answer = find_answer(ctx, migration, variable.value, variable.holes)
        except NoFix as error:
            finding.withheld = str(error) or "no rewrite fits this value"
            continue
        answer.results, answer.safety, answer.why, answer.note = found_answer
        moved = [r for r in answer.results if r.option]
        if moved and not variable.only and not _shared_by_all(ctx, variable):
            answer.safety = "unsafe"
            answer.why = "other processes may read the variable too"
    make_fixes(ctx, [a for a in answers if not a.finding.withheld])
    yield from (a.finding for a in answers)


def _shared_by_all(ctx: SiteContext, variable: Variable) -> bool:
    """The variable reaches several launches and nothing else: each of them gets the option."""
    return variable.scope == "script" and sum(variable in s.variables for s in ctx.reading.sites) > 1


def judge_file(ctx: Context) -> Iterator[Finding]:
    """Judge variables that no launch of the file reads: an image's, an env file's."""
    reached = {id(v) for site in ctx.reading.sites for v in site.variables}
    for variable in ctx.reading.variables:
        if id(variable) in reached or not variable.name.startswith("VLLM_"):
            # Another name may be meant for another program.
            continue
        found = _gone(ctx, variable)
        if found is None:
            continue
        finding, migration = found
        _lone_fix(ctx, finding, migration, variable)
        yield finding


def _lone_fix(ctx: Context, finding: Finding, migration: Migration | None, variable: Variable) -> None:
    if variable.locked or variable.guarded:
        finding.withheld = variable.locked or f"guarded by a version test ({variable.guarded})"
        return
    if migration is None or not migration.cases or variable.value is None:
        finding.withheld = "no rewrite keeps the meaning"
        return
    from vllm_migrate.arguments import has_dynamic
    from vllm_migrate.migrations import CannotConvert, convert, holds

    for case in migration.cases:
        if has_dynamic(variable.value) and case.when:
            finding.withheld = "what replaces it depends on a value only known at run time"
            return
        if not holds(case, ctx.target.version, variable.value, ()):
            continue
        options = [r["option"] for r in case.then if "option" in r]
        if options:
            finding.withheld = (
                f"the launch that reads it is not in this file: give it {', '.join(options)} there"
            )
            finding.replacement = ", ".join(options)
            return
        changes: list[Change] = [Remove(variable)]
        others = [r for r in case.then if "variable" in r and not r.get("drop")]
        if len(others) > 1:
            finding.withheld = "set " + ", ".join(r["variable"] for r in others)
            return
        if others:
            try:
                value = convert(others[0].get("value"), variable.value, typed=False)
            except CannotConvert as error:
                finding.withheld = str(error)
                return
            text = variable_text(value)
            finding.replacement = others[0]["variable"]
            changes = [Rename(variable, others[0]["variable"])]
            if text != variable.value:
                changes.append(Replace(variable, text, variable.holes))
        finding.fix = Fix(
            "safe" if case.safety == "safe" else "unsafe",
            f"replace {variable.name} by {finding.replacement}" if others else f"remove {variable.name}",
            changes,
            case.why,
            [("variables", r["variable"]) for r in others],
        )
        return
    finding.withheld = "no rewrite fits this value"


def _gone(ctx: Context, variable: Variable) -> tuple[Finding, Migration | None] | None:
    """Return the finding for a variable some release read and the target does not (or reads otherwise)."""
    target = ctx.target.version
    known = ctx.target.section("variables")
    entries = ctx.migrations.named("variable", variable.name)
    if variable.name not in known:
        for entry in entries:
            if not entry.values and entry.gone(target):
                return _finding(ctx, entry.code, "warning", variable, entry.title, entry), entry
        removed = ctx.catalog.removed_in("variables", variable.name)
        if removed is not None and key(target) >= key(removed):
            text = f"{variable.name} is not read since {removed}: it is silently ignored"
            finding = _finding(ctx, "VM201", "warning", variable, text, None)
            finding.removed_in = removed
            finding.help = "Remove it, or look for the option that took its place."
            return finding, None
        return None
    for entry in entries:
        if entry.values and (variable.value or "").lower() not in {v.lower() for v in entry.values}:
            continue
        if entry.values and entry.gone(target):
            return _finding(ctx, entry.code, "warning", variable, entry.title, entry), entry
        if entry.changed(ctx.origin, target) and entry.code != "VM109":
            severity: Severity = "info" if entry.severity == "info" else "warning"
            return _finding(ctx, entry.code, severity, variable, entry.title, entry), entry
        if entry.deprecated_in and key(entry.deprecated_in) <= key(target) and not entry.removed_in:
            return _finding(ctx, entry.code, "info", variable, entry.title, entry), entry
    return None


def _finding(
    ctx: Context, code: str, severity: Severity, variable: Variable, text: str, migration: Migration | None
) -> Finding:
    return ctx.finding(code, severity, variable.name, text, variable, migration=migration)
