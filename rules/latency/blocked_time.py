"""
What it checks
    Whether requests waited for a connection so long that http_req_duration hides it.

Why it matters
    http_req_duration leaves out the wait for a free connection, DNS, connecting and TLS. A client feels all of
    them. Where they are long, the percentiles of http_req_duration are lower than what users got.

How it is computed
    Client-felt latency = max(blocked, connecting + TLS) + duration, per request of the window. Its p99 must not
    exceed 1.2 times the p99 of http_req_duration (both of what was sent, linear interpolation).

How to fix it
    Report the client-felt percentile beside it. If reused connections should have made it small, look for
    `noConnectionReuse`, a small `batchPerHost`, or a generator at its limits (GH03).

When it is wrong
    A test of cold connections (new users, short sessions) includes them on purpose: report the felt latency.
    With stamps coarser than 10 ms the two times of a request cannot be told from those of its neighbours; what
    looks too long is then unknown.
"""

import numpy as np

from auditor.api import (
    MINIMUM_N,
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
    Samples,
    Timeline,
    milliseconds,
    require_fine_stamps,
)

RULE = Rule(
    id="LS08",
    slug="blocked-time",
    title="The latency leaves out a long wait for connections",
    severity="warning",
    since="0.1",
    limits=(Limit("ratio", 1.2, "times p99", "own: a difference of 20 % matters to a reader"),),
    references=("semantics §4",),
    consequence_of=("GH03",),
)


def check(
    requests: Requests,
    plan: Plan,
    timeline: Timeline,
    counted: CountSources,
    samples: Samples,
    limits: Limits,
) -> Findings:
    if requests.metric != "http_req_duration":
        yield NotApplicable("only HTTP requests have a blocked time")
        return
    felt: list[np.ndarray] = []
    plain: list[np.ndarray] = []
    for key, clock in timeline.keys.items():
        own = requests.by_generator.get(key.generator)
        one = plan.keys.get(key)
        if own is None or clock.window_s <= 0 or (one is not None and one.support):
            continue
        inside = own.of(key.scenario) & clock.inside(own.start_ns, slack_ns=NS_PER_MS)
        felt.append(own.felt_ms[inside])
        plain.append(own.duration_ms[inside])
    n = sum(len(part) for part in plain)
    if n < MINIMUM_N["p99"]:
        yield NotApplicable(f"{n:,} requests are too few for a p99")
        return
    p99_felt = float(np.percentile(np.concatenate(felt), 99, overwrite_input=True))
    p99 = float(np.percentile(np.concatenate(plain), 99, overwrite_input=True))
    if p99_felt > limits["ratio"] * p99:
        require_fine_stamps(samples)
        yield Finding(
            message=f"clients felt a p99 of {p99_felt:,.4g} ms; http_req_duration's is {p99:,.4g} ms, "
            "without the wait for connections",
            fix="report the client-felt percentile beside it, or find out why connections are not reused",
            observed=milliseconds(p99_felt),
            limit=milliseconds(limits["ratio"] * p99),
            evidence=counted.files,
        )
