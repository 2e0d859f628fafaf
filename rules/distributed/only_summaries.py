"""
What it checks
    Whether percentiles of several generators can be pooled: that takes every generator's points.

Why it matters
    Percentiles of summaries cannot be merged. The mean, the maximum or any other mixture of three p99 is not
    the p99 of the whole, and can be wrong by any factor.

How it is computed
    With several generators, any that left only a summary makes the pooled percentiles unknown. Counts add and
    stay valid.

How to fix it
    Record every generator with `--out json=k6.json.gz` (or CSV) and keep the files.

When it is wrong
    Never.
"""

from auditor.api import CountSources, Evidence, Findings, Missing, NotApplicable, Rule, Unknown

RULE = Rule(
    id="DM04",
    slug="only-summaries",
    title="Percentiles of several summaries cannot be merged",
    severity="invalid",
    since="0.1",
    references=("semantics §9", "grafana/k6-operator#812"),
)


def check(evidence: Evidence, counted: CountSources) -> Findings:
    if len(evidence.generators) < 2:
        yield NotApplicable("one generator")
        return
    if counted.summaries:
        names = ", ".join(sorted(counted.summaries))
        yield Unknown(
            f"{names} left only a summary: their percentiles cannot be merged with others",
            "keep the points of every generator: --out json=k6.json.gz",
            missing=Missing.POINTS,
        )
