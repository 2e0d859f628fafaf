"""
What it checks
    Whether the report can name the length of the measurement window.

Why it matters
    A percentile of twenty seconds and one of an hour are not the same claim.

How it is computed
    Union of the windows of the measured scenarios on the plan's clock, from startTime + warm-up to the end of
    the plan, or to the part reached of a run that ended early; of several generators the longest. Missing
    without a points file.

How to fix it
    Record the run with `k6 run --out json=k6.json.gz` and keep the file.

When it is wrong
    It never fails about a run. Whether the window is long enough is another question (SS08).
"""

from auditor.api import Findings, Header, Rule, answered

RULE = Rule(
    id="HD05",
    slug="test-duration-field",
    title="Test duration is missing from the header",
    severity="invalid",
    since="0.1",
    references=("report header",),
    waivable=False,
)


def check(header: Header) -> Findings:
    return answered(header, "test_duration")
