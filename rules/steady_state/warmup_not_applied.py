"""
What it checks
    Whether a report that declares a warm-up left it out of its percentiles.

Why it matters
    "30 s warm-up excluded" above figures that include it is wrong: cold caches and the ramp are in the tail,
    or a quiet start lowers it.

How it is computed
    From the run beside the report: the percentiles once with the warm-up left out and once with nothing left
    out. It fails if every percentile of the report is one of the latter (to its printed digits, at most 1 %)
    and at least one is none of the former.

How to fix it
    Compute the percentiles over the measurement window: `k6-audit report RUN --warmup 30s -o report.html`.

When it is wrong
    Where warm-up and window have the same percentiles it cannot tell, and does not fail.
"""

from auditor.api import (
    Finding,
    Findings,
    HeaderField,
    Limits,
    LintedReport,
    NotApplicable,
    ReportedField,
    Rule,
    seconds,
)

RULE = Rule(
    id="SS02",
    slug="warmup-not-applied",
    title="The declared warm-up was not excluded",
    severity="invalid",
    since="0.1",
    uses=("HD13.relative",),
    references=("semantics §3",),
)

PRINTED_SHARE = 0.0005
"""Half a unit in the fourth digit: how far a number printed with three or more digits may lie off."""


def check_report(linted: LintedReport, limits: Limits) -> Findings:
    declared = linted.number("warmup_excluded")
    run = linted.run
    if run is None:
        yield NotApplicable("needs the run beside the report: --run DIR")
        return
    if not declared or run.warmup_s == 0:
        yield NotApplicable("no warm-up was to be left out")
        return
    if not run.samples_in_warmup:
        yield NotApplicable("no request was sent in the warm-up")
        return
    shown = linted.percentiles()
    close = limits["HD13.relative"]
    all_unfiltered = bool(shown) and all(_same(f, run.unfiltered[n], close) for n, f in shown.items())
    if all_unfiltered and not all(_same(f, run.header[n], close) for n, f in shown.items()):
        yield Finding(
            message=f"the report declares a warm-up of {declared:g} s, and its percentiles are those of the "
            f"whole run, with the {run.samples_in_warmup:,} requests of the warm-up",
            fix="compute them over the measurement window: `k6-audit report RUN --warmup ... -o report.html`",
            observed=seconds(0),
            limit=seconds(declared),
            evidence=(linted.report.path,),
        )


def _same(found: ReportedField, field: HeaderField, close: float) -> bool:
    """Equal to the printed digits, and never further apart than the share ``close``."""
    if found.value is None or field.value is None:
        return False
    return abs(found.value - field.value) <= max(found.step / 2, PRINTED_SHARE * field.value) + 1e-12 and (
        abs(found.value - field.value) <= close * field.value
    )
