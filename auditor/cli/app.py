"""`k6-audit`: the commands, and the one place where an error becomes a line and an exit code.

Nothing heavy is imported here: each command imports what it needs when it runs.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from auditor import SEMANTICS_VERSION, __version__
from auditor.cli import config, convert, lint, report, rule, signoff, streams, verify
from auditor.cli.command import INTERRUPTED, command, debugging, set_debugging
from auditor.engine.verdict import CommandExit
from auditor.errors import AuditError

app = typer.Typer(
    name="k6-audit",
    help="Says whether a finished k6 load test may be believed, and blocks sign-off when it may not.",
    epilog="Exit codes: 0 VALID, 1 INVALID, 2 could not run, 3 NOT PROVEN.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"k6-auditor {__version__} (semantics {SEMANTICS_VERSION})")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Options of every command."""
    set_debugging(debug)


_COMMANDS: tuple[Callable[..., None], ...] = (
    lint.lint,
    report.report,
    signoff.signoff,
    verify.verify,
    convert.convert,
    rule.rule,
)
for one in _COMMANDS:
    app.command(one.__name__)(command(one))
app.add_typer(config.app, name="config")


def main() -> None:
    """Run the command line. One line for an error that a user can fix; a traceback with --debug."""
    gc.set_threshold(100_000)  # nearly all that is made lives to the end: looking for garbage costs 60 ms
    # NumPy's threads are of no use here, and cost 50 ms of start-up.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.stdout, sys.stderr = streams.until_gone(sys.stdout), streams.until_gone(sys.stderr)
    set_debugging(False)
    try:
        try:
            app(standalone_mode=True)
        finally:
            sys.stdout.flush()  # a full disk is told here, and not after the exit code is
    except AuditError as error:
        _fail(error, str(error))
    except KeyboardInterrupt:
        _say("interrupted")
        sys.exit(INTERRUPTED)
    except OSError as error:
        _fail(error, f"{error.filename or 'standard output'}: {error.strerror or error}")
    except Exception as error:
        _fail(error, f"internal error (please report): {type(error).__name__}: {error} (--debug shows where)")


def _fail(error: Exception, line: str) -> NoReturn:
    if debugging():
        traceback.print_exception(error)
    _say(line)
    sys.exit(CommandExit.COULD_NOT_RUN)


def _say(line: str) -> None:
    from auditor.present.words import plain

    print(plain(f"k6-audit: {line}", 2000), file=sys.stderr)
