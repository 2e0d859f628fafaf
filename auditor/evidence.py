"""The typed record of what a run left behind: what was read and where it came from. Nothing is judged here.

Readers (`auditor.ingest`) build these values; facts (`auditor.facts`) consume them. Names carry units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import numpy.typing as npt

Tags = tuple[tuple[str, str], ...]
"""A tag set: sorted (key, value) pairs."""


@dataclass(frozen=True)
class Source:
    """A file that was read: its path inside the target, its digest, and what it was read as."""

    path: str
    sha256: str
    size_bytes: int
    format: str
    generator: str = ""
    note: str = ""


@dataclass(frozen=True)
class Ignored:
    """A file that was not used, and why."""

    path: str
    reason: str


# --- points -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricDefinition:
    """A ``Metric`` line: what k6 says of a metric before its first sample."""

    name: str
    type: str
    contains: str
    thresholds: tuple[str, ...]
    submetrics: tuple[str, ...]


@dataclass
class PointTables:
    """Interned names of one points file: ids in a batch are indices into these lists, which only grow."""

    metrics: list[str] = field(default_factory=list)
    tagsets: list[Tags] = field(default_factory=list)
    definitions: dict[str, MetricDefinition] = field(default_factory=dict)


@dataclass(frozen=True)
class PointBatch:
    """Columns of samples, all of one length; time is the stamp that k6 wrote, ns since the epoch (UTC)."""

    metric: npt.NDArray[np.int32]
    time_ns: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    tagset: npt.NDArray[np.int32]


@dataclass(frozen=True)
class ReadReport:
    """How reading a points file went; known after the last batch."""

    lines: int = 0
    points: int = 0
    malformed: int = 0
    first_malformed_line: int | None = None
    dropped_values: int = 0
    """Points whose value is no finite number (k6 0.38 to 1.8 writes +Inf)."""
    torn: str = ""
    """Why the end is missing ("gzip stream cut off", "last line incomplete"); empty if it is whole."""
    stamp_resolution_ns: int = 1
    """The coarsest power of ten that divides every stamp."""


class PointsSource(Protocol):
    """A points file, read once, in batches."""

    path: str
    tables: PointTables

    def batches(self) -> Iterator[PointBatch]: ...

    def report(self) -> ReadReport: ...


# --- what was asked for -------------------------------------------------------------------------------

OPEN_EXECUTORS = frozenset({"constant-arrival-rate", "ramping-arrival-rate"})
LOOPING_EXECUTORS = frozenset({"constant-vus", "ramping-vus", "externally-controlled"})
"""Executors that never record a dropped iteration."""
ITERATION_EXECUTORS = frozenset({"shared-iterations", "per-vu-iterations"})
"""Executors that end when their iterations are done, not at a planned time."""
EXECUTORS = OPEN_EXECUTORS | LOOPING_EXECUTORS | ITERATION_EXECUTORS


@dataclass(frozen=True)
class ScenarioOptions:
    """A scenario as options describe it, k6's defaults filled in. Rates are per second, exact."""

    name: str
    executor: str
    start_time_s: Fraction = Fraction(0)
    graceful_stop_s: Fraction = Fraction(30)
    duration_s: Fraction | None = None
    """Of the plan without gracefulStop; None for executors without one. maxDuration of iteration executors."""
    rate_per_s: Fraction | None = None
    start_rate_per_s: Fraction | None = None
    stages: tuple[tuple[Fraction, Fraction], ...] = ()
    """(duration_s, target): the target is a rate per second, or VUs for ramping-vus."""
    pre_allocated_vus: int | None = None
    max_vus: int | None = None
    vus: int | None = None
    iterations: int | None = None
    exec: str = "default"


@dataclass(frozen=True)
class Options:
    """Options of a run, from `k6 inspect` (with or without --execution-requirements)."""

    path: str
    scenarios: tuple[ScenarioOptions, ...]
    thresholds: Mapping[str, tuple[str, ...]]
    rps: float | None
    execution_segment: tuple[Fraction, Fraction] | None
    system_tags: tuple[str, ...] | None
    consolidated: bool
    """Whether the environment and config files are in it (--execution-requirements)."""
    problems: tuple[str, ...] = ()


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


# --- the generator's host -----------------------------------------------------------------------------


@dataclass(frozen=True)
class HostSeries:
    """Metrics of one host; row i covers (stamp − interval, stamp]. Absent columns are None; NaN is unknown.

    Percent columns are 0..100 of all cores; ``core_busy_percent`` has one column a core.
    """

    path: str
    host: str
    stamp_ns: npt.NDArray[np.int64]
    interval_s: npt.NDArray[np.float64]
    cpu_busy_percent: npt.NDArray[np.float64]
    cores: int | None = None
    core_busy_percent: npt.NDArray[np.float64] | None = None
    steal_percent: npt.NDArray[np.float64] | None = None
    mem_used_percent: npt.NDArray[np.float64] | None = None
    swap_in_pages_per_s: npt.NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()


# --- what the user says ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScenarioDeclaration:
    """What the user declares about one scenario."""

    workload: str = ""
    """"closed" if the product really is a closed loop; then ``reason`` says why."""
    role: str = ""
    """"support" for seeding or probes: left out of header and populations."""
    reason: str = ""


@dataclass(frozen=True)
class Declared:
    """What only the user can know of a run: the part of the policy that facts depend on."""

    warmup_s: Fraction | None = None
    ramp_down_s: Fraction = Fraction(0)
    target_rate_per_s: Fraction | None = None
    workload: str = ""
    """"closed" for every scenario of the run, with ``workload_reason``."""
    workload_reason: str = ""
    scenarios: Mapping[str, ScenarioDeclaration] = field(default_factory=dict)
    latency_metric: str = ""
    instances: int | None = None
    purpose: str = ""
    """"smoke" relaxes durations and sample sizes; "capacity" asks for a window of ten minutes."""
    ramp: str = ""
    """"measured" if the ramp is the test (then the warm-up need not cover it), with ``ramp_reason``."""
    ramp_reason: str = ""
    error_objective_share: float | None = None

    def is_closed(self, scenario: str) -> bool:
        """Whether the scenario is declared a closed loop, with a reason."""
        own = self.scenarios.get(scenario)
        if own is not None and own.workload == "closed" and own.reason:
            return True
        return self.workload == "closed" and bool(self.workload_reason)

    def is_support(self, scenario: str) -> bool:
        own = self.scenarios.get(scenario)
        return own is not None and own.role == "support"


# --- the whole ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GeneratorEvidence:
    """What one k6 process and its host left behind."""

    name: str
    points: PointsSource | None = None
    console: Console | None = None
    options: Options | None = None
    log: LogEvidence | None = None
    exit_code: ExitCode | None = None
    hosts: tuple[HostSeries, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """Everything that was read of one run."""

    target: str
    generators: tuple[GeneratorEvidence, ...]
    shared_hosts: tuple[HostSeries, ...] = ()
    """Host metrics that lie beside several generators' folders."""
    sources: tuple[Source, ...] = ()
    ignored: tuple[Ignored, ...] = ()
