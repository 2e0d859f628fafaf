"""The options that every command takes which audits a run, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Warmup = Annotated[
    str | None, typer.Option(help='Excluded after each scenario\'s start: "30s"; "0s" is an answer.')
]
TargetRate = Annotated[str | None, typer.Option(help='Declared target, iterations per second: 300, "18000/m".')]
Host = Annotated[list[Path] | None, typer.Option(help="Host metrics that cover all generators. Repeatable.")]
Rules = Annotated[
    list[Path] | None, typer.Option(help="A folder with rules of your own. They run code. Repeatable.")
]
Config = Annotated[Path | None, typer.Option(help="The policy file.", show_default=False)]
NoConfig = Annotated[bool, typer.Option("--no-config", help="Read no policy file.")]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 unless it could not run.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
