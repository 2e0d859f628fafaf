"""`k6-audit verify signoff.json --run DIR`: recompute everything that a sign-off states."""

from __future__ import annotations

import datetime
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auditor.cli.options import RunOptions, VerifyOptions
from auditor.cli.request import AuditRequest
from auditor.cli.signoff import audit_to_sign, lint_beside
from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.signoff.verify import Difference, Read


def verify(
    signoff: Annotated[str, typer.Argument(help="The sign-off.", show_default=False)],
    *,
    run: Annotated[
        list[str],
        typer.Option(
            help="The run that was signed off: a path, URL or pattern. Repeatable.", show_default=False
        ),
    ],
    report: Annotated[
        str | None, typer.Option(help="The report that was signed too.", show_default=False)
    ] = None,
    options: VerifyOptions,
) -> None:
    """Verify a sign-off: inputs, report, verdict, header, rules, waivers and policy, all recomputed."""
    from auditor.inputs.locations import resolve_one
    from auditor.present.words import plain
    from auditor.signoff.verify import NoStatement, other_semantics, read

    file = resolve_one(signoff)
    if not file.is_file():
        raise AuditError("no such sign-off", where=str(file))
    asked = AuditRequest.of(run, RunOptions(**vars(options)))
    page = resolve_one(report) if report is not None else None
    for path in (*asked.targets, *([page] if page is not None else [])):
        if not path.exists():
            raise AuditError("no such file or folder", where=str(path))
    try:
        stated = read(file.read_bytes())
    except NoStatement as error:
        typer.echo(f"NOT VERIFIED  {plain(str(file))}")
        typer.echo(f"  statement: {plain(str(error))}")
        raise typer.Exit(1) from None
    if (other := other_semantics(stated.statement)) is not None:
        differences = [*stated.differences, other]
    else:
        differences = [*stated.differences, *_recomputed(stated, asked, page)]
    if differences:
        typer.echo(f"NOT VERIFIED  {plain(str(file))}, unsigned")
        for one in differences:
            typer.echo(f"  {plain(one.what, 200)}: {plain(one.said)}")
        raise typer.Exit(1)
    predicate = stated.statement["predicate"]
    typer.echo(
        f"VERIFIED  {plain(str(file))}: {predicate['verdictWords']}, {predicate['result']}, signed off by "
        f"{plain(stated.signed.by, 200)} at {plain(stated.signed.time)}, unsigned"
    )
    typer.echo(f"  {len(stated.statement['subject'])} files have the digests that were signed")


def _recomputed(stated: Read, asked: AuditRequest, report: Path | None) -> list[Difference]:
    from auditor.engine.loader import rules_digest
    from auditor.signoff.refusal import refusal
    from auditor.signoff.statement import build
    from auditor.signoff.verify import Difference, expired, inputs_now, members, other_rules

    found: list[Difference] = []
    reports = {} if report is None else {_name(stated, report): hashlib.sha256(report.read_bytes()).hexdigest()}
    found += inputs_now(stated.reports, reports, "report")
    found += expired(stated.statement, datetime.datetime.now(datetime.UTC).date())
    try:
        result = audit_to_sign(asked, dict(stated.signed.options))
    except AuditError as error:
        there = {name: sha256 for name in stated.inputs if (sha256 := _digest(name, asked.targets)) is not None}
        found += inputs_now(stated.inputs, there)
        return [*found, Difference("run", f"it cannot be audited: {error}")]
    found += inputs_now(stated.inputs, {s.path: s.sha256 for s in result.evidence.sources})
    lint = lint_beside(report, result, asked.options.rules or [])
    now = build(result, lint, stated.signed, rules_digest(asked.options.rules or []))
    if (refused := refusal(result, lint)) is not None:
        found.append(Difference("sign-off", f"it would be refused: {refused.headline}"))
    found += other_rules(stated.statement, now)
    if not any(one.of_subject for one in found):
        found += _subjects_as_written(stated, now)
    return [*found, *members(stated.statement, now)]


def _subjects_as_written(stated: Read, now: dict[str, Any]) -> list[Difference]:
    """The list of subjects itself: an entry in another form is told by neither its name nor its digest."""
    from auditor.signoff.verify import Difference

    name = next(iter(stated.reports), None)
    listed = [
        {**one, "name": name} if one["annotations"] == {"role": "report"} else one for one in now["subject"]
    ]
    if stated.statement.get("subject") == listed:
        return []
    return [Difference("subject", "the entries differ from those of the run and the report")]


def _name(stated: Read, report: Path) -> str:
    """A report may be kept under another name: what counts are its bytes."""
    return next(iter(stated.reports), report.name)


def _digest(name: str, run: list[Path]) -> str | None:
    from auditor.inputs.blocks import FileDigest

    for place in (*run, *(folder.parent for folder in run)):
        path = place / name
        if path.is_file():
            return FileDigest(path).hex()  # points may be larger than memory
    return None
