"""Whether a run may be signed off, and which rules stand in the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.engine.verdict import CommandExit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.engine.audit import Audit
    from auditor.engine.rule import RuleResult
    from auditor.report_lint.judge import ReportAudit


@dataclass(frozen=True)
class Refusal:
    """Why the sign-off is refused."""

    exit_code: CommandExit
    headline: str
    reasons: tuple[str, ...]


def refusal(audit: Audit, report: ReportAudit | None) -> Refusal | None:
    """The refusal, or None if the run, and the report if there is one, may be signed off."""
    if audit.verdict == "INVALID":
        return Refusal(CommandExit.INVALID, "the run is INVALID", _reasons(audit.failed("invalid")))
    if audit.verdict == "NOT PROVEN":
        return Refusal(CommandExit.NOT_PROVEN, "the run is NOT PROVEN", _reasons(audit.blocking_unknown()))
    if audit.exit_code != CommandExit.VALID:
        return Refusal(
            audit.exit_code, "the policy lets no warning pass (fail_on)", _reasons(audit.failed("warning"))
        )
    if report is not None and not report.accepted:
        blocking = [r for r in report.results if r.judged.is_open]
        return Refusal(
            CommandExit.INVALID, "the report is not accepted", _reasons([*report.failed("invalid"), *blocking])
        )
    if report is not None and report.exit_code:
        return Refusal(
            report.exit_code, f"rules about the report were left out: {', '.join(report.not_run)}", ()
        )
    return None


def _reasons(results: Iterable[RuleResult]) -> tuple[str, ...]:
    return tuple(
        f"{r.id} {r.rule.meta.title}: {r.reason}" + (f" → {_fix(r)}" if _fix(r) else "") for r in results
    )


def _fix(result: RuleResult) -> str:
    return result.fix or (result.findings[0].fix if result.findings else "")
