"""
What it checks
    Whether the declared warm-up covers the ramp-up of the schedule.

Why it matters
    Requests made while the rate climbs meet a lightly loaded system. Counted together with those at the full
    rate they lower every percentile: the figure then belongs to no rate.

How it is computed
    The ramp-up ends with the first stage whose target is the highest rate of the plan. The warm-up is cut after
    each scenario's own start; exactly as long as the ramp-up passes. Not applicable where there is nothing to
    cut: the plan starts at its highest rate, it ends on its ramp, or `ramp = "measured"` is declared with a
    reason (then OL02 judges each stage by itself).

How to fix it
    Declare a warm-up at least as long as the ramp-up; the finding says how long. If the window is too short
    then, lengthen the stage that holds the rate.

When it is wrong
    If the ramp is the test (a search for the breaking point, a morning's rise): declare ramp = "measured". The
    VUs of a closed model ramp as well; their schedule is of VUs, not of a rate, and is not judged here.
"""

from collections.abc import Sequence

from auditor.api import (
    Declared,
    DeliveredLoad,
    Finding,
    Findings,
    KeyPlan,
    Missing,
    NotApplicable,
    Plan,
    Rule,
    Scope,
    Unknown,
    seconds,
)

RULE = Rule(
    id="SS03",
    slug="warmup-covers-ramp",
    title="The warm-up is shorter than the ramp-up",
    severity="invalid",
    since="0.1",
    references=("semantics §3", "elastic/rally#1266"),
    about=("warmup_excluded",),
)


def check(plan: Plan, declared: Declared, delivery: DeliveredLoad | None) -> Findings:
    if declared.ramp == "measured":
        yield NotApplicable(f"the ramp is the test ({declared.ramp_reason}): each stage is judged by itself")
        return
    open_plans = [one for one in plan.measured() if one.is_open]
    unknown = delivery.unscheduled if delivery is not None else plan.unscheduled()
    if not open_plans and not unknown and plan.keys:
        yield NotApplicable("a closed model has no ramp of a rate")
        return
    if declared.warmup_s is None:
        yield Unknown(
            "no warm-up was declared (0 s is an answer)",
            "declare it: --warmup 30s, or --warmup 0s",
            missing=Missing.WARMUP,
        )
        return
    ramps = {
        one.key.scenario: one.schedule
        for one in open_plans
        if one.schedule is not None and one.schedule.ramp_end_s is not None
    }
    for scenario, schedule in ramps.items():
        end_s = schedule.ramp_end_s
        if end_s is None or declared.warmup_s >= end_s:
            continue
        yield Finding(
            message=(
                f"{scenario} reaches its highest rate after {float(end_s):g} "
                f"s{_ramp_words(plan.of_scenario(scenario))}; the declared warm-up of "
                f"{float(declared.warmup_s):g} s leaves {float(end_s - declared.warmup_s):g} s of the ramp "
                "in the figures"
            ),
            fix=(
                f'declare --warmup {float(end_s):g}s or longer; or ramp = "measured", with its reason, '
                "if the ramp is the test"
            ),
            observed=seconds(float(declared.warmup_s)),
            limit=seconds(float(end_s)),
            evidence=tuple(dict.fromkeys(one.source for one in plan.of_scenario(scenario))),
            scope=Scope(scenario=scenario),
        )
    if unknown or not plan.keys:
        yield Unknown(
            f"the schedule of {(str(unknown[0]) if unknown else '') or 'the run'} is not known, so neither "
            "is its ramp",
            "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements "
            "script.js`",
            missing=Missing.OPTIONS,
        )
    elif not ramps:
        yield NotApplicable("no ramp-up to leave out: the plan starts at its highest rate, or ends on its ramp")


def _ramp_words(plans: Sequence[KeyPlan]) -> str:
    """ " (50 → 400/s)": from the first rate to the highest, summed over the generators."""
    schedules = [one.schedule for one in plans if one.schedule is not None]
    starts = [next(s.start_per_s for s in schedule.stages if s.length_s > 0) for schedule in schedules]
    start, peak = float(sum(starts)), float(sum(schedule.peak_per_s for schedule in schedules))
    return f" ({start:,.4g} → {peak:,.4g}/s)"
