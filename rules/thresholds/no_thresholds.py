"""
What it checks
    Whether the run had any threshold.

Why it matters
    Without a threshold k6 exits with 0 whatever happened, so a pipeline passes a system that answered
    only with errors.

How it is computed
    Thresholds of the options (`k6 inspect`) or, without options, of the Metric lines of the points file,
    over all generators. None at all fails.

How to fix it
    Declare what a good run is: a latency, an error and a drop threshold.

When it is wrong
    An exploratory run may well have none. Metric lines do not show thresholds on submetrics: if only those
    lines are there and a metric has submetrics, the rule is unknown.
"""

from auditor.api import (
    CountSources,
    Evidence,
    Finding,
    Findings,
    Limit,
    Limits,
    Missing,
    Rule,
    Samples,
    Thresholds,
    Unknown,
    count,
)

RULE = Rule(
    id="TH01",
    slug="no-thresholds",
    title="The run had no thresholds",
    severity="warning",
    since="0.1",
    limits=(Limit("least", 1, "thresholds", "own: without one nothing can fail"),),
)
FIX = "keep the output of `k6 inspect --execution-requirements script.js` beside the points"
OWN_SUBMETRIC = "expected_response:true"
"""k6 makes this one by itself, for its end-of-test text."""


def check(
    thresholds: Thresholds, evidence: Evidence, counted: CountSources, samples: Samples | None, limits: Limits
) -> Findings:
    if thresholds.defined is None:
        yield Unknown("the thresholds of the run are not known", FIX, missing=Missing.OPTIONS)
        return
    if len(thresholds.found) >= limits["least"]:
        return
    without = [g.name for g in evidence.generators if g.source_of("thresholds") is None]
    for name in without:
        own = samples.by_generator.get(name) if samples is not None else None
        known = own.definitions.values() if own is not None else ()
        if any(OWN_SUBMETRIC not in text for metric in known for text in metric.submetrics):
            yield Unknown(
                "without options it cannot be told whether submetrics had thresholds",
                FIX,
                missing=Missing.OPTIONS,
            )
            return
    told = [g.source_of("thresholds") for g in evidence.generators]
    files = [source.path for source in told if source is not None]
    yield Finding(
        message="no threshold was declared: k6 exits with 0 whatever the system did",
        fix="add at least a latency, an error and a drop threshold, e.g. http_req_duration: ['p(95)<500'], "
        "http_req_failed: ['rate<0.01'], dropped_iterations: ['count<1']",
        observed=count(len(thresholds.found), "thresholds"),
        limit=count(limits["least"], "threshold"),
        evidence=tuple(files) or counted.files,
    )
