"""
What it checks
    Whether a report says of which requests its percentiles are.

Why it matters
    A p95 of the successful requests and one of all that were asked for can differ a hundredfold, and
    without a label they cannot be told apart.

How it is computed
    Words in the report: "offered demand", "of what was sent", "all requests", "successful requests only",
    k6's `expected_response:true`.

How to fix it
    Write it beside the percentiles: "p95 of all requests, failures included", or "of the offered demand".

When it is wrong
    If the population is named in other words than those looked for.
"""

from auditor.api import Finding, Findings, LintedReport, NotApplicable, Quantity, Rule

RULE = Rule(
    id="HD17",
    slug="population",
    title="The report does not say which requests its percentiles cover",
    severity="invalid",
    since="0.1",
    references=("report header", "semantics §4"),
)


def check_report(linted: LintedReport) -> Findings:
    if not linted.percentiles():
        yield NotApplicable("the report has no percentile")
    elif not linted.report.populations:
        yield Finding(
            message="it is not stated whether the percentiles cover all requests, the successful ones, or the "
            "offered demand",
            fix='write it beside them: "of all requests", "of successful requests only", "of offered demand"',
            observed=Quantity(None, "", "no population named"),
            limit=Quantity(None, "", "a named population"),
            evidence=(linted.report.path,),
        )
