"""
What it checks
    Whether a report is of the files beside it.

Why it matters
    An old report beside a new run looks like the new run's report.

How it is computed
    SHA-256 of every input of the run against the digests that the report names. In a report of k6-audit both
    lists must be the same; elsewhere every input must be named.

How to fix it
    Write the report again from this run.

When it is wrong
    Never: the same bytes have the same digest.
"""

from auditor.api import Finding, Findings, LintedReport, NotApplicable, Quantity, Rule

RULE = Rule(
    id="HD16",
    slug="stale",
    title="The report was made from other inputs",
    severity="invalid",
    since="0.1",
    references=("report header",),
)

FIX = "write the report again from this run: `k6-audit report RUN -o report.html`"


def check_report(linted: LintedReport) -> Findings:
    if linted.run is None:
        yield NotApplicable("needs the run beside the report: --run DIR")
        return
    named = set(linted.report.sha256_named)
    if not named:
        yield NotApplicable("the report names no input by its SHA-256; its figures are compared instead (HD13)")
        return
    inputs = {source.sha256: source.path for source in linted.run.sources}
    for digest, path in inputs.items():
        if digest not in named:
            yield _finding(linted, f"{path} of the run is not among the report's inputs", digest)
    if linted.report.embedded is not None:
        for digest in sorted(named - inputs.keys()):
            yield _finding(linted, "an input of the report is not in the run", digest)


def _finding(linted: LintedReport, message: str, digest: str) -> Finding:
    return Finding(
        message=message,
        fix=FIX,
        observed=Quantity(None, "", f"SHA-256 {digest[:16]}…"),
        limit=Quantity(None, "", "the same inputs"),
        evidence=(linted.report.path,),
    )
