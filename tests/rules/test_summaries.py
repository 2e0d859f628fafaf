"""Rules about summaries, coarse stamps, and what k6 itself reports: DM04, ER07, EV05, EV07, EV10, LS08, TH02, WM05."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.builder import Answer, Scenario
from tests.rules.cases import (
    CLOSED,
    COARSE_STAMPS,
    HEALTHY,
    PAIR,
    TORN,
    Case,
    Change,
    both,
    closed,
    half,
    remove,
    several,
    table,
    world,
)

RIGHT: dict[str, Mapping[str, Any]] = {
    # 1,000 iterations of 20 + (7 i mod 13) / 2 ms: from 20 to 26 ms, the middle one 23 ms
    "iterations": {"count": 1000, "rate": 100.0},
    "http_reqs": {"count": 1000, "rate": 100.0},
    "http_req_duration": {"min": 20.0, "med": 23.0, "max": 26.0, "thresholds": {"max<25": True}},
    "http_req_failed": {"passes": 0, "fails": 1000, "value": 0},
}


def summary(metrics: Mapping[str, Mapping[str, Any]], name: str = "summary.json") -> Change:
    """Put a legacy export beside the points, right but for what is given."""

    def apply(folder: Path) -> None:
        (folder / name).write_text(json.dumps({"root_group": {}, "metrics": {**RIGHT, **metrics}}))

    return apply


def with_summary(**metrics: Mapping[str, Any]) -> Any:
    return world(change=summary(metrics))


def only_summaries(folder: Path) -> None:
    for name in ("gen-1", "gen-2"):
        remove(f"{name}/k6.json")(folder)
        summary({}, f"{name}/summary.json")(folder)


def blocked(ms: float) -> Scenario:
    return Scenario(duration_s=10, answer=lambda i, s: Answer(100.0, blocked_ms=ms))


CASES = [
    Case("DM04", "points of both", "pass", PAIR),
    Case("DM04", "one generator", "not-applicable", HEALTHY),
    Case("DM04", "summaries of both", "unknown", several(half(), half(1), change=only_summaries)),
    Case("ER07", "no summary", "not-applicable", HEALTHY),
    Case("ER07", "0 of 1,000 failed", "pass", with_summary()),
    Case("ER07", "0 passes said to be all", "fail:invalid", with_summary(http_req_failed={"passes": 0, "fails": 1000, "value": 1.0}), ("http_req_failed",), "inverted"),
    # 250 of 1,000 is 25 %: 25.1 % is within a tenth of a point, 25.11 % is not
    Case("ER07", "a tenth of a point off", "pass", with_summary(checks={"passes": 250, "fails": 750, "value": 0.251})),
    Case("ER07", "more than a tenth of a point off", "fail:invalid", with_summary(checks={"passes": 250, "fails": 750, "value": 0.2511}), ("checks",)),
    Case("EV05", "neither summary nor console", "not-applicable", world(console=False)),
    Case("EV05", "console and points", "pass", HEALTHY),
    Case("EV05", "of the same run", "pass", with_summary()),
    Case("EV05", "one iteration more", "fail:invalid", with_summary(iterations={"count": 1001}), ("iterations",), "summary.json has 1,001 iterations, k6.json has 1,000"),
    # 26.0004 printed to two digits is 26.00; to a whole it may be 26.
    Case("EV05", "maximum rounded to two digits", "pass", with_summary(http_req_duration={"max": 26.01})),
    Case("EV05", "maximum beyond its rounding", "fail:invalid", with_summary(http_req_duration={"max": 26.02}), ("http_req_duration max",)),
    Case("EV05", "torn points state nothing", "not-applicable", world(change=both(TORN, remove("console.txt"), summary({"iterations": {"count": 7}})))),
    Case("EV05", "a summary's length of another run", "fail:invalid", with_summary(iterations={"count": 1000, "rate": 50.0}), ("length of the run",)),
    Case("EV07", "no summary", "not-applicable", HEALTHY),
    Case("EV07", "max<25 of 26 is crossed, and true", "pass", with_summary()),
    Case("EV07", "and false", "fail:invalid", with_summary(http_req_duration={"max": 26.0, "thresholds": {"max<25": False}}), ("http_req_duration",)),
    Case("EV07", "max<27 of 26 is passed, and true", "fail:invalid", with_summary(http_req_duration={"max": 26.0, "thresholds": {"max<27": True}})),
    Case("EV10", "fine stamps", "pass", HEALTHY),
    Case("EV10", "whole seconds", "unknown", COARSE_STAMPS),
    # p99 of 100 ms; felt 120 ms is 1.2 times as much, felt 121 ms is more
    Case("LS08", "no wait", "pass", HEALTHY),
    Case("LS08", "20 % more felt", "pass", world(blocked(20.0))),
    Case("LS08", "21 % more felt", "fail:warning", world(blocked(21.0))),
    Case("LS08", "no request", "not-applicable", world(Scenario(duration_s=10, requests=0))),
    Case("TH02", "with samples", "pass", HEALTHY),
    Case("TH02", "none at all", "not-applicable", world(thresholds={})),
    Case("TH02", "on a metric without samples", "fail:invalid", world(thresholds={"checks": ["rate>0.9"]}), ("checks",)),
    Case("TH02", "on a submetric without samples", "fail:invalid", world(thresholds={"http_req_duration{name:none}": ["p(95)<1"]}), ("http_req_duration{name:none}",)),
    Case("TH02", "on a counter that was never added to", "pass", world(thresholds={"my_errors": ["count<1"]})),
    Case("TH02", "on a trend without samples", "fail:invalid", world(thresholds={"my_trend": ["p(95)<1"]}), ("my_trend",)),
    Case("TH02", "on a tag that is misspelt", "fail:invalid", world(thresholds={"http_reqs{staus:500}": ["count<1"]}), ("http_reqs{staus:500}",)),
    Case("TH02", "on drops, of which there were none", "pass", world(thresholds={"dropped_iterations": ["count<3"]})),
    Case("WM05", "an open model", "pass", world(policy={"target_rate": "100"})),
    Case("WM05", "closed, nothing claimed", "not-applicable", world(closed())),
    Case("WM05", "closed, 50/s claimed", "fail:invalid", world(closed(), policy={"target_rate": "50"})),
    Case("WM05", "declared closed", "pass", world(closed(), policy={"target_rate": "50", **CLOSED})),
]  # fmt: skip


@table(*CASES)
def test_summaries(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
