"""
What it checks
    Whether the instances of a run started together.

Why it matters
    The plan is the sum of the parts at the same moment. Instances that start apart give a softer ramp, a
    lower peak and a longer run than the one planned, although each of them kept its own schedule.

How it is computed
    Per scenario, the largest difference of the instances' origins (the time of their schedule's zero): more
    than 1 s or more than 1 % of the window is a warning, more than 5 % of the window makes the run invalid.

How to fix it
    Start all instances paused and resume them at one moment, or give them one start time, with clocks that
    are synchronised (NTP, chrony).

When it is wrong
    The origins are wall-clock times of different hosts: a clock offset looks like a late start.
"""

from auditor.api import (
    Evidence,
    Finding,
    Findings,
    Iterations,
    Limit,
    Limits,
    NotApplicable,
    Plan,
    Rule,
    Samples,
    Scope,
    Timeline,
    clock,
    seconds,
)

RULE = Rule(
    id="DM03",
    slug="start-skew",
    title="The instances did not start together",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("skew", 1, "s", "own: one second of the schedule"),
        Limit("share", 0.01, "share of the window", "own"),
        Limit("grave_share", 0.05, "share of the window", "own: the sum no longer fits the plan"),
    ),
    references=("semantics §9",),
)


def check(
    evidence: Evidence,
    timeline: Timeline,
    iterations: Iterations,
    plan: Plan,
    samples: Samples,
    limits: Limits,
) -> Findings:
    if len(evidence.generators) < 2:
        yield NotApplicable("one generator")
        return
    ran = [
        own
        for key, own in timeline.keys.items()
        if iterations.by_key[key].started and not (key in plan.keys and plan.keys[key].support)
    ]
    for scenario in dict.fromkeys(own.key.scenario for own in ran):
        origins = {
            own.key.generator: own.origin_ns
            for own in ran
            if own.key.scenario == scenario and own.origin_ns is not None
        }
        if len(origins) < 2:
            continue
        first = min(origins, key=lambda name: origins[name])
        last = max(origins, key=lambda name: origins[name])
        slack_ns = max(own.slack_ns for own in ran if own.key.scenario == scenario)
        skew_s = max(origins[last] - origins[first] - slack_ns, 0) / 1e9  # coarse stamps: at least so much
        window_s = float(max(own.window_s for own in ran if own.key.scenario == scenario))
        allowed_s = min(limits["skew"], limits["share"] * window_s) if window_s > 0 else limits["skew"]
        if skew_s <= allowed_s:
            continue
        is_invalid = window_s > 0 and skew_s > limits["grave_share"] * window_s
        share = f" ({skew_s / window_s:.1%} of the window)" if window_s > 0 else ""
        yield Finding(
            message=f"{last} started {skew_s:.4g} s after {first}{share}, at {clock(origins[last])}",
            fix="start all instances paused and resume them together, or check the hosts' clocks; they "
            "should lie "
            f"within {allowed_s:.3g} s of each other",
            observed=seconds(skew_s),
            limit=seconds(limits["grave_share"] * window_s if is_invalid else allowed_s),
            evidence=tuple(samples.by_generator[n].path for n in (first, last) if n in samples.by_generator),
            scope=Scope(scenario=scenario),
            severity="invalid" if is_invalid else "warning",
        )
