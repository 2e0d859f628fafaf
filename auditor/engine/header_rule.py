"""What the rules of the header's fields (HD01 to HD11) share: a field must have an answer."""

from __future__ import annotations

import re

from auditor.engine.rule import Check, Finding, Findings, OneOfMany, Quantity, Rule
from auditor.facts.header import Header
from auditor.facts.linted_report import LintedReport
from auditor.facts.store import Unknown
from auditor.fields import FIELD_OF, HOW_MANY


def header_rule(name: str, slug: str = "") -> Rule:
    """The metadata of the rule that demands a field of the header."""
    field = FIELD_OF[name]
    return Rule(
        id=field.rule,
        slug=slug or f"{re.sub(r'[^a-z0-9]+', '-', field.label.lower())}-field",
        title=field.rule_title,
        severity="invalid",
        since=field.since,
        references=("report header",),
        waivable=False,
    )


def header_checks(name: str) -> tuple[Check, Check]:
    """Its checks, of a run and of a report."""

    def check(header: Header) -> Findings:
        return answered(header, name)

    def check_report(linted: LintedReport) -> Findings:
        return answered_in_report(linted, name)

    return check, check_report


def percentile_rules() -> tuple[OneOfMany, ...]:
    """The rules that demand the percentiles of the header, with the words for their pages."""
    rules = []
    for field in FIELD_OF.values():
        if field.percentile is None:
            continue
        words = {
            "name": field.name,
            "label": field.label,
            "meaning": field.percentile.meaning,
            "why": field.percentile.why,
            "minimum_n": f"{field.percentile.minimum_n:,}",
        }
        rules.append(OneOfMany(header_rule(field.name), words, *header_checks(field.name)))
    return tuple(rules)


def answered(header: Header, name: str) -> Findings:
    """Nothing if the field has a number or a reason that is an answer ("n/a", "not identified"); else what is
    missing and what fixes it. About a run it never fails: absence of evidence shows nothing wrong."""
    field = header.fields[name]
    if field.status == "missing":
        yield Unknown(f"{field.label}: {field.reason}", field.fix, needs=field.needs, missing=field.missing)


def answered_in_report(linted: LintedReport, name: str) -> Findings:
    """Nothing if the report has an answer for the field; a finding if it is absent, blank, "TBD" and the like.

    "n/a" with a reason is an answer for drops and percentiles, "none" with a reason for the target.
    """
    found = linted.field(name)
    label, answers = FIELD_OF[name].label, FIELD_OF[name].answers
    where: tuple[str, ...] = ()
    if found is None:
        said = "it is not in the report"
    else:
        where = (f"{linted.report.path}, {found.where}",)
        match found.answer:
            case "value":
                return
            case "n/a" | "none" | "not-identified" if found.answer in answers:
                return
            case "n/a" | "none" | "not-identified":
                said = f"it says {found.raw[:80]!r}, where a number is needed"
            case _:
                said = found.reason or "it has no number"
    yield Finding(
        message=f"{label}: {said}",
        fix=f"write the {label[:1].lower() + label[1:]} with its unit; "
        f"`k6-audit report RUN -o report.html` writes all {HOW_MANY}",
        observed=Quantity(None, "", found.raw[:60] or "blank" if found is not None else "absent"),
        limit=Quantity(None, "", "an answer"),
        evidence=where,
    )
