"""
What it checks
    Whether the run has a threshold on dropped_iterations that would notice the drops that matter.

Why it matters
    k6 drops iterations without failing. Only a threshold puts them into the exit code. A fixed count such as
    `count<100` allows too many in a short run: with 99 drops of 14,375, p99.9 is not identified.

How it is computed
    The largest count of drops that the strictest such threshold lets pass, times the number of k6 processes
    (each evaluates it by itself), must be below 0.1 % of the planned starts of the run: from there on p99.9 is
    not identified. No such threshold at all fails.

How to fix it
    Add the threshold that the finding names to the script's options.

When it is wrong
    Fixed counts are fine if they are small against the plan; then it passes. It says nothing about whether
    starts were dropped in this run: SD01 and SD02 do.
"""

import math
from fractions import Fraction

from auditor.api import (
    Accounting,
    DropBudget,
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    Missing,
    NotApplicable,
    Plan,
    Quantity,
    Rule,
    Unknown,
    count,
)

RULE = Rule(
    id="SD09",
    slug="drop-threshold",
    title="No threshold would catch dropped iterations",
    severity="warning",
    since="0.1",
    limits=(Limit("share", 0.001, "share of planned", "from this share on p99.9 is not identified"),),
    references=("semantics §11", "k6 documentation, thresholds"),
)


def check(
    budget: DropBudget, plan: Plan, accounting: Accounting, evidence: Evidence, limits: Limits
) -> Findings:
    counted = [one for one in plan.measured() if one.is_open]
    if not counted:
        if plan.keys:
            yield NotApplicable("no scenario has an arrival rate, so no start can be dropped")
        else:
            yield Unknown(
                "nothing says what was planned",
                "keep k6's banner (its standard output) and the output of `k6 inspect "
                "--execution-requirements script.js`",
                missing=Missing.OPTIONS,
            )
        return
    planned = [accounting.whole[one.key].planned for one in counted if one.key in accounting.whole]
    known = [n for n in planned if n is not None]
    share = limits.exact("share")
    most = sum(known) * share
    complete = len(known) == len(counted)
    told = [g.source_of("thresholds") for g in evidence.generators]
    files = tuple(source.path for source in told if source is not None)
    fix = _fix(most, budget.processes) if complete else "add a threshold on dropped_iterations"
    if budget.passing is None:
        yield Finding(
            message="no threshold on dropped_iterations: k6 would exit with 0 whatever it dropped",
            fix=fix,
            observed=Quantity(None, "threshold", "no threshold"),
            limit=Quantity(float(most), "drops", f"below {float(most):,.4g} drops")
            if complete
            else Quantity(None, "threshold", "one"),
            evidence=files,
        )
        return
    if not complete:
        yield Unknown(
            "the schedule of an arrival-rate scenario is not known, so neither is how many drops matter",
            "keep the output of `k6 inspect --execution-requirements script.js`",
            missing=Missing.OPTIONS,
        )
        return
    passing = Fraction(budget.passing) * budget.processes
    if passing < most:
        return
    times = f" on each of {budget.processes} generators" if budget.processes > 1 else ""
    yield Finding(
        message=(
            f"the threshold {budget.expression}{times} lets {float(passing):,.0f} drops pass; from "
            f"{float(most):,.4g} ({limits['share'] * 100:g} % of {sum(known):,} planned starts) on, p99.9 "
            "is not identified"
        ),
        fix=fix,
        observed=count(float(passing), "passing drops"),
        limit=Quantity(float(most), "drops", f"below {float(most):,.4g} drops"),
        evidence=files,
    )


def _fix(most: Fraction, processes: int) -> str:
    """The largest count<N whose passing counts stay below ``most`` over all processes."""
    passing = max(math.ceil(most / processes) - 1, 0)
    return f"use the threshold dropped_iterations: ['count<{passing + 1}']"
