"""`k6-audit lint TARGET...`: audit a finished run."""

from __future__ import annotations

import enum
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.cli import completion, lint_each, lint_report, outputs
from auditor.cli.formats import RENDERERS
from auditor.cli.options import ExitZero, Force, RunOptions, on_disk
from auditor.cli.request import AuditRequest, run_audit
from auditor.engine.verdict import CommandExit, exit_code
from auditor.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from auditor.engine.audit import Audit

    Format = str
else:
    Format = enum.StrEnum("Format", {name: name for name in RENDERERS})


class Color(enum.StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


TEXT = Format("text")


@dataclass(frozen=True)
class PrintOptions:
    """What is printed and written, and how the command exits."""

    format: Annotated[Format, typer.Option(help="What goes to standard output.")] = TEXT
    output: Annotated[
        list[str] | None,
        typer.Option(
            help="FORMAT=PATH: write to a file as well. Repeatable.",
            callback=on_disk,
            autocompletion=completion.outputs,
        ),
    ] = None
    force: Force = False
    each: Annotated[
        bool,
        typer.Option("--each", help="Each target is a run of its own: one table, and the worst exit code."),
    ] = False
    exit_zero: ExitZero = False
    color: Annotated[Color, typer.Option(help="Colours on standard output.")] = Color.auto
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every finding, question, file and fix in full.")
    ] = False


def lint(
    target: Annotated[
        list[str],
        typer.Argument(
            help="The run's folder, several generators' folders, or a report (HTML, Markdown, JSON): "
            "paths, URLs (s3://bucket/run) or patterns ('run/gen-*').",
            show_default=False,
        ),
    ],
    *,
    run: Annotated[
        list[str] | None,
        typer.Option(help="The run that a linted report is about: every field is recomputed. Repeatable."),
    ] = None,
    options: RunOptions,
    printed: PrintOptions,
) -> None:
    """Say whether a finished run, or a report, may be believed, why, and what to do."""
    asked = AuditRequest.of(target, options)
    if printed.each:
        code = _lint_each(asked, run or [], printed)
    elif lint_report.is_report_target(asked.targets):
        code = _lint_report(asked.targets[0], AuditRequest.of(run or [], options), printed)
    elif run:
        raise AuditError("--run is only for linting a report", fix="name the run alone, or a report before it")
    else:
        code = _lint_run(asked, printed)
    raise typer.Exit(0 if printed.exit_zero else code)


def _lint_run(asked: AuditRequest, printed: PrintOptions) -> int:
    from auditor.files import write_whole

    files = outputs.parse(printed.output or [], outputs.RESULT)
    outputs.refuse_overwriting(
        files, outputs.RESULT, force=printed.force, inputs=[*asked.targets, *asked.hosts]
    )
    result = run_audit(asked)
    outputs.refuse_evidence(files, asked.targets, result.evidence)
    for path, text in [(one.path, RENDERERS[one.kind](result)) for one in files]:
        write_whole(path, text)
    if printed.format == TEXT:
        _print_text(result, printed.color, verbose=printed.verbose)
    else:
        sys.stdout.write(RENDERERS[printed.format](result))
    return result.exit_code


def _lint_each(asked: AuditRequest, run: Sequence[str], printed: PrintOptions) -> int:
    """Audit each target by itself and print one table."""
    from auditor.files import write_whole

    if run:
        raise AuditError("--run and --each exclude each other", fix="lint one report with its run at a time")
    if printed.format not in lint_each.RENDERERS:
        raise AuditError(
            f"a table of many runs is not written as {printed.format}",
            where="--format",
            fix="use text or json",
        )
    files = outputs.parse(printed.output or [], outputs.EACH)
    inputs = [*asked.targets, *asked.hosts]
    outputs.refuse_overwriting(files, outputs.EACH, force=printed.force, inputs=inputs)
    rows = lint_each.audit_each(asked.targets, lambda one: run_audit(replace(asked, targets=[one])))
    for one in files:
        write_whole(one.path, lint_each.RENDERERS[one.kind](rows))
    sys.stdout.write(lint_each.RENDERERS[printed.format](rows))
    return lint_each.worst(rows)


def _lint_report(report: Path, asked: AuditRequest, printed: PrintOptions) -> int:
    """Lint a report, beside its run if that is asked for."""
    from auditor.files import write_whole

    files = outputs.parse(printed.output or [], outputs.LINTED)
    if printed.format not in outputs.LINTED:
        raise AuditError(
            f"a linted report is not written as {printed.format}", where="--format", fix="use text or json"
        )
    inputs: Sequence[Path] = [report, *asked.targets, *asked.hosts]
    outputs.refuse_overwriting(files, outputs.LINTED, force=printed.force, inputs=inputs)
    judged = lint_report.lint_report(report, asked)
    if judged.run is not None:
        outputs.refuse_evidence(files, asked.targets, judged.run.evidence)
    for path, text in [(one.path, lint_report.RENDERERS[one.kind](judged)) for one in files]:
        write_whole(path, text)
    if printed.format == TEXT:
        lint_report.print_text(judged, text_console(printed.color), verbose=printed.verbose)
    else:
        sys.stdout.write(lint_report.RENDERERS[printed.format](judged))
    if judged.exit_code != CommandExit.VALID:
        return judged.exit_code
    return exit_code("VALID", fail_on=asked.options.fail_on, warned=bool(judged.failed("warning")))


def _print_text(result: Audit, color: Color, *, verbose: bool) -> None:
    from auditor.present.terminal import render

    render(result, text_console(color), verbose=verbose)
    if verbose and (note := _plain_reader_note(result)):
        print(note)


def _plain_reader_note(result: Audit) -> str:
    """Why a large file was read slowly; the figures are the same, so no result carries it."""
    from auditor.facts.samples import Samples
    from auditor.facts.store import Unknown

    try:
        return result.facts.get(Samples).plain_reader_note
    except Unknown:
        return ""


def text_console(color: Color) -> Console:
    """The terminal on standard output; what is none has no width, unless COLUMNS says one."""
    from rich.console import Console

    from auditor.present.terminal import NEVER_WRAPPED

    wrapped = (sys.stdout is not None and sys.stdout.isatty()) or os.environ.get("COLUMNS", "").isdigit()
    forced = {"auto": None, "always": True, "never": False}[color.value]
    return Console(
        force_terminal=forced,
        no_color=True if color is Color.never else None,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if wrapped else NEVER_WRAPPED,
        soft_wrap=False,
    )
