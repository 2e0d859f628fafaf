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

from auditor.api import header_checks, header_rule

RULE = header_rule("achieved_rate")
check, check_report = header_checks("achieved_rate")
