"""
What it checks
    Whether the parts that are excluded, as warm-up after the ramp-up and as ramp-down, hide an incident.

Why it matters
    A warm-up longer than needed hides a stall: declare 60 s instead of 30 s, and the report looks clean. The
    excluded part must be uneventful, or its incident must be reported.

How it is computed
    Per generator and scenario the excluded parts run from the end of the ramp-up (0 s if there is none) to the
    end of the warm-up, and over a declared ramp-down. Each fails on a stall in it (a gap between completions as
    CO02 defines it, or as long a time before the first completion), and if dropped, failed and (at the end)
    interrupted demand there is 1 % or more of the demand offered there. Offered = slots × requests per
    iteration, or the requests made where there is no schedule. Drops up to maxVUs − preAllocatedVUs are not
    counted: each VU that k6 allocates while running costs one start.
    A warning, if the p95 of the successful requests of an excluded part is more than twice that of the window
    (from 72 requests each), or if more than a fifth of the hold (end of the ramp-up to the end of the plan) is
    excluded as warm-up after the ramp-up; both p95 are said.

How to fix it
    Shorten the warm-up to the end of the ramp-up, so that the incident counts; or fix the incident and run
    again. Cold caches that really fail requests: pre-warm the system before the test.

When it is wrong
    If the warm-up is expected to fail (a cold start that the test is to leave out): waive it with that reason.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from auditor.api import (
    FINE_STAMP_FIX,
    MINIMUM_N,
    NS_PER_MS,
    STALL_LIMITS,
    Accounting,
    CountSources,
    Declared,
    Finding,
    Findings,
    Iterations,
    Key,
    KeyPlan,
    Latency,
    Limit,
    Limits,
    Missing,
    NotApplicable,
    Plan,
    Requests,
    Rule,
    Scope,
    Stalls,
    Timeline,
    Unknown,
    milliseconds,
    percent,
    seconds,
)

RULE = Rule(
    id="SS06",
    slug="hidden-incident",
    title="The excluded warm-up or ramp-down hides an incident",
    severity="invalid",
    since="0.1",
    limits=(
        Limit(
            "lost_share",
            0.01,
            "share of the demand offered there",
            "own: one lost start in a hundred is load lost",
        ),
        Limit("slow", 2, "times the window's p95", "own: a cold cache is gone by the end of a warm-up"),
        Limit("hold_share", 0.2, "share of the hold", "own: what is excluded is to be the smaller part"),
    ),
    uses=STALL_LIMITS,
    references=("semantics §3", "semantics §5"),
    about=("warmup_excluded",),
)


def check(
    declared: Declared,
    plan: Plan,
    timeline: Timeline,
    accounting: Accounting,
    iterations: Iterations,
    requests: Requests,
    counted: CountSources,
    latency: Latency | None,
    stalls: Stalls | None,
    limits: Limits,
) -> Findings:
    if declared.warmup_s is None:
        yield Unknown(
            "no warm-up was declared (0 s is an answer)",
            "declare it: --warmup 30s, or --warmup 0s",
            missing=Missing.WARMUP,
        )
        return
    if declared.warmup_s == 0 and declared.ramp_down_s == 0:
        yield NotApplicable("nothing is excluded: the warm-up is 0 s")
        return
    for key in accounting.whole:
        one = plan.keys.get(key)
        if declared.is_support(key.scenario):
            continue
        if one is None or (one.schedule is None and not one.is_closed):
            yield Unknown(
                f"the schedule of {str(key) or 'the run'} is not known, so neither is where its ramp-up ends",
                "keep k6's banner (its standard output) and the output of `k6 inspect "
                "--execution-requirements script.js`",
                missing=Missing.OPTIONS,
            )
            continue
        clock = timeline.keys[key]
        if clock.origin_ns is None:
            continue
        ramp_end_s = (one.schedule.ramp_end_s if one.schedule is not None else None) or Fraction(0)
        excluded = [_Part(ramp_end_s, min(declared.warmup_s, clock.reached_s), "--warmup", 0)]
        if clock.cut_right:
            # Iterations cut off at the scenario's end are part of what a ramp-down leaves out.
            excluded.append(_Part(clock.to_s, clock.reached_s, "ramp_down", iterations.by_key[key].interrupted))
        files = counted.file(key.generator)
        for part in excluded:
            if part.from_s >= part.to_s:
                continue
            if stalls is None:
                yield Unknown(
                    "the stamps are too coarse to see a stall in the excluded part",
                    FINE_STAMP_FIX,
                    missing=Missing.FINE_STAMPS,
                )
            for stall in (*stalls.found, *stalls.cold_starts) if stalls is not None else ():
                end_s = stall.offset_s + stall.length_s
                if stall.key == key and stall.offset_s < part.to_s and end_s > part.from_s:
                    yield Finding(
                        message=(
                            f"{key}: {part} hold a stall: nothing completed for {stall.length_s:.1f} s from "
                            f"{stall.offset_s:.1f} s on"
                        ),
                        fix=part.fix,
                        observed=seconds(stall.length_s),
                        limit=seconds(stall.limit_s),
                        evidence=files,
                        scope=Scope(key.generator, key.scenario),
                    )
            for finding in weighed(key, one, timeline, requests, part, limits):
                yield replace(finding, evidence=files)
            population = latency.by_scenario.get(key.scenario) if latency is not None else None
            each = Fraction((population.requests_per_iteration if population is not None else None) or 1)
            offered, dropped, failed = _lost(key, one, timeline, iterations, requests, part, each)
            lost = (dropped + part.interrupted) * each + failed
            if lost and lost >= offered * limits.exact("lost_share"):
                share = float(lost / offered) if offered else 1.0
                cut = f", {part.interrupted:,} iterations were cut off" if part.interrupted else ""
                yield Finding(
                    message=(
                        f"{key}: in {part} {failed:,} requests failed and {dropped:,} starts were dropped "
                        f"beyond the allocation of VUs{cut}, {share * 100:.1f} % of the "
                        f"{float(offered):,.0f} requests offered there"
                    ),
                    fix=part.fix,
                    observed=percent(share),
                    limit=percent(limits["lost_share"]),
                    evidence=files,
                    scope=Scope(key.generator, key.scenario),
                )


class _Part(NamedTuple):
    """A stretch of a scenario's clock that a declaration excludes."""

    from_s: Fraction
    to_s: Fraction
    declared_as: str
    interrupted: int

    def __str__(self) -> str:
        return f"the excluded {float(self.from_s):g}–{float(self.to_s):g} s"

    @property
    def fix(self) -> str:
        how = f"declare --warmup {float(self.from_s):g}s" if self.declared_as == "--warmup" else "exclude less"
        return (
            f"{how}, so that it counts; or fix the cause and run again; or waive SS06 with the reason why it "
            "does not matter"
        )


def weighed(
    key: Key, one: KeyPlan, timeline: Timeline, requests: Requests, part: _Part, limits: Limits
) -> Iterator[Finding]:
    """An excluded part that was much slower than what is reported, or that takes much of the hold."""
    there, here = _p95(key, timeline, requests, part)
    length_s, hold_s = part.to_s - part.from_s, (one.duration_s or Fraction(0)) - part.from_s
    most_s = hold_s * limits.exact("hold_share")
    known = there is not None and here is not None
    words = f"p95 was {there:,.4g} ms in it; in the window it is {here:,.4g} ms" if known else ""
    scope = Scope(key.generator, key.scenario)
    if there is not None and here is not None and there > limits["slow"] * here:
        yield Finding(
            message=f"{key}: {part} were slow: {words}",
            fix=part.fix,
            observed=milliseconds(there),
            limit=milliseconds(limits["slow"] * here),
            scope=scope,
            severity="warning",
        )
    elif part.declared_as == "--warmup" and hold_s > 0 and length_s > most_s:
        yield Finding(
            message=f"{key}: {part} are {float(length_s):g} s after the ramp-up, of a hold of "
            f"{float(hold_s):g} s" + (f"; {words}" if words else ""),
            fix=f"declare at most --warmup {float(part.from_s + most_s):g}s, or hold the load longer",
            observed=seconds(float(length_s)),
            limit=seconds(float(most_s)),
            scope=scope,
            severity="warning",
        )


def _p95(key: Key, timeline: Timeline, requests: Requests, part: _Part) -> tuple[float | None, float | None]:
    """p95 of the successful requests of the part and of the window, ms; None below the least n of a p95."""
    clock, own = timeline.keys[key], requests.by_generator.get(key.generator)
    if own is None or clock.window_s <= 0:
        return None, None
    good = own.of(key.scenario) & ~own.failed
    low, high = clock.at_ns(part.from_s) + clock.slack_ns, clock.at_ns(part.to_s) - clock.slack_ns
    there = own.duration_ms[good & (own.start_ns >= low) & (own.start_ns < high)]
    here = own.duration_ms[good & clock.inside(own.start_ns, slack_ns=NS_PER_MS)]
    if min(len(there), len(here)) < MINIMUM_N["p95"]:
        return None, None
    return float(np.percentile(there, 95)), float(np.percentile(here, 95))


def _lost(
    key: Key,
    one: KeyPlan,
    timeline: Timeline,
    iterations: Iterations,
    requests: Requests,
    part: _Part,
    each: Fraction,
) -> tuple[Fraction, int, int]:
    """(requests offered, drops beyond the allocation of VUs, failed requests) between two offsets."""
    clock, found = timeline.keys[key], iterations.by_key[key]
    # Coarse stamps: what may lie outside of the excluded part is not held against it.
    low, high = clock.at_ns(part.from_s) + clock.slack_ns, clock.at_ns(part.to_s) - clock.slack_ns
    drops = int(found.drop_count[(found.drop_ns >= low) & (found.drop_ns < high)].sum())
    structural = max((one.max_vus or 0) - (one.pre_allocated_vus or 0), 0) if one.is_open else 0
    own = requests.by_generator.get(key.generator)
    made = failed = 0
    if own is not None:
        inside = own.of(key.scenario) & (own.start_ns >= low) & (own.start_ns < high)
        made, failed = int(inside.sum()), int((inside & own.failed).sum())
    offered = (
        Fraction(made) if one.schedule is None else one.schedule.slots_between(part.from_s, part.to_s) * each
    )
    return offered, max(drops - structural, 0), failed
