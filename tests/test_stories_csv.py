"""The recorded stories by their CSV alone: what is found must be what the JSON of the same run gives."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from auditor.engine.audit import Audit
from auditor.facts.samples import Samples
from auditor.facts.thresholds import Thresholds
from auditor.present.json_v1 import document
from tests.builder import Answer, Run, Scenario, spread, steady
from tests.conftest import Judge, Recorded, outcomes
from tests.test_stories import STORIES, VERSIONS, Story

WITH_CSV = [s for s in STORIES if s.name not in ("distributed_3", "vu_starved_summary_only")]
KILLED = "sigkill"


def copied(folder: Path, to: Path, *, without: tuple[str, ...]) -> Path:
    to.mkdir()
    for file in folder.iterdir():
        if file.name not in without:
            shutil.copyfile(file, to / file.name)
    return to


def failures(result: Audit) -> dict[str, str]:
    return {r.id: f"{r.outcome}:{r.severity}" for r in result.results if r.outcome in ("fail", "error")}


def unknowns(result: Audit) -> set[str]:
    return {r.id for r in result.results if r.outcome == "unknown"}


def close(mine: Any, theirs: Any, where: str = "") -> None:
    """Equal, with numbers to the CSV's six decimals, and without the names and digests of files."""
    if isinstance(theirs, dict):
        assert mine.keys() == theirs.keys(), where
        for key in theirs:
            close(mine[key], theirs[key], f"{where}.{key}")
    elif isinstance(theirs, list):
        assert len(mine) == len(theirs), where
        for i, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            close(one, other, f"{where}[{i}]")
    elif isinstance(theirs, float):
        assert mine == pytest.approx(theirs, rel=1e-9, abs=2e-6), where
    else:
        assert mine == theirs, where


@pytest.mark.parametrize("story", WITH_CSV, ids=lambda s: f"{s.name}@{s.warmup}")
def test_a_story_by_its_csv_alone(story: Story, recorded: Recorded, tmp_path: Path, judge: Judge) -> None:
    folder = recorded(f"recordings/stories/{story.name}")
    alone = copied(folder, tmp_path / "alone", without=("k6.json.gz",))
    mine, theirs = judge(alone, warmup=story.warmup), judge(folder, warmup=story.warmup)
    assert mine.verdict == theirs.verdict == story.verdict
    assert failures(mine) == failures(theirs)
    assert unknowns(mine) == unknowns(theirs)
    if story.name == KILLED:
        return  # the CSV lost up to a second more: other figures, the same findings
    a, b = document(mine), document(theirs)
    for part in ("accounting", "header", "scenarios"):
        close(a[part], b[part], part)


@pytest.mark.parametrize("name", sorted({s.name for s in WITH_CSV}))
def test_both_in_one_folder_are_one_run(name: str, recorded: Recorded, tmp_path: Path, judge: Judge) -> None:
    result = judge(recorded(f"recordings/stories/{name}"))
    assert {i.reason for i in result.evidence.ignored if i.path == "k6.csv.gz"} == {
        "the same run as k6.json.gz (JSON is used)"
    }
    assert "k6.json.gz" in {s.path for s in result.evidence.sources}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_k6_version_by_its_csv_alone(
    version: str, recorded: Recorded, tmp_path: Path, judge: Judge
) -> None:
    folder = recorded(f"recordings/versions/{version}")
    alone = copied(folder, tmp_path / "alone", without=("k6.json.gz",))
    mine, theirs = judge(alone), judge(folder)
    assert mine.verdict == theirs.verdict
    assert failures(mine).items() <= failures(theirs).items()
    close(document(mine)["accounting"], document(theirs)["accounting"])
    if version == "v0.38.3":  # its CSV knows whole seconds only
        assert {"EV10", "OL03", "CO02"} <= unknowns(mine)
        return
    assert (failures(mine), unknowns(mine)) == (failures(theirs), unknowns(theirs))
    for part in ("header", "scenarios"):
        close(document(mine)[part], document(theirs)[part], part)


# --- stamps of whole seconds, k6's default -------------------------------------------------------------

SECOND = 1_000_000_000
PLACED_BY_STAMPS = {"OL01", "OL02", "OL03", "SD06", "CO02", "SS06", "LS08", "WM03"}
"""Rules that coarse stamps may leave open; CO02, WM03 and the first three are all that a true failure may lose."""


def coarse(folder: Path, to: Path, shift_ms: int) -> Path:
    """The folder with its CSV alone, stamps moved a little and then cut to whole seconds."""
    copied(folder, to, without=("k6.json.gz", "k6.csv.gz"))
    header, *rows = gzip.decompress((folder / "k6.csv.gz").read_bytes()).decode().splitlines()
    out = [header]
    for row in rows:
        metric, stamp, rest = row.split(",", 2)
        out.append(f"{metric},{(int(stamp) + shift_ms * 1_000_000) // SECOND},{rest}")
    (to / "k6.csv.gz").write_bytes(gzip.compress("\n".join([*out, ""]).encode(), 1))
    return to


@pytest.mark.parametrize("name", sorted({s.name for s in WITH_CSV} - {KILLED}))
def test_whole_seconds_leave_questions_open_and_find_nothing_false(
    name: str, recorded: Recorded, tmp_path: Path, judge: Judge
) -> None:
    folder = recorded(f"recordings/stories/{name}")
    for warmup, shift_ms in (("0s", 650), ("10s", 0)):
        blurred = coarse(folder, tmp_path / warmup, shift_ms)
        mine, theirs = judge(blurred, warmup=warmup), judge(folder, warmup=warmup)
        assert mine.verdict == ("INVALID" if theirs.verdict == "INVALID" else "NOT PROVEN")
        assert failures(mine).items() <= failures(theirs).items()
        assert failures(theirs).keys() - failures(mine).keys() <= unknowns(mine) & PLACED_BY_STAMPS
        assert "EV10" in unknowns(mine)
        assert "K6_CSV_TIME_FORMAT=unix_nano" in next(r.fix for r in mine.results if r.id == "EV10")


HARMLESS = [
    # Most of what goes wrong here happens in the last second of the warm-up.
    ("failures", Scenario(answer=lambda i, s: Answer(20, "503", failed=True) if 9 <= s < 10 else steady(i, s))),
    ("drops", Scenario(starts_s=[*spread(900, 0, 9), *spread(2000, 10, 30)], drops_s=spread(100, 9, 10))),
    ("slow", Scenario(answer=lambda i, s: Answer(1500.0 if i % 3 == 0 else 20.0), max_vus=120)),
    ("ramp", Scenario(executor="ramping-arrival-rate", start_rate=1, stages=[(10, 200), (20, 200)])),
    ("closed", Scenario(executor="constant-vus", vus=3, think_ms=0.0, starts_s=spread(1500, 0, 30))),
]


@pytest.mark.parametrize(("what", "scenario"), HARMLESS, ids=[h[0] for h in HARMLESS])
@pytest.mark.parametrize("setup_ms", [None, 700.0])
def test_what_the_fine_stamps_do_not_show_the_coarse_ones_do_not_either(
    what: str, scenario: Scenario, setup_ms: float | None, tmp_path: Path, judge: Judge
) -> None:
    fine = judge(Run([scenario], setup_ms=setup_ms).write(tmp_path / "fine"), warmup="10s")
    mine = judge(
        Run([scenario], setup_ms=setup_ms, csv_unit_ns=SECOND).write(tmp_path / "coarse"), warmup="10s"
    )
    is_invalid = {r for r, o in failures(mine).items() if o == "fail:invalid"}
    assert is_invalid <= {r for r, o in failures(fine).items() if o == "fail:invalid"}
    assert mine.verdict != "VALID"


def test_several_generators_with_whole_seconds(tmp_path: Path, judge: Judge) -> None:
    halves = [
        Scenario(starts_s=spread(1500, 0, 30), answer=lambda i, s: Answer(20 + i / 1e4)),
        Scenario(starts_s=spread(1500, 0, 30), answer=lambda i, s: Answer(30 + i / 1e4)),
    ]
    result = judge(*(Run([half], percent=50.0, csv_unit_ns=SECOND) for half in halves))
    assert result.verdict == "NOT PROVEN", outcomes(result)


def test_a_closed_run_that_keeps_every_vu_busy_is_not_more_than_its_vus(tmp_path: Path, judge: Judge) -> None:
    """Whole seconds make the run up to a second shorter, and so its VUs busier than they can be."""
    busy = Scenario(
        executor="constant-vus",
        vus=1,
        duration_s=5.0,
        think_ms=0.0,
        answer=lambda i, s: Answer(9.99),
        starts_s=spread(500, 0.6, 5.6),
    )
    assert outcomes(judge(Run([busy], csv_unit_ns=SECOND)))["EV04"] == "pass"


# --- what a CSV does not say ---------------------------------------------------------------------------


def custom(run: Run) -> str:
    """The run's CSV with samples of metrics that the script made."""
    lines = run.csv().splitlines(keepends=True)
    put = []
    for i in range(100):
        at = lines[100 + i].split(",")[1]
        for name, value in (("my_trend", 10.0 + i), ("my_counter", 2.0), ("my_flag", float(i % 2))):
            put.append(f"{name},{at},{value:f},,,,,,,,,api,,,,,,team=a,\n")
    return "".join([*lines, *put])


def test_thresholds_on_custom_metrics_are_told_where_the_statistic_allows(tmp_path: Path, judge: Judge) -> None:
    wanted = {
        "my_trend": {"p(95)<50": "crossed", "avg<1000": "passed"},  # only a trend has these
        "my_counter": {
            "count<1000": "passed",  # 200 as a counter, 100 as a trend
            "count<150": "unknown",
            "rate<0.001": "crossed",  # all of them as a rate, 7/s as a counter
        },
        "my_flag": {"rate<0.9": "unknown"},  # 0.5 as a rate, 1.7/s as a counter
        "my_trend{team:a}": {"avg<1000": "unknown"},  # a tag of extra_tags
        "my_trend{scenario:none}": {"avg<1000": "vacuous"},
        "http_req_duration": {"count>2000": "passed"},
        "vus": {"value<10": "passed"},
    }
    run = Run(thresholds={metric: list(texts) for metric, texts in wanted.items()}, csv_unit_ns=1)
    folder = run.write(tmp_path / "run")
    (folder / "k6.csv").write_text(custom(run))
    result = judge(folder)
    found: dict[str, dict[str, str]] = {}
    for one in result.facts.get(Thresholds).found:
        found.setdefault(one.metric, {})[one.expression] = one.state
    assert found == wanted
    assert not next(iter(result.facts.get(Samples).by_generator.values())).definitions


def test_without_options_nothing_says_whether_there_were_thresholds(judge: Judge) -> None:
    result = judge(Run(inspect=False, csv_unit_ns=1))
    assert outcomes(result)["TH01"] == "unknown"
