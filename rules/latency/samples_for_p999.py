"""
What it checks
    Whether the run has enough samples for p99.9.

Why it matters
    Of 3,000 requests three lie above p99.9: the figure is one of them, and the next run gives another. A
    figure that cannot be repeated cannot be compared with a limit or with the last release.

How it is computed
    n is the population of the header's cell: offered demand in the window, or what was sent in a closed run,
    pooled over the scenarios. Below 3,688 no two-sided 95 % interval exists from order statistics and the cell
    is n/a; below 10,000 it is weak: fewer than ten samples lie above it.

How to fix it
    Run longer at the same rate; the finding says how long. Or state p99 as the highest percentile.

When it is wrong
    It affects only the cell, never the verdict. Requests that belong together (a session, a stall) are
    fewer independent samples than their number: 10,000 is then little. Relaxed for purpose = "smoke".
"""

import math
from fractions import Fraction

from auditor.api import (
    DECIDING,
    LABEL_OF,
    MINIMUM_N,
    PERCENTILES,
    CountSources,
    Declared,
    Finding,
    Findings,
    Latency,
    Limit,
    Limits,
    NotApplicable,
    Rule,
    Timeline,
    count,
)

RULE = Rule(
    id="LS01",
    slug="samples-for-p999",
    title="Too few samples for p99.9",
    severity="warning",
    since="0.1",
    limits=(Limit("weak", 10_000, "requests", "ten samples above p99.9; the minimum, 3,688, is fixed"),),
    references=("semantics §4",),
    consequence_of=("OL09", "SS08"),
)


def check(
    latency: Latency, timeline: Timeline, counted: CountSources, declared: Declared, limits: Limits
) -> Findings:
    pooled = latency.pooled
    n = pooled.offered if pooled.kind == "offered" else pooled.sent
    for name, p in PERCENTILES:
        if name in DECIDING:
            continue  # LS02
        if pooled.cell(name).status == "empty":
            yield NotApplicable("no request was made")
            return
        if declared.purpose == "smoke":
            yield NotApplicable('purpose = "smoke": sample sizes are not judged')
            return
        least = MINIMUM_N[name]
        enough = max(limits["weak"], least)
        if n < enough:
            yield _finding(name, p, n, enough, latency, timeline, counted)


def _finding(
    name: str, p: float, n: int, enough: float, latency: Latency, timeline: Timeline, counted: CountSources
) -> Finding:
    label, least = LABEL_OF[name], MINIMUM_N[name]
    beyond = math.floor(n * (1 - Fraction(str(p))))
    above = f"only {count(beyond, 'samples').text} {'lies' if beyond == 1 else 'lie'} above {label}"
    what = f"{label} is n/a, need {least:,}" if n < least else above
    window_s = float(timeline.window_s)
    longer = (
        f"; at this rate the window must be {math.ceil(window_s * enough / n):,} s long, and it is "
        f"{window_s:.4g} s"
        if n and window_s > 0
        else ""
    )
    return Finding(
        message=f"{n:,} {latency.pooled.kind} requests: {what}",
        fix=f"collect {enough:,.0f} requests for a {label} that can be compared{longer}; or state "
        f"{LABEL_OF[DECIDING[-1]]} as the highest",
        observed=count(n, "requests"),
        limit=count(least if n < least else enough, "requests"),
        evidence=counted.files,
    )
