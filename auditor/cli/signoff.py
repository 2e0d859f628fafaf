"""`k6-audit signoff TARGET... --by NAME -o signoff.json`: state that a run was found VALID, and by whom."""

from __future__ import annotations

import datetime
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auditor.cli import outputs
from auditor.cli.options import Force, PolicyOptions, RunOptions, Targets, on_disk
from auditor.cli.outputs import Output
from auditor.cli.request import AuditRequest, run_audit
from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.engine.audit import Audit
    from auditor.report_lint.judge import ReportAudit


def signoff(
    target: Targets,
    *,
    by: Annotated[str, typer.Option("--by", help="Who signs off.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where to write it.", show_default=False, callback=on_disk),
    ],
    report: Annotated[
        str | None, typer.Option(help="The run's report: it is compared and signed too.", show_default=False)
    ] = None,
    options: RunOptions,
    force: Force = False,
) -> None:
    """Sign off a VALID run; refuse any other and name the rules that block it."""
    from auditor.engine.loader import rules_digest
    from auditor.files import write_whole
    from auditor.inputs.locations import resolve_one
    from auditor.present.words import plain
    from auditor.signoff.refusal import refusal
    from auditor.signoff.statement import SignedWith, build, render

    if not by.strip():
        raise AuditError("must not be empty", where="--by", fix="name who signs off")
    page = resolve_one(report) if report is not None else None
    if page is not None and not page.is_file():
        raise AuditError("no such report", where=str(page))
    asked = AuditRequest.of(target, options)
    files = [Output("sign-off", output)]
    inputs = [*asked.targets, *asked.hosts, *([page] if page is not None else [])]
    outputs.refuse_overwriting(files, outputs.SIGNOFF, force=force, inputs=inputs)
    given = recorded(asked)
    result = audit_to_sign(asked, given)
    lint = lint_beside(page, result, options.rules or [])
    refused = refusal(result, lint)
    if refused is not None:
        typer.echo(plain(f"refused: {refused.headline}; nothing was written", 2000))
        for reason in refused.reasons:
            typer.echo(f"  {plain(reason, 2000)}")
        raise typer.Exit(refused.exit_code)
    outputs.refuse_evidence(files, asked.targets, result.evidence)
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    statement = build(result, lint, SignedWith(by.strip(), now, given), rules_digest(options.rules or []))
    write_whole(output, render(statement))
    subjects = len(statement["subject"])
    typer.echo(
        f"signed off by {plain(by.strip(), 200)}: {result.verdict_words}, {statement['predicate']['result']}, "
        f"{subjects} files by SHA-256"
    )
    typer.echo(f"wrote {plain(str(output))} (unsigned: digests, no signature)")


def recorded(asked: AuditRequest) -> dict[str, Any]:
    """The options that the verdict depends on, as a sign-off keeps them: every setting of the policy too."""
    options = asked.options
    return {
        **{_recorded_name(one.name): getattr(options, one.name) or None for one in fields(PolicyOptions)},
        "hosts": [path.name for path in asked.hosts],
        "rules": [path.name for path in options.rules or []],
        "noConfig": options.no_config,
    }


def _recorded_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def audit_to_sign(asked: AuditRequest, given: dict[str, Any]) -> Audit:
    """The audit of a sign-off: with the options that it records, and with the declarations required.

    Raises:
        AuditError: if what it records is no option, or the audit is not possible.
    """
    policy = {one.name: given.get(_recorded_name(one.name)) for one in fields(PolicyOptions)}
    for name, value in policy.items():
        texts = value if isinstance(value, list) else [value]
        if not all(text is None or isinstance(text, str) for text in texts):
            raise AuditError("not an option's value", where=f"options.{_recorded_name(name)}")
    options = replace(asked.options, no_config=bool(given.get("noConfig")), **policy)
    return run_audit(replace(asked, options=options, overrides={"signing": (True, "signoff")}))


def lint_beside(report: Path | None, run: Audit, rules: list[Path]) -> ReportAudit | None:
    """The report judged against the run."""
    if report is None:
        return None
    from auditor.engine.loader import load_rules
    from auditor.report_lint.judge import audit_report
    from auditor.report_lint.read.reader import read_report

    return audit_report(read_report(report), run.policy, load_rules(rules), run)
