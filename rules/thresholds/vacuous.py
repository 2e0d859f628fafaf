"""
What it checks
    Whether every threshold had samples to judge.

Why it matters
    k6 lets a threshold on a metric without a single sample pass. `p(95)<300` on a submetric whose tag was
    misspelt always passes.

How it is computed
    Every threshold of the options (or of a summary) is evaluated on the samples of its metric or submetric. One
    without samples is vacuous, except on a counter: k6 writes none that was never added to, so that its count
    is 0. A submetric whose tag never occurs on its metric is vacuous whatever its type.

How to fix it
    Correct the name or the tag filter, or remove the threshold.

When it is wrong
    A threshold on a submetric that is only written when something goes wrong, such as
    http_reqs{status:500}: count your own errors in a counter instead, or waive it.
"""

from auditor.api import (
    CountSources,
    Finding,
    Findings,
    Limit,
    Limits,
    NotApplicable,
    Rule,
    Scope,
    Thresholds,
    count,
)

RULE = Rule(
    id="TH02",
    slug="vacuous-threshold",
    title="A threshold had no samples",
    severity="invalid",
    since="0.1",
    limits=(Limit("samples", 1, "samples", "without one nothing is proven"),),
    references=("semantics §11", "grafana/k6#4283", "grafana/k6#1346"),
    consequence_of=("OL08",),
)


def check(thresholds: Thresholds, counted: CountSources, limits: Limits) -> Findings:
    if not thresholds.found:
        yield NotApplicable("no threshold is known")
        return
    for one in thresholds.found:
        if one.samples is not None and one.samples < limits["samples"]:
            had = f"only {count(one.samples, 'samples').text}" if one.samples else "no sample"
            passed = ", and passed" if one.state in ("vacuous", "passed") else ""
            yield Finding(
                message=f"{one.metric}: {one.expression} had {had} to judge{passed}",
                fix="correct the metric's name or its tag filter, or remove the threshold",
                observed=count(one.samples, "samples"),
                limit=count(limits["samples"], "samples"),
                evidence=counted.file(one.generator),
                scope=Scope(generator=one.generator, name=one.metric),
            )
