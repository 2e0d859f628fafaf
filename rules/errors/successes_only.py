"""
What it checks
    Whether a report's percentiles are of the successful requests alone, without saying so, while requests
    failed.

Why it matters
    A failed request has no answer. Without them the percentiles describe only the successes. k6 prints
    such a row (`expected_response:true`) just below the other, and it always looks better or no worse.

How it is computed
    The percentiles stand in a row of `expected_response:true`, or equal those of the run's successful
    requests (1 %) and not those of its offered demand; the report, or the run beside it, has failures; and
    the words "successful requests only", or the like, are nowhere in the report.

How to fix it
    Give the percentiles of all requests, or of the offered demand; or say "of successful requests only"
    beside them, with the number of failures.

When it is wrong
    If the label uses other words than those looked for.
"""

from auditor.api import (
    Finding,
    Findings,
    Limits,
    LintedReport,
    NotApplicable,
    Quantity,
    Rule,
    RunBeside,
)

RULE = Rule(
    id="ER01",
    slug="successes-only",
    title="Percentiles cover only successful requests, without saying so",
    severity="invalid",
    since="0.1",
    uses=("HD13.relative",),
    references=("semantics §4", "k6 expected_response"),
)


def check_report(linted: LintedReport, limits: Limits) -> Findings:
    report = linted.report
    if not linted.percentiles():
        yield NotApplicable("the report has no percentile")
        return
    failures = max(report.failures or 0.0, float(linted.run.failures) if linted.run is not None else 0.0)
    of_successes = report.percentiles_of_expected or (
        linted.run is not None and _equal_successes(linted, linted.run, limits["HD13.relative"])
    )
    if not failures:
        yield NotApplicable("no failures are known")
    elif of_successes and "successful" not in report.populations:
        yield Finding(
            message=f"requests failed ({failures:g}), and the percentiles are of the successful ones only; the "
            "report does not say so",
            fix='give percentiles of all requests, or write "of successful requests only" beside them',
            observed=Quantity(failures, "", f"{failures:g} failed"),
            limit=Quantity(None, "", "a label, or all requests"),
            evidence=(report.path,),
        )


def _equal_successes(linted: LintedReport, run: RunBeside, close: float) -> bool:
    """Whether every percentile is that of the successful requests, and one of them is not that of all."""
    other = False
    for name, found in linted.percentiles().items():
        successful = run.header[name].detail.get("of_successful")
        if found.value is None or successful is None or abs(found.value - successful) > close * successful:
            return False
        whole = run.header[name].value
        other |= whole is None or abs(found.value - whole) > close * whole
    return other
