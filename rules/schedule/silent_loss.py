"""
What it checks
    Whether starts that the schedule asks for were neither made nor recorded as dropped.

Why it matters
    A generator that gets no CPU misses slots of its schedule: its timer wakes too late, and k6 records nothing
    for the slots in between. Neither `dropped_iterations` nor a threshold on it shows the loss.

How it is computed
    silent = planned − started − dropped − not reached − in flight at the end, per generator and scenario, over
    the whole scenario. An allowance of 1 + ⌈rate at the end × 5 ms⌉ covers the edges of the schedule. Beyond
    it: a warning; beyond both it and 0.1 % of the planned starts: invalid.

How to fix it
    Give the generator more CPU (GH03, GH04), or spread the load over more generators; fewer VUs, a lighter
    script and no other work on the host help as well.

When it is wrong
    If the plan that was read is not the one that ran (EV03), or points are missing from the middle of the file.
    Starts not reached because the run ended early, and interrupted iterations, are not silent.
"""

from auditor.api import (
    Accounting,
    CountSources,
    DeliveredLoad,
    Finding,
    Findings,
    Limit,
    Limits,
    Missing,
    NotApplicable,
    Plan,
    Rule,
    Scope,
    Unknown,
    count,
)

RULE = Rule(
    id="SD03",
    slug="silent-loss",
    title="Iterations were silently lost",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(Limit("silent_share", 0.001, "share of planned", "own: beyond it p99.9 is not identified"),),
    references=("semantics §1",),
    consequence_of=("GH03", "GH04", "CO03", "EV03"),
)


def check(
    accounting: Accounting, plan: Plan, counted: CountSources, delivery: DeliveredLoad, limits: Limits
) -> Findings:
    known = False
    for key, account in accounting.whole.items():
        one = plan.keys.get(key)
        if one is None or one.support or account.planned is None:
            continue
        known = True
        if not account.silent:
            continue
        most = account.planned * limits.exact("silent_share")
        yield Finding(
            message=(
                f"{key}: {account.silent:,} of {account.planned:,} planned starts were neither made "
                f"({account.started:,}) nor recorded as dropped ({account.dropped or 0:,}): silently "
                "lost in the generator"
            ),
            fix=(
                "give the generator more CPU, or spread the load over more generators; at most "
                f"{max(account.allowance, int(most)):,} may be missing"
            ),
            observed=count(account.silent, "iterations"),
            limit=count(account.allowance, "iterations"),
            evidence=(*counted.file(key.generator), one.source),
            scope=Scope(key.generator, key.scenario),
            severity="invalid" if account.silent > most else "warning",
        )
    unscheduled = delivery.unscheduled
    if unscheduled:
        yield Unknown(
            f"the schedule of {str(unscheduled[0]) or 'the run'} is not known",
            "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements "
            "script.js`",
            missing=Missing.OPTIONS,
        )
    elif not known:
        yield NotApplicable("a closed model plans no starts, so none can be missing")
