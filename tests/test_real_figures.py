"""What must be concluded from files that people published: figures, counts, failing rules and words.

The expectations were worked out from the files themselves (their printed lines; raw samples counted and ranked
by a few lines of csv, json and NumPy) and from what the catalogue beside them says that an auditor should
conclude. None was copied from this program's output. `NOT_YET` lists what does not hold, so that it can only
shrink: each is (file, aspect).
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.command import run
from tests.conftest import shared_folder

SHARED = shared_folder()
NEVER_VALID = (1, 3)
SECOND = 1.1
"""k6's clock holds setup, drain and teardown: so far may a length be from the plan's, in s."""


APART = {"test_duration": "length", "dropped_iterations": "drops"}
"""Header fields that are an aspect of their own."""


@dataclass(frozen=True)
class Expected:
    """Of one file, alone in a folder, audited with --warmup 0s."""

    exit: tuple[int, ...] = NEVER_VALID
    header: dict[str, float | None] = field(default_factory=dict)
    """Header field -> its value; None where none may be printed. Times to 0.1 %, lengths to SECOND."""
    counts: dict[str, int] = field(default_factory=dict)
    """Accounting, summed over the scenarios."""
    fails: tuple[str, ...] = ()
    not_fails: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    """Patterns in the JSON result or in the error."""
    never: tuple[str, ...] = ()

    @property
    def aspects(self) -> tuple[str, ...]:
        asked = {
            "length": "test_duration" in self.header,
            "drops": "dropped_iterations" in self.header,
            "figures": self.header.keys() - APART,
            "counts": self.counts,
            "rules": self.fails or self.not_fails,
            "words": self.says or self.never,
        }
        return ("exit", *(name for name, wanted in asked.items() if wanted))


def totals(started: int, length_s: float, **percentiles: float | None) -> Expected:
    """A console or summary of a run without any drop: what it printed."""
    return Expected(
        header={"test_duration": length_s, **percentiles},
        counts={"completed": started, "started": started},
        not_fails=("SD01",),
    )


def points(completed: int, interrupted: int = 0, **percentiles: float | None) -> Expected:
    return Expected(
        header=dict(percentiles),
        counts={"completed": completed, "interrupted": interrupted, "started": completed + interrupted},
        not_fails=("SD01", "EV02"),
    )


def also(expected: Expected, **more: Any) -> Expected:
    """The same with more said: tuples are added to, dictionaries extended."""
    merged = {
        name: {**old, **new} if isinstance(new, dict) else (*old, *new) if name != "exit" else new
        for name, new in more.items()
        for old in [getattr(expected, name)]
    }
    return Expected(**{**vars(expected), **merged})


INVALID = {"exit": (1,)}
CLOSED = {**INVALID, "fails": ("WM01",)}
"""Looping VUs that nobody declared to be a closed product."""

REAL = {  # pattern under real/k6 -> what must come out
    "archive_metadata/*v0.42.0_linux*": Expected(says=(r"0\.42\.0",)),
    "archive_metadata/*v0.42.0_windows*": Expected(says=(r"0\.42\.0",)),
    "archive_metadata/*v1.0.0_with_cloud*": Expected(says=(r"1\.0\.0",)),
    # --- consoles -----------------------------------------------------------------------------------------
    "console/SimonGomez*": also(totals(274, 30, p50=101.18, p90=103.85, p95=105.06), **CLOSED),
    "console/alanjholiveira*": also(totals(4349, 120, p50=17.76, p90=34.19, p95=39.66), **CLOSED),
    "console/ansatydrys*chaos-cpu*": also(
        totals(53, 20, p50=1590, p95=None), exit=(1,), fails=("WM01", "LS01", "EV03"), says=("overr",)
    ),
    "console/ansatydrys*peak*": also(
        totals(1080, 30, p50=53.07, p95=102.07), exit=(1,), fails=("WM01", "EV03")
    ),
    "console/ansatydrys*spike*": also(totals(2341, 35, p50=34.67, p95=80.0), exit=(1,), fails=("WM01", "EV03")),
    "console/blueye51*": Expected(  # 2,260 of 2,351 requests failed: the p95 of 9.8 ms is of the 429s
        exit=(1,), counts={"completed": 855}, fails=("WM01", "ER03", "ER12"), says=("errors",)
    ),
    "console/gs10111*load*": also(totals(37277, 210, p50=215.18, p95=308.52, p99=370.41), **CLOSED),
    "console/gs10111*spike*": also(totals(75517, 110, p50=254.95, p95=483.8, p99=891.91), **CLOSED),
    "console/moohamedEsam*": also(totals(1128041, 100, p50=279.94, p95=892.78), **CLOSED),
    "console/rancher*20230306*": Expected(  # 1m42.7s of a plan of 24 h: it ends with its last iteration
        exit=(1,),
        header={"test_duration": 102.7, "p50": 251.15, "p95": 394.6, "p99": 469.97},
        counts={"planned": 300, "completed": 300, "dropped": 0},
        fails=("WM01",),
        not_fails=("SS08", "OL09"),
    ),
    "console/rancher*20231222*": Expected(  # 30 iterations at 0.047649/s
        exit=(1,),
        header={"test_duration": 629.6, "p50": 91.39, "p95": 725.6},
        counts={"planned": 30, "completed": 30, "dropped": 0},
        fails=("WM01",),
        not_fails=("SS08", "OL09"),
    ),
    "console/yukkigu*": also(totals(2917, 60, p50=3.12, p95=9.46), **CLOSED),
    "console_transcribed/*vegeta*": Expected(
        exit=(1,),
        header={"target_rate": 500, "achieved_rate": 81.1, "dropped_iterations": 12568, "test_duration": 30},
        counts={"planned": 15000, "completed": 1767, "interrupted": 666, "dropped": 12568},
        fails=("OL01", "SD01"),
        says=("1,000|1000",),
    ),
    "console_transcribed/*two_arrival*": Expected(  # 59,993 + 7 = 60,000; 1,387 failed: no p99
        exit=(1,),
        header={"target_rate": 100, "achieved_rate": 99.988, "dropped_iterations": 7, "test_duration": 600},
        counts={"completed": 59993, "dropped": 7},
        fails=("CA01", "ER03"),
        not_fails=("OL01", "SD01"),
        says=("200,020|200020",),
    ),
    "console_transcribed/*ramp.txt": Expected(
        exit=(1,), counts={"completed": 132843}, fails=("WM01", "ER03", "ER12")
    ),
    "console_transcribed/*shared_iterations_1.6s*": Expected(
        header={"test_duration": 1.6}, counts={"completed": 2000}, not_fails=("SS08", "ER12")
    ),
    "console_transcribed/*browser_single*": Expected(  # n = 1, whatever is printed
        header={"test_duration": 1.0, "p50": None, "p95": None}, counts={"completed": 1}, not_fails=("SS08",)
    ),
    "console_transcribed/*issue590*": Expected(header={"p50": None}),
    # --- points -------------------------------------------------------------------------------------------
    "csv/grafana*": Expected(header={"p50": None, "p95": None}),
    "csv/*constant-vus*": points(349, p50=346.9075, p90=387.5478, p95=393.6766, p99=None),
    "csv/*per-vu-iterations*": points(400, p50=411.5734, p90=450.4751, p95=1095.1875, p99=1463.3265),
    "csv/*ram-up*": points(170, 10, p50=287.082, p90=317.0768, p95=331.3436, p99=None),
    "csv/*ramping-vus*": also(  # three columns without a name: saved again by a spreadsheet; nothing is lost
        points(135, 10, p50=416.2425, p90=456.5989, p95=1071.2049), says=("spreadsheet|saved again|re-saved",)
    ),
    "csv/*today_test_results*": also(points(483), exit=(1,), fails=("ER03",), says=("request timeout|1050",)),
    "csv/*2_pages*": also(points(2, p50=None, p90=None, p95=None), fails=("LS01",)),
    "csv/pugpp*": Expected(  # 969 + 6 dropped: 0.6 %, the rate nearly delivered; setup()'s request left out
        exit=(3,),
        header={"dropped_iterations": 6, "p50": 112.933, "p90": 173.491, "p95": 217.8334, "p99": 365.9499},
        counts={"completed": 969, "dropped": 6},
        fails=("SD02",),
        not_fails=("SD01",),
    ),
    "ndjson/GBKR4*": also(points(1, p50=None, p95=None)),
    "ndjson/JaredHane98*": also(points(8, 12, p50=2855.1323, p90=None), exit=NEVER_VALID),
    "ndjson/Joxtacy*": points(10, p50=116.2132, p90=119.7578, p95=None, p99=None),
    "ndjson/KirillY*": points(31, p50=9948.5438, p90=14061.0613, p95=None, p99=None),
    "ndjson/SaekoAaa*": points(100, p50=0.5576, p90=1.5444, p95=1.6501, p99=None),
    "ndjson/grafana*.json": points(161, p50=121.8434, p90=124.8793, p95=125.2927, p99=None),
    "ndjson/grafana*.json.gz": points(161, p50=121.8434, p90=124.8793, p95=125.2927, p99=None),
    "ndjson/jaortiz*": points(146, p50=232.0775, p90=334.7463, p95=392.6188, p99=None),
    "ndjson/pugpp*": also(points(10), exit=(1,), fails=("ER03",), says=("401",)),
    "ndjson/wildananugrah*": also(points(24, p50=27.1165, p90=124.795), exit=(1,), fails=("ER03",)),
    "same_run_quad/*_1000_report_1_data.csv": points(
        1000, p50=91.8906, p90=100.6646, p95=109.521157899, p99=188.2181, p999=None
    ),
    "same_run_quad/*_1000_report_1_data.json": points(
        1000, p50=91.8906, p90=100.6646, p95=109.521157899, p99=188.2181, p999=None
    ),
    "same_run_quad/*_1000_report_2_data.csv": points(1000, p50=90.7022, p95=100.2884, p99=162.908),
    # --- summaries ----------------------------------------------------------------------------------------
    "same_run_quad/*_10000_report_1_summary.json": totals(10000, 909.93, p50=92.247, p95=99.576, p99=106.423),
    "same_run_quad/*_1000_report_1_summary.json": totals(1000, 93.19, p50=91.891, p95=109.521, p99=188.218),
    "handle_summary/Amro404*": totals(6247, 483.19, p50=13610.532, p95=18783.464),
    "handle_summary/DamianSumba*": also(
        totals(4025, 140.58, p50=487.208, p95=517.52), fails=("ER12",), says=("error_rate",)
    ),
    "handle_summary/KUMKBUT*": also(  # the catalogue calls data_duration empty; the file has its values
        totals(9869, 225.0, p50=6.877, p95=43.246), not_fails=("TH02", "ER03")
    ),
    "handle_summary/danishalfattah*": Expected(  # 134,927 of 194,249 dropped; 47 % of what was sent failed
        exit=(1,),
        header={"test_duration": 270.0, "dropped_iterations": 134927},
        counts={"completed": 59322, "dropped": 134927},
        fails=("SD01", "ER03", "ER12"),
    ),
    "handle_summary/gs10111*load*": totals(37277, 210.2, p50=215.186, p95=308.528, p99=370.416),
    "handle_summary/gs10111*spike*": totals(75517, 110.19, p50=254.958, p95=483.805, p99=891.914),
    "handle_summary/hackzbhavin*": also(totals(171236, 70.0, p50=97.501, p95=384.439), fails=("ER12",)),
    "handle_summary/kocaaydin*": also(totals(1422, 30.19), exit=(1,), fails=("ER03",)),
    "handle_summary/krishankumar63*": totals(2108, 85.06),
    "handle_summary/scottgal*": also(totals(854, 129.89, p50=10990.588, p95=24458.761), fails=("ER12",)),
    "handle_summary/teotp*": Expected(
        header={"test_duration": 24.78, "dropped_iterations": 5, "p50": 440.255},
        counts={"completed": 482, "dropped": 5},
        fails=("ER12",),
    ),
    "handle_summary/unknowntpo*": totals(600, 30.36, p50=6.117, p95=20.952),
    "handle_summary/wildananugrah*": totals(27, 30.79, p50=10.402, p95=114.52, p99=None),
    "handle_summary_wrapped/ICTU*": totals(172, 40.8, p50=8.163, p95=None),
    "handle_summary_wrapped/akshitanchan*": also(
        totals(947, 20.22), exit=(1,), fails=("ER03",), never=(r"eyJ\w{20}",)
    ),
    "summary_export/DamianSumba*": Expected(  # 952 of 1,187 failed; `true` says that rate<0.03 was crossed
        exit=(1,),
        header={"test_duration": 61.5, "dropped_iterations": 14},
        counts={"completed": 1187, "dropped": 14},
        fails=("ER03",),
        says=(r"http_req_failed",),
    ),
    "summary_export/Extradry1111*": also(
        totals(1528, 211.2, p50=73.648, p95=98.512), not_fails=("ER03", "SS08", "TH02")
    ),
    "summary_export/NikoyanGar*": Expected(  # 7,207 of 620,997: 1.16 %, no p99
        exit=(1,),
        header={"test_duration": 459.98, "dropped_iterations": 7207, "p50": 0.666},
        counts={"completed": 613790, "dropped": 7207},
        fails=("SD01",),
        not_fails=("ER03",),
        says=("fast_latency",),
    ),
    "summary_export/ansatydrys*chaos-cpu*": also(totals(53, 21.66, p50=1595.97, p95=None), fails=("LS01",)),
    "summary_export/ansatydrys*peak*": totals(1080, 30.17, p50=53.075, p95=102.072),
    "summary_export/ansatydrys*spike*": totals(2341, 35.09, p50=34.672, p95=80.006),
    "summary_export/furkanugurlu*": totals(14235, 137.68, p50=182.649, p95=2333.899),
    "summary_export/jaortiz123*": also(
        totals(2, 4.54, p50=None, p95=None), says=("http_req_duration",), not_fails=("SS08",)
    ),
    "summary_export/kocaaydin*": totals(522, 10.13, p50=189.931, p95=325.323),
    "summary_export/sirhCC*": Expected(header={"p50": None, "p95": None, "p99": None}, never=("635",)),
    "summary_export/svastiks*": also(
        totals(1501, 60.1, p50=4.68, p95=6.611), exit=(3,), not_fails=("ER03", "ER12", "SS08")
    ),
    "summary_export/tofumapu*": totals(1759, 83.31, p50=90.3, p95=302.104, p99=1470.865),
    "summary_export/torgge*": totals(446, 91.94, p50=None, p95=None),
    # --- pages and what is no run -------------------------------------------------------------------------
    "csv_custom/*": Expected(exit=(2,), says=("no evidence of a k6 run",)),
    "html_k6reporter/*not-running*": Expected(exit=(1,), fails=("ER03",), says=("178,?745",)),
    "html_k6reporter/*request-no-response*": Expected(exit=(1,), fails=("ER03",), says=("5,?232",)),
    "html_k6reporter/*ramping-arrival-rate*": Expected(
        header={"dropped_iterations": None}, not_fails=("SD01",), says=("8,?520",)
    ),
    "inspect/*": Expected(header={"p50": None}),
}

EXAMPLES = {  # pattern under facts/k6_examples: what k6 itself printed of the run, or what was killed
    **{
        f"dropped_{version}.{ending}": Expected(
            exit=(1,),
            counts={"completed": 104, "interrupted": 4, "dropped": 293},
            fails=("SD01",),
        )
        for version in ("v1.1.0", "v2.2.0")
        for ending in ("json.gz", "stdout.txt")
    },
    **{
        f"mixed_{version}.json.gz": Expected(
            exit=(1,), counts={"completed": completed, "interrupted": 2 - missing, "dropped": dropped}
        )
        for version, completed, missing, dropped in (("v1.1.0", 58, 1, 3), ("v2.2.0", 56, 0, 4))
    },
    "sigint_v1.1.0.stdout.txt": Expected(exit=(1,), counts={"completed": 2438, "interrupted": 10}),
    "sigint_v2.2.0.stdout.txt": Expected(exit=(1,), counts={"completed": 1868, "interrupted": 10}),
    "killed_truncated_v1.1.0.json.gz": Expected(exit=(1,), counts={"completed": 546}, fails=("EV01",)),
    "killed_truncated_v2.2.0.json.gz": Expected(exit=(1,), counts={"completed": 544}, fails=("EV01",)),
    "setup_teardown_sleep_v2.2.0.json": points(21),
    "interrupted_v1.1.0.json": Expected(counts={"completed": 0, "interrupted": 2}),
    "interrupted_v2.2.0.json": Expected(counts={"completed": 0, "interrupted": 2}),
    "no_iterations_v2.2.0.stdout.txt": Expected(counts={"completed": 0, "interrupted": 2}),
    "banner_iters_v2.2.0.stdout.txt": Expected(counts={"planned": 3, "completed": 3}, not_fails=("OL09",)),
    "banner_stages_v2.2.0.stdout.txt": totals(437, 2.0, p50=5.48),
}
TABLE = {
    **{f"real/k6/{pattern}": expected for pattern, expected in REAL.items()},
    **{f"facts/k6_examples/{pattern}": expected for pattern, expected in EXAMPLES.items()},
}

LENGTH = "the length of a run that is kept as totals"
DROPS = "drops that a summary states"
SEVERAL = "totals of several scenarios are not judged on their sum"
NO_PLAN = "drops without a plan are not judged on what was dropped and started"
PAGES = "pages are not read"
SPREADSHEET = "a CSV that a spreadsheet wrote again"
OUTCOME = "thresholds that were crossed are not named"
NOTHING_DONE = "a console without a finished iteration"
NOT_YET: dict[tuple[str, str], str] = {
    (pattern, aspect): reason
    for reason, those in {
        LENGTH: {
            "real/k6/console/rancher*20230306*": "length rules",
            "real/k6/console/rancher*20231222*": "length rules",
            "real/k6/console_transcribed/*browser_single*": "rules",
            "real/k6/same_run_quad/*_10000_report_1_summary.json": "length",
            "real/k6/same_run_quad/*_1000_report_1_summary.json": "length",
            "real/k6/handle_summary/Amro404*": "length",
            "real/k6/handle_summary/DamianSumba*": "length",
            "real/k6/handle_summary/KUMKBUT*": "length",
            "real/k6/handle_summary/danishalfattah*": "length",
            "real/k6/handle_summary/gs10111*load*": "length",
            "real/k6/handle_summary/gs10111*spike*": "length",
            "real/k6/handle_summary/hackzbhavin*": "length",
            "real/k6/handle_summary/kocaaydin*": "length",
            "real/k6/handle_summary/krishankumar63*": "length",
            "real/k6/handle_summary/scottgal*": "length",
            "real/k6/handle_summary/teotp*": "length",
            "real/k6/handle_summary/unknowntpo*": "length",
            "real/k6/handle_summary/wildananugrah*": "length",
            "real/k6/handle_summary_wrapped/ICTU*": "length",
            "real/k6/handle_summary_wrapped/akshitanchan*": "length",
            "real/k6/summary_export/DamianSumba*": "length",
            "real/k6/summary_export/Extradry1111*": "length rules",
            "real/k6/summary_export/NikoyanGar*": "length",
            "real/k6/summary_export/ansatydrys*chaos-cpu*": "length",
            "real/k6/summary_export/ansatydrys*peak*": "length",
            "real/k6/summary_export/ansatydrys*spike*": "length",
            "real/k6/summary_export/furkanugurlu*": "length",
            "real/k6/summary_export/jaortiz123*": "length rules",
            "real/k6/summary_export/kocaaydin*": "length",
            "real/k6/summary_export/svastiks*": "exit length rules",
            "real/k6/summary_export/tofumapu*": "length",
            "real/k6/summary_export/torgge*": "length",
        },
        DROPS: {
            "real/k6/handle_summary/danishalfattah*": "drops rules",
            "real/k6/handle_summary/teotp*": "drops",
            "real/k6/summary_export/DamianSumba*": "drops",
            "real/k6/summary_export/NikoyanGar*": "drops rules",
        },
        SEVERAL: {
            "real/k6/console/blueye51*": "counts rules",
            "real/k6/console_transcribed/*two_arrival*": "exit length drops figures counts rules",
            "real/k6/console_transcribed/*ramp.txt": "counts rules",
            "real/k6/console_transcribed/*shared_iterations_1.6s*": "length counts",
            "facts/k6_examples/dropped_v1.1.0.stdout.txt": "counts rules",
            "facts/k6_examples/dropped_v2.2.0.stdout.txt": "counts rules",
        },
        NO_PLAN: {
            "facts/k6_examples/dropped_v1.1.0.json.gz": "rules",
            "facts/k6_examples/dropped_v2.2.0.json.gz": "rules",
        },
        PAGES: {
            "real/k6/html_k6reporter/*not-running*": "exit rules words",
            "real/k6/html_k6reporter/*request-no-response*": "exit rules words",
            "real/k6/html_k6reporter/*ramping-arrival-rate*": "exit drops rules words",
        },
        SPREADSHEET: {
            "real/k6/csv/*ramping-vus*": "rules words",
        },
        OUTCOME: {
            "real/k6/handle_summary/DamianSumba*": "words",
            "real/k6/summary_export/DamianSumba*": "words",
            "real/k6/summary_export/NikoyanGar*": "words",
        },
        NOTHING_DONE: {
            "facts/k6_examples/no_iterations_v2.2.0.stdout.txt": "counts",
        },
    }.items()
    for pattern, aspects in those.items()
    for aspect in aspects.split()
}


def _cases() -> list[Any]:
    return [
        pytest.param(
            pattern,
            aspect,
            id=f"{pattern}-{aspect}",
            marks=[pytest.mark.xfail(reason=NOT_YET[pattern, aspect], strict=True, raises=AssertionError)]
            if (pattern, aspect) in NOT_YET
            else [],
        )
        for pattern, expected in TABLE.items()
        for aspect in expected.aspects
    ]


@functools.cache
def audited(pattern: str, folder: Path) -> tuple[int, str, dict[str, Any]]:
    """(exit code, what was said, the JSON result) of the one file that a pattern names."""
    assert SHARED is not None
    (source,) = SHARED.glob(pattern)
    place = folder / re.sub(r"\W+", "_", pattern)
    place.mkdir()
    shutil.copyfile(source, place / source.name)  # the shared data may be read-only: its mode is not taken over
    done = run("lint", place, "--warmup", "0s", "--format", "json")
    result = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return done.returncode, f"{done.stdout} {done.stderr}", result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.mark.parametrize(("pattern", "aspect"), _cases())
def test_conclusions(pattern: str, aspect: str, folder: Path, shared: Path) -> None:
    assert shared
    code, said, result = audited(pattern, folder)
    expected = TABLE[pattern]
    failed = {r["id"] for r in result.get("rules", []) if r["outcome"] == "fail"}
    match aspect:
        case "exit":
            assert code in expected.exit
            assert "Traceback" not in said
        case "length" | "drops" | "figures":
            _header_is(result, {k: v for k, v in expected.header.items() if APART.get(k, "figures") == aspect})
        case "counts":
            scenarios = result.get("accounting", {}).values()
            found = {name: sum(one[name] or 0 for one in scenarios) for name in expected.counts}
            assert scenarios
            assert found == expected.counts
        case "rules":
            assert result
            assert set(expected.fails) <= failed
            assert not set(expected.not_fails) & failed
        case "words":
            assert all(re.search(pattern, said, re.IGNORECASE) for pattern in expected.says), expected.says
            assert not [pattern for pattern in expected.never if re.search(pattern, said)]


def _header_is(result: dict[str, Any], expected: dict[str, float | None]) -> None:
    assert result
    found = {name: result["header"][name]["value"] for name in expected}
    wanted = {
        name: value
        if value is None
        else pytest.approx(value, abs=SECOND)
        if name == "test_duration"
        else pytest.approx(value, rel=1e-3)
        for name, value in expected.items()
    }
    assert found == wanted


def test_the_table_is_large_enough_and_names_what_exists(shared: Path) -> None:
    assert len(TABLE) >= 70
    for pattern in TABLE:
        assert len(list(shared.glob(pattern))) == 1, pattern
    assert {pattern for pattern, _ in NOT_YET} <= set(TABLE)


# --- several files of one run ------------------------------------------------------------------------------

QUAD = "real/k6/same_run_quad/*_1000_report_"
TOGETHER = {  # files -> (p95 in ms, completed iterations, whether they contradict one another)
    "points and the summary of the same run": ((f"{QUAD}1_data.json", f"{QUAD}1_summary.json"), 1000, False),
    "CSV and the summary of the same run": ((f"{QUAD}1_data.csv", f"{QUAD}1_summary.json"), 1000, False),
    "points and the summary of the repeat": ((f"{QUAD}1_data.json", f"{QUAD}2_summary.json"), 1000, True),
    "console and summary of a load test": (
        ("real/k6/console/gs10111*load*", "real/k6/handle_summary/gs10111*load*"),
        37277,
        False,
    ),
    "console and summary of a spike": (
        ("real/k6/console/gs10111*spike*", "real/k6/handle_summary/gs10111*spike*"),
        75517,
        False,
    ),
    "console of one run, summary of another": (
        ("real/k6/console/gs10111*load*", "real/k6/handle_summary/gs10111*spike*"),
        0,
        True,
    ),
}
CONTRADICTIONS = {"EV03", "EV05", "EV07"}
NOT_YET_TOGETHER: dict[str, str] = {}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.xfail(reason=NOT_YET_TOGETHER[name], strict=True, raises=AssertionError)]
            if name in NOT_YET_TOGETHER
            else [],
        )
        for name in TOGETHER
    ],
)
def test_files_of_one_run_agree_and_those_of_two_do_not(name: str, tmp_path: Path, shared: Path) -> None:
    patterns, completed, contradict = TOGETHER[name]
    for pattern in patterns:
        (source,) = shared.glob(pattern)
        shutil.copyfile(source, tmp_path / source.name)
    done = run("lint", tmp_path, "--warmup", "0s", "--format", "json")
    if contradict and done.returncode == 2:
        return  # refused, with both named
    result = json.loads(done.stdout)
    failed = {r["id"] for r in result["rules"] if r["outcome"] == "fail"}
    assert bool(failed & CONTRADICTIONS) == contradict, failed
    if not contradict:
        assert sum(one["completed"] for one in result["accounting"].values()) == completed
