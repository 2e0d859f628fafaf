"""`k6-audit lint TARGET...`: audit a finished run."""

from __future__ import annotations

import enum
import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.cli import lint_each, lint_report, options, progress
from auditor.cli.formats import RENDERERS
from auditor.cli.request import AuditRequest, run_audit
from auditor.errors import AuditError

if TYPE_CHECKING:
    from rich.console import Console

    from auditor.engine.audit import Audit


class Format(enum.StrEnum):
    text = "text"
    json = "json"
    html = "html"
    markdown = "markdown"


class FailOn(enum.StrEnum):
    invalid = "invalid"
    warning = "warning"


class Color(enum.StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


def lint(
    target: Annotated[
        list[str],
        typer.Argument(
            help="The run's folder, several generators' folders, or a report (HTML, Markdown, JSON): "
            "paths, URLs (s3://bucket/run) or patterns ('run/gen-*').",
            show_default=False,
        ),
    ],
    run: Annotated[
        list[str] | None,
        typer.Option(help="The run of a linted report: every field is recomputed from it. Repeatable."),
    ] = None,
    warmup: options.Warmup = None,
    target_rate: options.TargetRate = None,
    host: options.Host = None,
    select: Annotated[
        list[str] | None, typer.Option(help="Run only these rules: id, prefix or family. Repeatable.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Leave these rules out (the run is then NOT PROVEN at best).")
    ] = None,
    rules: options.Rules = None,
    config: options.Config = None,
    no_config: options.NoConfig = False,
    jobs: options.Jobs = None,
    scheduler: options.Scheduler = None,
    memory: options.Memory = None,
    fail_on: Annotated[
        FailOn | None, typer.Option(help="warning: exit 1 when a warning failed, though VALID.")
    ] = None,
    format: Annotated[Format, typer.Option(help="What goes to standard output.")] = Format.text,
    output: Annotated[
        list[str] | None,
        typer.Option(help="FORMAT=PATH: write to a file as well. Repeatable.", callback=options.on_disk),
    ] = None,
    each: Annotated[
        bool,
        typer.Option("--each", help="Each target is a run of its own: one table, and the worst exit code."),
    ] = False,
    exit_zero: options.ExitZero = False,
    color: Annotated[Color, typer.Option(help="Colours on standard output.")] = Color.auto,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Say whether a finished run, or a report, may be believed, why, and what to do."""
    from auditor.files import parse_outputs, write_whole
    from auditor.inputs.locations import resolve_all

    overrides: dict[str, tuple[object, str]] = {
        "warmup": (warmup, "--warmup"),
        "target_rate": (target_rate, "--target-rate"),
        "select": (select, "--select"),
        "ignore": (ignore, "--ignore"),
        "fail_on": (fail_on.value if fail_on else None, "--fail-on"),
    }

    targets, hosts = resolve_all(target), resolve_all(host or [])

    def audit_these(targets: list[Path], overrides: dict[str, tuple[object, str]]) -> Audit:
        at_work = progress.workers(jobs, scheduler, memory)
        return run_audit(AuditRequest(targets, hosts, rules or [], config, no_config, overrides, at_work))

    if each:
        if run:
            raise AuditError(
                "--run and --each exclude each other", fix="lint one report with its run at a time"
            )
        files = parse_outputs(output or [], lint_each.FORMATS)
        rows = lint_each.audit_each(targets, lambda one: audit_these([one], overrides))
        lint_each.write(rows, format.value, files)
        raise typer.Exit(0 if exit_zero else lint_each.worst(rows))
    if lint_report.is_report_target(targets):
        files = parse_outputs(output or [], lint_report.FORMATS)
        lint_report.write(
            lint_report.lint_report(
                targets[0],
                audit_run=functools.partial(audit_these, resolve_all(run)) if run else None,
                extra_rules=rules or [],
                config=config,
                no_config=no_config,
                overrides=overrides,
            ),
            format.value,
            files,
            text_console(color),
            exit_zero=exit_zero,
            fail_on_warning=fail_on is FailOn.warning,
            verbose=verbose,
        )
    if run:
        raise AuditError(
            "--run is only for linting a report", where="--run", fix="name a report: lint report.html --run RUN"
        )
    files = parse_outputs(output or [], list(RENDERERS))
    result = audit_these(targets, overrides)
    if debug:
        show_tracebacks(result)
    for kind, path in files:
        write_whole(path, RENDERERS[kind](result))
    if format is Format.text:
        _print_text(result, color, verbose=verbose)
    else:
        sys.stdout.write(RENDERERS[format.value](result))
    raise typer.Exit(exit_code(result, exit_zero=exit_zero))


def show_tracebacks(result: Audit) -> None:
    """What made rules break, on standard error."""
    for one in result.results:
        if one.traceback:
            print(one.traceback, file=sys.stderr)


def exit_code(result: Audit, *, exit_zero: bool) -> int:
    """0 VALID, 1 INVALID (or a failed warning with --fail-on warning), 3 NOT PROVEN."""
    return 0 if exit_zero else result.exit_code


def _print_text(result: Audit, color: Color, *, verbose: bool) -> None:
    from auditor.present.terminal import render

    render(result, text_console(color), verbose=verbose)


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
