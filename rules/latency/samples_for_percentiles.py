"""
What it checks
    Whether the run has enough samples for p99, p95, p90 and p50.

Why it matters
    Below these numbers a percentile has no confidence interval: the "p99" of 50 requests is just their
    maximum.

How it is computed
    n is the population of the header's cell: offered demand in the window, or what was sent in a closed run,
    pooled over the scenarios. A two-sided 95 % interval from order statistics exists from n = 368 for p99, 72
    for p95, 36 for p90 and 6 for p50; below it the cell is n/a and says how many are needed.

How to fix it
    Run longer at the same rate; the finding says how long.

When it is wrong
    It affects only the cells, never the verdict. Groups of requests by name have the same minima, without a
    finding. Relaxed for purpose = "smoke".
"""

import math

from auditor.api import (
    DECIDING,
    LABEL_OF,
    MINIMUM_N,
    CountSources,
    Declared,
    Finding,
    Findings,
    Latency,
    NotApplicable,
    Rule,
    Timeline,
    count,
)

RULE = Rule(
    id="LS02",
    slug="samples-for-percentiles",
    title="Too few samples for p99 or lower percentiles",
    severity="warning",
    since="0.1",
    references=("semantics §4",),
    consequence_of=("OL09", "SS08"),
)


def check(latency: Latency, timeline: Timeline, counted: CountSources, declared: Declared) -> Findings:
    pooled = latency.pooled
    n = pooled.offered if pooled.kind == "offered" else pooled.sent
    if pooled.cell(DECIDING[-1]).status == "empty":
        yield NotApplicable("no request was made")
        return
    if declared.purpose == "smoke":
        yield NotApplicable('purpose = "smoke": sample sizes are not judged')
        return
    short = {name: MINIMUM_N[name] for name in DECIDING if n < MINIMUM_N[name]}
    if not short:
        return
    most = max(short.values())
    window_s = float(timeline.window_s)
    longer = f"; at this rate that takes {math.ceil(window_s * most / n):,} s" if n and window_s > 0 else ""
    cells = ", ".join(f"{LABEL_OF[name]} (need {least:,})" for name, least in short.items())
    yield Finding(
        message=f"{n:,} {pooled.kind} requests are too few for {cells}: these cells are n/a",
        fix=f"collect at least {most:,} requests in the window{longer}",
        observed=count(n, "requests"),
        limit=count(most, "requests"),
        evidence=counted.files,
    )
