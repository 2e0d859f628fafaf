"""The reducer against brute force: any batches, in any order, over any number of workers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.evidence import MetricBatch, MetricDefinition, PartReport, PointBatch, PointTables
from auditor.samples import columns as samples
from auditor.samples import reduce
from auditor.samples.columns import GeneratorSamples
from auditor.samples.reduce import Reduced, SampleReducer
from auditor.samples.spill import Spill
from auditor.units import NS_PER_S

METRICS = ["http_req_duration", "http_req_blocked", "iterations", "data_received", "mine", "limited"]
KEPT = {"http_req_duration", "http_req_blocked", "iterations", "limited"}
SUMMED = {"data_received"}
Row = tuple[int, int, float, int]

rows = st.lists(
    st.tuples(
        st.integers(0, len(METRICS) - 1),
        # Few stamps, so that many are shared; some before the epoch, some far apart.
        st.integers(-3, 12).map(lambda n: n * 400_000_000) | st.sampled_from([-(10**18), 10**18]),
        st.sampled_from([0.0, -0.0, 1.0, 2.5]) | st.floats(allow_nan=False, allow_infinity=False),
        st.integers(0, 5),
    ),
    max_size=60,
)


def tables(tagsets: int = 6) -> PointTables:
    width = len(str(tagsets - 1))  # so that they sort as they count
    limited = MetricDefinition("limited", "trend", "default", ("p(95)<1",), ())
    return PointTables(list(METRICS), [(("n", f"{i:0{width}}"),) for i in range(tagsets)], {"limited": limited})


def batch(part: list[Row]) -> PointBatch:
    metric, time_ns, value, tagset = zip(*part, strict=True) if part else ((), (), (), ())
    return PointBatch(
        np.array(metric, dtype=np.int32),
        np.array(time_ns, dtype=np.int64),
        np.array(value, dtype=np.float64),
        np.array(tagset, dtype=np.int32),
    )


class File:
    """A points file that is not there: its secrets are none, and nobody asks for its digest."""

    path = "k6.json"

    def masked(self, tables: PointTables) -> PointTables:
        return tables


def merged(*parts: Reduced) -> GeneratorSamples:
    return samples.merged(File(), parts)  # type: ignore[arg-type]


def check(found: GeneratorSamples, every: list[Row]) -> None:
    assert set(found.columns) == {METRICS[r[0]] for r in every} & KEPT
    for name, column in found.columns.items():
        expected = sorted((r[1], r[3], r[2]) for r in every if METRICS[r[0]] == name)
        got = list(zip(column.time_ns.tolist(), column.tagset.tolist(), column.value.tolist(), strict=True))
        assert got == expected
        assert [str(c.dtype) for c in (column.time_ns, column.value, column.tagset)] == [
            "int64",
            "float64",
            "int32",
        ]
    series = zip(
        found.series_metric.tolist(), found.series_tagset.tolist(), found.series_count.tolist(), strict=True
    )
    counted = Counter((found.metrics.index(METRICS[r[0]]), r[3]) for r in every)
    assert list(series) == [(*pair, n) for pair, n in sorted(counted.items())]
    most = reduce.MOST_BYTES
    received = [round(min(max(r[2], -most), most)) for r in every if METRICS[r[0]] == "data_received"]
    assert found.bytes_of == ({"data_received": sum(received)} if received else {})
    seconds = sorted({r[1] // NS_PER_S for r in every})
    by_second = [[r[1] for r in every if r[1] // NS_PER_S == s] for s in seconds]
    assert found.second_first_ns.tolist() == [min(stamps) for stamps in by_second]
    assert found.second_last_ns.tolist() == [max(stamps) for stamps in by_second]


@settings(max_examples=300, deadline=None)
@given(rows, st.lists(st.integers(0, 60), max_size=4), st.booleans())
def test_any_split_into_batches_and_workers(every: list[Row], cuts: list[int], second_worker: bool) -> None:
    """The second worker has met metrics and tag sets in another order, and one that nobody else knows."""
    edges = [0, *sorted(cuts), len(every)]
    first, second = tables(), tables()
    second.metrics.reverse()
    second.tagsets[:] = [*second.tagsets[::-1], (("n", "00"),)]
    reducers = [SampleReducer(first), SampleReducer(second)]
    for i, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
        one = batch(every[start:end])
        if i % 2 and second_worker:
            one = PointBatch(5 - one.metric, one.time_ns, one.value, 5 - one.tagset)
            reducers[1].add(one)
        else:
            reducers[0].add(one)
    found = merged(*(reducer.result(PartReport()) for reducer in reducers))
    # "00" sorts between "0" and "1": what follows it has moved by one.
    check(found, [(*row[:3], row[3] + (row[3] > 0)) for row in every])


def of_one_metric(metric: int, time_ns: Any, tagset: Any, value: Any, asked: list[int]) -> MetricBatch:
    def read() -> Any:
        asked.append(metric)
        return value

    return MetricBatch(metric, time_ns, tagset, read)


@settings(max_examples=200, deadline=None)
@given(rows, st.integers(1, 20), st.booleans(), st.sampled_from([None, 0, 200]))
def test_batches_of_one_metric(every: list[Row], size: int, shared: bool, memory: int | None) -> None:
    """Metrics with the same stamps and tag sets, in the same arrays or not; nothing asks for values in vain."""
    reducer = SampleReducer(tables(), spill=Spill(memory))
    asked: list[int] = []
    for start in range(0, len(every), size):
        one = batch(every[start : start + size])
        for metric in range(len(METRICS)):
            arrays = (one.time_ns, one.tagset) if shared else (one.time_ns.copy(), one.tagset.copy())
            reducer.add(of_one_metric(metric, *arrays, one.value, asked))
    found = merged(reducer.result(PartReport()))
    check(found, [(metric, *row[1:]) for row in every for metric in range(len(METRICS))])
    assert {METRICS[metric] for metric in asked} <= KEPT | SUMMED


def test_batches_of_one_metric_whose_tag_sets_grow_beyond_two_bytes() -> None:
    known = tables(70_000)
    reducer = SampleReducer(known, spill=Spill(0))
    later = known.tagsets[10:]
    del known.tagsets[10:]
    every: list[Row] = []
    for ids in ([1, 2, 3], [9, 69_999], [4, 5]):
        if max(ids) > 9:
            known.tagsets += later
        these: list[Row] = [(0, i, float(i), i) for i in ids]
        one = batch(these)
        reducer.add(of_one_metric(0, one.time_ns, one.tagset, one.value, []))
        every += these
    check(merged(reducer.result(PartReport())), every)


def test_all_metrics_are_kept_if_all_are_asked_for() -> None:
    reducer = SampleReducer(tables(), None)
    reducer.add(batch([(metric, 1, 1.0, 0) for metric in range(len(METRICS))]))
    found = reducer.result(PartReport())
    assert (set(found.kept), found.passed_over) == (set(METRICS), frozenset())


def test_many_series_are_folded_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "FOLD_SERIES", 50)
    every: list[Row] = [(i % 6, i * 1000, float(i % 7), i % 400) for i in range(3000)]
    reducer = SampleReducer(tables(400))
    for start in range(0, len(every), 30):
        reducer.add(batch(every[start : start + 30]))
        assert len(reducer._series) < 60
    check(merged(reducer.result(PartReport())), every)


def test_more_tag_sets_than_two_bytes_count() -> None:
    n = 70_000
    every: list[Row] = [(0, i, 1.0, i) for i in range(0, n, 7)]
    reducer = SampleReducer(tables(n))
    reducer.add(batch(every))
    check(merged(reducer.result(PartReport())), every)


def test_what_metrics_share_is_kept_once() -> None:
    every: list[Row] = [
        (metric, i * 10, 0.0 if metric else float(i), i % 3) for i in range(500) for metric in (0, 1)
    ]
    reducer = SampleReducer(tables())
    for start in range(0, len(every), 33):  # a request's samples fall into two batches
        reducer.add(batch(every[start : start + 33]))
    found = merged(reducer.result(PartReport()))
    duration, blocked = found.column("http_req_duration"), found.column("http_req_blocked")
    assert duration.time_ns is blocked.time_ns
    assert duration.tagset is blocked.tagset
    assert blocked.value.strides == (0,)
    check(found, every)
