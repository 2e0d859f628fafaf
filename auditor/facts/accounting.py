"""Every planned start accounted for: completed, interrupted, dropped, silent, not reached, in flight.

Definitions: docs/semantics.md §1. planned = completed + interrupted + dropped + silent + not_reached +
in_flight_at_end, per (generator, scenario); sums are made after that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from auditor.evidence import LOOPING_EXECUTORS
from auditor.facts.iterations import Iterations, KeyIterations
from auditor.facts.keys import Key
from auditor.facts.missing import Missing
from auditor.facts.plan import KeyPlan, Plan
from auditor.facts.schedule import Schedule
from auditor.facts.store import Unknown, provides
from auditor.facts.timeline import KeyTimeline, Timeline

EDGE_S = Fraction(5, 1000)
"""Lag at the end of a schedule within which a healthy k6 may still lose a start."""


@dataclass(frozen=True)
class Account:
    """Counts of one key. None where the executor makes the word meaningless (a closed plan has no slots)."""

    key: Key
    planned: int | None
    started: int
    completed: int
    interrupted: int
    dropped: int | None
    drops_known: bool
    """Whether absence of drops means zero: the evidence is complete and the executor can drop."""
    silent: int | None
    """Forgotten starts beyond the allowance; 0 within it."""
    silent_exact: int | None
    """planned − started − dropped − not_reached − in flight, before the allowance; may be negative."""
    not_reached: int | None
    in_flight_at_end: int | None
    allowance: int
    """e = 1 + ⌈rate at the end × 5 ms⌉, and what a rate printed to two decimals leaves open."""

    @property
    def over(self) -> int:
        """Starts and drops beyond plan and allowance (semantics §1); 0 if there are none."""
        if self.silent_exact is None or self.silent_exact >= -self.allowance:
            return 0
        return -self.silent_exact


@dataclass(frozen=True)
class InWindow:
    """Counts of one key inside its measurement window."""

    slots: int | None
    started: int
    completed: int
    interrupted: int
    dropped: int
    silent: int
    """Located here only if the whole scenario lost more than its allowance."""
    doubt: int = 0
    """By how many ``started`` may be wrong, because coarse stamps cannot place them; 0 for fine stamps."""

    @property
    def lost(self) -> int:
        return self.dropped + self.silent


@dataclass(frozen=True)
class Accounting:
    """Whole scenarios and windows, by key."""

    whole: Mapping[Key, Account]
    window: Mapping[Key, InWindow]

    def scenario(self, name: str) -> list[Account]:
        return [account for key, account in self.whole.items() if key.scenario == name]


def total(values: Iterable[int | None]) -> int | None:
    """The sum, or None if any part is None."""
    found = list(values)
    return None if not found or any(v is None for v in found) else sum(v for v in found if v is not None)


def edge_starts(schedule: Schedule) -> int:
    """Starts that fall due within `EDGE_S` of the end of a schedule (semantics §1): healthy k6 may lose them,
    or make them late."""
    return math.ceil(schedule.end_per_s * EDGE_S)


@provides
def accounting(iterations: Iterations, plan: Plan, timeline: Timeline) -> Accounting:
    """Account for every planned start of every key.

    Raises:
        Unknown: if only totals were kept and a part of the run is excluded, or it was stopped early.
    """
    whole: dict[Key, Account] = {}
    window: dict[Key, InWindow] = {}
    if any(found.totals_only for found in iterations.by_key.values()):
        _refuse_a_window(timeline)
    for key, found in iterations.by_key.items():
        clock = timeline.keys[key]
        complete = timeline.ends[key.generator].complete
        early = timeline.ends[key.generator].ended_early
        whole[key] = account = _account(key, found, plan.keys.get(key), clock, complete, early)
        window[key] = _in_window(found, plan.keys.get(key), clock, account)
    return Accounting(whole, window)


def _refuse_a_window(timeline: Timeline) -> None:
    """Totals say nothing about when: only a whole run can be counted from them."""
    if timeline.warmup_s > 0 or any(clock.cut_right for clock in timeline.keys.values()):
        raise Unknown(
            "a summary cannot tell what started after the warm-up",
            "keep the points (--out json=k6.json.gz); or audit the summary with --warmup 0s",
            missing=Missing.POINTS,
        )
    stopped = next((e.stopped for e in timeline.ends.values() if e.stopped and not e.may_be_whole), "")
    if stopped:
        raise Unknown(
            f"k6 stopped early ({stopped}), and a summary cannot tell when",
            "keep the points",
            missing=Missing.POINTS,
        )


def _account(
    key: Key,
    found: KeyIterations,
    plan: KeyPlan | None,
    clock: KeyTimeline,
    complete: bool,
    ended_early: bool,
) -> Account:
    schedule = plan.schedule if plan is not None else None
    closed = plan is not None and plan.is_closed
    if plan is None or schedule is None:
        bounded = plan.iterations if plan is not None else None
        if bounded is not None:
            return _of_bounded(key, found, bounded, drops_known=complete and found.drops_told)
        return Account(
            key=key,
            planned=None,
            started=found.started,
            completed=found.completed,
            interrupted=found.interrupted,
            dropped=None if closed else found.dropped,
            drops_known=complete and found.drops_told and not closed,
            silent=None,
            silent_exact=None,
            not_reached=None,
            in_flight_at_end=None,
            allowance=1,
        )
    doubt = math.ceil(plan.rate_doubt_per_s * schedule.duration_s)
    allowance = 1 + edge_starts(schedule) + doubt
    not_reached = schedule.slots_between(clock.reached_s, schedule.duration_s) if ended_early else 0
    if ended_early:
        allowance += _around(schedule, clock.reached_s, clock.slack_s)
    left = schedule.total - found.started - found.dropped - not_reached
    in_flight = min(max(left, 0), plan.max_vus or 0) if ended_early else 0
    left -= in_flight
    return Account(
        key=key,
        planned=schedule.total,
        started=found.started,
        completed=found.completed,
        interrupted=found.interrupted,
        dropped=found.dropped,
        drops_known=complete and found.drops_told,
        silent=left if left > allowance else 0,
        silent_exact=left,
        not_reached=not_reached,
        in_flight_at_end=in_flight,
        allowance=allowance,
    )


def _of_bounded(key: Key, found: KeyIterations, planned: int, *, drops_known: bool) -> Account:
    """Of an executor that is to run so many iterations. What maxDuration leaves over k6 writes as dropped: none
    of them waited for a VU; a run that was stopped did not reach them."""
    left = planned - found.started - found.dropped
    return Account(
        key=key,
        planned=planned,
        started=found.started,
        completed=found.completed,
        interrupted=found.interrupted,
        dropped=found.dropped,
        drops_known=drops_known,
        silent=0,
        silent_exact=min(left, 0),
        not_reached=max(left, 0),
        in_flight_at_end=0,
        allowance=1,
    )


def _in_window(found: KeyIterations, plan: KeyPlan | None, clock: KeyTimeline, account: Account) -> InWindow:
    schedule = plan.schedule if plan is not None else None
    inside = clock.inside(found.start_ns)
    # Interrupted iterations have no start time; they were running when the scenario (or the evidence) ended.
    interrupted = 0 if clock.cut_right or clock.window_s <= 0 else found.interrupted
    dropped = int(found.drop_count[clock.inside(found.drop_ns, surely=True)].sum())
    doubt = clock.doubtful(found.start_ns)
    if plan is not None:
        doubt += math.ceil(plan.rate_doubt_per_s * clock.window_s)
    if schedule is not None and clock.to_s == clock.reached_s < schedule.duration_s:
        doubt += _around(schedule, clock.reached_s, clock.slack_s)
    completed = int(inside.sum())
    if found.totals_only:
        completed, dropped = found.completed, found.dropped
    if clock.window_s <= 0:
        completed = dropped = 0
    slots = None if schedule is None else schedule.slots_between(clock.from_s, clock.to_s)
    silent = 0
    if slots is not None and account.silent:
        in_flight = account.in_flight_at_end or 0
        silent = min(max(slots - completed - interrupted - dropped - in_flight - doubt, 0), account.silent)
    can_drop = plan is None or plan.executor not in LOOPING_EXECUTORS
    return InWindow(
        slots=slots,
        started=completed + interrupted,
        completed=completed,
        interrupted=interrupted,
        dropped=dropped if can_drop else 0,
        silent=silent,
        doubt=doubt,
    )


def _around(schedule: Schedule, at_s: Fraction, slack_s: Fraction) -> int:
    """Slots that coarse stamps leave open on either side of the end of the evidence; 0 for fine stamps."""
    low, high = max(at_s - slack_s, Fraction(0)), min(at_s + slack_s, schedule.duration_s)
    return schedule.slots_between(low, high) if slack_s and high > low else 0
