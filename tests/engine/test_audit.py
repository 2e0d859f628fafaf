"""The engine: outcomes, severities, waivers, causes, and what may never become VALID."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from auditor.engine.audit import Audit, SelfCheck, audit
from auditor.engine.loader import load_rules
from auditor.engine.policy import Policy
from auditor.engine.rule import (
    Finding,
    Limit,
    Limits,
    LoadedRule,
    NotApplicable,
    Quantity,
    Rule,
    Scope,
    Waiver,
)
from auditor.evidence import Declared
from auditor.facts.host import GeneratorHosts
from auditor.facts.store import FactStore, Unknown
from auditor.facts.timeline import Timeline
from auditor.ingest.bundle import read_run
from tests.builder import Run, Scenario

TODAY = datetime.date(2026, 11, 30)


def finding(severity: Any = None, **scope: str) -> Finding:
    return Finding("m", "d", Quantity(1, "x", "1 x"), Quantity(0, "x", "0 x"), (), Scope(**scope), severity)


def rule(rule_id: str, check: Callable[..., Any], severity: Any = "invalid", **more: Any) -> LoadedRule:
    meta = Rule(rule_id, rule_id.lower(), f"title of {rule_id}", severity, "1", **more)
    return LoadedRule(meta, check, {}, f"rules/{rule_id}.py")


def guard(self_check: SelfCheck) -> Iterator[Unknown]:
    if self_check.errors or self_check.not_run or not self_check.ran:
        yield Unknown("not everything ran")


GUARD = rule("EV13", guard, guard=True)
OWNERS = [dataclasses.replace(r, check=None) for r in load_rules() if r.meta.id != "EV13"]
"""The package's rules without their checks: the facts ask for their limits."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Run([Scenario(duration_s=2)], host=False).write(tmp_path_factory.mktemp("engine") / "run")


def judge(folder: Path, *rules: LoadedRule, **policy: Any) -> Audit:
    declared = Declared(warmup_s=Fraction(0))
    return audit(read_run([folder]), Policy(declared=declared, **policy), [*rules, GUARD, *OWNERS], TODAY)


def outcome(result: Audit, rule_id: str) -> tuple[str, str]:
    found = next(r for r in result.results if r.id == rule_id)
    return found.outcome, found.severity


def says(*what: Any) -> Callable[[], Iterator[Any]]:
    def check() -> Iterator[Any]:
        yield from what

    return check


@pytest.mark.parametrize(
    ("said", "base", "expected", "verdict"),
    [
        ((), "invalid", ("pass", "invalid"), "VALID"),
        ((finding(),), "invalid", ("fail", "invalid"), "INVALID"),
        ((finding(),), "warning", ("fail", "warning"), "VALID"),
        ((finding("invalid"),), "warning", ("fail", "invalid"), "INVALID"),
        ((finding("warning"),), "invalid", ("fail", "warning"), "VALID"),
        ((finding("warning"), finding("invalid")), "invalid", ("fail", "invalid"), "INVALID"),
        ((Unknown("?"),), "invalid", ("unknown", "invalid"), "NOT PROVEN"),
        ((Unknown("?"),), "warning", ("unknown", "warning"), "VALID"),
        ((Unknown("?"), finding()), "invalid", ("fail", "invalid"), "INVALID"),
        # A lowered finding must not hide what is not known.
        ((Unknown("?"), finding("warning")), "invalid", ("unknown", "invalid"), "NOT PROVEN"),
        ((NotApplicable("no"),), "invalid", ("not-applicable", "invalid"), "VALID"),
        ((NotApplicable("no"), Unknown("?")), "invalid", ("unknown", "invalid"), "NOT PROVEN"),
        (("rubbish",), "invalid", ("error", "invalid"), "NOT PROVEN"),
    ],
)
def test_outcomes_and_verdict(
    said: tuple[Any, ...], base: str, expected: tuple[str, str], verdict: str, folder: Path
) -> None:
    result = judge(folder, rule("AA01", says(*said), base))
    assert outcome(result, "AA01") == expected
    assert result.verdict == verdict


def test_a_rule_that_raises_is_an_error_and_the_audit_goes_on(folder: Path) -> None:
    def broken() -> None:
        raise ZeroDivisionError("oops")

    result = judge(folder, rule("AA01", broken, "warning"), rule("AA02", says()))
    assert outcome(result, "AA01")[0] == "error"
    assert outcome(result, "AA02")[0] == "pass"
    assert result.verdict == "NOT PROVEN"  # the guard says so


def test_required_and_optional_facts(folder: Path) -> None:
    seen: list[object] = []

    def required(load: GeneratorHosts) -> None:
        raise AssertionError("must not be called")

    def optional(timeline: Timeline, load: GeneratorHosts | None, limits: Limits) -> None:
        seen.append((timeline.window_s, load, dict(limits)))

    limits = (Limit("most", 5, "x", "own"),)
    result = judge(
        folder,
        rule("AA01", required, "warning"),
        rule("AA02", optional, limits=limits),
        limits={"AA02": {"most": 7.0}},
    )
    assert outcome(result, "AA01")[0] == "unknown"
    assert seen == [(Fraction(2), None, {"most": 7.0})]


def test_rules_left_out_are_never_a_pass(folder: Path) -> None:
    rules = [rule("AA01", says()), rule("AB01", says(), "warning")]
    assert judge(folder, *rules).verdict == "VALID"
    assert judge(folder, *rules, ignore=("AA",)).verdict == "NOT PROVEN"
    assert judge(folder, *rules, ignore=("AB",)).verdict == "VALID"
    assert judge(folder, *rules, select=("AB",)).verdict == "NOT PROVEN"
    # One that may raise a finding to invalid is missed as well.
    raising = rule("AC01", says(), "warning", raises=True)
    assert judge(folder, *rules, raising, ignore=("AC",)).verdict == "NOT PROVEN"
    without_guard = audit(read_run([folder]), Policy(), [*rules, *OWNERS], TODAY)
    assert without_guard.verdict == "NOT PROVEN"


def test_causes_are_the_first_failed_rule_of_the_list(folder: Path) -> None:
    result = judge(
        folder,
        rule("AA01", says(finding()), consequence_of=("AA02", "AA03")),
        rule("AA02", says()),
        rule("AA03", says(finding()), consequence_of=("AA04",)),
    )
    assert {r.id: r.cause for r in result.results if r.outcome == "fail"} == {"AA01": "AA03", "AA03": ""}


def waiver(rule_id: str, expires: str = "2026-12-31", **scope: str) -> Waiver:
    return Waiver(rule_id, "known and accepted", "perf team", expires, Scope(**scope))


def test_a_waiver_is_never_silent(folder: Path) -> None:
    result = judge(folder, rule("AA01", says(finding())), waivers=(waiver("AA01"),))
    assert outcome(result, "AA01")[0] == "waived"
    assert (result.verdict, result.verdict_words) == ("VALID", "VALID, 1 waived")
    unknown = judge(folder, rule("AA01", says(Unknown("?"))), waivers=(waiver("AA01"),))
    assert unknown.verdict_words == "VALID, 1 waived"


def test_a_waiver_covers_only_its_scope(folder: Path) -> None:
    check = says(finding(scenario="a"), finding(scenario="b"))
    result = judge(folder, rule("AA01", check), waivers=(waiver("AA01", scenario="a"),))
    assert result.verdict_words == "INVALID, 1 waived"
    (left,) = next(r for r in result.results if r.id == "AA01").findings
    assert left.scope.scenario == "b"
    both = (waiver("AA01", scenario="a"), waiver("AA01", scenario="b"))
    assert judge(folder, rule("AA01", check), waivers=both).verdict_words == "VALID, 2 waived"


@pytest.mark.parametrize(
    ("one", "note"),
    [
        (waiver("AA01", "2026-11-29"), "expired on 2026-11-29"),
        (waiver("ZZ01"), "was not needed"),
        (waiver("AA01", scenario="other"), "was not needed"),
    ],
)
def test_waivers_that_do_not_help_are_reported(one: Waiver, note: str, folder: Path) -> None:
    result = judge(folder, rule("AA01", says(finding(scenario="a"))), waivers=(one,))
    assert result.verdict == "INVALID"
    assert any(note in text for text in result.notes)


def test_some_rules_cannot_be_waived(folder: Path) -> None:
    result = judge(folder, rule("AA01", says(finding()), waivable=False), waivers=(waiver("AA01"),))
    assert result.verdict_words == "INVALID"
    assert result.notes == ("AA01 cannot be waived",)


def test_facts_are_made_once_and_unknown_once() -> None:
    store = FactStore({Declared: Declared()})
    assert store.get(Declared) is store.get(Declared)
    with pytest.raises(LookupError):
        store.get(int)
