"""
What it checks
    Whether the iterations took more time than all configured VUs had.

Why it matters
    A VU runs one iteration at a time. More VU time than VUs means that the samples are not of this run, are
    there twice, or were measured in another unit.

How it is computed
    Per generator and scenario: the sum of iteration durations ÷ the time from the first start to the last
    end, against the configured maxVUs (never the `vus` gauge, which is off by 8 to 15 %) × 1.01. Request
    time (blocked + duration) is summed likewise; if it alone is beyond the limit, `http.batch` or parallel
    requests explain it: a warning.

How to fix it
    Audit the points with the banner and options of their own run.

When it is wrong
    VUs raised by hand during the run (externally-controlled) beyond the configured number.
"""

from auditor.api import (
    CountSources,
    Finding,
    Findings,
    Limit,
    Limits,
    Missing,
    Plan,
    Quantity,
    Rule,
    Scope,
    Unknown,
    VuTime,
)

RULE = Rule(
    id="EV04",
    slug="vu-time",
    title="More VU time was used than there were VUs",
    severity="invalid",
    since="0.1",
    limits=(Limit("share", 1.01, "× max VUs", "own: one percent for rounding of stamps"),),
    references=("semantics §8", "grafana/k6#4715"),
    consequence_of=("DM06", "EV03"),
)


def check(used: VuTime, plan: Plan, counted: CountSources, limits: Limits) -> Findings:
    if not used.by_key and not any(one.max_vus for one in plan.keys.values()):
        yield Unknown(
            "nothing says how many VUs were configured",
            "keep k6's standard output (the banner) beside the points",
            missing=Missing.OPTIONS,
        )
    for key, one in used.by_key.items():
        most = one.max_vus * limits["share"]
        by_iterations = one.iteration_vus is not None and one.iteration_vus > most
        if not by_iterations and one.request_vus <= most:
            continue
        busy = one.iteration_vus if by_iterations and one.iteration_vus is not None else one.request_vus
        # Parallel requests explain it only where the iterations are seen to fit.
        is_invalid = by_iterations or one.iteration_vus is None
        what = "iterations" if by_iterations else "requests"
        message = (
            f"the {what} kept {busy:,.2f} VUs busy on average over {one.length_s:.4g} s; "
            f"{one.max_vus:,} were configured"
        )
        if not is_invalid:
            message += "; the iterations did not, so requests ran in parallel (http.batch)"
        yield Finding(
            message=message,
            fix="audit the points with the banner and options of their own run"
            if is_invalid
            else "nothing to do if the script sends requests in parallel; else look for duplicate samples",
            observed=Quantity(busy, "VUs", f"{busy:,.2f} VUs"),
            limit=Quantity(most, "VUs", f"{most:,.2f} VUs"),
            evidence=counted.file(key.generator),
            scope=Scope(key.generator, key.scenario),
            severity="invalid" if is_invalid else "warning",
        )
