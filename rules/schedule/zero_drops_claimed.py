"""
What it checks
    Whether a report claims "0 dropped" of a run whose executors cannot drop.

Why it matters
    Looping VUs never record a dropped iteration: where an open model would have dropped, they simply ask less.
    "0 dropped iterations" then reads like proof that the load was delivered, and proves nothing.

How it is computed
    With the run beside the report (`--run`): the run's own field is n/a because its executors cannot drop, and
    the report has a number. Without it: the report itself says that the model is closed (its target rate is
    "none: closed model", say) and has a number of dropped iterations.

How to fix it
    Print "n/a: this executor cannot drop". For a number that means something, use an arrival-rate executor.

When it is wrong
    A report that counts iterations never started by maxDuration (shared-iterations, per-vu-iterations) as
    dropped: those are not dropped arrivals and need another name.
"""

from auditor.api import Finding, Findings, LintedReport, NotApplicable, Quantity, Rule, count

RULE = Rule(
    id="SD11",
    slug="zero-drops-claimed",
    title="Drops are claimed to be zero where none can be recorded",
    severity="invalid",
    since="0.1",
    references=("semantics §1",),
)


def check_report(linted: LintedReport) -> Findings:
    claimed = linted.number("dropped_iterations")
    run = linted.run
    if run is not None:
        cannot = run.header["dropped_iterations"].status == "n/a"
    else:
        target = linted.field("target_rate")
        cannot = target is not None and target.value is None and "closed" in f"{target.raw} {target.reason}"
    if not cannot:
        if run is None:
            yield NotApplicable("the report does not say that its model is closed")
        return
    if claimed is not None:
        yield Finding(
            message=f"the report says {claimed:,.0f} dropped iterations, but its executors cannot drop any",
            fix='print "n/a: this executor cannot drop"; only an arrival-rate executor records drops',
            observed=count(claimed, "iterations"),
            limit=Quantity(None, "iterations", "n/a"),
            evidence=(linted.report.path,),
        )
