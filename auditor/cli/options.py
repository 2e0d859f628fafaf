"""The options that every command takes which audits a run, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from auditor.errors import AuditError

T = TypeVar("T")


def on_disk(param: typer.CallbackParam, value: T) -> T:
    """Refuse a URL where only a local path is taken; it is not repeated, for it may hold credentials."""
    from auditor.inputs.locations import is_url

    for one in value if isinstance(value, list) else [value]:
        path = str(one).partition("=")[2] if isinstance(one, str) else one  # FORMAT=PATH
        if isinstance(path, str | Path) and is_url(path):
            raise AuditError(
                "a URL, where a local path is needed",
                where=f"--{param.name}",
                fix="only runs, reports and host metrics are read from URLs",
            )
    return value


Warmup = Annotated[
    str | None, typer.Option(help='Excluded after each scenario\'s start: "30s"; "0s" is an answer.')
]
TargetRate = Annotated[str | None, typer.Option(help='Declared target, iterations per second: 300, "18000/m".')]
Host = Annotated[list[str] | None, typer.Option(help="Host metrics that cover all generators. Repeatable.")]
Rules = Annotated[
    list[Path] | None,
    typer.Option(help="A folder with rules of your own. They run code. Repeatable.", callback=on_disk),
]
Config = Annotated[Path | None, typer.Option(help="The policy file.", show_default=False, callback=on_disk)]
NoConfig = Annotated[bool, typer.Option("--no-config", help="Read no policy file.")]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 unless it could not run.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show every finding, question, file and fix in full.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
Jobs = Annotated[int | None, typer.Option(help="Threads that read points (by default by the number of cores).")]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Let the workers of a Dask cluster read points: tcp://host:8786.", show_default=False),
]
Memory = Annotated[
    str | None,
    typer.Option(help="Samples beyond this go to temporary files (by default a quarter of all memory): 2GB."),
]
