"""Series: nothing that stands out is lost, and buckets hold what they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from auditor.facts.schedule import Schedule
from auditor.present.figure_data import due
from auditor.present.series import (
    MOST_POINTS,
    MOST_ROWS,
    as_series,
    bucket_percentiles,
    bucket_s,
    per_bucket,
    rows,
    tail_curve,
    thin,
)


def test_thinning_keeps_every_peak_the_ends_and_the_order() -> None:
    x = np.arange(100_000, dtype=np.float64)
    y = np.sin(x / 500)
    y[31_337], y[77_777] = 50.0, -50.0
    few_x, few_y = thin(x, y)
    assert len(few_x) <= MOST_POINTS
    assert few_x[0] == 0
    assert few_x[-1] == 99_999
    assert (np.diff(few_x) > 0).all()
    assert few_y[few_x == 31_337] == 50
    assert few_y[few_x == 77_777] == -50
    assert np.array_equal(few_y, y[few_x.astype(int)])


def test_few_points_are_left_alone_and_gaps_become_null() -> None:
    assert as_series(np.array([0.5, 1.5]), np.array([2.0, np.nan])) == {"x": [0.5, 1.5], "y": [2, None]}
    x = np.arange(5000, dtype=np.float64)
    y = np.full(5000, np.nan)
    y[2500] = 7
    found = as_series(x, y)
    assert 7 in found["y"]


def test_rows_are_few_and_can_keep_the_worst() -> None:
    at, value = np.arange(600, dtype=np.float64), np.zeros(600)
    value[123] = 9
    table = rows([at, value], worst=1)
    assert len(table) == MOST_ROWS
    assert [123, 9] in table
    assert rows([np.array([1.0]), np.array([np.inf])]) == [[1, None]]


def test_counts_per_bucket_with_weights() -> None:
    s = 1_000_000_000
    times = np.array([-1, 0, s - 1, s, 3 * s, 9 * s], dtype=np.int64)
    assert per_bucket(times, 0, 1, 4).tolist() == [2, 1, 0, 1]
    assert per_bucket(times, 0, 2, 2, np.array([9, 1, 2, 3, 4, 9])).tolist() == [6, 4]


@pytest.mark.parametrize(
    ("length_s", "count", "expected"),
    [
        (60, 100_000, 1),
        (60, 600, 10),
        (60, 10, 10),
        (3600, 1_000_000, 15),
        (43_200, 10_000_000, 300),
        (10, 5, 1),
    ],
)
def test_buckets_are_few_and_full(length_s: float, count: int, expected: int) -> None:
    assert bucket_s(length_s, count) == expected


def test_percentiles_of_buckets_agree_with_numpy() -> None:
    random = np.random.default_rng(7)
    bucket = random.integers(0, 9, 2000)
    bucket[bucket == 4] = 5  # one bucket stays empty
    value = random.lognormal(3, 1, 2000)
    found = bucket_percentiles(bucket, value, 10, (0.5, 0.95, 0.99))
    for row, share in zip(found, (0.5, 0.95, 0.99), strict=True):
        for i in range(9):
            expected = np.quantile(value[bucket == i], share) if (bucket == i).any() else np.nan
            assert row[i] == pytest.approx(expected, nan_ok=True)
        assert np.isnan(row[9])


def test_the_curve_ends_where_it_is_not_identified() -> None:
    ordered = np.arange(1, 901, dtype=np.float64)  # 900 answers to 1,000 offered: nothing above p90 is known
    curve = tail_curve(ordered, 1000)
    assert max(curve["x"]) <= 1.0
    assert max(curve["x"]) > 0.95
    whole = tail_curve(ordered, 900)
    assert whole["x"][-1] == pytest.approx(np.log10(900), abs=1e-4)
    assert whole["y"][0] == 1
    for x, y in zip(whole["x"], whole["y"], strict=True):
        assert y == pytest.approx(np.quantile(ordered, 1 - 10.0**-x), rel=5e-3)
    assert tail_curve(np.empty(0), 5) == {"x": [], "y": []}


def test_planned_rate_is_the_integral_of_the_schedule() -> None:
    schedule = Schedule.ramping(Fraction(30), [(Fraction(10), Fraction(300)), (Fraction(60), Fraction(300))])
    edges = np.array([-5.0, 0, 5, 10, 70, 100])
    assert due(schedule, edges) == pytest.approx([0, 0, 487.5, 1650, 19_650, 19_650])
    for at in range(0, 71, 7):
        assert due(schedule, np.array([float(at)]))[0] == pytest.approx(float(schedule.integral(Fraction(at))))
