"""
What it checks
    Whether every number of a report's header has its unit.

Why it matters
    k6 prints 1.41s and 310ms in one line. A "310" that is read as the wrong one of the two is off by a
    thousand; a rate without "/s" may as well be of a minute, or of requests.

How it is computed
    The unit beside the number, in its label ("p95 (ms)"), in the column's heading, or in a note ("all times
    in milliseconds"). A latency in "m" is ambiguous (minutes, or milliseconds). Dropped iterations need none.

How to fix it
    Write the unit beside every number: 287.5/s, 310 ms, 48 %, 60 s.

When it is wrong
    If the unit is in a sentence elsewhere in the report.
"""

from auditor.api import FIELDS, Finding, Findings, LintedReport, Quantity, Rule

RULE = Rule(
    id="HD12",
    slug="units",
    title="Numbers in the header have no unit",
    severity="warning",
    since="0.1",
    references=("report header",),
)


def check_report(linted: LintedReport) -> Findings:
    for field in FIELDS:
        name, unit = field.name, field.unit
        found = linted.field(name)
        if field.kind == "count" or found is None or linted.number(name) is None:
            continue
        ambiguous = unit == "ms" and found.unit == "m"
        if found.unit and not ambiguous:
            continue
        if name == "warmup_excluded" and found.value == 0:
            continue  # 0 is 0 in any unit
        yield Finding(
            message=f"{field.label} is {found.raw[:60]!r}"
            + (": minutes, or milliseconds?" if ambiguous else ", without a unit"),
            fix=f"write it with its unit ({unit})",
            observed=Quantity(found.value, found.unit, found.raw[:60]),
            limit=Quantity(None, unit, f"a number with {unit}"),
            evidence=(f"{linted.report.path}, {found.where}",),
        )
