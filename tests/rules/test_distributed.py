"""DM: whether several generators' evidence is all of one run, once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.builder import Run, Scenario
from tests.rules.cases import (
    CLOSED_DECLARED,
    HEALTHY,
    NO_PLAN,
    NO_POINTS,
    PAIR,
    Case,
    World,
    both,
    half,
    inspect,
    points,
    several,
    slots,
    table,
    world,
)


def third(index: int, **run: Any) -> Run:
    """One of three of 300/s over 10 s; 99 VUs, 33 each."""
    starts = [s + 0.002 * index for s in slots(100, 10)]
    scenario = Scenario(rate=300, duration_s=10, starts_s=starts, max_vus=99, pre_allocated_vus=48, requests=0)
    return Run(scenarios=[scenario], percent=33.33, **run)


def segments(*parts: str) -> World:
    """Two generators that name their segments."""
    changes = [
        inspect(lambda o, part=part: o.update(executionSegment=part), f"gen-{i + 1}/inspect.json")  # type: ignore[misc]
        for i, part in enumerate(parts)
    ]
    return World((half(), half(1)), change=both(*changes))


def skewed(by_s: float) -> World:
    """Windows of 10 s: 1 % is 0.1 s, 5 % is 0.5 s."""
    return several(half(), half(0, [s + 0.005 + by_s for s in slots(100, 10)], tags={"instance": "2"}))


def long_skewed(by_s: float, warmup: str = "0s") -> World:
    """Windows of 120 s: 1 % is 1.2 s, but more than 1 s is told anyway."""
    runs = [
        Run(scenarios=[Scenario(rate=20, duration_s=120, requests=0, starts_s=[s + offset for s in slots(10, 120)])], percent=50.0)
        for offset in (0.0, 0.05 + by_s)
    ]  # fmt: skip
    return several(*runs, warmup=warmup)


def shared(equal: int) -> World:
    """Two generators of 1,000, of which so many of the second end at the very times of the first."""
    starts = [s if i < equal else s + 0.003 for i, s in enumerate(slots(100, 10))]
    return several(half(), half(0, starts, tags={"instance": "2"}))


def twice(share: float) -> World:
    """So much of the file a second time."""
    return world(
        Scenario(duration_s=10, requests=0),
        change=points(lambda found: [*found, *found[: round(len(found) * share)]]),
    )


def late(n: int) -> World:
    """n of 1,000 iterations start 2.5 s after the planned end."""
    starts = slots(100, 10)
    starts = starts[: 1000 - n] + [12.5 + i / 100 for i in range(n)]
    return world(Scenario(duration_s=10, starts_s=starts, requests=0))


def copied(folder: Path) -> None:
    shutil.copy(folder / "gen-1" / "k6.json", folder / "gen-2" / "k6.json")


def tagged(*ids: str) -> World:
    scenarios = [
        Scenario(
            f"s{i}",
            duration_s=10,
            requests=0,
            tags={"testid": one},
            starts_s=[s + 0.003 * i for s in slots(100, 10)],
        )
        for i, one in enumerate(ids)
    ]
    return world(*scenarios)


WHOLE = several(Run(scenarios=[Scenario(duration_s=10)]), Run(scenarios=[Scenario(duration_s=10, starts_s=[s + 0.003 for s in slots(100, 10)])]))  # fmt: skip
UNTOLD = several(half(console=False), half(1, console=False))

CASES = [
    Case("DM01", "2 of 2", "pass", PAIR),
    Case("DM01", "3 of 3", "pass", several(third(0), third(1), third(2))),
    Case("DM01", "1 of 2", "fail:invalid", several(half()), ("",), "there were 2"),
    Case("DM01", "2 of 3", "fail:invalid", several(third(0), third(2)), ("",), "there were 3"),
    Case("DM01", "2 of 3 declared", "fail:invalid", several(half(), half(1), policy={"generators": 3}), ("",), "3 are declared"),
    Case("DM01", "2 of 1 declared", "fail:invalid", several(half(), half(1), policy={"generators": 1})),
    Case("DM01", "1 of 1 declared", "pass", world(policy={"generators": 1})),
    Case("DM01", "one, whole", "not-applicable", HEALTHY),
    Case("DM01", "two, nothing told", "unknown", UNTOLD),
    Case("DM02", "two halves", "pass", PAIR),
    Case("DM02", "three thirds, 99.99 %", "pass", several(third(0), third(1), third(2))),
    Case("DM02", "one, whole", "pass", HEALTHY),
    Case("DM02", "a half alone", "fail:invalid", several(half()), ("",), "50.00%"),
    Case("DM02", "two thirds", "fail:invalid", several(third(0), third(1)), ("",), "66.66 %"),
    Case("DM02", "four thirds", "fail:invalid", several(third(0), third(1), third(2), third(3)), ("",), "133.32 %"),
    Case("DM02", "two wholes", "fail:invalid", WHOLE, ("",), "2 times the load"),
    Case("DM02", "segments that tile", "pass", segments("0:1/2", "1/2:1")),
    Case("DM02", "segments that overlap", "fail:invalid", segments("0:1/2", "0:1/2"), ("",), "overlap"),
    Case("DM02", "segments with a gap", "fail:invalid", segments("0:1/3", "2/3:1"), ("",), "leave out 1/3 to 2/3"),
    Case("DM02", "two, nothing told", "unknown", UNTOLD),
    Case("DM02", "one of two untold", "unknown", several(half(), half(1, console=False))),
    Case("DM02", "one, nothing told", "not-applicable", NO_PLAN),
    Case("DM03", "3 ms apart", "pass", PAIR),
    Case("DM03", "0.1 s apart: 1 %", "pass", skewed(0.1)),
    Case("DM03", "0.101 s apart", "fail:warning", skewed(0.101), ("api",), "gen-2 started 0.101 s after gen-1"),
    Case("DM03", "0.5 s apart: 5 %", "fail:warning", skewed(0.5)),
    Case("DM03", "0.501 s apart", "fail:invalid", skewed(0.501), ("api",)),
    Case("DM03", "1 s of 120 s apart", "pass", long_skewed(1.0)),
    Case("DM03", "1.1 s of 120 s apart", "fail:warning", long_skewed(1.1)),
    # After a warm-up of 100 s the window is 20 s: 5 % are 1 s.
    Case("DM03", "1.1 s of 20 s apart", "fail:invalid", long_skewed(1.1, "100s")),
    Case("DM03", "one generator", "not-applicable", HEALTHY),
    Case("DM03", "no points", "unknown", NO_POINTS),
    Case("DM06", "one run", "pass", HEALTHY),
    Case("DM06", "two generators", "pass", PAIR),
    Case("DM06", "the same file twice", "fail:invalid", World((half(), half(1)), change=copied), ("gen-2",), "byte for byte"),
    Case("DM06", "half of the stamps equal", "pass", shared(500)),
    Case("DM06", "501 of 1,000 stamps equal", "fail:invalid", shared(501), ("gen-2",), "50.1%"),
    Case("DM06", "all lines twice", "fail:invalid", twice(1.0), says="twice or more"),
    # A fifth of 1,000 again: 400 of 1,200 are twins, a third.
    Case("DM06", "a fifth of the lines twice", "pass", twice(0.2)),
    Case("DM06", "two run ids", "fail:invalid", tagged("a", "b"), ("",), "'testid' names 2 runs"),
    Case("DM06", "one run id", "pass", tagged("a", "a")),
    # 1 % of 1,000 is 10.
    Case("DM06", "10 of 1,000 after the end", "pass", late(10)),
    Case("DM06", "11 of 1,000 after the end", "fail:invalid", late(11), ("api",), "11 of 1,000"),
    Case("DM06", "closed", "pass", CLOSED_DECLARED),
    Case("DM06", "no points", "unknown", NO_POINTS),
]  # fmt: skip


@table(*CASES)
def test_distributed(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    case.check(tmp_path_factory)
