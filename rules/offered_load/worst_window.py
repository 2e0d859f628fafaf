"""
What it checks
    Whether the planned load was offered all the time, in windows of 10 s.

Why it matters
    A test of ten minutes can achieve 99 % of its rate and still offer no load for five seconds, while the
    system stalls. The requests that would have met the stall were never sent, so the percentiles do not show
    it. This is coordinated omission.

How it is computed
    Tumbling windows from the start of the measurement window: one closes at the first multiple of 10 s from its
    start at which it holds 150 slots, the remainder joins the last. Each is started ÷ slots, slots by slot
    time, starts by start time; a deficit of at most 3 starts does not count. Per generator and scenario, and
    for the sum over the generators of a scenario. Invalid if any window is below 90 %, or if more than 1 % of
    them (and more than one) are below 98 %; a single window below 98 % is a warning. Interrupted iterations
    have no start time and count in no window. Calibrated on recorded runs: a stall of 5 s under a capped pool
    lost 40 % of its window and 1 % of the run; healthy runs stay above 99.5 %.

How to fix it
    See what happened in the window named: a stall of the system that used up all VUs (raise maxVUs: it must
    hold rate × length of the stall), a pause of the generator (GH03, CO03), a throttle (WM04).

When it is wrong
    On stamps coarser than 10 ms, where it is unknown. If iterations last so long that many were interrupted at
    the end, the last windows lack them: give gracefulStop the length of an iteration.
"""

import math

from auditor.api import (
    DeliveredLoad,
    Finding,
    Findings,
    Limit,
    Limits,
    Missing,
    NotApplicable,
    Rule,
    Samples,
    Scope,
    ShortOf,
    ShortWindows,
    Unknown,
    count,
    percent,
    require_fine_stamps,
)

RULE = Rule(
    id="OL03",
    slug="worst-window",
    title="Offered load fell short in some 10 s windows",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("invalid_ratio", 0.90, "share of a window's plan", "own: a stall with too few VUs lost 40 %"),
        Limit("short_ratio", 0.98, "share of a window's plan", "own: healthy runs stay above 99.5 %"),
        Limit(
            "short_windows", 0.01, "share of the windows, at least one", "own: one short window is a warning"
        ),
        Limit("small_deficit", 3, "starts", "own: 2 % of the smallest window (150 slots)"),
    ),
    references=("semantics §2",),
    consequence_of=("SD06", "SD08", "SD03", "GH03", "GH04", "WM04"),
    about=("achieved_rate",),
)

OPTIONS_FIX = (
    "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements script.js`"
)


def check(
    delivery: DeliveredLoad,
    short: ShortWindows,
    samples: Samples,
    limits: Limits,
) -> Findings:
    unscheduled = delivery.unscheduled
    if not delivery.whole and not unscheduled:
        yield NotApplicable("a closed model has no plan that a window could fall short of")
        return
    require_fine_stamps(samples)
    files = tuple(one.path for one in samples.by_generator.values())
    found = [_finding(scope, one, limits, files) for scope, one in short.by_scope.items()]
    # A warning must not hide that another scenario's plan is unknown.
    if unscheduled and not any(f is not None and f.severity == "invalid" for f in found):
        yield Unknown(
            f"the schedule of {str(unscheduled[0]) or 'the run'} is not known",
            OPTIONS_FIX,
            missing=Missing.OPTIONS,
        )
        return
    yield from found


def _finding(scope: str, found: ShortOf, limits: Limits, files: tuple[str, ...]) -> Finding:
    worst, short = found.worst, len(found.short)
    if found.is_deep or not found.is_invalid:
        observed = percent(worst.ratio)
        limit = percent(limits["invalid_ratio" if found.is_deep else "short_ratio"])
    else:
        observed, limit = count(short, "short windows"), count(found.allowed, "short windows")
    return Finding(
        message=(
            f"{scope}: {worst.started:,} of {worst.slots:,} planned iterations were started between "
            f"{float(worst.from_s):g} and {float(worst.to_s):g} s of the scenario "
            f"({worst.ratio * 100:.1f} %); windows below {limits['short_ratio'] * 100:g} %: "
            f"{short:,} of {found.windows:,}"
        ),
        fix=(
            f"see what held the starts back at {float(worst.from_s):g}–{float(worst.to_s):g} s (VUs used up, "
            "a pause of the generator, a throttle), fix it, and run again: that window needs "
            f"{math.ceil(worst.slots * limits['short_ratio']):,} starts"
        ),
        observed=observed,
        limit=limit,
        evidence=files,
        scope=Scope(worst.generator, worst.scenario),
        severity="invalid" if found.is_invalid else "warning",
    )
