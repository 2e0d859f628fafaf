"""The policy: durations and rates, where values come from, and errors that name the place."""

from __future__ import annotations

from fractions import Fraction as F
from pathlib import Path

import pytest

from auditor.engine.loader import load_rules, matches
from auditor.engine.policy import find_config, load_policy
from auditor.engine.units import duration_s, rate_per_s
from auditor.errors import AuditError

RULES = load_rules()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("30s", F(30)), ("1m30s", F(90)), ("500ms", F(1, 2)), ("0", F(0)), (0, F(0)), ("1.5h", F(5400))],
)
def test_durations(text: str, expected: F) -> None:
    assert duration_s(text) == expected


@pytest.mark.parametrize("bad", ["30", "", "s", "-5s", "1 m", "5x", "1m-3s"])
def test_no_durations(bad: str) -> None:
    with pytest.raises(AuditError, match="not a duration"):
        duration_s(bad)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("300", F(300)), (300.5, F(601, 2)), ("300/s", F(300)), ("18000/m", F(300)), ("3600/h", F(1))],
)
def test_rates(text: str, expected: F) -> None:
    assert rate_per_s(text) == expected


@pytest.mark.parametrize("bad", ["0", "-1", "fast", "3/y", ""])
def test_no_rates(bad: str) -> None:
    with pytest.raises(AuditError, match="not a rate"):
        rate_per_s(bad)


def test_declarations_reach_the_facts(tmp_path: Path) -> None:
    found = load_policy(
        _write(
            tmp_path,
            'warmup = "30s"\ntarget_rate = "18000/m"\n[scenarios.seed]\nrole = "support"\n'
            '[scenarios.desk]\nworkload = "closed"\nreason = "one clerk waits"\n[limits.GH02]\nmean = 50\n',
        ),
        {},
        RULES,
    )
    assert found.declared.warmup_s == 30
    assert found.declared.target_rate_per_s == 300
    assert found.declared.is_support("seed")
    assert found.declared.is_closed("desk")
    assert not found.declared.is_closed("seed")
    assert found.limits == {"GH02": {"mean": 50.0}}


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "k6-audit.toml"
    path.write_text(text)
    return path


def test_a_closed_scenario_without_a_reason_is_not_declared_closed(tmp_path: Path) -> None:
    found = load_policy(_write(tmp_path, '[scenarios.a]\nworkload = "closed"\n'), {}, RULES)
    assert not found.declared.is_closed("a")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("warmup = 5", "warmup"),
        ('workload = "closed"', "reason"),
        ('ramp = "measured"', "ramp_reason"),
        ("[limits.OL99]\nx = 1", "no such rule"),
        ("[limits.OL01]\nx = 1", "no such limit"),
        ('[[waivers]]\nrule="HD01"\nreason="long enough"\nowner="me"\nexpires=2027-01-01', "cannot be waived"),
        ('[[waivers]]\nrule="OL01"\nreason="long enough"\nowner="me"', "expires"),
        ("warmup = ", "not valid TOML"),
        ('warmup = "99999999h"', "longer than any test"),
        ("[limits.OL01]\ndeviation = nan", "limits.OL01.deviation"),
        ("[limits.OL01]\ndeviation = -1", "limits.OL01.deviation"),
        ("x = " + "[" * 5000, "not valid TOML"),
        ('[[waivers]]\nrule="OL01"\nreason="     "\nowner=" "\nexpires=2027-01-01', "waivers.0.reason"),
        ('[scenario.a]\nrole = "support"', "did you mean 'scenarios'"),
        ('[scenarios.a]\nrol = "support"', "did you mean 'role'"),
    ],
)
def test_errors_name_the_place(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"k6-audit.toml") as caught:
        load_policy(_write(tmp_path, text), {}, RULES)
    assert says in str(caught.value)


def test_options_win_and_say_where_from(tmp_path: Path) -> None:
    path = _write(tmp_path, 'warmup = "30s"\n')
    found = load_policy(path, {"warmup": ("10s", "--warmup"), "target_rate": (None, "--target-rate")}, RULES)
    assert found.declared.warmup_s == 10
    assert next(s for s in found.settings if s.name == "warmup").source == "--warmup"


def test_the_nearest_config_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.k6-audit]\nwarmup = "5s"\n')
    assert find_config(inner) == tmp_path / "pyproject.toml"
    assert load_policy(tmp_path / "pyproject.toml", {}, RULES).declared.warmup_s == 5
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")  # without our table: passed over
    assert find_config(inner) == tmp_path / "pyproject.toml"
    (tmp_path / "a" / "k6-audit.toml").write_text("")
    assert find_config(inner) == tmp_path / "a" / "k6-audit.toml"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("OL", True), ("ol01", True), ("Offered load", True), ("OL02", False), ("SD", False)],
)
def test_rules_are_named_by_id_prefix_or_family(pattern: str, expected: bool) -> None:
    (one,) = [r for r in RULES if r.meta.id == "OL01"]
    assert matches(one, [pattern]) is expected
