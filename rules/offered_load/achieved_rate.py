"""
What it checks
    Whether the achieved rate is the planned one: as many iterations were started in the measurement window
    as the schedule has slots.

Why it matters
    Latency measured at a lower rate says nothing about the planned rate. k6 still exits with 0 and green
    thresholds.

How it is computed
    |started − N*| ≤ max(N*/50, 1 per key), in exact numbers, so that exactly 2 % passes. Started counts
    iterations by their START time (k6 stamps the end); N* is the exact number of slots of the schedule in
    the window. Compared per generator and scenario, for each scenario, and for the sum: the sum alone never
    passes. Where there is no arrival plan, a declared target rate × the window's length is N*.
    In a linted report: the achieved rate that is written against the target that is written, the same two
    percent.

How to fix it
    Follow the cause below it: more VUs (SD06), a generator that keeps up (GH03), no throttle (WM04). If the
    system cannot take the rate, the test has shown that; report it as a failed target, not as latency.

When it is wrong
    Never on counts. With stamps coarser than 10 ms and a warm-up, starts within one unit of the stamps from
    the window's edge may lie on either side of it: where that decides, the rule is unknown. A whole-run rate
    printed by k6 is lower than the achieved rate whenever setup(), teardown() or gracefulStop take time; that
    figure is not used here.
"""

import math
from fractions import Fraction

from auditor.api import (
    FINE_STAMP_FIX,
    Accounting,
    CountSources,
    Declared,
    DeliveredLoad,
    Finding,
    Findings,
    Interval,
    Limit,
    Limits,
    LintedReport,
    Missing,
    NotApplicable,
    Plan,
    Rule,
    Scope,
    Timeline,
    Unknown,
    per_second,
)

RULE = Rule(
    id="OL01",
    slug="achieved-rate",
    title="The planned rate was not achieved",
    severity="invalid",
    since="0.1",
    limits=(Limit("deviation", 0.02, "share of planned", "convention: ±2 % of the target rate"),),
    references=("semantics §2",),
    consequence_of=("SD06", "SD08", "SD03", "GH03", "GH04", "WM04", "WM01"),
    about=("achieved_rate",),
)

OPTIONS_FIX = (
    "keep k6's banner (its standard output) and the output of `k6 inspect --execution-requirements script.js`"
)


def check(
    plan: Plan,
    delivery: DeliveredLoad,
    timeline: Timeline,
    accounting: Accounting,
    counted: CountSources,
    declared: Declared,
    limits: Limits,
) -> Findings:
    allowed = limits.exact("deviation")
    files = counted.files
    for stretch in delivery.whole:
        tolerance = stretch.tolerance(allowed)
        if stretch.within(allowed):
            if abs(stretch.deficit) + stretch.doubt > tolerance:
                yield _open(stretch.doubt)
            continue
        length_s = float(timeline.window_s if stretch.scope == "all" else stretch.to_s - stretch.from_s)
        sources = [one.source for one in plan.measured() if stretch.scenario in ("", one.key.scenario)]
        yield Finding(
            message=_words(stretch),
            fix=_fix(stretch, tolerance),
            observed=per_second(stretch.started / length_s if length_s else 0.0),
            limit=per_second(stretch.slots / length_s if length_s else 0.0),
            evidence=(*files, *dict.fromkeys(sources)),
            scope=Scope(stretch.generator, stretch.scenario),
        )
    unscheduled = delivery.unscheduled
    closed = [one.key for one in plan.measured() if one.is_closed]
    if delivery.whole or declared.target_rate_per_s is None:
        if unscheduled:
            yield Unknown(
                f"the schedule of {str(unscheduled[0]) or 'the run'} is not known",
                OPTIONS_FIX,
                missing=Missing.OPTIONS,
            )
        elif not delivery.whole:
            yield NotApplicable("a closed model plans no starts, and no target rate was declared")
        return
    length_s = float(timeline.window_s)
    due = declared.target_rate_per_s * timeline.window_s
    compared = [key for key in (*unscheduled, *closed) if key in accounting.window]
    started = sum(accounting.window[key].started for key in compared)
    doubt = sum(accounting.window[key].doubt for key in compared)
    slack_s = max((timeline.keys[key].slack_s for key in compared), default=Fraction(0))
    doubt += math.ceil(declared.target_rate_per_s * slack_s)
    tolerance = max(due * allowed, Fraction(len(compared)))
    if abs(started - due) - doubt <= tolerance < abs(started - due) + doubt:
        yield _open(doubt)
    elif abs(started - due) > tolerance:
        share = f" ({_off(started, due)})" if due else ""
        yield Finding(
            message=f"{started:,} iterations were started; the declared target asks for "
            f"{float(due):,.0f}{share}",
            fix=(
                f"at least {math.ceil(due * (1 - allowed)):,} starts are needed: run it with an arrival-rate "
                "executor, which starts iterations whether or not the system answers"
                if started < due
                else f"declare the rate that was meant: at most {math.floor(due * (1 + allowed)):,} "
                "starts fit it"
            ),
            observed=per_second(started / length_s if length_s else 0.0),
            limit=per_second(float(declared.target_rate_per_s)),
            evidence=files,
        )


def _open(doubt: int) -> Unknown:
    return Unknown(
        f"the stamps are too coarse to say on which side of the window's edge {doubt:,} iterations started",
        FINE_STAMP_FIX,
        missing=Missing.FINE_STAMPS,
    )


def _words(stretch: Interval) -> str:
    what = "all scenarios together" if stretch.scope == "all" else stretch.scope
    if stretch.deficit < 0:
        more = f" ({_off(stretch.started, stretch.slots)})" if stretch.slots else ""
        return f"{what}: {stretch.started:,} iterations were started, {stretch.slots:,} were planned{more}"
    return (
        f"{what}: {stretch.started:,} of {stretch.slots:,} planned iterations were started "
        f"({_off(stretch.started, stretch.slots)})"
    )


def _off(started: int, due: Fraction | int) -> str:
    share = float(started / Fraction(due) - 1)
    return f"{abs(share) * 100:.1f} % too {'many' if share > 0 else 'few'}"


def _fix(stretch: Interval, tolerance: Fraction) -> str:
    if stretch.deficit < 0:
        return (
            f"at most {math.floor(stretch.slots + tolerance):,} are allowed: see whether the plan read here "
            "is the one that ran, and whether the points file holds one run only"
        )
    return (
        f"at least {math.ceil(stretch.slots - tolerance):,} starts are needed: fix the cause and run again; "
        "these latencies were measured at a lower load than planned"
    )


def check_report(linted: LintedReport, limits: Limits) -> Findings:
    target, achieved = linted.number("target_rate"), linted.number("achieved_rate")
    if target is None or achieved is None or target <= 0:
        yield NotApplicable("the report does not have both a target and an achieved rate")
        return
    share = achieved / target - 1
    if abs(share) > limits["deviation"] + 1e-12:
        yield Finding(
            message=f"the report itself gives {achieved:,.6g}/s of {target:,.6g}/s as achieved "
            f"({share * 100:+.1f} %)",
            fix="run it again at the planned rate: its latencies were measured at another load than the target",
            observed=per_second(achieved),
            limit=per_second(target),
            evidence=(linted.report.path,),
        )
