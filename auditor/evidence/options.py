"""Options of a test: scenarios and executors, from k6 inspect, an archive or a script."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


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


SILENT_MODULES = frozenset(
    {"k6", "k6/crypto", "k6/data", "k6/encoding", "k6/execution", "k6/html", "k6/metrics", "k6/timers"}
)
"""Modules of k6 that send nothing."""


@dataclass(frozen=True)
class ScriptText:
    """What a script's text says beside its options."""

    path: str
    lines: Mapping[str, int]
    """Line of `options` and of its keys `scenarios` and `thresholds`, from 1; those that are there."""
    end_sleep_s: Fraction | None = None
    """The sleep that every whole iteration of the default function ends with; None if it is not literal."""
    environment: tuple[str, ...] = ()
    """Names of the environment variables that it reads (`__ENV.NAME`), in the order of the text."""
    modules: tuple[str, ...] = ()
    """What it imports, sorted; "?" stands for what only running it tells."""
    may_wait: bool = True
    """Whether anything in it may wait: a sleep, a timer, await, the clock, or a module of one's own."""

    @property
    def is_http_alone(self) -> bool:
        """Whether it speaks HTTP by k6's own module, and nothing else."""
        return "k6/http" in self.modules and set(self.modules) <= SILENT_MODULES | {"k6/http"}


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
    segment_sequence: tuple[Fraction, ...] | None = None
    """The edges of all segments, 0 and 1 included; None if the options do not name them."""
    min_iteration_duration_s: Fraction | None = None
    """An iteration that ends sooner holds its VU until then."""
