"""
What it checks
    Whether the figures of a report are those of the run beside it.

Why it matters
    Numbers that the run's own points do not give were computed from something else, rounded, or typed by
    hand.

How it is computed
    Every field recomputed from the run. A number may differ by 1 %, or by half of its last printed digit if
    that is more; dropped iterations by nothing. A number where the run gives none (not identified, too few)
    fails, and so does "n/a" where the run gives one. A report labelled "successful requests only" is compared
    with the percentiles of those; a throughput of requests with the requests per second. A field that the run
    leaves open is not compared: the run is then NOT PROVEN by itself.

How to fix it
    Write the report again from this run: `k6-audit report RUN -o report.html`.

When it is wrong
    If the report measures another window: declare the same warm-up to both.
"""

from auditor.api import (
    LABEL_OF,
    PERCENTILE_FIELDS,
    Finding,
    Findings,
    HeaderField,
    Limit,
    Limits,
    LintedReport,
    NotApplicable,
    Quantity,
    ReportedField,
    Rule,
)

RULE = Rule(
    id="HD13",
    slug="header-agreement",
    title="The header disagrees with the run",
    severity="invalid",
    since="0.1",
    limits=(Limit("relative", 0.01, "share", "MLPerf: figures agree within 1 %"),),
    references=("report header",),
)

FIX = "write the report again from this run: `k6-audit report RUN -o report.html`, with the same warm-up"


def check_report(linted: LintedReport, limits: Limits) -> Findings:
    if linted.run is None:
        yield NotApplicable("needs the run beside the report: --run DIR")
        return
    for name, field in linted.run.header.items():
        found = linted.field(name)
        if found is None or found.answer in ("placeholder", "words") or field.status == "missing":
            continue  # HD01 to HD11 tell what the report lacks; the run's own audit what the run lacks
        if found.answer != "value":
            if field.status == "ok":
                yield _finding(
                    linted, found, f"the report has no number; the run gives {_number(field)}", field
                )
            continue
        expected = _expected(linted, name, field)
        if not expected:
            yield _finding(linted, found, f"the run gives none: {field.reason}", field)
            continue
        assert found.value is not None
        value = found.value
        if not any(_close(value, one, found.step, limits["relative"], name) for one in expected):
            yield _finding(linted, found, f"the run gives {expected[0]:,.6g} {field.unit}", field)


def _expected(linted: LintedReport, name: str, field: HeaderField) -> list[float]:
    """What the run may be said to have: one number, or for a throughput also that of requests."""
    if name in PERCENTILE_FIELDS and linted.report.populations == ("successful",):
        successful = field.detail.get("of_successful")
        return [] if successful is None else [float(successful)]
    if field.status != "ok" or field.value is None:
        return []
    found = [field.value]
    if name == "achieved_rate" and field.detail.get("requests_per_s") is not None:
        found.append(float(field.detail["requests_per_s"]))
    return found


def _close(value: float, expected: float, step: float, relative: float, name: str) -> bool:
    if name == "dropped_iterations":
        return value == expected
    return abs(value - expected) <= max(abs(expected) * relative, step / 2) + 1e-12


def _number(field: HeaderField) -> str:
    return f"{field.value:,.6g} {field.unit}" if field.value is not None else "a number"


def _finding(linted: LintedReport, found: ReportedField, why: str, field: HeaderField) -> Finding:
    return Finding(
        message=f"{LABEL_OF[found.name]} is {found.raw[:60]!r} in the report; {why}",
        fix=FIX,
        observed=Quantity(found.value, field.unit, found.raw[:60]),
        limit=Quantity(field.value, field.unit, _number(field) if field.status == "ok" else field.reason[:80]),
        evidence=(f"{linted.report.path}, {found.where}",),
    )
