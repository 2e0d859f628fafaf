"""Slots against brute force in exact fractions, the published check values, and properties."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.facts.schedule import Schedule, tumbling_edges
from auditor.facts.stripes import arrival_stripes

MINUTE = F(60)


HALVINGS = 45


def brute_force_slots(start: F, stages: list[tuple[F, F]]) -> list[F]:
    """Ramping slots by bisection on the exact integral, in whole numbers: no formula shared with the product.

    After k of the 2^45 parts of a stage of length L, the integral has grown by the trapezium from rate p to
    p + (q - p) k / 2^45, which is L (p k / 2^45 + (q - p) k² / 2^91).
    """
    found = []
    at, reached, rate = F(0), F(0), start
    for length, target in stages:
        end = reached + (rate + target) / 2 * length
        for n in range(math.floor(reached) + 1, math.floor(end) + 1):
            terms = (
                length * rate * 2 ** (HALVINGS + 1),
                length * (target - rate),
                (n - reached) * 2 ** (2 * HALVINGS + 1),
            )
            common = math.lcm(*(term.denominator for term in terms))
            linear, square, wanted = (int(term * common) for term in terms)
            low, high = 0, 2**HALVINGS
            for _ in range(HALVINGS):
                middle = (low + high) // 2
                low, high = (middle, high) if (linear + square * middle) * middle < wanted else (low, middle)
            found.append(at + length * F(high, 2**HALVINGS))
        at, reached, rate = at + length, end, target
    return found


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        # 300/min: 300/1m, 600/2m, 600/4m, 60/2m -> 300 + 900 + 2,400 + 660 (k6-docs#1565)
        (
            Schedule.ramping(
                F(300, 60), [(MINUTE, F(5)), (2 * MINUTE, F(10)), (4 * MINUTE, F(10)), (2 * MINUTE, F(1))]
            ),
            4260,
        ),
        # 500/s, 2000/5m, 4000/5m, 4000/10m -> 375,000 + 900,000 + 2,400,000
        (
            Schedule.ramping(F(500), [(5 * MINUTE, F(2000)), (5 * MINUTE, F(4000)), (10 * MINUTE, F(4000))]),
            3_675_000,
        ),
        # 30 -> 300/s in 10 s, hold 60 s -> 1,650 + 18,000
        (Schedule.ramping(F(30), [(F(10), F(300)), (F(60), F(300))]), 19_650),
        (Schedule.constant(F(10), F(4)), 40),
        # 20/s x 10 s is 200, not 600 (k6-oss-workshop#2); 30/s x 30 s is 900 (k6#3052)
        (Schedule.constant(F(20), F(10)), 200),
        (Schedule.constant(F(30), F(30)), 900),
    ],
)
def test_published_totals(schedule: Schedule, expected: int) -> None:
    assert schedule.total == expected
    assert len(schedule.slot_times_ns(10)) == 10


def test_constant_slots_lie_at_multiples_of_the_period() -> None:
    times = Schedule.constant(F(10), F(1)).slot_times_ns()
    assert times.tolist() == [i * 100_000_000 for i in range(10)]


def test_first_ramping_slot_is_where_the_integral_reaches_one() -> None:
    # From 0 to 2/s in 10 s: I(t) = t²/10, so slot 1 is at √10 s and there are ⌊10⌋ slots.
    schedule = Schedule.ramping(F(0), [(F(10), F(2))])
    assert schedule.total == 10
    assert schedule.slot_times_ns()[0] == pytest.approx(math.sqrt(10) * 1e9, abs=1)


def test_zero_length_stage_is_a_jump_and_fractions_carry_over() -> None:
    # 0.5 iterations from the first stage, a jump to 1/s, then half a second more makes the first slot.
    schedule = Schedule.ramping(F(1, 2), [(F(1), F(1, 2)), (F(0), F(1)), (F(3), F(1))])
    assert schedule.total == 3
    assert schedule.slot_times_ns().tolist() == [1_500_000_000, 2_500_000_000, 3_500_000_000]


rates = st.fractions(min_value=0, max_value=40, max_denominator=60)
lengths = st.fractions(min_value=0, max_value=6, max_denominator=10)


@settings(max_examples=60, deadline=None)
@given(rates, st.lists(st.tuples(lengths, rates), min_size=1, max_size=4))
def test_ramping_slots_equal_brute_force(start: F, stages: list[tuple[F, F]]) -> None:
    schedule = Schedule.ramping(start, stages)
    expected = brute_force_slots(start, stages)
    assert schedule.total == len(expected)
    found = schedule.slot_times_ns()
    assert len(found) == len(expected)
    # Where the rate is near zero a slot's time is ill-conditioned: compare the integral there instead.
    for slot_ns, when in zip(found.tolist(), expected, strict=True):
        close_in_time = abs(slot_ns - float(when) * 1e9) <= 2_000
        n = schedule.integral(F(slot_ns, 10**9))
        assert close_in_time or abs(n - round(n)) < F(1, 1000)


@settings(max_examples=100, deadline=None)
@given(
    rates.filter(lambda r: r > 0),
    st.lists(st.tuples(lengths, rates), min_size=1, max_size=4),
    st.lists(st.fractions(min_value=0, max_value=24, max_denominator=7), max_size=5),
)
def test_every_slot_lies_in_exactly_one_window(start: F, stages: list[tuple[F, F]], cuts: list[F]) -> None:
    for schedule in (Schedule.ramping(start, stages), Schedule.constant(start, F(24))):
        end = schedule.duration_s
        edges = sorted({F(0), end, *(c for c in cuts if c < end)})
        parts = [schedule.slots_between(a, b) for a, b in zip(edges, edges[1:], strict=False)]
        assert sum(parts) == schedule.total


@settings(max_examples=50, deadline=None)
@given(rates, st.lists(st.tuples(lengths, rates), min_size=1, max_size=4), st.integers(2, 5), st.integers(0, 9))
def test_segments_run_each_global_slot_once(start: F, stages: list[tuple[F, F]], n: int, max_vus: int) -> None:
    whole = Schedule.ramping(start, stages)
    parts = [whole.part(s) for s in arrival_stripes([F(1, n)] * n, max_vus) if s is not None]
    assert sum(p.total for p in parts) == whole.total
    times = sorted(t for p in parts for t in p.slot_times_ns().tolist())
    assert times == whole.slot_times_ns().tolist()
    assert sum(p.integral(p.duration_s) for p in parts) == whole.integral(whole.duration_s)


def test_a_long_constant_rate_starts_a_few_more_than_its_rate() -> None:
    """3,000/s has a slot every 333,333 ns: in two hours ⌈7,200 s ÷ 333,333 ns⌉ = 21,600,022 of them."""
    assert Schedule.constant(F(3000), F(7200)).total == 21_600_022


def test_a_slot_at_the_very_end_of_a_stretch_counts_behind_it() -> None:
    """30/s: slot 150 lies 50 ns before 5 s, slot 900 lies 300 ns before 30 s."""
    schedule = Schedule.constant(F(30), F(30))
    assert schedule.slots_to(F(5)) == 150
    assert schedule.total == 900


def test_tumbling_windows_close_at_150_slots_and_the_rest_joins_the_last() -> None:
    def edges(rate: int, from_s: int, to_s: int) -> list[float]:
        return [float(e) for e in tumbling_edges([Schedule.constant(F(rate), F(to_s))], F(from_s), F(to_s))]

    # 10/s: 100 slots in 10 s are too few, so windows are 20 s; 50 s -> 20, 30.
    assert edges(10, 0, 50) == [0, 20, 50]
    # 100/s over 35 s from a warm-up of 5 s: 5-15, 15-25, 25-40 (the remaining 5 s join).
    assert edges(100, 5, 40) == [5, 15, 25, 40]
    # Too short for any: one window. Nothing: none.
    assert edges(10, 0, 6) == [0, 6]
    assert edges(10, 6, 6) == []


def test_slot_times_are_ascending_and_inside_the_schedule() -> None:
    schedule = Schedule.ramping(F(50), [(F(15), F(200)), (F(15), F(400)), (F(20), F(400))])
    times = schedule.slot_times_ns()
    assert schedule.total == len(times) == 14_375
    assert (np.diff(times) > 0).all()
    assert times[0] > 0
    assert times[-1] <= 50 * 10**9


def test_a_plan_of_many_stages_is_counted_without_walking_them_each_time() -> None:
    """Six hours in one-second stages between 1/s and 2/s: 1.5/s × 21,600 s, a quarter of it every 90 minutes."""
    stages = [(F(1), F(1 + i % 2)) for i in range(1, 21_601)]
    schedule = Schedule.ramping(F(1), stages)
    assert schedule.total == 32_400
    assert [schedule.slots_to(F(5400 * i)) for i in range(5)] == [8100 * i for i in range(5)]
