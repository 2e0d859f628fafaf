"""The VU pool of every arrival-rate scenario: how busy it was, and how many VUs the plan needs.

Definitions: docs/semantics.md §6. While every VU is busy an iteration lasts as long as the pool lets it wait
(Little's law: iteration time = VUs ÷ throughput), so that rate × iteration time says nothing about the need. It
comes from windows in which the pool had room and the system kept up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from auditor.evidence import Evidence
from auditor.facts.delivery import DeliveredLoad, Interval
from auditor.facts.iterations import Iterations, KeyIterations, as_ns
from auditor.facts.keys import Key
from auditor.facts.limits import PolicyLimits
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.stalls import Stall, Stalls
from auditor.facts.store import provides
from auditor.facts.timeline import KeyTimeline, Timeline
from auditor.samples.reduce import Floats, Ints
from auditor.units import NS_PER_S

CALM_SHARE = 0.8
"""Below this share of the VUs busy, on average, a pool has room: iterations last as the system takes."""
KEPT_UP_SHARE = 0.05
"""Where completions differ from starts by no more than this share, the system keeps up."""
VUS_RESERVE = 1.2
"""How many times the VUs needed a pool should have: a fifth in reserve."""
PARTLY_BUSY = (0.4, 0.7)
"""Shares of the VUs between which throughput is compared with that of a full pool."""
GROWTH = 1.05
"""A full pool that does less than this much more than a partly busy one does not do more."""
LEAST_SECONDS = 3
"""Of either kind: fewer say nothing about growth."""


@dataclass(frozen=True)
class VuNeed:
    """How many VUs the plan needs at its highest rate."""

    vus: float
    held_s: float
    """How long an iteration holds its VU."""
    basis: Literal["median", "minimum", "stall"]
    """The median iteration of windows with room; minIterationDuration alone, a lower bound; a stall: what was
    in flight before it and all that arrives while it lasts."""


@dataclass(frozen=True)
class VuPool:
    """The VU pool of one arrival-rate key over its window."""

    key: Key
    max_vus: int
    need: VuNeed | None
    """None where it cannot be told: no window in which the pool had room and the system kept up."""
    pinned_s: float | None
    """Seconds of the window with in-flight ≥ SD06.pinned_share × max VUs; None if stamps are too coarse to
    tell (those of one second all end together)."""
    full_per_s: float | None
    """Completions per second while the pool was full; None if it never was for a whole second."""
    partly_per_s: float | None
    """The highest rate of completions while it was partly busy; None where that was too short to say."""
    held_back_rps: float | None = None
    """The option `rps`, by which k6 itself held requests back."""

    @property
    def does_not_grow(self) -> bool:
        """Whether a full pool did no more work than a partly busy one: then no pool may be large enough."""
        if self.full_per_s is None or self.partly_per_s is None or self.held_back_rps is not None:
            return False
        return self.full_per_s < GROWTH * self.partly_per_s


@dataclass(frozen=True)
class VuPools:
    """Pools of the keys with a known schedule and VU limit."""

    pools: Mapping[Key, VuPool]

    def wanted(self, keys: Iterable[Key]) -> int | None:
        """VUs that these keys need together, with the reserve; None where that cannot be told."""
        pools = [self.pools[key] for key in keys if key in self.pools]
        if not pools or any(pool.need is None for pool in pools):
            return None
        return int(np.ceil(sum(max(p.need.vus, 1.0) for p in pools if p.need is not None) * VUS_RESERVE))

    def advice(self, keys: Iterable[Key]) -> str:
        """What to do about the pools of these keys, with one number for every rule; "" where nothing is wrong
        with their size or nothing is known of it."""
        pools = [self.pools[key] for key in keys if key in self.pools]
        configured = sum(pool.max_vus for pool in pools)
        wanted = self.wanted(pool.key for pool in pools)
        if wanted is not None:
            bound = " (a lower bound: minIterationDuration alone)" if any(map(_is_bound, pools)) else ""
            text = f"set maxVUs and preAllocatedVUs to at least {wanted:,} (now {configured:,}){bound}"
            return text if wanted > configured else ""
        full = [pool for pool in pools if pool.need is None]
        if not full:
            return ""
        if any(pool.held_back_rps is not None for pool in full):
            return "leave out the option rps, which holds requests back in k6, and run again"
        if any(pool.does_not_grow for pool in full):
            return (
                "find out what limits the system and fix that, or lower the rate: more VUs make its queue "
                "longer, and no pool may be large enough"
            )
        return (
            f"run again with more VUs (say {2 * configured:,}, now {configured:,}) and see whether it does "
            "more: if not, the system is the limit and no pool is large enough"
        )


def _is_bound(pool: VuPool) -> bool:
    return pool.need is not None and pool.need.basis == "minimum"


@provides
def vu_pools(
    plan: Plan,
    timeline: Timeline,
    iterations: Iterations,
    delivery: DeliveredLoad,
    stalls: Stalls | None,
    evidence: Evidence,
    limits: PolicyLimits,
) -> VuPools:
    """In-flight from starts and ends, never from the `vus` gauge."""
    pools: dict[Key, VuPool] = {}
    pinned_share = limits["SD06.pinned_share"]
    rps = {g.name: next((o.rps for o in g.option_sources if o.rps), None) for g in evidence.generators}
    for key, one in plan.keys.items():
        if one.schedule is None or one.support or not one.max_vus:
            continue
        clock = timeline.keys[key]
        found = held(iterations.by_key[key], one)
        if not len(found.start_ns):
            continue
        windows = delivery.windows.get(str(key)) or delivery.windows.get(key.scenario) or ()
        mine = [s for s in stalls.found if s.key == key and s.in_window] if stalls is not None else []
        times, level = in_flight(found)
        full, partly = _throughput(found, clock, one.max_vus, pinned_share)
        pools[key] = VuPool(
            key=key,
            max_vus=one.max_vus,
            need=_need(found, clock, one, windows, mine),
            pinned_s=None
            if clock.slack_ns
            else _time_at_least(times, level, pinned_share * one.max_vus, clock) / 1e9,
            full_per_s=full,
            partly_per_s=partly,
            held_back_rps=rps[key.generator],
        )
    return VuPools(pools)


def held(found: KeyIterations, plan: KeyPlan) -> KeyIterations:
    """The iterations as long as each holds its VU: at least minIterationDuration."""
    if not plan.min_iteration_s:
        return found
    duration_ms = np.maximum(found.duration_ms, float(plan.min_iteration_s) * 1000)
    return KeyIterations(
        start_ns=found.start_ns,
        end_ns=found.start_ns + as_ns(duration_ms),
        duration_ms=duration_ms,
        completed=found.completed,
        began=found.began,
        drop_ns=found.drop_ns,
        drop_count=found.drop_count,
    )


def in_flight(found: KeyIterations) -> tuple[Ints, npt.NDArray[np.int32]]:
    """(time, level from that time on), one entry a start or end; at one instant ends come first."""
    ends = found.ends_in_order
    times = np.concatenate([ends, found.start_ns])
    is_end = np.argsort(times, kind="stable") < len(ends)
    times.sort(kind="stable")  # both are quick: they merge two stretches that are in order
    return times, np.cumsum(np.where(is_end, np.int8(-1), np.int8(1)), dtype=np.int32)


def mean_in_flight(found: KeyIterations, edges_ns: Ints) -> Floats:
    """Mean in-flight between consecutive edges: the time that iterations spent there ÷ its length."""
    zero = int(edges_ns[0])
    at = (edges_ns - zero).astype(np.float64)
    began, ended = (_time_since(times, edges_ns, at, zero) for times in (found.start_ns, found.ends_in_order))
    return np.diff(began - ended) / np.maximum(np.diff(at), 1.0)


def _time_since(times_ns: Ints, edges_ns: Ints, at: Floats, zero_ns: int) -> Floats:
    """For each edge: Σ (edge − time) over the times before it."""
    before = np.searchsorted(times_ns, edges_ns)
    sums = np.concatenate(([0.0], np.cumsum((times_ns - zero_ns).astype(np.float64))))
    return before * at - sums[before]


def _time_at_least(times: Ints, level: npt.NDArray[np.int32], limit: float, clock: KeyTimeline) -> int:
    """ns inside the window during which the level is at least ``limit``."""
    low, high = clock.from_ns, clock.to_ns
    full = np.flatnonzero(level[:-1] >= limit)
    return int((np.clip(times[full + 1], low, high) - np.clip(times[full], low, high)).sum())


def _need(
    found: KeyIterations,
    clock: KeyTimeline,
    plan: KeyPlan,
    windows: Sequence[Interval],
    stalls: Sequence[Stall],
) -> VuNeed | None:
    assert plan.schedule is not None
    assert plan.max_vus is not None
    peak = float(plan.schedule.peak_per_s)
    least_s = float(plan.min_iteration_s)
    calm_s = _calm_median_s(found, clock, plan.max_vus, windows)
    if calm_s is None:
        return VuNeed(peak * least_s, least_s, "minimum") if least_s else None
    need = VuNeed(peak * calm_s, calm_s, "median")
    for stall in stalls:
        edges = np.array([stall.from_ns - NS_PER_S, stall.from_ns])
        before = float(mean_in_flight(found, edges)[0])
        arriving = stall.due if stall.planned else 0.0
        if before + arriving > need.vus:
            need = VuNeed(before + arriving, stall.length_s, "stall")
    return need


def _calm_median_s(
    found: KeyIterations, clock: KeyTimeline, max_vus: int, windows: Sequence[Interval]
) -> float | None:
    """The longest median iteration among windows in which the pool had room and the system kept up."""
    longest = None
    for window in windows:
        edges = np.array([clock.at_ns(window.from_s), clock.at_ns(window.to_s)])
        first, last = np.searchsorted(found.start_ns, edges)
        ended = int(np.diff(np.searchsorted(found.ends_in_order, edges))[0])
        if last <= first or edges[1] <= edges[0]:
            continue
        if mean_in_flight(found, edges)[0] >= CALM_SHARE * max_vus:
            continue
        if abs(ended - (last - first)) > KEPT_UP_SHARE * (last - first):
            continue
        median_s = float(np.median(found.duration_ms[first:last])) / 1000
        longest = median_s if longest is None else max(longest, median_s)
    return longest


def _throughput(
    found: KeyIterations, clock: KeyTimeline, max_vus: int, pinned_share: float
) -> tuple[float | None, float | None]:
    """Completions per second while the pool was full, and the most while it was partly busy."""
    if clock.slack_ns or clock.origin_ns is None:
        return None, None
    last = int(found.ends_in_order[-1])
    edges = np.arange(clock.origin_ns, min(last, clock.to_ns) + 1, NS_PER_S, dtype=np.int64)
    if len(edges) < 2:
        return None, None
    busy = mean_in_flight(found, edges) / max_vus
    done = np.diff(np.searchsorted(found.ends_in_order, edges)).astype(np.float64)
    full = done[busy >= pinned_share]
    partly = done[(busy >= PARTLY_BUSY[0]) & (busy < PARTLY_BUSY[1])]
    return (
        float(full.mean()) if len(full) else None,
        float(np.sort(partly)[-LEAST_SECONDS:].mean()) if len(partly) >= LEAST_SECONDS <= len(full) else None,
    )
