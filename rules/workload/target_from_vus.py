"""
What it checks
    Whether a target rate is claimed for a model that has none: looping VUs, with a rate declared beside them.

Why it matters
    "200 users, one request every 50 ms, makes 4,000 a second" holds only while every answer takes as long as
    was assumed. When the system slows down the rate falls with it, and the report still says 4,000.

How it is computed
    A target rate is declared, no scenario has an arrival-rate executor, and the closed scenarios are not
    declared closed with a reason. The finding says how long an iteration may take for the VUs to make the
    rate (VUs ÷ rate), beside what an iteration took.

How to fix it
    Use constant-arrival-rate or ramping-arrival-rate with the target as its rate.

When it is wrong
    A product whose users really wait for each other: declare workload = "closed" with the reason.
"""

from auditor.api import (
    Declared,
    Finding,
    Findings,
    Iterations,
    Limit,
    Limits,
    NotApplicable,
    Plan,
    Rule,
    milliseconds,
)

RULE = Rule(
    id="WM05",
    slug="target-from-vus",
    title="The target rate is only implied by a number of VUs",
    severity="invalid",
    since="0.1",
    limits=(Limit("scenarios", 0, "scenarios", "own: a closed model has no rate of its own"),),
    references=("semantics §9",),
    consequence_of=("WM01",),
)


def check(plan: Plan, declared: Declared, iterations: Iterations | None, limits: Limits) -> Findings:
    rate = declared.target_rate_per_s
    measured = plan.measured()
    closed = [one for one in measured if one.is_closed and not one.closed_declared]
    if rate is None:
        yield NotApplicable("no target rate is declared")
        return
    if any(one.is_open for one in measured) or len(closed) <= limits["scenarios"]:
        return
    vus = sum(one.max_vus or 0 for one in closed)
    allowed_ms = 1000 * vus / float(rate)
    busy = [iterations.by_key[one.key].duration_ms for one in closed] if iterations is not None else []
    total = sum(len(part) for part in busy)
    mean_ms = sum(float(part.sum()) for part in busy) / total if total else None
    took = f"; they took {mean_ms:,.4g} ms" if mean_ms is not None else ""
    yield Finding(
        message=f"{vus:,} VUs make the declared {float(rate):,g}/s only while an iteration takes "
        f"{allowed_ms:,.4g} ms{took}: the rate follows the system",
        fix=f"use an arrival-rate executor with rate {float(rate):,g}; or declare the model closed, with its "
        "reason, and claim no rate",
        observed=milliseconds(mean_ms if mean_ms is not None else 0),
        limit=milliseconds(allowed_ms),
        evidence=tuple(dict.fromkeys(one.source for one in closed)),
    )
