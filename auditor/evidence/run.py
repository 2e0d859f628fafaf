"""Everything that one run left behind, by generator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.evidence.console import Console, ExitCode, LogEvidence
    from auditor.evidence.host import HostSeries
    from auditor.evidence.options import Options
    from auditor.evidence.points import PointsSource
    from auditor.evidence.sources import Ignored, Source
    from auditor.evidence.summary import Summary


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
    exit_code: ExitCode | None = None
    summaries: tuple[Summary, ...] = ()
    hosts: tuple[HostSeries, ...] = ()

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
