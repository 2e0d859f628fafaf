"""Everything that one run left behind, by generator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from auditor.evidence.console import Console, ExitCode, LogEvidence
    from auditor.evidence.host import HostSeries
    from auditor.evidence.options import Options
    from auditor.evidence.points import PointsSource
    from auditor.evidence.sources import Ignored, Source
    from auditor.evidence.summary import Summary


@dataclass(frozen=True)
class Foreign:
    """A log or console that is not of the run beside which it lies: named, and not used."""

    path: str
    kind: Literal["log", "console"]
    reason: str
    """Whose it is not, with both times or plans."""


@dataclass(frozen=True)
class GeneratorEvidence:
    """What one k6 process and its host left behind."""

    name: str
    points: PointsSource | None = None
    console: Console | None = None
    options: Options | None = None
    """The best source of options."""
    other_options: tuple[Options, ...] = ()
    """The other sources, best first: inspect with requirements, plain inspect, archive, script."""
    log: LogEvidence | None = None
    """All of its logs together, without those that are foreign."""
    logs: tuple[LogEvidence, ...] = ()
    """Each log by itself, log lines within a console included."""
    foreign: tuple[Foreign, ...] = ()
    exit_code: ExitCode | None = None
    summaries: tuple[Summary, ...] = ()
    printed: tuple[Summary, ...] = ()
    """The totals of every console that is of this run, whether or not other summaries were kept."""
    hosts: tuple[HostSeries, ...] = ()

    def foreign_of(self, kind: Literal["log", "console"]) -> Foreign | None:
        """The first log or console that was found to be of another run; None if none was."""
        return next((one for one in self.foreign if one.kind == kind), None)

    @property
    def option_sources(self) -> tuple[Options, ...]:
        """All sources of options, best first."""
        return () if self.options is None else (self.options, *self.other_options)

    def source_of(self, option: str) -> Options | None:
        """The best source that can tell what this option was set to, or that it was not set."""
        return next((source for source in self.option_sources if option not in source.unread), None)


@dataclass(frozen=True)
class Evidence:
    """Everything that was read of one run."""

    target: str
    """As it was named."""
    generators: tuple[GeneratorEvidence, ...]
    shared_hosts: tuple[HostSeries, ...] = ()
    """Host metrics that lie beside several generators' folders."""
    sources: tuple[Source, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    label: str = ""
    """The target as results name it: without the folders of the machine that read it."""
