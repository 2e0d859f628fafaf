"""When k6 is asked to start iterations: the slots of an arrival-rate schedule.

Definitions: docs/semantics.md §1 "Slots". A constant schedule has slot i (i = 0, 1, …) at i whole periods,
a period being ⌊timeUnit ÷ rate⌋ in ns, as k6's ticker counts; a ramping one has slot n (n = 1, 2, …) where the
integral of the rate reaches n. An execution segment runs a stripe of the global slots. Counts are exact
integers, so that every slot lies in exactly one stage and one window; slot *times* are rounded to ns.
"""

from __future__ import annotations

import bisect
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from auditor.facts.stripes import WHOLE, Stripe
from auditor.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

AT_THE_EDGE_NS = 100_000
"""A constant slot less than 0.1 ms before a moment counts behind it. k6's period is cut to whole ns, so that
30/s has slot 900 some 300 ns before 30 s: no timer of k6's is that punctual, and the start comes after it."""
WINDOW_STEP_S = 10
"""Tumbling windows close at a multiple of this from their start (semantics §2)."""
WINDOW_SLOTS = 150
"""A tumbling window holds at least so many slots, of which three are 2 % (semantics §2)."""
MAX_SLOTS = 200_000_000
"""A schedule beyond this is refused: it would not fit in memory, and no k6 process delivers it."""


@dataclass(frozen=True)
class RateStage:
    """One stretch of a schedule in which the rate is linear; times from the scenario's start."""

    start_s: Fraction
    end_s: Fraction
    start_per_s: Fraction
    end_per_s: Fraction

    @property
    def length_s(self) -> Fraction:
        return self.end_s - self.start_s

    def integral(self, until_s: Fraction) -> Fraction:
        """Iterations due in this stage up to ``until_s`` (clipped to the stage)."""
        x = min(max(until_s, self.start_s), self.end_s) - self.start_s
        if x <= 0:
            return Fraction(0)
        return (self.start_per_s + self._half_slope * x) * x if self._half_slope else self.start_per_s * x

    @cached_property
    def _half_slope(self) -> Fraction:
        return (self.end_per_s - self.start_per_s) / (2 * self.length_s)


@dataclass(frozen=True)
class Schedule:
    """An arrival-rate plan. ``kind`` decides where slots lie: at i / rate, or where the integral reaches n."""

    kind: Literal["constant", "ramping"]
    stages: tuple[RateStage, ...]
    """Rates are those of this schedule: of a part, its share of the global rate."""
    stripe: Stripe = WHOLE
    """Which slots of ``whole`` are its own."""
    whole: Schedule | None = None
    """The global schedule that this one is a part of; None if it is the global one."""

    @classmethod
    def constant(cls, rate_per_s: Fraction, duration_s: Fraction) -> Schedule:
        return cls("constant", (RateStage(Fraction(0), duration_s, rate_per_s, rate_per_s),))

    @classmethod
    def ramping(cls, start_per_s: Fraction, stages: Sequence[tuple[Fraction, Fraction]]) -> Schedule:
        """Build from k6 stages ``(duration_s, target_per_s)``; a stage of zero length is a jump."""
        built: list[RateStage] = []
        at, rate = Fraction(0), start_per_s
        for duration_s, target_per_s in stages:
            built.append(RateStage(at, at + duration_s, rate, target_per_s))
            at, rate = at + duration_s, target_per_s
        return cls("ramping", tuple(built))

    @property
    def duration_s(self) -> Fraction:
        return self.stages[-1].end_s if self.stages else Fraction(0)

    @property
    def peak_per_s(self) -> Fraction:
        """The highest rate asked for at any moment of non-zero length, the start included."""
        rates = [r for s in self.stages if s.length_s > 0 for r in (s.start_per_s, s.end_per_s)]
        return max(rates, default=Fraction(0))

    @property
    def end_per_s(self) -> Fraction:
        """The rate at the end of the schedule."""
        return self.stages[-1].end_per_s if self.stages else Fraction(0)

    @property
    def ramp_end_s(self) -> Fraction | None:
        """Where the ramp-up ends: after the first stage whose target is the plan's maximum.

        None where there is no ramp to leave out: the plan starts at its maximum (a jump at 0 s included), or
        it ends on its ramp (no later stage has a length).
        """
        lasting = [s for s in self.stages if s.length_s > 0]
        if not lasting or lasting[0].start_per_s == self.peak_per_s:
            return None
        end_s = next(s.end_s for s in self.stages if s.end_per_s == self.peak_per_s)
        return end_s if end_s < lasting[-1].end_s else None

    @cached_property
    def total(self) -> int:
        """Slots of the whole schedule."""
        return self.slots_to(self.duration_s)

    def integral(self, until_s: Fraction) -> Fraction:
        """The integral of the rate from 0 to ``until_s``."""
        i = bisect.bisect_left(self._ends_s, until_s)
        before = self._integrals[i]
        return before + self.stages[i].integral(until_s) if i < len(self.stages) else before

    @cached_property
    def _ends_s(self) -> tuple[Fraction, ...]:
        return tuple(stage.end_s for stage in self.stages)

    @cached_property
    def _integrals(self) -> tuple[Fraction, ...]:
        """The integral up to the start of each stage, and to the end of the last."""
        return tuple(itertools.accumulate((s.integral(s.end_s) for s in self.stages), initial=Fraction(0)))

    @cached_property
    def period_ns(self) -> int:
        """From one slot of a constant schedule to the next: whole ns, as k6 counts (333,333 at 3,000/s)."""
        return max(1, math.floor(NS_PER_S / self.stages[0].start_per_s))

    def slots_to(self, until_s: Fraction) -> int:
        """Slots before ``until_s``: ⌈t ÷ period⌉ of a constant schedule, ⌊I(t)⌋ of a ramping one."""
        if self.whole is not None:
            return self.stripe.count(self.whole.slots_to(until_s))
        if self.kind == "constant":
            before_ns = min(until_s, self.duration_s) * NS_PER_S - AT_THE_EDGE_NS
            return max(math.ceil(before_ns / self.period_ns), 0)
        return math.floor(self.integral(until_s))

    def slots_between(self, from_s: Fraction, to_s: Fraction) -> int:
        """Slots of a window; windows that touch share none and lose none."""
        return max(0, self.slots_to(to_s) - self.slots_to(from_s))

    def part(self, stripe: Stripe) -> Schedule:
        """What one of several generators runs of this plan (an execution segment)."""
        if stripe == WHOLE:
            return self
        share = stripe.share
        stages = tuple(
            RateStage(s.start_s, s.end_s, s.start_per_s * share, s.end_per_s * share) for s in self.stages
        )
        return Schedule(self.kind, stages, stripe, self)

    def slot_times_ns(self, count: int | None = None) -> npt.NDArray[np.int64]:
        """Times of the first ``count`` slots (all by default), ns from the scenario's start."""
        n = self.total if count is None else min(count, self.total)
        if n > MAX_SLOTS:
            raise ValueError(f"a schedule of {n} iterations is beyond {MAX_SLOTS}")
        if n <= 0:
            return np.empty(0, dtype=np.int64)
        if self.whole is not None:
            return self.whole._times_ns(self.stripe.places(n))
        return self._times_ns(np.arange(n, dtype=np.int64))

    def _times_ns(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Times of these slots (ascending, numbered from 0)."""
        if self.kind == "constant":
            return slots * self.period_ns
        times = np.empty(len(slots), dtype=np.int64)
        done, before = 0, Fraction(0)  # slots placed; the integral at the stage's start
        for stage in self.stages:
            if done >= len(slots) or stage.length_s == 0:
                continue
            after = before + stage.integral(stage.end_s)
            # Slot number i lies where the integral reaches i + 1.
            last = int(np.searchsorted(slots, math.floor(after)))
            if last > done:
                # m iterations into the stage: a·x² + r·x = m, solved in the form that stays exact for a → 0.
                m = slots[done:last] + (1.0 - float(before))
                r = float(stage.start_per_s)
                a = float(stage._half_slope)
                x = 2 * m / (r + np.sqrt(np.maximum(r * r + 4 * a * m, 0.0)))
                times[done:last] = np.rint((float(stage.start_s) + x) * NS_PER_S).astype(np.int64)
                done = last
            before = after
        return times[:done]


def tumbling_edges(schedules: Sequence[Schedule], from_s: Fraction, to_s: Fraction) -> tuple[Fraction, ...]:
    """Edges of the tumbling windows of semantics §2 over the sum of ``schedules``.

    A window closes at the first multiple of `WINDOW_STEP_S` from its start at which it holds `WINDOW_SLOTS`;
    the remainder joins the last one. Returns at least two edges, or none if the stretch is empty.
    """
    if to_s <= from_s:
        return ()
    step_s, enough = Fraction(WINDOW_STEP_S), WINDOW_SLOTS
    edges = [from_s]
    slots_at_edge = sum(s.slots_to(from_s) for s in schedules)
    at = from_s + step_s
    while at <= to_s:
        slots = sum(s.slots_to(at) for s in schedules)
        if slots - slots_at_edge >= enough:
            edges.append(at)
            slots_at_edge = slots
        at += step_s
    if len(edges) == 1:
        edges.append(to_s)
    else:
        edges[-1] = to_s
    return tuple(edges)
