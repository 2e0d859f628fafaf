"""Runs kept only as a summary: counts say what they can, percentiles as far as the file has them, never VALID."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from auditor.facts.thresholds import evaluate_summary
from auditor.ingest.k6.console import read_console
from auditor.ingest.k6.summary import (
    HANDLE,
    LEGACY,
    MACHINE,
    find_summary,
    read_summary,
    read_totals,
    summary_kind,
)
from auditor.inputs.streams import decode
from auditor.present.json_v1 import document
from tests.builder import Run, Scenario
from tests.conftest import Judge, Recorded, outcomes

KEPT = ("summary.json", "console.txt", "inspect.json", "log.txt", "exit_code", "host.sadf.json")


def legacy(**metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {"root_group": {}, "metrics": metrics}


def test_the_recorded_summary_only_story(recorded: Recorded, judge: Judge) -> None:
    result = judge(recorded("recordings/stories/vu_starved_summary_only"), warmup="0s")
    found = outcomes(result)
    assert result.verdict == "INVALID"
    assert {r for r, o in found.items() if o == "fail:invalid"} == {"OL01", "SD01", "SD08", "SS03"}
    assert found["SD02"] == "fail:warning"
    assert {"OL02", "OL03", "GH01", "CO02"} <= {r for r, o in found.items() if o == "unknown"}
    doc = document(result)
    account = doc["accounting"]["sale_peak"]
    assert (account["planned"], account["completed"], account["dropped"], account["silent"]) == (
        14375,
        8578,
        5796,
        0,
    )
    header = doc["header"]
    assert header["target_rate"]["value"] == pytest.approx(287.5)
    assert header["achieved_rate"]["value"] == pytest.approx(171.56)
    assert (header["p50"]["value"], header["p50"]["population"]) == (pytest.approx(294.3268), "sent")
    # 40 % of the demand has no latency: p90 and p95 cannot be known; the file has no p99 at all.
    assert [header[p]["status"] for p in ("p90", "p95", "p99", "p999")] == ["not-identified"] * 2 + [
        "missing"
    ] * 2


STORIES = [
    "open_healthy",
    "stall_open",
    "throws",
    "rps_throttled",
    "errors_20pct",
    "cpu_saturated",
    "closed_users",
]


@pytest.mark.parametrize("name", STORIES)
def test_counts_from_the_summary_equal_those_from_the_points(
    name: str, recorded: Recorded, tmp_path: Path, judge: Judge
) -> None:
    story = recorded(f"recordings/stories/{name}")
    whole = document(judge(story, warmup="0s"))
    for file in KEPT:
        shutil.copy(story / file, tmp_path / file)
    result = judge(tmp_path, warmup="0s")
    alone = document(result)
    assert result.verdict != "VALID"
    for scenario, account in whole["accounting"].items():
        mine = alone["accounting"][scenario]
        for count in ("planned", "started", "completed", "dropped", "silent"):
            assert mine[count] == account[count], (scenario, count)
    # Rates are over the planned length in both.
    for rate in ("target_rate", "achieved_rate"):
        assert alone["header"][rate]["value"] == whole["header"][rate]["value"]
    # k6's own percentiles are those of what was sent: where nothing was lost, the very same.
    for cell in ("p50", "p90", "p95"):
        mine, theirs = alone["header"][cell], whole["header"][cell]
        if mine["status"] == theirs["status"] == "ok" and mine["population"] == "offered":
            assert mine["value"] == pytest.approx(theirs["value"], rel=1e-6)


def test_a_healthy_summary_is_not_proven(tmp_path: Path, judge: Judge) -> None:
    run = Run([Scenario(rate=200, duration_s=60)]).write(tmp_path / "run")
    (run / "k6.json").unlink()
    figures = {
        "med": 20.0,
        "p(90)": 24.0,
        "p(95)": 25.0,
        "p(99)": 26.0,
        "p(99.9)": 26.0,
        "max": 26.0,
        "avg": 21.0,
        "min": 20.0,
    }
    (run / "summary.json").write_text(
        json.dumps(
            legacy(
                iterations={"count": 12000, "rate": 200.0},
                http_reqs={"count": 12000, "rate": 200.0},
                http_req_duration=figures,
                http_req_failed={"passes": 0, "fails": 12000, "value": 0},
            )
        )
    )
    result = judge(run, warmup="0s")
    found = outcomes(result)
    assert result.verdict == "NOT PROVEN"
    assert not [r for r, o in found.items() if o == "fail:invalid"]
    assert found["OL01"] == found["SD03"] == found["SD04"] == "pass"
    assert result.header.fields["p999"].value == 26.0
    # A warm-up cannot be cut from totals.
    later = judge(run, warmup="10s")
    assert later.verdict == "NOT PROVEN"
    assert later.header.fields["achieved_rate"].status == "missing"


def summary_run(tmp_path: Path, run: Run, summary: dict[str, Any]) -> Path:
    folder = run.write(tmp_path / "run")
    (folder / "k6.json").unlink()
    (folder / "console.txt").write_text(run.console_text().split("  █")[0])  # the banner, no counts
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def test_the_sale_that_was_signed_off(tmp_path: Path, judge: Judge) -> None:
    """200 closed VUs, 1,468,311 requests at 2,447.18/s, 4,000/s claimed: the rate is implied, and 38.8 % short."""
    run = Run([Scenario("default", "constant-vus", vus=200, duration_s=600, starts_s=[])])
    folder = summary_run(
        tmp_path,
        run,
        legacy(
            iterations={"count": 1468311, "rate": 2447.18},
            http_reqs={"count": 1468311, "rate": 2447.18},
            http_req_duration={"avg": 81.2, "min": 12.4, "med": 74.0, "max": 1900, "p(90)": 118, "p(95)": 141},
        ),
    )
    result = judge(folder, warmup="0s", target_rate="4000/s")
    found = outcomes(result)
    assert result.verdict == "INVALID"
    assert found["WM01"] == found["WM05"] == found["OL01"] == "fail:invalid"
    # 2,447.18 × 0.0812 s = 198.7 busy VUs fit in 200
    assert found["EV04"] == "pass"
    shortfall = next(r for r in result.results if r.id == "OL01").findings[0]
    assert shortfall.observed.value == pytest.approx(1468311 / 600)
    assert pytest.approx(0.388, abs=0.001) == 1 - 1468311 / 600 / 4000


def test_the_second_run_of_the_sale(tmp_path: Path, judge: Judge) -> None:
    """500 -> 2000/5m -> 4000/5m -> 4000/10m plans 3,675,000; 3,791,284 + 251,203 dropped is 110 % of it."""
    sale = Scenario(
        "sale_peak", "ramping-arrival-rate", start_rate=500, pre_allocated_vus=500, max_vus=4000,
        stages=[(300, 2000), (300, 4000), (600, 4000)], starts_s=[],
    )  # fmt: skip
    folder = summary_run(
        tmp_path,
        Run([sale]),
        legacy(
            iterations={"count": 3791284, "rate": 3159.40},
            http_reqs={"count": 3791284, "rate": 3159.40},
            http_req_duration={"avg": 1410, "med": 310, "p(90)": 3900, "p(95)": 5200, "max": 9000},
            http_req_failed={
                "passes": 239230,
                "fails": 3552054,
                "value": 0.0631,
                "thresholds": {"rate<0.01": True},
            },
            dropped_iterations={"count": 251203, "rate": 209.3, "thresholds": {"count<100": True}},
        ),
    )
    result = judge(folder, warmup="0s")
    found = outcomes(result)
    account = document(result)["accounting"]["sale_peak"]
    assert account["planned"] == 3_675_000
    assert found["SD04"] == "fail:invalid"  # over-accounted by 367,487
    assert account["silent_exact"] == 3_675_000 - 3_791_284 - 251_203
    # 3,159.4/s × 1.41 s = 4,455 busy VUs, 4,000 configured
    assert found["EV04"] == "fail:invalid"
    # (239,230 failed + 251,203 dropped) of 4,042,487 is 12.1 %: p90 and above are not identified
    assert result.header.fields["p90"].status == "not-identified"
    assert result.header.fields["p50"].status == "ok"
    assert found["ER03"] == found["SD01"] == "fail:invalid"


@pytest.mark.parametrize(
    ("metric", "values", "text", "state"),
    [
        # k6#1498: the legacy `true` means crossed
        ("http_req_duration", {"p(95)": 6783.0, "avg": 1.0, "max": 7000.0}, "p(95)<5000", "crossed"),
        # k6#2386: passes 0, fails 400 of http_req_failed is 0 failed of 400
        ("http_req_failed", {"passes": 0.0, "fails": 400.0, "value": 0.0}, "rate<0.01", "passed"),
        # k6#1346: 0 of 0 is no pass
        ("checks", {"passes": 0.0, "fails": 0.0, "value": 0.0}, "rate>=0.9", "vacuous"),
        ("dropped_iterations", {"count": 0.0}, "count<5", "passed"),
    ],
)
def test_thresholds_by_a_summarys_own_figures(
    metric: str, values: dict[str, float], text: str, state: str
) -> None:
    summary = read_summary(legacy(**{metric: values}), "s.json")
    assert evaluate_summary(summary, metric, text)[0] == state


def test_polarity_of_each_form() -> None:
    old = read_summary(legacy(m={"avg": 5.0, "max": 9.0, "thresholds": {"avg<1": True, "avg<9": False}}), "s")
    assert old.metrics["m"].crossed == {"avg<1": True, "avg<9": False}
    new = read_summary(
        {
            "metrics": {
                "m": {
                    "type": "trend",
                    "values": {"avg": 5.0},
                    "thresholds": {"avg<1": {"ok": False}, "avg<9": {"ok": True}},
                }
            }
        },
        "s",
    )
    assert new.metrics["m"].crossed == {"avg<1": True, "avg<9": False}


@pytest.mark.parametrize(("state", "outcome"), [({"avg<1": True}, "pass"), ({"avg<1": False}, "fail:invalid")])
def test_a_summary_that_contradicts_itself(
    state: dict[str, bool], outcome: str, tmp_path: Path, judge: Judge
) -> None:
    folder = Run().write(tmp_path / "run")
    summary = legacy(custom={"avg": 5.0, "max": 9.0, "med": 5.0, "min": 1.0, "thresholds": state})
    (folder / "summary.json").write_text(json.dumps(summary))
    assert outcomes(judge(folder, warmup="5s"))["EV07"] == outcome


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "pass"),
        ({"iterations": {"count": 2999}}, "fail:invalid"),
        ({"http_req_duration": {"med": 23.0 * 1.009}}, "fail:invalid"),
        ({"http_req_duration": {"med": 23.01}}, "pass"),  # one in the last place that is written
        ({"http_req_failed": {"passes": 40, "fails": 2960, "value": 40 / 3000}}, "fail:invalid"),
    ],
)
def test_summary_against_points(
    change: dict[str, Mapping[str, Any]], outcome: str, tmp_path: Path, judge: Judge
) -> None:
    """3,000 iterations of 20 + (7 i mod 13) / 2 ms: the median of 0..12 halves is 3, so 23 ms."""
    folder = Run().write(tmp_path / "run")
    right: dict[str, Mapping[str, Any]] = {
        "iterations": {"count": 3000},
        "http_reqs": {"count": 3000},
        "http_req_duration": {"med": 23.0, "max": 26.0},
    }
    (folder / "summary.json").write_text(json.dumps(legacy(**{**right, **change})))
    assert outcomes(judge(folder, warmup="5s"))["EV05"] == outcome


def test_every_published_summary_is_read(shared: Path) -> None:
    folders = {
        "real/k6/summary_export": LEGACY,
        "real/k6/handle_summary": HANDLE,
        "real/k6/handle_summary_wrapped": HANDLE,
    }
    read = 0
    for place, kind in folders.items():
        for path in (shared / place).glob("*.json"):
            item = json.loads(path.read_text())
            found = find_summary(item)
            assert summary_kind(found) == kind, path
            assert read_summary(found, path.name).metrics
            read += 1
    assert read >= 20
    for path in (shared / "facts/k6_examples").glob("*machine_readable*.json"):
        item = json.loads(path.read_text())
        assert summary_kind(item) == MACHINE
        assert read_summary(item, path.name).k6_version == "2.2.0"


def test_published_figures(shared: Path) -> None:
    """The catalogue's last column, where it gives a number."""
    place = shared / "real" / "k6"

    def load(name: str) -> Any:
        path, *_ = place.rglob(f"{name}*")
        return read_summary(json.loads(path.read_text()), path.name)

    qris = load("danishalfattah__qris")
    dropped, done = qris.value("dropped_iterations", "count"), qris.value("iterations", "count")
    assert (dropped, done) == (134927, 59322)
    assert dropped / (dropped + done) == pytest.approx(0.69, abs=0.01)
    gateway = load("NikoyanGar")
    assert gateway.value("dropped_iterations", "count") == 7207
    fast = [m for m in gateway.metrics.values() if m.crossed.get("p(95)<50")]
    assert fast, "true in the legacy export is crossed"
    damian = load("DamianSumba__performansTestNTTDATA__results_summary")
    assert damian.metrics["http_req_failed"].crossed == {"rate<0.03": True}
    assert load("sirhCC").value("http_reqs", "count") == 1


TRANSCRIBED = "real/k6/console_transcribed"


def test_a_console_alone_accounts_for_every_start(shared: Path, tmp_path: Path, judge: Judge) -> None:
    """500/s x 30 s: 1,767 done + 12,568 dropped + 666 interrupted = 15,001, one more than planned."""
    (path,) = (shared / TRANSCRIBED).glob("*vegeta_like*")
    shutil.copy(path, tmp_path / "console.txt")
    result = judge(tmp_path, warmup="0s", target_rate="500/s")
    account = document(result)["accounting"]["vegeta_like"]
    assert (account["completed"], account["interrupted"], account["dropped"]) == (1767, 666, 12568)
    assert account["started"] + account["dropped"] == 15_001
    found = outcomes(result)
    # (1,767 + 666) / 15,000 is 16 % of the declared target
    assert found["OL01"] == "fail:invalid"
    assert found["SD08"].startswith("fail")
    assert result.verdict == "INVALID"


def test_every_published_console_with_totals_is_read(shared: Path) -> None:
    """Iterations of the text and of the progress line are the same, in old and new layouts."""
    read = 0
    for path in [*(shared / "real/k6/console").glob("*"), *(shared / TRANSCRIBED).glob("*")]:
        text = decode(path.read_bytes())
        counts = read_console(text, path.name).counts
        totals = read_totals(text, path.name)
        if counts is None or not counts.final or totals is None:
            continue
        assert totals.value("iterations", "count") == counts.completed, path
        read += 1
    assert read >= 8


def test_rows_of_the_text() -> None:
    text = """
   ✗ http_req_duration..............: avg=219.21ms min=99.48ms med=1.5s max=1m2.5s p(90)=561.92µs p(99.9)=0s count=37
   ✓ http_req_failed................: 0.26%  ✓ 97 ✗ 37180
     http_reqs......................: 37277  177.342456/s
     iterations.....................: 37277  177.342456/s
     data_received..................: 1.2 GB 2.0 MB/s
     vus............................: 10     min=5  max=162
  █ SCENARIO: other
     iterations.....................: 5  1.0/s
"""
    totals = read_totals(text, "console.txt")
    assert totals is not None
    duration = totals.metrics["http_req_duration"].values
    assert duration == {
        "avg": 219.21,
        "min": 99.48,
        "med": 1500.0,
        "max": 62500.0,
        "p(90)": 0.56192,
        "p(99.9)": 0.0,
        "count": 37.0,
    }
    assert totals.metrics["http_req_failed"].values == {"passes": 97.0, "fails": 37180.0, "value": 97 / 37277}
    assert totals.value("iterations", "count") == 37277
    assert totals.value("data_received", "count") == 1.2e9  # to two digits, as k6 prints bytes
    assert read_totals("running (01.0s), 1/1 VUs, 3 complete and 0 interrupted iterations", "c") is None
