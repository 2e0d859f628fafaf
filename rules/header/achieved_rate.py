"""
What it checks
    Whether the report can name the achieved rate: the iterations per second that were started.

Why it matters
    It is the only proof that the load was there. k6's own `/s` figures divide by setup, gracefulStop and
    teardown as well and come out lower.

How it is computed
    Iterations started in the measurement window ÷ its length, by start time (end stamp − iteration duration).
    Missing without a points file, or with an empty window. In a linted report the field is looked for by its
    machine name (`achieved_rate`), else by its label; absent, blank, "-", "TBD" or "NaN" fails. "n/a" is
    none.

How to fix it
    Record the run with `k6 run --out json=k6.json.gz` and keep the file; declare a warm-up that is shorter
    than the test.

When it is wrong
    About a run it never fails. Whether the rate was the planned one is another question (OL01).
"""

from auditor.api import Findings, Header, LintedReport, Rule, answered, answered_in_report

RULE = Rule(
    id="HD02",
    slug="achieved-rate-field",
    title="Achieved rate is missing from the header",
    severity="invalid",
    since="0.1",
    references=("report header",),
    waivable=False,
)


def check(header: Header) -> Findings:
    return answered(header, "achieved_rate")


def check_report(linted: LintedReport) -> Findings:
    return answered_in_report(linted, "achieved_rate")
