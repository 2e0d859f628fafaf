"""
What it checks
    Whether the measurement window is long enough for what is claimed.

Why it matters
    Garbage collection, cache expiry, log rotation, scheduled jobs and autoscaling come in minutes. A window of
    seconds meets none of them and repeats badly; an empty window measures nothing.

How it is computed
    The length of the union of the measured scenarios' windows, warm-up excluded: below 60 s a warning, for
    purpose = "capacity" below 600 s. Below 10 s, or with fewer than 1,000 planned starts in it (where the
    schedule is known): invalid. A window of 0 s is invalid.

How to fix it
    Lengthen the stage that holds the rate; the finding says by how much. Or shorten the warm-up, if it is
    longer than the ramp-up.

When it is wrong
    For a smoke test, which asks only whether the thing runs: declare purpose = "smoke", and the header says so.
    At very low rates 1,000 starts take long; fewer still do not make a repeatable result.
"""

import math

from auditor.api import (
    Accounting,
    CountSources,
    Declared,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Plan,
    Quantity,
    Rule,
    Severity,
    Timeline,
    count,
    seconds,
)

RULE = Rule(
    id="SS08",
    slug="window-length",
    title="The measurement window is short",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("capacity_s", 600, "s", "MLPerf: at least ten minutes"),
        Limit("short_s", 60, "s", "own: one minute"),
        Limit("least_s", 10, "s", "wrk2: calibrates for 10 s before it measures"),
        Limit("least_planned", 1000, "planned starts", "own: ten samples lie above p99"),
    ),
    references=("semantics §3",),
    consequence_of=("OL09",),
)


def check(
    timeline: Timeline,
    accounting: Accounting,
    plan: Plan,
    counted: CountSources,
    declared: Declared,
    limits: Limits,
) -> Findings:
    if declared.purpose == "smoke":
        yield NotApplicable('purpose = "smoke": the length is not judged')
        return
    window_s = float(timeline.window_s)
    slots = [accounting.window[one.key].slots for one in plan.measured() if one.key in accounting.window]
    known = [n for n in slots if n is not None]
    planned = sum(known) if known and len(known) == len(slots) else None
    capacity = declared.purpose == "capacity"
    wanted_s = limits["capacity_s"] if capacity else limits["short_s"]
    few = planned is not None and planned < limits["least_planned"]
    if window_s >= wanted_s and not few:
        return
    is_invalid = window_s < limits["least_s"] or few
    severity: Severity = "invalid" if is_invalid else "warning"
    observed, limit = seconds(window_s), seconds(limits["least_s"] if is_invalid else wanted_s)
    if few and window_s >= limits["least_s"]:
        observed, limit = (
            count(planned or 0, "planned starts"),
            count(limits["least_planned"], "planned starts"),
        )
    yield Finding(
        message=_words(timeline, window_s, planned, few=few, capacity=capacity),
        fix=_fix(timeline, window_s, wanted_s, planned, limits["least_planned"], capacity=capacity),
        observed=observed if window_s > 0 else Quantity(0.0, "s", "0 s"),
        limit=limit,
        evidence=counted.files,
        severity=severity,
    )


def _words(timeline: Timeline, window_s: float, planned: int | None, *, few: bool, capacity: bool) -> str:
    warmup = f" after a warm-up of {float(timeline.warmup_s):g} s" if timeline.warmup_s else ""
    if window_s <= 0:
        return f"nothing is left to measure{warmup}: the window is 0 s long"
    starts = f" and holds {'only ' if few else ''}{planned:,} planned starts" if planned is not None else ""
    claim = ", which is short for a claim of capacity" if capacity and not few else ""
    return f"the measurement window is {window_s:.4g} s long{warmup}{starts}{claim}"


def _fix(
    timeline: Timeline,
    window_s: float,
    wanted_s: float,
    planned: int | None,
    least_planned: float,
    *,
    capacity: bool,
) -> str:
    """How long the window must be, for its length and for its starts."""
    needed_s = wanted_s
    if planned and window_s > 0:
        needed_s = max(needed_s, least_planned * window_s / planned)
    if timeline.planned_s is not None and timeline.planned_s >= needed_s:
        return f"run the test to its planned end: its window is then {float(timeline.planned_s):.4g} s long"
    longer = (
        f"hold the load {math.ceil(needed_s - window_s):,} s longer, for a window of {math.ceil(needed_s):,} s"
    )
    if timeline.warmup_s and window_s <= 0:
        return f"declare a warm-up shorter than the test, or {longer}"
    if capacity:
        return f"{longer}; or claim no capacity"
    return f'{longer}; or declare purpose = "smoke" and claim no figure'
