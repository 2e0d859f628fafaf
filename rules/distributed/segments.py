"""
What it checks
    Whether the parts of the plan that the instances ran make the whole plan, once.

Why it matters
    Without execution segments every instance runs the whole plan: n times the load. With a gap or an
    overlap the load is less or more than the one asked for, and nothing in k6's output says so.

How it is computed
    Explicit segments (`executionSegment`) must tile 0 to 1 without gap and overlap, in exact fractions.
    Otherwise the percentages of the banners must sum to 100 within 0.01 for each instance, the rounding of
    two decimals. A single instance that ran less than the whole plan is one of several.

How to fix it
    Start instance i of n with --execution-segment "(i−1)/n:i/n" and the full
    --execution-segment-sequence, and audit the folders of all instances together.

When it is wrong
    Instances that are meant to run different plans are several runs: audit each by itself.
"""

from collections.abc import Sequence
from fractions import Fraction

from auditor.api import (
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Plan,
    Quantity,
    Rule,
    Unknown,
    percent,
)

RULE = Rule(
    id="DM02",
    slug="segments",
    title="The instances' parts do not make the whole plan",
    severity="invalid",
    since="0.1",
    limits=(Limit("rounding", 0.01, "percentage points per instance", "k6 prints two decimals"),),
    references=("semantics §9", "grafana/k6-operator#90"),
    consequence_of=("DM01",),
)


def check(evidence: Evidence, plan: Plan, limits: Limits) -> Findings:
    shares = [plan.shares[g.name] for g in evidence.generators]
    n = len(shares)
    files = tuple(dict.fromkeys(s.source for s in shares if s.segment is not None or s.percent is not None))
    untold = [s.generator for s in shares if s.segment is None and s.percent is None]
    whole = percent(1.0)
    if untold and n == 1:
        yield NotApplicable("one generator, with no sign that it ran only a part")
        return
    if untold:
        yield Unknown(
            f"which part of the plan {', '.join(untold)} ran is not known",
            "keep the console of every instance (its banner prints the part), or `k6 archive`'s options",
            needs="add",
        )
        return
    if n == 1:
        part = float(shares[0].fraction or 1)
        if part != 1:
            yield Finding(
                message=f"this instance ran {part:.2%} of the plan: it is one of several",
                fix="audit the folders of all instances together: k6-audit lint gen-1 gen-2 ...",
                observed=percent(part),
                limit=whole,
                evidence=files,
            )
        return
    segments = [s.segment for s in shares if s.segment is not None]
    if len(segments) == n:
        problem = untiled(segments)
        if problem:
            covered = float(sum((end - start for start, end in segments), Fraction(0)))
            yield Finding(
                message=f"the execution segments {problem}",
                fix=f"start instance i of {n} with --execution-segment (i-1)/{n}:i/{n} and run again, "
                "or add the "
                "instance that is missing",
                observed=Quantity(covered * 100, "%", f"{covered:.2%} in {n} segments"),
                limit=whole,
                evidence=files,
            )
        return
    total = sum(
        (s.percent if s.percent is not None else (s.fraction or Fraction(0)) * 100 for s in shares),
        Fraction(0),
    )
    if abs(total - 100) <= limits.exact("rounding") * n:
        return
    fix = f"start instance i of {n} with --execution-segment (i-1)/{n}:i/{n} and run again"
    if total < 100:
        fix = f"add the folder of the instance that is missing; if there is none, {fix}"
    if all(s.fraction == 1 for s in shares):
        fix += "; if they were meant as separate runs, audit each by itself"
        message = f"all {n} instances ran the whole plan: {n} times the load that one plan asks for"
    else:
        message = f"the instances' parts sum to {float(total):.2f} % of the plan"
    yield Finding(
        message=message,
        fix=fix,
        observed=percent(float(total) / 100),
        limit=whole,
        evidence=files,
    )


def untiled(segments: Sequence[tuple[Fraction, Fraction]]) -> str:
    """Where the segments leave a gap or overlap; empty if they tile 0 to 1."""
    at = Fraction(0)
    for start, end in sorted(segments):
        if start > at:
            return f"leave out {at} to {start}"
        if start < at:
            return f"overlap from {start} to {min(at, end)}"
        at = end
    return "" if at == 1 else f"leave out {at} to 1"
