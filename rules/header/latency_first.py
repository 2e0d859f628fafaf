"""
What it checks
    Whether a report shows latency above the rate.

Why it matters
    A latency belongs to a load. A reader who sees "p95 31 ms" first may miss that half of the load was never
    offered.

How it is computed
    Order of appearance of the first percentile and of the target and achieved rate.

How to fix it
    Put the header first, in its order: target, achieved, dropped, generator CPU, duration, warm-up, then
    latency.

When it is wrong
    If the page places its parts by style sheet in another order than its source.
"""

from auditor.api import LABEL_OF, Finding, Findings, LintedReport, NotApplicable, Quantity, Rule

RULE = Rule(
    id="HD14",
    slug="latency-first",
    title="Latency is shown above the rate",
    severity="warning",
    since="0.1",
    references=("report header",),
)


def check_report(linted: LintedReport) -> Findings:
    shown = linted.percentiles()
    rates = [f for f in map(linted.field, ("target_rate", "achieved_rate")) if f is not None]
    if not shown or not rates:
        yield NotApplicable("the report does not have both a latency and a rate")
        return
    first = min(shown.values(), key=lambda f: f.order)
    last = max(rates, key=lambda f: f.order)
    if first.order < last.order:
        yield Finding(
            message=f"{LABEL_OF[first.name]} ({first.where}) stands above {LABEL_OF[last.name].lower()} "
            f"({last.where})",
            fix="show the rate first: a latency means nothing without the load it was measured at",
            observed=Quantity(None, "", f"{LABEL_OF[first.name]} first"),
            limit=Quantity(None, "", "rate before latency"),
            evidence=(linted.report.path,),
        )
