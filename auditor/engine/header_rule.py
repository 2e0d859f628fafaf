"""The checks that HD01 to HD11 share: a field of the report's header must have an answer."""

from __future__ import annotations

from auditor.engine.rule import Finding, Findings, Quantity
from auditor.facts.header import Header
from auditor.facts.linted_report import LABEL_OF, PERCENTILE_FIELDS, LintedReport
from auditor.facts.store import Unknown

MAY_BE_N_A = frozenset({"dropped_iterations", *PERCENTILE_FIELDS})
"""Fields whose "n/a" is an answer, with its reason: an executor that cannot drop, too few samples."""


def answered(header: Header, name: str) -> Findings:
    """Nothing if the field has a number or a reason that is an answer ("n/a", "not identified"); else what is
    missing and what fixes it. About a run it never fails: absence of evidence shows nothing wrong."""
    field = header.fields[name]
    if field.status == "missing":
        yield Unknown(f"{field.label}: {field.reason}", field.fix)


def answered_in_report(linted: LintedReport, name: str) -> Findings:
    """Nothing if the report has an answer for the field; a finding if it is absent, blank, "TBD" and the like.

    "n/a" with a reason is an answer for drops and percentiles, "none" with a reason for the target.
    """
    found = linted.field(name)
    label = LABEL_OF[name]
    where: tuple[str, ...] = ()
    if found is None:
        said = "it is not in the report"
    else:
        where = (f"{linted.report.path}, {found.where}",)
        match found.answer:
            case "value":
                return
            case "not-identified" if name in PERCENTILE_FIELDS:
                return
            case "n/a" if name in MAY_BE_N_A:
                return
            case "none" if name == "target_rate":
                return
            case "n/a" | "none" | "not-identified":
                said = f"it says {found.raw[:80]!r}, where a number is needed"
            case _:
                said = found.reason or "it has no number"
    yield Finding(
        message=f"{label}: {said}",
        fix=f"write the {label[:1].lower() + label[1:]} with its unit; "
        "`k6-audit report RUN -o report.html` writes all eleven",
        observed=Quantity(None, "", found.raw[:60] or "blank" if found is not None else "absent"),
        limit=Quantity(None, "", "an answer"),
        evidence=where,
    )
