"""
What it checks
    Whether latencies look as if no clock had measured them: all the same, or on the grid of a coarse timer.

Why it matters
    Real latencies differ. A stub that answers by itself, a clock that stands still, or a timer that ticks every
    15.6 ms (older Windows) gives percentiles that are those of the clock.

How it is computed
    Durations of the latency metric in the measurement window, per scenario, from 100 requests on: all of one
    value; or at least 95 % of them within 0.2 ms of a whole multiple of 15.625 ms (by chance: 2.6 %), with at
    least two different multiples.

How to fix it
    Generate load from Linux, or with a k6 and an operating system whose timer is fine; check that the system,
    and not a stub, answers.

When it is wrong
    A system that answers after a fixed wait (a simulator with timers of 15.6 ms).
"""

import numpy as np

from auditor.api import (
    CountSources,
    Finding,
    Findings,
    Latency,
    Limit,
    Limits,
    NotApplicable,
    Population,
    Quantity,
    Rule,
    Scope,
    milliseconds,
    percent,
)

RULE = Rule(
    id="LS10",
    slug="coarse-clock",
    title="Latencies are constant, or on the grid of a coarse clock",
    severity="warning",
    since="0.1",
    limits=(
        Limit("on_grid", 0.95, "share of the requests", "own: by chance it is 2.6 %"),
        Limit("least_requests", 100, "requests", "own: fewer may well be alike"),
    ),
    references=("athrvk/vayu#1370",),
)
GRID_MS = 15.625
NEAR_MS = 0.2


def check(latency: Latency, counted: CountSources, limits: Limits) -> Findings:
    judged = False
    for scenario, population in latency.by_scenario.items():
        if population.totals is not None or population.sent < limits["least_requests"]:
            continue
        judged = True
        yield from _of(scenario, population, counted, limits)
    if not judged:
        yield NotApplicable(f"fewer than {limits['least_requests']:g} requests have a sample in the window")


def _of(scenario: str, population: Population, counted: CountSources, limits: Limits) -> Findings:
    values = population.sent_ms
    shortest, longest = float(values[0]), float(values[-1])
    name = scenario or "the run"
    if shortest == longest:
        yield Finding(
            message=f"{name}: all {len(values):,} requests took {shortest:,.6g} ms",
            fix="check that the system, and not a stub, answers, and that the clock of the generator runs",
            observed=milliseconds(longest),
            limit=Quantity(None, "ms", "durations that differ"),
            evidence=counted.files,
            scope=Scope(scenario=scenario),
        )
        return
    steps = np.round(values / GRID_MS)
    share = float((np.abs(values - steps * GRID_MS) <= NEAR_MS).mean())
    if share >= limits["on_grid"] and steps[0] != steps[-1]:
        yield Finding(
            message=f"{name}: {share:.1%} of {len(values):,} requests took a whole multiple of 15.6 ms: the "
            "timer of the generator is that coarse, and so are its percentiles",
            fix="generate load from Linux, or with an operating system whose timer is fine",
            observed=percent(share),
            limit=percent(limits["on_grid"]),
            evidence=counted.files,
            scope=Scope(scenario=scenario),
        )
