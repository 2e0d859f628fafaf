"""Judge a report by the rules that have a check for reports, alone or against the run beside it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from auditor.engine.audit import Audit, is_selected, link, run_rule, waive
from auditor.engine.limits import limits_in_force
from auditor.engine.policy import Policy
from auditor.engine.rule import LoadedRule, RuleResult
from auditor.engine.verdict import CommandExit, accepts, lint_exit_code
from auditor.evidence import Declared, Evidence, ReportedField, ReportEvidence
from auditor.facts.header import Header
from auditor.facts.latency import Latency
from auditor.facts.limits import PolicyLimits
from auditor.facts.linted_report import LintedReport, RunBeside
from auditor.facts.samples import Samples
from auditor.facts.store import FactStore
from auditor.fields import FIELDS, PERCENTILE_FIELDS


@dataclass(frozen=True)
class ReportAudit:
    """The result of linting a report: everything a renderer needs."""

    linted: LintedReport
    results: tuple[RuleResult, ...]
    run: Audit | None
    notes: tuple[str, ...]
    not_run: tuple[str, ...] = ()
    """Ids of rules of base severity invalid that were left out."""

    @property
    def report(self) -> ReportEvidence:
        return self.linted.report

    @property
    def accepted(self) -> bool:
        """Whether the report has what a report needs and says nothing that is known to be wrong."""
        return accepts(r.judged for r in self.results)

    def missing(self) -> list[str]:
        """Names of the fields that are absent or hold no answer."""
        return [one.name for one in FIELDS if not _answered(self.report.fields.get(one.name))]

    def failed(self, *severities: str) -> list[RuleResult]:
        return [r for r in self.results if r.outcome == "fail" and r.severity in severities]

    @property
    def exit_code(self) -> CommandExit:
        """1: not accepted, or its run INVALID; 3: its run NOT PROVEN, or rules that count were left out."""
        return lint_exit_code(
            accepted=self.accepted, run_verdict=self.linted.verdict, complete=not self.not_run
        )


def _answered(found: ReportedField | None) -> bool:
    return found is not None and found.answer not in ("placeholder", "words")


def audit_report(
    report: ReportEvidence,
    policy: Policy,
    rules: Sequence[LoadedRule],
    run: Audit | None = None,
    today: datetime.date | None = None,
) -> ReportAudit:
    """Judge a report."""
    linted = LintedReport(report, _beside(run) if run is not None else None)
    store = FactStore(
        {
            LintedReport: linted,
            Declared: policy.declared,
            PolicyLimits: limits_in_force(rules, policy.limits),
        }
    )
    selected = [r for r in rules if r.check_report is not None and is_selected(r, policy)]
    results = [run_rule(rule, rule.check_report, store) for rule in selected]
    every = {r.meta.id: r for r in rules if r.check_report is not None}
    # A waiver of a rule that judges runs as well is used up there; here it may be idle.
    waivers = [w for w in policy.waivers if w.rule in every and (run is None or every[w.rule].check is None)]
    results, notes = waive(results, waivers, today or datetime.datetime.now(datetime.UTC).date())
    left_out = every.keys() - {r.meta.id for r in selected}
    return ReportAudit(
        linted=linted,
        results=tuple(link(sorted(results, key=lambda r: r.id))),
        run=run,
        notes=tuple(notes),
        not_run=tuple(sorted(i for i in left_out if every[i].meta.may_invalidate)),
    )


def _beside(run: Audit) -> RunBeside:
    declared = run.policy.declared
    warmup_s = declared.warmup_s or Fraction(0)
    unfiltered = {}
    inside = 0
    failures = 0
    if run.facts.why_not(Latency) is None:
        pooled = run.facts.get(Latency).pooled
        failures = pooled.failed
        if warmup_s > 0:
            # The same samples, with nothing left out.
            whole = FactStore(
                {
                    Evidence: run.evidence,
                    PolicyLimits: run.facts.get(PolicyLimits),
                    Samples: run.facts.get(Samples),
                    Declared: dataclasses.replace(declared, warmup_s=Fraction(0)),
                }
            )
            if whole.why_not(Latency) is None:
                inside = whole.get(Latency).pooled.sent - pooled.sent
                fields = whole.get(Header).fields
                unfiltered = {name: fields[name] for name in PERCENTILE_FIELDS}
    return RunBeside(
        header=run.header.fields,
        unfiltered=unfiltered,
        warmup_s=float(warmup_s),
        samples_in_warmup=inside,
        failures=failures,
        sources=run.evidence.sources,
        verdict=run.verdict,
    )
