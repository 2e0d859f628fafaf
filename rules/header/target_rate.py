"""
What it checks
    Whether the report can name the target rate: the iterations per second that the run was to start.

Why it matters
    An achieved rate says nothing without the rate that was asked for. A figure of latency belongs to a load,
    and the load is the target.

How it is computed
    Slots of the schedule in the measurement window ÷ its length, summed over generators and open scenarios.
    Where no arrival plan exists, the declared target. A closed model that is declared as such, with its
    reason, answers "none: closed model". Missing where nothing says what was planned.
    In a linted report the field is looked for by its machine name (`target_rate`), else by its label; absent,
    blank, "-", "TBD" or "NaN" fails. "none" is an answer with its reason: "none: closed model (one clerk)".

How to fix it
    Keep k6's standard output (the banner) and the output of `k6 inspect --execution-requirements script.js`
    beside the points. For a closed executor declare the target, or use an arrival-rate executor.

When it is wrong
    About a run it never fails: without evidence the field is open, and so is the verdict.
"""

from auditor.api import header_checks, header_rule

RULE = header_rule("target_rate", slug="target-rate")
check, check_report = header_checks("target_rate")
