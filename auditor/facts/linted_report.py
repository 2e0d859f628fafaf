"""A report that is judged, and, if it was given, the run that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auditor.evidence import ReportedField, ReportEvidence, Source
from auditor.facts.header import HeaderField
from auditor.fields import PERCENTILE_FIELDS


@dataclass(frozen=True)
class RunBeside:
    """What the report's own run says, recomputed."""

    header: Mapping[str, HeaderField]
    unfiltered: Mapping[str, HeaderField]
    """The header's percentiles without any warm-up left out; empty if nothing was left out."""
    warmup_s: float
    samples_in_warmup: int
    failures: int
    sources: tuple[Source, ...]
    verdict: str


@dataclass(frozen=True)
class LintedReport:
    """What a report says, and the run beside it."""

    report: ReportEvidence
    run: RunBeside | None = None

    def field(self, name: str) -> ReportedField | None:
        return self.report.fields.get(name)

    def number(self, name: str) -> float | None:
        """The field's number, where it is one."""
        found = self.field(name)
        return found.value if found is not None and found.answer == "value" else None

    def percentiles(self) -> dict[str, ReportedField]:
        """The percentiles that have a number, in ascending order."""
        return {name: self.report.fields[name] for name in PERCENTILE_FIELDS if self.number(name) is not None}

    @property
    def verdict(self) -> str:
        """The verdict that counts: of the run beside, else of the embedded result, else what is written."""
        if self.run is not None:
            return self.run.verdict
        if self.report.embedded is not None:
            return str(self.report.embedded.get("verdict", ""))
        return self.report.verdict
