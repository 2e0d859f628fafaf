"""SS: the warm-up, what it hides, and what is left of the run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builder import Answer, Scenario
from tests.rules.cases import (
    CLOSED,
    CLOSED_DECLARED,
    HEALTHY,
    NO_OPTIONS_RAMP,
    NO_PLAN,
    NO_POINTS,
    NO_WARMUP,
    Case,
    World,
    closed,
    fails,
    slots,
    table,
    world,
)

RAMP: dict[str, Any] = {"executor": "ramping-arrival-rate", "stages": [(5, 100), (5, 100)], "requests": 0}
MEASURED = {"ramp": "measured", "ramp_reason": "a search for the breaking point"}
SEED = {"scenarios": {"seed": {"workload": "", "role": "support", "workload_reason": ""}}}


def ramp(warmup: str | None, **options: Any) -> World:
    return world(Scenario(**RAMP), warmup=warmup, **options)


def excluded(**scenario: Any) -> World:
    """100/s for 50 s, the first 10 s of it excluded, a fifth: 1,000 requests offered there."""
    return world(Scenario(**{"duration_s": 50, **scenario}), warmup="10s")


def stalled(from_s: float, to_s: float, warmup: str = "10s", **scenario: Any) -> World:
    """Nothing completes from 20 ms after ``from_s`` to ``to_s``, though every start is made."""

    def answer(index: int, start_s: float) -> Answer:
        return Answer((to_s - start_s) * 1000 if from_s <= start_s < to_s - 0.02 else 20.0)

    many: dict[str, Any] = {"max_vus": 500, "pre_allocated_vus": 500, "think_ms": 0.0, "duration_s": 50}
    return world(Scenario(**{**many, "answer": answer, **scenario}), warmup=warmup)


def early_drops(gone: int, pre_allocated: int) -> World:
    """So many of the starts due between 2 and 8 s dropped, 100 VUs at most."""
    chosen = slots(100, 50)[200 : 200 + gone]
    starts = [s for s in slots(100, 50) if s not in chosen]
    return excluded(starts_s=starts, drops_s=chosen, pre_allocated_vus=pre_allocated, max_vus=100)


def window(rate: int, length_s: float, policy: Any = None, warmup: str = "0s") -> World:
    return world(Scenario(rate=rate, duration_s=length_s, requests=0), warmup=warmup, policy=policy)


RAMP_DROPS = [s for s in Scenario(**RAMP).slots_s() if 3 <= s < 4]

CASES = [
    Case("SS01", "0 s is a declaration", "pass", HEALTHY),
    Case("SS01", "declared", "pass", ramp("5s")),
    Case("SS01", "not declared", "unknown", NO_WARMUP),
    Case("SS03", "as long as the ramp", "pass", ramp("5s")),
    Case("SS03", "1 ms shorter", "fail:invalid", ramp("4999ms"), ("api",), "after 5 s"),
    Case("SS03", "longer", "pass", ramp("6s")),
    Case("SS03", "0 s", "fail:invalid", ramp("0s")),
    Case("SS03", "not declared", "unknown", ramp(None)),
    Case("SS03", "the ramp is the test", "not-applicable", ramp("0s", policy=MEASURED)),
    Case("SS03", "no ramp", "not-applicable", HEALTHY),
    Case("SS03", "it ends on its ramp", "not-applicable", world(Scenario(executor="ramping-arrival-rate", stages=[(5, 50), (5, 100)], requests=0))),
    Case("SS03", "a jump at the start", "not-applicable", world(Scenario(executor="ramping-arrival-rate", stages=[(0, 100), (5, 100)], requests=0))),
    Case("SS03", "the second step is the highest", "fail:invalid", world(Scenario(executor="ramping-arrival-rate", start_rate=50, stages=[(5, 50), (1, 100), (5, 100)], requests=0), warmup="5s"), ("api",), "after 6 s"),
    Case("SS03", "the ramp of one of two scenarios", "fail:invalid", world(Scenario(duration_s=10), Scenario("b", **RAMP), warmup="2s"), ("b",)),
    Case("SS03", "the ramp of one that seeds", "not-applicable", world(Scenario(duration_s=10), Scenario("seed", **RAMP), policy=SEED)),
    Case("SS03", "closed", "not-applicable", CLOSED_DECLARED),
    Case("SS03", "no schedule", "unknown", NO_OPTIONS_RAMP),
    Case("SS03", "no plan", "unknown", NO_PLAN),
    Case("SS06", "nothing happened there", "pass", excluded()),
    Case("SS06", "0 s", "not-applicable", HEALTHY),
    Case("SS06", "not declared", "unknown", NO_WARMUP),
    # 1 % of 1,000 offered is 10.
    Case("SS06", "9 of 1,000 failed there", "pass", excluded(answer=fails(9))),
    Case("SS06", "10 of 1,000 failed there", "fail:invalid", excluded(answer=fails(10)), ("api",), "10 requests failed"),
    Case("SS06", "many failed after it", "pass", excluded(answer=lambda i, s: Answer(5.0, failed=s >= 10))),
    Case("SS06", "9 dropped there", "pass", early_drops(9, 100)),
    Case("SS06", "10 dropped there", "fail:invalid", early_drops(10, 100), ("api",), "10 starts were dropped"),
    # Up to 100 − 80 VUs may be allocated while it runs, each for one start.
    Case("SS06", "29 dropped, 20 VUs to allocate", "pass", early_drops(29, 80)),
    Case("SS06", "30 dropped, 20 VUs to allocate", "fail:invalid", early_drops(30, 80)),
    Case("SS06", "a stall of 2 s there", "fail:invalid", stalled(4.0, 6.02), ("api", "api"), "nothing completed"),
    # No stall by CO02: 99 of 1,000 requests take up to 1 s, and p95 is half a second.
    Case("SS06", "slow for 1 s there", "fail:warning", stalled(4.0, 5.01), ("api",), "in the window it is 20 ms"),
    Case("SS06", "twice as slow there", "pass", excluded(answer=lambda i, s: Answer(40.0 if s < 10 else 20.0))),
    Case("SS06", "2.1 times as slow there", "fail:warning", excluded(answer=lambda i, s: Answer(42.0 if s < 10 else 20.0)), ("api",), "p95 was 42 ms in it; in the window it is 20 ms"),
    Case("SS06", "71 slow requests tell no p95", "pass", world(Scenario(rate=7, duration_s=60, answer=lambda i, s: Answer(42.0 if s < 10 else 20.0)), warmup="10s")),
    Case("SS06", "a fifth of the hold", "pass", excluded()),
    Case("SS06", "more than a fifth of the hold", "fail:warning", excluded(duration_s=49), ("api",), "10 s after the ramp-up, of a hold of 49 s; p95 was 26 ms in it"),
    Case("SS06", "a stall after it", "pass", stalled(12.0, 14.02)),
    Case("SS06", "a stall that begins in it", "fail:invalid", stalled(9.0, 11.02)),
    Case("SS06", "closed: a stall there", "fail:invalid", world(closed(starts_s=[s for s in slots(50, 10) if not 2 <= s < 4]), warmup="5s", policy=CLOSED)),
    Case("SS06", "drops in the ramp, which it covers", "pass", world(Scenario(**{**RAMP, "starts_s": [s for s in Scenario(**RAMP).slots_s() if s not in RAMP_DROPS], "drops_s": RAMP_DROPS, "pre_allocated_vus": 100}), warmup="5s")),
    Case("SS06", "no schedule", "unknown", world(Scenario(executor="ramping-arrival-rate", start_rate=100, stages=[(10, 100)]), inspect=False, warmup="5s")),
    Case("SS08", "60 s", "pass", window(20, 60)),
    Case("SS08", "59 s", "fail:warning", window(20, 59), ("",), "59 s long"),
    Case("SS08", "60 s after a warm-up", "pass", window(20, 70, warmup="10s")),
    Case("SS08", "59 s after a warm-up", "fail:warning", window(20, 70, warmup="11s")),
    Case("SS08", "10 s of 1,000 planned", "fail:warning", HEALTHY),
    Case("SS08", "9.99 s of 1,998 planned", "unknown", window(200, 9.99)),
    Case("SS08", "999 planned in 111 s", "fail:warning", window(9, 111), ("",), "only 999"),
    Case("SS08", "71 requests in 71 s", "unknown", window(1, 71), says="71 requests or iterations"),
    Case("SS08", "72 requests in 72 s", "fail:warning", window(1, 72), ("",), "only 72"),
    Case("SS08", "1,000 planned in 100 s", "pass", window(10, 100)),
    Case("SS08", "nothing left", "fail:invalid", window(100, 10, warmup="10s"), ("",), "0 s long"),
    Case("SS08", "600 s of capacity", "pass", window(2, 600, {"purpose": "capacity"})),
    Case("SS08", "599 s of capacity", "fail:warning", window(2, 599, {"purpose": "capacity"})),
    Case("SS08", "a smoke test", "not-applicable", window(10, 2, {"purpose": "smoke"})),
    Case("SS08", "closed, 60 s", "pass", world(closed(duration_s=60, rate=17), policy=CLOSED)),
    Case("SS08", "closed, 60 s, 120 starts", "fail:warning", world(closed(duration_s=60, rate=2), policy=CLOSED)),
    Case("SS08", "closed, 9 s", "unknown", world(closed(duration_s=9), policy=CLOSED)),
    Case("SS08", "no points", "unknown", NO_POINTS),
]  # fmt: skip


@table(*CASES)
def test_steady_state(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
