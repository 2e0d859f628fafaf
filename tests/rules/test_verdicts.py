"""Runs that no declaration and no missing file may turn VALID."""

from __future__ import annotations

import pytest

from auditor.ingest.bundle import read_run
from tests.builder import Answer, Run, Scenario
from tests.conftest import outcomes
from tests.rules.cases import (
    CLOSED,
    HEALTHY,
    World,
    closed,
    fails,
    half,
    less,
    remove,
    several,
    slots,
    world,
)
from tests.rules.test_distributed import WHOLE

TILL = {"scenarios": {"till": {"workload": "closed", "role": "", "workload_reason": "one clerk"}}}
HANGING = Scenario("a", duration_s=10, starts_s=less(slots(100, 10), 50), interrupted_s=[10.4] * 50)
"""5 % of its iterations never answered and were cut off."""
CUT_OFF = Scenario(duration_s=30, starts_s=less(slots(100, 30), 45), interrupted_s=[30.4] * 45)
"""1.5 %: p99 falls on them."""
STALLED = [s for s in slots(100, 30) if 20 <= s < 25]
ALL_DROPPED = Scenario(duration_s=30, starts_s=[s for s in slots(100, 30) if s not in STALLED], drops_s=STALLED)
ALL_FAILING = Scenario(duration_s=30, answer=lambda i, s: Answer(5.0, "500", s >= 20))
LENIENT = {"http_req_duration": ["max<60000"]}


WRONG = {
    "5 % cut off": world(HANGING),
    "5 % cut off, beside a closed scenario": world(HANGING, closed(name="till"), policy=TILL),
    "10 % of a closed run cut off": world(closed(starts_s=less(slots(50, 10), 50), interrupted_s=[10.4] * 50), policy=CLOSED),
    "10 % of a closed run cut off, one failed": world(closed(starts_s=less(slots(50, 10), 50), interrupted_s=[10.4] * 50, answer=fails(1)), policy=CLOSED),
    "1.5 % cut off": world(CUT_OFF),
    "1.5 % cut off, 1 s of ramp-down": world(CUT_OFF, policy={"ramp_down": "1s"}),
    "5 s without a start": world(ALL_DROPPED, thresholds=LENIENT),
    "5 s without a start, in the ramp-down": world(ALL_DROPPED, thresholds=LENIENT, policy={"ramp_down": "11s"}),
    "the last third fails": world(ALL_FAILING),
    "the last third fails, in the ramp-down": world(ALL_FAILING, policy={"ramp_down": "11s"}),
    "two generators of the whole plan": WHOLE,
    "two generators of the whole plan, one without its points": several(*WHOLE.runs, change=remove("gen-2/k6.json")),
    "two halves, one without its points": several(half(), half(1), change=remove("gen-2/k6.json")),
}  # fmt: skip


@pytest.mark.parametrize("one", WRONG.values(), ids=WRONG.keys())
def test_it_is_not_valid(one: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    result = one.audited(tmp_path_factory)
    assert result.verdict != "VALID", outcomes(result)


RIGHT = {
    "healthy": HEALTHY,
    "a healthy run with a ramp-down": world(Scenario(duration_s=20), policy={"ramp_down": "5s"}),
    "a healthy closed run": world(closed(), policy=CLOSED),
    "a system that stalls while the load keeps coming": world(
        Scenario(
            duration_s=20,
            max_vus=500,
            pre_allocated_vus=500,
            think_ms=0.0,
            answer=lambda i, s: Answer((8 - s) * 1000 if 5 <= s < 7.98 else 20.0),
        )
    ),
    "a crossed threshold": world(exit_code=99, thresholds={"http_req_duration": ["p(95)<10"]}),
    # The last start is at 9.8 s and is answered 20 ms later: nothing is missing.
    "a crossed threshold at a low rate": world(
        Scenario(rate=5, duration_s=210), exit_code=99, thresholds={"http_req_duration": ["p(95)<10"]}
    ),
}


@pytest.mark.parametrize("one", RIGHT.values(), ids=RIGHT.keys())
def test_it_is_valid(one: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    result = one.audited(tmp_path_factory)
    assert result.verdict == "VALID", outcomes(result)


def test_a_generator_without_points_is_missed_where_the_folders_are_named(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("named")
    folders = [Run.write(run, folder / f"gen-{i + 1}") for i, run in enumerate(WHOLE.runs)]
    (folders[1] / "k6.json").unlink()
    evidence = read_run(folders)
    assert [g.name for g in evidence.generators] == ["gen-1", "gen-2"]
    assert evidence.generators[1].points is None
