"""SD: drops, silent losses, over-accounting, and the pool of VUs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builder import Scenario
from tests.rules.cases import (
    BANNER_ALONE,
    CLOSED_RUN,
    HEALTHY,
    LOG,
    NO_LOG,
    NO_OPTIONS_RAMP,
    NO_PLAN,
    Case,
    World,
    always,
    fails,
    half,
    less,
    lost,
    more,
    point,
    several,
    slots,
    table,
    world,
)


def dropping(gone: int, length_s: float = 10, **options: Any) -> World:
    """100/s with so many drops, every other slot started."""
    return world(Scenario(**lost(100, length_s, gone, dropped=True)), **options)


def silent(gone: int, length_s: float = 10, **scenario: Any) -> World:
    """100/s with so many starts that left no trace; no requests, for its counts alone."""
    return world(Scenario(**lost(100, length_s, gone, dropped=False), requests=0, **scenario))


def pool(duration_ms: float, vus: int, **scenario: Any) -> World:
    """0 → 100/s in 10 s, all iterations equally long: 100/s × their length are needed, at the end only."""
    ramp: dict[str, Any] = {
        "executor": "ramping-arrival-rate",
        "stages": [(10, 100)],
        "think_ms": 0.0,
        "requests": 1,
    }
    sizes: dict[str, Any] = {"pre_allocated_vus": vus, "max_vus": vus, "answer": always(duration_ms)}
    return world(Scenario(**{**ramp, **sizes, **scenario}))


def one_vu(busy_ms: float) -> World:
    """1/s for 10 s on a single VU: it is busy for 10 × so long, and 1/s × so long is needed."""
    return world(
        Scenario(rate=1, duration_s=10, think_ms=0.0, pre_allocated_vus=1, max_vus=1, answer=always(busy_ms))
    )


def pinned(gone: int, log: str = "") -> World:
    """Five VUs, 100/s of 50 ms each: all five are always busy; so many of 1,000 dropped."""
    busy: dict[str, Any] = {"think_ms": 0.0, "answer": always(50.0), "pre_allocated_vus": 5, "max_vus": 5}
    return world(Scenario(**lost(100, 10, gone, dropped=True), **busy), log=log)


def budget(*expressions: str, length_s: float = 10, **options: Any) -> World:
    """100/s: 1,000 planned in 10 s, of which 0.1 % is 1."""
    limits = {"dropped_iterations": list(expressions)} if expressions else {"http_req_duration": ["max<1000"]}
    return world(Scenario(duration_s=length_s, requests=0), thresholds=limits, **options)


TEN_IN_ONE = [point("dropped_iterations", 5.0, 10, scenario="api")]
INSUFFICIENT = (
    LOG + 'warning msg="Insufficient VUs, reached 5 active VUs and cannot initialize more" '
    "executor=constant-arrival-rate scenario=api\n"
)
EARLY_DROP: dict[str, Any] = {
    "rate": 100,
    "duration_s": 10,
    "starts_s": [s for s in slots(100, 10) if s != 1.0],
    "drops_s": [1.0],
}
SEED = {"scenarios": {"seed": {"workload": "", "role": "support", "workload_reason": ""}}}
TWO_STRICT = [half(i, thresholds={"dropped_iterations": ["count<2"]}) for i in (0, 1)]
TWO_STRICTEST = [half(i, thresholds={"dropped_iterations": ["count<1"]}) for i in (0, 1)]

CASES = [
    # n = 1,000: p99 falls on rank ⌈0.99 × 999⌉ = 990 of 0 … 999, so 9 may lack a latency; p99.9 on 999: none.
    Case("SD01", "no drop", "pass", HEALTHY),
    Case("SD01", "1 of 1,000 dropped: p99.9 is lost", "fail:warning", dropping(1), ("",), "p99.9 is not identified"),
    Case("SD01", "9 of 1,000 dropped", "fail:warning", dropping(9), ("",), "p99.9 is not identified"),
    Case("SD01", "10 of 1,000 dropped: p99 is lost", "fail:invalid", dropping(10), ("",), "p99 and p99.9"),
    Case("SD01", "one line of value 10", "fail:invalid", world(Scenario(duration_s=10, starts_s=[s for s in slots(100, 10) if not 5 <= s < 5.1]), extra_lines=TEN_IN_ONE), ("",), "10 iterations dropped"),
    # 6 dropped and 6 failed: neither loses p99 by itself, both together do.
    Case("SD01", "6 dropped with 6 failed", "fail:invalid", world(Scenario(**lost(100, 10, 6, dropped=True), answer=fails(6)))),
    Case("SD01", "10 failed without a drop are not its business", "pass", world(Scenario(duration_s=10, answer=fails(10)))),
    # Two requests an iteration: n = 2,000, rank ⌈0.99 × 1,999⌉ = 1,980, 19 may be lost: 9 drops are 18.
    Case("SD01", "9 drops of two requests each", "fail:warning", world(Scenario(**lost(100, 10, 9, dropped=True), requests=2))),
    Case("SD01", "10 drops of two requests each", "fail:invalid", world(Scenario(**lost(100, 10, 10, dropped=True), requests=2)), ("",), "20 of 2,000"),
    # a loses 10 of 1,000; of 3,000 together rank ⌈0.99 × 2,999⌉ = 2,970 leaves 29.
    Case("SD01", "one scenario's p99, not the pooled one", "fail:invalid", world(Scenario("a", **lost(100, 10, 10, dropped=True)), Scenario("b", rate=200, duration_s=10)), ("", "a")),
    Case("SD01", "closed", "not-applicable", CLOSED_RUN),
    Case("SD01", "no plan", "unknown", NO_PLAN),
    Case("SD02", "no drop", "pass", HEALTHY),
    Case("SD02", "one drop", "fail:warning", dropping(1), ("api",), "1 of 1,000"),
    Case("SD02", "with load lost it stays a warning", "fail:warning", dropping(50), ("api",), "50 of 1,000"),
    Case("SD02", "a drop in the warm-up", "pass", world(Scenario(**EARLY_DROP), warmup="2s")),
    Case("SD02", "that drop without a warm-up", "fail:warning", world(Scenario(**EARLY_DROP)), ("api",), "1 of them in its first 5 s"),
    Case("SD02", "a drop of a scenario that seeds", "pass", world(Scenario(duration_s=10), Scenario("seed", **EARLY_DROP), policy=SEED)),
    Case("SD02", "looping VUs cannot drop", "not-applicable", CLOSED_RUN),
    Case("SD02", "no drop, but cut off", "unknown", world(end_s=7.0)),
    Case("SD02", "a drop, and cut off", "fail:warning", world(Scenario(**EARLY_DROP), end_s=7.0)),
    # 100/s: e = 1 + ⌈100 × 5 ms⌉ = 2; of 1,000 planned 0.1 % is 1, of 4,000 it is 4.
    Case("SD03", "none", "pass", HEALTHY),
    Case("SD03", "2 silent: the allowance", "pass", silent(2)),
    Case("SD03", "3 silent of 1,000", "fail:invalid", silent(3), ("api",), "3 of 1,000"),
    Case("SD03", "3 silent of 4,000", "fail:warning", silent(3, 40), ("api",)),
    Case("SD03", "4 silent of 4,000: 0.1 %", "fail:warning", silent(4, 40)),
    Case("SD03", "5 silent of 4,000", "fail:invalid", silent(5, 40)),
    Case("SD03", "3 interrupted are not silent", "pass", silent(3, interrupted_s=[40.0] * 3)),
    Case("SD03", "dropped ones are not silent", "pass", dropping(50)),
    Case("SD03", "not reached is not silent", "pass", world(Scenario(duration_s=10, requests=0), end_s=6.0)),
    Case("SD03", "one of two generators", "fail:invalid", several(half(), half(1, less(slots(100, 10), 3))), ("api on gen-2",)),
    Case("SD03", "closed", "not-applicable", CLOSED_RUN),
    Case("SD03", "no plan", "unknown", NO_PLAN),
    Case("SD04", "all of the plan", "pass", HEALTHY),
    Case("SD04", "2 more: the allowance", "pass", world(Scenario(duration_s=10, requests=0, starts_s=more(slots(100, 10), 2)))),
    Case("SD04", "3 more", "fail:invalid", world(Scenario(duration_s=10, requests=0, starts_s=more(slots(100, 10), 3))), ("api",), "1,003"),
    # 1,000 starts and 3 drops are 1,003 as well.
    Case("SD04", "3 drops more", "fail:invalid", world(Scenario(duration_s=10, requests=0, drops_s=[3.001, 4.001, 5.001])), ("api",), "3 dropped"),
    Case("SD04", "2 drops more", "pass", world(Scenario(duration_s=10, requests=0, drops_s=[3.001, 4.001]))),
    Case("SD04", "closed", "not-applicable", CLOSED_RUN),
    Case("SD04", "no plan", "unknown", NO_PLAN),
    # 100/s × 50 ms = 5 VUs.
    Case("SD06", "exactly what is needed", "pass", pool(50.0, 5)),
    Case("SD06", "0.1 ms more than the VUs have", "fail:warning", pool(50.1, 5), ("api",), "need 6 VUs"),
    Case("SD06", "a reserve", "pass", HEALTHY),
    Case("SD06", "busy for 4.9 s", "pass", one_vu(490.0)),
    Case("SD06", "busy for 5 s", "fail:warning", one_vu(500.0), ("api",), "busy for 5.0 s"),
    # 1 % of 1,000 is load lost.
    Case("SD06", "always busy, 9 dropped", "fail:warning", pinned(9)),
    Case("SD06", "always busy, 10 dropped: load lost", "fail:invalid", pinned(10), ("api",), "10 of 1,000"),
    Case("SD06", "closed", "not-applicable", CLOSED_RUN),
    Case("SD06", "no rate known", "unknown", NO_OPTIONS_RAMP),
    Case("SD08", "an empty log is evidence", "pass", HEALTHY),
    Case("SD08", "warned", "fail:warning", world(log=INSUFFICIENT), ("api",), "reached 5 VUs"),
    Case("SD08", "warned, 9 dropped", "fail:warning", pinned(9, INSUFFICIENT)),
    Case("SD08", "warned, 10 dropped: load lost", "fail:invalid", pinned(10, INSUFFICIENT), ("api",), "10 of 1,000"),
    Case("SD08", "of a scenario that seeds", "pass", world(Scenario(duration_s=10), Scenario("seed", duration_s=10), log=INSUFFICIENT.replace("=api", "=seed"), policy=SEED)),
    Case("SD08", "on one of two generators", "fail:warning", several(half(), half(1, log=INSUFFICIENT)), ("api on gen-2",)),
    Case("SD08", "no log", "unknown", NO_LOG),
    Case("SD08", "closed", "not-applicable", CLOSED_RUN),
    Case("SD09", "count<1 passes none", "pass", budget("count<1")),
    Case("SD09", "count<2 passes 1 of 1,000: 0.1 %", "fail:warning", budget("count<2"), ("",), "1 drops"),
    Case("SD09", "count<=0", "pass", budget("count<=0")),
    Case("SD09", "count==0", "pass", budget("count==0")),
    Case("SD09", "the strictest of two counts", "pass", budget("count<100", "count<1")),
    # 3,000 planned: 0.1 % is 3.
    Case("SD09", "count<3 passes 2 of 3,000", "pass", budget("count<3", length_s=30)),
    Case("SD09", "count<4 passes 3 of 3,000: 0.1 %", "fail:warning", budget("count<4", length_s=30)),
    Case("SD09", "none", "fail:warning", budget(), ("",), "no threshold"),
    # Two generators of 1,000 each: 0.1 % of 2,000 is 2, and each lets 1 pass.
    Case("SD09", "one on each of two generators", "fail:warning", several(*TWO_STRICT)),
    Case("SD09", "none on either of two generators", "pass", several(*TWO_STRICTEST)),
    Case("SD09", "closed", "not-applicable", CLOSED_RUN),
    Case("SD09", "no plan", "unknown", NO_PLAN),
    Case("SD09", "a threshold, the schedule unknown", "unknown", world(Scenario(executor="ramping-arrival-rate", start_rate=100, stages=[(10, 100)], drops_s=[5.001]), inspect=False)),
    Case("SD09", "no options and no drop: a threshold leaves no Metric line", "unknown", BANNER_ALONE),
]  # fmt: skip


@table(*CASES)
def test_schedule(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
