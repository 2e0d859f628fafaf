"""
What it checks
    Whether a report of a run that is INVALID or NOT PROVEN says so before it gives a number.

Why it matters
    A number is copied, its footnote is not. A reader who sees 31 ms first may never reach the word "INVALID".

How it is computed
    The verdict of the run beside the report, of the result embedded in it, or the one it states, whichever
    comes first in this list; and whether that word stands above the first field of the header.

How to fix it
    Put the word at the top of the page and on every printed page, as `k6-audit report` does.

When it is wrong
    If the word is in an image.
"""

from auditor.api import LABEL_OF, Finding, Findings, LintedReport, NotApplicable, Quantity, Rule

RULE = Rule(
    id="HD19",
    slug="invalid-band",
    title="Numbers of a run that is not valid are shown as results",
    severity="invalid",
    since="0.1",
    references=("report header",),
)


def check_report(linted: LintedReport) -> Findings:
    verdict = linted.verdict
    if verdict not in ("INVALID", "NOT PROVEN"):
        yield NotApplicable("the run is not known to be invalid or unproven")
        return
    numbers = [f for f in linted.report.fields.values() if f.answer == "value"]
    if not numbers:
        return
    first = min(numbers, key=lambda f: f.order)
    said = linted.report.verdict == verdict and linted.report.verdict_order is not None
    if said and (linted.report.verdict_order or 0) < first.order:
        return
    place = "only below the figures" if said else "nowhere"
    yield Finding(
        message=f"the run is {verdict}, and the report says so {place}; its first figure is "
        f"{LABEL_OF[first.name]} {first.raw[:40]}",
        fix=f"write {verdict} at the top, before any figure: `k6-audit report RUN -o report.html` does",
        observed=Quantity(None, "", f"{verdict} {place}"),
        limit=Quantity(None, "", f"{verdict} first"),
        evidence=(linted.report.path,),
    )
