"""The policy: durations and rates, where values come from, and errors that name the place."""

from __future__ import annotations

import datetime
import re
import tomllib
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest

from auditor.engine import config_page
from auditor.engine.config_model import Config, Declarations, WaiverEntry
from auditor.engine.config_model import Scenario as Scenario_
from auditor.engine.idle_settings import idle_settings
from auditor.engine.loader import load_rules, matches
from auditor.engine.policy import find_config, load_policy
from auditor.engine.units import duration_s, rate_per_s
from auditor.errors import AuditError
from auditor.evidence import Declared, ScenarioDeclaration
from tests.builder import Run, Scenario
from tests.conftest import ROOT, Judge

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
            '[scenarios.desk]\nworkload = "closed"\nworkload_reason = "one clerk waits"\n[limits.GH02]\nmean = 50\n',
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("warmup = 5", "warmup"),
        ('workload = "closed"', "reason"),
        ('ramp = "measured"', "ramp_reason"),
        ("[limits.OL99]\nx = 1", "limits.OL99: no rule 'OL99' (did you mean OL0"),
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
        ('[scenarios.a]\nworkload = "closed"', 'scenarios.a: workload = "closed" needs its reason'),
        ('select = ["OL99"]', "no rule 'OL99' (did you mean OL0"),
        ('ignore = ["offered loads"]', "no rule 'offered loads' (did you mean Offered load?)"),
        ('select = ["OL01,OL02"]', "name them one by one: OL01, then OL02"),
        ('select = [""]', "a rule's name must not be empty"),
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("warmup = 30", 'warmup: write "30s": a duration needs its unit'),
        ("warmup = true", 'warmup: write a duration in quotes, as in "30s"'),
        ('warmup = "30"', "warmup: not a duration: '30' (write it with a unit, as in \"30s\")"),
        ("target_rate = true", 'target_rate: write a rate per second, as in 300 or "18000/m"'),
        ('target_rate = "fast"', "target_rate: not a rate: 'fast'"),
        ('workload = "open-loop"', 'workload: write "open" or "closed", not "open-loop"'),
        ('generators = "3"', 'generators: write a whole number, not "3"'),
        ("generators = 0", "generators: write a number of at least 1, not 0"),
        ("error_objective = 5", "error_objective: write a number of at most 1, not 5"),
        ('select = "OL"', 'select: write a list, as in ["OL", "SD02"], not "OL"'),
        ("scenarios = 3", "scenarios: write a table, not 3"),
        ("[scenarios]\na = 3", "scenarios.a: write a table, not 3"),
        (
            '[declarations]\nsynthetic_data = "yes"',
            'declarations.synthetic_data: write true or false, not "yes"',
        ),
        ('[declarations]\nrate_limiter = ""', "declarations.rate_limiter: write at least 1 characters"),
        ('[limits.OL01]\ndeviation = "x"', 'limits.OL01.deviation: write a number, not "x"'),
        (
            '[[waivers]]\nrule="OL01"\nreason="agreed"\nowner="me"\nexpires="soon"',
            "write a date, as in 2027-01-31",
        ),
        ("[limits.OL01]\ndeviation = inf", "limits.OL01.deviation: write a finite number"),
        # names of earlier drafts, and keys in the wrong place
        ('reason = "x"', "unknown key 'reason': write workload_reason"),
        (
            "[scenarios.a]\nerror_objective = 0.1",
            "error_objective is for the whole run, write it above the first",
        ),
        ('[scenarios.a]\nramp_reason = "x"', "ramp_reason is for the whole run"),
        ('role = "support"', "role is of one scenario, write it in [scenarios.NAME]"),
        ("colocated = true", "unknown key 'colocated': write it in [declarations]"),
    ],
)
def test_errors_say_what_to_write(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(AuditError) as caught:
        load_policy(_write(tmp_path, text), {}, RULES)
    assert says in str(caught.value)
    for word in ("literal", "Input should", "pydantic", "valid string", "Value error", "[0]"):
        assert word not in str(caught.value)


def test_every_error_has_words_of_our_own() -> None:
    """Each value of a wrong kind at each key: what pydantic would say never comes through."""
    from pydantic import ValidationError

    from auditor.engine.config_errors import explain

    wrong: list[Any] = [True, 1.5, -1, "", "x", [], [1], {}, {"x": 1}, float("nan"), datetime.time(1)]
    seen = 0
    for model in (Config, Scenario_, Declarations, WaiverEntry):
        for key in model.model_fields:
            for value in wrong:
                try:
                    model.model_validate({key: value})
                except ValidationError as error:
                    for line in explain(error, model):
                        seen += 1
                        assert re.search(r": (write |missing|not a |unknown)|^unknown key", line), line
    assert seen > 200


def test_the_kind_of_a_value_is_never_guessed(tmp_path: Path) -> None:
    """ "yes" is no answer to a question of true or false, nor is true a number."""
    for text in ('colocated = "true"', "colocated = 1", 'synthetic_data = "false"'):
        with pytest.raises(AuditError, match="write true or false"):
            load_policy(_write(tmp_path, f"[declarations]\n{text}\n"), {}, RULES)
    for text in ("generators = true", "error_objective = true"):
        with pytest.raises(AuditError, match="write a"):
            load_policy(_write(tmp_path, text), {}, RULES)


def test_every_key_of_the_file_reaches_what_decides(tmp_path: Path) -> None:
    """A key that the model takes and nothing reads would be a promise that is not kept."""
    given = """
warmup = "30s"
ramp_down = "10s"
target_rate = 300
workload = "closed"
workload_reason = "a till"
purpose = "soak"
ramp = "measured"
ramp_reason = "the break point"
latency_metric = "ws_ping"
latency_reason = "the pong is the answer"
generators = 3
error_objective = 0.01
fail_on = "warning"
select = ["OL"]
ignore = ["OL08"]
[scenarios.a]
role = "support"
workload = "closed"
workload_reason = "a till"
[declarations]
synthetic_data = true
rate_limiter = "token"
generator_network = "same region"
git_commit = "1bebc51"
k6_version = "1.1.0"
colocated = false
[limits.OL01]
deviation = 0.03
[[waivers]]
rule = "OL01"
reason = "agreed"
owner = "me"
expires = 2100-01-01
"""
    assert set(tomllib.loads(given)) == set(Config.model_fields)
    found = load_policy(_write(tmp_path, given), {}, RULES)
    assert found.declared == Declared(
        warmup_s=F(30),
        ramp_down_s=F(10),
        target_rate_per_s=F(300),
        workload="closed",
        workload_reason="a till",
        scenarios={"a": ScenarioDeclaration("closed", "support", "a till")},
        latency_metric="ws_ping",
        latency_reason="the pong is the answer",
        instances=3,
        purpose="soak",
        ramp="measured",
        ramp_reason="the break point",
        error_objective_share=0.01,
        synthetic_data=True,
        rate_limiter="token",
        generator_network="same region",
        git_commit="1bebc51",
        k6_version="1.1.0",
        colocated=False,
    )
    assert (found.select, found.ignore, found.fail_on) == (("OL",), ("OL08",), "warning")
    assert found.limits == {"OL01": {"deviation": 0.03}}
    assert [w.rule for w in found.waivers] == ["OL01"]
    assert {s.source for s in found.settings} == {str(tmp_path / "k6-audit.toml")}
    shown = {s.name: s.value for s in found.settings}
    assert shown["declarations.colocated"] == "false"
    assert shown["scenarios.a.workload_reason"] == "a till"
    assert shown["limits.OL01.deviation"] == "0.03"


def test_a_scenario_goes_before_the_run(tmp_path: Path) -> None:
    text = 'workload = "closed"\nworkload_reason = "tills"\n[scenarios.web]\nworkload = "open"\n'
    declared = load_policy(_write(tmp_path, text), {}, RULES).declared
    assert declared.is_closed("till")
    assert not declared.is_closed("web")


def test_what_changes_nothing_is_said(judge: Judge, tmp_path: Path) -> None:
    def notes(text: str) -> list[str]:
        policy = load_policy(_write(tmp_path, text), {}, RULES)
        return idle_settings(policy, RULES, result.facts)

    result = judge(Run([Scenario(name="shop", duration_s=10)]))
    default = next(x.default for r in RULES if r.meta.id == "GH02" for x in r.meta.limits if x.name == "mean")
    assert notes("") == []
    assert notes('warmup = "0s"\n[scenarios.shop]\nrole = "support"\n[limits.GH02]\nmean = 51\n') == []
    for text, says in {
        '[scenarios.shpo]\nrole = "support"': "scenarios.shpo changes nothing: this run has shop",
        f"[limits.GH02]\nmean = {default}": f"limits.GH02.mean = {default:g} changes nothing: it is the default",
        'ramp_reason = "x"': 'ramp_reason changes nothing without ramp = "measured"',
        'workload_reason = "x"': 'workload_reason changes nothing without workload = "closed"',
        'workload = "open"': 'workload = "open" changes nothing: only "closed" is a declaration',
        '[scenarios.shop]\nworkload = "open"': 'scenarios.shop.workload = "open" changes nothing',
        '[scenarios.shop]\nworkload_reason = "x"': "scenarios.shop.workload_reason changes nothing without",
        'purpose = "load"': "purpose = load changes nothing: it is the default",
        'select = ["OL"]\nignore = ["SD02"]': "ignore SD02 changes nothing: no selected rule has that name",
    }.items():
        (said,) = notes(text)
        assert says in said
    overridden = judge(Run([Scenario(name="shop", duration_s=10)]), scenarios={"shpo": {"role": "support"}})
    assert any("scenarios.shpo changes nothing" in note for note in overridden.notes)


def test_the_page_of_all_keys_is_the_models() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == config_page.page(), "k6-audit config keys > docs/configuration.md"
    for model in (Config, Scenario_, Declarations, WaiverEntry):
        for key in model.model_fields:
            assert f"`{key}`" in page or f"[{key}." in page or f"[{key}]" in page, key


def test_a_scenario_s_reason_may_be_called_reason(tmp_path: Path) -> None:
    """In a scenario's own table it can mean nothing else; files that say so are read."""
    config = tmp_path / "k6-audit.toml"
    config.write_text('[scenarios.desk]\nworkload = "closed"\nreason = "one clerk waits"\n')
    declared = load_policy(config, {}, RULES).declared
    assert declared.scenarios["desk"].workload_reason == "one clerk waits"
