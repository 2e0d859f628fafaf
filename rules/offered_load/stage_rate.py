"""
What it checks
    Whether each stage of the schedule got the starts that it asks for.

Why it matters
    A shortfall at the peak disappears in the sum over a long test: the easy stages get their rate, the peak
    stage does not, and the percentiles then describe the easy stages.

How it is computed
    As OL01, stage by stage: |started − slots| ≤ max(2 % of the slots, 1 per key); in a stage of fewer than 150
    slots 3 starts may be missing. Stages are cut to the measurement window; slots are counted by slot time,
    starts by start time. Interrupted iterations count in the stage in which the scenario ends. Compared per
    generator and for the sum over the generators of a scenario.

How to fix it
    Fix the first stage that fails: what lacks there (VUs, CPU) lacks in the steeper stages too. If the system
    does not take the rate of the last stages, end the schedule below them and report that rate.

When it is wrong
    On stamps coarser than 10 ms, which cannot place a start in a stage: it is then unknown, except for a single
    stage without a warm-up. A burst that straddles two stages can fail both by a few starts.
"""

import math
from fractions import Fraction

from auditor.api import (
    DeliveredLoad,
    Finding,
    Findings,
    Interval,
    Limit,
    Limits,
    Missing,
    NotApplicable,
    Plan,
    Rule,
    Samples,
    Scope,
    Timeline,
    Unknown,
    per_second,
    require_fine_stamps,
)

RULE = Rule(
    id="OL02",
    slug="stage-rate",
    title="A stage did not get its planned rate",
    severity="invalid",
    since="0.1",
    limits=(
        Limit("small_slots", 150, "slots", "own: below it 2 % is less than 3 starts"),
        Limit("small_deviation", 3, "starts", "own: edges of a stage with few slots"),
    ),
    uses=("OL01.deviation",),
    moved_limits={"deviation": "OL01.deviation"},
    references=("semantics §2",),
    consequence_of=("SD06", "SD08", "SD03", "GH03", "GH04", "WM04"),
    about=("achieved_rate",),
)

OPTIONS_FIX = (
    "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements script.js`"
)


def check(
    plan: Plan,
    delivery: DeliveredLoad,
    timeline: Timeline,
    samples: Samples,
    limits: Limits,
) -> Findings:
    schedules = [one.schedule for one in plan.measured() if one.schedule is not None]
    if any(len(s.stages) > 1 for s in schedules) or (schedules and timeline.warmup_s > 0):
        require_fine_stamps(samples)
    for stretch in delivery.stages:
        tolerance = _tolerance(stretch, limits)
        if abs(stretch.deficit) <= tolerance:
            continue
        length_s = float(stretch.to_s - stretch.from_s)
        off = abs(stretch.deficit) / stretch.slots * 100 if stretch.slots else 0.0
        share = f" ({off:.1f} % too {'few' if stretch.deficit > 0 else 'many'})" if off else ""
        low, high = math.ceil(stretch.slots - tolerance), math.floor(stretch.slots + tolerance)
        yield Finding(
            message=(
                f"{stretch.scope}, stage {stretch.index}{_stage_words(stretch, plan)}: {stretch.started:,} "
                f"iterations were started, {stretch.slots:,} were planned{share}"
            ),
            fix=(
                f"at least {low:,} starts are needed in this stage: fix the cause and run again, "
                "or end the schedule before it"
                if stretch.deficit > 0
                else f"at most {high:,} starts are allowed in this stage: check that the plan read here "
                "is the one that ran"
            ),
            observed=per_second(stretch.started / length_s if length_s else 0.0),
            limit=per_second(stretch.slots / length_s if length_s else 0.0),
            evidence=(
                *(one.path for one in samples.by_generator.values()),
                *dict.fromkeys(one.source for one in plan.of_scenario(stretch.scenario)),
            ),
            scope=Scope(stretch.generator, stretch.scenario, f"stage {stretch.index}"),
        )
    unscheduled = delivery.unscheduled
    if unscheduled:
        yield Unknown(
            f"the stages of {str(unscheduled[0]) or 'the run'} are not known",
            OPTIONS_FIX,
            missing=Missing.OPTIONS,
        )
    elif not schedules:
        yield NotApplicable("a closed model has no stages of a rate")


def _tolerance(stretch: Interval, limits: Limits) -> Fraction:
    if stretch.slots < limits["small_slots"]:
        return max(limits.exact("small_deviation"), Fraction(stretch.keys))
    return stretch.tolerance(limits.exact("OL01.deviation"))


def _stage_words(stretch: Interval, plan: Plan) -> str:
    """ " (0–30 s, 30 → 300/s)", the rates summed over the generators that the stretch counts."""
    stages = [
        one.schedule.stages[stretch.index - 1]
        for one in plan.of_scenario(stretch.scenario)
        if one.schedule is not None and stretch.generator in ("", one.key.generator)
    ]
    low = float(sum((s.start_per_s for s in stages), Fraction(0)))
    high = float(sum((s.end_per_s for s in stages), Fraction(0)))
    rate = f"{low:,.4g}/s" if low == high else f"{low:,.4g} → {high:,.4g}/s"
    return f" ({float(stretch.from_s):g}–{float(stretch.to_s):g} s, {rate})"
