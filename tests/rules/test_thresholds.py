"""TH: whether anything could have failed."""

from __future__ import annotations

import pytest

from tests.builder import Scenario
from tests.rules.cases import HEALTHY, NO_POINTS, Case, half, points, several, table, world

IDLE = Scenario(duration_s=10, requests=0)
NO_METRIC_LINES = points(lambda found: [x for x in found if '"Metric"' not in x])
SUBMETRIC = points(lambda found: [x.replace('"submetrics":null', '"submetrics":[{"name":"iterations{scenario:api}"}]') for x in found])  # fmt: skip
DURATION = {"iteration_duration": ["p(95)<500"]}
"""On a metric that has samples, so that a Metric line names it."""

CASES = [
    Case("TH01", "two thresholds", "pass", HEALTHY),
    Case("TH01", "none", "fail:warning", world(IDLE, thresholds={}), ("",), "no threshold"),
    Case("TH01", "one", "pass", world(IDLE, thresholds=DURATION)),
    Case("TH01", "one, known from its Metric line", "pass", world(IDLE, thresholds=DURATION, inspect=False)),
    Case("TH01", "none known, but submetrics may have some", "unknown", world(IDLE, thresholds={}, inspect=False, change=SUBMETRIC)),
    Case("TH01", "neither options nor Metric lines", "unknown", world(IDLE, inspect=False, change=NO_METRIC_LINES)),
    Case("TH01", "on neither of two generators", "fail:warning", several(half(thresholds={}), half(1, thresholds={}))),
    Case("TH01", "on one of two generators", "pass", several(half(), half(1, thresholds={}))),
    Case("TH01", "no points", "unknown", NO_POINTS),
]  # fmt: skip


@table(*CASES)
def test_thresholds(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
