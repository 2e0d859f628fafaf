"""
What it checks
    Whether checks of the script failed without a threshold that would have said so.

Why it matters
    A check that fails changes neither k6's exit code nor any latency. If every answer is an error page, its
    latency is that of the error page, and only the check knows.

How it is computed
    Per check of the window: failed ÷ made. More than 1 % is a warning where no threshold is on `checks`, or on
    a submetric of it that covers this check. Without points the summary's totals are used.

How to fix it
    Read the check and the answers it refused. Put a threshold on it (checks: ['rate>0.99']), so that the next
    run says so itself.

When it is wrong
    If the check measures something that may fail: put a threshold on it that says how often.
"""

from auditor.api import (
    Checks,
    CountSources,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Rule,
    Scope,
    Thresholds,
    percent,
)

RULE = Rule(
    id="ER12",
    slug="failing-checks",
    title="Checks failed, and no threshold is on them",
    severity="warning",
    since="0.1",
    limits=(
        Limit("share", 0.01, "share of the checks made", "own: one in a hundred"),
        Limit("many", 0.1, "share of the checks made", "own: from here on it is a result of its own"),
    ),
    references=("grafana/k6#335",),
)


def check(checks: Checks, thresholds: Thresholds | None, counted: CountSources, limits: Limits) -> Findings:
    if not checks.by_name:
        yield NotApplicable("the script made no check")
        return
    judged = [t.metric for t in thresholds.found] if thresholds is not None else []
    if "checks" in judged:
        yield NotApplicable("a threshold is on the checks: k6 says whether they failed")
        return
    for name, found in checks.by_name.items():
        if found.failed_share <= limits["share"] or f"checks{{check:{name}}}" in judged:
            continue
        what = f"the check {name!r}" if name else "checks"
        many = "; the latencies are of answers that it refused" if found.failed_share > limits["many"] else ""
        yield Finding(
            message=f"{what} failed {found.fails:,} times of {found.passes + found.fails:,} "
            f"({found.failed_share:.1%}), and no threshold is on it{many}",
            fix="see which answers it refused and fix their cause; put a threshold on it: "
            "checks: ['rate>0.99']",
            observed=percent(found.failed_share),
            limit=percent(limits["share"]),
            evidence=counted.files,
            scope=Scope(name=name),
        )
