"""`k6 inspect`: k6's defaults, the shortcuts, and what cannot be read."""

from __future__ import annotations

import json
from fractions import Fraction as F
from typing import Any

import pytest

from auditor.ingest.k6.durations import seconds
from auditor.ingest.k6.options import looks_like_options, read_options
from tests.conftest import recorded_files, shared_folder

EMPTY: dict[str, Any] = {
    "scenarios": None,
    "thresholds": None,
    "executionSegment": None,
    "systemTags": None,
    "summaryTrendStats": None,
    "noConnectionReuse": None,
}


def options(**given: Any) -> Any:
    return read_options({**EMPTY, **given}, "inspect.json")


def scenario(**given: Any) -> Any:
    (one,) = options(scenarios={"a": given}).scenarios
    return one


def test_defaults_of_an_arrival_rate() -> None:
    one = scenario(
        executor="constant-arrival-rate", rate=300, timeUnit="1m", duration="1h30m0s", preAllocatedVUs=7
    )
    assert one.rate_per_s == F(5)
    assert one.duration_s == 5400
    assert (one.pre_allocated_vus, one.max_vus) == (7, 7)  # maxVUs null means preAllocatedVUs
    assert (one.start_time_s, one.graceful_stop_s, one.exec) == (0, 30, "default")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # startVUs, vus and iterations are 1 by default; maxDuration is 10 minutes, gracefulStop 30 s.
        (
            {"executor": "ramping-vus", "stages": [{"duration": "9s", "target": 0}]},
            {"vus": 1, "duration_s": 9, "graceful_stop_s": 30},
        ),
        ({"executor": "constant-vus", "duration": "9s"}, {"vus": 1, "duration_s": 9, "graceful_stop_s": 30}),
        ({"executor": "shared-iterations"}, {"vus": 1, "iterations": 1, "duration_s": 600}),
        ({"executor": "per-vu-iterations", "vus": 3}, {"vus": 3, "iterations": 1, "duration_s": 600}),
        (
            {"executor": "externally-controlled", "vus": 2, "maxVUs": 5, "duration": "9s"},
            {"vus": 5, "graceful_stop_s": 0},
        ),
        ({"executor": "externally-controlled", "vus": 2, "duration": "9s"}, {"vus": 2}),
    ],
)
def test_defaults_of_looping_and_bounded_executors(given: dict[str, Any], expected: dict[str, Any]) -> None:
    one = scenario(**given)
    assert {name: getattr(one, name) for name in expected} == expected
    assert (one.start_time_s, one.exec) == (0, "default")


def test_ramping_rate_in_another_time_unit() -> None:
    one = scenario(
        executor="ramping-arrival-rate",
        startRate=None,
        timeUnit="10s",
        stages=[{"duration": "500ms", "target": 20}, {"duration": "0s", "target": 40}],
        preAllocatedVUs=1,
        maxVUs=9,
        startTime="1m30s",
        gracefulStop="5s",
    )
    assert one.start_rate_per_s == 0
    assert one.stages == ((F(1, 2), F(2)), (F(0), F(4)))
    assert (one.duration_s, one.start_time_s, one.graceful_stop_s, one.max_vus) == (F(1, 2), 90, 5, 9)


@pytest.mark.parametrize(
    ("given", "executor", "name"),
    [
        ({"iterations": 20, "vus": 4, "duration": "5s"}, "shared-iterations", "iterations before duration"),
        ({"duration": "5s", "vus": 4}, "constant-vus", "duration"),
        ({"stages": [{"duration": "5s", "target": 9}]}, "ramping-vus", "stages"),
        ({}, "per-vu-iterations", "nothing: one iteration of one VU"),
    ],
)
def test_shortcuts_in_k6s_order(given: dict[str, Any], executor: str, name: str) -> None:
    (one,) = options(**given).scenarios
    assert (one.name, one.executor) == ("default", executor), name


def test_vus_alone_is_not_guessed() -> None:
    found = options(vus=3)
    assert found.scenarios == ()
    assert "vus" in found.problems[0]


@pytest.mark.parametrize(
    "bad",
    [
        {"executor": "warp-drive"},
        {"executor": "constant-arrival-rate", "rate": 0, "duration": "1s"},
        {"executor": "constant-arrival-rate", "rate": "fast", "duration": "1s"},
        {"executor": "constant-arrival-rate", "rate": 5, "duration": "soon"},
        {"executor": "ramping-arrival-rate", "stages": None},
        {},
        None,
    ],
)
def test_a_scenario_that_cannot_be_read_is_a_problem_not_a_guess(bad: Any) -> None:
    found = options(scenarios={"a": bad})
    assert found.scenarios == ()
    assert "'a'" in found.problems[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1/3:2/3", (F(1, 3), F(2, 3))), ("25%:50%", (F(1, 4), F(1, 2))), ("0.5", (F(0), F(1, 2)))],
)
def test_segments(text: str, expected: tuple[F, F]) -> None:
    assert options(executionSegment=text).execution_segment == expected


def test_a_segment_that_is_none() -> None:
    found = options(executionSegment="2/3:1/3")
    assert found.execution_segment is None
    assert found.problems


def test_thresholds_as_strings_and_objects() -> None:
    found = options(thresholds={"m": ["p(95)<5", {"threshold": "avg<1", "abortOnFail": True}]})
    assert found.thresholds == {"m": ("p(95)<5", "avg<1")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1m30s", F(90)),
        ("500ms", F(1, 2)),
        ("1h0m0s", F(3600)),
        ("1d", F(86400)),
        (1500, F(3, 2)),
        ("250", F(1, 4)),
        ("0s", F(0)),
        ("1.5s", F(3, 2)),
        ("10µs", F(1, 100000)),
    ],
)
def test_durations(text: str | int, expected: F) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("bad", ["", "s", "1x", "-5s", "1m 30s", True, -1])
def test_no_durations(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        seconds(bad)


def test_every_recorded_and_published_inspect_file() -> None:
    files = recorded_files(
        "facts/k6_examples/inspect_*.json", "recordings/*/*/inspect.json", "real/k6/inspect/*.json"
    )
    assert len(files) >= (25 if shared_folder() else 15)
    for path in files.values():
        item = json.loads(path.read_text())
        assert looks_like_options(item), path
        found = read_options(item, path.name)
        assert found.scenarios or found.problems, path
