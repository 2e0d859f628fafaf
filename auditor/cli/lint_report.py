"""`k6-audit lint report.html`: lint a report instead of a run, alone or against the run beside it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from auditor.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from auditor.engine.audit import Audit
    from auditor.evidence import ReportEvidence
    from auditor.report_lint.judge import ReportAudit

FORMATS = ("text", "json")


def is_report_target(targets: Sequence[Path]) -> bool:
    """Whether the one target is a report, by its content."""
    if len(targets) != 1 or not targets[0].is_file():
        return False
    from auditor.report_lint.read.reader import is_report

    return is_report(targets[0])


def lint_report(
    path: Path,
    *,
    audit_run: Callable[[dict[str, tuple[object, str]]], Audit] | None,
    extra_rules: list[Path],
    config: Path | None,
    no_config: bool,
    overrides: dict[str, tuple[object, str]],
) -> ReportAudit:
    """Read a report and judge it; ``audit_run`` audits the run beside it with the overrides given."""
    from auditor.engine.loader import load_rules
    from auditor.engine.policy import choose_config, load_policy
    from auditor.inputs.locations import policy_place
    from auditor.report_lint.judge import audit_report
    from auditor.report_lint.read.reader import read_report

    report = read_report(path)
    rules = load_rules(extra_rules)
    if audit_run is not None:
        run = audit_run(overrides)
        if run.policy.declared.warmup_s is None and (said := _warmup(report)) is not None:
            run = audit_run({**overrides, "warmup": (said, path.name)})
        return audit_report(report, run.policy, rules, run)
    found = choose_config(policy_place(path), config, no_config=no_config)
    return audit_report(report, load_policy(found, overrides, rules), rules)


def _warmup(report: ReportEvidence) -> str | None:
    """The warm-up that the report declares, as an option would."""
    found = report.fields.get("warmup_excluded")
    if found is None or found.answer != "value" or found.value is None or not 0 <= found.value < 1e9:
        return None
    return f"{found.value:.6f}".rstrip("0").rstrip(".") + "s"


def write(
    lint: ReportAudit,
    kind: str,
    files: list[tuple[str, Path]],
    console: Console,
    *,
    exit_zero: bool,
    fail_on_warning: bool,
    verbose: bool = False,
) -> None:
    """Write what was asked for, and exit."""
    from auditor.engine.verdict import CommandExit, exit_code
    from auditor.files import write_whole
    from auditor.report_lint.present import render

    if kind not in FORMATS:
        raise AuditError(
            f"a linted report cannot be written as {kind}", where="--format", fix="use text or json"
        )
    for name, path in files:
        write_whole(path, _rendered(lint, name))
    if kind == "text":
        render(lint, console, verbose=verbose)
    else:
        sys.stdout.write(_rendered(lint, kind))
    code = lint.exit_code
    if code == CommandExit.VALID:
        code = exit_code(
            "VALID", fail_on="warning" if fail_on_warning else None, warned=bool(lint.failed("warning"))
        )
    raise typer.Exit(0 if exit_zero else code)


def _rendered(lint: ReportAudit, kind: str) -> str:
    if kind == "json":
        from auditor.report_lint.present import as_json

        return as_json(lint)
    from auditor.present.terminal import as_text
    from auditor.report_lint.present import render

    return as_text(lambda console: render(lint, console, verbose=True))
