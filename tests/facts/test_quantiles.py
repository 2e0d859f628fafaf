"""Percentiles against NumPy and brute force; intervals against the binomial distribution, term by term."""

from __future__ import annotations

import math
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from auditor.facts.quantiles import cell, identified, interval_ranks, percentile, round_half_up
from auditor.fields import MINIMUM_N, PERCENTILES

finite = st.floats(0, 1e6, allow_nan=False)


@settings(max_examples=200, deadline=None)
@given(st.lists(finite, min_size=1, max_size=300), st.sampled_from([p for _, p in PERCENTILES]))
def test_percentile_is_numpys_linear(values: list[float], p: float) -> None:
    ordered = np.sort(np.array(values))
    expected = float(np.percentile(ordered, p * 100, method="linear"))
    assert percentile(ordered, p, len(ordered)) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 4000), st.data())
def test_identified_by_walking_the_sorted_list(n: int, data: st.DataObject) -> None:
    censored = data.draw(st.integers(0, n))
    for _, p in PERCENTILES:
        # h = p (n - 1) in thousandths, so that 0.99 x 100 is 99 and not 99.00000000000001
        upper_neighbour = -(-round(p * 1000) * (n - 1) // 1000)
        last_finite = n - censored - 1
        assert identified(p, n, censored) is (censored < n and upper_neighbour <= last_finite)


@settings(max_examples=100, deadline=None)
@given(st.lists(finite, min_size=400, max_size=500), st.integers(0, 60))
def test_offered_percentile_equals_linear_interpolation_with_infinities(values: list[float], k: int) -> None:
    ordered = np.sort(np.array(values))
    with_infinity = np.concatenate([ordered, np.full(k, np.inf)])
    n = len(with_infinity)
    for name, p in PERCENTILES[:4]:
        found = cell(ordered, name, k)
        h = p * (n - 1)
        low, high = math.floor(h + 1e-9), math.ceil(h - 1e-9)
        if np.isinf(with_infinity[high]):
            assert found.status == "not-identified"
            assert found.at_least == ordered[-1]
            assert found.value is None
        else:
            a, b = with_infinity[low], with_infinity[high]
            assert found.value == pytest.approx(a + (b - a) * (h - low), rel=1e-9, abs=1e-6)


def test_the_recorded_failure_share_voids_what_it_must() -> None:
    # 6.31 % failed: p50 and p90 stand, p95 and above fall on failed requests.
    ordered = np.arange(9369, dtype=float)
    states = [cell(ordered, name, 631).status for name, _ in PERCENTILES]
    assert states == ["ok", "ok", "not-identified", "not-identified", "not-identified"]


def test_a_percentile_may_have_any_number_of_decimals() -> None:
    # h = 0.9999 x 10,000 = 9,999 exactly: the tenth-thousandth of 10,001 in order may be the last finite one.
    assert identified(0.9999, 10_001, 1)
    assert not identified(0.9999, 10_001, 2)


@pytest.mark.parametrize("name", list(MINIMUM_N))
def test_minimum_n_is_where_a_two_sided_interval_begins(name: str) -> None:
    p = dict(PERCENTILES)[name]
    assert interval_ranks(MINIMUM_N[name], p) is not None
    assert interval_ranks(MINIMUM_N[name] - 1, p) is None
    assert cell(np.arange(MINIMUM_N[name] - 1, dtype=float), name).status == "too-few"
    assert cell(np.arange(MINIMUM_N[name], dtype=float), name).status == "ok"


@pytest.mark.parametrize(("n", "p"), [(6, 0.5), (20, 0.5), (100, 0.9), (400, 0.99), (97, 0.95)])
def test_interval_ranks_term_by_term(n: int, p: float) -> None:
    terms = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    low = max(rank for rank in range(1, n + 1) if sum(terms[:rank]) <= 0.025)
    high = min(rank for rank in range(1, n + 1) if sum(terms[rank:]) <= 0.025)
    assert interval_ranks(n, p) == (low, high)


@pytest.mark.parametrize("p", [p for _, p in PERCENTILES])
def test_interval_ranks_are_those_of_scipy(p: float) -> None:
    """Every n up to 1,500, and some up to three hundred million: more than fit in memory."""
    rng = np.random.default_rng(1)
    large = np.exp(rng.uniform(np.log(1_500), np.log(3e8), 60)).astype(np.int64)
    for n in (*range(1, 1_501), *large.tolist()):
        # The smallest k with P(B ≤ k) ≥ 2.5 %, and with P(B ≤ k) ≥ 97.5 %: ranks are from 1.
        low, high = int(binom.ppf(0.025, n, p)), int(binom.ppf(0.975, n, p)) + 1
        assert interval_ranks(n, p) == ((low, high) if low >= 1 and high <= n else None), n


def test_upper_end_of_the_interval_may_be_infinite() -> None:
    found = cell(np.arange(98, dtype=float), "p95", 2)
    assert found.status == "ok"
    assert found.interval is not None
    assert math.isinf(found.interval[1])


def test_empty_population_has_no_cell() -> None:
    assert cell(np.empty(0), "p50").status == "empty"
    assert cell(np.empty(0), "p50", 400).status == "not-identified"


@pytest.mark.parametrize(("x", "expected"), [(0.5, 1), (1.5, 2), (2.5, 3), (2.4999, 2), (0.0, 0)])
def test_round_half_up(x: float, expected: int) -> None:
    assert round_half_up(x) == expected
