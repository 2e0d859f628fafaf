"""What k6 printed: banner, totals at the end, log, exit code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from auditor.evidence.summary import Summary


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
    """k6's own clock: setup() and teardown() are in it."""
    final: bool
    """Whether it closed the run (all scenarios done), not a progress line of a run cut off."""
    active_vus: int | None = None
    initialised_vus: int | None = None


Mark = Literal["running", "waiting", "stopping", "done", "cut"]
"""k6's mark of a scenario: none, "•", "↓", "✓", "✗" (cut: stopped before its end)."""


@dataclass(frozen=True)
class ScenarioProgress:
    """The last line of progress that the console shows of a scenario."""

    name: str
    mark: Mark
    share: float | None
    """How far it got, 0 to 1: to a hundredth from "[ 5% ]", to a fortieth from a bar; None if neither."""
    elapsed_s: float | None = None
    planned_s: float | None = None


@dataclass(frozen=True)
class PrintedThreshold:
    """A threshold as the end-of-test text shows it."""

    metric: str
    """With its submetric: "http_req_duration{scenario:open}"."""
    expression: str
    """"p(95)<500"; empty in the text of k6 before 1.0, which marks a metric and not each of its thresholds."""
    passed: bool | None
    """None if the mark in front of it could not be read."""
    printed: str = ""
    """What k6 printed behind it: "p(95)=21.86ms"."""


Phase = Literal["", "init", "setup", "running", "teardown"]
"""How far the console shows k6: nothing of it, VUs being made, setup(), iterations, teardown()."""


@dataclass(frozen=True)
class Span:
    """The time that stamps cover. Either pair may be None: no such stamps."""

    first_unix_ns: int | None = None
    last_unix_ns: int | None = None
    """Wall clock, from stamps with a zone; k6's own are cut to whole seconds."""
    first_s: float | None = None
    last_s: float | None = None
    """Seconds since k6 started, as it counts them in a terminal (`ERRO[0012]`)."""


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
    banners: int = 0
    """How many runs announced themselves in this text."""
    thresholds: tuple[PrintedThreshold, ...] = ()
    progress: tuple[ScenarioProgress, ...] = ()
    """Of each scenario the last line, in the order of the console."""
    phase: Phase = ""
    totals: Summary | None = None
    """All rows of the end-of-test text. A row that is absent is not in it, one that could not be read is in
    ``totals.unread``; None without such a text."""
    span: Span | None = None
    """Of the stamps that a CI system, a container or the like put before the lines; None without any."""

    @property
    def has_banner(self) -> bool:
        return self.segment_percent is not None


@dataclass(frozen=True)
class LogEvidence:
    """The lines of k6's log that matter for validity, counted. An empty log is evidence of none.

    What the script itself wrote with `console.log` and the like is not among them.
    """

    paths: tuple[str, ...]
    lines: int = 0
    insufficient_vus: Mapping[str, int] = field(default_factory=dict)
    """Scenario -> VUs reached when none was left."""
    time_series: int = 0
    """The largest "N unique time series" k6 warned of: a lower bound."""
    exceptions: int = 0
    """Exceptions thrown in iterations; `fail()` is not one."""
    exceptions_outside: Mapping[str, int] = field(default_factory=dict)
    """"setup", "teardown", "handleSummary" or "init" -> exceptions thrown there; its `fail()` calls too."""
    exception_texts: Mapping[str, int] = field(default_factory=dict)
    """The first line of each exception -> how many, of the first that were met (at most 20)."""
    fail_calls: int = 0
    """Iterations that the script ended by its own `fail()`."""
    fail_texts: Mapping[str, int] = field(default_factory=dict)
    """What it said in `fail()` -> how many (at most 20 texts)."""
    requests_failed: Mapping[str, int] = field(default_factory=dict)
    """Kind of client-side failure -> count ("address", "files", "dns", "refused", "reset", "other")."""
    request_errors: Mapping[str, int] = field(default_factory=dict)
    """The error of "Request Failed", without the URL -> how many (at most 20 texts)."""
    thresholds_crossed: bool = False
    crossed_metrics: tuple[str, ...] = ()
    """The metrics whose thresholds k6 says were crossed; empty for k6 before 0.43, which does not name them."""
    stopped: str = ""
    """k6's own word that it stopped before the plan's end; empty if it says none."""
    timed_out: tuple[str, ...] = ()
    """"setup" or "teardown", if k6 says that its time was over."""
    marked_failed: tuple[str, ...] = ()
    """The reasons of `exec.test.fail()` (at most 20)."""
    k6_error: str = ""
    """The last error of k6 itself, which is neither the script's nor a threshold's."""
    options_overridden: str = ""
    output_lost: int = 0
    """Messages that samples were not written, or were lost."""
    backend_lost: int = 0
    """Messages that samples did not reach a database (InfluxDB, Prometheus, StatsD)."""
    flush_warnings: int = 0
    """Messages that an output could not keep up."""
    vu_waits: int = 0
    """Messages that no VU came out of k6's own buffer in time."""
    span: Span | None = None
    """None if no line has a time (an empty log; `--log-format raw`)."""
    unread: str = ""
    """Why lines may be missing: then what was not found is unknown, not absent."""


_COUNTS = (
    "lines",
    "time_series",
    "exceptions",
    "fail_calls",
    "output_lost",
    "backend_lost",
    "flush_warnings",
    "vu_waits",
)
_WORDS = ("thresholds_crossed", "stopped", "k6_error", "options_overridden", "unread")
_LISTS = ("crossed_metrics", "timed_out", "marked_failed")
_TABLES = ("requests_failed", "request_errors", "exceptions_outside", "exception_texts", "fail_texts")


def merged_log(first: LogEvidence, second: LogEvidence) -> LogEvidence:
    """Both logs of one process; the same line may be in both, so counts are the larger of the two."""
    changes: dict[str, Any] = {name: max(getattr(first, name), getattr(second, name)) for name in _COUNTS}
    for name in _WORDS:
        changes[name] = getattr(first, name) or getattr(second, name)
    for name in _LISTS:
        changes[name] = tuple(dict.fromkeys((*getattr(first, name), *getattr(second, name))))
    for name in _TABLES:
        changes[name] = _larger(getattr(first, name), getattr(second, name))
    return replace(
        first,
        paths=first.paths + second.paths,
        insufficient_vus={**first.insufficient_vus, **second.insufficient_vus},
        span=joined_span((first.span, second.span)),
        **changes,
    )


def joined_span(spans: Iterable[Span | None]) -> Span | None:
    """The time that several spans cover together."""
    kept = [span for span in spans if span is not None]
    if not kept:
        return None
    return Span(
        min((s.first_unix_ns for s in kept if s.first_unix_ns is not None), default=None),
        max((s.last_unix_ns for s in kept if s.last_unix_ns is not None), default=None),
        min((s.first_s for s in kept if s.first_s is not None), default=None),
        max((s.last_s for s in kept if s.last_s is not None), default=None),
    )


def _larger(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {key: max(first.get(key, 0), second.get(key, 0)) for key in {**first, **second}}


@dataclass(frozen=True)
class ExitCode:
    path: str
    code: int


# --- summaries ------------------------------------------------------------------------------------------
