"""The result of linting a report, for a terminal and as JSON (report_lint_v1.schema.json)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from auditor.fields import LABEL_OF
from auditor.present import view
from auditor.present.json_v1 import finding_json, finite, rule_json
from auditor.present.terminal import Page, print_page, write_causes, write_questions, write_rows, write_verdict
from auditor.present.words import plain

if TYPE_CHECKING:
    from rich.console import Console

    from auditor.evidence import ReportedField
    from auditor.report_lint.judge import ReportAudit

SCHEMA_VERSION = "report-lint-1.0"
_NO_ANSWER = ("placeholder", "words")


def as_json(lint: ReportAudit) -> str:
    return json.dumps(finite(document(lint)), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def document(lint: ReportAudit) -> dict[str, Any]:
    """The result as plain values, in the order of the schema."""
    report = lint.report
    return {
        "schema_version": SCHEMA_VERSION,
        "accepted": lint.accepted,
        "missing": lint.missing(),
        "report": {
            "path": report.path,
            "sha256": report.sha256,
            "size_bytes": report.size_bytes,
            "format": report.format,
            "verdict": report.verdict or None,
            "populations": list(report.populations),
            "notes": list(report.notes),
        },
        "fields": {name: _field(report.fields.get(name)) for name in LABEL_OF},
        "rules": [rule_json(result) for result in lint.results],
        "findings": [finding_json(result, f) for result in lint.results for f in result.findings],
        "run": None
        if lint.run is None
        else {
            "target": lint.run.evidence.label or lint.run.evidence.target,
            "verdict": lint.run.verdict,
            "waived": lint.run.waived,
        },
        "sources": [
            {"path": s.path, "sha256": s.sha256, "format": s.format}
            for s in (lint.run.evidence.sources if lint.run is not None else ())
        ],
        "not_run": list(lint.not_run),
        "notes": list(lint.notes),
    }


def _field(found: ReportedField | None) -> dict[str, Any]:
    if found is None:
        return {"answer": "missing", "raw": None, "value": None, "unit": None, "where": None, "found_by": None}
    return {
        "answer": found.answer,
        "raw": found.raw,
        "value": found.value,
        "unit": found.unit or None,
        "where": found.where,
        "found_by": found.how,
    }


def render(lint: ReportAudit, console: Console, *, verbose: bool = False) -> None:
    """Print the result of linting a report, with the pieces of a run's view."""
    result = json.loads(as_json(lint))
    print_page(console, lambda page: _write(lint, result, page), verbose=verbose)


def _write(lint: ReportAudit, result: dict[str, Any], page: Page) -> None:
    page.line()
    word, style = (
        ("ACCEPTED", "bold white on green") if lint.accepted else ("NOT ACCEPTED", "bold white on red")
    )
    write_verdict(word, style, _why(lint), page)
    page.line()
    write_rows([(label, *_row(lint.report.fields.get(name))) for name, label in LABEL_OF.items()], page)
    write_causes(view.causes(result), page)
    write_questions(view.questions(result), page)
    _notes(lint, page)


def _why(lint: ReportAudit) -> str:
    missing = [LABEL_OF[name] for name in lint.missing()]
    path = plain(lint.report.path, 80)
    if missing:
        are = "is" if len(missing) == 1 else "are"
        return f"{path}: {len(missing)} of {len(LABEL_OF)} fields {are} missing: {', '.join(missing)}."
    wrong = [r.id for r in lint.failed("invalid")]
    if wrong:
        return f"{path} has every field, and is not to be relied on: {', '.join(wrong)}."
    if not lint.accepted:
        return f"{path} has every field; a rule could not be judged."
    whose = "its run is" if lint.run is not None else "it says that its run is"
    return f"{path} has every field; {whose} {plain(lint.linted.verdict, 40)}."


def _row(found: ReportedField | None) -> tuple[str, str, str]:
    """What stands in the field's place, its style, and where."""
    if found is None:
        return "missing", "bold red", ""
    style = "bold red" if found.answer in _NO_ANSWER else "bold"
    return plain(found.raw, 60) or "blank", style, plain(found.where, 60)


def _notes(lint: ReportAudit, page: Page) -> None:
    page.line()
    report = lint.report
    said = plain(report.verdict, 40) if report.verdict else "none"
    page.line(Text(f"read {plain(report.path)} as a {report.format} report; its verdict: {said}", style="dim"))
    for note in report.notes:
        page.line(Text(plain(note), style="dim"))
    if lint.run is not None:
        verdict = f"compared with {plain(lint.run.evidence.target)}, which is {lint.run.verdict_words}"
        page.line(Text(verdict, style="bold"))
        page.line(Text(f"→ k6-audit lint {plain(lint.run.evidence.target)} says why", style="green"))
    if lint.not_run:
        page.line(Text(f"left out: {', '.join(lint.not_run)}", style="yellow"))
    for note in lint.notes:
        page.line(Text(f"note: {plain(note)}", style="magenta"))
    page.line()
