"""Limits have one owner: what the policy says reaches every rule and fact that compares with it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from auditor.engine.audit import Audit, audit
from auditor.engine.limits import limits_in_force, limits_of, refuse_bad_references
from auditor.engine.loader import load_rules
from auditor.engine.policy import load_policy
from auditor.engine.rule import Limit, LoadedRule, Rule
from auditor.errors import AuditError
from auditor.facts.limits import PolicyLimits
from auditor.ingest.bundle import read_run
from auditor.present.json_v1 import document
from auditor.present.model import model
from auditor.present.rule_page import page
from tests.builder import Run, Scenario, spread
from tests.conftest import outcomes

RULES = load_rules()


def lint(folder: Path, config: str, warmup: str) -> Audit:
    """As `k6-audit lint FOLDER --config … --warmup …`."""
    (folder.parent / "own.toml").write_text(config)
    policy = load_policy(folder.parent / "own.toml", {"warmup": (warmup, "--warmup")}, RULES)
    return audit(read_run([folder]), policy, RULES)


def dropping(folder: Path, dropped: int, from_s: float, to_s: float, hot: dict[int, float]) -> Path:
    """100/s for 60 s, of which so many are dropped in a stretch; core 0 is as busy as told from each second on."""
    drops = {round(t * 100) for t in spread(dropped, from_s, to_s)}
    starts = [i / 100 for i in range(6000) if i not in drops]

    def core(at_s: float, number: int) -> float:
        return (
            5.0 if number else next(busy for since, busy in sorted(hot.items(), reverse=True) if at_s >= since)
        )

    scenario = Scenario(
        duration_s=60, starts_s=starts, drops_s=[i / 100 for i in sorted(drops)], pre_allocated_vus=100
    )
    return Run([scenario], core_percent=core).write(folder / "run")


def first(result: Audit, rule: str) -> str:
    return next(r for r in result.results if r.id == rule).reason


def test_a_lowered_limit_of_a_core_finds_it(tmp_path: Path) -> None:
    """50 of the 1,000 starts due from 15 to 25 s were dropped, while a core was busy for 70 % all along."""
    folder = dropping(tmp_path, 50, 20, 25, {-9: 70.0})
    by_default = lint(folder, "", "5s")
    assert outcomes(by_default)["GH04"] == "pass"
    lowered = lint(folder, "[limits.GH04]\nbusy = 50\n", "5s")
    assert outcomes(lowered)["GH04"] == "fail:invalid"
    assert lowered.exit_code == 1
    assert "over 50 % for 10 s or more" in first(lowered, "GH04")
    assert "950 of 1,000 in the window from 15 s to 25 s" in first(lowered, "GH04")
    assert "limit GH04.busy is 50 by the policy (default 80 % of one core over 10 s)" in lowered.notes


def test_a_raised_limit_of_a_core_moves_the_spans(tmp_path: Path) -> None:
    """A core is busy for 83 % while starts are dropped, and for 95 % from 40 s on, when none is lost."""
    folder = dropping(tmp_path, 50, 20, 25, {-9: 83.0, 40: 95.0})
    by_default = lint(folder, "", "5s")
    assert outcomes(by_default)["GH04"] == "fail:invalid"
    raised = lint(folder, "[limits.GH04]\nbusy = 90\n", "5s")
    assert outcomes(raised)["GH04"] == "fail:warning"
    # 10 s above 90 % hold 6 s of 95 % at least: they begin at 36 s or later.
    assert "no load was lost at that time" in first(raised, "GH04")


def test_loosened_limits_of_windows_reach_all_that_ask_for_lost_load(tmp_path: Path) -> None:
    """7 of 1,200 starts (0.6 %) are dropped, all in one window: load is lost by OL03 or not at all."""
    starts = [i / 10 for i in range(600) if i not in (150, 160, 170, 180, 190, 195, 197)]
    lost = sorted({i / 10 for i in range(600)} - set(starts))
    scenario = Scenario(
        rate=10,
        duration_s=120,
        starts_s=[*starts, *(60 + i / 10 for i in range(600))],
        drops_s=lost,
        requests=0,
        think_ms=150.0,
        pre_allocated_vus=1,
        max_vus=1,
    )
    folder = Run([scenario]).write(tmp_path / "run")
    # 10/s: a window of 150 slots is 20 s long and holds 200, of which 193 are 96.5 %.
    tight = lint(folder, "[limits.OL03]\ninvalid_ratio = 0.97\n", "0s")
    assert outcomes(tight)["OL03"] == "fail:invalid"
    assert outcomes(tight)["SD06"] == "fail:invalid"
    assert "window delivered 96.5% of its plan" in first(tight, "SD06")
    loose = lint(folder, "[limits.OL03]\ninvalid_ratio = 0.7\nshort_ratio = 0.7\n", "0s")
    assert outcomes(loose)["OL03"] == "pass"
    assert outcomes(loose)["SD06"] == "fail:warning"


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[limits.CA01]\ncpu_mean = 50", "limits.CA01.cpu_mean: set limits.GH02.mean"),
        ("[limits.CA01]\ncpu_5s = 50", "limits.CA01.cpu_5s: set limits.GH03.highest_5s"),
        ("[limits.CA01]\nmemory = 50", "limits.CA01.memory: set limits.GH06.used"),
        ("[limits.CA03]\nseries = 50", "limits.CA03.series: set limits.CA01.series"),
        ("[limits.CA03]\nnames = 50", "limits.CA03.names: set limits.CA02.names"),
        ("[limits.GH03]\naim = 50", "limits.GH03.aim: set limits.GH02.mean"),
        ("[limits.GH04]\ndelivered = 0.9", "limits.GH04.delivered: set limits.OL03.short_ratio"),
        ("[limits.OL02]\ndeviation = 0.1", "limits.OL02.deviation: set limits.OL01.deviation"),
        ("[limits.OL05]\ndisagreement = 0.1", "limits.OL05.disagreement: set limits.OL01.deviation"),
        ('[limits.OL05]\n"OL01.deviation" = 0.1', "another rule's limit: set limits.OL01.deviation"),
        ("[limits.OL05]\nfoo = 0.1", "limits.OL05.foo: no such limit (the rule has none)"),
    ],
)
def test_a_limit_is_set_where_it_is_owned(config: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "k6-audit.toml").write_text(config)
    with pytest.raises(AuditError, match="limits") as error:
        load_policy(tmp_path / "k6-audit.toml", {}, RULES)
    assert says in str(error.value)


def rule(
    rule_id: str, *limits: str, uses: tuple[str, ...] = (), moved: dict[str, str] | None = None
) -> LoadedRule:
    own = tuple(Limit(name, 1, "x", "own") for name in limits)
    meta = Rule(rule_id, rule_id, rule_id, "warning", "0.1", own, uses, moved or {})
    return LoadedRule(meta, lambda: (), {}, f"rules/{rule_id}.py")


@pytest.mark.parametrize(
    ("loaded", "says"),
    [
        ([rule("AA01", uses=("AA02.most",))], "there is no rule AA02"),
        ([rule("AA01", uses=("AA02.most",)), rule("AA02", "least")], "AA02 has no such limit"),
        ([rule("AA01", "most", uses=("AA01.most",))], "its own limit"),
        ([rule("AA01", moved={"most": "AA02.most"})], "there is no rule AA02"),
        ([rule("AA01", "a", uses=("AA02.b",)), rule("AA02", "b", uses=("AA01.a",))], "circle: AA01, AA02"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(loaded: list[LoadedRule], says: str) -> None:
    with pytest.raises(AuditError) as error:
        refuse_bad_references({one.meta.id: one for one in loaded})
    assert says in str(error.value)


def test_a_rule_reads_its_own_limits_and_those_it_uses_and_no_others() -> None:
    loaded = [rule("AA01", "most", uses=("AA02.least",)), rule("AA02", "least", "other")]
    in_force = limits_in_force(loaded, {"AA02": {"least": 7.0}})
    found = limits_of(loaded[0].meta, in_force)
    assert dict(found) == {"most": 1.0, "AA02.least": 7.0}
    for name in ("least", "AA02.other", "AA01.most"):
        with pytest.raises(KeyError):
            found[name]
    with pytest.raises(LookupError, match=r"no rule owns a limit 'AA02\.none'"):
        in_force["AA02.none"]


def test_a_limit_is_the_decimal_it_is_written_as() -> None:
    assert PolicyLimits({"OL01.deviation": 0.02}).exact("OL01.deviation") * 50 == 1


def test_a_page_prints_the_limits_of_other_rules_with_their_owner() -> None:
    found = next(r for r in RULES if r.meta.id == "OL02")
    assert "`limits.OL01.deviation` = 0.02 share of planned: a limit of OL01" in page(found, RULES)
    bare = dataclasses.replace(found, meta=dataclasses.replace(found.meta, uses=()))
    assert "Limits of other rules" not in page(bare, RULES)


def test_result_and_report_have_the_limits_in_force(tmp_path: Path) -> None:
    folder = Run([Scenario(duration_s=10)]).write(tmp_path / "run")
    changed = lint(folder, "[limits.GH02]\nmean = 50\n", "0s")
    plain = lint(folder, "", "0s")
    assert model(changed)["limits"] == {"mean": 50.0, "highest_5s": 80.0}
    assert model(plain)["limits"] == {"mean": 60.0, "highest_5s": 80.0}
    assert document(changed)["policy"]["digest"] != document(plain)["policy"]["digest"]
