"""CO: stalls of the system, pauses of the generator, work left unfinished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.builder import Answer, Scenario
from tests.rules.cases import (
    CLOSED,
    COARSE_STAMPS,
    HEALTHY,
    NO_POINTS,
    PAIR,
    Case,
    World,
    closed,
    fails,
    half,
    lost,
    point,
    several,
    slots,
    table,
    world,
)


def until(end_s: float, from_s: float = 5.0) -> Callable[[int, float], Answer]:
    """20 ms each; what would end after ``from_s`` and before ``end_s`` ends at ``end_s``."""

    def answer(index: int, start_s: float) -> Answer:
        stalled = from_s + 1e-6 < start_s + 0.02 < end_s
        return Answer(round((end_s - start_s) * 1000, 6) if stalled else 20.0)

    return answer


def stall(end_s: float, kept: float = 1.0, from_s: float = 5.0, **options: Any) -> World:
    """100/s for 10 s, 20 ms each. Nothing completes between 5 s and ``end_s``; of the starts due there only a
    share is made (the first of them)."""
    due = [s for s in slots(100, 10) if from_s <= s < end_s - 1e-9]
    made = set(due[: round(len(due) * kept)])
    starts = [s for s in slots(100, 10) if s not in set(due) or s in made]
    scenario = Scenario(
        duration_s=10,
        starts_s=starts,
        answer=until(end_s, from_s),
        think_ms=0.0,
        max_vus=500,
        pre_allocated_vus=500,
    )
    return world(scenario, **options)


def closed_stall(made: int) -> World:
    """50/s closed; nothing completes between 5 and 7 s, where 100 starts would be due; so many are made."""
    starts = [s for s in slots(50, 10) if not 5.0 <= s < 7.0] + [5.0 + i / 1000 for i in range(made)]
    return world(closed(starts_s=sorted(starts), answer=until(7.0), think_ms=0.0), policy=CLOSED)


def paused(resume_s: float, **options: Any) -> World:
    """No stamp between 2 s and ``resume_s``: iterations end 20 ms after their start, gauges are written by hand."""
    starts = [s for s in slots(100, 10) if s + 0.02 <= 2.0 or s + 0.02 >= resume_s]
    scenario = Scenario(duration_s=10, starts_s=starts, requests=0, think_ms=20.0)
    ticks = [point("vus", at, 3) for at in (0.0, 1.0, 2.0, resume_s, 5.0, 6.0, 7.0, 8.0, 9.0)]
    return world(scenario, ticks=False, **{"extra_lines": ticks, **options})


def cut(interrupted: int, failed: int = 0) -> World:
    """1,000 starts, of which so many were cut off 30 s after the end."""
    starts = slots(100, 10)
    starts = [s for i, s in enumerate(starts) if i < 1000 - interrupted]
    return world(
        Scenario(duration_s=10, starts_s=starts, interrupted_s=[40.0] * interrupted, answer=fails(failed))
    )


SEED = {"scenarios": {"seed": {"workload": "", "role": "support", "workload_reason": ""}}}
HANGING = Scenario("seed", duration_s=10, starts_s=slots(100, 10)[:900], interrupted_s=[40.0] * 100)
OPEN_HANGING = Scenario("a", duration_s=10, starts_s=slots(100, 10)[:950], interrupted_s=[40.0] * 50)
TILL = {"scenarios": {"till": {"workload": "closed", "role": "", "workload_reason": "one clerk"}}}
TILL_HANGING = closed(name="till", starts_s=slots(50, 10)[:450], interrupted_s=[40.0] * 50)

CASES = [
    Case("CO02", "none", "pass", HEALTHY),
    # The limit is 1 s: ten median gaps are 0.1 s, two median iterations 0.04 s.
    Case("CO02", "1 s", "pass", stall(6.0)),
    Case("CO02", "1.01 s, and the load kept coming", "fail:warning", stall(6.01), ("api",), "1.01 s"),
    Case("CO02", "2 s, and the load kept coming", "fail:warning", stall(7.0), ("api",), "200 starts were due"),
    Case("CO02", "2 s, half of 200 starts made", "fail:warning", stall(7.0, 0.5), ("api",), "100 made"),
    Case("CO02", "2 s, 99 of 200 starts made", "fail:invalid", stall(7.0, 0.495), ("api",), "99 made"),
    Case("CO02", "2 s, no start made", "fail:invalid", stall(7.0, 0.0)),
    Case("CO02", "2 s in the excluded part, no start made", "fail:warning", stall(4.0, 0.0, 2.0, warmup="5s"), ("api",), "excluded part"),
    Case("CO02", "2 s that reach out of the excluded part", "fail:invalid", stall(7.0, 0.0, warmup="6s")),
    Case("CO02", "closed, half of the starts made", "fail:warning", closed_stall(50)),
    Case("CO02", "closed, fewer than half made", "fail:invalid", closed_stall(10), ("api",)),
    Case("CO02", "of a scenario that seeds", "pass", world(Scenario(duration_s=10), Scenario("seed", duration_s=10, starts_s=[s for s in slots(100, 10) if not 5 <= s < 7]), policy=SEED)),
    Case("CO02", "coarse stamps", "unknown", COARSE_STAMPS),
    Case("CO02", "no points", "unknown", NO_POINTS),
    Case("CO03", "none", "pass", HEALTHY),
    Case("CO03", "2.5 s", "pass", paused(4.5)),
    Case("CO03", "2.501 s", "fail:invalid", paused(4.501), ("",), "2.501 s"),
    Case("CO03", "2.501 s without gauges", "unknown", paused(4.501, extra_lines=())),
    Case("CO03", "one of two generators", "fail:invalid", several(half(), half(1, ticks=False, starts=[s for s in slots(100, 10) if not 2 <= s < 6], extra_lines=[point("vus", 9.0, 3)])), ("gen-2",)),
    Case("CO03", "two generators", "pass", PAIR),
    Case("CO03", "no points", "unknown", NO_POINTS),
    # n = 1,000: 9 may be without a latency (SD01).
    Case("CO05", "nothing unfinished", "pass", HEALTHY),
    Case("CO05", "1 interrupted", "fail:warning", cut(1), ("api",), "1 iteration was interrupted"),
    Case("CO05", "9 interrupted", "fail:warning", cut(9)),
    Case("CO05", "10 interrupted", "fail:invalid", cut(10), ("api",), "p99 is not identified"),
    Case("CO05", "5 interrupted with 5 failed", "fail:invalid", cut(5, 5)),
    Case("CO05", "5 interrupted with 4 failed", "fail:warning", cut(5, 4)),
    # The last 3 of 4,000: e = 2, so 3 are silent, and ⌈0.99 × 3,999⌉ = 3,960 leaves 39.
    Case("CO05", "the last starts were forgotten", "fail:warning", world(Scenario(duration_s=40, starts_s=slots(100, 40)[:-3], requests=1)), ("api",), "3 starts due"),
    Case("CO05", "dropped is not unfinished", "pass", world(Scenario(**lost(100, 10, 5, dropped=True)))),
    Case("CO05", "of a scenario that seeds", "pass", world(Scenario(duration_s=10), HANGING, policy=SEED)),
    Case("CO05", "5 % of an open scenario", "fail:invalid", world(OPEN_HANGING), ("a",)),
    Case("CO05", "5 % of an open scenario beside a closed one", "fail:invalid", world(OPEN_HANGING, closed(name="till"), policy=TILL), ("a",)),
    Case("CO05", "10 % of a closed scenario", "fail:invalid", world(TILL_HANGING, policy=TILL), ("till",)),
    Case("CO05", "no points", "unknown", NO_POINTS),
]  # fmt: skip


@table(*CASES)
def test_stalls(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
