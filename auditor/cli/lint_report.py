"""`k6-audit lint report.html`: lint a report instead of a run, alone or against the run beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.cli.request import AuditRequest, run_audit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from auditor.evidence import ReportEvidence
    from auditor.report_lint.judge import ReportAudit


def is_report_target(targets: Sequence[Path]) -> bool:
    """Whether the one target is a report, by its content."""
    if len(targets) != 1 or not targets[0].is_file():
        return False
    from auditor.report_lint.read.reader import is_report

    return is_report(targets[0])


def lint_report(path: Path, asked: AuditRequest) -> ReportAudit:
    """Read a report and judge it, against the run that is asked for if its targets name one.

    Raises:
        AuditError: if the report, an option, the policy or the run makes that impossible.
    """
    from auditor.engine.loader import load_rules
    from auditor.report_lint.judge import audit_report
    from auditor.report_lint.read.reader import read_report

    report = read_report(path)
    rules = load_rules(asked.options.rules or [])
    if not asked.targets:
        return audit_report(report, asked.policy(rules, path), rules)
    run = run_audit(asked)
    if run.policy.declared.warmup_s is None and (said := _warmup(report)) is not None:
        run = run_audit(replace(asked, overrides={"warmup": (said, path.name)}))
    return audit_report(report, run.policy, rules, run)


def _warmup(report: ReportEvidence) -> str | None:
    """The warm-up that the report declares, as an option would."""
    found = report.fields.get("warmup_excluded")
    if found is None or found.answer != "value" or found.value is None or not 0 <= found.value < 1e9:
        return None
    return f"{found.value:.6f}".rstrip("0").rstrip(".") + "s"


def print_text(judged: ReportAudit, console: Console, *, verbose: bool) -> None:
    """The result in words, on a console."""
    from auditor.report_lint.present import render

    render(judged, console, verbose=verbose)


def _json(judged: ReportAudit) -> str:
    from auditor.report_lint.present import as_json

    return as_json(judged)


def _text(judged: ReportAudit) -> str:
    from auditor.present.terminal import as_text

    return as_text(lambda console: print_text(judged, console, verbose=True))


RENDERERS: dict[str, Callable[[ReportAudit], str]] = {"text": _text, "json": _json}
