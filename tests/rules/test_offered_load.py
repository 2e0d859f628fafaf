"""OL: whether the load was offered, as a whole, by stage, in every 10 s, and up to the end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builder import Answer, Run, Scenario
from tests.rules.cases import (
    CLOSED,
    CLOSED_DECLARED,
    CLOSED_RUN,
    COARSE_STAMPS,
    EVENLY,
    HEALTHY,
    LOG,
    NO_OPTIONS_RAMP,
    NO_PLAN,
    NO_POINTS,
    NO_REQUESTS,
    PAIR,
    Case,
    World,
    always,
    closed,
    half,
    inspect,
    less,
    more,
    point,
    several,
    slots,
    table,
    world,
)


def started(rate: int, length_s: float, n: int, **options: Any) -> World:
    """So many starts of an even plan, whatever it asks for. Without requests, for its counts alone."""
    every = slots(rate, length_s)
    starts = less(every, len(every) - n) if n <= len(every) else more(every, n - len(every))
    return world(Scenario(rate=rate, duration_s=length_s, starts_s=starts, requests=0), **options)


def two(a_gone: int, b_gone: int, policy: Any = None) -> World:
    """a: 1,000 slots; b: 2,000; with so many starts missing."""
    return world(
        Scenario("a", rate=100, duration_s=10, starts_s=less(slots(100, 10), a_gone), requests=0),
        Scenario("b", rate=200, duration_s=10, starts_s=less(slots(200, 10), b_gone), requests=0),
        policy=policy,
    )


def short(*gone: int) -> World:
    """50/s for 30 s, 500 slots in each of three windows of 10 s; so many starts missing in each."""
    starts = slots(50, 30)
    for i, n in enumerate(gone):
        starts = less(starts, n, 10 * i, 10 * i + 10)
    return world(Scenario(rate=50, duration_s=30, starts_s=starts, requests=0))


def staged(first: int, second: int) -> World:
    """999 slots at 100/s, then 1,500 from 100 to 200/s; so many starts missing in each."""
    every = Scenario(**EVENLY).slots_s()
    starts = less(less(every, first, 0, 9.995), second, 9.995)
    return world(Scenario(**EVENLY, starts_s=starts, requests=0))


def small_stage(gone: int) -> World:
    """100/s: 100 slots in the first second (0.995 s would be 99.5), then 1,000 at 100/s."""
    plan: dict[str, Any] = {
        "executor": "ramping-arrival-rate",
        "start_rate": 100,
        "stages": [(1.005, 100), (10, 100)],
    }
    every = Scenario(**plan).slots_s()
    return world(Scenario(**plan, starts_s=less(every, gone, 0, 1.005), requests=0))


def ended(last_s: float, length_s: float = 10, rate: int = 100, **run: Any) -> World:
    """Evidence whose last stamp is exactly at ``last_s``."""
    scenario = Scenario(rate=rate, duration_s=length_s, requests=0)
    return world(scenario, end_s=last_s, extra_lines=[point("vus", last_s, 3)], **run)


TARGET = {**CLOSED, "target_rate": "50"}
DROPS_B = inspect(lambda options: options["scenarios"].pop("b"))
SIGNAL = LOG + "error msg=\"test run was aborted because k6 received a 'terminated' signal\"\n"
ABORTED = (
    LOG
    + 'error msg="thresholds on metrics x have been crossed; at least one has abortOnFail enabled, stopping test prematurely"\n'
)
LONG_PAIR = [
    Run(
        scenarios=[
            Scenario(rate=80, duration_s=30, starts_s=[s + 0.003 * i for s in slots(40, 30)], requests=0)
        ],
        percent=50.0,
        end_s=end,
    )
    for i, end in enumerate((None, 27.5))
]
"""Two generators of 40/s; the second is cut 2.5 s before its end."""
KAFKA = [point("kafka_writer_write_seconds", 1.0, 0.01, scenario="api", group="")]

CASES = [
    # 3,000 planned: 2 % are 60.
    Case("OL01", "2,940 of 3,000", "pass", started(100, 30, 2940)),
    Case("OL01", "2,939 of 3,000", "fail:invalid", started(100, 30, 2939), ("api",), "2,939 of 3,000"),
    Case("OL01", "3,060 of 3,000", "pass", started(100, 30, 3060)),
    Case("OL01", "3,061 of 3,000", "fail:invalid", started(100, 30, 3061), ("api",), "3,061"),
    # 40 planned (P15's sum, smaller): 2 % are 0.8, so one start may differ.
    Case("OL01", "39 of 40", "pass", started(10, 4, 39)),
    Case("OL01", "41 of 40, as k6 may start", "pass", started(10, 4, 41)),
    Case("OL01", "38 of 40", "fail:invalid", started(10, 4, 38)),
    # a lacks 21 of 1,000 (2.1 %), both together 21 of 3,000 (0.7 %).
    Case("OL01", "one scenario short, the sum is not", "fail:invalid", two(21, 0), ("a",)),
    Case("OL01", "20 of 1,000 and 40 of 2,000 missing", "pass", two(20, 40)),
    Case("OL01", "both and the sum short", "fail:invalid", two(21, 41), ("a", "b", "")),
    Case("OL01", "the short one only seeds", "pass", two(21, 0, {"scenarios": {"a": {"workload": "", "role": "support", "workload_reason": ""}}})),
    # 1,000 a generator: 21 missing are 2.1 % of one and 1.05 % of both.
    Case("OL01", "one generator short", "fail:invalid", several(half(), half(1, less(slots(100, 10), 21))), ("api on gen-2",)),
    Case("OL01", "20 of one generator missing", "pass", several(half(), half(1, less(slots(100, 10), 20)))),
    # A declared 50/s over 10 s asks for 500: 10 may be missing.
    Case("OL01", "closed, 490 of a declared 500", "pass", world(closed(starts_s=less(slots(50, 10), 10)), policy=TARGET)),
    Case("OL01", "closed, 489 of a declared 500", "fail:invalid", world(closed(starts_s=less(slots(50, 10), 11)), policy=TARGET), ("",), "489"),
    Case("OL01", "closed, no target", "not-applicable", CLOSED_DECLARED),
    Case("OL01", "no plan", "unknown", NO_PLAN),
    Case("OL01", "no points", "unknown", NO_POINTS),
    # 1,500 in the second stage: 30 may be missing there; 31 of 2,499 are 1.2 %.
    Case("OL02", "every start of both stages", "pass", staged(0, 0)),
    Case("OL02", "30 of 1,500 missing in a stage", "pass", staged(0, 30)),
    Case("OL02", "31 of 1,500 missing in a stage", "fail:invalid", staged(0, 31), ("api, stage 2",)),
    Case("OL01", "31 of 2,499 missing", "pass", staged(0, 31)),
    Case("OL02", "19 of 999 missing in the first", "pass", staged(19, 0)),
    Case("OL02", "20 of 999 missing in the first", "fail:invalid", staged(20, 0), ("api, stage 1",)),
    Case("OL02", "3 of 100 missing in a small stage", "pass", small_stage(3)),
    Case("OL02", "4 of 100 missing in a small stage", "fail:invalid", small_stage(4), ("api, stage 1",)),
    Case("OL02", "coarse stamps, two stages", "unknown", COARSE_STAMPS),
    Case("OL02", "no stages known", "unknown", NO_OPTIONS_RAMP),
    Case("OL02", "closed", "not-applicable", CLOSED_RUN),
    # 500 a window: 98 % are 490, 90 % are 450. Three windows: one may be short.
    Case("OL03", "three full windows", "pass", short(0, 0, 0)),
    Case("OL03", "490 of 500 in every window", "pass", short(10, 10, 10)),
    Case("OL03", "489 in one window", "fail:warning", short(0, 11, 0), ("api",), "489 of 500"),
    Case("OL03", "489 in two windows", "fail:invalid", short(0, 11, 11), ("api",), "2 of 3"),
    Case("OL03", "450 in one window", "fail:warning", short(0, 50, 0)),
    Case("OL03", "449 in one window", "fail:invalid", short(0, 51, 0), ("api",), "449 of 500"),
    Case("OL03", "two generators", "pass", PAIR),
    # One window of 10 s holds all 1,000 of a generator: 101 missing are 89.9 % of one, 94.95 % of both.
    Case("OL03", "one generator below 90 %, the sum below 98 %", "fail:invalid", several(half(), half(1, less(slots(100, 10), 101))), ("api on gen-2", "api")),
    Case("OL03", "one generator at 97.9 %, the sum at 98.95 %", "fail:warning", several(half(), half(1, less(slots(100, 10), 21))), ("api on gen-2",)),
    Case("OL03", "coarse stamps", "unknown", COARSE_STAMPS),
    Case("OL03", "closed", "not-applicable", CLOSED_RUN),
    Case("OL03", "no plan", "unknown", NO_PLAN),
    # a lacks 25 of its one window (97.5 %: a warning); what was planned of b is not known.
    Case("OL03", "a short window must not hide an unknown plan", "unknown", world(Scenario("a", duration_s=10, starts_s=less(slots(100, 10), 25), requests=0), Scenario("b", executor="ramping-arrival-rate", start_rate=100, stages=[(10, 100)], requests=0), change=DROPS_B)),
    Case("OL05", "the schedule is the target", "pass", HEALTHY),
    Case("OL05", "declared 102/s, planned 100/s", "pass", world(policy={"target_rate": "102"})),
    Case("OL05", "declared 98/s, planned 100/s", "pass", world(policy={"target_rate": "98/s"})),
    Case("OL05", "declared 102.01/s, planned 100/s", "fail:invalid", world(policy={"target_rate": "102.01"}), ("",), "102"),
    Case("OL05", "declared 97.99/s, planned 100/s", "fail:invalid", world(policy={"target_rate": "97.99"})),
    Case("OL05", "declared by the minute", "pass", world(policy={"target_rate": "6000/m"})),
    # 300 slots in 5 s of ramp 20 → 100/s, then 500 in 5 s: 100/s after a warm-up of 5 s, 80/s without.
    Case("OL05", "the plan's rate after the warm-up", "pass", world(Scenario(executor="ramping-arrival-rate", start_rate=20, stages=[(5, 100), (5, 100)]), warmup="5s", policy={"target_rate": 100})),
    Case("OL05", "the plan's mean rate, warm-up excluded", "fail:invalid", world(Scenario(executor="ramping-arrival-rate", start_rate=20, stages=[(5, 100), (5, 100)]), warmup="5s", policy={"target_rate": 80})),
    Case("OL05", "options without a banner are a note", "fail:info", world(console=False), ("",)),
    Case("OL05", "closed, nothing declared", "unknown", CLOSED_RUN),
    Case("OL05", "closed by declaration", "pass", CLOSED_DECLARED),
    Case("OL05", "closed, with a target", "pass", world(closed(), policy={"target_rate": 50})),
    Case("OL05", "closed beside open: a target covers the open one only", "unknown", world(Scenario("a", duration_s=10), closed(name="b"), policy={"target_rate": 100})),
    Case("OL05", "only the banner of a ramp", "unknown", NO_OPTIONS_RAMP),
    Case("OL05", "only the banner, with a target", "pass", world(inspect=False, policy={"target_rate": 100})),
    Case("OL05", "nothing at all", "unknown", NO_PLAN),
    Case("OL08", "requests were made", "pass", HEALTHY),
    Case("OL08", "iterations without requests", "fail:invalid", NO_REQUESTS, ("",), "1,000 iterations"),
    Case("OL08", "nothing completed", "fail:invalid", world(Scenario(duration_s=10, starts_s=[], interrupted_s=[10.0] * 1000)), ("",), "nothing completed"),
    Case("OL08", "one scenario without requests", "fail:invalid", world(Scenario("a", duration_s=10), Scenario("b", duration_s=10, requests=0)), ("b",)),
    Case("OL08", "one that only seeds", "pass", world(Scenario("a", duration_s=10), Scenario("b", duration_s=10, requests=0), policy={"scenarios": {"b": {"workload": "", "role": "support", "workload_reason": ""}}})),
    Case("OL08", "requests of setup() alone", "fail:invalid", world(Scenario(duration_s=10, requests=0), setup_ms=30.0)),
    Case("OL08", "another protocol", "unknown", world(Scenario(duration_s=10, requests=0), extra_lines=KAFKA)),
    Case("OL08", "another protocol, named", "pass", world(Scenario(duration_s=10, requests=0), extra_lines=KAFKA, policy={"latency_metric": "kafka_writer_write_seconds"})),
    # 10 s planned: 1 % is 0.1 s, so 2 s may be missing.
    Case("OL09", "to its end", "pass", HEALTHY),
    Case("OL09", "2 s before its end", "pass", ended(8.0)),
    Case("OL09", "2.001 s before its end", "fail:invalid", ended(7.999), ("",), "2.0 s before"),
    # 300 s planned: 1 % is 3 s.
    Case("OL09", "3 s of 300 missing", "pass", ended(297.0, 300, 4)),
    Case("OL09", "3.001 s of 300 missing", "fail:invalid", ended(296.999, 300, 4)),
    # k6 says that it stopped: from more than its tick of 1 s on.
    Case("OL09", "stopped by a signal, 1.5 s missing", "fail:invalid", ended(8.5, exit_code=105), ("",), "exit code 105"),
    Case("OL09", "stopped by its log's word, 1.5 s missing", "fail:invalid", ended(8.5, log=SIGNAL), ("",), "signal"),
    Case("OL09", "1.5 s missing, nobody says it stopped", "pass", ended(8.5)),
    Case("OL09", "stopped, 1 s missing", "pass", ended(9.0, exit_code=108)),
    Case("OL09", "stopped, 1.001 s missing", "fail:invalid", ended(8.999, exit_code=108)),
    Case("OL09", "aborted by a threshold, 1.001 s missing", "fail:invalid", ended(8.999, exit_code=99, log=ABORTED), ("",), "abortOnFail"),
    # Without the log's word a crossed threshold is a result of a run that may well have ended as planned.
    Case("OL09", "crossed threshold, 2 s missing", "pass", ended(8.0, exit_code=99)),
    Case("OL09", "crossed threshold, 2.001 s missing", "fail:invalid", ended(7.999, exit_code=99)),
    Case("OL09", "all of the iterations", "pass", world(Scenario(executor="shared-iterations", iterations=1000, duration_s=60, starts_s=slots(100, 10)))),
    # 10 VUs with iterations of 1 s: 1,000 take 100 s.
    Case("OL09", "half of the iterations", "fail:invalid", world(Scenario(executor="shared-iterations", iterations=1000, duration_s=10, starts_s=slots(50, 10), answer=always(999.8))), ("api",), "1,000 iterations and completed 500"),
    Case("OL09", "each VU its iterations", "pass", world(Scenario(executor="per-vu-iterations", vus=10, iterations=100, duration_s=60, starts_s=slots(100, 10)))),
    Case("OL09", "one iteration of one VU missing", "fail:invalid", world(Scenario(executor="per-vu-iterations", vus=10, iterations=100, duration_s=60, starts_s=less(slots(100, 10), 1))), ("api",), "completed 999"),
    Case("OL09", "half of the iterations that the banner names", "fail:invalid", world(Scenario(executor="shared-iterations", iterations=1000, duration_s=60, starts_s=slots(50, 10)), inspect=False), ("api",)),
    Case("OL09", "no plan", "unknown", NO_PLAN),
    Case("OL09", "one of two generators", "fail:invalid", several(*LONG_PAIR), ("gen-2",)),
    Case("OL09", "longer than planned", "pass", world(Scenario(duration_s=10, answer=lambda i, s: Answer(20.0 if i < 999 else 20_000.0)))),
]  # fmt: skip


@table(*CASES)
def test_offered_load(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
