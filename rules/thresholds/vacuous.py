"""
What it checks
    Whether every threshold had samples to judge.

Why it matters
    k6 lets a threshold on a metric without a single sample pass. `p(95)<300` on a submetric whose tag was
    misspelt always passes.

How it is computed
    Every threshold of the options (or of a summary) is evaluated on the samples of its metric or submetric; one
    without samples is vacuous, except on `dropped_iterations`, which k6 writes only when there is one to
    write.

How to fix it
    Correct the name or the tag filter, or remove the threshold.

When it is wrong
    A threshold on a metric that is only written when something goes wrong, such as a counter of your own:
    give it a sample of 0 at the start, or waive it.
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
        if one.state == "vacuous":
            yield Finding(
                message=f"{one.metric}: {one.expression} passed without a single sample",
                fix="correct the metric's name or its tag filter, or remove the threshold",
                observed=count(0, "samples"),
                limit=count(limits["samples"], "sample"),
                evidence=counted.file(one.generator),
                scope=Scope(generator=one.generator, name=one.metric),
            )
