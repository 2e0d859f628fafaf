"""WM: which executor ran, and whether k6 braked itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builder import Scenario
from tests.rules.cases import (
    CLOSED,
    CLOSED_DECLARED,
    CLOSED_RUN,
    HEALTHY,
    NO_OPTIONS_RAMP,
    NO_PLAN,
    PAIR,
    Case,
    World,
    always,
    closed,
    half,
    request_lines,
    scripted,
    several,
    table,
    world,
)

EACH: dict[str, Any] = {"executor": "per-vu-iterations", "vus": 10, "iterations": 20, "rate": 20}
WITH_SEED = [Scenario(duration_s=10), closed(name="seed", duration_s=5)]


def thinking(ms: float, **run: Any) -> World:
    """Requests of 10 ms, and iterations that take so much longer."""
    return world(Scenario(duration_s=10, answer=always(10.0), think_ms=ms), **run)


def held_back(per_s: float, seconds: int, **run: Any) -> World:
    """100 iterations/s for 10 s that start on time and take 3 s; their requests of 20 ms start at another rate."""
    starts = [i / per_s for i in range(round(per_s * seconds))]
    later = [starts[-1] + 0.5 + i / 1000 for i in range(1000 - len(starts))]
    lines = [line for start_s in [*starts, *later] for line in request_lines(start_s + 0.02, 20.0)]
    pool: dict[str, Any] = {"pre_allocated_vus": 400, "max_vus": 400}
    return world(Scenario(duration_s=10, requests=0, think_ms=3000.0, **pool), extra_lines=lines, **run)


HTTP_ALONE = scripted("http.get('http://x/')")
CASES = [
    Case("WM03", "requests explain all but 0.2 ms", "pass", HEALTHY),
    Case("WM03", "4.9 ms of 14.9 ms", "pass", thinking(4.9)),
    Case("WM03", "6 ms of 16 ms", "fail:warning", thinking(6.0), ("api",), "6 ms are explained by neither"),
    Case("WM03", "6 ms of 56 ms", "pass", world(Scenario(duration_s=10, answer=always(50.0), think_ms=6.0))),
    Case("WM03", "6 ms, and the script cannot wait", "fail:warning", thinking(6.0, change=HTTP_ALONE)),
    Case("WM03", "a literal sleep explains them", "pass", thinking(6.0, change=scripted("http.get('http://x/'); sleep(0.006);", 'import http from "k6/http"', 'import { sleep } from "k6"'))),
    Case("WM03", "the script may wait by itself", "not-applicable", thinking(6.0, change=scripted("http.get('http://x/'); sleep(Math.random());", 'import http from "k6/http"', 'import { sleep } from "k6"'))),
    # 1,000 requests: 90/s for 10 s while 100/s are due, the other 100 afterwards.
    Case("WM03", "held to 90/s for 10 s, script read", "fail:invalid", held_back(90, 10, change=HTTP_ALONE), ("api",), "kept to 90/s while 100/s were due"),
    Case("WM03", "held to 90/s for 10 s, script not kept", "fail:warning", held_back(90, 10), ("api",)),
    Case("WM03", "held to 90/s for 9 s", "fail:warning", held_back(90, 9, change=HTTP_ALONE)),
    Case("WM03", "100/s is no less than the demand", "fail:warning", held_back(100, 10, change=HTTP_ALONE)),
    Case("WM01", "arrival rate", "pass", HEALTHY),
    Case("WM01", "constant-vus", "fail:invalid", CLOSED_RUN, ("api",), "constant-vus, 10 VUs"),
    Case("WM01", "ramping-vus", "fail:invalid", world(Scenario(executor="ramping-vus", rate=20, stages=[(5, 8), (5, 8)])), ("api",), "ramping-vus"),
    Case("WM01", "shared-iterations", "fail:invalid", world(Scenario(executor="shared-iterations", iterations=200, rate=20, duration_s=10)), ("api",), "shared-iterations"),
    Case("WM01", "per-vu-iterations", "fail:invalid", world(Scenario(duration_s=10, **EACH)), ("api",), "per-vu-iterations"),
    Case("WM01", "from the options alone", "fail:invalid", world(closed(), console=False), ("api",)),
    Case("WM01", "from the banner alone", "fail:invalid", world(closed(), inspect=False), ("api",)),
    Case("WM01", "declared closed, with its reason", "pass", CLOSED_DECLARED),
    Case("WM01", "declared closed for its scenario", "pass", world(closed(), policy={"scenarios": {"api": {"workload": "closed", "role": "", "workload_reason": "a till"}}})),
    Case("WM01", "declared closed for another scenario", "fail:invalid", world(closed(), policy={"scenarios": {"web": {"workload": "closed", "role": "", "workload_reason": "a till"}}}), ("api",)),
    Case("WM01", "closed for its scenario, without a reason", "fail:invalid", world(closed(), policy={"scenarios": {"api": {"workload": "closed", "role": "", "workload_reason": ""}}}), ("api",)),
    Case("WM01", "one closed beside an open one", "fail:invalid", world(*WITH_SEED), ("seed",)),
    Case("WM01", "a closed one that only seeds", "pass", world(*WITH_SEED, policy={"scenarios": {"seed": {"workload": "", "role": "support", "workload_reason": ""}}})),
    Case("WM01", "neither banner nor options", "unknown", NO_PLAN),
    Case("WM01", "neither, but declared closed", "pass", world(closed(), inspect=False, console=False, policy=CLOSED)),
    Case("WM01", "the banner of an arrival rate is enough", "pass", NO_OPTIONS_RAMP),
    Case("WM04", "no rps", "pass", HEALTHY),
    Case("WM04", "rps of 0 is none", "pass", world(rps=0)),
    Case("WM04", "rps", "fail:invalid", world(rps=1), ("",), "rps = 1 "),
    Case("WM04", "rps of a closed run", "fail:invalid", world(closed(), rps=90)),
    Case("WM04", "rps of one of two generators", "fail:invalid", several(half(), half(1, rps=500)), ("gen-2",)),
    Case("WM04", "two generators without", "pass", PAIR),
    Case("WM04", "no options", "unknown", NO_OPTIONS_RAMP),
]  # fmt: skip


@table(*CASES)
def test_workload(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
