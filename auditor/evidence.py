"""The typed record of what a run left behind: what was read and where it came from. Nothing is judged here.

Readers (`auditor.ingest`) build these values; facts (`auditor.facts`) consume them. Names carry units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

Tags = tuple[tuple[str, str], ...]
"""A tag set: sorted (key, value) pairs."""


class Digest(Protocol):
    """SHA-256 of a file, found when it is first asked for, if reading the file has not found it before."""

    def hex(self) -> str: ...

    def note(self, found: str) -> None: ...


@dataclass(frozen=True)
class Source:
    """A file that was read: its path inside the target, its digest, and what it was read as."""

    path: str
    digest: Digest
    size_bytes: int
    format: str
    generator: str = ""
    note: str = ""

    @property
    def sha256(self) -> str:
        return self.digest.hex()


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
    """Interned names of what one reader has read: ids in a batch are indices into lists, which only grow."""

    metrics: list[str] = field(default_factory=list)
    tagsets: list[Tags] = field(default_factory=list)
    definitions: dict[str, MetricDefinition] = field(default_factory=dict)
    defined_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Block and line of each definition: the first of a metric counts, whoever read it."""


@dataclass(frozen=True)
class PointBatch:
    """Columns of samples, all of one length; time is the stamp that k6 wrote, ns since the epoch (UTC).

    Valid until its reader is asked for the next one: memory is used again.
    """

    metric: npt.NDArray[np.int32]
    time_ns: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    tagset: npt.NDArray[np.int32]


@dataclass(frozen=True)
class MetricBatch:
    """Samples of one metric, whose values are read when somebody asks for them.

    Batches of metrics that have stamps and tag sets in common may hold the same arrays.
    """

    metric_id: int
    time_ns: npt.NDArray[np.int64]
    tagset: npt.NDArray[np.int32]
    read_value: Callable[[], npt.NDArray[np.float64]]

    @cached_property
    def value(self) -> npt.NDArray[np.float64]:
        return self.read_value()

    @property
    def metric(self) -> npt.NDArray[np.int32]:
        import numpy as np

        return np.full(len(self.time_ns), self.metric_id, dtype=np.int32)


@dataclass(frozen=True)
class PartReport:
    """How reading a part of a points file went; known after its last batch."""

    lines: tuple[tuple[int, int], ...] = ()
    """(number of a block in the file, its lines), in any order."""
    points: int = 0
    malformed: int = 0
    first_malformed: tuple[int, int] | None = None
    """Block, and line in it, from 1."""
    dropped_values: int = 0
    torn: str = ""
    stamp_gcd_ns: int = 0
    """Greatest common divisor of all stamps; 0 if there was none."""
    stamp_unit_ns: int = 1
    """What the format cannot be finer than."""
    sha256: str = ""
    """Of the file, if this part was all of it, or the last to share it."""


@dataclass(frozen=True)
class ReadReport:
    """How reading a points file went."""

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

    @classmethod
    def of(cls, parts: Sequence[PartReport]) -> ReadReport:
        """The whole file's, of those of all its parts."""
        in_order = sorted(pair for part in parts for pair in part.lines)
        first = min((p.first_malformed for p in parts if p.first_malformed is not None), default=None)
        before = sum(lines for block, lines in in_order if first is not None and block < first[0])
        return cls(
            lines=sum(lines for _, lines in in_order),
            points=sum(p.points for p in parts),
            malformed=sum(p.malformed for p in parts),
            first_malformed_line=None if first is None else before + first[1],
            dropped_values=sum(p.dropped_values for p in parts),
            torn=next((p.torn for p in parts if p.torn), ""),
            stamp_resolution_ns=max(
                _power_of_ten(math.gcd(*(p.stamp_gcd_ns for p in parts))),
                *(p.stamp_unit_ns for p in parts),
                1,
            ),
        )


def _power_of_ten(divisor: int) -> int:
    """The largest power of ten, up to 1 s, that divides every stamp (1 if there was none)."""
    resolution = 1
    while divisor and resolution < 1_000_000_000 and divisor % (resolution * 10) == 0:
        resolution *= 10
    return resolution


class PointsPart(Protocol):
    """Some of the samples of a points file, read once, in batches, by one thread."""

    tables: PointTables

    def batches(self) -> Iterator[PointBatch | MetricBatch]: ...

    def report(self) -> PartReport: ...


@dataclass(frozen=True)
class Position:
    """How far the reading of a points file has come."""

    read_bytes: int
    size_bytes: int
    points: int


class PointsSource(Protocol):
    """A points file. What its parts hold together does not depend on how many there are."""

    path: str

    @property
    def sha256(self) -> Digest: ...

    def parts(self, n: int, *, hashed: bool = True) -> Sequence[PointsPart]:
        """At most n parts, for as many threads, which share one pass over the file: none may be left unread."""

    def chunks(self) -> Sequence[PointsPart]:
        """Parts that can each be sent to another process, which opens the file itself, in their order."""

    def masked(self, tables: PointTables) -> PointTables:
        """The same tables, in the same order, without secrets."""

    def position(self) -> Position: ...


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
class ScriptText:
    """What a script's text says beside its options."""

    path: str
    lines: Mapping[str, int]
    """Line of `options` and of its keys `scenarios` and `thresholds`, from 1; those that are there."""
    end_sleep_s: Fraction | None = None
    """The sleep that every whole iteration of the default function ends with; None if it is not literal."""


OptionsKind = Literal["inspect", "archive", "script"]


@dataclass(frozen=True)
class Options:
    """Options of a run: from `k6 inspect` (with or without --execution-requirements), from an archive, or
    from the script's text."""

    path: str
    scenarios: tuple[ScenarioOptions, ...]
    thresholds: Mapping[str, tuple[str, ...]]
    rps: float | None
    execution_segment: tuple[Fraction, Fraction] | None
    system_tags: tuple[str, ...] | None
    consolidated: bool
    """Whether the environment and config files are in it (--execution-requirements, archive)."""
    problems: tuple[str, ...] = ()
    kind: OptionsKind = "inspect"
    unread: frozenset[str] = frozenset()
    """Options that a script sets in a way that reading alone cannot tell, by name."""
    k6_version: str = ""
    """Of the k6 that wrote an archive."""
    environment: tuple[str, ...] = ()
    """Names of the variables kept in an archive; their values may be secrets and are never kept."""
    script: ScriptText | None = None


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


@dataclass(frozen=True)
class SummaryMetric:
    """One metric (or submetric) of an end-of-test summary.

    ``values`` has k6's own keys: count, rate, value, passes (samples that are not zero), fails, avg, min, med,
    max, p(90), … Times are ms.
    """

    name: str
    values: Mapping[str, float]
    crossed: Mapping[str, bool] = field(default_factory=dict)
    """Threshold expression -> whether it was crossed, whatever polarity the file writes."""


@dataclass(frozen=True)
class Summary:
    """Totals that k6 wrote at the end of a test: everything, setup() included, no window."""

    path: str
    kind: str
    """"legacy export", "handleSummary data" or "machine-readable"."""
    metrics: Mapping[str, SummaryMetric]
    duration_s: float | None = None
    k6_version: str = ""

    def value(self, metric: str, key: str) -> float | None:
        found = self.metrics.get(metric)
        return None if found is None else found.values.get(key)


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
    synthetic_data: bool | None = None
    """Whether the test data are made up; False: real customers' data."""
    rate_limiter: str = ""
    """How the system's rate limiter let the test through: "token", "allow-list"; "off": switched off."""
    generator_network: str = ""
    """Where the generators stand and what lies between them and the system."""
    git_commit: str = ""
    k6_version: str = ""
    colocated: bool | None = None
    """Whether a generator shares its machine with the system under test."""
    signing: bool = False
    """Whether this audit is for a sign-off: then the declarations above are required."""

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
    generators: tuple[GeneratorEvidence, ...]
    shared_hosts: tuple[HostSeries, ...] = ()
    """Host metrics that lie beside several generators' folders."""
    sources: tuple[Source, ...] = ()
    ignored: tuple[Ignored, ...] = ()


# --- a report -----------------------------------------------------------------------------------------

Answer = Literal["value", "n/a", "none", "not-identified", "placeholder", "words"]
"""What stands in a field's place: a number; a reason why there is none ("n/a: ...", "none: closed model"); "at
least" a number; nothing (blank, "TBD", "NaN"); words without a number."""


@dataclass(frozen=True)
class ReportedField:
    """One field of a report's header as it is written there."""

    name: str
    label: str
    raw: str
    """The visible text of the value."""
    where: str
    order: int
    """Order of appearance among everything that was found."""
    how: Literal["name", "label", "json"]
    """Found by its machine name, by its label, or only in the embedded result."""
    answer: Answer
    value: float | None = None
    """In the field's own unit (/s, iterations, %, s, ms)."""
    unit: str = ""
    """The unit that is written, or named by label or note; empty if none is."""
    step: float = 0.0
    """One unit of the last printed digit of ``value``; 0 if it is exact."""
    shown: float | None = None
    """The number in the visible text, where ``value`` comes from an attribute."""
    shown_step: float = 0.0
    reason: str = ""
    detail: str = ""
    """What stands beside the value."""


@dataclass(frozen=True)
class ReportEvidence:
    """A report: what it says, found by machine name or by label. Nothing is judged here."""

    path: str
    sha256: str
    size_bytes: int
    format: Literal["html", "markdown", "json"]
    fields: Mapping[str, ReportedField]
    """By machine name; a field that was not found is not in it."""
    verdict: str = ""
    """"VALID", "INVALID", "NOT PROVEN", other words that stand for a verdict, or empty."""
    verdict_order: int | None = None
    verdict_meta: str = ""
    """The verdict in the page's metadata (own reports)."""
    populations: tuple[str, ...] = ()
    """"offered", "sent", "successful", "all", "expected_response": what the report says latency is of."""
    percentiles_of_expected: bool = False
    """Whether the percentiles stand in a row of k6's `expected_response:true`."""
    averages: tuple[str, ...] = ()
    """Where averages of latency stand."""
    failures: float | None = None
    """Failed requests, or their share: only whether it is above zero matters."""
    sha256_named: tuple[str, ...] = ()
    embedded: Mapping[str, Any] | None = None
    """The result that k6-audit wrote into its own report."""
    embedded_damaged: bool = False
    """Whether there is an embedded result that cannot be read."""
    notes: tuple[str, ...] = ()
