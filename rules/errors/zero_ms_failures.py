"""
What it checks
    Whether requests that were never sent count in k6's latency trend as 0 ms.

Why it matters
    A refused connection, a failed look-up and some timeouts are recorded with http_req_duration = 0. k6's own
    percentiles and thresholds count them as the fastest answers of all: a system that refuses half of its
    connections shows half the median.

How it is computed
    Failed requests of the window with status "0" and a duration of exactly 0 ms, and the p50 and p95 of what
    was sent with and without them. The figures of this audit leave them out: failures rank last.

How to fix it
    Fix the cause (ER06 says whether it is the generator's), and do not quote k6's end-of-test percentiles or a
    threshold on http_req_duration from this run; restrict the threshold to
    http_req_duration{expected_response:true} and state the failures beside it.

When it is wrong
    Never: status 0 means that no answer came. Answers in less than a tick of the clock, or from a cache, have a
    status and are not counted.
"""

from auditor.api import (
    CountSources,
    Errors,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Rule,
    count,
)

RULE = Rule(
    id="ER04",
    slug="zero-ms-failures",
    title="Failures count as 0 ms in k6's latency",
    severity="warning",
    since="0.1",
    limits=(Limit("zero_ms", 0, "requests", "k6's tracer leaves 0 where nothing was sent"),),
    references=("semantics §4",),
    consequence_of=("ER06",),
)


def check(errors: Errors, counted: CountSources, limits: Limits) -> Findings:
    if not errors.requests:
        yield NotApplicable("no request was made")
        return
    if errors.zero_ms <= limits["zero_ms"]:
        return
    pulls = [
        f"{name} from {without:,.4g} to {pulled:,.4g} ms"
        for name, (pulled, without) in errors.pulled.items()
        if pulled != without
    ]
    effect = f"; they move {' and '.join(pulls)}" if pulls else ""
    yield Finding(
        message=(
            f"{errors.zero_ms:,} of {errors.requests:,} requests "
            f"({errors.zero_ms / errors.requests * 100:.2f} %) were never sent and count in k6's "
            f"http_req_duration as 0 ms{effect}"
        ),
        fix=(
            "quote no percentile of k6's own summary from this run; fix the failures, and put thresholds on "
            "http_req_duration{expected_response:true}"
        ),
        observed=count(errors.zero_ms, "requests"),
        limit=count(limits["zero_ms"], "requests"),
        evidence=counted.files,
    )
