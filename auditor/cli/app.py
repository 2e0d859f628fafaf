"""`k6-audit`: the commands, and the one place where an error becomes a line and an exit code.

Nothing heavy is imported here: each command imports what it needs when it runs.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated

import typer

from auditor import SEMANTICS_VERSION, __version__
from auditor.cli import config, convert, lint, report, rule, signoff, verify
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
) -> None:
    """Options of every command."""


app.command("lint")(lint.lint)
app.command("report")(report.report)
app.command("signoff")(signoff.signoff)
app.command("verify")(verify.verify)
app.command("convert")(convert.convert)
app.command("rule")(rule.rule)
app.add_typer(config.app, name="config")


def main() -> None:
    """Run the command line. One line for an error that a user can fix; a traceback with --debug."""
    gc.set_threshold(100_000)  # nearly all that is made lives to the end: looking for garbage costs 60 ms
    # NumPy's threads are of no use here, and cost 50 ms of start-up.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    debug = "--debug" in sys.argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character is no reason to fail
    try:
        app(standalone_mode=True)
    except AuditError as error:
        if debug:
            raise
        _say(f"k6-audit: {error}")
    except KeyboardInterrupt:
        _say("k6-audit: interrupted")
    except BrokenPipeError:
        sys.stderr.close()
    except OSError as error:
        if debug:
            raise
        _say(f"k6-audit: {error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    except Exception as error:
        if debug:
            raise
        _say(f"k6-audit: internal error (please report): {type(error).__name__}: {error} (--debug shows where)")
    sys.exit(CommandExit.COULD_NOT_RUN)


def _say(line: str) -> None:
    from auditor.present.words import plain

    print(plain(line, 2000), file=sys.stderr)
