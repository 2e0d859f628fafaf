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
    closed,
    half,
    several,
    table,
    world,
)

EACH: dict[str, Any] = {"executor": "per-vu-iterations", "vus": 10, "iterations": 20, "rate": 20}
WITH_SEED = [Scenario(duration_s=10), closed(name="seed", duration_s=5)]

CASES = [
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
