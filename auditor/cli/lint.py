"""`k6-audit lint TARGET...`: audit a finished run."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.engine.audit import Audit
    from auditor.engine.policy import Policy


class Format(enum.StrEnum):
    text = "text"
    json = "json"


class FailOn(enum.StrEnum):
    invalid = "invalid"
    warning = "warning"


class Color(enum.StrEnum):
    auto = "auto"
    always = "always"
    never = "never"


def lint(
    target: Annotated[
        list[Path],
        typer.Argument(help="The run's folder, or several generators' folders.", show_default=False),
    ],
    warmup: Annotated[
        str | None, typer.Option(help='Excluded after each scenario\'s start: "30s"; "0s" is an answer.')
    ] = None,
    target_rate: Annotated[
        str | None, typer.Option(help='Declared target, iterations per second: 300, "18000/m".')
    ] = None,
    host: Annotated[
        list[Path] | None, typer.Option(help="Host metrics that cover all generators. Repeatable.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(help="Run only these rules: id, prefix or family. Repeatable.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Leave these rules out (the run is then NOT PROVEN at best).")
    ] = None,
    rules: Annotated[
        list[Path] | None, typer.Option(help="A folder with rules of your own. They run code. Repeatable.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The policy file.", show_default=False)] = None,
    no_config: Annotated[bool, typer.Option("--no-config", help="Read no policy file.")] = False,
    fail_on: Annotated[
        FailOn | None, typer.Option(help="warning: exit 1 when a warning failed, though VALID.")
    ] = None,
    format: Annotated[Format, typer.Option(help="What goes to standard output.")] = Format.text,
    output: Annotated[
        list[str] | None, typer.Option(help="FORMAT=PATH: write to a file as well. Repeatable.")
    ] = None,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 unless it could not run.")] = False,
    color: Annotated[Color, typer.Option(help="Colours on standard output.")] = Color.auto,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Say whether a finished run may be believed, why, and what to do."""
    from auditor.output.files import parse_outputs, write_whole

    files = parse_outputs(output or [], [f.value for f in Format])
    result = run_audit(
        target,
        hosts=host or [],
        extra_rules=rules or [],
        config=config,
        no_config=no_config,
        overrides={
            "warmup": (warmup, "--warmup"),
            "target_rate": (target_rate, "--target-rate"),
            "select": (select, "--select"),
            "ignore": (ignore, "--ignore"),
            "fail_on": (fail_on.value if fail_on else None, "--fail-on"),
        },
    )
    if debug:
        for one in result.results:
            if one.traceback:
                print(one.traceback, file=sys.stderr)
    for kind, path in files:
        write_whole(path, _RENDERERS[kind](result))
    if format is Format.text:
        _print_text(result, color)
    else:
        sys.stdout.write(_RENDERERS[format.value](result))
    raise typer.Exit(exit_code(result, result.policy, exit_zero=exit_zero))


def run_audit(
    targets: list[Path],
    *,
    hosts: list[Path],
    extra_rules: list[Path],
    config: Path | None,
    no_config: bool,
    overrides: dict[str, tuple[object, str]],
) -> Audit:
    """Read, load and judge: the one path that every command takes."""
    from auditor.engine.audit import audit
    from auditor.engine.loader import load_rules
    from auditor.engine.policy import find_config, load_policy
    from auditor.ingest.bundle import read_run

    if config is not None and not config.is_file():
        raise AuditError("no such config file", where=str(config))
    rules = load_rules(extra_rules)
    found = None if no_config else config or find_config(targets[0]) or find_config(Path.cwd())
    policy = load_policy(found, overrides, rules)
    return audit(read_run(targets, hosts), policy, rules)


def exit_code(result: Audit, policy: Policy, *, exit_zero: bool) -> int:
    """0 VALID, 1 INVALID (or a failed warning with --fail-on warning), 3 NOT PROVEN."""
    if exit_zero:
        return 0
    if result.verdict == "VALID" and policy.fail_on == "warning" and result.failed("warning"):
        return 1
    return result.exit_code


def _print_text(result: Audit, color: Color) -> None:
    from rich.console import Console

    from auditor.output.text import render

    forced = {"auto": None, "always": True, "never": False}[color.value]
    console = Console(
        force_terminal=forced,
        no_color=True if color is Color.never else None,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if sys.stdout.isatty() else 120,
        soft_wrap=False,
    )
    render(result, console)


def _json(result: Audit) -> str:
    from auditor.output.json_v1 import as_json

    return as_json(result)


def _text(result: Audit) -> str:
    import io

    from rich.console import Console

    from auditor.output.text import render

    out = io.StringIO()
    render(result, Console(file=out, width=120, highlight=False, markup=False, emoji=False))
    return out.getvalue()


_RENDERERS: dict[str, Callable[[Audit], str]] = {"json": _json, "text": _text}
