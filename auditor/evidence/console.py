"""What k6 printed: banner, totals at the end, log, exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class BannerScenario:
    """A scenario as the banner prints it: rates per second to two decimals, already scaled to the segment."""

    name: str
    executor: str
    text: str
    duration_s: Fraction | None = None
    peak_per_s: Fraction | None = None
    stages: int | None = None
    pre_allocated_vus: int | None = None
    max_vus: int | None = None
    vus: int | None = None
    iterations: int | None = None
    start_time_s: Fraction = Fraction(0)
    graceful_stop_s: Fraction = Fraction(0)


@dataclass(frozen=True)
class FinalCounts:
    """The last "N complete and M interrupted iterations" line of the console."""

    completed: int
    interrupted: int
    running_s: float
    final: bool
    """Whether it closed the run (all scenarios done), not a progress line of a run cut off."""


@dataclass(frozen=True)
class Console:
    """k6's standard output."""

    path: str
    segment_percent: Fraction | None
    scenarios: tuple[BannerScenario, ...]
    counts: FinalCounts | None
    thresholds_printed: bool | None
    """Whether the end-of-test text has thresholds; None without such a text."""
    requests: int | None = None
    """`http_reqs` of the end-of-test text: every request of the process, setup() included."""
    unread: tuple[str, ...] = ()
    """Banner lines that look like scenarios and could not be read."""

    @property
    def has_banner(self) -> bool:
        return self.segment_percent is not None


@dataclass(frozen=True)
class LogEvidence:
    """The lines of k6's log that matter for validity, counted. An empty log is evidence of none."""

    paths: tuple[str, ...]
    lines: int = 0
    insufficient_vus: Mapping[str, int] = field(default_factory=dict)
    """Scenario -> VUs reached when none was left."""
    time_series: int = 0
    """The largest "N unique time series" k6 warned of: a lower bound."""
    exceptions: int = 0
    requests_failed: Mapping[str, int] = field(default_factory=dict)
    """Kind of client-side failure -> count ("address", "files", "dns", "refused", "reset", "other")."""
    thresholds_crossed: bool = False
    stopped: str = ""
    """k6's own word that it stopped before the plan's end; empty if it says none."""
    options_overridden: str = ""
    output_lost: int = 0


@dataclass(frozen=True)
class ExitCode:
    path: str
    code: int


# --- summaries ------------------------------------------------------------------------------------------
