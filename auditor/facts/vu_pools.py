"""Iterations in flight, and whether the VU pool was large enough (docs/semantics.md §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from auditor.facts.delivery import DeliveredLoad
from auditor.facts.iterations import Iterations, KeyIterations
from auditor.facts.keys import Key
from auditor.facts.limits import PolicyLimits
from auditor.facts.plan import Plan
from auditor.facts.store import provides
from auditor.facts.timeline import KeyTimeline, Timeline
from auditor.samples.reduce import Ints

VUS_RESERVE = 1.2
"""How many times the VUs needed a pool should have: a fifth in reserve."""


@dataclass(frozen=True)
class VuPool:
    """The VU pool of one arrival-rate key over its window."""

    key: Key
    max_vus: int
    needed_vus: float
    """Little's law: peak rate × mean iteration duration of the worst tumbling window."""
    pinned_s: float | None
    """Seconds of the window with in-flight ≥ max VUs × the limit SD06.pinned_share; None if stamps are too
    coarse to tell (those of one second all end together)."""


@dataclass(frozen=True)
class VuPools:
    """Pools of the keys with a known schedule and VU limit."""

    pools: Mapping[Key, VuPool]


@provides
def backlog(
    plan: Plan, timeline: Timeline, iterations: Iterations, delivery: DeliveredLoad, limits: PolicyLimits
) -> VuPools:
    """In-flight from starts and ends, never from the `vus` gauge."""
    pools: dict[Key, VuPool] = {}
    for key, one in plan.keys.items():
        if one.schedule is None or one.support or not one.max_vus:
            continue
        found, clock = iterations.by_key[key], timeline.keys[key]
        if not len(found.start_ns):
            continue
        times, level = in_flight(found)
        limit = limits["SD06.pinned_share"] * one.max_vus
        pools[key] = VuPool(
            key=key,
            max_vus=one.max_vus,
            needed_vus=float(one.schedule.peak_per_s) * _worst_mean_s(found, clock, delivery, key),
            pinned_s=None if clock.slack_ns else _time_at_least(times, level, limit, clock) / 1e9,
        )
    return VuPools(pools)


def in_flight(found: KeyIterations) -> tuple[Ints, npt.NDArray[np.int32]]:
    """(time, level from that time on), one entry a start or end; at one instant ends come first."""
    ends = found.ends_in_order
    times = np.concatenate([ends, found.start_ns])
    is_end = np.argsort(times, kind="stable") < len(ends)
    times.sort(kind="stable")  # both are quick: they merge two stretches that are in order
    return times, np.cumsum(np.where(is_end, np.int8(-1), np.int8(1)), dtype=np.int32)


def _time_at_least(times: Ints, level: npt.NDArray[np.int32], limit: float, clock: KeyTimeline) -> int:
    """ns inside the window during which the level is at least ``limit``."""
    low, high = clock.from_ns, clock.to_ns
    full = np.flatnonzero(level[:-1] >= limit)
    return int((np.clip(times[full + 1], low, high) - np.clip(times[full], low, high)).sum())


def _worst_mean_s(found: KeyIterations, clock: KeyTimeline, delivery: DeliveredLoad, key: Key) -> float:
    """The largest mean iteration duration among the key's tumbling windows (by start), in seconds."""
    windows = delivery.windows.get(str(key)) or delivery.windows.get(key.scenario) or ()
    worst = 0.0
    for window in windows:
        first = np.searchsorted(found.start_ns, clock.at_ns(window.from_s))
        last = np.searchsorted(found.start_ns, clock.at_ns(window.to_s))
        if last > first:
            worst = max(worst, float(found.duration_ms[first:last].mean()))
    return worst / 1000
