"""`k6-audit signoff TARGET... --by NAME -o signoff.json`: state that a run was found VALID, and by whom."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auditor.cli import options, progress
from auditor.cli.request import AuditRequest, run_audit
from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.engine.audit import Audit
    from auditor.report_lint.judge import ReportAudit


def signoff(
    target: Annotated[
        list[str],
        typer.Argument(
            help="The run's folder, or several generators' folders: paths, URLs or patterns.",
            show_default=False,
        ),
    ],
    by: Annotated[str, typer.Option("--by", help="Who signs off.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where to write it.", show_default=False, callback=options.on_disk),
    ],
    report: Annotated[
        str | None, typer.Option(help="The run's report: it is compared and signed too.", show_default=False)
    ] = None,
    warmup: options.Warmup = None,
    target_rate: options.TargetRate = None,
    host: options.Host = None,
    rules: options.Rules = None,
    config: options.Config = None,
    no_config: options.NoConfig = False,
    jobs: options.Jobs = None,
    scheduler: options.Scheduler = None,
    memory: options.Memory = None,
    debug: options.Debug = False,
) -> None:
    """Sign off a VALID run; refuse any other and name the rules that block it."""
    from auditor.engine.loader import rules_digest
    from auditor.files import write_whole
    from auditor.inputs.locations import resolve_all, resolve_one
    from auditor.present.words import plain
    from auditor.signoff.refusal import refusal
    from auditor.signoff.statement import SignedWith, build, render

    if not by.strip():
        raise AuditError("--by must not be empty", where="--by", fix="name the person who signs off")
    page = resolve_one(report) if report is not None else None
    if page is not None and not page.is_file():
        raise AuditError("no such report", where=str(page))
    hosts = resolve_all(host or [])
    given = {
        "warmup": warmup,
        "targetRate": target_rate,
        "hosts": [path.name for path in hosts],
        "rules": [path.name for path in rules or []],
        "noConfig": no_config,
    }
    at_work = progress.workers(jobs, scheduler, memory)
    asked = AuditRequest(resolve_all(target), hosts, rules or [], config, workers=at_work)
    result = audit_to_sign(asked, given)
    lint = lint_beside(page, result, rules or [])
    refused = refusal(result, lint)
    if refused is not None:
        typer.echo(plain(f"refused: {refused.headline}; nothing was written", 2000))
        for reason in refused.reasons:
            typer.echo(f"  {plain(reason, 2000)}")
        raise typer.Exit(refused.exit_code)
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    statement = build(result, lint, SignedWith(by.strip(), now, given), rules_digest(rules or []))
    write_whole(output, render(statement))
    subjects = len(statement["subject"])
    typer.echo(
        f"signed off by {plain(by.strip(), 200)}: {result.verdict_words}, {statement['predicate']['result']}, "
        f"{subjects} files by SHA-256"
    )
    typer.echo(f"wrote {plain(str(output))} (unsigned: digests, no signature)")


def audit_to_sign(asked: AuditRequest, given: dict[str, Any]) -> Audit:
    """The audit of a sign-off: with the options that it records, and with the declarations required."""
    return run_audit(
        replace(
            asked,
            no_config=bool(given.get("noConfig")),
            overrides={
                "warmup": (given.get("warmup"), "--warmup"),
                "target_rate": (given.get("targetRate"), "--target-rate"),
                "signing": (True, "signoff"),
            },
        )
    )


def lint_beside(report: Path | None, run: Audit, rules: list[Path]) -> ReportAudit | None:
    """The report judged against the run."""
    if report is None:
        return None
    from auditor.engine.loader import load_rules
    from auditor.report_lint.judge import audit_report
    from auditor.report_lint.read.reader import read_report

    return audit_report(read_report(report), run.policy, load_rules(rules), run)
