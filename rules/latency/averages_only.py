"""
What it checks
    Whether a report gives averages of latency and no percentile.

Why it matters
    An average hides the distribution: one answer in a hundred at 10 s makes an average of 100 ms for a service
    that answers in 1 ms, and no request took 100 ms.

How it is computed
    "avg", "average" or "mean" beside a latency in the report, and none of p50 to p99.9 with a number.

How to fix it
    Give p50, p90, p95, p99 and p99.9; in k6: `summaryTrendStats: ["med", "p(90)", "p(95)", "p(99)",
    "p(99.9)"]`.

When it is wrong
    If the percentiles are in an image.
"""

from auditor.api import SUMMARY_KEYS, Finding, Findings, LintedReport, NotApplicable, Quantity, Rule

RULE = Rule(
    id="LS12",
    slug="averages-only",
    title="Latency averages without percentiles",
    severity="invalid",
    since="0.1",
    references=("report header",),
)


def check_report(linted: LintedReport) -> Findings:
    where = linted.report.averages
    if linted.percentiles():
        return
    if not where:
        yield NotApplicable("the report has no latency at all")
        return
    wanted = ", ".join(f'"{key}"' for key in SUMMARY_KEYS.values())
    yield Finding(
        message=f"latency is given as an average only ({where[0]})",
        fix=f"give percentiles; k6 prints them with summaryTrendStats: [{wanted}]",
        observed=Quantity(float(len(where)), "count", "averages only"),
        limit=Quantity(None, "", "percentiles"),
        evidence=(linted.report.path,),
    )
