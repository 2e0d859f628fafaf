"""Iterations in flight against counting them, one instant at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.facts.iterations import KeyIterations
from auditor.facts.vu_pools import in_flight

EMPTY = np.empty(0, dtype=np.int64)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=40))
def test_in_flight_is_what_began_and_has_not_ended(spans: list[tuple[int, int]]) -> None:
    start = np.array(sorted(begin for begin, _ in spans))
    end = np.array([begin + length for begin, length in sorted(spans)])
    found = KeyIterations(start, end, (end - start) / 1e6, len(spans), len(spans), EMPTY, EMPTY)
    times, level = in_flight(found)
    assert times.tolist() == sorted([*start.tolist(), *end.tolist()])
    for at in np.unique(times):
        last = int(np.searchsorted(times, at, side="right")) - 1
        assert level[last] == (start <= at).sum() - (end <= at).sum()
    # At one instant ends come first: what ends as another begins is not counted beside it.
    least = min(int((start < at).sum() - (end <= at).sum()) for at in end)
    assert level.min() == min(least, 0)
