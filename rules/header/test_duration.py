"""
What it checks
    Whether the report can name the length of the measurement window.

Why it matters
    A percentile of twenty seconds and one of an hour are not the same claim.

How it is computed
    Union of the windows of the measured scenarios on the plan's clock, from startTime + warm-up to the end of
    the plan, or to the part reached of a run that ended early; of several generators the longest. Missing
    without a points file. In a linted report the field is looked for by its machine name (`test_duration`),
    else by its label; absent, blank, "-", "TBD" or "NaN" fails. "n/a" is none.

How to fix it
    Record the run with `k6 run --out json=k6.json.gz` and keep the file.

When it is wrong
    About a run it never fails. Whether the window is long enough is another question (SS08).
"""

from auditor.api import header_checks, header_rule

RULE = header_rule("test_duration")
check, check_report = header_checks("test_duration")
