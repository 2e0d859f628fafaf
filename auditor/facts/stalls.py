"""Stalls of the system (completions stop) and pauses of the generator (every stamp stops).

Definitions: docs/semantics.md §5 "Stall", and rules CO02, CO03.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auditor.facts.iterations import Iterations, KeyIterations
from auditor.facts.keys import Key
from auditor.facts.limits import PolicyLimits
from auditor.facts.missing import Missing
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.samples import Samples
from auditor.facts.store import Unknown, provides
from auditor.facts.timeline import KeyTimeline, Timeline
from auditor.units import NS_PER_S

RATE_BEFORE_S = 10
"""Over how long at least the rate before a gap is taken, where no plan says what was due in it."""
STALL_LIMITS = ("CO02.shortest", "CO02.median_gaps", "CO02.median_durations")
"""The limits that decide what a stall is: what a rule uses that asks for `Stalls`."""
FINE_STAMP_FIX = (
    "record with fine stamps: set K6_CSV_TIME_FORMAT=unix_nano for k6's CSV output, or write JSON "
    "(--out json=k6.json.gz)"
)


@dataclass(frozen=True)
class Stall:
    """A gap between two completions of one key; times in ns since the epoch."""

    key: Key
    from_ns: int
    to_ns: int
    limit_s: float
    due: float
    """Starts due in the gap: by the plan, else by the rate before it."""
    started: int
    planned: bool
    """Whether ``due`` comes from a plan."""
    in_window: bool
    offset_s: float
    """When the gap began, on the scenario's clock."""

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / NS_PER_S


@dataclass(frozen=True)
class Stalls:
    """All stalls, in order of time."""

    found: tuple[Stall, ...]
    cold_starts: tuple[Stall, ...] = ()
    """As long a time before the first completion of a key: no stall by definition, but nothing to hide."""


@dataclass(frozen=True)
class Pause:
    """Nothing at all was stamped by a generator for this long (at least, where stamps are coarse)."""

    generator: str
    from_ns: int
    to_ns: int

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / NS_PER_S


@dataclass(frozen=True)
class Pauses:
    """The longest pause of each generator."""

    longest: Mapping[str, Pause]


def require_fine_stamps(samples: Samples) -> None:
    """Raise Unknown if any generator's stamps are too coarse to order starts."""
    for one in samples.by_generator.values():
        if one.coarse_ns:
            raise Unknown(
                f"the stamps of {one.path} are only good to {one.coarse_ns / 1e9:g} s",
                FINE_STAMP_FIX,
                missing=Missing.FINE_STAMPS,
            )


@provides
def stalls(
    iterations: Iterations, plan: Plan, timeline: Timeline, samples: Samples, limits: PolicyLimits
) -> Stalls:
    """Gaps longer than the limits of CO02: the shortest that counts, so many median gaps, and so many median
    durations of an iteration; per key."""
    require_fine_stamps(samples)
    found: list[Stall] = []
    cold: list[Stall] = []
    for key, one in iterations.by_key.items():
        planned = plan.keys.get(key)
        if planned is not None and planned.support:
            continue
        last_ns = timeline.ends[key.generator].last_ns
        stalled, dead = _of(key, one, planned, timeline.keys[key], last_ns, limits)
        found += stalled
        cold += dead
    return Stalls(tuple(sorted(found, key=lambda s: s.from_ns)), tuple(cold))


def _of(
    key: Key,
    found: KeyIterations,
    plan: KeyPlan | None,
    clock: KeyTimeline,
    last_stamp_ns: int | None,
    limits: PolicyLimits,
) -> tuple[list[Stall], list[Stall]]:
    """Stalls, and the cold start if there is one."""
    ends = found.ends_in_order
    if len(ends) < 2 or clock.origin_ns is None:
        return [], []
    scenario_end = clock.at_ns(clock.reached_s)
    if ends[-1] < scenario_end and last_stamp_ns is not None:
        # No completion up to the scenario's end is a gap too.
        ends = np.append(ends, min(scenario_end, max(last_stamp_ns, int(ends[-1]))))
    gaps = np.diff(ends)
    limit_s = max(
        limits["CO02.shortest"],
        limits["CO02.median_gaps"] * float(np.median(gaps)) / NS_PER_S,
        limits["CO02.median_durations"] * float(np.median(found.duration_ms)) / 1000,
    )
    long = np.flatnonzero((gaps > limit_s * NS_PER_S) & (ends[:-1] < scenario_end))
    stalled = [
        _stall(key, found, plan, clock, int(ends[i]), int(min(ends[i + 1], scenario_end)), limit_s)
        for i in long
    ]
    if ends[0] - clock.origin_ns > limit_s * NS_PER_S:
        # No stall by definition (gaps count from the first completion), but no start to be hidden either.
        cold = _stall(key, found, plan, clock, clock.origin_ns, int(ends[0]), limit_s)
        return stalled, [cold]
    return stalled, []


def _stall(
    key: Key,
    found: KeyIterations,
    plan: KeyPlan | None,
    clock: KeyTimeline,
    from_ns: int,
    to_ns: int,
    limit_s: float,
) -> Stall:
    assert clock.origin_ns is not None
    started = int(np.searchsorted(found.start_ns, to_ns) - np.searchsorted(found.start_ns, from_ns))
    schedule = plan.schedule if plan is not None else None
    if schedule is not None:
        slots = schedule.slot_times_ns() + clock.origin_ns
        due = float(np.searchsorted(slots, to_ns) - np.searchsorted(slots, from_ns))
    else:
        # The rate of starts before the gap, over as long as the gap (and `RATE_BEFORE_S` at least), but not
        # before the origin.
        span = max(to_ns - from_ns, RATE_BEFORE_S * NS_PER_S)
        since = max(from_ns - span, clock.origin_ns)
        before = int(np.searchsorted(found.start_ns, from_ns) - np.searchsorted(found.start_ns, since))
        due = before / max(from_ns - since, 1) * (to_ns - from_ns)
    return Stall(
        key=key,
        from_ns=from_ns,
        to_ns=to_ns,
        limit_s=limit_s,
        due=due,
        started=started,
        planned=schedule is not None,
        in_window=to_ns > clock.from_ns and from_ns < clock.to_ns,
        offset_s=(from_ns - clock.origin_ns) / NS_PER_S,
    )


@provides
def pauses(samples: Samples) -> Pauses:
    """The longest time between two stamps of any metric, per generator (k6 writes `vus` every second)."""
    longest: dict[str, Pause] = {}
    for name, one in samples.by_generator.items():
        if len(one.second_first_ns) < 2:
            continue
        gaps = one.second_first_ns[1:] - one.second_last_ns[:-1]
        at = int(np.argmax(gaps))
        # The last sample before the gap may have been written almost a whole unit of the stamps later.
        from_ns = int(one.second_last_ns[at]) + one.coarse_ns
        longest[name] = Pause(name, from_ns, max(int(one.second_first_ns[at + 1]), from_ns))
    return Pauses(longest)
