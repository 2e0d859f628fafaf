"""The recorded stories of the shared data: verdict, exit code and figures, computed twice independently there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from auditor.engine.audit import Audit
from auditor.engine.rule import LoadedRule
from auditor.present.json_v1 import document
from tests.conftest import DATA, Judge, Recorded, outcomes


@dataclass(frozen=True)
class Story:
    """One row of the table. ``fails``: rules that fail with severity invalid; ``warns``: the others."""

    name: str
    warmup: str | None
    verdict: str
    fails: set[str] = field(default_factory=set)
    warns: set[str] = field(default_factory=set)
    figures: dict[str, Any] = field(default_factory=dict)
    """"p99" -> value (0.5 %), "accounting.SCENARIO.planned" -> integer, "p90!" -> status."""
    unknown: set[str] = field(default_factory=set)


HEALTHY = {"target_rate": 300.0, "achieved_rate": 300.0, "dropped_iterations": 0.0, "p50": 16.19, "p90": 23.27}
STORIES = [
    Story(
        "open_healthy",
        "10s",
        "VALID",
        figures={
            **HEALTHY,
            "p95": 25.81,
            "p99": 31.39,
            "p999": 38.45,
            "generator_cpu": 35.9,
            "test_duration": 60.0,
        },
    ),
    Story(
        "open_healthy",
        "65s",
        "NOT PROVEN",
        warns={"LS01", "SS06"},
        unknown={"SS08"},
        figures={"test_duration": 5.0, "planned": 1500},
    ),
    Story("open_healthy", None, "NOT PROVEN", unknown={"SS01", "SS03", "SS06", "HD06"}),
    Story(
        "closed_users",
        "5s",
        "INVALID",
        fails={"WM01"},
        warns={"TH01", "SS08"},
        figures={
            "p50": 21.58,
            "p99": 43.40,
            "p999": 54.12,
            "dropped_iterations!": "n/a",
            "target_rate!": "missing",
        },
    ),
    Story(
        "vu_starved",
        "0s",
        "INVALID",
        fails={"OL01", "OL02", "OL03", "SD01", "SD06", "SD08", "SS03"},
        warns={"SD02", "SD09", "SS08"},
        figures={
            "target_rate": 287.5,
            "achieved_rate": 171.58,
            "dropped_iterations": 5796.0,
            "p50": 332.08,
            "p50.of_successful": 294.3,
            **{f"{p}!": "not-identified" for p in ("p90", "p95", "p99", "p999")},
            "accounting.sale_peak.planned": 14375,
            "accounting.sale_peak.completed": 8579,
            "accounting.sale_peak.dropped": 5796,
        },
    ),
    Story(
        "vu_starved",
        "30s",
        "INVALID",
        fails={"OL01", "OL02", "OL03", "SD01", "SD06", "SD08"},
        warns={"SD02", "SD09", "SS08", "LS01"},
        figures={"target_rate": 400.0, "achieved_rate": 190.6},
    ),
    Story(
        "stall_open",
        "0s",
        "VALID",
        warns={"CO02", "TH01", "SD09", "LS01"},
        figures={
            "p50": 21.63,
            "p90": 34.21,
            "p95": 521.8,
            "p99": 4125.4,
            "p999": 4938.8,
            "achieved_rate": 100.01,
        },
    ),
    Story("stall_open", "60s", "INVALID", fails={"SS06"}, warns={"CO02", "TH01", "SD09", "LS01", "SS08"}),
    Story(
        "stall_closed",
        "0s",
        "INVALID",
        fails={"WM01", "CO02"},
        warns={"TH01"},
        figures={"p99": 45.1, "p999": 4866.0},
    ),
    Story(
        "url_cardinality",
        "0s",
        "VALID",
        warns={"CA01", "CA02", "CA03", "SS08"},
        figures={"p99": 31.57, "p999": 39.48},
    ),
    Story(
        "cpu_saturated",
        "0s",
        "INVALID",
        fails={"OL01", "OL02", "OL03", "SD01", "SD03", "SD06", "CO05", "GH03", "GH04"},
        warns={"GH02", "TH01", "SD02", "SD09", "SS08", "WM03"},
        figures={
            "accounting.heavy.planned": 20000,
            "accounting.heavy.silent": 298,
            "accounting.heavy.dropped": 16361,
            "generator_cpu": 99.8,
            "achieved_rate": 83.5,
            "p50!": "not-identified",
        },
    ),
    Story(
        "errors_20pct",
        "0s",
        "INVALID",
        fails={"ER03"},
        warns={"SD09", "LS01", "SS08"},
        figures={"p50": 34.25, "p50.of_successful": 30.86, "p90!": "not-identified", "p999!": "not-identified"},
    ),
    Story(
        "throws",
        "0s",
        "INVALID",
        fails={"OL08", "ER11"},
        warns={"TH01", "SD09", "SS08"},
        figures={"p50!": "n/a"},
    ),
    Story(
        "rps_throttled",
        "0s",
        "INVALID",
        fails={"WM03", "WM04", "OL01", "OL02", "OL03", "SD01", "SD06", "SD08"},
        warns={"TH01", "SD02", "SD09", "LS01", "SS08"},
        figures={"p50": 17.80, "accounting.api.dropped": 602},
    ),
    Story(
        "cli_override",
        "0s",
        "INVALID",
        fails={"WM01", "EV03"},
        warns={"SS08"},
        figures={"p50": 16.18, "p999": 43.60},
    ),
    Story(
        "sigkill",
        "10s",
        "INVALID",
        fails={"EV01", "OL09", "EV12"},
        warns={"SS08", "LS01"},
        unknown={"HD03"},
        figures={
            "p50": 16.16,
            "p999": 37.5,
            "accounting.catalogue.planned": 19650,
            "accounting.catalogue.completed": 6036,
            "accounting.catalogue.not_reached": 13607,
            "accounting.catalogue.in_flight_at_end": 7,
            "accounting.catalogue.dropped": None,
        },
    ),
    Story(
        "sigint",
        "10s",
        "INVALID",
        fails={"OL09", "EV12"},
        warns={"CO05", "SS08", "LS01"},
        figures={
            "accounting.catalogue.interrupted": 5,
            "accounting.catalogue.not_reached": 13516,
            "accounting.catalogue.in_flight_at_end": 1,
            "p99": 31.42,
            "p999!": "not-identified",
        },
    ),
    Story(
        "journey_mix",
        "0s",
        "VALID",
        warns={"LS01", "SS08"},
        figures={
            "p50": 26.25,
            "scenarios.checkout.p999!": "n/a",
            "scenarios.checkout.p99": 50.1,
            "scenarios.browse.p999": 62.2,
            "scenarios.browse.target_rate": 80.0,
            "scenarios.checkout.target_rate": 20.0,
        },
    ),
    Story(
        "llm_gateway",
        "0s",
        "VALID",
        warns={"TH01", "SD09", "GH04", "LS01"},
        figures={"p50": 188.9, "p999": 499.5},
    ),
    Story(
        "distributed_3",
        "0s",
        "VALID",
        warns={"SD09", "SS08"},
        figures={
            "target_rate": 300.0,
            "achieved_rate": 300.02,
            "p50": 21.11,
            "p999": 50.62,
            "accounting.sale.planned": 13500,
        },
    ),
]


@pytest.mark.parametrize("story", STORIES, ids=lambda s: f"{s.name}@{s.warmup}")
def test_story(story: Story, recorded: Recorded, judge: Judge) -> None:
    result = judge(recorded(f"recordings/stories/{story.name}"), warmup=story.warmup)
    found = outcomes(result)
    assert result.verdict == story.verdict, found
    assert {r for r, o in found.items() if o == "fail:invalid"} == story.fails
    assert {r for r, o in found.items() if o in ("fail:warning", "fail:info")} == story.warns
    if result.verdict != "INVALID":
        assert {r for r, o in found.items() if o == "unknown"} == story.unknown
    else:
        assert story.unknown <= {r for r, o in found.items() if o == "unknown"}
    document_ = document(result)
    for path, expected in story.figures.items():
        check_figure(document_, path, expected)


def check_figure(doc: dict[str, Any], path: str, expected: Any) -> None:
    """Compare one figure by its short path: see `Story.figures`."""
    if path == "planned":
        assert doc["header"]["target_rate"]["planned"] == expected
        return
    if path.startswith("accounting."):
        _, scenario, name = path.split(".")
        assert doc["accounting"][scenario][name] == expected, path
        return
    header = doc["header"]
    if path.startswith("scenarios."):
        _, scenario, path = path.split(".")
        header = doc["scenarios"][scenario]["header"]
    if path.endswith("!"):
        assert header[path[:-1]]["status"] == expected, path
        return
    name, _, member = path.partition(".")
    assert header[name][member or "value"] == pytest.approx(expected, rel=0.005), path


def test_a_folder_of_many_runs_is_refused(rules: tuple[LoadedRule, ...]) -> None:
    from auditor.errors import AuditError
    from auditor.ingest.bundle import read_run

    with pytest.raises(AuditError, match=r"not one run: .*cpu_saturated"):
        read_run([DATA / "recordings" / "stories"])


VERSIONS = ["v0.38.3", "v0.47.0", "v0.54.0", "v1.1.0", "v1.8.1", "v2.2.0"]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_k6_version_gives_the_same_plan(version: str, recorded: Recorded, judge: Judge) -> None:
    result: Audit = judge(recorded(f"recordings/versions/{version}"), warmup="0s")
    doc = document(result)
    accounts = doc["accounting"]
    # open: 40/s x 8 s; ramp: 0 -> 30 in 4 s (60) + 30 -> 60 in 4 s (180); closed has no plan
    assert accounts["open"]["planned"] == 320
    assert accounts["ramp"]["planned"] == 240
    assert accounts["closed"]["planned"] is None
    found = outcomes(result)
    assert found["EV02"] == "pass", result
    assert found["EV03"] == "pass"
    assert found["WM01"] == "fail:invalid"
    assert accounts["open"]["silent"] == 0
