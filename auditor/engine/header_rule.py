"""The check that HD01 to HD11 share: a field of the report's header must have an answer."""

from __future__ import annotations

from auditor.engine.rule import Findings
from auditor.facts.header import Header
from auditor.facts.store import Unknown


def answered(header: Header, name: str) -> Findings:
    """Nothing if the field has a number or a reason that is an answer ("n/a", "not identified"); else what is
    missing and what mends it. About a run it never fails: absence of evidence shows nothing wrong."""
    field = header.fields[name]
    if field.status == "missing":
        yield Unknown(f"{field.label}: {field.reason}", field.mend)
