"""
What it checks
    Whether the report can name the generator's CPU: the highest 5 s mean of its hosts, over the window.

Why it matters
    A busy generator starts late and measures its own waiting as the system's latency. Without its CPU nobody
    can tell which of the two was slow.

How it is computed
    100 % − idle − iowait of every generator's host over the measurement window, as the highest mean over 5 s.
    Missing without host metrics, or if they cover less than 95 % of the window of any generator. In a linted
    report the field is looked for by its machine name (`generator_cpu`), else by its label; absent, blank,
    "-", "TBD" or "NaN" fails. "n/a" is none.

How to fix it
    Record `sar -o host.sa 1` on every generator while the test runs, and keep
    `sadf -j host.sa -- -u ALL -P ALL -r ALL > host.sadf.json` beside the points.

When it is wrong
    About a run it never fails. A container's own CPU is no evidence about the machine it shares.
"""

from auditor.api import header_checks, header_rule

RULE = header_rule("generator_cpu")
check, check_report = header_checks("generator_cpu")
