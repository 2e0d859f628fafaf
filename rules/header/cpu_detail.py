"""
What it checks
    Whether the generator's CPU is given with its maximum, and with what it is a share of.

Why it matters
    "CPU 58 %" hides a core at 100 %, the ten seconds at 95 %, and whether it is of one machine or the mean of
    ten.

How it is computed
    Words beside the number: a maximum, peak, highest or worst; and a count of hosts or generators, or the
    cores (or quota) that 100 % stands for.

How to fix it
    Write it as "mean 35 %, highest 5 s 48 %, 1 host of 4 cores".

When it is wrong
    If the words are elsewhere in the report.
"""

import re

from auditor.api import Finding, Findings, LintedReport, NotApplicable, Quantity, Rule

RULE = Rule(
    id="HD18",
    slug="cpu-detail",
    title="Generator CPU lacks its maximum, or the hosts or cores it covers",
    severity="warning",
    since="0.1",
    references=("report header", "semantics §7"),
)

HIGHEST = re.compile(r"\b(?:max(?:imum)?|peak|highest|worst|p9\d)\b", re.I)
SHARE_OF = re.compile(r"\b(?:v?cpus?|cores?|hosts?|machines?|nodes?|generators?|injectors?|quota)\b", re.I)


def check_report(linted: LintedReport) -> Findings:
    found = linted.field("generator_cpu")
    if found is None or linted.number("generator_cpu") is None:
        yield NotApplicable("the report has no generator CPU")
        return
    words = f"{found.raw} {found.detail}"
    about = re.sub(r"worst core|\bcpu\b", "", words, flags=re.I)
    lacks = [] if HIGHEST.search(words + found.label) else ["a maximum"]
    lacks += [] if SHARE_OF.search(about) else ["the number of hosts or cores"]
    if lacks:
        yield Finding(
            message=f"Generator CPU is {found.raw[:60]!r}, without {' and '.join(lacks)}",
            fix='write it as "mean 35 %, highest 5 s 48 %, 1 host of 4 cores"',
            observed=Quantity(found.value, "%", found.raw[:60]),
            limit=Quantity(None, "", "maximum, and hosts or cores"),
            evidence=(f"{linted.report.path}, {found.where}",),
        )
