"""
What it checks
    Whether the report can name the dropped iterations: starts that were due while no VU was free.

Why it matters
    Dropped iterations are demand that got no answer. They are in no latency figure, so a report that does not
    name them is too good.

How it is computed
    Sum of the values of `dropped_iterations` in the window, for executors that can drop. "n/a" for executors
    that cannot (looping VUs). Missing if the points file does not reach the planned end: then the absence of
    drops proves nothing, since k6 does not record them once a run is cut off. In a linted report the field is
    looked for by its machine name (`dropped_iterations`), else by its label; absent, blank, "-", "TBD" or
    "NaN" fails. "n/a" is an answer with its reason: "n/a: this executor cannot drop".

How to fix it
    Run the test to its end and keep the whole points file.

When it is wrong
    About a run it never fails. A run that k6 itself ended early leaves this open even if it had no drop.
"""

from auditor.api import header_checks, header_rule

RULE = header_rule("dropped_iterations")
check, check_report = header_checks("dropped_iterations")
