"""Judge one rule: on facts made by hand, or on a run, under the limits that a test asks for.

An audit judges all rules; a test that is about one of them need not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

import pytest

from auditor.engine.audit import run_rule
from auditor.engine.limits import limits_in_force
from auditor.engine.policy import load_policy
from auditor.engine.rule import RuleResult
from auditor.evidence import Declared, Evidence
from auditor.facts.limits import PolicyLimits
from auditor.facts.samples import Samples
from auditor.facts.store import FactStore, Unknown
from auditor.ingest.bundle import read_run
from auditor.samples.workers import Threads, Workers
from tests.rules.cases import RULES, World

T = TypeVar("T")
Moved = Mapping[str, float]
"""Qualified name of a limit -> the number in force instead of the default."""


class HandMade(FactStore):
    """Facts that were given, and those that can be derived from them; evidence that was not given is unknown."""

    def get(self, kind: type[T]) -> T:
        try:
            return super().get(kind)
        except LookupError as error:
            if "no fact is called" not in str(error):
                raise
            raise Unknown(f"{kind.__name__} was not given") from error


def in_force(moved: Moved | None = None) -> PolicyLimits:
    """The defaults, but for what is moved."""
    nested: dict[str, dict[str, float]] = {}
    for name, value in (moved or {}).items():
        rule, _, limit = name.partition(".")
        nested.setdefault(rule, {})[limit] = value
    return limits_in_force(RULES, nested)


def judge_rule(
    rule_id: str,
    *facts: object,
    limits: Moved | None = None,
    instead: Mapping[type, Any] | None = None,
) -> RuleResult:
    """What a rule says of facts made by hand, each of them the value of its own class.

    ``instead`` are stand-ins for a class whose other parts do not matter. A `LintedReport` among the facts
    has the rule judge a report. A warm-up of 0 s is declared unless a `Declared` is given.
    """
    given: dict[type, Any] = {
        Declared: Declared(warmup_s=Fraction(0)),
        PolicyLimits: in_force(limits),
        **{type(fact): fact for fact in facts},
        **(instead or {}),
    }
    rule = next(r for r in RULES if r.meta.id == rule_id)
    judges_report = any(kind.__name__ == "LintedReport" for kind in given)
    return run_rule(rule, rule.check_report if judges_report else rule.check, HandMade(given))


@dataclass(eq=False)
class JudgedRun:
    """A run that is written and read once, and judged rule by rule."""

    world: World
    _read: list[tuple[Evidence, Declared, Samples | None]] = field(default_factory=list)

    def judge(self, rule_id: str, factory: pytest.TempPathFactory, limits: Moved | None = None) -> RuleResult:
        """What a rule says of the run."""
        if not self._read:
            self._read.append(self._once(factory))
        evidence, declared, samples = self._read[0]
        given: dict[type, Any] = {
            Evidence: evidence,
            Declared: declared,
            PolicyLimits: in_force(limits),
            Workers: Threads(),
        }
        if samples is not None:
            given[Samples] = samples
        rule = next(r for r in RULES if r.meta.id == rule_id)
        return run_rule(rule, rule.check, FactStore(given))

    def _once(self, factory: pytest.TempPathFactory) -> tuple[Evidence, Declared, Samples | None]:
        evidence = read_run([self.world.written(factory)])
        overrides = {"warmup": (self.world.warmup, "--warmup")}
        overrides |= {k: (v, f"--{k}") for k, v in self.world.policy.items()}
        declared = load_policy(None, overrides, RULES).declared
        store = FactStore({Evidence: evidence, Declared: declared, Workers: Threads()})
        return evidence, declared, None if store.why_not(Samples) else store.get(Samples)


def said(result: RuleResult) -> str:
    """The outcome, with the severity for a failure: "fail:warning"."""
    return f"fail:{result.severity}" if result.outcome == "fail" else result.outcome
