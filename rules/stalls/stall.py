"""
What it checks
    Whether the system stopped answering: no iteration of a scenario completed for a long time.

Why it matters
    A stall of a few seconds is the most important thing that happened in a test, and is easy to miss: at
    100 starts/s a stall of 5 s touches 500 iterations, which a closed model never even starts. If starts
    stop with the system, the percentiles leave out the time of the stall (coordinated omission).

How it is computed
    A stall is a gap between two completions of one scenario on one generator longer than max(1 s, 10 × the
    median gap, 2 × the median iteration duration), between the first completion and the scenario's end.
    Starts due in the gap come from the plan; without one, from the rate before the gap × its length. At
    least ten due and fewer than half of them made: the load stopped, and the run is invalid. In a closed
    model fewer than half made is enough. Otherwise the load kept coming: a warning. A stall that lies wholly
    in the excluded part stays a warning.

How to fix it
    If the load kept coming: nothing is wrong with the test. Report the stall beside the percentiles and look
    for its cause in the system at the times given. If starts stopped: use an arrival-rate executor with
    enough VUs for the stall, the number in the finding, and run again.

When it is wrong
    Long think time or very low rates make long gaps; the limit follows the median gap and the median
    duration for that reason. A scenario whose users all act at the same moments can still exceed it.
"""

from auditor.api import (
    Finding,
    Findings,
    Iterations,
    Limit,
    Limits,
    Plan,
    Rule,
    Samples,
    Scope,
    Severity,
    Stall,
    Stalls,
    clock,
    seconds,
)

RULE = Rule(
    id="CO02",
    slug="stall",
    title="The system stopped answering for a while",
    severity="warning",
    raises=True,
    since="0.1",
    limits=(
        Limit("shortest", 1, "s without a completion", "own: a shorter gap is no stall"),
        Limit("median_gaps", 10, "times the median gap", "own: gaps of a slow scenario are no stalls"),
        Limit("median_durations", 2, "times the median iteration", "own: nor are those of long iterations"),
        Limit("least_due", 10, "starts", "own: fewer starts due in a gap prove nothing"),
        Limit("made", 0.5, "share of the starts due", "own: below one half the load stopped with the system"),
        Limit("listed", 5, "stalls", "own: more stalls of one scenario make one finding"),
    ),
    references=("semantics §5",),
    consequence_of=("CO03", "GH03", "WM01"),
)


def check(stalls: Stalls, iterations: Iterations, plan: Plan, samples: Samples, limits: Limits) -> Findings:
    for key in dict.fromkeys(stall.key for stall in stalls.found):
        mine = [stall for stall in stalls.found if stall.key == key]
        own = samples.by_generator.get(key.generator)
        evidence = (own.path,) if own is not None else ()
        scope = Scope(key.generator, key.scenario)
        if len(mine) > limits["listed"]:
            # The longest that made the severity, so that words and severity agree.
            is_invalid = [stall for stall in mine if stopped(stall, limits)]
            longest = max(is_invalid or mine, key=lambda s: s.length_s)
            together = sum(stall.length_s for stall in mine)
            lead = f"{len(mine)} stalls, {together:.4g} s together; the longest"
            lead += " that stopped the load: " if is_invalid else ": "
            yield told(longest, lead, iterations, plan, limits, evidence, scope)
        else:
            for stall in mine:
                yield told(stall, "", iterations, plan, limits, evidence, scope)


def stopped(stall: Stall, limits: Limits) -> bool:
    """Whether starts stopped with the system, in the window."""
    enough = stall.due >= limits["least_due"] or not stall.planned
    return stall.in_window and enough and stall.started < limits["made"] * stall.due


def told(
    stall: Stall,
    lead: str,
    iterations: Iterations,
    plan: Plan,
    limits: Limits,
    evidence: tuple[str, ...],
    scope: Scope,
) -> Finding:
    due = f"{round(stall.due):,} starts were due" + ("" if stall.planned else " at the rate before it")
    message = (
        f"{lead}no iteration completed for {stall.length_s:.4g} s, from {stall.offset_s:.4g} s after the "
        f"scenario's start ({clock(stall.from_ns)}); {due}, {stall.started:,} made"
    )
    if not stall.in_window:
        message += "; it lies in the excluded part, so no figure below shows it"
    found = iterations.by_key[stall.key]
    busy = int(((found.start_ns < stall.from_ns) & (found.end_ns > stall.from_ns)).sum())
    severity: Severity = "invalid" if stopped(stall, limits) else "warning"
    one = plan.keys.get(stall.key)
    need = round(stall.due) + busy
    at = clock(stall.from_ns)
    if severity == "warning":
        fix = f"report the stall beside the percentiles, and look in the system's own logs and metrics at {at}"
    elif one is not None and one.is_closed:
        rate = stall.due / stall.length_s
        fix = (
            f"run it again with an arrival-rate executor at {rate:,.4g}/s and at least {need:,} maxVUs: the "
            f"{round(stall.due):,} starts due in such a stall and the {busy:,} then in flight"
        )
    else:
        fix = (
            f"give the scenario at least {need:,} maxVUs (the {round(stall.due):,} starts due in the stall "
            f"and the {busy:,} then in flight) and run it again"
        )
    return Finding(
        message=message,
        fix=fix,
        observed=seconds(stall.length_s),
        limit=seconds(stall.limit_s),
        evidence=evidence,
        scope=scope,
        severity=severity,
    )
