"""
What it checks
    Whether the report can name the achieved rate: the iterations per second that were started.

Why it matters
    It is the only proof that the load was there. k6's own `/s` figures divide by setup, gracefulStop and
    teardown as well and come out lower.

How it is computed
    Iterations started in the measurement window ÷ its length, by start time (end stamp − iteration duration).
    Missing without a points file, or with an empty window.

How to fix it
    Record the run with `k6 run --out json=k6.json.gz` and keep the file; declare a warm-up that is shorter
    than the test.

When it is wrong
    It never fails about a run. Whether the rate was the planned one is another question (OL01).
"""

from auditor.api import Findings, Header, Rule, answered

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
