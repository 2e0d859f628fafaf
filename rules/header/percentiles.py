"""
What it checks
    Whether the report can name the {label} of latency over the offered demand ({meaning}).

Why it matters
    {why}

How it is computed
    Linear interpolation over all requests that started in the window; failed, dropped, interrupted and silent
    demand counts as slower than anything observed. "n/a" below {minimum_n} requests or without any request,
    "not identified" where the rank falls on demand without a latency: both are answers. Missing without a
    points file, or if several protocols have samples and none is named.
    In a linted report the field is looked for by its machine name (`{name}`), else by its label; absent,
    blank, "-", "TBD" or "NaN" fails. "n/a" is an answer with its reason: "n/a, need {minimum_n}".

How to fix it
    Record the run with `k6 run --out json=k6.json.gz` and keep the file; a summary keeps no distribution.
    With several protocols name one: `latency_metric` in k6-audit.toml.

When it is wrong
    About a run it never fails. That too much demand has no latency is told by SD01 and ER03.
"""

from auditor.api import percentile_rules

RULES = percentile_rules()
