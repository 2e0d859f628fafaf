"""LS: enough samples, in order, and possible."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.builder import Answer, Scenario
from tests.rules.cases import (
    CLOSED,
    HEALTHY,
    NO_POINTS,
    NO_REQUESTS,
    PAIR,
    TORN,
    Case,
    Change,
    World,
    always,
    closed,
    fails,
    half,
    lost,
    points,
    request_lines,
    several,
    slots,
    table,
    world,
)


def requests(iterations: int, each: int, policy: Any = None, **answer: Any) -> World:
    """A closed run, whose population is what it sent: so many iterations of so many requests."""
    starts = [i * 10 / iterations for i in range(iterations)]
    scenario = closed(starts_s=starts, requests=each, answer=always(2.0), vus=100, **answer)
    return world(scenario, policy={**CLOSED, **(policy or {})})


def beside(duration_ms: float, change: Any = None, **scenario: Any) -> World:
    """Iterations of exactly 50 ms, and one request more that took so long."""
    own = {"duration_s": 10, "answer": always(50.0), "think_ms": 0.0}
    lines = request_lines(9.0, duration_ms)
    return world(Scenario(**{**own, **scenario}), extra_lines=lines, change=change, log="")


def parts(part: str, change: Callable[[float], float]) -> Change:
    """Change one part of every request."""

    def one(line: str) -> str:
        if f'"metric":"http_req_{part}"' not in line or '"Point"' not in line:
            return line
        point = json.loads(line)
        point["data"]["value"] = round(change(point["data"]["value"]), 6)
        return json.dumps(point, separators=(",", ":"))

    return points(lambda found: [one(line) for line in found])


def shorter(by_ms: float) -> Change:
    """Say that iterations took so much less."""

    def one(line: str) -> str:
        if '"metric":"iteration_duration"' not in line or '"Point"' not in line:
            return line
        point = json.loads(line)
        point["data"]["value"] = round(point["data"]["value"] - by_ms, 6)
        return json.dumps(point, separators=(",", ":"))

    return points(lambda found: [one(line) for line in found])


SMOKE = {"purpose": "smoke"}
NEGATIVE = beside(-3.0)
LONG = beside(12_000.0)
"""From the first start to the last stamp are 10.04 s, and one second is forgiven."""
SEED = {"scenarios": {"seed": {"workload": "", "role": "support", "workload_reason": ""}}}

CASES = [
    Case("LS01", "10,000", "pass", requests(1000, 10)),
    Case("LS01", "9,999", "fail:warning", requests(1111, 9), ("",), "9,999 sent requests: only 9 samples lie above p99.9"),
    Case("LS01", "3,688: the cell is there, and weak", "fail:warning", requests(922, 4), ("",), "only 3 samples lie above p99.9"),
    Case("LS01", "3,687: the cell is n/a", "fail:warning", requests(1229, 3), ("",), "p99.9 is n/a, need 3,688"),
    Case("LS01", "3,688 where no more is asked for", "pass", requests(922, 4, {"limits": {"LS01": {"weak": 3688}}})),
    # 990 starts and 10 drops are 1,000 offered.
    Case("LS01", "dropped ones count as offered", "fail:warning", world(Scenario(**lost(100, 10, 10, dropped=True))), ("",), "1,000 offered"),
    Case("LS01", "a smoke test", "not-applicable", world(policy=SMOKE)),
    Case("LS01", "no request", "not-applicable", NO_REQUESTS),
    Case("LS01", "no points", "unknown", NO_POINTS),
    Case("LS02", "1,000", "pass", HEALTHY),
    *(Case("LS02", f"{n:,}", "pass" if n == 368 else "fail:warning", requests(n, 1), says=says) for n, says in (
        (368, ""), (367, "p99 (need 368)"), (72, "p99 (need 368)"), (71, "p95 (need 72), p99 (need 368)"),
        (35, "p90 (need 36), p95 (need 72)"), (6, "p90 (need 36)"), (5, "p50 (need 6)"))),
    Case("LS02", "a smoke test", "not-applicable", world(Scenario(duration_s=1), policy=SMOKE)),
    Case("LS02", "no request", "not-applicable", NO_REQUESTS),
    Case("LS02", "no points", "unknown", NO_POINTS),
    Case("LS05", "in order", "pass", HEALTHY),
    Case("LS05", "of failures alone", "pass", world(Scenario(duration_s=10, answer=fails(1000)))),
    Case("LS05", "a negative duration", "fail:invalid", NEGATIVE, ("",), "1 of 1,001"),
    Case("LS05", "of one of two scenarios", "fail:invalid", world(Scenario("a", duration_s=10), Scenario("b", duration_s=10), extra_lines=request_lines(5.0, -1.0, "b")), ("", "b")),
    Case("LS05", "no request", "not-applicable", NO_REQUESTS),
    Case("LS05", "no points", "unknown", NO_POINTS),
    Case("LS11", "possible", "pass", HEALTHY),
    Case("LS11", "a negative duration", "fail:invalid", NEGATIVE, ("", "api"), "negative duration"),
    Case("LS11", "a negative part", "fail:invalid", world(change=parts("sending", lambda v: v - 0.5)), ("",), "http_req_sending are negative"),
    Case("LS11", "parts that are 1 ms short", "pass", world(change=parts("waiting", lambda v: v - 1.0))),
    Case("LS11", "parts that are 1.1 ms short", "fail:invalid", world(change=parts("waiting", lambda v: v - 1.1)), ("",), "not sending + waiting + receiving, by up to 1.1 ms"),
    Case("LS11", "a part that is not recorded", "pass", world(change=points(lambda found: [x for x in found if "http_req_waiting" not in x]))),
    Case("LS11", "all take 0 ms", "fail:invalid", world(Scenario(duration_s=10, answer=always(0.0))), ("",), "took 0 ms"),
    # Iterations of 20.2 to 26.2 ms, said to be 2 ms shorter: the longest is still longer than most requests.
    Case("LS11", "iterations shorter than their requests", "fail:invalid", world(Scenario(duration_s=10, starts_s=slots(100, 10)), change=shorter(2.0)), ("api", "api"), "iterations that make one each only"),
    Case("LS10", "latencies differ", "pass", HEALTHY),
    Case("LS10", "all alike", "fail:warning", world(Scenario(duration_s=10, answer=always(20.0))), ("api",), "all 1,000 requests took 20 ms"),
    Case("LS10", "on a grid of 15.6 ms", "fail:warning", world(Scenario(duration_s=10, answer=lambda i, s: Answer(15.625 * (1 + i % 3)))), ("api",), "whole multiple"),
    Case("LS10", "94 % on that grid", "pass", world(Scenario(duration_s=10, answer=lambda i, s: Answer(15.625 * (1 + i % 3) if i % 50 > 2 else 22.0)))),
    Case("LS10", "99 requests", "not-applicable", world(Scenario(rate=9, duration_s=11, answer=always(20.0)))),
    Case("LS11", "1 ms above the longest iteration", "pass", beside(51.0)),
    Case("LS11", "1.1 ms above the longest iteration", "fail:invalid", beside(51.1), ("api",), "longest iteration"),
    Case("LS11", "longer than an iteration, some were cut off", "pass", beside(51.1, starts_s=slots(100, 10)[:999], interrupted_s=[10.0])),
    Case("LS11", "longer than an iteration, the file is torn", "pass", beside(51.1, TORN)),
    Case("LS11", "longer than the run", "fail:invalid", LONG, ("api",), "the whole run"),
    Case("LS11", "longer than the run, some were cut off", "fail:invalid", beside(12_000.0, starts_s=slots(100, 10)[:999], interrupted_s=[10.0])),
    Case("LS11", "long setup()", "pass", world(setup_ms=20_000.0)),
    Case("LS11", "of a scenario that seeds", "pass", world(Scenario(duration_s=10), Scenario("seed", duration_s=10), extra_lines=request_lines(5.0, 100.0, "seed"), policy=SEED)),
    Case("LS11", "on one of two generators", "fail:invalid", several(half(), half(1, extra_lines=request_lines(5.0, 100.0))), ("api on gen-2",)),
    Case("LS11", "two generators", "pass", PAIR),
    Case("LS11", "no request", "not-applicable", NO_REQUESTS),
    Case("LS11", "no points", "unknown", NO_POINTS),
]  # fmt: skip


@table(*CASES)
def test_latency(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
