"""Host windows against a plain loop over them, to the last bit; coverage against intervals joined one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.evidence import HostSeries
from auditor.facts import host
from auditor.facts.limits import PolicyLimits
from auditor.facts.timeline import union_s

LIMITS = PolicyLimits({"GH04.busy": 50.0, "GH01.coverage": 0.95, "GH01.step": 10.0})
START_NS = 1_795_989_600 * 10**9
percent = st.one_of(st.sampled_from([0.0, 50.0, 80.0, 100.0]), st.floats(0, 100))
interval = st.sampled_from([0.1, 0.25, 0.999, 1.0, 1.001, 2.0, 5.0, 12.0])


@st.composite
def recorded(draw: st.DrawFn) -> HostSeries:
    """Up to 60 samples of a few cores, with holes and with values that are not known."""
    usual = draw(interval)
    lengths = draw(st.lists(st.one_of(st.just(usual), interval), min_size=1, max_size=60))
    holes = draw(st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.4, 3.0]), min_size=60, max_size=60))
    n, cores = len(lengths), draw(st.integers(1, 3))
    table = draw(st.lists(st.one_of(percent, st.just(np.nan)), min_size=n * cores, max_size=n * cores))
    steps_s = np.array(lengths) + np.array(holes[:n])
    return HostSeries(
        path="host.csv",
        host="",
        stamp_ns=START_NS + np.cumsum(np.rint(steps_s * 1e9).astype(np.int64)),
        interval_s=np.array(lengths),
        cpu_busy_percent=np.array(draw(st.lists(percent, min_size=n, max_size=n))),
        cores=cores,
        core_busy_percent=np.array(table).reshape(n, cores),
    )


def windows(series: HostSeries, span_s: float) -> list[slice]:
    """The shortest run of samples in a row that ends with each and fills the span: two at least."""
    ends = series.stamp_ns / 1e9
    begins = ends - series.interval_s
    found = []
    for last in range(1, len(ends)):
        first = last
        while first and begins[first] - ends[first - 1] <= 0.5 * series.interval_s[first]:
            first -= 1
        fits = [i for i in range(first, last) if ends[last] - begins[i] >= span_s - 1e-6]
        if fits:
            found.append(slice(fits[-1], last + 1))
    return found


def mean(values: np.ndarray, series: HostSeries, window: slice) -> float:
    return float(np.average(values[window], weights=series.interval_s[window]))


@settings(max_examples=200, deadline=None)
@given(recorded())
def test_the_worst_windows_are_those_of_a_loop_over_all(series: HostSeries) -> None:
    load = host._load(series, (0, 2 * START_NS), ("",), shared=False, limits=LIMITS)
    assert load is not None
    assert series.core_busy_percent is not None

    found = [(mean(series.cpu_busy_percent, series, w), -w.stop) for w in windows(series, 5.0)]
    if found:
        assert load.max_5s_percent == max(found)[0]
        assert load.max_5s_at_ns == series.stamp_ns[-max(found)[1] - 1]  # of equal ones the first
    else:
        assert load.max_5s_percent == series.cpu_busy_percent.max()

    of_core: list[tuple[float, int]] = []
    hot: list[tuple[int, int, int]] = []
    ten = windows(series, 10.0)
    for core, column in enumerate(series.core_busy_percent.T):
        for w in ten:
            if np.isnan(column[w]).any():
                continue
            of_core.append((mean(column, series, w), core))
            if of_core[-1][0] > 50:
                begin = int(series.stamp_ns[w.start] - series.interval_s[w.start] * 1e9)
                hot.append((core, begin, int(series.stamp_ns[w.stop - 1])))
        if not ten:
            of_core += [(float(v), core) for v in column if not np.isnan(v)]
    assert (load.worst_core_percent, load.worst_core) == max(of_core, default=(None, None))
    assert load.hot_core_ns == tuple(hot)


@pytest.mark.parametrize("length", [2, 3, 7, 8, 9, 10, 16, 100, 129, 300])
def test_a_mean_is_numpys_average_to_the_bit(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "MOST_AT_ONCE", 7 * length)  # several blocks
    rng = np.random.default_rng(length)
    values, weights = rng.uniform(0, 100, (2, 40 + length)), rng.uniform(0.5, 1.5, 40 + length)
    runs = np.array([(i, i + length) for i in range(40)])
    expected = [[float(np.average(row[a:b], weights=weights[a:b])) for a, b in runs] for row in values]
    assert host._means(values, weights, runs).tolist() == expected


@settings(max_examples=200, deadline=None)
@given(recorded(), st.integers(-5, 90), st.integers(1, 60))
def test_coverage_is_the_union_of_the_intervals(series: HostSeries, from_s: int, length_s: int) -> None:
    start = START_NS + from_s * 10**9 // 2
    low, high = start, start + length_s * 10**9 // 2
    stamps, begin = series.stamp_ns, series.stamp_ns - np.rint(series.interval_s * 1e9).astype(np.int64)
    forgiven = int((stamps - begin).max())
    wider = 0
    if high - low > 2 * forgiven:
        low, high = low + forgiven, high - forgiven
    else:
        wider = forgiven
    spans = [
        (Fraction(max(int(b) - wider, low)), Fraction(min(int(e) + wider, high)))
        for b, e in zip(begin, stamps, strict=True)
    ]
    expected = float(union_s([(b, e) for b, e in spans if e > b]) / (high - low))
    assert host._coverage(begin, stamps, start, start + length_s * 10**9 // 2) == expected
