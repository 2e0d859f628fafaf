"""Run the rules over the facts and say what that makes of the run."""

from __future__ import annotations

import datetime
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace

from auditor import SEMANTICS_VERSION, __version__
from auditor.engine.idle_settings import idle_settings
from auditor.engine.limits import limits_in_force, limits_of, owned
from auditor.engine.loader import matches
from auditor.engine.policy import Policy
from auditor.engine.rule import (
    Check,
    Finding,
    Limits,
    LoadedRule,
    NotApplicable,
    RuleResult,
    Scope,
    Waiver,
)
from auditor.engine.same_run import refuse_different_runs
from auditor.engine.verdict import CommandExit, Verdict, exit_code, highest, verdict_of, verdict_words
from auditor.errors import AuditError
from auditor.evidence import Declared, Evidence
from auditor.facts.accounting import Accounting
from auditor.facts.foreign import without_foreign
from auditor.facts.header import Header
from auditor.facts.limits import PolicyLimits
from auditor.facts.samples import Samples
from auditor.facts.store import FactStore, Unknown
from auditor.samples.workers import Threads, Workers


@dataclass(frozen=True)
class SelfCheck:
    """How the audit itself went: what the rule that guards it looks at."""

    ran: int
    errors: tuple[str, ...]
    """Ids of rules that raised."""
    not_run: tuple[str, ...]
    """Ids of rules that were left out and might have found the run invalid."""


@dataclass(frozen=True)
class Audit:
    """The result of an audit: everything a renderer needs."""

    verdict: Verdict
    results: tuple[RuleResult, ...]
    header: Header
    accounting: Accounting | None
    evidence: Evidence
    policy: Policy
    facts: FactStore
    notes: tuple[str, ...]
    """About the audit itself: expired and unused waivers, rules left out."""
    tool_version: str = __version__
    semantics_version: int = SEMANTICS_VERSION

    @property
    def waived(self) -> int:
        return sum(len(r.waived) for r in self.results)

    @property
    def verdict_words(self) -> str:
        """The verdict as it is always written: waivers are never silent."""
        return verdict_words(self.verdict, self.waived)

    def failed(self, *severities: str) -> list[RuleResult]:
        return [r for r in self.results if r.outcome == "fail" and r.severity in severities]

    def blocking_unknown(self) -> list[RuleResult]:
        """Results that keep the run from being proven."""
        return [r for r in self.results if r.judged.blocks]

    @property
    def exit_code(self) -> CommandExit:
        """How a command exits that audited this run, by its policy."""
        return exit_code(self.verdict, fail_on=self.policy.fail_on, warned=bool(self.failed("warning")))


def audit(
    evidence: Evidence,
    policy: Policy,
    rules: Sequence[LoadedRule],
    today: datetime.date | None = None,
    workers: Workers | None = None,
) -> Audit:
    """Judge a run.

    Raises:
        AuditError: if the generators' data turn out to be different runs.
    """
    limits = limits_in_force(rules, policy.limits)
    given = {
        Evidence: evidence,
        Declared: policy.declared,
        PolicyLimits: limits,
        Workers: workers or Threads(),
    }
    store = FactStore(given)
    if any(g.logs or g.console for g in evidence.generators) and store.why_not(Samples) is None:
        own = without_foreign(evidence, store.get(Samples))
        if own is not evidence:
            evidence = own
            store = FactStore({**given, Evidence: own, Samples: store.get(Samples)})
    refuse_different_runs(store)
    today = today or datetime.datetime.now(datetime.UTC).date()
    rules = [r for r in rules if r.check is not None]
    selected = [r for r in rules if not r.meta.guard and is_selected(r, policy)]
    results = [run_rule(rule, rule.check, store) for rule in selected]
    chosen = {r.meta.id for r in selected}
    check = SelfCheck(
        ran=len(results),
        errors=tuple(r.id for r in results if r.outcome == "error"),
        not_run=tuple(
            r.meta.id for r in rules if r.meta.may_invalidate and r.meta.id not in chosen and not r.meta.guard
        ),
    )
    results += [run_rule(r, r.check, store, {SelfCheck: check}) for r in rules if r.meta.guard]
    results, notes = waive(results, policy.waivers, today)
    notes += [
        f"limit {name} is {limits[name]:g} by the policy (default {limit.default:g} {limit.unit})"
        for name, limit in owned(rules).items()
        if limits[name] != limit.default
    ]
    notes += idle_settings(policy, rules, store)
    results = link(sorted(results, key=lambda r: r.id))
    return Audit(
        verdict=verdict_of((r.judged for r in results), guarded=any(r.rule.meta.guard for r in results)),
        results=tuple(results),
        header=store.get(Header),
        accounting=None if store.why_not(Accounting) else store.get(Accounting),
        evidence=evidence,
        policy=policy,
        facts=store,
        notes=tuple(notes),
    )


def is_selected(rule: LoadedRule, policy: Policy) -> bool:
    if policy.select and not matches(rule, policy.select):
        return False
    return not matches(rule, policy.ignore)


def run_rule(
    rule: LoadedRule,
    check: Check | None,
    store: FactStore,
    extra: dict[type, object] | None = None,
) -> RuleResult:
    """One rule, whatever it does: a required fact that is unknown, or a raise, becomes its outcome."""
    base = rule.meta.severity
    assert check is not None
    try:
        given = {Limits: limits_of(rule.meta, store.get(PolicyLimits)), **(extra or {})}
        said = list(check(**store.arguments(check, given)) or ())
        for one in said:
            if not isinstance(one, Finding | Unknown | NotApplicable):
                raise TypeError(f"check yielded {one!r}")
    except Unknown as unknown:
        return _unknown(rule, unknown)
    except AuditError:
        raise
    except Exception as error:
        return RuleResult(
            rule,
            "error",
            base,
            f"internal error in the rule: {type(error).__name__}: {error}",
            f"please report this, with {rule.path}",
            traceback=traceback.format_exc(),
        )
    findings = tuple(s for s in said if isinstance(s, Finding))
    unknowns = [s for s in said if isinstance(s, Unknown)]
    aside = [s for s in said if isinstance(s, NotApplicable)]
    if unknowns and base == "invalid" and not any((f.severity or base) == "invalid" for f in findings):
        # What was lowered must not hide what is not known: the question stays open.
        return _unknown(rule, unknowns[0], findings)
    if findings:
        severity = highest((f.severity or base for f in findings), base)
        ordered = sorted(findings, key=lambda f: (f.severity or base) != severity)
        return RuleResult(rule, "fail", severity, ordered[0].message, ordered[0].fix, tuple(ordered))
    if unknowns:
        return _unknown(rule, unknowns[0])
    if aside:
        return RuleResult(
            rule, "not-applicable", base, aside[0].reason, at_signoff=any(a.at_signoff for a in aside)
        )
    return RuleResult(rule, "pass", base)


def _unknown(rule: LoadedRule, unknown: Unknown, findings: tuple[Finding, ...] = ()) -> RuleResult:
    return RuleResult(
        rule,
        "unknown",
        rule.meta.severity,
        unknown.reason,
        unknown.fix,
        needs=unknown.needs,
        missing=unknown.missing,
        findings=findings,
    )


def link(results: list[RuleResult]) -> list[RuleResult]:
    """A failed rule is a child of the first failed rule that it names as its cause."""
    failed = {r.id for r in results if r.outcome == "fail"}
    return [
        replace(r, cause=next((c for c in r.rule.meta.consequence_of if c in failed), ""))
        if r.outcome == "fail"
        else r
        for r in results
    ]


def waive(
    results: list[RuleResult], waivers: Sequence[Waiver], today: datetime.date
) -> tuple[list[RuleResult], list[str]]:
    notes: list[str] = []
    live: list[Waiver] = []
    for waiver in waivers:
        if datetime.date.fromisoformat(waiver.expires) < today:
            notes.append(f"waiver of {waiver.rule} by {waiver.owner} expired on {waiver.expires}")
        else:
            live.append(waiver)
    used: set[int] = set()
    out: list[RuleResult] = []
    for result in results:
        mine = [(i, w) for i, w in enumerate(live) if w.rule == result.id]
        if not mine or result.outcome not in ("fail", "unknown"):
            out.append(result)
            continue
        if not result.rule.meta.waivable:
            notes.append(f"{result.id} cannot be waived")
            used.update(i for i, _ in mine)
            out.append(result)
            continue
        out.append(_waive_one(result, mine, used))
    notes += [f"waiver of {w.rule} by {w.owner} was not needed" for i, w in enumerate(live) if i not in used]
    return out, notes


def _waive_one(result: RuleResult, mine: Sequence[tuple[int, Waiver]], used: set[int]) -> RuleResult:
    base = result.rule.meta.severity
    if result.outcome == "unknown":
        whole = [(i, w) for i, w in mine if w.scope == Scope()]
        if not whole:
            return result
        used.add(whole[0][0])
        return replace(result, outcome="waived", waived=((None, whole[0][1]),))
    kept: list[Finding] = []
    waived: list[tuple[Finding | None, Waiver]] = []
    for finding in result.findings:
        cover = next(((i, w) for i, w in mine if _covers(w.scope, finding.scope)), None)
        if cover is None:
            kept.append(finding)
        else:
            used.add(cover[0])
            waived.append((finding, cover[1]))
    if kept:
        severity = highest((f.severity or base for f in kept), base)
        return replace(
            result, severity=severity, reason=kept[0].message, findings=tuple(kept), waived=tuple(waived)
        )
    return replace(result, outcome="waived", findings=(), waived=tuple(waived))


def _covers(waiver: Scope, finding: Scope) -> bool:
    return all(
        not mine or mine == theirs
        for mine, theirs in (
            (waiver.generator, finding.generator),
            (waiver.scenario, finding.scenario),
            (waiver.stage, finding.stage),
            (waiver.name, finding.name),
        )
    )
