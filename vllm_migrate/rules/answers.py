"""What the rules about options share: a finding about an argument, and the answer a migration gives it."""

from __future__ import annotations

from typing import Any

from vllm_migrate.arguments import Argument
from vllm_migrate.findings import Finding, Severity
from vllm_migrate.migrations import Migration
from vllm_migrate.planning import Answer, NoFix, find_answer
from vllm_migrate.rules.context import SiteContext


def finding_of(
    ctx: SiteContext,
    code: str,
    severity: Severity,
    argument: Argument,
    text: str,
    migration: Migration | None,
    subject: str | None = None,
) -> Finding:
    """Return a finding about an argument, or about the key of it that `subject` names."""
    return ctx.finding(
        code, severity, subject or argument.subject, text, argument.item, migration=migration, site=ctx.site
    )


def answer_for(
    ctx: SiteContext,
    finding: Finding,
    migration: Migration | None,
    argument: Argument,
    value: Any,
    key: tuple[str, ...] = (),
) -> Answer:
    """Return the answer a migration gives a finding; without a usable case the finding says so."""
    answer = Answer(finding, [], "unsafe", argument=argument, key=key)
    if argument.locked:
        finding.withheld = argument.locked
        if "version test" in argument.locked:
            finding.severity = "info"
        return answer
    if migration is None or not migration.cases:
        finding.withheld = finding.withheld or "no rewrite keeps the meaning"
        return answer
    if argument.negated and value is None:
        value = False
    try:
        found = find_answer(ctx, migration, value if value is not None else True, argument.holes())
    except NoFix as error:
        finding.withheld = str(error) or "no rewrite fits this value"
        return answer
    answer.results, answer.safety, answer.why, answer.note = found
    return answer
