"""
What it checks
    Whether the measurement window is long enough for what is claimed.

Why it matters
    Garbage collection, cache expiry, log rotation, scheduled jobs and autoscaling come in minutes. A window of
    seconds meets none of them and repeats badly; an empty window measures nothing.

How it is computed
    The length of the union of the measured scenarios' windows, warm-up excluded: below 60 s, or with fewer than
    1,000 planned starts (where no schedule is known: starts made), a warning; for purpose = "capacity" below
    600 s. Below 10 s, or with fewer than 72 requests (iterations, where none was made): unknown, since so
    little shows neither. Nothing left to measure, in all or of a measured scenario: invalid.

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
    Latency,
    Limit,
    Limits,
    NotApplicable,
    Plan,
    Quantity,
    Rule,
    Scope,
    Timeline,
    Unknown,
    count,
    seconds,
)

RULE = Rule(
    id="SS08",
    slug="window-length",
    title="The measurement window is short",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("capacity_s", 600, "s", "MLPerf: at least ten minutes"),
        Limit("short_s", 60, "s", "own: one minute"),
        Limit("least_s", 10, "s", "wrk2: calibrates for 10 s before it measures"),
        Limit("least_planned", 1000, "planned starts", "own: ten samples lie above p99"),
        Limit("least_samples", 72, "requests", "the fewest that give p95 an interval"),
    ),
    references=("semantics §3",),
    consequence_of=("OL09",),
    about=("test_duration",),
)


def check(
    timeline: Timeline,
    accounting: Accounting,
    plan: Plan,
    latency: Latency | None,
    counted: CountSources,
    declared: Declared,
    limits: Limits,
) -> Findings:
    if declared.purpose == "smoke":
        yield NotApplicable('purpose = "smoke": the length is not judged')
        return
    window_s = float(timeline.window_s)
    yield from _without_window(timeline, accounting, plan, counted, limits)
    if window_s <= 0:
        return
    mine = [accounting.window[one.key] for one in plan.measured() if one.key in accounting.window]
    mine = mine or list(accounting.window.values())
    slots = [window.slots for window in mine]
    planned = None if None in slots else sum(n for n in slots if n is not None)
    starts = planned if planned is not None else sum(window.started for window in mine)
    samples = latency.pooled.sent if latency is not None and latency.pooled.sent else starts
    capacity = declared.purpose == "capacity"
    wanted_s = limits["capacity_s"] if capacity else limits["short_s"]
    fix = _fix(timeline, window_s, wanted_s, starts, limits["least_planned"], capacity=capacity)
    if window_s < limits["least_s"] or samples < limits["least_samples"]:
        yield Unknown(
            f"the measurement window is {window_s:.4g} s long and holds {samples:,} requests or iterations: "
            f"too little to show anything ({limits['least_s']:g} s and {limits['least_samples']:g} are needed)",
            fix,
            needs="rerun",
        )
        return
    few = starts < limits["least_planned"]
    if window_s >= wanted_s and not few:
        return
    noun = "planned starts" if planned is not None else "starts"
    yield Finding(
        message=_words(timeline, window_s, starts, noun, few=few, capacity=capacity),
        fix=fix,
        observed=count(starts, noun) if few and window_s >= wanted_s else seconds(window_s),
        limit=count(limits["least_planned"], noun) if few and window_s >= wanted_s else seconds(wanted_s),
        evidence=counted.files,
        severity="warning",
    )


def _without_window(
    timeline: Timeline, accounting: Accounting, plan: Plan, counted: CountSources, limits: Limits
) -> Findings:
    """Measured scenarios of which the warm-up, or the end of the evidence, leaves nothing to measure."""
    warmup = f" after a warm-up of {float(timeline.warmup_s):g} s" if timeline.warmup_s else ""
    keys = [k for k in accounting.window if not (k in plan.keys and plan.keys[k].support)]
    empty = [k for k in keys if timeline.keys[k].window_s <= 0 or accounting.window[k].slots == 0]
    scenarios = dict.fromkeys(k.scenario for k in empty)
    for scenario in scenarios:
        if any(k.scenario == scenario for k in keys if k not in empty):
            continue  # on another generator it has a window
        whole = len(empty) == len(keys)
        yield Finding(
            message=f"nothing is left to measure{'' if whole else f' of {scenario}'}{warmup}: "
            f"{'the' if whole else 'its'} window is 0 s long",
            fix="declare a warm-up that is shorter than the test"
            if whole
            else f'declare a shorter warm-up, or role = "support" for {scenario} if it is not to be measured',
            observed=Quantity(0.0, "s", "0 s"),
            limit=seconds(limits["least_s"]),
            evidence=counted.files,
            scope=Scope(scenario="" if whole else scenario),
        )
        if whole:
            return


def _words(timeline: Timeline, window_s: float, starts: int, noun: str, *, few: bool, capacity: bool) -> str:
    warmup = f" after a warm-up of {float(timeline.warmup_s):g} s" if timeline.warmup_s else ""
    claim = ", which is short for a claim of capacity" if capacity and not few else ""
    holds = f" and holds {'only ' if few else ''}{starts:,} {noun}"
    return f"the measurement window is {window_s:.4g} s long{warmup}{holds}{claim}"


def _fix(
    timeline: Timeline,
    window_s: float,
    wanted_s: float,
    starts: int,
    least_planned: float,
    *,
    capacity: bool,
) -> str:
    """How long the window must be, for its length and for its starts."""
    needed_s = wanted_s
    if starts:
        needed_s = max(needed_s, least_planned * window_s / starts)
    if timeline.planned_s is not None and timeline.planned_s >= needed_s:
        return f"run the test to its planned end: its window is then {float(timeline.planned_s):.4g} s long"
    longer = (
        f"hold the load {math.ceil(needed_s - window_s):,} s longer, for a window of {math.ceil(needed_s):,} s"
    )
    if capacity:
        return f"{longer}; or claim no capacity"
    return f'{longer}; or declare purpose = "smoke" and claim no figure'
