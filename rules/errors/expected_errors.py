"""
What it checks
    Whether answers with an error status (4xx, 5xx) count among the successes, because the script expects them.

Why it matters
    An error page is often quicker than the answer itself. Declared as expected, it is no failure to k6, lowers
    the percentiles of the successes, and hides in a failed share of 0 %.

How it is computed
    HTTP requests that started in the measurement window (support scenarios left out) and did not fail, by the
    status in their tags. Those with a status from 400 on, beyond 1 % of all that did not fail, are a warning
    that lists the statuses. Status 0 is never a success (ER03).

How to fix it
    Give only the requests that are to be answered so an expectedStatuses() of their own, and name them apart;
    report their share beside the percentiles.

When it is wrong
    A test whose point is such an answer: a 404 for what does not exist, a 409 for a duplicate.
"""

from collections import Counter

import numpy as np

from auditor.api import (
    NS_PER_MS,
    CountSources,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Plan,
    Requests,
    Rule,
    Timeline,
    percent,
)

RULE = Rule(
    id="ER02",
    slug="expected-errors",
    title="Answers with an error status count as successes",
    severity="warning",
    since="0.1",
    limits=(Limit("share", 0.01, "share of the successes", "own: from there on p99 may be one of them"),),
    references=("semantics §4",),
)


def check(
    requests: Requests, plan: Plan, timeline: Timeline, counted: CountSources, limits: Limits
) -> Findings:
    if requests.metric != "http_req_duration":
        yield NotApplicable("only HTTP requests have expected statuses")
        return
    statuses: Counter[str] = Counter()
    for key, clock in timeline.keys.items():
        own, one = requests.by_generator.get(key.generator), plan.keys.get(key)
        if own is None or clock.window_s <= 0 or (one is not None and one.support):
            continue
        good = own.of(key.scenario) & clock.inside(own.start_ns, slack_ns=NS_PER_MS) & ~own.failed
        ids, counts = np.unique(own.tagset[good], return_counts=True)
        status = own.samples.tag("status")
        for tagset, n in zip(ids.tolist(), counts.tolist(), strict=True):
            statuses[str(status[tagset])] += n
    bad = {status: n for status, n in statuses.items() if status.isdigit() and int(status) >= 400}
    total, errors = sum(statuses.values()), sum(bad.values())
    if not total or errors <= total * limits.exact("share"):
        return
    listed = sorted(bad.items(), key=lambda item: (-item[1], item[0]))
    words = ", ".join(f"{n:,} × status {status}" for status, n in listed[:3])
    yield Finding(
        message=f"{errors:,} of {total:,} requests that count as successes ({errors / total * 100:.2f} %) were "
        f"answered with an error status that the script expects: {words}",
        fix="expect a status only of the requests that are to be answered so, and report their share",
        observed=percent(errors / total),
        limit=percent(limits["share"]),
        evidence=counted.files,
    )
