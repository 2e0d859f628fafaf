"""
What it checks
    Whether a scenario whose figures are claimed ran on a closed executor: constant-vus, ramping-vus,
    shared-iterations, per-vu-iterations or externally-controlled (so also plain `vus` with `duration`, and
    `stages` outside a scenario).

Why it matters
    In a closed model every VU waits for its answer before it sends again. When the system slows down, the load
    slows down with it: the arrivals that should have met the slow system are never made, and the percentiles
    leave out exactly those (coordinated omission). No rate and no capacity can be claimed from such a run.

How it is computed
    The executor of each scenario, from k6's banner and from `k6 inspect` where it agrees with the banner. A
    scenario declared `workload = "closed"` with a reason passes, one declared `role = "support"` is left out.

How to fix it
    Use constant-arrival-rate or ramping-arrival-rate, with the rate that the system is to be tested at and
    enough preAllocatedVUs: rate × seconds of an iteration, plus headroom for slow moments.

When it is wrong
    Where the product really is a closed loop: one terminal, one user, one queue worker that waits. Declare it
    with the reason; the run then makes no claim about rate or capacity. Whatever k6 prints as iterations/s of a
    closed run is a result, never a target.
"""

from auditor.api import (
    Accounting,
    Declared,
    Evidence,
    Finding,
    Findings,
    KeyPlan,
    Missing,
    Plan,
    Quantity,
    Rule,
    Scope,
    Timeline,
    Unknown,
)

RULE = Rule(
    id="WM01",
    slug="closed-model",
    title="A closed executor cannot hold a rate",
    severity="invalid",
    since="0.1",
    references=("semantics §5", "semantics §10"),
    about=("target_rate",),
)

FIX = "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements script.js`"


def check(
    evidence: Evidence,
    plan: Plan,
    declared: Declared,
    accounting: Accounting | None,
    timeline: Timeline | None,
) -> Findings:
    closed: dict[str, list[KeyPlan]] = {}
    for one in plan.measured():
        if one.is_closed and not one.closed_declared:
            closed.setdefault(one.key.scenario, []).append(one)
        elif not one.is_closed and not one.is_open and not one.closed_declared:
            yield Unknown(f"nothing says which executor ran {one.key}", FIX, missing=Missing.OPTIONS)
    for scenario, plans in closed.items():
        executor, vus = plans[0].executor, sum(one.max_vus or 0 for one in plans)
        pool = f", {vus:,} VUs" if vus else ""
        rate = _rate(plans, accounting, timeline)
        happened = f" (this run reached {rate:,.4g}/s)" if rate else ""
        more = f", more than {vus:,} of them," if vus else ""
        yield Finding(
            message=(
                f"{scenario} ran {executor}{pool}: each VU waits for its answer before it sends again, so the "
                "load drops when the system slows down, and the requests that would have met the slow "
                "system were never sent"
            ),
            fix=(
                f"run {scenario} with constant-arrival-rate at the rate that is claimed{happened}, with "
                "enough "
                f'preAllocatedVUs{more} for its slow moments; or declare workload = "closed" with the '
                "reason in k6-audit.toml, and claim no rate"
            ),
            observed=Quantity(None, "executor", f"{executor}{pool}"),
            limit=Quantity(None, "executor", "an arrival-rate executor, or closed by declaration"),
            evidence=tuple(dict.fromkeys(one.source for one in plans)),
            scope=Scope(scenario=scenario),
        )
    planned = {key.generator for key in plan.keys}
    for generator in evidence.generators:
        if generator.name not in planned and not declared.workload_reason:
            where = f" on {generator.name}" if generator.name else ""
            yield Unknown(f"nothing says which executors ran{where}", FIX, missing=Missing.OPTIONS)
    for key in accounting.whole if accounting is not None else ():
        exempt = declared.is_support(key.scenario) or declared.is_closed(key.scenario)
        if key not in plan.keys and key.generator in planned and key.scenario and not exempt:
            yield Unknown(f"nothing says which executor ran {key}", FIX, missing=Missing.OPTIONS)


def _rate(plans: list[KeyPlan], accounting: Accounting | None, timeline: Timeline | None) -> float:
    """Starts per second over the window, over all generators; 0 where they are not known."""
    if accounting is None or timeline is None:
        return 0.0
    length_s = max(float(timeline.keys[one.key].window_s) for one in plans)
    started = sum(accounting.window[one.key].started for one in plans)
    return started / length_s if length_s > 0 else 0.0
