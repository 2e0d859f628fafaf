"""The declarations that a sign-off needs: undeclared, declared well, declared badly; at lint and at sign-off."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from auditor.engine.audit import Audit, audit
from auditor.engine.loader import load_rules
from auditor.engine.policy import load_policy
from auditor.errors import AuditError
from auditor.evidence import Evidence
from auditor.ingest.bundle import read_run
from tests.builder import Run, Scenario
from tests.conftest import outcomes

JUDGED = ("SC02", "SC03", "SC05", "EV09", "GH10", "EV13")
RULES = tuple(r if r.meta.id in JUDGED else dataclasses.replace(r, check=None) for r in load_rules())
"""The facts ask for the limits of every rule; only some of them judge here."""
WELL: dict[str, object] = {
    "synthetic_data": True,
    "rate_limiter": "token",
    "generator_network": "same region, private network",
    "git_commit": "9fceb02",
    "k6_version": "1.1.0",
    "colocated": False,
}


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return read_run([Run([Scenario(duration_s=2)]).write(tmp_path_factory.mktemp("declared") / "run")])


def judged(evidence: Evidence, declarations: dict[str, object], *, signing: bool) -> Audit:
    overrides: dict[str, tuple[object, str]] = {"declarations": (declarations or None, "test")}
    if signing:
        overrides["signing"] = (True, "test")
    return audit(evidence, load_policy(None, overrides, RULES), RULES)


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        ("SC02", "synthetic_data"),
        ("SC03", "rate_limiter"),
        ("SC05", "generator_network"),
        ("EV09", "git_commit"),
        ("GH10", "colocated"),
    ],
)
def test_undeclared_is_mentioned_by_lint_and_refused_at_signoff(
    evidence: Evidence, rule: str, key: str
) -> None:
    without = {k: v for k, v in WELL.items() if k != key}
    lint = judged(evidence, without, signing=False)
    found = next(r for r in lint.results if r.id == rule)
    assert found.outcome == "not-applicable"
    assert found.reason.startswith("needed at sign-off: ")
    assert key in found.reason
    signing = judged(evidence, without, signing=True)
    assert outcomes(signing)[rule] == "fail:invalid"
    assert [r.id for r in signing.results if r.outcome == "fail"] == [rule]
    for well in (judged(evidence, WELL, signing=False), judged(evidence, WELL, signing=True)):
        assert outcomes(well)[rule] == "pass"


@pytest.mark.parametrize(
    ("rule", "key", "value", "lint", "signoff"),
    [
        ("SC02", "synthetic_data", False, "fail:invalid", "fail:invalid"),
        ("SC03", "rate_limiter", "off", "fail:invalid", "fail:invalid"),
        ("SC03", "rate_limiter", "Disabled", "fail:invalid", "fail:invalid"),
        ("SC05", "generator_network", "TBD", "fail:warning", "fail:invalid"),
        ("EV09", "git_commit", "main", "fail:warning", "fail:invalid"),
        ("EV09", "k6_version", "newest", "fail:warning", "fail:warning"),
        ("EV09", "k6_version", None, "pass", "fail:warning"),
        ("GH10", "colocated", True, "fail:warning", "fail:warning"),
    ],
)
def test_declared_badly_fails(
    evidence: Evidence, rule: str, key: str, value: object, lint: str, signoff: str
) -> None:
    badly = {**WELL, key: value}
    assert outcomes(judged(evidence, badly, signing=False))[rule] == lint
    assert outcomes(judged(evidence, badly, signing=True))[rule] == signoff


def test_the_config_takes_them_and_no_others(tmp_path: Path) -> None:
    config = tmp_path / "k6-audit.toml"
    config.write_text('[declarations]\nsynthetic_data = true\nrate_limiter = "token"\ncolocated = false\n')
    policy = load_policy(config, {}, RULES)
    assert policy.declared.synthetic_data is True
    assert policy.declared.rate_limiter == "token"
    assert policy.declared.colocated is False
    assert not policy.declared.signing
    assert {s.name for s in policy.settings if s.name.startswith("declarations.")} == {
        "declarations.synthetic_data",
        "declarations.rate_limiter",
        "declarations.colocated",
    }
    config.write_text("signing = true\n")
    with pytest.raises(AuditError, match="signing"):
        load_policy(config, {}, RULES)
    config.write_text("[declarations]\nsynthetic = true\n")
    with pytest.raises(AuditError, match="synthetic_data"):
        load_policy(config, {}, RULES)
