"""The options that several commands take, each written once.

`auditor.cli.command.command` makes options of the fields of these dataclasses. One more option of every command
that audits is one more field here; if it is a setting of the policy, a field of `PolicyOptions`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from auditor.cli import completion
from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.samples.workers import Workers

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
                fix="URLs are read as runs, reports and host metrics only",
            )
    return value


class FailOn(enum.StrEnum):
    invalid = "invalid"
    warning = "warning"


_TARGETS = typer.Argument(
    help="The run's folder, or several generators' folders: paths, URLs or patterns.", show_default=False
)
Targets = Annotated[list[str], _TARGETS]
OptionalTargets = Annotated[list[str] | None, _TARGETS]
OwnRules = Annotated[
    list[Path] | None,
    typer.Option(help="A folder with rules of your own. They run code. Repeatable.", callback=on_disk),
]
ConfigFile = Annotated[Path | None, typer.Option(help="The policy file.", show_default=False, callback=on_disk)]
NoConfig = Annotated[bool, typer.Option("--no-config", help="Read no policy file.")]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 unless it could not run.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace an earlier output of the same kind; never anything else.")
]


@dataclass(frozen=True)
class ReadOptions:
    """Who reads the points."""

    jobs: Annotated[
        int | None, typer.Option(help="Threads that read points (by default by the number of cores).")
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Let the workers of a Dask cluster read points: tcp://host:8786.", show_default=False
        ),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(
            help="Samples beyond this go to temporary files (by default a quarter of all memory): 2GB."
        ),
    ] = None

    def workers(self) -> Workers:
        """The workers that these options name.

        Raises:
            AuditError: if an option makes no sense.
        """
        from auditor.cli.workers import workers

        return workers(self.jobs, self.scheduler, self.memory)


@dataclass(frozen=True)
class SourceOptions:
    """What is read beside the run."""

    host: Annotated[
        list[str] | None, typer.Option(help="Host metrics that cover all generators. Repeatable.")
    ] = None
    rules: OwnRules = None
    config: ConfigFile = None


@dataclass(frozen=True)
class PolicyOptions:
    """Settings of the policy: a field goes before the key of the same name in k6-audit.toml."""

    warmup: Annotated[
        str | None, typer.Option(help='Excluded after each scenario\'s start: "30s"; "0s" is an answer.')
    ] = None
    target_rate: Annotated[
        str | None, typer.Option(help='Declared target, iterations per second: 300, "18000/m".')
    ] = None
    select: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only these rules: id, prefix or family. Repeatable.", autocompletion=completion.rules
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave these rules out (the run is then NOT PROVEN at best).", autocompletion=completion.rules
        ),
    ] = None
    fail_on: Annotated[
        FailOn | None, typer.Option(help="warning: exit 1 when a warning failed, though VALID.")
    ] = None

    def overrides(self) -> dict[str, tuple[object, str]]:
        """Setting -> (value, the option that says it)."""
        return {one.name: (getattr(self, one.name), option(one.name)) for one in fields(PolicyOptions)}


@dataclass(frozen=True)
class VerifyOptions(ReadOptions, SourceOptions):
    """What verification takes: the settings of the policy are those that were signed."""


@dataclass(frozen=True)
class RunOptions(VerifyOptions, PolicyOptions):
    """Everything that a command takes which audits a run."""

    no_config: NoConfig = False

    def given(self) -> list[str]:
        """The options that were given, as they are written."""
        return [option(one.name) for one in fields(self) if getattr(self, one.name) not in (None, [], False)]


def option(name: str) -> str:
    """A field's name as the option that sets it."""
    return f"--{name.replace('_', '-')}"
