"""
What it checks
    Whether more starts were made and dropped than the schedule has.

Why it matters
    k6 never starts more than it plans. If the file holds more, then file and plan are not of one run, and no
    figure can be trusted, however plausible. It has happened: the completed and dropped iterations of a report
    summed to more than its script could start.

How it is computed
    started + dropped > planned + allowance, per generator and scenario, over the whole scenario; the allowance
    is 1 + ⌈rate at the end × 5 ms⌉, since k6 may start one more at the end of a constant rate.

How to fix it
    Look at the three usual causes: requests taken for iterations, two runs appended to one points file, the
    script or options of another run. Put the files of one run into one folder and audit that.

When it is wrong
    If the banner is missing and the rate was changed on the command line or by the environment: keep the
    banner, it says what ran.
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
    id="SD04",
    slug="over-accounting",
    title="More starts than were planned",
    severity="invalid",
    since="0.1",
    limits=(Limit("over", 0, "iterations beyond plan and allowance", "own: k6 never starts more"),),
    references=("semantics §1",),
    consequence_of=("DM06", "EV03"),
    about=("dropped_iterations",),
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
        if account.over <= limits["over"]:
            continue
        dropped = account.dropped or 0
        most = account.planned + account.allowance
        yield Finding(
            message=(
                f"{key}: {account.started:,} started and {dropped:,} dropped iterations make "
                f"{account.started + dropped:,}, and the schedule has {account.planned:,}: not of one run"
            ),
            fix=(
                "check whether requests were counted as iterations, whether the points file holds two runs, or "
                f"whether script and options are of another run; this plan has at most "
                f"{most:,} started and dropped iterations"
            ),
            observed=count(account.started + dropped, "iterations"),
            limit=count(most, "planned, with allowance"),
            evidence=(*counted.file(key.generator), one.source),
            scope=Scope(key.generator, key.scenario),
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
        yield NotApplicable("a closed model plans no number of starts")
