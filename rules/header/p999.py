"""
What it checks
    Whether the report can name the p99.9 of latency over the offered demand (one request in a thousand was
    slower).

Why it matters
    Stalls and timeouts show here first; a few seconds of trouble leave every lower percentile untouched.

How it is computed
    Linear interpolation over all requests that started in the window; failed, dropped, interrupted and silent
    demand counts as slower than anything observed. "n/a" below 3,688 requests or without any request, "not
    identified" where the rank falls on demand without a latency: both are answers. Missing without a points
    file, or if several protocols have samples and none is named.
    In a linted report the field is looked for by its machine name (`p999`), else by its label; absent,
    blank, "-", "TBD" or "NaN" fails. "n/a" is an answer with its reason: "n/a, need 3,688".

How to fix it
    Record the run with `k6 run --out json=k6.json.gz` and keep the file; a summary keeps no distribution.
    With several protocols name one: `latency_metric` in k6-audit.toml.

When it is wrong
    About a run it never fails. That too much demand has no latency is told by SD01 and ER03.
"""

from auditor.api import Findings, Header, LintedReport, Rule, answered, answered_in_report

RULE = Rule(
    id="HD11",
    slug="p99-9-field",
    title="p99.9 is missing from the header",
    severity="invalid",
    since="0.1",
    references=("report header",),
    waivable=False,
)


def check(header: Header) -> Findings:
    return answered(header, "p999")


def check_report(linted: LintedReport) -> Findings:
    return answered_in_report(linted, "p999")
