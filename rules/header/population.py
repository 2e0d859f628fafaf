"""
What it checks
    Whether a report says of which requests its percentiles are.

Why it matters
    A p95 of the successful requests and one of all that were asked for can differ a hundredfold; without the
    word nobody knows which one it is.

How it is computed
    Words in the report: "offered demand", "of what was sent", "all requests", "successful requests only",
    k6's `expected_response:true`.

How to fix it
    Write it beside the percentiles: "p95 of all requests, failures included", or "of the offered demand".

When it is wrong
    If the population is named in words that are not looked for.
"""

from auditor.api import Finding, Findings, LintedReport, NotApplicable, Quantity, Rule

RULE = Rule(
    id="HD17",
    slug="population",
    title="The report does not say what its percentiles are of",
    severity="invalid",
    since="0.2",
    references=("report header", "semantics §4"),
)


def check_report(linted: LintedReport) -> Findings:
    if not linted.percentiles():
        yield NotApplicable("the report has no percentile")
    elif not linted.report.populations:
        yield Finding(
            message="nothing says whether the percentiles are of all requests, of the successful ones, or of "
            "the demand that was offered",
            fix='write it beside them: "of all requests", "of successful requests only", "of offered demand"',
            observed=Quantity(None, "", "no population named"),
            limit=Quantity(None, "", "a named population"),
            evidence=(linted.report.path,),
        )
