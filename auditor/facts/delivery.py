"""Was the load delivered: over the whole window, stage by stage, and in tumbling 10 s windows.

Definitions: docs/semantics.md §2. Every count is per key on the key's own clock, then summed over the
generators of a scenario, then over the scenarios; the sum alone never passes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from auditor.evidence import Declared
from auditor.facts.accounting import Accounting
from auditor.facts.iterations import Iterations, KeyIterations
from auditor.facts.keys import Key
from auditor.facts.limits import PolicyLimits
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.schedule import WINDOW_STEP_S, tumbling_edges
from auditor.facts.store import provides
from auditor.facts.timeline import KeyTimeline, Timeline

LOAD_LOST_LIMITS = (
    "OL01.deviation",
    "OL03.invalid_ratio",
    "OL03.short_ratio",
    "OL03.short_windows",
    "OL03.small_deficit",
    "SS06.lost_share",
)
"""The limits that decide whether load was lost: what a rule uses that asks for `LoadLost`."""


@dataclass(frozen=True)
class Interval:
    """Planned and started of one stretch; times on the scenario's own clock."""

    scope: str
    """"all", a scenario, or a key in words."""
    scenario: str
    generator: str
    index: int
    from_s: Fraction
    to_s: Fraction
    slots: int
    started: int
    keys: int = 1
    """How many keys were summed: each may differ by one at its edge."""
    doubt: int = 0
    """By how many ``started`` may be wrong, because coarse stamps cannot place them; 0 for fine stamps."""
    small_deficit: float = 0
    """A deficit of at most this many starts is too small to count."""

    @property
    def deficit(self) -> int:
        return self.slots - self.started

    @property
    def ratio(self) -> float:
        """Started ÷ planned; 1 where nothing was planned, and where a deficit is too small to count."""
        if self.slots <= 0 or 0 <= self.deficit <= self.small_deficit:
            return 1.0
        return self.started / self.slots

    def tolerance(self, deviation: Fraction) -> Fraction:
        """By how many starts it may differ from its plan: a share of its slots, and at least one a key."""
        return max(self.slots * deviation, Fraction(self.keys))

    def within(self, deviation: Fraction) -> bool:
        """Whether it differs by no more; coarse stamps are given the benefit of doubt."""
        return abs(self.deficit) - self.doubt <= self.tolerance(deviation)


@dataclass(frozen=True)
class DeliveredLoad:
    """Stretches of every open scenario with a known plan; the per-key ones and the sums."""

    whole: tuple[Interval, ...]
    stages: tuple[Interval, ...]
    windows: Mapping[str, tuple[Interval, ...]]
    """By scope (a scenario's sum, and each key where there are several), in time order."""
    unscheduled: tuple[Key, ...] = ()
    """Measured keys whose schedule nothing tells: not closed, or not in the plan at all."""
    coarse: bool = False
    """Whether stamps are too coarse to place starts: windows, and stages with an edge, then prove nothing."""


@provides
def delivery(
    plan: Plan,
    timeline: Timeline,
    iterations: Iterations,
    accounting: Accounting,
    declared: Declared,
    limits: PolicyLimits,
) -> DeliveredLoad:
    """Planned against started, for every key with a schedule that is not declared support."""
    keyed = [
        # Iterations in flight where the evidence was cut off began, but left no sample to count.
        _Keyed(one, timeline.keys[key], iterations.by_key[key], accounting.whole[key].in_flight_at_end or 0)
        for key, one in plan.keys.items()
        if one.schedule is not None and not one.support and key in timeline.keys
    ]
    whole: list[Interval] = []
    stages: list[Interval] = []
    windows: dict[str, tuple[Interval, ...]] = {}
    small = limits["OL03.small_deficit"]
    for scenario in dict.fromkeys(entry.plan.key.scenario for entry in keyed):
        mine = [entry for entry in keyed if entry.plan.key.scenario == scenario]
        parts = [_whole(entry, accounting) for entry in mine]
        timed = not any(entry.iterations.totals_only for entry in mine)
        if len(mine) > 1:
            whole += parts
            for entry in mine if timed else ():
                key = entry.plan.key
                stages += _stages([entry], str(key), key.generator)
                windows[str(key)] = _windows([entry], str(key), key.generator, small)
        whole.append(_sum(parts, scenario, scenario))
        if timed:
            stages += _stages(mine, scenario, "")
            windows[scenario] = _windows(mine, scenario, "", small)
    sums = [s for s in whole if s.scope == s.scenario]
    if len(sums) > 1:
        whole.append(_sum(sums, "all", ""))
    unscheduled = plan.unscheduled()
    unscheduled += [k for k in accounting.whole if k not in plan.keys and not declared.is_support(k.scenario)]
    coarse = any(entry.clock.slack_ns for entry in keyed)
    return DeliveredLoad(tuple(whole), tuple(stages), windows, tuple(unscheduled), coarse)


class _Keyed(NamedTuple):
    plan: KeyPlan
    clock: KeyTimeline
    iterations: KeyIterations
    in_flight: int

    def slots(self, low: Fraction, high: Fraction) -> int:
        """Slots of a stretch, less those whose iterations were in flight at the end of the evidence."""
        assert self.plan.schedule is not None
        slots = self.plan.schedule.slots_between(low, high)
        return max(slots - self.in_flight, 0) if high == self.clock.to_s else slots

    def starts(self, low: Fraction, high: Fraction) -> int:
        """Starts in [low, high) of the scenario's clock; the scenario's own ends cut nothing."""
        start_ns = self.iterations.start_ns
        first = 0 if low <= 0 else int(np.searchsorted(start_ns, self.clock.at_ns(low)))
        last = len(start_ns)
        if high < self.clock.to_s or self.clock.cut_right:
            last = int(np.searchsorted(start_ns, self.clock.at_ns(high)))
        return max(last - first, 0)


def _whole(entry: _Keyed, accounting: Accounting) -> Interval:
    key, clock = entry.plan.key, entry.clock
    slots = entry.slots(clock.from_s, clock.to_s) if clock.window_s > 0 else 0
    counts = accounting.window[key]
    return Interval(
        str(key),
        key.scenario,
        key.generator,
        0,
        clock.from_s,
        clock.to_s,
        slots,
        counts.started,
        doubt=counts.doubt,
    )


def _sum(parts: Sequence[Interval], scope: str, scenario: str) -> Interval:
    return Interval(
        scope,
        scenario,
        "",
        0,
        min(p.from_s for p in parts),
        max(p.to_s for p in parts),
        sum(p.slots for p in parts),
        sum(p.started for p in parts),
        sum(p.keys for p in parts),
        sum(p.doubt for p in parts),
    )


def _stages(mine: Sequence[_Keyed], scope: str, generator: str) -> list[Interval]:
    """Stages of the (equal) plans, each cut to the window; interrupted iterations count in the last."""
    schedule = mine[0].plan.schedule
    assert schedule is not None
    found: list[Interval] = []
    for index, stage in enumerate(schedule.stages):
        slots = started = 0
        from_s, to_s = stage.start_s, stage.end_s
        for entry in mine:
            clock = entry.clock
            low = max(stage.start_s, clock.from_s)
            high = min(stage.end_s, clock.to_s)
            if high <= low:
                continue
            from_s, to_s = low, high
            slots += entry.slots(low, high)
            started += entry.starts(low, high)
            if high == clock.to_s and not clock.cut_right:
                started += entry.iterations.interrupted
        if slots or started:
            scenario = mine[0].plan.key.scenario
            found.append(
                Interval(scope, scenario, generator, index + 1, from_s, to_s, slots, started, len(mine))
            )
    return found


def _windows(mine: Sequence[_Keyed], scope: str, generator: str, small_deficit: float) -> tuple[Interval, ...]:
    to_s = min(entry.clock.to_s for entry in mine)
    schedules = [entry.plan.schedule for entry in mine if entry.plan.schedule is not None]
    edges = tumbling_edges(schedules, mine[0].clock.from_s, to_s)
    found = []
    for index, (low, high) in enumerate(itertools.pairwise(edges)):
        last = index == len(edges) - 2
        slots = started = 0
        for entry in mine:
            end = entry.clock.to_s if last else high
            slots += entry.slots(low, end)
            started += entry.starts(low, end)
        scenario = mine[0].plan.key.scenario
        found.append(
            Interval(
                scope,
                scenario,
                generator,
                index + 1,
                low,
                high,
                slots,
                started,
                len(mine),
                small_deficit=small_deficit,
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class LoadLost:
    """Whether the run lost load, by scenario: what "with drops or lag" means in a rule (semantics §7)."""

    scenarios: Mapping[str, str]
    """Scenario -> why, for those that did."""

    @property
    def any(self) -> bool:
        return bool(self.scenarios)

    def of(self, scenario: str) -> str:
        return self.scenarios.get(scenario, "")


@dataclass(frozen=True)
class ShortOf:
    """The windows of one scope that delivered less than the limit OL03.short_ratio of their plan; at least
    one did."""

    short: tuple[Interval, ...]
    windows: int
    """Of how many windows."""
    allowed: int
    """How many may be short: OL03.short_windows of them, and at least one."""
    is_deep: bool
    """Whether the worst is below OL03.invalid_ratio."""

    @property
    def worst(self) -> Interval:
        return min(self.short, key=lambda w: w.ratio)

    @property
    def is_invalid(self) -> bool:
        """Whether that is more than a warning."""
        return self.is_deep or len(self.short) > self.allowed


@dataclass(frozen=True)
class ShortWindows:
    """By scope (a scenario's sum, and each key where there are several): those with a short window."""

    by_scope: Mapping[str, ShortOf]


@provides
def short_windows(delivery: DeliveredLoad, limits: PolicyLimits) -> ShortWindows:
    """The windows that fell short, by the limits of OL03."""
    found: dict[str, ShortOf] = {}
    for scope, windows in delivery.windows.items():
        short = tuple(w for w in windows if w.ratio < limits["OL03.short_ratio"])
        if short:
            allowed = max(1, math.floor(len(windows) * limits.exact("OL03.short_windows")))
            is_deep = any(w.ratio < limits["OL03.invalid_ratio"] for w in short)
            found[scope] = ShortOf(short, len(windows), allowed, is_deep)
    return ShortWindows(found)


@provides
def load_lost(
    delivery: DeliveredLoad, short: ShortWindows, accounting: Accounting, limits: PolicyLimits
) -> LoadLost:
    """(dropped + silent) / N* ≥ the limit SS06.lost_share, or OL01 or OL03 beyond its invalid limit."""
    found: dict[str, str] = {}
    for stretch in delivery.whole:
        if stretch.scope != stretch.scenario:
            continue
        counts = [c for k, c in accounting.window.items() if k.scenario == stretch.scenario]
        lost = sum(c.lost for c in counts)
        slots = sum(c.slots or 0 for c in counts)
        if lost and slots and lost >= slots * limits.exact("SS06.lost_share"):
            found[stretch.scenario] = f"{lost:,} of {slots:,} planned starts were dropped or silent"
        elif not stretch.within(limits.exact("OL01.deviation")) and stretch.deficit > 0:
            found[stretch.scenario] = f"{stretch.started:,} of {stretch.slots:,} planned starts were made"
    for scope in short.by_scope.values() if not delivery.coarse else ():
        if scope.is_invalid:
            worst = scope.worst
            words = f"a {WINDOW_STEP_S:g} s window delivered {worst.ratio:.1%} of its plan"
            found.setdefault(worst.scenario, words)
    return LoadLost(found)
