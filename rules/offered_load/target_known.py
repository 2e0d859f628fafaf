"""
What it checks
    Whether the target rate of the test is known, and whether what was declared agrees with what was planned.

Why it matters
    An achieved rate means nothing without the rate that was to be achieved: "746/s" is a success at a target of
    700 and a failure at 1,000. A report that takes the achieved rate for the target can never fail.

How it is computed
    For each measured scenario: an arrival schedule is a target. Without one a declared target rate is (in a run
    that also has arrival-rate scenarios it covers those, not an undeclared closed scenario beside them). A
    closed scenario that is declared closed, with its reason, has no target. Where both a plan and a declared
    rate exist they must agree within 2 %: the planned rate is the slots of the measurement window ÷ its planned
    length, over all scenarios.

How to fix it
    Keep k6's standard output, whose banner says what ran, and the output of
    `k6 inspect --execution-requirements script.js`, which has the exact stages; or declare the rate with
    --target-rate.

When it is wrong
    Never. A note (not a fault) says where the plan rests on `k6 inspect` alone, without a banner: flags on the
    command line may have run something else.
"""

from fractions import Fraction

from auditor.api import (
    Accounting,
    Declared,
    Finding,
    Findings,
    KeyPlan,
    Limits,
    Missing,
    Plan,
    Quantity,
    Rule,
    Scope,
    Timeline,
    Unknown,
    per_second,
)

RULE = Rule(
    id="OL05",
    slug="target-known",
    title="The target rate is not known, or contradicted",
    severity="invalid",
    since="0.1",
    uses=("OL01.deviation",),
    moved_limits={"disagreement": "OL01.deviation"},
    references=("semantics §2", "semantics §10"),
    about=("target_rate",),
)

PLAN_FIX = (
    "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements "
    "script.js`, or declare the target with --target-rate"
)
CLOSED_FIX = (
    "use an arrival-rate executor, or declare the target with --target-rate, or declare workload = "
    '"closed" with '
    "its reason"
)


def check(
    plan: Plan, declared: Declared, accounting: Accounting | None, timeline: Timeline | None, limits: Limits
) -> Findings:
    target = declared.target_rate_per_s
    scheduled = [one for one in plan.measured() if one.schedule is not None]
    planned = _planned_rate(scheduled, declared, timeline)
    if target is not None and planned is not None:
        allowed = planned * limits.exact("OL01.deviation")
        if abs(target - planned) > allowed:
            yield Finding(
                message=(
                    f"the declared target is {float(target):,.4g}/s, but the schedule asks for "
                    f"{float(planned):,.4g}/s in the measurement window"
                ),
                fix=f"declare --target-rate {float(planned):.6g}/s, or leave it out: the schedule is "
                "the target",
                observed=per_second(float(target)),
                limit=per_second(float(planned)),
                evidence=tuple(dict.fromkeys(one.source for one in scheduled)),
            )
            return
    questions = list(_questions(plan, declared, accounting, mixed=bool(scheduled)))
    yield from questions
    if questions:
        return
    for name in plan.without_banner:
        sources = dict.fromkeys(one.source for one in scheduled if one.key.generator == name)
        if sources:
            yield Finding(
                message=f"the plan{f' of {name}' if name else ''} rests on options alone: no banner "
                "confirms what ran",
                fix="keep k6's standard output beside the points file (`k6 run … | tee console.txt`)",
                observed=Quantity(None, "", "no banner"),
                limit=Quantity(None, "", "a banner that agrees with the options"),
                evidence=tuple(sources),
                scope=Scope(generator=name),
                severity="info",
            )


def _questions(plan: Plan, declared: Declared, accounting: Accounting | None, *, mixed: bool) -> list[Unknown]:
    """What has no target, one entry a scenario."""
    told = declared.target_rate_per_s is not None
    found: dict[str, Unknown] = {}
    for one in plan.measured():
        if one.schedule is not None or (one.is_closed and one.closed_declared):
            continue
        if one.is_closed and (mixed or not told):
            reason = f"{one.key.scenario} ran {one.executor}, a closed model: it has no target rate"
            found.setdefault(one.key.scenario, Unknown(reason, CLOSED_FIX, missing=Missing.TARGET_RATE))
        elif not one.is_closed and not told:
            reason = f"the schedule of {one.key.scenario} is not known: the banner has its peak, not its stages"
            found.setdefault(one.key.scenario, Unknown(reason, PLAN_FIX, missing=Missing.OPTIONS))
    if told:
        return list(found.values())
    for key in accounting.whole if accounting is not None else ():
        if (
            key not in plan.keys
            and not declared.is_support(key.scenario)
            and not declared.is_closed(key.scenario)
        ):
            where = f" for {key}" if str(key) else ""
            found.setdefault(
                key.scenario,
                Unknown(f"nothing says what rate was planned{where}", PLAN_FIX, missing=Missing.OPTIONS),
            )
    if not plan.keys and not found and not declared.workload_reason:
        return [Unknown("nothing says what rate was planned", PLAN_FIX, missing=Missing.OPTIONS)]
    return list(found.values())


def _planned_rate(scheduled: list[KeyPlan], declared: Declared, timeline: Timeline | None) -> Fraction | None:
    """Slots of the planned windows ÷ their planned length: a run that ended early had the same target."""
    if not scheduled or timeline is None or not timeline.planned_s:
        return None
    slots = 0
    for one in scheduled:
        if one.schedule is None or one.duration_s is None:
            return None
        slots += one.schedule.slots_between(timeline.warmup_s, one.duration_s - declared.ramp_down_s)
    return slots / timeline.planned_s
